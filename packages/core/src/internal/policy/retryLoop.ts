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
import { runContained } from "../fiber/runContained.ts"

/**
 * Retries an Effect on a Schedule. As long as nothing fails, the only cost is one `catch`: the schedule's
 * driver is built only after the first failure. (`Effect.retry` builds it before the first attempt.)
 *
 * Only a `retryable` failure is retried. A failure is not retried if the schedule is done, if the wait before
 * the retry would outlast the deadline, or if the retry budget is used up. {@link Retries} can give further
 * reasons (`refusal`).
 *
 * @param begin returns how to retry; called after the first failure
 */
export const retryOn = <A, E, R, Retryable extends E, R2>(
  self: Effect.Effect<A, E, R>,
  begin: (fiber: Fiber.Fiber<unknown, unknown>) => Retries<E, Retryable, R2>
): Effect.Effect<A, E, R | R2> =>
  Effect.withFiber((fiber) => {
    const budget = fiber.getRef(RetryBudget.current)
    const attempt = budget === undefined || fiber.getRef(isInside)
      ? self
      : Effect.tap(Effect.provideService(self, isInside, true), deposit(budget))
    // `Effect.catch` would hold twice as much while the attempt runs.
    return Effect.catchCause(attempt, (cause) =>
      Effect.catch(Effect.failCause(cause), (first) => retryFrom(first, attempt, begin(fiber))))
  })

/** How failures are retried. */
export interface Retries<E, Retryable extends E, R> {
  readonly schedule: Schedule.Schedule<unknown, Retryable, never, R>
  readonly retryable: (failure: E) => failure is Retryable
  /** Returns why a retryable failure must not be retried; `undefined` if a retry is allowed. */
  readonly refusal?: (failure: Retryable) => Effect.Effect<Refusal | undefined>
  /** Called for each retryable failure that is not retried. */
  readonly onRefused?: (failure: Retryable, why: Refusal) => Effect.Effect<void>
  /** Called for each failure that is retried, before the wait. */
  readonly onRetry: (failure: Retryable, wait: Duration.Duration) => Effect.Effect<void>
  /**
   * Called before each retry, after the wait. If it fails, the attempt is not made, and that failure
   * takes its place.
   */
  readonly begin?: (failure: Retryable) => Effect.Effect<void, E>
  /** Wraps each wait. Called as soon as the length of the wait is known. */
  readonly waiting?: <A, E2, R2>(wait: Effect.Effect<A, E2, R2>) => Effect.Effect<A, E2, R2>
  /** Maps the failure with which the retries end. By default, the failure stays unchanged. */
  readonly last?: (failure: E) => E
}

/** The reason why a failure is not retried. */
type Refusal = (CallEvent & { readonly _tag: "RetryRefused" })["why"]

// True inside a retry. If retries are nested, only the outermost one makes a deposit into the retry
// budget, so that one success counts once.
const isInside = Context.Reference<boolean>("@fallible/core/retrying/isInside", { defaultValue: () => false })

const deposit = (budget: RetryBudget.RetryBudget) => Effect.map(Clock.currentTimeMillis, budget.deposit)

const retryFrom = <A, E, R, Retryable extends E, R2>(
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
  const recordingSchedule = Schedule.tap(schedule, (current) =>
    Effect.sync(() => {
      metadata = current
    }))
  return Effect.flatMap(Schedule.toStep(recordingSchedule), (step) => {
    const refuse = (failure: Retryable, why: Refusal) =>
      Effect.andThen(onRefused(failure, why), Effect.fail(last(failure)))
    const wait = (failure: Retryable, length: Duration.Duration) =>
      Effect.flatMap(refusalOfWait(length), (why): Effect.Effect<A, E, R | R2> =>
        why === undefined
          ? Effect.andThen(
            onRetry(failure, length),
            Effect.flatMap(waiting(Effect.sleep(length)), () =>
              Effect.catch(
                Effect.andThen(begin(failure), Effect.provideService(attempt, Schedule.CurrentMetadata, metadata)),
                handle
              ))
          )
          : refuse(failure, why))
    const next = (failure: Retryable): Effect.Effect<A, E, R | R2> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        // A schedule may run Effects that users wrote, so each step runs in its own fiber (`runContained`).
        Pull.matchEffect(runContained(Effect.suspend(() => step(now, failure))), {
          onSuccess: ([, length]) => wait(failure, length),
          onFailure: (cause) =>
            Cause.hasFails(cause) ? Effect.fail(last(failure)) : Effect.failCause(withoutFailures(cause)),
          onDone: () => refuse(failure, "schedule")
        }))
    const handle = (failure: E): Effect.Effect<A, E, R | R2> =>
      retryable(failure)
        ? Effect.flatMap(refusal(failure), (why) => why === undefined ? next(failure) : refuse(failure, why))
        : Effect.fail(last(failure))
    return handle(first)
  })
}

// The caller has checked that the cause contains no failures, which the type cannot express.
const withoutFailures = (cause: Cause.Cause<unknown>) => cause as Cause.Cause<never>

// Returns why a retry must not begin: its wait would not end before the deadline, or the retry budget
// is used up. Returns `undefined` if it may begin.
const refusalOfWait = (wait: Duration.Duration): Effect.Effect<Refusal | undefined> =>
  Effect.flatMap(
    Deadline.timeLeft,
    (left) =>
      Duration.isLessThan(wait, left)
        ? Effect.map(spendRetry, (may) => may ? undefined : "retry_budget")
        : Effect.succeed("deadline")
  )

/**
 * Takes one retry from the budget of the process. Returns false if none is left. Without a budget,
 * always returns true.
 */
const spendRetry: Effect.Effect<boolean> = Effect.flatMap(
  RetryBudget.current,
  (budget) => budget === undefined ? Effect.succeed(true) : Effect.map(Clock.currentTimeMillis, budget.withdraw)
)
