import { assert, describe, it } from "@effect/vitest"
import { RetryPolicy, ToolUnavailable } from "@fallible/core"
import { Clock, Duration, Effect, Fiber, Random } from "effect"
import { TestClock } from "effect/testing"

const refused = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })
const busy = (retryAfter: Duration.Input) =>
  new ToolUnavailable({ ...refused, code: "rate_limited", retryAfter: Duration.fromInputUnsafe(retryAfter) })

/** When an Effect that always fails is tried, in milliseconds from its start. */
const attempts = (
  provideRandom: <A, E>(self: Effect.Effect<A, E>) => Effect.Effect<A, E>,
  failure: ToolUnavailable = refused
) =>
  Effect.gen(function*() {
    const start = yield* Clock.currentTimeMillis
    const times: Array<number> = []
    const failing = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      times.push(Math.round(now - start))
      return Effect.fail(failure)
    })
    const fiber = yield* Effect.retry(failing, RetryPolicy.transient).pipe(provideRandom, Effect.flip, Effect.forkChild)
    yield* TestClock.adjust("1 minute")
    assert.strictEqual(yield* Fiber.join(fiber), failure)
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

    it.effect("gives a service the time that it asked for, up to 30 s, and else does not try again", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* attempts(drawing(0.5), busy("50 millis")), [0, 100, 300])
        assert.deepStrictEqual(yield* attempts(drawing(0.5), busy("20 seconds")), [0, 20_000, 40_000])
        assert.deepStrictEqual(yield* attempts(drawing(0.5), busy("30 seconds")), [0, 30_000, 60_000])
        assert.deepStrictEqual(yield* attempts(drawing(0.5), busy("30001 millis")), [0])
        assert.deepStrictEqual(yield* attempts(drawing(0.5), busy("Infinity")), [0])
      }))

    it.effect("tries again when the wait is over, and not a millisecond before", () =>
      Effect.gen(function*() {
        let tries = 0
        const failing = Effect.suspend(() => {
          tries++
          return Effect.fail(refused)
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
