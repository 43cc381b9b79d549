import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import type { CallEvent } from "../../CallEvent.ts"
import * as Deadline from "../../Deadline.ts"
import * as RetryBudget from "../../RetryBudget.ts"
import { contained } from "../effect/contained.ts"

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
  /** Why a failure that is worth a retry must not have one, if so. */
  readonly refusal?: (failure: Retryable) => Effect.Effect<Refusal | undefined>
  /** Told of each failure that is worth a retry and has none. */
  readonly onRefused?: (failure: Retryable, why: Refusal) => Effect.Effect<void>
  /** Told of each failure that is retried, before the wait. */
  readonly onRetry: (failure: Retryable, wait: Duration.Duration) => Effect.Effect<void>
  /** Run before each retry, after the wait. It may fail instead of the attempt. */
  readonly begin?: (failure: Retryable) => Effect.Effect<void, E>
  /** Put around each wait, as soon as its length is known. */
  readonly waiting?: <A, E2, R2>(wait: Effect.Effect<A, E2, R2>) => Effect.Effect<A, E2, R2>
  /** What is made of the last failure. Default: it goes on as it is. */
  readonly last?: (failure: E) => E
}

/** Why a failure is not retried. */
type Refusal = (CallEvent & { readonly _tag: "RetryRefused" })["why"]

// Of retries around each other only the outermost makes a deposit: a success is one success.
const isInside = Context.Reference<boolean>("@fallible/core/retrying/isInside", { defaultValue: () => false })

const deposited = (budget: RetryBudget.RetryBudget) => Effect.map(Clock.currentTimeMillis, budget.deposit)

const again = <A, E, R, Retryable extends E, R2>(
  first: E,
  attempt: Effect.Effect<A, E, R>,
  {
    begin = () => Effect.void,
    last = (failure) => failure,
    onRefused = () => Effect.void,
    onRetry,
    refusal = () => Effect.undefined,
    retryable,
    schedule,
    waiting = (wait) => wait
  }: Retries<E, Retryable, R2>
): Effect.Effect<A, E, R | R2> => {
  if (!retryable(first)) return Effect.fail(last(first))
  let metadata = Schedule.CurrentMetadata.defaultValue()
  const noting = Schedule.tap(schedule, (current) =>
    Effect.sync(() => {
      metadata = current
    }))
  return Effect.flatMap(Schedule.toStep(noting), (step) => {
    const refused = (failure: Retryable, why: Refusal) =>
      Effect.andThen(onRefused(failure, why), Effect.fail(last(failure)))
    const wait = (failure: Retryable, length: Duration.Duration) =>
      Effect.flatMap(mayWait(length), (why): Effect.Effect<A, E, R | R2> =>
        why === undefined
          ? Effect.andThen(
            onRetry(failure, length),
            Effect.flatMap(waiting(Effect.sleep(length)), () =>
              Effect.catch(
                Effect.andThen(begin(failure), Effect.provideService(attempt, Schedule.CurrentMetadata, metadata)),
                from
              ))
          )
          : refused(failure, why))
    const next = (failure: Retryable): Effect.Effect<A, E, R | R2> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        // A schedule may run a user's Effects.
        Pull.matchEffect(contained(Effect.suspend(() => step(now, failure))), {
          onSuccess: ([, length]) => wait(failure, length),
          onFailure: (cause) => Cause.hasFails(cause) ? Effect.fail(last(failure)) : Effect.failCause(defects(cause)),
          onDone: () => refused(failure, "schedule")
        }))
    const from = (failure: E): Effect.Effect<A, E, R | R2> =>
      retryable(failure)
        ? Effect.flatMap(refusal(failure), (why) => why === undefined ? next(failure) : refused(failure, why))
        : Effect.fail(last(failure))
    return from(first)
  })
}

// Its type says that a schedule never fails. What is left is what it died of.
const defects = (cause: Cause.Cause<unknown>) => cause as Cause.Cause<never>

// No wait is begun that cannot end before the deadline, or that the retry budget has nothing left for.
const mayWait = (wait: Duration.Duration): Effect.Effect<Refusal | undefined> =>
  Effect.flatMap(
    Deadline.timeLeft,
    (left) =>
      Duration.isLessThan(wait, left)
        ? Effect.map(spend, (may) => may ? undefined : "retry_budget")
        : Effect.succeed("deadline")
  )

/** May a retry be made, as far as the process's budget allows? */
const spend: Effect.Effect<boolean> = Effect.flatMap(
  RetryBudget.current,
  (budget) => budget === undefined ? Effect.succeed(true) : Effect.map(Clock.currentTimeMillis, budget.withdraw)
)
