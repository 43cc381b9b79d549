import { assert, describe, it } from "@effect/vitest"
import { Agent, Toolkit } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import { ScriptedModel } from "@fallible/testing"
import { Effect, HashMap, Schema } from "effect"
import { beginFacts } from "../../packages/core/src/internal/dispatch/recordCalls.ts"
import type { Untyped } from "../support/nonsense.ts"
import { busy, declined, order, payments, playing } from "../support/paidOrders.ts"
import { codesOf } from "../support/toldFailures.ts"

describe("H3 a scope", () => {
  const agent = Agent.make({ toolkit: Toolkit.empty })
  const run = (options: Agent.RunOptions) =>
    Effect.flip(Effect.provide(agent.run("?", options), ScriptedModel.layer([ScriptedModel.text("Hi.")])))

  it.effect("without facts is refused before anything runs, and says what to give", () =>
    Effect.gen(function*() {
      const failure = yield* run({ scope: "order-7" } as Untyped)
      assert.strictEqual(failure._tag, "RunRefused")
      assert.strictEqual(
        failure.detail,
        "The run was not started: facts: expected the facts of the scope's earlier runs, or CallFacts.empty for its first run, got nothing."
      )
    }))

  it.effect("with the facts of another scope is refused", () =>
    Effect.gen(function*() {
      const failure = yield* run({ scope: "order-7", facts: { ...CallFacts.empty, scope: "order-8" } })
      assert.strictEqual(
        failure.detail,
        "The run was not started: facts: expected facts of the scope 'order-7', got those of 'order-8'."
      )
    }))

  it.effect("refuses an invalid name, and undecoded facts", () =>
    Effect.gen(function*() {
      const encoded: unknown = JSON.parse(JSON.stringify(Schema.encodeSync(CallFacts.schema)(CallFacts.empty)))
      const wrong: ReadonlyArray<object> = [
        { id: "" },
        { id: " " },
        { id: 7 },
        { id: "x".repeat(257) },
        { scope: "", facts: CallFacts.empty },
        { facts: encoded },
        { facts: null },
        { facts: {} },
        { scope: 7, facts: CallFacts.empty }
      ]
      for (const options of wrong) assert.strictEqual((yield* run(options))._tag, "RunRefused", JSON.stringify(options))
    }))

  it.effect("continues with the facts of a failed run", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([])
      const once = Agent.make({ toolkit: Toolkit.make(pay), limits: { turns: 1 } })
      const failure = yield* Effect.flip(
        Effect.provide(once.run("Go."), ScriptedModel.layer([ScriptedModel.call("pay", order)]))
      )
      assert.strictEqual(failure._tag, "LimitReached")
      assert.deepStrictEqual(codesOf(yield* playing(pay, [order], { facts: failure.facts })), ["already_done"])
      assert.strictEqual(keys.length, 1)
    }))

  it.effect("forgets the refused calls of a tool that only reads", () =>
    Effect.gen(function*() {
      const { pay: look } = payments([declined, declined], { sideEffect: "none" })
      const { facts } = yield* playing(look, [{ order: "1" }, { order: "2" }])
      assert.strictEqual(HashMap.size(facts.intents), 2)
      assert.strictEqual(HashMap.size(beginFacts(facts, facts.scope ?? "").intents), 0)
    }))

  it.effect("of many runs keeps the calls that acted or were refused, and forgets those that were not served", () =>
    Effect.gen(function*() {
      const { pay } = payments(
        Array.from({ length: 400 }, (_, index) => ([declined, "paid", busy, busy] as const)[index % 4]!)
      )
      let facts = CallFacts.empty
      for (let number = 0; number < 400; number++) {
        ;({ facts } = yield* playing(pay, [{ order: `o-${number}` }], { facts }))
      }
      assert.strictEqual(facts.run, 399)
      const { intents } = beginFacts(facts, facts.scope ?? "")
      assert.strictEqual(HashMap.size(intents), 200)
    }))
})
