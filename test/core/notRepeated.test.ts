/** A tool that may have acted does not run again. */
import { assert, describe, it } from "@effect/vitest"
import {
  Dispatch,
  Policy,
  RetryPolicy,
  SchemaMismatch,
  Tool,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import type * as Certainty from "@fallible/core/Certainty"
import * as Rendering from "@fallible/core/Rendering"
import { Effect, Fiber, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { acting, failureIn, reading } from "../support/asyncTools.ts"
import { call, counting, type Ends, outcomeOf, type Pay } from "../support/countedRuns.ts"
import { custom, type Failure, lost, notExecuted, parameters, paris, silent, unknownCity } from "../support/sequence.ts"

describe("an acting tool does not run again", () => {
  const again = Tool.retry(Schedule.recurs(2))
  const cases: Readonly<Record<string, (tool: Pay) => Tool.Any>> = {
    "when its lost failure is mapped to one that was not executed": (tool) =>
      tool.pipe(Tool.mapFailure((): Failure => notExecuted), again),
    "when it is caught, and what catches it was not executed": (tool) =>
      tool.pipe(
        Tool.catchTag("ToolUnavailable", (): Ends => Effect.fail(notExecuted)),
        Tool.catchTag("ToolUnavailable", (): Ends => Effect.fail(notExecuted)),
        again
      ),
    "by a policy that retries": (tool) => tool.pipe(Tool.with(custom((run) => Effect.retry(run, { times: 2 })))),
    "by a policy that runs it twice at once": (tool) =>
      tool.pipe(Tool.with(custom((run) => Effect.map(Effect.all([run, run], { concurrency: 2 }), ([one]) => one)))),
    "by a policy that maps it, inside of a retry": (tool) =>
      tool.pipe(Tool.with(custom((run) => Effect.mapError(run, () => notExecuted))), again)
  }
  for (const [name, wrap] of Object.entries(cases)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const { runs, tool } = counting(Effect.fail(lost))
        const outcome = yield* outcomeOf(wrap(tool))
        assert.strictEqual(runs.count, 1)
        assert.deepInclude(outcome, { _tag: "Failed", certainty: "unknown" })
        const text = Rendering.json(outcome, call)
        assert.include(
          text,
          "Do not repeat this call: it may already have taken effect. Find out whether it has, or tell the user."
        )
      }))
  }

  it.effect("after a success, whatever a policy then fails with", () =>
    Effect.gen(function*() {
      const { runs, tool } = counting(Effect.succeed("paid"))
      const outcome = yield* outcomeOf(
        tool.pipe(Tool.with(custom((run) => Effect.andThen(run, Effect.fail(notExecuted)))), again)
      )
      assert.strictEqual(runs.count, 1)
      assert.deepInclude(outcome, { _tag: "Failed", certainty: "executed" })
      assert.include(Rendering.json(outcome, call), "Do not repeat this call: it has already taken effect.")
    }))

  it.effect("and the failure says why", () =>
    Effect.gen(function*() {
      const twice = custom((run) => Effect.andThen(Effect.ignore(run), run))
      const ends: ReadonlyArray<readonly [Ends, string, Certainty.Certainty]> = [
        [Effect.fail(lost), "an earlier attempt of this call may have taken effect. Before: Reset.", "unknown"],
        [Effect.succeed("paid"), "an earlier attempt of this call has already taken effect.", "executed"],
        [Effect.fail(unknownCity), "it has already refused this call. Before: Unknown city.", "not_executed"]
      ]
      for (const [end, why, outcome] of ends) {
        const { runs, tool } = counting(end)
        const failure = yield* Effect.flip(tool.pipe(Tool.with(twice)).run(paris))
        assert.deepInclude({ ...failure }, {
          code: "not_repeated",
          detail: `pay was not run again: ${why}`,
          transient: false,
          outcome
        })
        assert.strictEqual(runs.count, 1)
      }
    }))

  it.effect("except after it certainly did nothing, whatever its failure was mapped to", () =>
    Effect.gen(function*() {
      for (const end of [notExecuted, new SchemaMismatch({ side: "arguments", code: "odd", detail: "Odd." })]) {
        const { runs, tool } = counting(Effect.fail(end))
        const outcome = yield* outcomeOf(tool.pipe(Tool.mapFailure((): Failure => silent), again))
        assert.strictEqual(runs.count, 3)
        assert.deepInclude(outcome, { _tag: "Failed", certainty: "not_executed" })
        assert.notMatch(Rendering.json(outcome, call), /taken effect/)
      }
    }))

  it.effect("after a refusal, unless its service refuses before it acts", () =>
    Effect.gen(function*() {
      for (const refusesFirst of [false, true]) {
        let runs = 0
        const tool = Tool.make("pay", { description: "", parameters, success: Schema.String, refusesFirst }, () =>
          Effect.suspend(() => {
            runs++
            return Effect.fail(unknownCity)
          })).pipe(
            Tool.mapFailure(() =>
              silent
            ),
            again
          )
        const outcome = yield* outcomeOf(tool)
        assert.deepStrictEqual([runs, outcome.certainty], [refusesFirst ? 3 : 1, "not_executed"])
      }
    }))

  it.effect("after the source of a fallback, or a policy, says that it may have acted", () =>
    Effect.gen(function*() {
      const places: ReadonlyArray<(tool: Pay) => Tool.Any> = [
        (tool) => tool.pipe(Tool.fallback(() => Effect.fail(lost)), again),
        (tool) => tool.pipe(Tool.fallback(() => Effect.fail(silent)), Tool.mapFailure(() => notExecuted), again),
        (tool) =>
          tool.pipe(
            Tool.with(custom((run) => Effect.catch(run, () => Effect.fail(lost)))),
            Tool.mapFailure(() => notExecuted),
            again
          )
      ]
      for (const wrap of places) {
        const { runs, tool } = counting(Effect.fail(notExecuted))
        assert.deepInclude(yield* outcomeOf(wrap(tool)), { _tag: "Failed", certainty: "unknown" })
        assert.strictEqual(runs.count, 1)
      }
    }))

  it.effect("while an abandoned source of a fallback still runs", () =>
    Effect.gen(function*() {
      const { runs, tool } = counting(Effect.fail(notExecuted))
      const deaf = Effect.uninterruptible(Effect.delay(Effect.succeed("queued"), "1 hour"))
      const outcome = yield* outcomeOf(tool.pipe(Tool.fallback(() => deaf), Tool.timeout("1 second"), again))
      assert.strictEqual(outcome._tag, "Failed")
      assert.strictEqual(runs.count, 1)
    }))

  it.effect("because an inner tool rejected its arguments: an earlier step may have acted", () =>
    Effect.gen(function*() {
      const { tool: rejects } = counting(
        Effect.fail(new SchemaMismatch({ side: "arguments", code: "odd", detail: "Odd." }))
      )
      const { runs, tool } = counting(rejects.run(paris))
      yield* outcomeOf(tool.pipe(Tool.mapFailure((): Failure => silent), again))
      assert.strictEqual(runs.count, 1)
    }))

  it.live("by a policy that leaves the fibers of the call, and the failure says so", () =>
    Effect.gen(function*() {
      const leaving = Policy.make<never, ToolUnavailable>({
        kind: "custom",
        name: "leaving",
        description: "leaves",
        wrap: <A, E extends ToolFailure.ToolFailure, R>(run: Policy.Run<A, E, R>) => (params: unknown) =>
          Effect.flatMap(
            Effect.promise(() => Effect.runPromiseExit(run(params) as Effect.Effect<A, E>)),
            (exit) => exit
          )
      })
      for (const sideEffect of ["none", "idempotent", "non_idempotent"] as const) {
        const { runs, tool } = counting(Effect.succeed("done"), sideEffect)
        const outcome = yield* Dispatch.call(Toolkit.make(tool.pipe(Tool.with(leaving))), call)
        assert.strictEqual(outcome.certainty, "not_executed")
        if (sideEffect === "none") {
          assert.deepInclude(outcome, { _tag: "Completed", value: "done" })
        } else {
          assert.strictEqual(runs.count, 0)
          assert.deepNestedInclude(outcome, { _tag: "Failed", "failure.code": "outside_call" })
        }
      }
    }))

  it.effect("unless it is idempotent", () =>
    Effect.gen(function*() {
      const { runs, tool } = counting(Effect.fail(lost), "idempotent")
      const outcome = yield* outcomeOf(tool.pipe(again))
      assert.strictEqual(runs.count, 3)
      assert.strictEqual(outcome.certainty, "unknown")
    }))
})

