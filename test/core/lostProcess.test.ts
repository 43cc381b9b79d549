/**
 * A call that was running when its process ended, and that another process takes up: it stays in doubt, whatever the
 * tool does then.
 */
import { assert, describe, it } from "@effect/vitest"
import { Dispatch, Tool, Toolkit } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import * as ToolHealth from "@fallible/core/ToolHealth"
import { Effect, Schema } from "effect"
import { beginFacts, recordCall } from "../../packages/core/src/internal/dispatch/recordCalls.ts"

const Payment = Schema.Struct({ order: Schema.String })
const scoped = beginFacts(CallFacts.empty, "order-7")

const call = (
  facts: CallFacts.CallFacts,
  { identity, wasBegun = true }: { readonly identity?: () => never; readonly wasBegun?: boolean } = {}
) => {
  let paid = 0
  const pay = Tool.make("pay", {
    description: "",
    parameters: Payment,
    success: Schema.Void,
    ...(identity === undefined ? {} : { identity })
  }, () => Effect.sync(() => void paid++))
  return Dispatch.call(Toolkit.make(pay), { id: "1", name: "pay", arguments: "{\"order\":\"7\"}" }, {
    facts,
    wasBegun
  }).pipe(Effect.map((outcome) => ({ outcome, paid })))
}

describe("a call that was running when its process ended", () => {
  it.effect("stays in doubt if its tool is disabled now", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      yield* health.disable("pay", "Maintenance.")
      const { outcome, paid } = yield* call(scoped)
      assert.deepInclude(outcome, { _tag: "Failed", certainty: "unknown" })
      assert.strictEqual(outcome._tag === "Failed" && outcome.failure.code, "outcome_unknown")
      assert.strictEqual(paid, 0)
      yield* health.enable("pay")
      const next = yield* call(recordCall(scoped, outcome, { name: "pay", sideEffect: "non_idempotent" }), {
        wasBegun: false
      })
      assert.strictEqual(next.outcome._tag === "Failed" && next.outcome.failure.code, "in_doubt")
      assert.strictEqual(next.paid, 0)
    }).pipe(Effect.provide(ToolHealth.layer)))

  it.effect("stays in doubt if the identity of its tool throws now", () =>
    Effect.gen(function*() {
      const { outcome, paid } = yield* call(scoped, { identity: () => assert.fail("boom") })
      assert.deepInclude(outcome, { _tag: "Failed", certainty: "unknown" })
      assert.strictEqual(outcome._tag === "Failed" && outcome.failure.code, "defect")
      assert.strictEqual(paid, 0)
    }))

  it.effect("stays in doubt if the schema of its parameters throws now", () =>
    Effect.gen(function*() {
      const order = Schema.String.check(
        Schema.makeFilter((): boolean => {
          throw new Error("boom")
        })
      )
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Schema.Struct({ order }), success: Schema.Void },
        () => Effect.void
      )
      const outcome = yield* Dispatch.call(
        Toolkit.make(pay),
        { id: "1", name: "pay", arguments: "{\"order\":\"7\"}" },
        { facts: scoped, wasBegun: true }
      )
      assert.deepInclude(outcome, { _tag: "Failed", certainty: "unknown" })
      assert.strictEqual(outcome._tag === "Failed" && outcome.failure.code, "defect")
    }))

  it.effect("blocks later calls to its tool while its intent is unknown", () =>
    Effect.gen(function*() {
      let paid = 0
      const pay = Tool.make("pay", {
        description: "",
        parameters: Payment,
        success: Schema.Void,
        identity: ({ order }) => order === "7" ? assert.fail("boom") : order
      }, () => Effect.sync(() => void paid++))
      const paying = (order: string, options: Dispatch.CallOptions) =>
        Dispatch.call(Toolkit.make(pay), { id: "1", name: "pay", arguments: JSON.stringify({ order }) }, options)
      const lost = yield* paying("7", { facts: scoped, wasBegun: true })
      const outcome = yield* paying("07", { facts: recordCall(scoped, lost, pay) })
      assert.strictEqual(outcome._tag === "Failed" && outcome.failure.code, "in_doubt")
      assert.strictEqual(paid, 0)
    }))

  it.effect("stays in doubt if its facts have lost their form", () =>
    Effect.gen(function*() {
      const { outcome, paid } = yield* call(JSON.parse(JSON.stringify(scoped)))
      assert.deepInclude(outcome, { _tag: "Failed", certainty: "unknown" })
      assert.strictEqual(paid, 0)
    }))
})

describe("a resumed call", () => {
  it.effect("has an outcome even if its facts have lost their form", () =>
    Effect.gen(function*() {
      const tool = Tool.make("pay", { description: "", parameters: Payment, success: Schema.Void }, () => Effect.void)
      const outcome = yield* Dispatch.call(
        Toolkit.make(tool),
        { id: "1", name: "pay", arguments: "{\"order\":\"7\"}" },
        {
          facts: JSON.parse(JSON.stringify(scoped)),
          before: { intent: { id: "x", arguments: "x", number: 1 } }
        }
      )
      assert.strictEqual(outcome._tag === "Failed" && outcome.failure.code, "defect")
    }))
})
