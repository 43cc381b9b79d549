/**
 * When to try again: Schedules over a failure.
 *
 *     RetryPolicy.make({ attempts: 5, cap: "10 seconds" })              backs off with jitter, and honours Retry-After
 *     RetryPolicy.honouring(Schedule.spaced("1 second"), "1 minute")    a schedule of your own that honours it, too
 *
 * Any `Schedule` is a retry policy; these are the ones that most tools want. A schedule decides
 * how long to wait and when to give up. Whether a failure may be retried at all is not its
 * matter: `Tool.retry` retries transient failures alone, and only where a repetition is safe.
 *
 * | policy        | the waits before the second and the third attempt   | `retryAfter` is honoured    |
 * | ------------- | --------------------------------------------------- | --------------------------- |
 * | `make`        | as its options say                                  | as its options say          |
 * | `transient`   | 0 to 200 ms, 0 to 400 ms                            | up to 30 s, else no attempt |
 * | `rateLimited` | the same, but after `rate_limited` 1 to 2 s, 2 to 4 s | up to 60 s, else no attempt |
 * | `honouring`   | those of its schedule                               | up to a limit, else no attempt |
 * | `none`        | there is no other attempt                           |                             |
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import type { Certainty } from "./Certainty.ts"
import { allowing, readBy, type Terms } from "./internal/policy/retryTerms.ts"
import { finite, whole } from "./internal/value/numberOption.ts"
import { excerpt, kind } from "./internal/value/text.ts"

/**
 * What a schedule may know of a failure: its code, how long the service asked to be left alone, and whether the call took effect.
 *
 * @category models
 * @since 0.1.0
 */
export interface Retryable {
  readonly code?: string
  readonly retryAfter?: Duration.Duration
  readonly outcome?: Certainty
}

/**
 * What a retry policy is made of.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** How many attempts at most, the first among them: a whole number from 1. Default: 3. */
  readonly attempts?: number
  /** The longest wait before the second attempt. It doubles before each further one. Default: 200 ms. */
  readonly base?: Duration.Input
  /** The longest wait of all, unless the service asks for a longer one, and `honourRetryAfter` allows it. Default: 5 seconds. */
  readonly cap?: Duration.Input
  /** Draws each wait evenly from zero to its longest. Without jitter each wait is its longest. Default: `true`. */
  readonly jitter?: boolean
  /**
   * The longest wait that a service gets when it asks for one (`retryAfter`). When it asks for longer, there is no other attempt; `false`
   * ignores what it asks for. Default: 30 seconds.
   */
  readonly honourRetryAfter?: Duration.Input | false
  /**
   * Retries an attempt that timed out. With `false` a service that hangs is asked once; a connection that was not made in time
   * (`not_executed`) is retried all the same. Default: `true`.
   */
  readonly retryTimeouts?: boolean
}

