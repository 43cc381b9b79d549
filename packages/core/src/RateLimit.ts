/**
 * Limits how many calls to a tool start in a window of time, so that the tool stays within the quota of its
 * service.
 *
 * The limiter is effect's own (`effect/persistence`). Its store decides where a limit is shared: within
 * this process or, with Redis, between all processes. This module makes the limiter a policy. The policy
 * decides whether a call above the limit waits for its turn, with which failure a call is refused, and how
 * waits respect a deadline.
 *
 *     tool.pipe(
 *       Tool.retry(RetryPolicy.transient),     inside the limit: a call counts once, however often it is tried
 *       RateLimit.limit({ limit: 60, window: "1 minute" }),
 *       CircuitBreaker.protect()               outside the limit: while the circuit is open, no call takes a turn
 *     )
 *
 * If the service counts requests, it also counts retries. In that case, put the limit inside `retry`, so
 * that each attempt takes its own turn. `Tool.concurrency` limits something else: how many calls run at the
 * same time.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as Deadline from "./Deadline.ts"
import { requireEffect } from "./internal/call/runUserCode.ts"
import { refusal } from "./internal/failure/policyRefusal.ts"
import { runContained } from "./internal/fiber/runContained.ts"
import { builtIn } from "./internal/policy/builtInPolicy.ts"
import { whole } from "./internal/value/numberOption.ts"
import * as Policy from "./Policy.ts"
import * as Tool from "./Tool.ts"
import type { ToolFailure, ToolUnavailable } from "./ToolFailure.ts"

/**
 * The number of calls in a window, and what happens to the calls above that number.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** The largest number of calls in a window: a whole number of at least 1. */
  readonly limit: number
  /** The length of a window: finite and above zero. */
  readonly window: Duration.Input
  /**
   * The name of the limit. To let tools that use the same service share one limit, give them the same key
   * and the same numbers. Default: the tool's name.
   */
  readonly key?: string
  /**
   * The algorithm of effect's limiter. Default: `"token-bucket"`, which allows a burst of up to `limit` calls, and then an
   * even rate.
   */
  readonly algorithm?: "fixed-window" | "token-bucket"
  /** Whether a call above the limit waits for its turn, or is refused. Default: `"wait"`. */
  readonly onExceeded?: "wait" | "refuse"
}

// -----------------------------------------------------------------------------
// Policy
// -----------------------------------------------------------------------------

/**
 * Makes a rate limit: a policy of kind `"rate"`. See {@link limit}.
 *
 * When to use: as a default of a toolkit or an agent. Each tool then has its own limit, unless `key` is
 * set.
 *
 * @category policies
 * @since 0.1.0
 */
export const policy = (options: Options): Policy.Policy<RateLimiter.RateLimiter> => {
  const { algorithm = "token-bucket", key, limit, onExceeded = "wait" } = options
  const window = Duration.fromInputUnsafe(options.window)
  whole("A rate limit's number of calls", limit)
  if (!Duration.isFinite(window) || !Duration.isPositive(window)) {
    throw new TypeError("A rate limit's window must be a finite duration above zero.")
  }
  const rate = `${limit} ${limit === 1 ? "call" : "calls"} in ${Duration.format(window)}`
  return builtIn(Policy.make<RateLimiter.RateLimiter, ToolUnavailable>({
    kind: "rate",
    description: `rate of ${rate}`,
    terms: { waits: { for: "its turn", max: onExceeded === "wait" ? Duration.infinity : Duration.zero } },
    wrap: <A, E extends ToolFailure, R>(run: Policy.Run<A, E, R>, { name }: Policy.Subject<A>, call: Policy.Call) => {
      const token = { algorithm, key: key ?? name, limit, window }
      type Running = Effect.Effect<A, E | ToolUnavailable, R>
      return (params: unknown) =>
        Effect.flatMap(RateLimiter.RateLimiter, (limiter) => {
          // The store may be user code, so its answer is checked.
          const consume = (onExceeded: "delay" | "fail") =>
            runContained(requireEffect("The rate limiter", limiter.consume({ ...token, onExceeded })))
          const wait = (left: Duration.Duration) =>
            Effect.matchEffect(consume("delay"), {
              onSuccess: ({ delay }): Running =>
                Duration.isLessThan(delay, left)
                  ? Effect.andThen(call.waiting(Effect.sleep(delay), delay), run(params))
                  : call.refuse(throttled(name, rate, delay)),
              onFailure: (error) => call.refuse(refusalFor(name, rate, error))
            })
          // This first request does not reserve a turn, so a call that is refused here has not used one up.
          // If other calls already wait for a fixed window, the limiter's `retryAfter` is an upper bound
          // for the wait.
          return Effect.matchEffect(consume("fail"), {
            onSuccess: (): Running => run(params),
            onFailure: (error) =>
              Effect.flatMap(Deadline.timeLeft, (left) =>
                onExceeded === "wait" && error.reason._tag === "RateLimitExceeded" &&
                  Duration.isLessThan(error.reason.retryAfter, left)
                  ? wait(left)
                  : call.refuse(refusalFor(name, rate, error)))
          })
        })
    }
  }))
}

