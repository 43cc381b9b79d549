import { assert, describe, it } from "@effect/vitest"
import { Deadline, Model, ModelFailure, RetryPolicy, Tool, ToolUnavailable } from "@fallible/core"
import { Duration, Effect, Random, Schedule } from "effect"
import { TestClock } from "effect/testing"
import { after, doing, paris, refused, Sequence, sunny } from "../support/sequence.ts"

const left = Effect.map(Deadline.timeLeft, Duration.toMillis)
const busy = (seconds: number) =>
  new ToolUnavailable({ ...refused, code: "rate_limited", retryAfter: Duration.seconds(seconds) })

/** No jitter at all. */
const drawingZero = Effect.provideService(Random.Random, { nextDoubleUnsafe: () => 0, nextIntUnsafe: () => 0 })

describe("Deadline", () => {
  describe("timeLeft", () => {
    it.effect("is infinite where nobody set a deadline", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* left, Infinity)
        assert.strictEqual(yield* Deadline.within(left, "Infinity"), Infinity)
      }))

    it.effect("goes down to zero, and not below", () =>
      Effect.gen(function*() {
        const seen = Effect.gen(function*() {
          const times = [yield* left]
          for (const step of [1, 998, 1, 5_000]) {
            yield* TestClock.adjust(step)
            times.push(yield* left)
          }
          return times
        })
        assert.deepStrictEqual(yield* Deadline.within(seen, "1 second"), [1_000, 999, 1, 0, 0])
      }))

    it.effect("counts from when the Effect runs, not from when it was made", () =>
      Effect.gen(function*() {
        const inside = Deadline.within(left, "1 second")
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(yield* inside, 1_000)
      }))
  })

  describe("within", () => {
    it.effect("leaves the tighter one in force, whichever is inside", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* left.pipe(Deadline.within("1 second"), Deadline.within("1 minute")), 1_000)
        assert.strictEqual(yield* left.pipe(Deadline.within("1 minute"), Deadline.within("1 second")), 1_000)
      }))

    it.effect("ends with what it was set for", () =>
      Effect.gen(function*() {
        const both = Effect.all([Deadline.within(left, "1 second"), left])
        assert.deepStrictEqual(yield* Deadline.within(both, "1 minute"), [1_000, 60_000])
      }))

    it.effect("ends nothing by itself", () =>
      Effect.gen(function*() {
        const { events, note } = new Sequence()
        yield* Effect.forkChild(Deadline.within(after(2_000, note("done")), "1 second"))
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(events, ["2000 done"])
      }))
  })

  describe("and timeout", () => {
    it.effect("of a tool is a deadline for its handler, and the tightest of several counts", () =>
      Effect.gen(function*() {
        const seen: Array<number> = []
        const reads = doing(Effect.flatMap(left, (millis) => {
          seen.push(millis)
          return sunny
        }))
        yield* Tool.timeout(reads, "5 seconds").run(paris)
        yield* reads.pipe(Tool.timeout("5 seconds"), Tool.timeout("2 seconds")).run(paris)
        yield* reads.pipe(Tool.timeout("2 seconds"), Tool.timeout("5 seconds")).run(paris)
        yield* reads.pipe(Tool.timeout("5 seconds")).run(paris).pipe(Deadline.within("1 second"))
        yield* reads.run(paris)
        assert.deepStrictEqual(seen, [5_000, 2_000, 2_000, 1_000, Infinity])
      }))

    it.effect("is set anew for each attempt", () =>
      Effect.gen(function*() {
        const seen: Array<number> = []
        const { play, tool } = new Sequence()
        const failing = tool([Effect.flatMap(left, (millis) => {
          seen.push(millis)
          return after(1_000, Effect.fail(refused))
        })])
        yield* play(failing.pipe(
          Tool.timeout("5 seconds"),
          Tool.retry(Schedule.upTo(Schedule.spaced("2 seconds"), { times: 2 })),
          Tool.timeout("10 seconds")
        ))
        assert.deepStrictEqual(seen, [5_000, 5_000, 4_000])
      }))
  })

  describe("and retry", () => {
    it.effect("a wait beyond the deadline goes to the fallback at once (F7)", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const limited = tool([Effect.fail(busy(20))]).pipe(
          Tool.retry(RetryPolicy.transient),
          Tool.timeout("10 seconds"),
          Tool.fallback(() => Effect.succeed("cached"))
        )
        assert.deepStrictEqual(yield* drawingZero(play(limited)), [
          "0 attempt 1",
          "fallback handles rate_limited",
          "0 => cached"
        ])
      }))

    it.effect("begins a wait that ends before the deadline, and none that ends at it or later", () =>
      Effect.gen(function*() {
        const attemptsWithin = Effect.fnUntraced(function*(millis: number) {
          const { tool, watch } = new Sequence()
          const failing = tool([Effect.fail(refused)]).pipe(
            Tool.retry(Schedule.upTo(Schedule.spaced("1 second"), { times: 1 }))
          )
          const events = yield* watch(failing.run(paris).pipe(Deadline.within(millis)))
          return events.filter((event) => event.includes("attempt")).length
        })
        assert.deepStrictEqual(yield* Effect.forEach([999, 1_000, 1_001], attemptsWithin), [1, 1, 2])
      }))

    it.effect("goes on as long as there is time, and gives the last failure as it was", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const failing = tool([Effect.fail(refused)]).pipe(
          Tool.retry(Schedule.spaced("2 seconds")),
          Tool.timeout("5 seconds")
        )
        assert.deepStrictEqual(yield* play(failing), [
          "0 attempt 1",
          "retry handles connection",
          "waits 2000",
          "2000 attempt 2",
          "retry handles connection",
          "waits 2000",
          "4000 attempt 3",
          "4000 => connection"
        ])
      }))

    it.effect("does not look at a limit per attempt, which has ended with the attempt", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const failing = tool([Effect.fail(busy(20)), sunny]).pipe(
          Tool.timeout("1 second"),
          Tool.retry(RetryPolicy.transient)
        )
        assert.deepStrictEqual(yield* drawingZero(play(failing)), [
          "0 attempt 1",
          "retry handles rate_limited",
          "waits 20000",
          "20000 attempt 2",
          "20000 => sunny"
        ])
      }))

    it.effect("tries nothing again once the deadline has passed, also without a wait", () =>
      Effect.gen(function*() {
        const { tool, watch } = new Sequence()
        const failing = tool([after(1_000, Effect.fail(refused))]).pipe(Tool.retry(Schedule.recurs(5)))
        assert.deepStrictEqual(yield* watch(failing.run(paris).pipe(Deadline.within("1500 millis"))), [
          "0 attempt 1",
          "retry handles connection",
          "waits 0",
          "1000 attempt 2",
          "2000 => connection"
        ])
      }))

    it.effect("holds for the model, too, on both sides of the tick", () =>
      Effect.gen(function*() {
        const failure = new ModelFailure({
          code: "rate_limited",
          detail: "Slow down.",
          transient: true,
          retryAfter: Duration.seconds(20)
        })
        const endOf = Effect.fnUntraced(function*(millis: number) {
          const { ending, events, note } = new Sequence()
          const failing = Effect.andThen(note("asked"), Effect.fail(failure))
          yield* Model.retry(failing, RetryPolicy.transient).pipe(
            Deadline.within(millis),
            ending,
            drawingZero,
            Effect.forkChild
          )
          yield* TestClock.adjust("1 hour")
          return events.map((event) => event.split(" ").slice(1).join(" "))
        })
        assert.deepStrictEqual(yield* endOf(20_000), ["asked", "=> rate_limited"])
        assert.deepStrictEqual(yield* endOf(20_001), ["asked", "asked", "=> rate_limited"])
      }))
  })
})
