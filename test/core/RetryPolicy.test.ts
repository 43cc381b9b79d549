import { assert, describe, it } from "@effect/vitest"
import { RetryPolicy } from "@fallible/core"
import { Clock, Effect, Fiber, Random } from "effect"
import { TestClock } from "effect/testing"

/** When an Effect that always fails is tried, in milliseconds from its start. */
const attempts = (provideRandom: <A, E>(self: Effect.Effect<A, E>) => Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const start = yield* Clock.currentTimeMillis
    const times: Array<number> = []
    const failing = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      times.push(Math.round(now - start))
      return Effect.fail("refused")
    })
    const fiber = yield* Effect.retry(failing, RetryPolicy.transient).pipe(provideRandom, Effect.flip, Effect.forkChild)
    yield* TestClock.adjust("1 minute")
    assert.strictEqual(yield* Fiber.join(fiber), "refused")
    return times
  })

/** Every draw is this share of its bound. */
const drawing = (share: number) =>
  Effect.provideService(Random.Random, { nextDoubleUnsafe: () => share, nextIntUnsafe: () => 0 })

describe("RetryPolicy", () => {
  describe("transient", () => {
    it.effect("tries three times, with waits drawn from 0 to 200 ms and from 0 to 400 ms", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* attempts(drawing(0)), [0, 0, 0])
        assert.deepStrictEqual(yield* attempts(drawing(0.5)), [0, 100, 300])
        assert.deepStrictEqual(yield* attempts(drawing(0.999_999)), [0, 200, 600])
      }))

    it.effect("tries again when the wait is over, and not a millisecond before", () =>
      Effect.gen(function*() {
        let tries = 0
        const failing = Effect.suspend(() => {
          tries++
          return Effect.fail("refused")
        })
        yield* Effect.retry(failing, RetryPolicy.transient).pipe(
          drawing(0.5),
          Effect.exit,
          Effect.forkChild({ startImmediately: true })
        )
        const seen: Array<number> = [tries]
        for (const step of ["99 millis", "1 millis", "199 millis", "1 millis", "1 hour"] as const) {
          yield* TestClock.adjust(step)
          seen.push(tries)
        }
        assert.deepStrictEqual(seen, [1, 1, 2, 2, 3, 3])
      }))

    it.effect("spreads callers out, and repeats itself under one seed", () =>
      Effect.gen(function*() {
        const ada = yield* attempts(Random.withSeed("ada"))
        assert.deepStrictEqual(yield* attempts(Random.withSeed("ada")), ada)
        assert.notDeepEqual(yield* attempts(Random.withSeed("grace")), ada)
      }))
  })
})
