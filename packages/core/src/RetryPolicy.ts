/**
 * Retry policies: Schedules that decide when to retry after a failure.
 *
 *     RetryPolicy.make({ attempts: 5, cap: "10 seconds" })              backs off with jitter, and honours Retry-After
 *     RetryPolicy.honouring(Schedule.spaced("1 second"), "1 minute")    your own schedule, made to honour Retry-After
 *
 * Any `Schedule` can be a retry policy; this module has the ones that most tools need. A schedule decides
 * how long to wait and when to give up. It does not decide whether a failure may be retried: `Tool.retry`
 * retries only transient failures, and only if a repetition is safe.
 *
 * The `retryAfter` of a failure is the wait that the service asked for, for example in an HTTP header
 * `Retry-After`.
 *
 * | policy        | waits before the second and the third attempt      | longest `retryAfter` that is honoured      |
 * | ------------- | -------------------------------------------------- | ------------------------------------------ |
 * | `make`        | set by its options                                 | set by its options                         |
 * | `transient`   | 0 to 200 ms, 0 to 400 ms                           | 30 s; beyond that, it gives up             |
 * | `rateLimited` | the same; after `rate_limited`, 1 to 2 s, 2 to 4 s | 60 s; beyond that, it gives up             |
 * | `honouring`   | set by its schedule                                | set by its limit; beyond that, it gives up |
 * | `none`        | none: it never retries                             |                                            |
 *
 * @since 0.1.0
 */
import { demandKnown, type Names } from "@fallible/arguments/internal"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import type { Certainty } from "./Certainty.ts"
import { cappedBackoff, type Terms, waitAsAsked, withTerms } from "./internal/policy/retryWait.ts"
import { finite } from "./internal/value/numberOption.ts"
import { excerpt, kind } from "./internal/value/text.ts"

/**
 * The fields of a failure that a schedule can read: the code, the wait that the service asked for, and
 * whether the call took effect.
 *
 * @category models
 * @since 0.1.0
 */
export interface Retryable {
  readonly code?: string
  readonly retryAfter?: Duration.Duration
  readonly outcome?: Certainty
}

export type { Terms, Wait } from "./internal/policy/retryWait.ts"

/**
 * A schedule that publishes its terms. `Tool.explain` computes the worst case of a retry from them. A combinator of `Schedule`
 * returns a schedule without terms, which counts as unbounded if it reads failures.
 *
 * @category models
 * @since 0.1.0
 */
export interface RetryPolicy<out Output = unknown, in Input = Retryable, out Error = never, out Env = never>
  extends Schedule.Schedule<Output, Input, Error, Env>
{
  readonly terms: Terms
}

/**
 * The options of a retry policy.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** The largest number of attempts, including the first: a whole number of at least 1. Default: 3. */
  readonly attempts?: number
  /**
   * The longest wait before the second attempt. For each further attempt, this limit doubles, up to `cap`.
   * Default: 200 ms.
   */
  readonly base?: Duration.Input
  /**
   * The longest wait before any attempt, unless the service asks for a longer wait that `honourRetryAfter`
   * allows. Default: 5 seconds.
   */
  readonly cap?: Duration.Input
  /**
   * Whether each wait is random: drawn evenly between zero and the longest wait for that attempt. With `false`, each wait is
   * the longest. Default: `true`.
   */
  readonly jitter?: boolean
  /**
   * The longest wait that a service may ask for (`retryAfter`). If the service asks for a longer one, the
   * call is not retried. With `false`, `retryAfter` is ignored. Default: 30 seconds.
   */
  readonly honourRetryAfter?: Duration.Input | false
  /**
   * Whether an attempt that timed out is retried. With `false`, a service that hangs is called only once. A
   * timeout while connecting (outcome `not_executed`) is retried even with `false`. Default: `true`.
   */
  readonly retryTimeouts?: boolean
}

