/**
 * Lets so many calls through in a time: to keep to what a service allows, before it says so itself.
 *
 * The limiter is effect's own (`effect/persistence`): its store says who shares a limit, this process or, over Redis, all of
 * them. Here is what makes a policy of it: whether a call waits for its turn, what a refused one fails with, and how that goes
 * with a deadline.
 *
 *     tool.pipe(
 *       Tool.retry(RetryPolicy.transient),     inside: a call counts once, however often it is tried
 *       RateLimit.limit({ limit: 60, window: "1 minute" }),
 *       CircuitBreaker.protect()               outside: while the circuit is open, nobody takes a turn
 *     )
 *
 * A service that counts requests counts retries, too: there, put it inside of `retry`, so that each attempt takes a turn of
 * its own. `Tool.concurrency` bounds something else: how many calls run at once.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as Deadline from "./Deadline.ts"
import { answered } from "./internal/call/userCode.ts"
import { contained } from "./internal/effect/contained.ts"
import { turn } from "./internal/explain/bounds.ts"
import { refusal } from "./internal/failure/refusalCode.ts"
import { builtIn } from "./internal/policy/builtIn.ts"
import { whole } from "./internal/value/numberOption.ts"
import * as Policy from "./Policy.ts"
import * as Tool from "./Tool.ts"
import type { ToolFailure, ToolUnavailable } from "./ToolFailure.ts"

/**
 * How many calls in what time, and what becomes of those that are too many.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** How many calls in a window, a whole number from 1. */
  readonly limit: number
  /** How long a window is. */
  readonly window: Duration.Input
  /** The limit's name: tools that stand on one service share it, with the same numbers. Default: the tool's name. */
  readonly key?: string
  /** As effect's limiter knows them. Default: `"token-bucket"`, a burst of up to `limit`, and then evenly. */
  readonly algorithm?: "fixed-window" | "token-bucket"
  /** Whether a call waits for its turn. Default: `"wait"`. */
  readonly onExceeded?: "wait" | "refuse"
}

// -----------------------------------------------------------------------------
// Policy
// -----------------------------------------------------------------------------

/**
 * A limit as a policy of kind `"rate"`. See {@link limit}.
 *
 * When to use: as a default of a toolkit or an agent: each tool gets a limit of its own, unless there is a `key`.
 *
 * @category policies
 * @since 0.1.0
 */
export const policy = (options: Options): Policy.Policy<RateLimiter.RateLimiter> => {
  const { algorithm = "token-bucket", key, limit, onExceeded = "wait" } = options
  const window = Duration.fromInputUnsafe(options.window)
  whole("A rate limit's number of calls", limit)
  if (!Duration.isFinite(window) || !Duration.isPositive(window)) {
    throw new TypeError("A rate limit's window is a finite duration above zero.")
  }
  const rate = `${limit} ${limit === 1 ? "call" : "calls"} in ${Duration.format(window)}`
  return builtIn(Policy.make<RateLimiter.RateLimiter, ToolUnavailable>({
    kind: "rate",
    description: `rate of ${rate}`,
    bound: turn("its turn", onExceeded === "wait" ? Duration.infinity : Duration.zero),
    wrap: <A, E extends ToolFailure, R>(run: Policy.Run<A, E, R>, { name }: Policy.Subject<A>, call: Policy.Call) => {
      const token = { algorithm, key: key ?? name, limit, window }
      type Running = Effect.Effect<A, E | ToolUnavailable, R>
      return (params: unknown) =>
        Effect.flatMap(RateLimiter.RateLimiter, (limiter) => {
          // A store of limits may be a user's, too.
          const consume = (onExceeded: "delay" | "fail") =>
            contained(answered("The rate limiter", limiter.consume({ ...token, onExceeded })))
          const wait = (left: Duration.Duration) =>
            Effect.matchEffect(consume("delay"), {
              onSuccess: ({ delay }): Running =>
                Duration.isLessThan(delay, left)
                  ? Effect.andThen(call.waiting(Effect.sleep(delay), delay), run(params))
                  : call.refuse(throttled(name, rate, delay)),
              onFailure: (error) => call.refuse(refused(name, rate, error))
            })
          // First without waiting: who is refused then has taken no turn. (Of a fixed window for which others wait already it
          // is told the longest that the wait may be.)
          return Effect.matchEffect(consume("fail"), {
            onSuccess: (): Running => run(params),
            onFailure: (error) =>
              Effect.flatMap(Deadline.timeLeft, (left) =>
                onExceeded === "wait" && error.reason._tag === "RateLimitExceeded" &&
                  Duration.isLessThan(error.reason.retryAfter, left)
                  ? wait(left)
                  : call.refuse(refused(name, rate, error)))
          })
        })
    }
  }))
}

/**
 * Lets at most so many calls of a tool begin in a time.
 *
 * When to use: for a service with a quota, and for what must not be asked too often. Outside of `retry` a call counts once;
 * inside, each attempt does.
 *
 * A call that is too many waits for its turn, in the order of the calls, unless its turn comes after the `Deadline`, or waiting
 * is not wanted. It fails with `ToolUnavailable` then, transient and `not_executed`, as `throttled`, with the time until there is
 * a turn as `retryAfter`; or as `limiter_unavailable` when the limiter's store does not answer. A limit that is no whole number
 * from 1, or a window that is not above zero, throws at once.
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
// Inside
// -----------------------------------------------------------------------------

const refused = (tool: string, rate: string, error: RateLimiter.RateLimiterError): ToolUnavailable => {
  switch (error.reason._tag) {
    case "RateLimitExceeded":
      return throttled(tool, rate, error.reason.retryAfter, error)
    case "RateLimitStoreError":
      return refusal({
        code: "limiter_unavailable",
        detail: `${tool} is not called for now: its rate limiter does not answer.`,
        cause: error
      })
  }
}

const throttled = (tool: string, rate: string, retryAfter: Duration.Duration, cause?: unknown): ToolUnavailable =>
  refusal({ code: "throttled", detail: `${tool} is not called for now: our own limit is ${rate}.`, retryAfter, cause })
