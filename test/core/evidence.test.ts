import { assert, describe, it } from "@effect/vitest"
import {
  Dispatch,
  PartialData,
  Policy,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import type * as Certainty from "@fallible/core/Certainty"
import * as HttpFailure from "@fallible/core/HttpFailure"
import * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Effect, Logger, Schedule, Schema } from "effect"
import { beginFacts, recordCall } from "../../packages/core/src/internal/dispatch/recordCalls.ts"

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
        sideEffect: "idempotent_by_key",
        identity: "all"
      }, () =>
        Effect.fail(
          new SchemaMismatch({ side: "arguments", code: "rejected", detail: "In use.", cause: { status: 409 } })
        ))
      const facts = beginFacts({ ...CallFacts.empty, scope: "scope" }, "scope")
      const outcome = yield* Dispatch.call(Toolkit.make(pay), { id: "1", name: "pay" }, { id: "call 1", facts })
      const json = JSON.parse(JSON.stringify(Schema.encodeSync(ToolOutcome.schema)(outcome)))
      const replayed = Schema.decodeUnknownSync(ToolOutcome.schema)(json)
      assert.deepStrictEqual(recordCall(facts, replayed, pay), recordCall(facts, outcome, pay))
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

describe("what looks like evidence", () => {
  const say = (fields: object) =>
    new ToolUnavailable({ code: "down", detail: "Down.", transient: false, outcome: "not_executed", ...fields })

  it.effect("and cannot be read does not keep a call from ending", () =>
    Effect.gen(function*() {
      const hostile = new Proxy({}, {
        get: () => {
          throw new Error("lazy")
        }
      })
      const throwing = Object.defineProperty(new Error("Odd."), "evidence", {
        get: () => {
          throw new Error("lazy")
        }
      })
      for (const cause of [{ evidence: hostile }, throwing, hostile]) {
        const pay = Tool.make(
          "pay",
          { description: "Pays", success: Schema.String },
          () => Effect.andThen(Effect.yieldNow, Effect.fail(say({ cause })))
        )
        assert.strictEqual((yield* Tool.outcome(pay, {})).certainty, "not_executed")
      }
    }))

  it.effect("and is broken makes a failure count as inferred, so that it claims nothing", () =>
    Effect.gen(function*() {
      // A user's code may do this in plain JavaScript.
      const broken: object = { evidence: { inferred: { outcome: "not_executed" }, status: "429" } }
      assert.strictEqual(yield* certaintyOf(say(broken)), "unknown")
      const error = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED", status: 2 ** 60 })
      assert.strictEqual(yield* certaintyOf(ToolFailure.from(error)), "unknown")
    }).pipe(Effect.provide(Logger.layer([]))))

  it("keeps no other fields", () => {
    const more: object = { evidence: { inferred: {}, secret: "sk" } }
    assert.deepStrictEqual(say(more).evidence, { inferred: {} })
  })

  it.effect("of a user's class neither breaks an outcome nor its encoding", () =>
    Effect.gen(function*() {
      // @ts-expect-error: it is a field in the base class
      class WithAccessor extends ToolUnavailable {
        override get evidence() {
          return undefined
        }
      }
      class WithField extends ToolUnavailable {
        // @ts-expect-error: a field of another type
        override readonly evidence = "a word of the domain"
      }
      const fields = { code: "late", detail: "Late.", transient: false, outcome: "executed" } as const
      for (const failure of [new WithAccessor(fields), new WithField(fields)]) {
        const outcome = yield* Dispatch.call(Toolkit.make(failed(failure)), { id: "1", name: "pay" })
        assert.strictEqual(outcome.certainty, "executed")
        assert.doesNotThrow(() => Schema.encodeSync(ToolOutcome.schema)(outcome))
      }
    }))

  it.effect("counts wherever an error keeps the failure of a tool", () =>
    Effect.gen(function*() {
      const acted = failed(say({ outcome: "executed" }))
      for (const key of ["cause", "error", "failure", "errors", "reasons"]) {
        const order = Tool.promise("order", { description: "Orders", success: Schema.String }, async () => {
          const inner = await Effect.runPromise(Effect.flip(acted.run({})))
          throw say({ [key]: key.endsWith("s") ? [inner] : inner })
        })
        assert.strictEqual((yield* Tool.outcome(order, {})).certainty, "executed", key)
      }
    }))
})

describe("an outcome and its failure", () => {
  it.effect("agree, whatever class the failure has", () =>
    Effect.gen(function*() {
      let runs = 0
      const pay = Tool.make("pay", { description: "Pays", success: Schema.String, sideEffect: "idempotent" }, () =>
        Effect.fail(
          ++runs === 1
            ? new ToolUnavailable({ code: "reset", detail: "Reset.", transient: true })
            : new SemanticGarbage({ code: "no_card", detail: "No card.", outcome: "not_executed" })
        )).pipe(Tool.retry(Schedule.recurs(1)))
      const outcome = yield* Dispatch.call(Toolkit.make(pay), { id: "1", name: "pay" })
      assert.deepNestedInclude(outcome, { certainty: "unknown", "failure.outcome": "unknown" })
    }))

  it.effect("keep the doubt that a mapping, or a source beside tools, tells with any class", () =>
    Effect.gen(function*() {
      const doubt = new SemanticGarbage({ code: "odd", detail: "Odd.", outcome: "unknown" })
      const down = failed(
        new ToolUnavailable({ code: "down", detail: "Down.", transient: false, outcome: "not_executed" })
      )
      const look = Tool.make(
        "look",
        { description: "Looks", success: Schema.String, sideEffect: "none" },
        () => Effect.succeed("seen")
      )
      const tools = [
        Tool.mapFailure(down, () => doubt),
        Tool.fallback(down, () => Effect.andThen(look.run({}), Effect.fail(doubt)))
      ]
      for (const tool of tools) {
        assert.strictEqual((yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "pay" })).certainty, "unknown")
      }
    }))

  it.effect("keep the doubt of a policy in a resumed call that had taken effect", () =>
    Effect.gen(function*() {
      const own = Policy.make<never, ToolUnavailable>({
        kind: "custom",
        name: "own",
        description: "asks elsewhere",
        wrap: (run) => (params) =>
          Effect.catch(run(params), () =>
            Effect.fail(new ToolUnavailable({ code: "mine", detail: "Lost.", transient: false, outcome: "unknown" })))
      })
      const down = new ToolUnavailable({ code: "down", detail: "Down.", transient: false, outcome: "not_executed" })
      const pay = failed(down).pipe(Tool.with(own))
      const before = { certainty: "executed", effects: "done" } as const
      const outcome = yield* Dispatch.call(Toolkit.make(pay), { id: "1", name: "pay" }, { before })
      assert.strictEqual(outcome.certainty, "unknown")
    }))
})
