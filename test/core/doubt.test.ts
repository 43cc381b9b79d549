/**
 * Whether a call took effect: known when a handler ends, and reported whatever policies do with the failure.
 */
import { assert, describe, it } from "@effect/vitest"
import { Dispatch, PartialData, Tool, Toolkit } from "@fallible/core"
import type * as Certainty from "@fallible/core/Certainty"
import * as Rendering from "@fallible/core/Rendering"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Deferred, Effect, Exit, Random, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { call, counting, type Ends, garbage, outcomeOf, type Pay } from "../support/countedRuns.ts"
import { custom, doing, type Failure, lost, notExecuted, paris, silent, unknownCity } from "../support/sequence.ts"
import { passing } from "../support/virtualTime.ts"

describe("a deadline", () => {
  it.effect("starts no call that waited for its turn until then, in 200 queues", () =>
    Effect.gen(function*() {
      for (let round = 0; round < 200; round++) {
        yield* Effect.gen(function*() {
          let paid = 0
          const holds = yield* Random.nextIntBetween(1, 12)
          const waits = yield* Random.nextIntBetween(1, 12)
          const tool = doing(
            Effect.delay(Effect.sync(() => `${++paid}`), `${holds * 100} millis`),
            "non_idempotent",
            "pay"
          ).pipe(Tool.concurrency(1))
          const timely = tool.pipe(Tool.timeout(`${waits * 100} millis`), Tool.retry(Schedule.recurs(1)))
          const both = yield* Effect.all([
            Effect.forkChild(tool.run(paris), { startImmediately: true }),
            Effect.forkChild(Tool.outcome(timely, paris), { startImmediately: true })
          ])
          yield* TestClock.adjust("1 minute")
          const { certainty } = yield* (both[1].pollUnsafe() ?? assert.fail("no end"))
          const second = paid - 1
          assert.strictEqual(second, certainty === "executed" ? 1 : 0, `${holds} ${waits} ${certainty}`)
          // At the tick of the deadline nothing starts, and the effect of abandoned calls is uncertain.
          if (waits <= holds && 2 * waits <= holds) assert.strictEqual(certainty, "not_executed")
        }).pipe(Random.withSeed(round), Effect.provide(TestClock.layer()))
      }
    }))

  it.effect("during a wait for a permit leaves it certain that nothing was done", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const pay = doing(Effect.as(Deferred.await(gate), "paid"), "non_idempotent", "pay").pipe(Tool.concurrency(1))
      yield* Effect.forkChild(pay.run(paris), { startImmediately: true })
      const patient = Tool.with(custom((run) => Effect.andThen(Effect.sleep("2 seconds"), run)))
      for (const waits of [pay, pay.pipe(patient)]) {
        const outcome = yield* outcomeOf(waits.pipe(Tool.timeout("1 second")))
        assert.deepNestedInclude(outcome, {
          certainty: "not_executed",
          attempts: 0,
          "failure.transient": true,
          "failure.outcome": "not_executed"
        })
        assert.notMatch(Rendering.json(outcome, call), /taken effect/)
      }
    }))

  it.effect("also ends the tools inside a handler, except those that only read", () =>
    Effect.gen(function*() {
      const began: Array<string> = []
      const inner = (name: string, sideEffect: SideEffect.SideEffect) =>
        doing(Effect.sync(() => `${began.push(name)}`), sideEffect, name).run(paris)
      const outer = doing(
        Effect.uninterruptible(Effect.delay(
          Effect.andThen(
            Effect.exit(inner("writes", "non_idempotent")),
            Effect.andThen(Effect.exit(inner("puts", "idempotent")), inner("reads", "none"))
          ),
          "2 seconds"
        )),
        "non_idempotent",
        "outer"
      ).pipe(Tool.timeout("1 second"))
      assert.strictEqual((yield* outcomeOf(outer)).certainty, "unknown")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(began, ["reads"])
    }))
})

