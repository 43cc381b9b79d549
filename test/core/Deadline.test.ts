import { assert, describe, it } from "@effect/vitest"
import { Model, ModelFailure, Observer, RetryPolicy, Tool, ToolUnavailable } from "@fallible/core"
import * as Deadline from "@fallible/core/Deadline"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Duration, Effect, Fiber, Random, Schedule } from "effect"
import { TestClock } from "effect/testing"
import { after, around, doing, type Failure, paris, refused, Sequence, sunny } from "../support/sequence.ts"

const left = Effect.map(Deadline.timeLeft, Duration.toMillis)
const busy = (seconds: number) =>
  new ToolUnavailable({ ...refused, code: "rate_limited", retryAfter: Duration.seconds(seconds) })

/** Removes all jitter. */
const drawingZero = Effect.provideService(Random.Random, { nextDoubleUnsafe: () => 0, nextIntUnsafe: () => 0 })

describe("Deadline", () => {
  describe("timeLeft", () => {
    it.effect("is infinite without a deadline", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* left, Infinity)
        assert.strictEqual(yield* Deadline.within(left, "Infinity"), Infinity)
      }))

    it.effect("decreases to zero, but not below", () =>
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
    it.effect("keeps the earlier of two deadlines, whichever is inside", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* left.pipe(Deadline.within("1 second"), Deadline.within("1 minute")), 1_000)
        assert.strictEqual(yield* left.pipe(Deadline.within("1 minute"), Deadline.within("1 second")), 1_000)
      }))

    it.effect("applies only within its effect", () =>
      Effect.gen(function*() {
        const both = Effect.all([Deadline.within(left, "1 second"), left])
        assert.deepStrictEqual(yield* Deadline.within(both, "1 minute"), [1_000, 60_000])
      }))

    it.effect("does not end the effect itself", () =>
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

    it.effect("is set afresh for each attempt", () =>
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

  describe("Tool.deadline", () => {
    const late = Effect.uninterruptible(after(5_000, sunny))
    const inTime = after(1_000, sunny)
    const handlers: ReadonlyArray<readonly [what: string, handler: Effect.Effect<string, Failure>]> = [
      ["hangs", Effect.never],
      ["ends late, ignoring its interruption", late],
      ["ends in time", inTime],
      ["fails in time", Effect.fail(refused)],
      ["asks how long it has", Effect.map(left, String)],
      ["runs no longer than a deadline around it", Deadline.within(Effect.never, "500 millis")]
    ]

    /** Returns the whole account of a run, except its key, the times of its events, and the kind of the policy. */
    const accountOf = (
      limit: typeof Tool.deadline,
      handler: Effect.Effect<string, Failure>,
      sideEffect: SideEffect.SideEffect
    ) =>
      Effect.gen(function*() {
        const heard: Array<unknown> = []
        const lateResults: Array<unknown> = []
        const tool = doing(handler, sideEffect).pipe(limit("2 seconds"))
        const fiber = yield* Tool.outcome(tool, paris).pipe(
          Observer.observe({
            onEvent: (event) => {
              heard.push({ ...event, at: 0, id: "", ...("by" in event ? { by: "the limit" } : {}) })
            }
          }),
          Observer.observe({
            onLateResult: (result) => Effect.sync(() => lateResults.push({ ...result, id: "", key: "" }))
          }),
          Effect.forkChild
        )
        yield* TestClock.adjust("1 minute")
        return { outcome: yield* Fiber.join(fiber), heard, lateResults }
      }).pipe(Effect.provide(TestClock.layer()))

    for (const sideEffect of ["none", "idempotent", "non_idempotent"] as const) {
      for (const [what, handler] of handlers) {
        it.effect(`treats a handler that ${what} as a timeout does: ${sideEffect}`, () =>
          Effect.gen(function*() {
            assert.deepStrictEqual(
              yield* accountOf(Tool.deadline, handler, sideEffect),
              yield* accountOf(Tool.timeout, handler, sideEffect)
            )
          }))
      }
    }

    it.effect("ends a call at its deadline, and not a millisecond before", () =>
      Effect.gen(function*() {
        const [before, end] = yield* around(
          Effect.flip(doing(Effect.never).pipe(Tool.deadline(3_000)).run(paris)),
          3_000
        )
        assert.isUndefined(before)
        assert.strictEqual(end?._tag === "Success" ? end.value.code : end, "timeout")
      }))

    it.effect("limits all attempts and their waits together, while a timeout inside limits each attempt", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const hangs = tool([Effect.never]).pipe(
          Tool.timeout("4 seconds"),
          Tool.retry(Schedule.spaced("1 second")),
          Tool.deadline("12 seconds")
        )
        assert.deepStrictEqual(yield* play(hangs), [
          "0 attempt 1",
          "4000 interrupted",
          "retry handles timeout",
          "waits 1000",
          "5000 attempt 2",
          "9000 interrupted",
          "retry handles timeout",
          "waits 1000",
          "10000 attempt 3",
          "12000 interrupted",
          "12000 => timeout"
        ])
      }))

    it.effect("does not limit a fallback outside it", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const hangs = tool([Effect.never]).pipe(
          Tool.deadline("2 seconds"),
          Tool.fallback(() => after(5_000, Effect.succeed("cached")))
        )
        assert.deepStrictEqual(yield* play(hangs), [
          "0 attempt 1",
          "2000 interrupted",
          "fallback handles timeout",
          "7000 => cached"
        ])
      }))

    it.effect("includes the wait for a turn, and then reports that the call was not run", () =>
      Effect.gen(function*() {
        const { ending, events, tool } = new Sequence()
        const one = tool([after(9_000, sunny)], "non_idempotent").pipe(Tool.concurrency(1), Tool.deadline("5 seconds"))
        yield* Effect.forkChild(ending(Effect.uninterruptible(one.run(paris)), "first "))
        const second = yield* Effect.forkChild(Effect.flip(one.run(paris)))
        yield* TestClock.adjust("5 seconds")
        const { outcome, transient } = yield* Fiber.join(second)
        assert.deepStrictEqual([outcome, transient], ["not_executed", true])
        assert.deepStrictEqual(events.filter((event) => event.includes("attempt")), ["0 attempt 1"])
      }))

    it.effect("is named as the policy that abandoned an attempt", () =>
      Effect.gen(function*() {
        const seen: Array<unknown> = []
        const tool = doing(Effect.never).pipe(Tool.retry(RetryPolicy.transient), Tool.deadline("2 seconds"))
        yield* Effect.forkChild(Observer.observe(Effect.exit(tool.run(paris)), {
          onEvent: (event) => {
            if (event._tag === "AttemptAbandoned") seen.push([event.at, event.by])
          }
        }))
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(seen, [[2_000, "deadline"]])
      }))
  })

  describe("and retry", () => {
    it.effect("with a wait beyond the deadline, goes to the fallback at once (F7)", () =>
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

    it.effect("starts a wait that ends before the deadline, but none that ends at it or later", () =>
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

    it.effect("continues while time is left, and returns the last failure unchanged", () =>
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

    it.effect("ignores the limit of an attempt, which ended with the attempt", () =>
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

    it.effect("retries nothing once the deadline has passed, even without a wait", () =>
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

    it.effect("applies to the model too, on both sides of the tick", () =>
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
