/** Virtual time that jumps to the end of the next sleep, once nothing else is going on. */
import { Clock, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { untilIdle } from "./virtualTime.ts"

/**
 * Runs an effect on the test clock, and skips each time in which everything sleeps: whoever sleeps on the clock, a policy,
 * a loop or a handler, and however long. No time passes while a request is on its way, so the speed of the machine
 * decides nothing.
 */
export const skippingSleeps = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  TestClock.testClockWith((clock) =>
    Effect.gen(function*() {
      const ends: Array<number> = []
      const fiber = yield* Effect.forkChild(Effect.provideService(self, Clock.Clock, watched(clock, ends)))
      while (fiber.pollUnsafe() === undefined) {
        yield* untilIdle
        const next = Math.min(...ends)
        // Nothing sleeps if a task of this process is still under way.
        if (fiber.pollUnsafe() === undefined && Number.isFinite(next)) yield* clock.setTime(next)
      }
      return yield* Fiber.join(fiber)
    })
  )

/** The clock, with a list of the times at which its sleeps end. */
const watched = (clock: TestClock.TestClock, ends: Array<number>): Clock.Clock =>
  Object.assign(Object.create(clock), {
    sleep: (duration: Duration.Duration) =>
      Effect.suspend(() => {
        const end = clock.currentTimeMillisUnsafe() + Duration.toMillis(duration)
        ends.push(end)
        return Effect.ensuring(clock.sleep(duration), Effect.sync(() => ends.splice(ends.indexOf(end), 1)))
      })
  })
