/*
 * Time that passes for an Effect that may wait for promises.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"

/**
 * Lets virtual time pass until the Effect is done. Returns `undefined` if it must be stopped, or if it still runs
 * after 3 hours: a run of an agent ends after one hour, and at most two run, one after the other.
 */
export const passTimeUntilDone = <A, R>(effect: Effect.Effect<A, never, R>, mustStop: () => boolean) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkDetach(effect, { startImmediately: true })
    const pass = Effect.gen(function*() {
      const isRunning = () => fiber.pollUnsafe() === undefined && !mustStop()
      // Most runs end soon, so time first passes in short steps.
      for (let steps = 0; steps < 1_200 && isRunning(); steps++) {
        yield* passTime(steps < 100 ? "1 second" : "10 seconds")
      }
      return fiber.pollUnsafe() === undefined ? undefined : yield* Fiber.join(fiber)
    })
    // A fiber that does not end is not awaited.
    return yield* Effect.ensuring(pass, Effect.sync(() => fiber.interruptUnsafe()))
  })

// A handler may use promises, which need turns of the event loop.
export const passTime = (time: Duration.Input) => Effect.andThen(eventLoopTurns, TestClock.adjust(time))

const eventLoopTurns = Effect.callback<void>((resume) => {
  setImmediate(() => setImmediate(() => resume(Effect.void)))
})
