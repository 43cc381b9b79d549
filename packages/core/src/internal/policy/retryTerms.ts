/*
 * What the retry policies of this library state about themselves, so that their worst case is known before anything
 * fails.
 */
import type * as Duration from "effect/Duration"
import type { ToolUnavailable } from "../../ToolFailure.ts"

/** How a retry policy of this library treats a failure. */
export interface Terms {
  /** The longest wait that a service may ask for. If it asks for more, there is no retry. */
  readonly longest?: Duration.Duration
  /** An attempt that timed out is not retried. */
  readonly endsAtTimeout?: true
}

const standIns = new WeakMap<object, (terms: Terms) => ToolUnavailable>()

/** Lets a failure stand in for another one. `read` receives the terms of each reader, and returns the other failure. */
export const standIn = (failure: object, read: (terms: Terms) => ToolUnavailable): void => {
  standIns.set(failure, read)
}

/** Returns a failure as a policy of this library sees it. Any other schedule sees the stand-in. */
export const readBy = <Failure extends object>(terms: Terms, failure: Failure): Failure | ToolUnavailable =>
  standIns.get(failure)?.(terms) ?? failure

const retries = new WeakMap<object, number>()

/** Records how many retries a schedule allows, and returns the schedule. */
export const allowing = <S extends object>(schedule: S, times: number): S => {
  retries.set(schedule, times)
  return schedule
}

/** Returns how many retries a schedule allows, if that is known without stepping it. */
export const retriesOf = (schedule: object): number | undefined => retries.get(schedule)
