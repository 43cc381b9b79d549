import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { reportDefect } from "./reportDefect.ts"
import { currentContext, interruptFiber, isTooDeep, observeEnd, startFiber } from "./runContained.ts"

/** Options of {@link withinTime}. */
export interface Limits<A, E, R, A2, E2, R2> {
  /** Returns the result when the time is up. */
  readonly late: () => Effect.Effect<A2, E2, R2>
  /** Called when the Effect has ended in time. */
  readonly onEnd?: () => void
  /** Called when the caller is interrupted, before the fiber is interrupted. */
  readonly onInterrupt?: () => void
  /** Called with an abandoned fiber if it still runs after its interruption. */
  readonly onLeft?: (fiber: Fiber.Fiber<A, E>) => void
  /** The name of the Effect in the report of a late defect. Default: `"A handler"`. */
  readonly who?: string
  /** Starts the fiber. Default: starts it as it is. */
  readonly within?: <B>(start: () => B) => B
  /** The context of the Effect. Default: the context of the caller. */
  readonly context?: Context.Context<R>
}

/**
 * Runs an Effect in its own fiber for at most a given time. The caller never waits longer: the fiber is
 * interrupted but not awaited, since a handler may ignore its interruption. A defect of an abandoned fiber
 * is reported.
 *
 * A caller that is interrupted waits for the fiber's finalizers, but at most 5 s.
 *
 * @param millis the limit, in milliseconds; `Infinity` sets no limit
 */
export const withinTime = <A, E, R, A2, E2, R2>(
  self: Effect.Effect<A, E, R>,
  millis: number,
  limits: Limits<A, E, R, A2, E2, R2>
): Effect.Effect<A | A2, E | E2, R | R2> =>
  Effect.uninterruptibleMask((restore) => {
    const context = limits.context ?? currentContext<R>()
    // Only a synchronous program can nest too deeply here. Such a program cannot wait, so it needs no time limit.
    if (isTooDeep()) return Effect.updateContext(restore(self), () => context)
    const start = () => startFiber(self, context)
    const fiber = limits.within === undefined ? start() : limits.within(start)
    // An Effect that ends immediately needs no timer.
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) {
      limits.onEnd?.()
      return exit
    }
    const abandon = Effect.suspend(() =>
      Effect.andThen(
        Effect.sync(() => fiber.interruptUnsafe()),
        Effect.suspend(() => {
          if (fiber.pollUnsafe() === undefined) limits.onLeft?.(fiber)
          return reportLateDefect(fiber, limits.who ?? "A handler")
        })
      )
    )
    return Effect.flatMap(
      Effect.onInterrupt(restore(endWithin(fiber, millis)), (interruptors) => {
        limits.onInterrupt?.()
        return Effect.flatMap(
          Effect.andThen(interruptFiber(fiber, interruptors), endWithin(fiber, grace)),
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

/** How long an interrupted caller waits for the fiber to release its resources, in milliseconds. */
const grace = 5_000

// Returns the Exit of a fiber, or `undefined` if the time is up first.
const endWithin = <A, E>(fiber: Fiber.Fiber<A, E>, millis: number): Effect.Effect<Exit.Exit<A, E> | undefined> =>
  Effect.withFiber((waiting) =>
    Effect.callback((resume) => {
      const timer = millis === Infinity ? undefined : Effect.runForkWith(waiting.context)(Effect.sleep(millis))
      // When the time is up, the fiber may have ended without its observer having run yet.
      const removeTimerObserver = timer?.addObserver((exit) => resume(Effect.map(exit, () => fiber.pollUnsafe())))
      const stopTimer = () => {
        removeTimerObserver?.()
        timer?.interruptUnsafe()
      }
      const removeObserver = observeEnd(fiber, waiting, (exit) => {
        stopTimer()
        resume(Effect.succeed(exit))
      })
      return Effect.sync(() => {
        removeObserver()
        stopTimer()
      })
    })
  )

const reportLateDefect = <A, E>(fiber: Fiber.Fiber<A, E>, who: string): Effect.Effect<void> =>
  Effect.asVoid(
    Effect.forkDetach(Effect.flatMap(Fiber.await(fiber), (exit) =>
      Exit.isFailure(exit) && Cause.hasDies(exit.cause)
        ? reportDefect(`${who} ended with an internal error after its timeout`, exit.cause)
        : Effect.void))
  )
