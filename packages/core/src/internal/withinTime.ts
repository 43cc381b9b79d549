import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Defect from "../Defect.ts"

/** How long an interrupted caller waits for what it started to release what it holds. */
const grace = Duration.seconds(5)

/**
 * Runs an Effect in a fiber of its own for at most a given time, and truly ends the wait then: the
 * fiber is interrupted, but not awaited, since a handler may ignore its interruption. A defect that it ends
 * with later is reported.
 *
 * When the caller itself is interrupted, it waits for the fiber's finalizers, but no longer than
 * the grace of 5 s.
 *
 * @param onLeft told of the fiber when it is left behind, and may still be running
 * @param who what it is called where a defect is reported
 */
export const withinTime = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  duration: Duration.Input,
  onLeft: (fiber: Fiber.Fiber<A, E>) => void = () => {},
  who = "A handler"
): Effect.Effect<Option.Option<A>, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      Effect.forkDetach(restore(self), { startImmediately: true }),
      (fiber) => {
        // What needs no time needs no clock.
        const done = fiber.pollUnsafe()
        if (done !== undefined) return Effect.map(done, Option.some)
        const abandon = Effect.suspend(() => {
          onLeft(fiber)
          return abandoned(fiber, who)
        })
        return restore(Fiber.join(fiber).pipe(Effect.timeoutOption(duration))).pipe(
          Effect.onInterrupt(() =>
            Effect.flatMap(
              Effect.timeoutOption(Fiber.interrupt(fiber), grace),
              (ended) => Option.isNone(ended) ? abandon : Effect.void
            )
          ),
          Effect.tap((result) => Option.isNone(result) ? abandon : Effect.void)
        )
      }
    )
  )

const abandoned = <A, E>(fiber: Fiber.Fiber<A, E>, who: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    fiber.interruptUnsafe()
    return Effect.asVoid(Effect.forkDetach(Effect.flatMap(Fiber.await(fiber), (exit) =>
      Exit.isFailure(exit) && Cause.hasDies(exit.cause)
        ? Defect.report(`${who} that had been timed out ended with a fault of its own`, exit.cause)
        : Effect.void)))
  })
