import { assert, describe, it } from "@effect/vitest"
import { Dispatch, Tool, Toolkit, type ToolUnavailable } from "@fallible/core"
import * as Deadline from "@fallible/core/Deadline"
import * as RateLimit from "@fallible/core/RateLimit"
import { Duration, Effect, Exit, Fiber, Layer, Schedule } from "effect"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { TestClock } from "effect/testing"
import { doing, type Failure, paris, refused, Sequence, sunny } from "../support/sequence.ts"
import { withoutEvidence } from "../support/withoutEvidence.ts"

const limiter = RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory))
const fail = Effect.fail(refused)
const twoASecond = { limit: 2, window: "1 second" } as const

/** Runs a tool at each of the given times (milliseconds), lets one hour pass, and returns the events. */
const calling = Effect.fnUntraced(function*<R>(
  { ending, events }: Sequence,
  { run }: Tool.Tool<string, typeof paris, string, Failure, R>,
  times: ReadonlyArray<number>,
  timeLeft: Duration.Input = Duration.infinity
) {
  for (const time of times) {
    yield* Effect.forkChild(Effect.delay(ending(Deadline.within(run(paris), timeLeft)), time))
  }
  yield* TestClock.adjust("1 hour")
  return events
})

/** Runs calls in sequence, and returns how each ended. */
const ends = <R>(...runs: ReadonlyArray<Effect.Effect<string, Failure, R>>) =>
  Effect.forEach(runs, Effect.match({ onFailure: ({ code }) => code, onSuccess: (value) => value }))

