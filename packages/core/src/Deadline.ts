/**
 * The time at which a caller stops waiting. All code that runs for that caller can read it.
 *
 * A `Tool.timeout`, a `Tool.deadline` and the `elapsed` limit of an agent's run each set a deadline for
 * everything inside them. The earliest deadline applies. If the wait before a retry would end after the
 * deadline, the retry is not started, and a fallback runs immediately instead.
 *
 * Setting a deadline does not by itself end a `tool.run`. But if the tool has a `Tool.timeout` or a
 * `Tool.deadline`, its run ends at the surrounding deadline, if that comes first. The deadline always ends a call
 * through `Dispatch`, and an agent's run.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"

/**
 * The deadline, in milliseconds of the `Clock`; `Infinity` if no deadline is set.
 *
 * @category context
 * @since 0.1.0
 */
export const current: Context.Reference<number> = Context.Reference("@fallible/core/Deadline/current", {
  defaultValue: () => Infinity
})

/**
 * Sets a deadline for an Effect and everything that it runs, unless an earlier deadline is already set.
 *
 * When to use: in a backend that knows when its own caller stops waiting, for example around `tool.run` in
 * a request handler. Inside, timeouts end no later than the deadline, and a wait that would end later is not
 * started. A `tool.run` without a timeout does not end at the deadline, but an agent's run does.
 *
 * @example
 * ```ts
 * import * as Deadline from "@fallible/core/Deadline"
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
 * The time left until the deadline: infinite without a deadline, and zero after the deadline has passed.
 *
 * When to use: in a handler that passes the remaining time on, as the timeout of a query or the deadline of a
 * remote call.
 *
 * @category context
 * @since 0.1.0
 */
export const timeLeft: Effect.Effect<Duration.Duration> = Effect.flatMap(
  current,
  (deadline) => Effect.map(Clock.currentTimeMillis, (now) => Duration.millis(Math.max(0, deadline - now)))
)