/**
 * Exponential backoff with full jitter, which honours `Retry-After`.
 *
 * When to use: where the defaults do not fit. With none of the options it is {@link transient}.
 *
 * Full jitter keeps the callers of a service that comes back from returning all at once (Marc Brooker, "Exponential Backoff And Jitter",
 * AWS Architecture Blog, 2015).
 *
 * An option out of its range throws, and so does a `base` that is longer than the `cap`.
 *
 * @example
 * ```ts
 * import { RetryPolicy, Tool } from "@fallible/core"
 * import { Duration, Effect, Schema } from "effect"
 *
 * const quote = Tool.make("get_quote", { description: "A quote", success: Schema.Finite, sideEffect: "none" }, () =>
 *   Effect.succeed(1)
 * ).pipe(Tool.retry(RetryPolicy.make({ attempts: 5, base: "1 second", honourRetryAfter: false })))
 *
 * const { attempts, waiting } = Tool.explain(quote)
 * attempts.most // => 5
 * Duration.format(waiting.most) // => "12s"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): Schedule.Schedule<unknown, Retryable> => {
  const { honourRetryAfter = "30 seconds", jitter = true, retryTimeouts = true } = options
  for (const [name, flag] of Object.entries({ jitter, retryTimeouts })) {
    if (!Predicate.isBoolean(flag)) throw new TypeError(`A retry's ${name} is a boolean; got ${excerpt(flag)}.`)
  }
  const { backoff, times } = backingOff(options)
  const drawn = jitter
    ? Schedule.modifyDelay(
      backoff,
      ({ duration }) => Effect.map(Random.next, (share) => Duration.times(duration, share))
    )
    : backoff
  const limited = retryTimeouts ? drawn : Schedule.while(drawn, ({ input }) => !isTimedOut(input))
  return allowing(honourRetryAfter === false ? limited : honouring(limited, honourRetryAfter), times)
}

// The limit of attempts comes first, so that a failure that is refused counts, too, in a schedule that goes on without this one.
const backingOff = ({ attempts = 3, base = "200 millis", cap = "5 seconds" }: Options) => {
  const times = whole("A retry's limit of attempts", attempts) - 1
  const first = finite("retry's base", base)
  const longest = finite("retry's cap", cap)
  if (Duration.isGreaterThan(first, longest)) {
    throw new TypeError(
      `A retry's base is no longer than its cap; got ${Duration.format(first)} and ${Duration.format(longest)}.`
    )
  }
  const backoff = Schedule.min([Schedule.exponential(first), Schedule.spaced(longest)]).pipe(
    Schedule.setInputType<Retryable>(),
    Schedule.upTo({ times })
  )
  return { backoff, times }
}

const isTimedOut = (failure: Retryable): boolean => {
  const { code, outcome } = readBy({ endsAtTimeout: true }, failure)
  return code === "timeout" && outcome !== "not_executed"
}

/**
 * A schedule of your own that honours `Retry-After`: it waits at least as long as the service asks for, and gives up when that is longer
 * than a limit.
 *
 * When to use: with any schedule over failures of a service. A schedule by itself knows nothing of `retryAfter`, and comes back too soon.
 *
 * The schedule decides all the rest: how often, and how long to wait where the service does not say.
 *
 * @param schedule what is not a Schedule throws
 * @param longest the longest wait that a service gets, finite and above zero; default: 30 seconds
 *
 * @example
 * ```ts
 * import { RetryPolicy, Tool } from "@fallible/core"
 * import { Duration, Effect, Schedule, Schema } from "effect"
 *
 * const quote = Tool.make("get_quote", { description: "A quote", success: Schema.Finite, sideEffect: "none" }, () =>
 *   Effect.succeed(1)
 * ).pipe(Tool.retry(RetryPolicy.honouring(Schedule.recurs(3), "10 seconds")))
 *
 * const { attempts, waiting } = Tool.explain(quote)
 * attempts.most // => 4
 * Duration.format(waiting.most) // => "30s"
 * ```
 *
 * @category combining
 * @since 0.1.0
 */
export const honouring = <Output, Input, Error, Env>(
  schedule: Schedule.Schedule<Output, Input, Error, Env>,
  longest: Duration.Input = "30 seconds"
): Schedule.Schedule<Output, Input & Retryable, Error, Env> => {
  if (!Schedule.isSchedule(schedule)) {
    throw new TypeError(`RetryPolicy.honouring takes a Schedule; got ${kind(schedule)}.`)
  }
  const terms = { longest: finite("longest wait for Retry-After", longest) }
  return schedule.pipe(
    Schedule.setInputType<Input & Retryable>(),
    Schedule.while(({ input }) => Duration.isLessThanOrEqualTo(askedFor(input, terms), terms.longest)),
    Schedule.modifyDelay(({ duration, input }) => Effect.succeed(Duration.max(duration, askedFor(input, terms))))
  )
}

/** The wait that a service asked for, or none. */
const askedFor = (failure: Retryable, terms: Terms): Duration.Duration =>
  readBy(terms, failure).retryAfter ?? Duration.zero

/**
 * For what is usually over in a moment: refused connections, timeouts, a 503.
 *
 * Three attempts in all. The wait before the second is drawn evenly from 0 to 200 ms, before the
 * third from 0 to 400 ms ({@link make} without options).
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
export const transient: Schedule.Schedule<unknown, Retryable> = make()

const usual = backingOff({})

// What is granted to a service that limits its rate.
const aMinute = { longest: Duration.minutes(1) }

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
export const rateLimited: Schedule.Schedule<unknown, Retryable> = allowing(
  honouring(
    Schedule.modifyDelay(usual.backoff, ({ duration, input }) =>
      Effect.map(Random.next, (share) => {
        const { code, retryAfter } = readBy(aMinute, input)
        if (code !== "rate_limited") return Duration.times(duration, share)
        const longer = Duration.times(duration, 5)
        return Duration.sum(retryAfter ?? longer, Duration.times(longer, share))
      })),
    aMinute.longest
  ),
  usual.times
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