/**
 * Limits how many calls to a tool start in a window of time.
 *
 * When to use: for a service with a quota, or for a service that must not be called too often. Placed
 * outside `retry`, the limit counts each call once. Placed inside, it counts each attempt.
 *
 * A call above the limit waits for its turn, in order of arrival. The call is refused if its turn would
 * come after the `Deadline`, or if `onExceeded` is `"refuse"`. A refused call fails with a transient
 * `ToolUnavailable` whose outcome is `not_executed`. Its code is one of these:
 *
 * - `throttled`: the limit is reached; `retryAfter` is the time until the call's turn
 * - `limiter_unavailable`: the limiter's store failed
 *
 * Throws immediately if `limit` is not a whole number of at least 1, or if `window` is not a finite
 * duration above zero.
 *
 * @example
 * ```ts
 * import { Tool } from "@fallible/core"
 * import * as RateLimit from "@fallible/core/RateLimit"
 * import { Duration, Effect, Layer, Schema } from "effect"
 * import { RateLimiter } from "effect/persistence"
 *
 * const quote = Tool.make("get_quote", { description: "A quote", success: Schema.Finite, sideEffect: "none" }, () =>
 *   Effect.succeed(12.5)
 * ).pipe(RateLimit.limit({ limit: 1, window: "1 hour", onExceeded: "refuse" }))
 *
 * const limiter = RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory))
 * const both = Effect.all([quote.run({}), Effect.flip(quote.run({}))])
 * const [first, second] = await Effect.runPromise(Effect.provide(both, limiter))
 * first // => 12.5
 * second.code // => "throttled"
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const limit = (options: Options) => {
  const added = policy(options)
  return <Name extends string, Params, A, E extends ToolFailure, R>(
    self: Tool.Tool<Name, Params, A, E, R>
  ): Tool.Tool<Name, Params, A, E | ToolUnavailable, R | RateLimiter.RateLimiter> => Tool.with(self, added)
}

// -----------------------------------------------------------------------------
// Internals
// -----------------------------------------------------------------------------

const refusalFor = (tool: string, rate: string, error: RateLimiter.RateLimiterError): ToolUnavailable => {
  switch (error.reason._tag) {
    case "RateLimitExceeded":
      return throttled(tool, rate, error.reason.retryAfter, error)
    case "RateLimitStoreError":
      return refusal({
        code: "limiter_unavailable",
        detail: `${tool} was not called: its rate limiter did not respond.`,
        cause: error
      })
  }
}

const throttled = (tool: string, rate: string, retryAfter: Duration.Duration, cause?: unknown): ToolUnavailable =>
  refusal({ code: "throttled", detail: `${tool} was not called: its rate limit is ${rate}.`, retryAfter, cause })