describe("RateLimit", () => {
  describe("limit", () => {
    it.effect("lets a burst through, and makes the others wait for their turn, in order", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = sequence.tool([sunny]).pipe(RateLimit.limit(twoASecond))
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 0, 0, 0, 1_600, 3_600]), [
          "0 attempt 1",
          "0 => sunny",
          "0 attempt 2",
          "0 => sunny",
          "500 attempt 3",
          "500 => sunny",
          "1000 attempt 4",
          "1000 => sunny",
          "1600 attempt 5",
          "1600 => sunny",
          "3600 attempt 6",
          "3600 => sunny"
        ])
      }).pipe(Effect.provide(limiter)))

    it.effect("waits for the next window if windows are fixed", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = sequence.tool([sunny]).pipe(RateLimit.limit({ ...twoASecond, algorithm: "fixed-window" }))
        const events = yield* calling(sequence, tool, [0, 0, 0, 0, 0])
        assert.deepStrictEqual(events.filter((event) => event.includes("=>")), [
          "0 => sunny",
          "0 => sunny",
          "1000 => sunny",
          "1000 => sunny",
          "2000 => sunny"
        ])
      }).pipe(Effect.provide(limiter)))

    it.effect("records how long it waited", () =>
      Effect.gen(function*() {
        const toolkit = Toolkit.make(doing(sunny).pipe(RateLimit.limit(twoASecond)))
        const call = Dispatch.call(toolkit, { id: "1", name: "get_weather", arguments: JSON.stringify(paris) })
        const calls = yield* Effect.forkChild(Effect.all([call, call, call]))
        yield* TestClock.adjust(500)
        assert.deepStrictEqual(
          (yield* Fiber.join(calls)).map(({ waited }) => Duration.toMillis(waited)),
          [0, 0, 500]
        )
      }).pipe(Effect.provide(limiter)))

    it.effect("refuses without a wait: at 499 ms, but not at 500 ms", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = sequence.tool([sunny]).pipe(RateLimit.limit({ ...twoASecond, onExceeded: "refuse" }))
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 0, 1, 499, 500, 501]), [
          "0 attempt 1",
          "0 => sunny",
          "0 attempt 2",
          "0 => sunny",
          "1 => throttled",
          "499 => throttled",
          "500 attempt 3",
          "500 => sunny",
          "501 => throttled"
        ])
      }).pipe(Effect.provide(limiter)))

    it.effect("says that the limit is the library's, and when the next turn is", () =>
      Effect.gen(function*() {
        const tool = doing(sunny).pipe(RateLimit.limit({ limit: 1, window: "1 minute", onExceeded: "refuse" }))
        const run: Effect.Effect<string, ToolUnavailable, RateLimiter.RateLimiter> = tool.run(paris)
        yield* run
        yield* TestClock.adjust("20 seconds")
        const { cause, retryAfter, ...failure } = yield* Effect.flip(run)
        assert.deepStrictEqual(withoutEvidence(failure), {
          _tag: "ToolUnavailable",
          code: "throttled",
          detail: "get_weather was not called: its rate limit is 1 call in 1m.",
          transient: true,
          outcome: "not_executed"
        })
        assert.deepStrictEqual(retryAfter, Duration.seconds(40))
        assert.instanceOf(cause, RateLimiter.RateLimiterError)
      }).pipe(Effect.provide(limiter)))

    it.effect("refuses at once a call whose turn comes at the deadline, but not one whose turn comes a millisecond before", () =>
      Effect.gen(function*() {
        for (const algorithm of ["token-bucket", "fixed-window"] as const) {
          const sequence = new Sequence()
          const tool = sequence.tool([sunny]).pipe(
            RateLimit.limit({ limit: 1, window: "1 second", key: algorithm, algorithm })
          )
          yield* tool.run(paris)
          yield* Effect.flip(Deadline.within(tool.run(paris), 1_000))
          const waiting = yield* Effect.forkChild(Deadline.within(tool.run(paris), 1_001), { startImmediately: true })
          yield* TestClock.adjust(999)
          assert.isUndefined(waiting.pollUnsafe())
          yield* TestClock.adjust(1)
          assert.deepStrictEqual(waiting.pollUnsafe(), Exit.succeed("sunny"))
        }
      }).pipe(Effect.provide(limiter)))

    it.effect("uses no turn for a call that it refuses", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = sequence.tool([sunny]).pipe(RateLimit.limit({ limit: 1, window: "1 second" }))
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 0, 1, 2, 3, 1_000], 1_001), [
          "0 attempt 1",
          "0 => sunny",
          "1 => throttled",
          "2 => throttled",
          "3 => throttled",
          "1000 attempt 2",
          "1000 => sunny",
          "2000 attempt 3",
          "2000 => sunny"
        ])
      }).pipe(Effect.provide(limiter)))

    it.effect("counts a call once outside a retry, and each attempt inside it", () =>
      Effect.gen(function*() {
        const outside = new Sequence()
        const once = outside.tool([fail]).pipe(Tool.retry(Schedule.recurs(2)), RateLimit.limit(twoASecond))
        const inside = new Sequence()
        const each = inside.tool([fail]).pipe(
          RateLimit.limit({ ...twoASecond, key: "each" }),
          Tool.retry(Schedule.recurs(2))
        )
        yield* Effect.forkChild(calling(outside, once, [0, 0]))
        yield* calling(inside, each, [0])
        assert.deepStrictEqual(outside.events, [
          "0 attempt 1",
          "0 attempt 2",
          "0 attempt 3",
          "0 => connection",
          "0 attempt 4",
          "0 attempt 5",
          "0 attempt 6",
          "0 => connection"
        ])
        assert.deepStrictEqual(inside.events, [
          "0 attempt 1",
          "0 attempt 2",
          "500 attempt 3",
          "500 => connection"
        ])
      }).pipe(Effect.provide(limiter)))

    it.effect("is shared only by tools with the same key", () =>
      Effect.gen(function*() {
        const once = { limit: 1, window: "1 second", onExceeded: "refuse" } as const
        const run = (name: string, key?: string) =>
          doing(sunny, "none", name).pipe(RateLimit.limit(key === undefined ? once : { ...once, key })).run(paris)
        assert.deepStrictEqual(
          yield* ends(run("a", "station"), run("b", "station"), run("a"), run("c"), run("a")),
          ["sunny", "throttled", "sunny", "sunny", "throttled"]
        )
      }).pipe(Effect.provide(limiter)))

    it.effect("ends the wait of a call that is interrupted", () =>
      Effect.gen(function*() {
        const { run } = doing(sunny).pipe(RateLimit.limit({ limit: 1, window: "1 hour" }))
        yield* run(paris)
        const waiting = yield* Effect.forkChild(run(paris), { startImmediately: true })
        yield* Fiber.interrupt(waiting)
        assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(waiting)))
      }).pipe(Effect.provide(limiter)))

    it.effect("fails when its store does", () =>
      Effect.gen(function*() {
        const reason = new RateLimiter.RateLimitStoreError({ message: "No connection." })
        const { run } = doing(sunny).pipe(RateLimit.limit(twoASecond))
        const { cause, ...failure } = yield* Effect.flip(run(paris)).pipe(
          Effect.provideServiceEffect(
            RateLimiter.RateLimiter,
            RateLimiter.RateLimiter.use((limiter) =>
              Effect.succeed(RateLimiter.RateLimiter.of({
                ...limiter,
                consume: () => Effect.fail(new RateLimiter.RateLimiterError({ reason }))
              }))
            )
          )
        )
        assert.deepStrictEqual(withoutEvidence(failure), {
          _tag: "ToolUnavailable",
          code: "limiter_unavailable",
          detail: "get_weather was not called: its rate limiter did not respond.",
          transient: true,
          outcome: "not_executed"
        })
        assert.instanceOf(cause, RateLimiter.RateLimiterError)
      }).pipe(Effect.provide(limiter)))
  })

  describe("policy", () => {
    it("describes itself", () => {
      const { description, kind } = RateLimit.policy({ limit: 60, window: "1 minute" })
      assert.deepStrictEqual([kind, description], ["rate", "rate of 60 calls in 1m"])
    })

    it("may wait forever, unless it refuses", () => {
      const waiting = (options?: Pick<RateLimit.Options, "onExceeded">) =>
        Tool.explain(doing(sunny).pipe(RateLimit.limit({ ...twoASecond, ...options }))).waiting
      assert.deepStrictEqual(waiting({ onExceeded: "refuse" }), { max: Duration.zero, because: [] })
      assert.isFalse(Duration.isFinite(waiting().max))
      assert.strictEqual(waiting().because.length, 1)
    })

    it("throws at invalid limits", () => {
      for (const limit of [0, -1, 1.5, Number.NaN, Infinity]) {
        assert.throws(() => RateLimit.policy({ limit, window: "1 second" }), TypeError, "of at least 1")
      }
      for (const window of [0, -1, Infinity] as const) {
        assert.throws(() => RateLimit.limit({ limit: 1, window }), TypeError, "above zero")
      }
    })

    it.effect("as a default gives each tool of a toolkit its own limit, inside the place of its breaker", () =>
      Effect.gen(function*() {
        const toolkit = Toolkit.make(
          doing(sunny, "none", "a").pipe(Tool.fallback(() => Effect.succeed("rain"))),
          doing(sunny, "none", "b")
        ).pipe(Toolkit.withDefaults([RateLimit.policy({ limit: 1, window: "1 hour", onExceeded: "refuse" })]))
        const call = Effect.fnUntraced(function*(name: string) {
          const outcome = yield* Dispatch.call(toolkit, { id: "1", name, arguments: JSON.stringify(paris) })
          const end = outcome._tag === "Failed" ? outcome.failure.code : outcome._tag === "Completed" && outcome.value
          return [name, end, outcome.attempts]
        })
        assert.deepStrictEqual(yield* Effect.forEach(["a", "a", "b", "b"], call), [
          ["a", "sunny", 1],
          ["a", "rain", 0],
          ["b", "sunny", 1],
          ["b", "throttled", 0]
        ])
      }).pipe(Effect.provide(limiter)))
  })
})
