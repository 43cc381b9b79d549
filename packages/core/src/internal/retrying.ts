import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"

/**
 * Retries an Effect on a Schedule, at the cost of one handler while nothing fails: the schedule's
 * driver is built after the first failure, where `Effect.retry` builds it before the first try.
 *
 * A failure that is not `retryable`, and the last one when the schedule is done, goes on as it is.
 */
export const retrying = <A, E, R, Retryable extends E, R2>(
  self: Effect.Effect<A, E, R>,
  options: Options<E, Retryable, R2>
): Effect.Effect<A, E, R | R2> => Effect.catch(self, (first) => retryingAfter(first, self, options))

interface Options<E, Retryable extends E, R2> {
  readonly schedule: Schedule.Schedule<unknown, Retryable, never, R2>
  readonly retryable: (failure: E) => failure is Retryable
  /** Told of each failure that is retried, before the wait, which is in milliseconds. */
  readonly onRetry: (failure: Retryable, waitMillis: number) => Effect.Effect<void>
}

/** The same, once the first attempt has failed. */
export const retryingAfter = <A, E, R, Retryable extends E, R2>(
  first: E,
  self: Effect.Effect<A, E, R>,
  options: Options<E, Retryable, R2>
): Effect.Effect<A, E, R | R2> => {
  if (!options.retryable(first)) return Effect.fail(first)
  const announced = Schedule.tap(
    options.schedule,
    ({ duration, input }) => options.onRetry(input, Duration.toMillis(duration))
  )
  return Effect.flatMap(Schedule.toStepWithMetadata(announced), (step) => {
    const again = (failure: E): Effect.Effect<A, E, R | R2> =>
      options.retryable(failure)
        ? Pull.matchEffect(step(failure), {
          onSuccess: (metadata) => Effect.catch(Effect.provideService(self, Schedule.CurrentMetadata, metadata), again),
          onFailure: Effect.failCause,
          onDone: () => Effect.fail(failure)
        })
        : Effect.fail(failure)
    return again(first)
  })
}