describe("a tool that only reads, and runs a payment inside", () => {
  it.effect("is not retried while the payment may still be under way", () =>
    Effect.gen(function*() {
      let paid = 0
      const pay = Tool.promise("pay", acting, () => {
        paid++
        return new Promise<string>(() => {})
      })
      const outer = Tool.make("look", reading, () => pay.run({})).pipe(
        Tool.timeout("2 seconds"),
        Tool.retry(RetryPolicy.transient)
      )
      const fiber = yield* Effect.forkChild(Tool.outcome(outer, {}))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Fiber.join(fiber)).certainty, "unknown")
      assert.strictEqual(paid, 1)
    }))

  it.effect("is not retried after a payment that began while it waited", () =>
    Effect.gen(function*() {
      let paid = 0
      const pay = Tool.make("pay", acting, () => Effect.sync(() => `${++paid}`))
      const busy = new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true })
      const outer = Tool.make("look", reading, () =>
        Effect.andThen(Effect.forkDetach(Effect.delay(pay.run({}), 10)), Effect.fail(busy))).pipe(
          Tool.retry(Schedule.spaced("1 second"))
        )
      const fiber = yield* Effect.forkChild(Tool.outcome(outer, {}))
      yield* TestClock.adjust("1 minute")
      const { certainty, exit, handled } = yield* Fiber.join(fiber)
      assert.strictEqual(certainty, "executed")
      assert.strictEqual(paid, 1)
      // Each failure is handled once.
      assert.deepStrictEqual(handled.map(({ by, code }) => [by, code]), [["retry", "busy"]])
      assert.deepInclude({ ...failureIn(exit) }, {
        code: "not_repeated",
        detail: "look was not run again: an earlier attempt of this call has already taken effect. Before: Busy."
      })
    }))
})
