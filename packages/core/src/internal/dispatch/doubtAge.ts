/*
 * How long ago a call in doubt has ended, by the monotonic clock of this process. A check that finds nothing proves
 * something only after that time. Facts cannot say it: in another process, the time begins anew.
 */
import { Latest } from "../value/latest.ts"

interface Ended {
  at: bigint
  /** True while something that the call has left behind is still running. Absent once that has ended. */
  runs: (() => boolean) | undefined
}

// For a call that is forgotten, the time begins anew.
const ends = new Latest<string, Ended>(10_000)

/** Notes that a call has ended in doubt, or has sent a request since. */
export const noteEnd = (scope: string, id: string, at: bigint, runs: (() => boolean) | undefined): void => {
  ends.set(nameOf(scope, id), { at, runs })
}

/** Returns what tells whether something that a call in doubt has left behind is still running: it may act later. */
export const runningOf = (scope: string, id: string): (() => boolean) | undefined => ends.get(nameOf(scope, id))?.runs

/** Notes the time if nothing of a call in doubt is running any more. */
export const noteStopped = (scope: string, id: string, now: bigint): void => {
  const end = ends.get(nameOf(scope, id))
  if (end?.runs === undefined || end.runs()) return
  end.at = now
  end.runs = undefined
}

/**
 * Returns how long before `begun` a call had ended, in milliseconds: 0 if this process learns of it only now, `undefined`
 * if something of it is running. What has ended unnoticed counts as ended now.
 */
export const ageOf = (scope: string, id: string, begun: bigint, now: bigint): number | undefined => {
  noteStopped(scope, id, now)
  const end = ends.get(nameOf(scope, id))
  if (end === undefined) noteEnd(scope, id, begun, undefined)
  return end?.runs === undefined ? Number(begun - (end?.at ?? begun)) / 1e6 : undefined
}

const nameOf = (scope: string, id: string): string => JSON.stringify([scope, id])
