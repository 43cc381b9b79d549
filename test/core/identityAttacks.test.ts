/** Findings of attacks: ways in which one payment was mistaken for two, or two for one. */
import { assert, describe, it } from "@effect/vitest"
import { Tool, ToolUnavailable } from "@fallible/core"
import { Effect, Option, Schema, SchemaGetter } from "effect"
import { note, Payment, played } from "../support/keyedService.ts"
import { codesOf } from "../support/toldFailures.ts"

describe("the same payment", () => {
  const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
  const paidBy = Effect.fnUntraced(
    function*(parameters: Schema.ConstraintDecoder<unknown>, ...calls: ReadonlyArray<object>) {
      let paid = 0
      const pay = Tool.make("pay", { description: "", parameters, success: Schema.String }, () =>
        Effect.suspend(() => {
          paid++
          return Effect.fail(lost)
        }))
      yield* played(pay, calls)
      return paid
    }
  )
  let draws = 0
  const drawn = Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.sync(() => ++draws)))

  it.effect("is recognized if another part of it is random, however it is written", () =>
    Effect.gen(function*() {
      const parameters = Schema.Struct({ order: Schema.String, amount: Schema.Finite, at: drawn })
      assert.strictEqual(
        yield* paidBy(parameters, { order: "7", amount: 5 }, { order: "7", amount: "5" }, { Amount: 5, order: "7" }),
        1
      )
    }))

  it.effect("is recognized whatever the order of a Set or a Map", () =>
    Effect.gen(function*() {
      const parameters = Schema.Struct({
        of: Schema.Array(Schema.ReadonlySet(Schema.String)),
        by: Schema.ReadonlyMap(Schema.String, Schema.Int)
      })
      assert.strictEqual(
        yield* paidBy(parameters, { of: [["a", "b"]], by: [["x", 1], ["y", 2]] }, {
          of: [["b", "a"]],
          by: [["y", 2], ["x", 1]]
        }),
        1
      )
    }))

  it.effect("differs from another one even if a codec would lose the difference", () =>
    Effect.gen(function*() {
      const rounding = Schema.String.pipe(Schema.decodeTo(Schema.Finite, {
        decode: SchemaGetter.transform(Number),
        encode: SchemaGetter.transform((amount: number) => amount.toFixed(0))
      }))
      const parameters = Schema.Struct({ amount: rounding })
      assert.strictEqual(yield* paidBy(parameters, { amount: "5.1" }, { amount: "5.4" }, { amount: "5.1" }), 2)
    }))

  it.effect("needs an identity if its tool is idempotent by key and its codec is lossy", () =>
    Effect.gen(function*() {
      const forgetful = Schema.String.pipe(Schema.decodeTo(Schema.Finite, {
        decode: SchemaGetter.transform(Number),
        encode: SchemaGetter.transform(() => "")
      }))
      let paid = 0
      const pay = Tool.make("pay", {
        description: "",
        parameters: Schema.Struct({ amount: forgetful }),
        success: Schema.String,
        sideEffect: "idempotent_by_key"
      }, () => Effect.sync(() => `${++paid}`))
      assert.deepStrictEqual(codesOf(yield* played(pay, [{ amount: "5" }])), ["defect"])
      assert.strictEqual(paid, 0)
      const counting = Schema.optionalKey(Schema.Int).pipe(Schema.decodeTo(Schema.Int, {
        decode: SchemaGetter.transformOptional(Option.orElseSome(() => ++draws)),
        encode: SchemaGetter.passthrough()
      }))
      assert.throws(
        () =>
          Tool.make("pay", {
            description: "",
            parameters: Schema.Struct({ reference: counting }),
            success: Schema.Void,
            sideEffect: "idempotent_by_key"
          }, () => Effect.void),
        /they have a default that may differ each time/
      )
      for (const json of [Schema.Json, Schema.Unknown]) {
        assert.doesNotThrow(() =>
          Tool.make("pay", {
            description: "",
            parameters: Schema.Struct({ json }),
            success: Schema.Void,
            sideEffect: "idempotent_by_key"
          }, () => Effect.void)
        )
      }
    }))
})

it.live("an identity that rejects later does not end the process", () =>
  Effect.gen(function*() {
    const pay = Tool.make("pay", {
      description: "",
      parameters: Payment,
      success: Schema.Void,
      identity: () => Promise.reject(new Error("boom"))
    }, () => Effect.void)
    assert.deepStrictEqual(codesOf(yield* played(pay, [note("a")])), ["defect"])
    yield* Effect.sleep("5 millis")
  }))
