/**
 * When to try again: Schedules over a failure.
 *
 * Any `Schedule` is a retry policy; these are the ones that most tools want. A schedule decides
 * how long to wait and when to give up. Whether a failure may be retried at all is not its
 * matter: `Tool.retry` retries transient failures alone, and only where a repetition is safe.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"

/**
 * What a schedule may know of a failure: how long the service asked to be left alone.
 *
 * @category models
 * @since 0.1.0
 */
export interface Retryable {
  readonly retryAfter?: Duration.Duration
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
export const transient: Schedule.Schedule<unknown, Retryable> = Schedule.min([
  Schedule.exponential("200 millis"),
  Schedule.spaced("5 seconds")
]).pipe(
  Schedule.setInputType<Retryable>(),
  Schedule.while(({ input }) => Duration.isLessThanOrEqualTo(asked(input), Duration.seconds(30))),
  Schedule.modifyDelay(({ duration, input }) =>
    Effect.map(Random.next, (share) => Duration.max(Duration.times(duration, share), asked(input)))
  ),
  Schedule.upTo({ times: 2 })
)

const asked = ({ retryAfter }: Retryable): Duration.Duration => retryAfter ?? Duration.zero
