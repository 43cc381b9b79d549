import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"

/** Lets virtual time pass until the effect is done. */
export const passing = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(effect)
    while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust("1 minute")
    return yield* Fiber.join(fiber)
  })
