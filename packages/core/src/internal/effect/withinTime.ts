import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Defect from "../../Defect.ts"
import { currentContext, interruption, isTooDeep, observed, started } from "./contained.ts"

/** What becomes of an Effect that takes too long. */
export interface Limits<A, E, R, A2, E2, R2> {
  /** What comes instead of its end, when the time is up. */
  readonly late: () => Effect.Effect<A2, E2, R2>
  /** Told when it has ended in time. */
  readonly onEnd?: () => void
  /** Told when the caller is interrupted, before what it started is. */
  readonly onInterrupt?: () => void
  /** Told of the fiber when it is left behind, and still runs. */
  readonly onLeft?: (fiber: Fiber.Fiber<A, E>) => void
  /** What it is called where a defect is reported. Default: a handler. */
  readonly who?: string
  /** What it runs in. Default: the context of its caller. */
  readonly context?: Context.Context<R>
}

/**
 * Runs an Effect in a fiber of its own for at most a given time, and truly ends the wait then: the
 * fiber is interrupted, but not awaited, since a handler may ignore its interruption. A defect that it ends
 * with later is reported.
 *
 * When the caller itself is interrupted, it waits for the fiber's finalizers, but no longer than
 * the grace of 5 s.
 */
export const withinTime = <A, E, R, A2, E2, R2>(
  self: Effect.Effect<A, E, R>,
  millis: number,
  limits: Limits<A, E, R, A2, E2, R2>
): Effect.Effect<A | A2, E | E2, R | R2> =>
  Effect.uninterruptibleMask((restore) => {
    const context = limits.context ?? currentContext<R>()
    // Who cannot wait needs no time limit.
    if (isTooDeep()) return Effect.updateContext(restore(self), () => context)
    const fiber = started(self, context)
    // What needs no time needs no clock.
    const done = fiber.pollUnsafe()
    if (done !== undefined) {
      limits.onEnd?.()
      return done
    }
    const abandon = Effect.suspend(() =>
      Effect.andThen(
        Effect.sync(() => fiber.interruptUnsafe()),
        Effect.suspend(() => {
          if (fiber.pollUnsafe() === undefined) limits.onLeft?.(fiber)
          return reported(fiber, limits.who ?? "A handler")
        })
      )
    )
    return Effect.flatMap(
      Effect.onInterrupt(restore(endWithin(fiber, millis)), (interruptors) => {
        limits.onInterrupt?.()
        return Effect.flatMap(
          Effect.andThen(interruption(fiber, interruptors), endWithin(fiber, grace)),
          (end) => end === undefined ? abandon : Effect.void
        )
      }),
      (end): Effect.Effect<A | A2, E | E2, R2> => {
        if (end === undefined) return Effect.andThen(abandon, Effect.suspend(limits.late))
        limits.onEnd?.()
        return end
      }
    )
  })

/** How long an interrupted caller waits for what it started to release what it holds, in milliseconds. */
const grace = 5_000

// The end of a fiber, if it comes before the time is up.
const endWithin = <A, E>(fiber: Fiber.Fiber<A, E>, millis: number): Effect.Effect<Exit.Exit<A, E> | undefined> =>
  Effect.withFiber((waiting) =>
    Effect.callback((resume) => {
      const timer = millis === Infinity ? undefined : Effect.runForkWith(waiting.context)(Effect.sleep(millis))
      // It may have ended, with nobody told yet.
      const forgetTimer = timer?.addObserver((exit) => resume(Effect.map(exit, () => fiber.pollUnsafe())))
      const stop = () => {
        forgetTimer?.()
        timer?.interruptUnsafe()
      }
      const forget = observed(fiber, waiting, (exit) => {
        stop()
        resume(Effect.succeed(exit))
      })
      return Effect.sync(() => {
        forget()
        stop()
      })
    })
  )

const reported = <A, E>(fiber: Fiber.Fiber<A, E>, who: string): Effect.Effect<void> =>
  Effect.asVoid(
    Effect.forkDetach(Effect.flatMap(Fiber.await(fiber), (exit) =>
      Exit.isFailure(exit) && Cause.hasDies(exit.cause)
        ? Defect.report(`${who} that had been timed out ended with a fault of its own`, exit.cause)
        : Effect.void))
  )
