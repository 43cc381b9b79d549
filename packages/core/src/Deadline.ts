/**
 * The moment at which a caller stops waiting, known to everything that runs inside.
 *
 * A run with an `elapsed` limit, a `Tool.timeout` and a `Tool.deadline` each set it for everything inside.
 * The earliest one wins. Code that waits reads it: a retry does not start if its wait would end after the
 * deadline, so a fallback gets its turn at once.
 *
 * A deadline alone does not end a `tool.run`. It ends the run of a `Tool.timeout` or a `Tool.deadline`
 * inside, if it comes first. It also ends a call of `Dispatch`, and an agent's run.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"

/**
 * The deadline, in milliseconds of the `Clock`. It is `Infinity` if none is set.
 *
 * @category context
 * @since 0.1.0
 */
export const current: Context.Reference<number> = Context.Reference("@fallible/core/Deadline/current", {
  defaultValue: () => Infinity
})

/**
 * Sets a deadline for everything that runs inside, unless an earlier one is already set.
 *
 * When to use: in a backend that knows when its own caller stops waiting, for example around `tool.run` in
 * a request handler. Timeouts inside end no later than the deadline, and no wait starts that would end
 * later. A `tool.run` without a timeout does not end at the deadline, but an agent's run does.
 *
 * @example
 * ```ts
 * import { Deadline } from "@fallible/core"
 * import { Duration, Effect } from "effect"
 *
 * const left = Effect.runSync(Deadline.timeLeft.pipe(Deadline.within("1 hour"), Deadline.within("1 minute")))
 * Duration.toSeconds(left) <= 60 // => true
 * ```
 *
 * @category context
 * @since 0.1.0
 */
export const within: {
  (duration: Duration.Input): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, duration: Duration.Input): Effect.Effect<A, E, R>
} = dual(
  2,
  <A, E, R>(self: Effect.Effect<A, E, R>, duration: Duration.Input): Effect.Effect<A, E, R> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const at = now + Duration.toMillis(Duration.fromInputUnsafe(duration))
      return Effect.flatMap(current, (before) => Effect.provideService(self, current, Math.min(before, at)))
    })
)

/**
 * The time left until the deadline. It is infinite without a deadline, and zero once the deadline has
 * passed.
 *
 * When to use: in a handler that passes its time on, as the timeout of a query or the deadline of a remote
 * call.
 *
 * @category context
 * @since 0.1.0
 */
export const timeLeft: Effect.Effect<Duration.Duration> = Effect.flatMap(
  current,
  (deadline) => Effect.map(Clock.currentTimeMillis, (now) => Duration.millis(Math.max(0, deadline - now)))
)