describe("an answer", () => {
  const elsewhere = "pay itself did nothing: this answer comes from another source."
  const doubt = "pay may have taken effect anyway. Do not repeat it until you have checked."
  const caveatsOf = (tool: Tool.Any) =>
    Effect.map(outcomeOf(tool), (outcome) => outcome._tag === "Completed" ? outcome.caveats : outcome)
  const queued: Ends = Effect.succeed("queued")

  it.effect("of a fallback or a catch states the doubt about the tool", () =>
    Effect.gen(function*() {
      for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
        const ends: ReadonlyArray<readonly [Failure, string]> = [[lost, doubt], [silent, doubt], [
          notExecuted,
          elsewhere
        ]]
        for (const [end, told] of ends) {
          const { tool } = counting(Effect.fail(end), sideEffect)
          assert.deepStrictEqual(yield* caveatsOf(Tool.fallback(tool, () => queued)), [told])
          assert.deepStrictEqual(yield* caveatsOf(Tool.catchTag(tool, "ToolUnavailable", () => queued)), [told])
        }
        const refuses = counting(Effect.fail(unknownCity), sideEffect).tool
        assert.deepStrictEqual(yield* caveatsOf(Tool.catchTag(refuses, "SemanticGarbage", () => queued)), [
          elsewhere
        ])
      }
      const reads = counting(Effect.fail(lost), "none").tool
      assert.deepStrictEqual(yield* caveatsOf(Tool.fallback(reads, () => queued)), [])
    }))

  it.effect("of the tool itself states no doubt, even after a lost attempt of an idempotent tool", () =>
    Effect.gen(function*() {
      let attempts = 0
      const tool = doing(
        Effect.suspend(() => ++attempts === 1 ? Effect.fail(lost) : Effect.succeed("paid")),
        "idempotent",
        "pay"
      ).pipe(Tool.retry(Schedule.recurs(1)))
      assert.deepInclude(yield* outcomeOf(tool), { _tag: "Completed", caveats: [], certainty: "executed" })
    }))

  it.effect("names the tool that checks, if the toolkit has it", () =>
    Effect.gen(function*() {
      const status = doing(Effect.succeed("paid"), "none", "status")
      const pay = Tool.make(
        "pay",
        { description: "", success: Schema.String, check: "status" },
        () => Effect.fail(lost)
      ).pipe(Tool.fallback(() => queued))
      const outcome = yield* Dispatch.call(Toolkit.make(pay, status), { id: "1", name: "pay" })
      assert.strictEqual(
        Rendering.json(outcome, call),
        JSON.stringify({
          value: "queued",
          notes: [`${doubt} Call status to find out`]
        })
      )
    }))

  it.effect("of the second source is certain, because that source acted", () =>
    Effect.gen(function*() {
      const mirror = doing(Effect.succeed("paid there"), "non_idempotent", "mirror")
      const { tool } = counting(Effect.fail(notExecuted))
      const outcome = yield* outcomeOf(tool.pipe(Tool.fallback(mirror.run)))
      assert.deepInclude(outcome, { _tag: "Completed", caveats: [], certainty: "executed" })
    }))
})

describe("doubt of an inner tool", () => {
  const { tool: loses } = counting(Effect.fail(lost))

  it.effect("is also the outer call's doubt, whatever the outer tool declares or returns", () =>
    Effect.gen(function*() {
      for (const sideEffect of ["none", "idempotent", "non_idempotent"] as const) {
        const ends: ReadonlyArray<Ends> = [
          Effect.mapError(loses.run(paris), () => garbage),
          Effect.mapError(loses.run(paris), () => notExecuted),
          Effect.orElseSucceed(loses.run(paris), () => "done"),
          Effect.forkDetach(loses.run(paris), { startImmediately: true }).pipe(Effect.as("done"))
        ]
        for (const end of ends) {
          const outer = doing(end, sideEffect, "outer")
          const outcome = yield* outcomeOf(outer)
          assert.strictEqual(outcome.certainty, "unknown", sideEffect)
          const deep = doing(outer.run(paris), sideEffect, "deep")
          assert.strictEqual((yield* outcomeOf(deep)).certainty, "unknown", sideEffect)
        }
      }
    }))

  it.effect("of a read-only attempt remains if the call fails, and is settled if it is answered", () =>
    Effect.gen(function*() {
      const { tool: puts } = counting(Effect.fail(lost), "idempotent")
      const { tool: pays } = counting(Effect.succeed("paid"))
      const ends: ReadonlyArray<readonly [first: Pay, last: Ends, certainty: Certainty.Certainty]> = [
        [loses, Effect.fail(unknownCity), "unknown"],
        [puts, Effect.fail(unknownCity), "unknown"],
        [pays, Effect.fail(unknownCity), "executed"],
        // Another attempt settles only idempotent inner tools.
        [puts, Effect.succeed("done"), "not_executed"],
        [loses, Effect.succeed("done"), "unknown"],
        [pays, Effect.succeed("done"), "executed"]
      ]
      for (const sideEffect of ["none", "idempotent"] as const) {
        for (const [inner, last, certainty] of ends) {
          let attempts = 0
          const outer = doing<Failure>(
            Effect.suspend((): Ends =>
              ++attempts === 1 ? Effect.andThen(Effect.exit(inner.run(paris)), Effect.fail(silent)) : last
            ),
            sideEffect,
            "outer"
          ).pipe(Tool.retry(Schedule.recurs(1)))
          const outcome = yield* outcomeOf(outer)
          // A tool that is declared read-only but ran an acting tool is not retried.
          assert.strictEqual(attempts, sideEffect === "none" && inner !== puts ? 1 : 2)
          const settled = sideEffect === "idempotent" && certainty === "not_executed" ? "executed" : certainty
          const own = sideEffect === "idempotent" && outcome._tag === "Failed" ? "unknown" : settled
          assert.strictEqual(outcome.certainty, own)
        }
      }
    }))

  it.effect("does not exist if the inner tool resolved it itself", () =>
    Effect.gen(function*() {
      const sure = loses.pipe(Tool.reconcile(() => Effect.succeedNone, { final: true }))
      const outer = doing(Effect.orElseSucceed(sure.run(paris), () => "done"), "none", "outer")
      assert.deepInclude(yield* outcomeOf(outer), { _tag: "Completed", certainty: "not_executed" })
    }))

  it.effect("becomes certainty if the inner tool took effect, even if the outer one failed", () =>
    Effect.gen(function*() {
      const { tool: pays } = counting(Effect.succeed("paid"))
      const outer = doing(Effect.andThen(pays.run(paris), Effect.fail(unknownCity)), "none", "outer")
      const outcome = yield* outcomeOf(outer)
      assert.strictEqual(outcome.certainty, "executed")
      assert.include(Rendering.json(outcome, call), "it has already taken effect")
      assert.deepInclude({
        ...(yield* Effect.flip(
          doing(
            Effect.andThen(pays.run(paris), Effect.fail(notExecuted)),
            "none",
            "outer"
          ).run(paris)
        ))
      }, { outcome: "executed" })
    }))
})

