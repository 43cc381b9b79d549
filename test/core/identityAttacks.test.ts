/** Findings of attacks: ways in which one payment was mistaken for two, or two for one. */
import { assert, describe, it } from "@effect/vitest"
import { SchemaMismatch, Tool, ToolCall, ToolUnavailable } from "@fallible/core"
import { Clock, Context, Effect, Option, Random, Schedule, Schema, SchemaGetter } from "effect"
import { TestClock } from "effect/testing"
import { note, Payment, played } from "../support/keyedService.ts"
import { lettered } from "../support/lettered.ts"
import { codesOf } from "../support/toldFailures.ts"

describe("the same payment", () => {
  const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
  // A call that counts as the same gets `repeated_call`, and another one `in_doubt`.
  const codesFor = Effect.fnUntraced(
    function*(parameters: Schema.ConstraintDecoder<unknown>, ...calls: ReadonlyArray<object>) {
      const pay = Tool.make("pay", { description: "", parameters, success: Schema.String }, () => Effect.fail(lost))
      return codesOf(yield* played(pay, calls))
    }
  )
  let draws = 0
  const drawn = Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.sync(() => ++draws)))

  it.effect("is recognized if another part of it is random, however it is written", () =>
    Effect.gen(function*() {
      const parameters = Schema.Struct({ order: Schema.String, amount: Schema.Finite, at: drawn })
      assert.deepStrictEqual(
        yield* codesFor(parameters, { order: "7", amount: 5 }, { order: "7", amount: "5" }, { Amount: 5, order: "7" }),
        ["outcome_unknown", "repeated_call", "repeated_call"]
      )
    }))

  it.effect("is recognized whatever the order of a Set or a Map", () =>
    Effect.gen(function*() {
      const parameters = Schema.Struct({
        of: Schema.Array(Schema.ReadonlySet(Schema.String)),
        by: Schema.ReadonlyMap(Schema.String, Schema.Int)
      })
      assert.deepStrictEqual(
        yield* codesFor(parameters, { of: [["a", "b"]], by: [["x", 1], ["y", 2]] }, {
          of: [["b", "a"]],
          by: [["y", 2], ["x", 1]]
        }),
        ["outcome_unknown", "repeated_call"]
      )
    }))

  it.effect("differs from another one even if a codec would lose the difference", () =>
    Effect.gen(function*() {
      const rounding = Schema.String.pipe(Schema.decodeTo(Schema.Finite, {
        decode: SchemaGetter.transform(Number),
        encode: SchemaGetter.transform((amount: number) => amount.toFixed(0))
      }))
      const parameters = Schema.Struct({ amount: rounding })
      assert.deepStrictEqual(
        yield* codesFor(parameters, { amount: "5.1" }, { amount: "5.4" }, { amount: "5.1" }),
        ["outcome_unknown", "in_doubt", "repeated_call"]
      )
    }))
})

