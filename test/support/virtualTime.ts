import { Clock, type Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"

/** Lets virtual time pass until the effect is done. */
export const passing = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(effect)
    while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust("1 minute")
    return yield* Fiber.join(fiber)
  })

/** Not time, but a turn of the event loop, in which what has come over a wire is seen. */
export const macrotask = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** Lets virtual time pass step by step, and the wire have its turn between the steps, until a fiber is done. */
export const passingBy = <A, E>(step: Duration.Input, fiber: Fiber.Fiber<A, E>): Effect.Effect<A, E> =>
  Effect.gen(function*() {
    while (fiber.pollUnsafe() === undefined) {
      yield* TestClock.adjust(step)
      yield* macrotask
    }
    return yield* Fiber.join(fiber)
  })

/** On a clock of whole milliseconds, as clocks are: a window of time may lack a billionth of one otherwise. */
export const inWholeMillis = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.flatMap(TestClock.testClockWith(Effect.succeed), (clock) => {
    const currentTimeMillisUnsafe = () => Math.floor(clock.currentTimeMillisUnsafe())
    const whole: Clock.Clock = Object.assign(Object.create(clock), {
      currentTimeMillisUnsafe,
      currentTimeMillis: Effect.sync(currentTimeMillisUnsafe)
    })
    return Effect.provideService(self, Clock.Clock, whole)
  })
