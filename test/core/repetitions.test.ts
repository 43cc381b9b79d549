import { assert, describe, it } from "@effect/vitest"
import { Tool } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import { Effect, Schema } from "effect"
import { lettered } from "../support/lettered.ts"
import { busy, declined, type Options, order, payments, playing, textsOf } from "../support/paidOrders.ts"
import { lost } from "../support/sequence.ts"
import { codesOf } from "../support/toldFailures.ts"

describe("H3 a repetition", () => {
  it.effect("of a success is refused if the tool says so, with the earlier answer", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([], { repeats: false })
      const answer = yield* playing(pay, [order, order, { order: "8" }])
      assert.strictEqual(keys.length, 2)
      assert.deepStrictEqual(codesOf(answer), ["already_done"])
      assert.deepStrictEqual(JSON.parse(textsOf(answer)[1]!), {
        ok: false,
        error: "ToolUnavailable",
        code: "already_done",
        detail: "This call was not run: it has already been done: \"paid\"",
        retry: "Do not repeat this call: it has already taken effect."
      })
    }))

  it.effect("in a later run of the scope is refused, unless the tool repeats or is idempotent", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [Options, ReadonlyArray<string>]> = [
        [{}, ["already_done"]],
        [{ sideEffect: "idempotent_by_key" }, ["already_done"]],
        [{ sideEffect: "idempotent" }, []],
        [{ repeats: true }, []],
        [{ repeats: false, sideEffect: "idempotent" }, ["already_done"]]
      ]
      for (const [options, codes] of cases) {
        const { keys, pay } = payments([], options)
        const first = yield* playing(pay, [order])
        const stored = JSON.stringify(Schema.encodeSync(CallFacts.schema)(first.facts))
        const facts = Schema.decodeUnknownSync(CallFacts.schema)(JSON.parse(stored))
        const second = yield* playing(pay, [order, { order: "8" }], { facts, transcript: first.transcript })
        assert.deepStrictEqual(codesOf(second), codes)
        assert.strictEqual(new Set(keys).size, keys.length)
      }
    }))

  it.effect("of a call in doubt, in a later run, is refused, or continues under its key", () =>
    Effect.gen(function*() {
      const unkeyed = payments([lost])
      const first = yield* playing(unkeyed.pay, [order])
      assert.deepStrictEqual(codesOf(yield* playing(unkeyed.pay, [order], { facts: first.facts })), ["repeated_call"])
      assert.strictEqual(unkeyed.keys.length, 1)
      const keyed = payments([lost, lost, lost], { sideEffect: "idempotent_by_key", failureLimit: 3 })
      const before = yield* playing(keyed.pay, [order, order, order, order])
      assert.deepStrictEqual(codesOf(before).slice(2), ["connection", "repeated_call"])
      const answer = yield* playing(keyed.pay, [order, order], { facts: before.facts })
      // The payment was intended in the earlier run, and done for that one.
      assert.deepStrictEqual(codesOf(answer), ["already_done"])
      assert.strictEqual(lettered(keyed.keys), "a a a a")
    }))

  it.effect("in a later run does not reuse the key of a refused call, even after a success", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments(["paid", declined, "paid"], { repeats: true, identity: ({ order }) => order })
      const first = yield* playing(pay, [order, { ...order, note: "a" }])
      yield* playing(pay, [{ ...order, note: "b" }], { facts: first.facts })
      assert.strictEqual(lettered(keys), "a b c")
    }))

  it.effect("does not count if another source gave the earlier answer", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([busy, "paid"], { repeats: false })
      const answer = yield* playing(Tool.fallback(pay, () => Effect.succeed("queued")), [order, order, order])
      assert.strictEqual(lettered(keys), "a a")
      assert.deepStrictEqual(codesOf(answer), ["already_done"])
    }))

  it.effect("of an idempotent tool has no mention of keys", () =>
    Effect.gen(function*() {
      const { keys, pay, sent } = payments([lost], { sideEffect: "idempotent", identity: ({ order }) => order })
      const answer = yield* playing(pay, [{ ...order, note: "a" }, { ...order, note: "b" }])
      assert.strictEqual(textsOf(answer)[1], "\"paid\"")
      assert.deepStrictEqual(sent.map(({ note }) => note), ["a", "b"])
      assert.strictEqual(lettered(keys), "a a")
    }))

  it.effect("in a later run continues a call in doubt, even after an earlier success of the same", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments(["paid", lost], { sideEffect: "idempotent_by_key" })
      const first = yield* playing(pay, [order, order])
      const second = yield* playing(pay, [order, order], { facts: first.facts })
      assert.deepStrictEqual(codesOf(second), ["already_done"])
      assert.strictEqual(lettered(keys), "a b b")
    }))

  it.effect("in a later run is allowed if the earlier call certainly did nothing", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([declined])
      const first = yield* playing(pay, [order])
      const second = yield* playing(pay, [{ ...order, amount: 5, note: "other" }, order], { facts: first.facts })
      assert.deepStrictEqual(codesOf(second), [])
      // A service may have stored a refused key.
      assert.strictEqual(lettered(keys), "a b c")
    }))

  it.effect("is allowed as often as a read-only tool permits", () =>
    Effect.gen(function*() {
      let looked = 0
      const look = Tool.make(
        "look",
        { description: "", success: Schema.Void, sideEffect: "none", failureLimit: 6 },
        () =>
          Effect.suspend(() => {
            looked++
            return Effect.fail(declined)
          })
      )
      yield* playing(look, Array.from({ length: 9 }, () => ({})))
      assert.strictEqual(looked, 6)
    }))
})