/**
 * Makes an exponential backoff with full jitter that honours `Retry-After`.
 *
 * When to use: if {@link transient} does not fit. Without options, `make` returns the same policy as
 * {@link transient}.
 *
 * Full jitter keeps the callers of a recovering service from retrying all at the same moment (Marc Brooker,
 * "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
 *
 * Throws if an option is out of range, or if `base` is longer than `cap`.
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
 * attempts.max // => 5
 * Duration.format(waiting.max) // => "12s"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): RetryPolicy => {
  demandKnown("RetryPolicy.make", options, names)
  const { honourRetryAfter = "30 seconds", jitter = true, retryTimeouts = true } = options
  for (const [name, flag] of Object.entries({ jitter, retryTimeouts })) {
    if (!Predicate.isBoolean(flag)) throw new TypeError(`A retry's ${name} must be a boolean; got ${excerpt(flag)}.`)
  }
  const { attempts, lengths, schedule } = cappedBackoff(options)
  const jittered = jitter
    ? Schedule.modifyDelay(
      schedule,
      ({ duration }) => Effect.map(Random.next, (share) => Duration.times(duration, share))
    )
    : schedule
  const limited = retryTimeouts ? jittered : Schedule.while(jittered, ({ input }) => !isTimedOut(input))
  const asked = honourRetryAfter === false ? Duration.zero : finite("longest wait for Retry-After", honourRetryAfter)
  return withTerms(honourRetryAfter === false ? limited : waitAsAsked(limited, asked), {
    attempts,
    waits: lengths.map((own) => ({
      min: jitter ? Duration.zero : own,
      max: Duration.max(own, asked),
      own
    })),
    isRandom: jitter && attempts > 1,
    ...(honourRetryAfter === false ? {} : { honours: asked })
  })
}

const names: Names<Options> = {
  attempts: true,
  base: true,
  cap: true,
  jitter: true,
  honourRetryAfter: true,
  retryTimeouts: true
}

const isTimedOut = ({ code, outcome }: Retryable): boolean => code === "timeout" && outcome !== "not_executed"

/**
 * Makes your own schedule honour `Retry-After`. The schedule then waits at least as long as the service
 * asks for. If that wait is longer than a limit, the schedule gives up.
 *
 * When to use: with any schedule of your own that retries calls to a service. On its own, a schedule
 * ignores `retryAfter`, and may retry too soon.
 *
 * The schedule decides everything else: how often to retry, and how long to wait if the service does not
 * ask for a wait.
 *
 * @param schedule must be a Schedule; throws otherwise
 * @param longest the longest wait that a service may ask for, finite and above zero; default: 30 seconds
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
 * attempts.max // => 4
 * Duration.format(waiting.max) // => "30s"
 * ```
 *
 * @category combining
 * @since 0.1.0
 */
export const honouring = <Output, Input, Error, Env>(
  schedule: Schedule.Schedule<Output, Input, Error, Env>,
  longest: Duration.Input = "30 seconds"
): RetryPolicy<Output, Input & Retryable, Error, Env> => {
  if (!Schedule.isSchedule(schedule)) {
    throw new TypeError(`RetryPolicy.honouring needs a Schedule; got ${kind(schedule)}.`)
  }
  const honours = finite("longest wait for Retry-After", longest)
  return withTerms(waitAsAsked(schedule, honours), { around: asAny(schedule), honours })
}

/**
 * A retry policy for failures that usually pass within a moment, such as a refused connection, a timeout or
 * a 503.
 *
 * It makes three attempts in all. The wait before the second attempt is drawn evenly from 0 to 200 ms;
 * before the third, from 0 to 400 ms. This is {@link make} without options.
 *
 * If the service asks for a longer wait (`retryAfter`), the policy waits that long, up to 30 s. If the
 * service asks for more than 30 s, the call is not retried.
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
export const transient: RetryPolicy = make()

const defaults = cappedBackoff({})

// The longest `retryAfter` that {@link rateLimited} honours, and how much longer it waits after a `rate_limited` failure.
const rateLimit = Duration.minutes(1)
const longerBy = 5

/**
 * A retry policy for services with rate limits. It is like {@link transient}, but waits longer after a
 * `rate_limited` failure.
 *
 * After a `rate_limited` failure, the policy waits as long as the service asked for (`retryAfter`). If the
 * service did not ask for a wait, the policy waits 1 s before the second attempt, and 2 s before the third.
 * To this wait, the policy adds a random one: up to 1 s before the second attempt, and up to 2 s before the
 * third. So callers with the same `retryAfter` do not all retry at the same moment. If the service asks for
 * more than 60 s, the call is not retried.
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
export const rateLimited: RetryPolicy = withTerms(
  waitAsAsked(
    Schedule.modifyDelay(
      defaults.schedule,
      ({ duration, input: { code, retryAfter } }) =>
        Effect.map(Random.next, (share) => {
          if (code !== "rate_limited") return Duration.times(duration, share)
          const longer = Duration.times(duration, longerBy)
          return Duration.sum(retryAfter ?? longer, Duration.times(longer, share))
        })
    ),
    rateLimit
  ),
  {
    attempts: defaults.attempts,
    waits: defaults.lengths.map((own) => ({
      min: Duration.zero,
      max: Duration.sum(rateLimit, Duration.times(own, longerBy)),
      own
    })),
    isRandom: true,
    honours: rateLimit
  }
)

/**
 * A retry policy that never retries.
 *
 * When to use: for a tool that must not be retried although its toolkit or agent has a default retry.
 *
 * @category policies
 * @since 0.1.0
 */
export const none: RetryPolicy<unknown, unknown> = withTerms(Schedule.recurs(0), {
  attempts: 1,
  waits: [],
  isRandom: false
})

// `Tool.explain` steps the schedule with failures, and provides no services.
const asAny = (schedule: unknown) => schedule as Extract<Terms, { readonly around: unknown }>["around"]
