/** The outcome of a call whose result violates its tool's contract. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  PartialData,
  Policy,
  RetryPolicy,
  Tool,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as Rendering from "@fallible/core/Rendering"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Exit, Schedule } from "effect"
import { ada, base, call, none, one, type Orders, outcomeOf, type Params, saying, told } from "../support/orders.ts"
import { passing } from "../support/virtualTime.ts"

describe("a tool that acts, with a result that violates its contract", () => {
  type Pay = Tool.Tool<string, Params, Orders, ToolFailure.ToolFailure<Orders>>

  const words: ReadonlyArray<readonly [what: string, words: Tool.Contract<Orders, Params>, code: string]> = [
    ["is empty", { empty: "No receipt." }, "empty_result"],
    ["is not right", { invariants: { "there is a receipt": ({ orders }) => orders.length > 0 } }, "invariant_broken"]
  ]

  const again = Policy.make({
    kind: "custom",
    name: "again",
    description: "tries again, whatever happened",
    wrap: (run) => (params) => Effect.retry(run(params), { times: 2 })
  })
  const besides = Policy.make({
    kind: "custom",
    name: "besides",
    description: "runs it twice at once",
    wrap: (run) => (params) => Effect.catch(run(params), () => run(params))
  })
  const unavailable = (failure: ToolFailure.ToolFailure) =>
    new ToolUnavailable({ code: "connection", detail: failure.detail, transient: true, outcome: "not_executed" })

  const policies: Readonly<Record<string, (tool: Pay) => Tool.Any>> = {
    "no policy": (tool) => tool,
    "a retry": (tool) => tool.pipe(Tool.retry(RetryPolicy.transient)),
    "a retry of what is called unavailable": (tool) =>
      tool.pipe(Tool.mapFailure(unavailable), Tool.retry(Schedule.recurs(2))),
    "a timeout and a retry": (tool) => tool.pipe(Tool.timeout("5 seconds"), Tool.retry(RetryPolicy.transient)),
    "a fix": (tool) => Tool.fix(tool, () => ({ name: "grace" })),
    "a custom policy": (tool) => tool.pipe(Tool.with(again)),
    "another custom policy": (tool) => tool.pipe(Tool.with(besides)),
    "a fallback": (tool) => Tool.fallback(tool, () => Effect.succeed(one)),
    "a reconcile, and a retry": (tool) =>
      Tool.retry(Tool.reconcile(tool, () => Effect.succeedNone, { final: true }), RetryPolicy.transient),
    "a catch that fails as if nothing had been done, and a retry": (tool) =>
      tool.pipe(
        Tool.catchTag(["SemanticGarbage", "SchemaMismatch"], (failure) => Effect.fail(unavailable(failure))),
        Tool.retry(Schedule.recurs(2))
      )
  }

  for (const [what, word, code] of words) {
    for (const [how, around] of Object.entries(policies)) {
      it.effect(`runs once, and counts as executed, if its result ${what}, under ${how}`, () =>
        Effect.gen(function*() {
          let runs = 0
          const pay: Pay = Tool.make(
            "search_orders",
            { ...base, sideEffect: "non_idempotent", ...word },
            () =>
              Effect.sync(() => {
                runs++
                return none
              })
          )
          const tool = around(pay)
          const outcome = yield* passing(outcomeOf(tool))
          if (outcome._tag !== "Failed") return assert.fail(outcome._tag)
          assert.deepStrictEqual([runs, outcome.executions ?? outcome.attempts, outcome.certainty], [1, 1, "executed"])
          const { retry } = JSON.parse(Rendering.json(outcome, call()))
          assert.strictEqual(retry, "Do not repeat this call: it has already taken effect.")
          assert.include(Rendering.prose(outcome, call()), retry)

          const account = yield* passing(Tool.outcome(tool as Pay, ada))
          assert.deepStrictEqual([runs, account.certainty, Exit.isFailure(account.exit)], [2, "executed", true])
          if (how === "no policy") assert.strictEqual(outcome.failure.code, code)
        }))
    }

    it.effect(`does not run again if its result ${what} and the model repeats the call`, () =>
      Effect.gen(function*() {
        let runs = 0
        const pay = Tool.make("search_orders", { ...base, sideEffect: "non_idempotent", ...word }, () =>
          Effect.sync(() => {
            runs++
            return none
          }))
        const script = [
          ScriptedModel.call("search_orders", ada),
          ScriptedModel.call("search_orders", ada),
          ScriptedModel.text("Done.")
        ]
        const answer = yield* Agent.make({ toolkit: Toolkit.make(pay) }).run("Pay.").pipe(
          Effect.provide(ScriptedModel.layer(script))
        )
        assert.deepStrictEqual([answer.text, runs], ["Done.", 1])
      }))
  }

  for (const sideEffect of ["none", "non_idempotent"] as const) {
    it.effect(`is never forgotten in an outer tool with the side effect "${sideEffect}"`, () =>
      Effect.gen(function*() {
        let runs = 0
        const inner = Tool.make(
          "pay",
          { ...base, sideEffect: "non_idempotent", empty: "No receipt." },
          () =>
            Effect.sync(() => {
              runs++
              return none
            })
        )
        const outer = Tool.make("search_orders", { ...base, sideEffect }, () => inner.run(ada)).pipe(
          Tool.mapFailure(unavailable),
          Tool.retry(Schedule.recurs(2))
        )
        const outcome = yield* passing(outcomeOf(outer))
        // What a handler that acts did besides is not known.
        const certainty = sideEffect === "none" ? "executed" : "unknown"
        assert.deepStrictEqual([outcome._tag, outcome.certainty, runs], ["Failed", certainty, 1])
      }))
  }

  it("has no pages, because each would be another call", () => {
    assert.throws(
      () =>
        Tool.make(
          "search_orders",
          { ...base, sideEffect: "non_idempotent", pages: { more: "more", next: "page" } },
          () => Effect.succeed(one)
        ),
      "A tool with 'pages' must be read-only or idempotent"
    )
  })
})

describe("a tool that only reads, with a result that violates its contract", () => {
  it.effect("is not retried", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = saying({ empty: "None." }, () => {
        runs++
        return none
      }).pipe(Tool.retry(Schedule.recurs(3)), Tool.timeout("1 second"))
      const read = yield* told(tool)
      assert.deepInclude(read, { code: "empty_result", detail: "None." })
      assert.strictEqual(runs, 1)
    }))

  it.effect("can be answered by a handler of the failure", () =>
    Effect.gen(function*() {
      const tool = saying({ empty: "None." }, none).pipe(Tool.catchTag("SemanticGarbage", () => Effect.succeed(one)))
      assert.strictEqual(yield* tool.run(ada), one)
    }))

  it.effect("is not checked if its handler itself fails", () =>
    Effect.gen(function*() {
      const part = new PartialData({ code: "cut", detail: "Cut.", data: none })
      const tool = Tool.make("t", { ...base, empty: "None." }, () => Effect.fail(part))
      assert.strictEqual(yield* Effect.flip(tool.run(ada)), part)
    }))
})
