/*
 * What the retry policies of this library say of themselves, so that their worst case is known before anything has failed.
 */
import type * as Duration from "effect/Duration"
import type { ToolUnavailable } from "../../ToolFailure.ts"

/** What a retry policy of this library makes of a failure. */
export interface Terms {
  /** The longest wait that a service gets when it asks for one. After a failure that asks for longer, there is no other attempt. */
  readonly longest?: Duration.Duration
  /** After an attempt that timed out, there is no other one. */
  readonly endsAtTimeout?: true
}

const standIns = new WeakMap<object, (terms: Terms) => ToolUnavailable>()

/** Lets a failure stand in for another one, and hear by what terms that one is read. */
export const standIn = (failure: object, read: (terms: Terms) => ToolUnavailable): void => {
  standIns.set(failure, read)
}

/** A failure as a policy of this library gets to see it. Any other schedule sees what stands in for it. */
export const readBy = <Failure extends object>(terms: Terms, failure: Failure): Failure | ToolUnavailable =>
  standIns.get(failure)?.(terms) ?? failure

const retries = new WeakMap<object, number>()

/** The same schedule, of which the number of retries is known. */
export const allowing = <S extends object>(schedule: S, times: number): S => {
  retries.set(schedule, times)
  return schedule
}

/** How many retries a schedule allows, if that is known without stepping it. */
export const retriesOf = (schedule: object): number | undefined => retries.get(schedule)
