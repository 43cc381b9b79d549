/**
 * When somebody stops waiting: one moment, known to everything that runs before it.
 *
 * A run with an `elapsed` limit, a `Tool.timeout` and a `Tool.deadline` set it, for all that runs inside; the tightest one wins. What
 * waits reads it: a retry whose wait cannot end before the deadline is not begun, so that a fallback gets its turn
 * at once. A deadline ends nothing by itself: a `Tool.timeout` or a `Tool.deadline` inside does, at the deadline if that comes first,
 * and an agent's run does.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"

/**
 * The deadline, in milliseconds of the `Clock`; `Infinity` when nobody set one.
 *
 * @category context
 * @since 0.1.0
 */
export const current: Context.Reference<number> = Context.Reference("@fallible/core/Deadline/current", {
  defaultValue: () => Infinity
})

/**
 * Sets a deadline for what runs inside, unless there is an earlier one already.
 *
 * When to use: in a backend that knows when its own caller stops waiting: around `tool.run` in the handler of a
 * request, say. Timeouts inside become no longer than that, and no wait begins that would end later; a tool without a timeout
 * is not ended by it, but an agent's run is.
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
 * How much time is left; infinite when there is no deadline, zero when it has passed.
 *
 * When to use: in a handler that passes its time on: as the time-out of a query, the deadline of a remote call.
 *
 * @category context
 * @since 0.1.0
 */
export const timeLeft: Effect.Effect<Duration.Duration> = Effect.flatMap(
  current,
  (deadline) => Effect.map(Clock.currentTimeMillis, (now) => Duration.millis(Math.max(0, deadline - now)))
)