describe("Tool.outcome", () => {
  it.effect("returns a program the whole account of a run", () =>
    Effect.gen(function*() {
      const { tool } = counting(Effect.fail(lost), "idempotent")
      const { exit, ...account } = yield* passing(Tool.outcome(
        tool.pipe(
          Tool.retry(Schedule.spaced("1 second").pipe(Schedule.upTo({ times: 1 }))),
          Tool.mapFailure(() => garbage)
        ),
        paris
      ))
      assert.deepStrictEqual(exit, Exit.fail(garbage))
      assert.deepInclude(account, { certainty: "unknown", attempts: 2, executions: 2, caveats: [] })
      assert.deepStrictEqual(account.handled.map(({ by, code }) => `${by} ${code}`), ["retry connection"])
    }))

  it.effect("includes answers, defects and partial answers, with their notes", () =>
    Effect.gen(function*() {
      const answers = yield* Tool.outcome(counting(Effect.succeed("paid")).tool, paris)
      assert.deepInclude(answers, { exit: Exit.succeed("paid"), certainty: "executed" })
      const dies = yield* Tool.outcome(counting(Effect.die("bug")).tool, paris)
      assert.deepInclude(dies, { exit: Exit.die("bug"), certainty: "unknown" })
      const part = new PartialData({ code: "more", detail: "More.", data: "some" })
      const partly = Tool.make("partly", { description: "", success: Schema.String }, () => Effect.fail(part))
      assert.deepInclude(yield* Tool.outcome(partly, {}), { exit: Exit.fail(part), certainty: "executed" })
      const falls = counting(Effect.fail(lost)).tool.pipe(
        Tool.fallback(() => Effect.succeed("queued"), { name: "queue" })
      )
      assert.deepInclude(yield* Tool.outcome(falls, paris), {
        exit: Exit.succeed("queued"),
        certainty: "unknown",
        source: { name: "queue" }
      })
      assert.deepInclude(yield* Tool.outcome(counting(Effect.succeed("seen"), "none").tool, paris), {
        exit: Exit.succeed("seen"),
        certainty: "not_executed"
      })
    }))

  it.effect("makes an inner call in a tool's handler, and works data-last and for handmade tools", () =>
    Effect.gen(function*() {
      const { tool } = counting(Effect.fail(lost))
      const outer = doing(Effect.map(Tool.outcome(tool, paris), ({ certainty }) => certainty), "none", "outer")
      assert.deepInclude(yield* outcomeOf(outer), { _tag: "Completed", value: "unknown", certainty: "unknown" })
      assert.strictEqual((yield* Tool.outcome(paris)(tool)).certainty, "unknown")
      const byHand = { ...tool, run: () => Effect.succeed("paid") }
      assert.strictEqual((yield* Tool.outcome(byHand as Pay, paris)).certainty, "executed")
      assert.strictEqual((yield* outcomeOf(byHand)).certainty, "executed")
      const copied = { ...tool, description: "Another" }
      assert.deepInclude(yield* outcomeOf(copied), { certainty: "unknown", attempts: 1 })
    }))
})
