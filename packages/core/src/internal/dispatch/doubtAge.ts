/*
 * How long ago a call in doubt has ended, by the monotonic clock of this process. A check that finds nothing proves
 * something only after that time. Facts cannot say it: in another process, the time begins anew.
 */
import { Latest } from "../value/latest.ts"

interface Ended {
  at: bigint
  /** True while something that the call has left behind is still running. */
  readonly isRunning: (() => boolean) | undefined
}

// For a call that is forgotten, the time begins anew.
const ends = new Latest<string, Ended>(10_000)

/** Notes that a call has ended in doubt. */
export const noteEnd = (scope: string, id: string, at: bigint, isRunning: (() => boolean) | undefined): void => {
  ends.set(nameOf(scope, id), { at, isRunning })
}

/** True if something that a call in doubt has left behind is still running: it may act later. */
export const isRunning = (scope: string, id: string): boolean => ends.get(nameOf(scope, id))?.isRunning?.() === true

/** Returns how long ago a call has ended, in milliseconds; 0 if this process learns of it only now. */
export const ageOf = (scope: string, id: string, now: bigint): number => {
  const end = ends.get(nameOf(scope, id))
  if (end === undefined) noteEnd(scope, id, now, undefined)
  else if (end.isRunning?.() === true) end.at = now
  else return Number(now - end.at) / 1e6
  return 0
}

const nameOf = (scope: string, id: string): string => JSON.stringify([scope, id])
