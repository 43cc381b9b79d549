import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import * as Deadline from "../Deadline.ts"
import * as RetryBudget from "../RetryBudget.ts"
import { contained } from "./containment.ts"

/**
 * Retries an Effect on a Schedule, at the cost of one handler while nothing fails: the schedule's
 * driver is built after the first failure, where `Effect.retry` builds it before the first try.
 *
 * A failure goes on as it is when it is not `retryable`, when the schedule is done, when its wait could not end before
 * the deadline, and when the retry budget has nothing left.
 *
 * @param begin what to go by: asked for after the first failure
 */
export const retrying = <A, E, R, Retryable extends E, R2>(
  self: Effect.Effect<A, E, R>,
  begin: (fiber: Fiber.Fiber<unknown, unknown>) => Retries<E, Retryable, R2>
): Effect.Effect<A, E, R | R2> =>
  Effect.withFiber((fiber) => {
    const budget = fiber.getRef(RetryBudget.current)
    const attempt = budget === undefined || fiber.getRef(isInside)
      ? self
      : Effect.tap(Effect.provideService(self, isInside, true), deposited(budget))
    return Effect.catch(attempt, (first) => again(first, attempt, begin(fiber)))
  })

/** What a retry goes by. */
export interface Retries<E, Retryable extends E, R> {
  readonly schedule: Schedule.Schedule<unknown, Retryable, never, R>
  readonly retryable: (failure: E) => failure is Retryable
  /** Told of each failure that is retried, before the wait. */
  readonly onRetry: (failure: Retryable, wait: Duration.Duration) => Effect.Effect<void>
  /** What is made of the last failure. Default: it goes on as it is. */
  readonly last?: (failure: E) => E
}

// Of retries around each other only the outermost makes a deposit: a success is one success.
const isInside = Context.Reference<boolean>("@fallible/core/retrying/isInside", { defaultValue: () => false })

const deposited = (budget: RetryBudget.RetryBudget) => Effect.map(Clock.currentTimeMillis, budget.deposit)

const again = <A, E, R, Retryable extends E, R2>(
  first: E,
  attempt: Effect.Effect<A, E, R>,
  { last = (failure) => failure, onRetry, retryable, schedule }: Retries<E, Retryable, R2>
): Effect.Effect<A, E, R | R2> => {
  if (!retryable(first)) return Effect.fail(last(first))
  // The schedule's own step waits, so what may keep it from waiting stands inside of it.
  const admitted = Schedule.tap(
    schedule,
    ({ duration, input }) =>
      Effect.flatMap(mayWait(duration), (may) => may ? onRetry(input, duration) : Effect.fail(givenUp))
  )
  return Effect.flatMap(Schedule.toStepWithMetadata(admitted), (step) => {
    const from = (failure: E): Effect.Effect<A, E, R | R2> =>
      retryable(failure)
        // A schedule may run a user's Effects.
        ? Pull.matchEffect(contained(step(failure)), {
          onSuccess: (metadata) =>
            Effect.catch(Effect.provideService(attempt, Schedule.CurrentMetadata, metadata), from),
          onFailure: (cause) => Cause.hasFails(cause) ? Effect.fail(last(failure)) : Effect.failCause(defects(cause)),
          onDone: () => Effect.fail(last(failure))
        })
        : Effect.fail(last(failure))
    return from(first)
  })
}

const givenUp = Symbol("given up")

// A schedule has no failures of its own, so that what is left is what it died of.
const defects = (cause: Cause.Cause<typeof givenUp>) => cause as Cause.Cause<never>

const mayWait = (wait: Duration.Duration): Effect.Effect<boolean> =>
  Effect.flatMap(
    Deadline.timeLeft,
    (left) => Duration.isLessThan(wait, left) ? RetryBudget.spend : Effect.succeed(false)
  )
