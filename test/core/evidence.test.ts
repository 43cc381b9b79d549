import { assert, describe, it } from "@effect/vitest"
import {
  CallFacts,
  type Certainty,
  Dispatch,
  PartialData,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolFailure,
  Toolkit,
  ToolOutcome,
  ToolUnavailable
} from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import { Effect, Schema } from "effect"

type Failure = ToolFailure.ToolFailure<string>

const failed = <F extends object>(failure: F) =>
  Tool.make("pay", { description: "Pays", success: Schema.String }, () => Effect.fail(failure as F & Failure))

const certaintyOf = (failure: Failure) => Effect.map(Tool.outcome(failed(failure), {}), ({ certainty }) => certainty)

const codec = ToolFailure.schema(Schema.String)
const stored = (failure: Failure) =>
  Schema.decodeUnknownSync(codec)(JSON.parse(JSON.stringify(Schema.encodeSync(codec)(failure))))

const outcomes: ReadonlyArray<Certainty.Certainty> = ["executed", "not_executed", "unknown"]

describe("the author's word", () => {
  const classes: Readonly<Record<string, (fields: { readonly outcome?: Certainty.Certainty }) => Failure>> = {
    SchemaMismatch: (fields) =>
      new SchemaMismatch({ side: "result", code: "invalid_result", detail: "Odd.", ...fields }),
    PartialData: (fields) => new PartialData({ code: "more_pages", detail: "Page 1.", data: "one", ...fields }),
    SemanticGarbage: (fields) => new SemanticGarbage({ code: "no_card", detail: "No card.", ...fields }),
    ToolUnavailable: (fields) => new ToolUnavailable({ code: "down", detail: "Down.", transient: true, ...fields })
  }

  for (const [name, make] of Object.entries(classes)) {
    it.effect(`counts on a ${name}, also after it was stored`, () =>
      Effect.gen(function*() {
        for (const outcome of outcomes) {
          const failure = make({ outcome })
          assert.strictEqual(yield* certaintyOf(failure), outcome)
          assert.strictEqual(stored(failure).outcome, outcome)
          assert.strictEqual(yield* certaintyOf(stored(failure)), outcome)
        }
      }))
  }

  it.effect("is not what a class says without it", () =>
    Effect.gen(function*() {
      const said: Array<Certainty.Certainty> = []
      for (const make of Object.values(classes)) said.push(yield* certaintyOf(make({})))
      assert.deepStrictEqual(said, ["unknown", "executed", "not_executed", "unknown"])
    }))

  it.effect("is changed to what the library knows, when the failure leaves its tool", () =>
    Effect.gen(function*() {
      const pay = Tool.make("pay", { description: "Pays", success: Schema.String }, () =>
        Effect.andThen(
          Effect.ignore(failed(new ToolUnavailable({ code: "reset", detail: "Reset.", transient: true })).run({})),
          Effect.fail(new SemanticGarbage({ code: "no_card", detail: "No card.", outcome: "not_executed" }))
        ))
      const failure = yield* Effect.flip(pay.run({}))
      assert.deepInclude(failure, { _tag: "SemanticGarbage", outcome: "unknown" })
    }))
})

describe("evidence", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })

  it("says what was derived from an error, and with which status the service answered", () => {
    assert.deepStrictEqual(ToolFailure.from(refused).evidence, { inferred: { outcome: "not_executed" } })
    assert.deepStrictEqual(ToolFailure.from({ status: 404 }).evidence, { inferred: {}, status: 404 })
    assert.deepStrictEqual(ToolFailure.from(new Error("Failed.", { cause: { status: 409 } })).evidence?.status, 409)
    assert.deepStrictEqual(HttpFailure.fromStatus(503, { method: "POST" }).evidence, {
      inferred: { outcome: "unknown" },
      status: 503
    })
    assert.isUndefined(new SemanticGarbage({ code: "no_card", detail: "No card." }).evidence)
  })

  it.effect("goes with each copy, so that a copy proves no more than the original", () =>
    Effect.gen(function*() {
      const original = ToolFailure.from(refused)
      assert.instanceOf(original, ToolUnavailable)
      const copies = [original, new ToolUnavailable({ ...original, hint: "Wait." }), stored(original)]
      for (const copy of copies) assert.strictEqual(yield* certaintyOf(copy), "unknown")
      // Here the author speaks.
      const { evidence: _, ...own } = original
      assert.strictEqual(yield* certaintyOf(new ToolUnavailable(own)), "not_executed")
    }))

  it.effect("names the call that a failure has left, and what it did", () =>
    Effect.gen(function*() {
      const down = new ToolUnavailable({ code: "down", detail: "Down.", transient: true, outcome: "not_executed" })
      const outcome = yield* Dispatch.call(Toolkit.make(failed(down)), { id: "1", name: "pay" }, { id: "call 1" })
      assert.strictEqual(outcome._tag, "Failed")
      const { evidence } = outcome._tag === "Failed" ? outcome.failure : {}
      assert.deepInclude(evidence?.tool, { id: "call 1", effects: "none" })
      assert.isUndefined(down.evidence)
    }))

  it.effect("has the status of a cause, so that facts of a replayed call know that its key was refused", () =>
    Effect.gen(function*() {
      const pay = Tool.make("pay", {
        description: "Pays",
        success: Schema.String,
        sideEffect: "idempotent_by_key"
      }, () =>
        Effect.fail(
          new SchemaMismatch({ side: "arguments", code: "rejected", detail: "In use.", cause: { status: 409 } })
        ))
      const facts = CallFacts.beginning({ ...CallFacts.empty, scope: "scope" }, "scope")
      const outcome = yield* Dispatch.call(Toolkit.make(pay), { id: "1", name: "pay" }, { id: "call 1", facts })
      const json = JSON.parse(JSON.stringify(Schema.encodeSync(ToolOutcome.schema)(outcome)))
      const replayed = Schema.decodeUnknownSync(ToolOutcome.schema)(json)
      assert.deepStrictEqual(CallFacts.ended(facts, replayed, pay), CallFacts.ended(facts, outcome, pay))
    }))

  it.effect("of a tool that acted counts, however its failure comes to the handler that fails with it", () =>
    Effect.gen(function*() {
      const acted = failed(new ToolUnavailable({ code: "late", detail: "Late.", transient: true, outcome: "executed" }))
      const alone = Effect.promise(() => Effect.runPromise(Effect.flip(acted.run({}))))
      const wrapped = [
        (failure: Failure): Failure => failure,
        (failure: Failure) => new SemanticGarbage({ ...failure, code: "no_card", detail: "No card." }),
        (failure: Failure) => new SemanticGarbage({ code: "no_card", detail: "No card.", cause: failure }),
        (failure: Failure) => stored(failure)
      ]
      for (const wrap of wrapped) {
        const order = Tool.make(
          "order",
          { description: "Orders", success: Schema.String },
          () => Effect.flatMap(alone, (failure) => Effect.fail(wrap(failure)))
        )
        assert.strictEqual((yield* Tool.outcome(order, {})).certainty, "executed")
      }
    }))
})
