import { assert, describe, it } from "@effect/vitest"
import { Agent, Dispatch, RetryPolicy, Tool, Toolkit, type ToolUnavailable } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import { Clock, type Duration, Effect, Fiber, Option, Random, Schedule } from "effect"
import { TestClock } from "effect/testing"
import { beginFacts } from "../../packages/core/src/internal/dispatch/recordCalls.ts"
import { found, lost, nothing, once, outcomeOf } from "../support/reconciling.ts"
import { after, doing, refused, Sequence, sunny } from "../support/sequence.ts"

// A check that ends a repetition without an end, which would otherwise block the test.
const neverFinding = () => {
  let looked = 0
  return () => {
    if (++looked > 100) throw new Error("It looks for ever.")
    return nothing
  }
}

describe("F4 Tool.reconcile", () => {
  it.effect("settles on any clock, and waits for a missing fraction of a millisecond", () =>
    Effect.gen(function*() {
      for (let number = 1; number < 300; number++) {
        const pays = doing(Effect.fail(lost), "non_idempotent").pipe(
          Tool.reconcile(neverFinding(), { settle: "61 seconds" })
        )
        yield* TestClock.adjust(number / 7)
        const fiber = yield* Effect.forkChild(outcomeOf(pays))
        for (let second = 0; second < 63; second++) yield* TestClock.adjust(1_000 + 1 / number)
        assert.deepNestedInclude(yield* Fiber.join(fiber), { "failure.code": "not_executed" })
      }
    }).pipe(Effect.provide(TestClock.layer())))

  // Each run has a new clock: at a late time, rounding would hide the fractions.
  it.effect("settles from any fraction of a millisecond on", () =>
    Effect.forEach(Array.from({ length: 300 }), () =>
      Effect.gen(function*() {
        const settle = yield* Random.nextIntBetween(1, 20_000)
        const start = yield* Random.nextBetween(0, 2_000)
        const pays = doing(Effect.fail(lost), "non_idempotent").pipe(Tool.reconcile(neverFinding(), { settle }))
        yield* TestClock.adjust(start)
        assert.deepNestedInclude(yield* outcomeOf(pays), { "failure.code": "not_executed" })
      }).pipe(Effect.provide(TestClock.layer()))).pipe(Random.withSeed("fractions")))

  it.effect("settles after retries with jitter", () =>
    Effect.forEach(Array.from({ length: 100 }), () =>
      Effect.gen(function*() {
        const pays = doing(Effect.fail(lost), "non_idempotent").pipe(
          Tool.reconcile(neverFinding(), { settle: "10 seconds" }),
          Tool.retry(RetryPolicy.transient)
        )
        assert.deepNestedInclude(yield* outcomeOf(pays), { "failure.code": "not_executed", attempts: 3 })
      }).pipe(Effect.provide(TestClock.layer()))).pipe(Random.withSeed("jitter")))

  it.effect("settles with a schedule that does not wait", () =>
    Effect.gen(function*() {
      const settling = { settle: "20 millis", schedule: Schedule.forever } as const
      const pays = doing(Effect.fail(lost), "non_idempotent").pipe(Tool.reconcile(neverFinding(), settling))
      assert.deepNestedInclude(yield* outcomeOf(pays), { "failure.code": "not_executed" })
    }))

  describe("with a time to settle", () => {
    const settling = (settle: Duration.Input, schedule?: Schedule.Schedule<unknown>) =>
      schedule === undefined ? { settle } : { settle, schedule }

    it.effect("checks again until it is over, and then a last time", () =>
      Effect.gen(function*() {
        const { note, play, tool } = new Sequence()
        const pays = tool([Effect.never, sunny], "non_idempotent").pipe(
          Tool.timeout("5 seconds"),
          Tool.reconcile(() => Effect.andThen(note("check"), nothing), settling("1 second")),
          Tool.retry(once)
        )
        assert.deepStrictEqual(yield* play(pays), [
          "0 attempt 1",
          "5000 interrupted",
          "5000 check",
          "waits 100",
          "5100 check",
          "waits 200",
          "5300 check",
          "waits 400",
          "5700 check",
          "waits 300",
          "6000 check",
          "retry handles not_executed",
          "waits 0",
          "6000 attempt 2",
          "6000 => sunny"
        ])
      }))

    it.effect("continues as soon as the check finds an effect", () =>
      Effect.gen(function*() {
        const { note, play, tool } = new Sequence()
        let checks = 0
        const pays = tool([Effect.fail(lost)], "non_idempotent").pipe(
          Tool.reconcile(
            () => Effect.andThen(note("check"), Effect.suspend(() => ++checks === 2 ? found : nothing)),
            settling("1 hour", Schedule.spaced("1 second"))
          )
        )
        assert.deepStrictEqual(yield* play(pays), [
          "0 attempt 1",
          "0 check",
          "waits 1000",
          "1000 check",
          "reconcile handles connection",
          "1000 => found"
        ])
      }))

    it.effect("checks once more at its end if the schedule ends before", () =>
      Effect.gen(function*() {
        const { note, play, tool } = new Sequence()
        const pays = tool([Effect.fail(lost)], "non_idempotent").pipe(
          Tool.reconcile(() => Effect.andThen(note("check"), nothing), settling("1 minute", Schedule.recurs(0)))
        )
        assert.deepStrictEqual(yield* play(pays), [
          "0 attempt 1",
          "0 check",
          "waits 60000",
          "60000 check",
          "60000 => not_executed"
        ])
      }))

    it.effect("checks again if a check fails, and leaves the outcome unknown if the last one does", () =>
      Effect.gen(function*() {
        const settled = (answers: ReadonlyArray<typeof nothing | Effect.Effect<never, ToolUnavailable>>) => {
          let checks = 0
          return outcomeOf(
            doing(Effect.fail(lost), "non_idempotent").pipe(
              Tool.reconcile(
                () => Effect.suspend(() => answers[checks++]!),
                settling("2 seconds", Schedule.spaced("1 second"))
              )
            )
          )
        }
        const cannotTell = Effect.fail(refused)
        assert.strictEqual((yield* settled([cannotTell, cannotTell, nothing])).certainty, "not_executed")
        const unknown = yield* settled([nothing, nothing, cannotTell])
        assert.strictEqual(unknown.certainty, "unknown")
        assert.deepStrictEqual(unknown.handled.map(({ by, code }) => `${by} ${code}`), ["reconcile connection"])
      }))

    it.effect("waits it all, whatever somebody sets the wall clock to", () =>
      Effect.gen(function*() {
        const testClock = yield* TestClock.testClockWith(Effect.succeed)
        let step = 0
        const currentTimeMillisUnsafe = () => testClock.currentTimeMillisUnsafe() + step
        const clock: Clock.Clock = Object.assign(Object.create(testClock), {
          currentTimeMillisUnsafe,
          currentTimeMillis: Effect.sync(currentTimeMillisUnsafe)
        })
        for (const jump of [10_000, -10_000]) {
          step = 0
          let checks = 0
          // The service acts 800 ms after the request.
          const pays = doing(Effect.fail(lost), "non_idempotent").pipe(
            Tool.reconcile(() => {
              if (++checks === 2) step = jump
              return Effect.map(Clock.monotonicTimeNanos, (now) => now < at ? Option.none() : Option.some("found"))
            }, settling("2 seconds"))
          )
          const at = (yield* Clock.monotonicTimeNanos) + 800_000_000n
          const outcome = yield* outcomeOf(pays).pipe(Effect.provideService(Clock.Clock, clock))
          assert.deepInclude(outcome, { _tag: "Completed", value: "found" })
        }
      }))

    it.effect("counts from the end of the last attempt, even of an abandoned one", () =>
      Effect.gen(function*() {
        const { note, play, tool } = new Sequence()
        const pays = tool([Effect.uninterruptible(after(6_500, Effect.fail(lost)))], "non_idempotent").pipe(
          Tool.timeout("5 seconds"),
          Tool.reconcile(
            () => Effect.andThen(note("check"), nothing),
            settling("3 seconds", Schedule.spaced("1 second"))
          )
        )
        assert.deepStrictEqual(yield* play(pays), [
          "0 attempt 1",
          "5000 check",
          "waits 1000",
          "6000 check",
          "waits 1000",
          "6500 interrupted",
          // The attempt is now known to have ended.
          "7000 check",
          "waits 1000",
          "8000 check",
          "waits 1000",
          "9000 check",
          "waits 1000",
          "10000 check",
          "10000 => not_executed"
        ])
      }))

    it.effect("leaves the outcome unknown if an attempt runs longer", () =>
      Effect.gen(function*() {
        const { note, play, tool } = new Sequence()
        const pays = tool([Effect.uninterruptible(after(60_000, sunny))], "non_idempotent").pipe(
          Tool.timeout("5 seconds"),
          Tool.reconcile(
            () => Effect.andThen(note("check"), nothing),
            settling("2 seconds", Schedule.spaced("1 second"))
          )
        )
        assert.deepStrictEqual((yield* play(pays)).filter((event) => !event.includes("waits")), [
          "0 attempt 1",
          "5000 check",
          "6000 check",
          "7000 check",
          "7000 => outcome_unknown",
          "60000 interrupted"
        ])
      }))

    it.effect("checks once, and leaves the outcome unknown at once, if it would exceed the outer limit", () =>
      Effect.gen(function*() {
        const { note, play, tool } = new Sequence()
        const pays = tool([Effect.fail(lost)], "non_idempotent").pipe(
          Tool.reconcile(() => Effect.andThen(note("check"), nothing), settling("10 seconds")),
          Tool.timeout("10 seconds")
        )
        assert.deepStrictEqual(yield* play(pays), ["0 attempt 1", "0 check", "0 => connection"])
        assert.strictEqual((yield* outcomeOf(pays)).certainty, "unknown")
      }))
  })
  describe("in another process", () => {
    // It finds nothing, and says when it looked.
    const looking = (outcome: Effect.Effect<string, ToolUnavailable> = Effect.fail(lost)) => {
      const looked: Array<number> = []
      const tool = doing(outcome, "non_idempotent").pipe(
        Tool.reconcile(() => Effect.andThen(Effect.map(Clock.currentTimeMillis, (now) => looked.push(now)), nothing), {
          settle: "10 seconds",
          schedule: Schedule.recurs(0)
        })
      )
      return { tool, looked }
    }

    const call = { id: "1", name: "get_weather", arguments: "{\"city\":\"Paris\"}" }

    it.effect("waits the whole time again for a call that was running", () =>
      Effect.gen(function*() {
        const { looked, tool } = looking()
        yield* TestClock.adjust("1 day")
        const start = yield* Clock.currentTimeMillis
        const fiber = yield* Effect.forkChild(
          Dispatch.call(Toolkit.make(tool), call, {
            facts: beginFacts(CallFacts.empty, "weather"),
            wasBegun: true
          })
        )
        yield* TestClock.adjust("1 minute")
        const outcome = yield* Fiber.join(fiber)
        assert.deepNestedInclude(outcome, { "failure.code": "not_executed", attempts: 0 })
        assert.deepStrictEqual(looked, [start, start + 10_000])
      }))

    it.effect("waits the whole time again for a call that is in doubt since before a question", () =>
      Effect.gen(function*() {
        const { looked, tool } = looking()
        yield* TestClock.adjust("1 day")
        const start = yield* Clock.currentTimeMillis
        const fiber = yield* Effect.forkChild(
          Dispatch.call(Toolkit.make(tool), call, { before: { certainty: "unknown" } })
        )
        yield* TestClock.adjust("1 minute")
        const outcome = yield* Fiber.join(fiber)
        assert.deepNestedInclude(outcome, { "failure.code": "not_executed", attempts: 0 })
        assert.deepStrictEqual(looked, [start, start + 10_000])
      }))

    it.effect("waits the whole time again in a run that is replayed from its journal", () =>
      Effect.gen(function*() {
        const { looked, tool } = looking()
        yield* TestClock.adjust("1 day")
        const start = yield* Clock.currentTimeMillis
        const replaying: Journal.Journal = { step: (step, effect) => step.lost ?? effect }
        const model = ScriptedModel.layer([
          ScriptedModel.call(tool.name, { city: "Paris" }),
          ScriptedModel.text("End.")
        ])
        const fiber = yield* Effect.forkChild(
          Agent.make({ toolkit: Toolkit.make(tool) }).run("?").pipe(
            Effect.provideService(Journal.current, replaying),
            Effect.provide(model)
          )
        )
        yield* TestClock.adjust("1 minute")
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(looked, [start, start + 10_000])
      }))
  })
})