describe("all arguments", () => {
  class Opaque {
    readonly #order: unknown
    constructor(order: unknown) {
      this.#order = order
    }
    get order() {
      return this.#order
    }
  }
  class Service extends Context.Service<Service, string>()("Service") {}
  const busy = new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true, outcome: "not_executed" })
  const transforming = (decode: (text: string) => number, encode: (length: number) => string) =>
    Schema.String.pipe(Schema.decodeTo(Schema.Finite, {
      decode: SchemaGetter.transform(decode),
      encode: SchemaGetter.transform(encode)
    }))
  let count = 0

  const odd: Readonly<Record<string, Schema.ConstraintDecoder<unknown>>> = {
    "a random default": Schema.Finite.pipe(Schema.withDecodingDefaultKey(Random.next)),
    "a default that is the time": Schema.Finite.pipe(Schema.withDecodingDefaultKey(Clock.currentTimeMillis)),
    "a default that counts": Schema.Finite.pipe(Schema.withDecodingDefaultKey(Effect.sync(() => ++count))),
    "a field that counts without an Effect": Schema.optionalKey(Schema.Finite).pipe(
      Schema.decodeTo(Schema.Finite, {
        decode: SchemaGetter.transformOptional(Option.orElseSome(() => ++count)),
        encode: SchemaGetter.passthrough()
      })
    ),
    "a nested random default": Schema.Struct({
      of: Schema.Finite.pipe(Schema.withDecodingDefaultKey(Random.next))
    }).pipe(Schema.withDecodingDefaultKey(Effect.succeed({}))),
    "a default that encoding leaves out": Schema.Finite.pipe(
      Schema.withDecodingDefaultKey(Random.next, { encodingStrategy: "omit" })
    ),
    "a class without a codec": Schema.optionalKey(Schema.instanceOf(Opaque)),
    "any value": Schema.optionalKey(Schema.Unknown)
  }

  const payingBy = (field: Schema.ConstraintDecoder<unknown>) => {
    const keys: Array<string> = []
    const pay = Tool.make("pay", {
      description: "",
      parameters: Schema.Struct({ order: Schema.String, amount: Schema.Finite, field }),
      success: Schema.String,
      sideEffect: "idempotent_by_key",
      identity: "all",
      failureLimit: 20
    }, () =>
      Effect.gen(function*() {
        keys.push((yield* ToolCall.current).idempotencyKey)
        yield* TestClock.adjust("1 minute")
        return yield* Effect.fail(busy)
      }))
    return { keys, pay }
  }

  for (const [what, field] of Object.entries(odd)) {
    it.effect(`make the same key each time, however they are written, with ${what}`, () =>
      Effect.gen(function*() {
        const { keys, pay } = payingBy(field)
        yield* played(pay, [
          { order: "7", amount: 5 },
          { order: "7", amount: 5 },
          "{\"amount\": \"5\",  \"order\":\"7\"}",
          { order: "8", amount: 5 },
          { order: "7", amount: 5 }
        ])
        assert.strictEqual(lettered(keys), "a a a b a")
      }))
  }

  it.effect("make the same key in each attempt of an outer call, if a fixer corrected them, with a random default", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const pay = Tool.make("pay", {
        description: "",
        parameters: Schema.Struct({ order: Schema.String, field: odd["a random default"]! }),
        success: Schema.String,
        sideEffect: "idempotent_by_key",
        identity: "all"
      }, ({ order }) =>
        Effect.gen(function*() {
          if (order === "x") {
            return yield* new SchemaMismatch({ side: "arguments", code: "unknown_order", detail: "No such order." })
          }
          keys.push((yield* ToolCall.current).idempotencyKey)
          return yield* new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true })
        })).pipe(Tool.fix(() => ({ order: "7" })))
      const outer = Tool.make(
        "outer",
        { description: "", success: Schema.String, sideEffect: "idempotent" },
        () => pay.run({ order: "x", field: 1 })
      ).pipe(Tool.retry(Schedule.recurs(2)))
      yield* played(outer, [{}])
      assert.strictEqual(lettered(keys), "a a a")
    }))

  const required: Readonly<Record<string, Schema.ConstraintDecoder<unknown>>> = {
    "forgets the value when it is encoded": transforming(Number, () => ""),
    "rounds": transforming(Number, (amount) => amount.toFixed(0)),
    "cannot be encoded": Schema.String.pipe(Schema.decodeTo(Schema.Finite, {
      decode: SchemaGetter.transform(() => 1),
      encode: SchemaGetter.forbidden(() => "one way")
    })),
    "throws when it is encoded": transforming(() => 1, () => {
      throw new Error("bug")
    }),
    "needs a service to be encoded": Schema.String.pipe(Schema.decodeTo(Schema.Finite, {
      decode: SchemaGetter.transform(() => 1),
      encode: SchemaGetter.transformEffect(() => Effect.map(Service, String))
    })),
    "is encoded later": Schema.String.pipe(Schema.decodeTo(Schema.Finite, {
      decode: SchemaGetter.transform(() => 1),
      encode: SchemaGetter.transformEffect(() => Effect.as(Effect.sleep("1 second"), ""))
    }))
  }

  for (const [what, field] of Object.entries(required)) {
    it.effect(`make another key for another text, and the same for the same, with a field that ${what}`, () =>
      Effect.gen(function*() {
        const { keys, pay } = payingBy(field)
        const order = { order: "7", amount: 5 }
        yield* played(pay, ["1.1", "1.4", "1.1", "1.4"].map((field) => ({ ...order, field })))
        assert.strictEqual(lettered(keys), "a b a b")
      }))
  }
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
