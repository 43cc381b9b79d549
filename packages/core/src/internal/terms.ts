import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"

/** What a retry policy of this library reads of a failure. */
interface Asking {
  readonly code?: string
  readonly retryAfter?: Duration.Duration
}

type Step<A> = (now: number, failure: Asking) => Pull.Pull<[A, Duration.Duration], never, A>

/** What a retry policy of this library says of its own step. */
export interface Grant {
  /** The longest wait that a service gets when it asks for one; for a longer one there is no other attempt. */
  readonly longest: Duration.Duration
  readonly step: Effect.Effect<Step<unknown>>
}

const grants = new WeakMap<object, Grant>()
const retries = new WeakMap<object, number>()

/**
 * The same schedule, which waits as long as a service asks, up to a longest wait.
 *
 * The Effect that makes its step stands for it: a schedule composed of it runs that very Effect, and knows nothing else of it.
 */
export const granting = <A>(
  schedule: Schedule.Schedule<A, Asking>,
  longest: Duration.Duration
): Schedule.Schedule<A, Asking> => {
  const step = Schedule.toStep(schedule)
  const standing = Effect.suspend(() => step)
  grants.set(standing, { longest, step })
  return Schedule.fromStep(standing)
}

/** What is granted by the step that an Effect makes, if it is one of ours. */
export const grantOf = (step: object): Grant | undefined => grants.get(step)

/** The same schedule, of which the number of retries is known. */
export const allowing = <S extends object>(schedule: S, times: number): S => {
  retries.set(schedule, times)
  return schedule
}

/** How many retries a schedule allows, if that is known without stepping it. */
export const retriesOf = (schedule: object): number | undefined => retries.get(schedule)
