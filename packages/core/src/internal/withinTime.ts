import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"

/** How long an interrupted caller waits for what it started to release what it holds. */
const grace = Duration.seconds(5)

/**
 * Runs an Effect in a fiber of its own for at most a given time, and truly ends the wait then: the
 * fiber is interrupted, but not awaited, since a handler may ignore its interruption. A defect that it ends
 * with later is logged.
 *
 * When the caller itself is interrupted, it waits for the fiber's finalizers, but no longer than
 * the grace of 5 s.
 */
export const withinTime = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  duration: Duration.Input
): Effect.Effect<Option.Option<A>, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      Effect.forkDetach(restore(self), { startImmediately: true }),
      (fiber) =>
        restore(Fiber.join(fiber).pipe(Effect.timeoutOption(duration))).pipe(
          Effect.onInterrupt(() => Effect.timeoutOption(Fiber.interrupt(fiber), grace)),
          Effect.tap((result) => Option.isNone(result) ? abandon(fiber) : Effect.void)
        )
    )
  )

const abandon = <A, E>(fiber: Fiber.Fiber<A, E>): Effect.Effect<void> =>
  Effect.suspend(() => {
    fiber.interruptUnsafe()
    return Effect.asVoid(Effect.forkDetach(Effect.flatMap(Fiber.await(fiber), (exit) =>
      Exit.isFailure(exit) && Cause.hasDies(exit.cause)
        ? Effect.logError("A handler that had been timed out ended with a fault of its own", exit.cause)
        : Effect.void)))
  })
