/** Findings of attacks: ways in which the facts of a run forgot a payment. */
import { assert, describe, it } from "@effect/vitest"
import { type AgentFailure, Tool, ToolCall } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import { Effect, Exit, Schema } from "effect"
import { beginFacts } from "../../packages/core/src/internal/dispatch/recordCalls.ts"
import { note, paying, Payment, played, service } from "../support/keyedService.ts"
import { codesOf } from "../support/toldFailures.ts"

describe("facts", () => {
  const factsOf = <A>(run: Effect.Effect<A, AgentFailure.AgentFailure>) =>
    Effect.map(Effect.flip(run), ({ facts, transcript }) => ({ facts, transcript }))

  it.effect("record the effect of a call that then stopped the run", () =>
    Effect.gen(function*() {
      let paid = 0
      const stopping = (sideEffect: "non_idempotent" | "idempotent_by_key") =>
        Tool.make(
          "pay",
          { description: "", parameters: Payment, success: Schema.String, sideEffect, identity: "all" },
          () => Effect.suspend(() => ++paid === 1 ? ToolCall.stop("Enough.") : Effect.succeed("receipt"))
        )
      for (const sideEffect of ["non_idempotent", "idempotent_by_key"] as const) {
        paid = 0
        const tool = stopping(sideEffect)
        const keys = yield* factsOf(played(tool, [note("a")]))
        const answer = yield* played(tool, [note("a")], keys)
        assert.strictEqual(paid, sideEffect === "non_idempotent" ? 1 : 2)
        assert.deepStrictEqual(codesOf(answer), sideEffect === "non_idempotent" ? ["repeated_call"] : [])
      }
    }))

  it.effect("record the effect of a call that waits for the user, if it is never resumed", () =>
    Effect.gen(function*() {
      const paid = service()
      const pay = paying(paid)
      const asking = Tool.make(
        "checkout",
        { description: "", parameters: Payment, success: Schema.String },
        (params) => Effect.andThen(pay.run(params), ToolCall.ask("A receipt?"))
      )
      const before = yield* factsOf(played(asking, [note("a")]))
      const answer = yield* played(asking, [note("a")], before)
      assert.strictEqual(paid.acted, 1)
      // The call was done in part.
      assert.deepStrictEqual(codesOf(answer), ["repeated_call"])
    }))

  it.effect("record nothing for a call that only asked, so it asks again", () =>
    Effect.gen(function*() {
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String },
        () => ToolCall.ask("Sure?")
      )
      const before = yield* factsOf(played(pay, [note("a")]))
      const failure = yield* Effect.flip(played(pay, [note("a")], before))
      assert.strictEqual(failure._tag, "RunSuspended")
    }))

  it.effect("survive a run that is refused", () =>
    Effect.gen(function*() {
      const paid = service()
      const { facts } = yield* played(paying(paid), [note("a")])
      const refused = yield* factsOf(played(paying(paid), [], { facts, id: "" }))
      assert.deepStrictEqual(codesOf(yield* played(paying(paid), [note("a")], { facts: refused.facts })), [
        "already_done"
      ])
    }))

  it.effect("tell a later run that an inner tool of a read-only tool may have acted", () =>
    Effect.gen(function*() {
      const paid = service("acts and drops")
      const look = Tool.make("look", {
        description: "",
        parameters: Payment,
        success: Schema.String,
        sideEffect: "none"
      }, (params) => paying(paid).run(params))
      const { facts } = yield* played(look, [note("a")])
      assert.deepStrictEqual(codesOf(yield* played(look, [note("a")], { facts })), ["repeated_call"])
      assert.strictEqual(paid.requests.length, 1)
    }))

  it.effect("without a scope are accepted if they are not empty", () =>
    Effect.gen(function*() {
      const paid = service()
      const { facts } = yield* played(paying(paid), [note("a")])
      const { scope: _, ...unscoped } = facts
      assert.strictEqual(beginFacts(unscoped, "s").run, 1)
      assert.deepStrictEqual(codesOf(yield* played(paying(paid), [note("a")], { facts: unscoped })), ["already_done"])
    }))

  it.effect("are refused if no run can have produced them", () =>
    Effect.gen(function*() {
      const good = Schema.encodeSync(CallFacts.schema)({ ...CallFacts.empty, scope: "s" })
      for (
        const bad of [{ run: -1 }, { run: 1.5 }, { run: Number.MAX_SAFE_INTEGER }, { failures: -1 }, {
          intents: [["a", { run: 0, number: -1 }]]
        }]
      ) {
        const exit = yield* Effect.exit(Schema.decodeUnknownEffect(CallFacts.schema)({ ...good, ...bad }))
        assert.isTrue(Exit.isFailure(exit), JSON.stringify(bad))
      }
    }))
})
