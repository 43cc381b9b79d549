/** Ways in which the facts of a run forgot what had been paid, and that were found by attack. */
import { assert, describe, it } from "@effect/vitest"
import { type AgentFailure, CallFacts, Tool, ToolCall } from "@fallible/core"
import { Effect, Exit, Schema } from "effect"
import { note, paying, Payment, played, service } from "../support/keyedService.ts"
import { codesOf } from "../support/toldFailures.ts"

describe("facts", () => {
  const factsOf = <A>(run: Effect.Effect<A, AgentFailure.AgentFailure>) =>
    Effect.map(Effect.flip(run), ({ facts, transcript }) => ({ facts, transcript }))

  it.effect("know what has been done by a call that then stopped the run", () =>
    Effect.gen(function*() {
      let paid = 0
      const stopping = (sideEffect: "non_idempotent" | "idempotent_by_key") =>
        Tool.make("pay", { description: "", parameters: Payment, success: Schema.String, sideEffect }, () =>
          Effect.suspend(() =>
            ++paid === 1 ? ToolCall.stop("Enough.") : Effect.succeed("receipt")
          ))
      for (const sideEffect of ["non_idempotent", "idempotent_by_key"] as const) {
        paid = 0
        const tool = stopping(sideEffect)
        const keys = yield* factsOf(played(tool, [note("a")]))
        const answer = yield* played(tool, [note("a")], keys)
        assert.strictEqual(paid, sideEffect === "non_idempotent" ? 1 : 2)
        assert.deepStrictEqual(codesOf(answer), sideEffect === "non_idempotent" ? ["repeated_call"] : [])
      }
    }))

  it.effect("know what has been done by a call that waits for its user, if nobody resumes it", () =>
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
      // A part of it has been done.
      assert.deepStrictEqual(codesOf(answer), ["repeated_call"])
    }))

  it.effect("know of nothing where a call has only asked: it asks again", () =>
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

  it.effect("are not lost with a run that is refused", () =>
    Effect.gen(function*() {
      const paid = service()
      const { facts } = yield* played(paying(paid), [note("a")])
      const refused = yield* factsOf(played(paying(paid), [], { facts, id: "" }))
      assert.deepStrictEqual(codesOf(yield* played(paying(paid), [note("a")], { facts: refused.facts })), [
        "already_done"
      ])
    }))

  it.effect("know of a reading tool in a later run that something inside of it may have acted", () =>
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

  it.effect("of no scope are gone on with, if there are any", () =>
    Effect.gen(function*() {
      const paid = service()
      const { facts } = yield* played(paying(paid), [note("a")])
      const { scope: _, ...unscoped } = facts
      assert.strictEqual(CallFacts.beginning(unscoped, "s").run, 1)
      assert.deepStrictEqual(codesOf(yield* played(paying(paid), [note("a")], { facts: unscoped })), ["already_done"])
    }))

  it.effect("are refused where they cannot be those of any run", () =>
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
