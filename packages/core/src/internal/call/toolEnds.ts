/*
 * The order in which tools have ended with failures, by the names of their calls. A program may keep a failure, and fail with
 * it again in a later call. Times would not do: a clock may be virtual, or be set back.
 */
import { Latest } from "../value/latest.ts"

// What is older counts as unknown.
const ends = new Latest<string, number>(1_000)
let ended = 0

/** Returns how many tools have ended with a failure so far. */
export const endsSoFar = (): number => ended

/** Notes that the call with this name has ended with a failure. */
export const noteToolEnd = (id: string): void => {
  ends.set(id, ++ended)
}

/** Returns the number of the end of this call; `undefined` if it is not known. */
export const endOf = (id: string): number | undefined => ends.get(id)
