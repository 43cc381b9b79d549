import { assert, describe, it } from "@effect/vitest"
import { SchemaMismatch, Tool, ToolCall, type ToolUnavailable } from "@fallible/core"
import { Effect, Random, Redacted, Schema } from "effect"
import { lettered } from "../support/lettered.ts"
import { declined, order, Payment, payments, playing, textsOf } from "../support/paidOrders.ts"
import { lost } from "../support/sequence.ts"
import { codesOf } from "../support/toldFailures.ts"

describe("H3 an identity", () => {
  it.effect("selects the arguments of the intent: a changed note is not another payment", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([lost], { identity: ({ amount, order }) => ({ amount, order }) })
      const answer = yield* playing(pay, [{ ...order, note: "a" }, { ...order, note: "b" }, { order: "8", note: "b" }])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call"])
      assert.strictEqual(keys.length, 2)
      assert.include(
        textsOf(answer)[1],
        "This call was not run: a call with the same purpose has already failed with outcome_unknown: Reset."
      )
    }))

  it.effect("that was refused may be tried with other arguments, under another key", () =>
    Effect.gen(function*() {
      const { keys, pay, sent } = payments([declined, declined], { identity: ({ order }) => order })
      const answer = yield* playing(pay, [
        { ...order, amount: 100 },
        { ...order, amount: 100 },
        { ...order, amount: 60 },
        { ...order, amount: 50 }
      ])
      assert.deepStrictEqual(codesOf(answer), ["declined", "repeated_call", "declined"])
      assert.deepStrictEqual(sent.map(({ amount }) => amount), [100, 60, 50])
      assert.strictEqual(lettered(keys), "a b c")
    }))

  const empties: ReadonlyArray<unknown> = [undefined, null, "", "  ", [], {}, [undefined], {
    order: undefined,
    of: [""]
  }]

  it.effect("that is empty refuses the call, and says what to do", () =>
    Effect.gen(function*() {
      for (const empty of empties) {
        const { keys, pay } = payments([], { identity: () => empty })
        const answer = yield* playing(pay, [order])
        assert.deepStrictEqual(codesOf(answer), ["no_identity"])
        assert.deepStrictEqual(keys, [])
        assert.deepStrictEqual(JSON.parse(textsOf(answer)[0]!), {
          ok: false,
          error: "SchemaMismatch",
          code: "no_identity",
          detail: "This call was not run: its arguments do not say what pay should act on.",
          hint: "Call it again with the identifying arguments.",
          retry: "Do not repeat this call as it is. Call again with corrected arguments."
        })
      }
    }))

  it.effect("that is empty refuses a read-only call too", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([], { sideEffect: "none", identity: () => "" })
      assert.deepStrictEqual(codesOf(yield* playing(pay, [order])), ["no_identity"])
      assert.deepStrictEqual(keys, [])
    }))

  it.effect("may be zero or false", () =>
    Effect.gen(function*() {
      for (const identity of [0, false, 0n, [0], { a: false }, new Map([["a", 1]]), new Date(0)]) {
        const { keys, pay } = payments([], { identity: () => identity })
        yield* playing(pay, [order])
        assert.strictEqual(keys.length, 1)
      }
    }))

  class Opaque {
    readonly #order = "7"
    get order() {
      return this.#order
    }
  }

  it.effect("that throws, or is not comparable, is a fault of the tool, and nothing runs", () =>
    Effect.gen(function*() {
      const faults: ReadonlyArray<() => unknown> = [
        () => {
          throw new Error("bug")
        },
        () => Promise.resolve("7"),
        () => () => "7",
        () => Redacted.make("7"),
        () => new Opaque(),
        () => Effect.succeed("7")
      ]
      for (const identity of faults) {
        const { keys, pay } = payments([], { identity })
        const answer = yield* playing(pay, [order])
        assert.deepStrictEqual(codesOf(answer), ["defect"])
        assert.deepStrictEqual(keys, [])
        const [entry] = answer.report.failures
        assert.deepInclude(entry, { certainty: "not_executed" })
      }
    }))

  it.effect("is computed again for corrected arguments", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const strict = Tool.make("pay", { description: "", parameters: Payment, success: Schema.String }, ({ order }) =>
        Effect.flatMap(
          ToolCall.current,
          ({ idempotencyKey }): Effect.Effect<string, SchemaMismatch | ToolUnavailable> => {
            keys.push(idempotencyKey)
            return order === "x"
              ? Effect.fail(new SchemaMismatch({ side: "arguments", code: "unknown_order", detail: "No such order." }))
              : Effect.fail(lost)
          }
        )).pipe(Tool.fix(() =>
          order
        ))
      const answer = yield* playing(strict, [{ order: "x" }, order, { order: "x" }])
      // The third text is the same as the first, whatever its correction would be now.
      assert.strictEqual(lettered(keys), "a b")
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call", "repeated_call"])
      keys.length = 0
      const outer = Tool.make("outer", { description: "", success: Schema.String, sideEffect: "idempotent" }, () =>
        strict.run({ order: "x", amount: 5 }))
      yield* playing(outer, [{}])
      assert.strictEqual(lettered(keys), "a b")
    }))

  it.effect("is the text if a default is random", () =>
    Effect.gen(function*() {
      let paid = 0
      const pay = Tool.make("pay", {
        description: "",
        parameters: Schema.Struct({
          order: Schema.String,
          reference: Schema.Int.pipe(Schema.withDecodingDefaultKey(Random.nextInt))
        }),
        success: Schema.Void
      }, () =>
        Effect.suspend(() => {
          paid++
          return Effect.fail(lost)
        }))
      const answer = yield* playing(pay, [order, order])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call"])
      assert.strictEqual(paid, 1)
    }))
})
