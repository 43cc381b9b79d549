import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  PartialData,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema } from "effect"
import { failing, handling, logging, outcomeOf, read } from "../support/illTyped.ts"
import { nonsense, type Untyped } from "../support/nonsense.ts"
import { paris, refused } from "../support/sequence.ts"

describe("a failure of ill-typed fields", () => {
  const plain: Untyped = {}

  it.effect("has placeholder texts, and the log reports it", () =>
    Effect.gen(function*() {
      const { logged, value } = yield* logging(
        Effect.sync(() => new SemanticGarbage({ code: plain.code, detail: plain.message }))
      )
      assert.deepInclude({ ...value }, { code: "unspecified", detail: "The failure does not say what went wrong." })
      assert.deepStrictEqual(logged, [
        "Warn | A SemanticGarbage was made with fields of the wrong type: 'code' is missing; 'detail' is missing."
      ])
    }))

  const made: ReadonlyArray<readonly [given: unknown, detail: string]> = [
    [7, "7"],
    [new Error("No such city."), "No such city."],
    [{ message: "Closed.", token: "hunter2" }, "Closed."],
    [{ token: "hunter2" }, "The failure does not say what went wrong."],
    [Object.assign(new Error(""), { token: "hunter2" }), "The failure does not say what went wrong."],
    [new URL("https://somebody:hunter2@example.com"), "The failure does not say what went wrong."],
    [null, "The failure does not say what went wrong."],
    [Symbol("x"), "The failure does not say what went wrong."],
    [new Promise(() => {}), "The failure does not say what went wrong."]
  ]
  it.effect("uses the message of the value", () =>
    Effect.gen(function*() {
      for (const [detail, told] of made) {
        const { value } = yield* logging(
          Effect.sync(() => new ToolUnavailable({ code: 404, detail, transient: "yes" } as Untyped))
        )
        assert.deepInclude({ ...value }, { code: "404", detail: told, transient: false })
      }
    }))

  it.effect("does not accept a number as a Duration, and says what to pass", () =>
    Effect.gen(function*() {
      const { logged, value } = yield* logging(
        Effect.sync(() => new ToolUnavailable({ code: "x", detail: "x", transient: true, retryAfter: 30 } as Untyped))
      )
      assert.isFalse("retryAfter" in value)
      assert.deepStrictEqual(logged, [
        "Warn | A ToolUnavailable was made with fields of the wrong type: 'retryAfter' must be a Duration; got a number."
      ])
    }))

  it.effect("shows only the message of an object, whatever the tool adds", () =>
    Effect.gen(function*() {
      const error: Untyped = { config: { headers: { authorization: "hunter2" } } }
      const handlers = [
        () => Effect.fail(new SemanticGarbage({ code: error, detail: error, hint: error, alternatives: [error] })),
        () => Effect.as(ToolCall.caveat(error), "fine"),
        () => Effect.as(ToolCall.source({ name: error, age: "1 hour" }), "fine"),
        () => ToolCall.ask(error),
        () => ToolCall.stop(error)
      ]
      for (const handler of handlers) {
        const { logged, value } = yield* logging(outcomeOf(handling(handler)))
        assert.notInclude(JSON.stringify([value, read(value), logged]), "hunter2")
      }
    }))

  it.effect("can be made with unreadable values in any field", () =>
    Effect.gen(function*() {
      const failures = [SchemaMismatch, PartialData, SemanticGarbage, ToolUnavailable]
      const keys =
        "code detail hint side severity alternatives tried issues fault coverage next data transient scope retryAfter outcome message name toString"
      const given = [
        "a proxy that cannot be looked at",
        "a rejected promise",
        "something deep"
      ]
      for (const failure of failures) {
        for (const key of keys.split(" ")) {
          for (const what of given) {
            const fields: Untyped = { side: "result", code: "x", detail: "x", issues: [], transient: false, data: "x" }
            const { value } = yield* logging(Effect.suspend(() => {
              const made: Untyped = new failure({ ...fields, [key]: nonsense[what]!() })
              return outcomeOf(handling(() => Effect.fail(made)))
            }))
            assert.isTrue(value._tag === "Failed" && value.failure.code !== "defect", `${failure.name} ${key} ${what}`)
            assert.include(read(value), "retry")
          }
        }
      }
    }))

  it.effect("is cautious with unreadable fields", () =>
    Effect.gen(function*() {
      const { value } = yield* logging(Effect.sync(() => ({
        lost: new ToolUnavailable({
          code: "x",
          detail: "x",
          transient: true,
          outcome: "maybe",
          scope: "record",
          retryAfter: "5 seconds",
          severity: "grave",
          tried: "cache"
        } as Untyped),
        wrong: new SchemaMismatch({ code: "x", detail: "x", issues: "all", alternatives: [1, null, "a"] } as Untyped),
        part: new PartialData({ code: "x", detail: "x", data: 1, next: 2, coverage: { have: "1" } } as Untyped)
      })))
      assert.deepInclude({ ...value.lost }, { outcome: "unknown", tried: ["cache"] })
      assert.isTrue(value.lost.retryAfter !== undefined && !("severity" in value.lost || "scope" in value.lost))
      assert.deepInclude({ ...value.wrong }, { issues: [], alternatives: ["1", "a"] })
      assert.deepStrictEqual({ ...value.part }, { _tag: "PartialData", code: "x", detail: "x", data: 1 } as Untyped)
    }))

  it.effect("reaches the model like any other, even from a fallback, after other calls have acted", () =>
    Effect.gen(function*() {
      let paid = 0
      const pay = Tool.make(
        "pay",
        { description: "", success: Schema.String },
        () => Effect.sync(() => `paid ${++paid}`)
      )
      const bad = Effect.suspend(() => Effect.fail(new SemanticGarbage({ code: "x", detail: plain.message })))
      const tool = failing(refused).pipe(Tool.fallback(() => bad))
      const { value } = yield* logging(Agent.make({ toolkit: Toolkit.make(pay, tool) }).run("?"))
      assert.strictEqual(value.text, "Done.")
      assert.strictEqual(paid, 1)
      assert.include(JSON.stringify(value.transcript), "The failure does not say what went wrong.")
    }).pipe(
      Effect.provide(
        ScriptedModel.layer([ScriptedModel.calls(["pay"], ["victim", paris]), ScriptedModel.text("Done.")])
      )
    ))
})
