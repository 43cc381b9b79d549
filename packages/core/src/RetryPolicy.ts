/**
 * When to try again: Schedules over a failure.
 *
 * Any `Schedule` is a retry policy; these are the ones that most tools want. A schedule decides
 * how long to wait and when to give up. Whether a failure may be retried at all is not its
 * matter: `Tool.retry` retries transient failures alone, and only where a repetition is safe.
 *
 * | policy        | the waits before the second and the third attempt   | `retryAfter` is honoured    |
 * | ------------- | --------------------------------------------------- | --------------------------- |
 * | `transient`   | 0 to 200 ms, 0 to 400 ms                            | up to 30 s, else no attempt |
 * | `rateLimited` | the same, but after `rate_limited` 1 to 2 s, 2 to 4 s | up to 60 s, else no attempt |
 * | `none`        | there is no other attempt                           |                             |
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import { allowing, granting } from "./internal/terms.ts"

/**
 * What a schedule may know of a failure: its code, and how long the service asked to be left alone.
 *
 * @category models
 * @since 0.1.0
 */
export interface Retryable {
  readonly code?: string
  readonly retryAfter?: Duration.Duration
}

const retries = 2

// Each bound is twice the one before, and never more than 5 s. No other attempt is made for a service that asks for more time
// than it is granted at the most.
const threeAttempts = (
  longest: Duration.Duration,
  wait: (failure: Retryable, bound: Duration.Duration, share: number) => Duration.Duration
): Schedule.Schedule<unknown, Retryable> => {
  const schedule = Schedule.min([Schedule.exponential("200 millis"), Schedule.spaced("5 seconds")]).pipe(
    Schedule.setInputType<Retryable>(),
    // First of all, so that a failure that is refused counts, too, in a schedule that goes on without this one.
    Schedule.upTo({ times: retries }),
    Schedule.while(({ input }) => Duration.isLessThanOrEqualTo(input.retryAfter ?? Duration.zero, longest)),
    Schedule.modifyDelay(({ duration, input }) => Effect.map(Random.next, (share) => wait(input, duration, share)))
  )
  return allowing(granting(schedule, longest), retries)
}

/**
 * For what is usually over in a moment: refused connections, timeouts, a 503.
 *
 * Three attempts in all. The wait before the second is drawn evenly from 0 to 200 ms, before the
 * third from 0 to 400 ms; each bound doubles and never exceeds 5 s. Full jitter keeps the callers
 * of a service that comes back from returning all at once (Marc Brooker, "Exponential Backoff And
 * Jitter", AWS Architecture Blog, 2015).
 *
 * A service that asked for more time (`retryAfter`) gets it, up to 30 s; when it asks for longer, there is no
 * other attempt.
 *
 * @example
 * ```ts
 * import { RetryPolicy, ToolUnavailable } from "@fallible/core"
 * import { Effect } from "effect"
 *
 * const refused = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })
 * let attempts = 0
 * const flaky = Effect.suspend(() => ++attempts < 3 ? Effect.fail(refused) : Effect.succeed(attempts))
 * await Effect.runPromise(Effect.retry(flaky, RetryPolicy.transient)) // => 3
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const transient: Schedule.Schedule<unknown, Retryable> = threeAttempts(
  Duration.seconds(30),
  ({ retryAfter = Duration.zero }, bound, share) => Duration.max(Duration.times(bound, share), retryAfter)
)

/**
 * For services that limit how often they are asked: {@link transient}, but after a `rate_limited` failure it waits longer.
 *
 * It waits as long as the service asked for (`retryAfter`), up to 60 s, or else 1 s, then 2 s; and on top of that up to as
 * much again, 1 s, then 2 s, so that those who were all told the same do not return all at once. When the service asks
 * for longer than 60 s, there is no other attempt.
 *
 * @example
 * ```ts
 * import { RetryPolicy, Tool, ToolUnavailable } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const limited = new ToolUnavailable({ code: "rate_limited", detail: "Too many requests.", transient: true })
 * const quotes = Tool.make("quotes", { description: "Quotes", success: Schema.Finite, sideEffect: "none" }, () =>
 *   Effect.fail(limited)
 * ).pipe(Tool.retry(RetryPolicy.rateLimited))
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const rateLimited: Schedule.Schedule<unknown, Retryable> = threeAttempts(
  Duration.seconds(60),
  ({ code, retryAfter }, bound, share) => {
    if (code !== "rate_limited") return Duration.max(Duration.times(bound, share), retryAfter ?? Duration.zero)
    const longer = Duration.times(bound, 5)
    return Duration.sum(retryAfter ?? longer, Duration.times(longer, share))
  }
)

/**
 * There is no other attempt.
 *
 * When to use: for a tool that must not be retried, where its toolkit or its agent has a retry as a default.
 *
 * @category policies
 * @since 0.1.0
 */
export const none: Schedule.Schedule<unknown> = allowing(Schedule.recurs(0), 0)
