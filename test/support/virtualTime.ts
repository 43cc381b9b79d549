import { Clock, type Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { isOnItsWay, stepsSoFar } from "./traffic.ts"

/** Advances virtual time until the effect ends. */
export const passing = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(effect)
    while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust("1 minute")
    return yield* Fiber.join(fiber)
  })

/** Waits for one turn of the event loop, in which arrived network data is delivered. No time passes. */
export const macrotask = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** Waits until no request is on its way for eight turns of the event loop. No time passes. */
export const untilIdle = Effect.gen(function*() {
  for (let calm = 0; calm < 8;) {
    const before = stepsSoFar()
    yield* macrotask
    calm = stepsSoFar() === before && !isOnItsWay() ? calm + 1 : 0
  }
})

/**
 * Advances virtual time in steps until a fiber ends. Time passes only while no request is on its way, so the speed of
 * the network decides nothing.
 */
export const passingBy = <A, E>(step: Duration.Input, fiber: Fiber.Fiber<A, E>): Effect.Effect<A, E> =>
  Effect.gen(function*() {
    while (fiber.pollUnsafe() === undefined) {
      yield* untilIdle
      yield* TestClock.adjust(step)
    }
    return yield* Fiber.join(fiber)
  })

/**
 * Runs an effect on a clock of whole milliseconds. Fractions could miss the end of a time window by a
 * rounding error.
 */
export const inWholeMillis = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.flatMap(TestClock.testClockWith(Effect.succeed), (clock) => {
    const currentTimeMillisUnsafe = () => Math.floor(clock.currentTimeMillisUnsafe())
    const whole: Clock.Clock = Object.assign(Object.create(clock), {
      currentTimeMillisUnsafe,
      currentTimeMillis: Effect.sync(currentTimeMillisUnsafe)
    })
    return Effect.provideService(self, Clock.Clock, whole)
  })
