/** The meaning of an empty result, as a tool's definition declares it. */
import { assert, describe, it } from "@effect/vitest"
import { Tool } from "@fallible/core"
import { DateTime, Effect, Exit, Option, Schema } from "effect"
import { ada, failureOf, none, one, type Orders, type Params, saying } from "../support/orders.ts"

describe("F5 empty", () => {
  const emptiness: ReadonlyArray<readonly [what: string, value: unknown, isEmpty: boolean]> = [
    ["undefined", undefined, true],
    ["null", null, true],
    ["an empty text", "", true],
    ["a text", " ", false],
    ["zero", 0, false],
    ["false", false, false],
    ["an empty list", [], true],
    ["a list", [undefined], false],
    ["an object without fields", {}, true],
    ["one without a prototype", Object.create(null), true],
    ["an object with fields", { total: 0 }, false],
    ["an object whose list is empty", { orders: [], total: 0 }, true],
    ["one of whose lists one is not", { orders: [], users: ["ada"] }, false],
    ["an object whose lists are all empty", { orders: [], users: [], page: 1, more: false, next: null }, true],
    ["an object with an empty list and a time", { orders: [], at: "2026-11-22T10:30:00.000+01:00" }, true],
    ["one with a day", { orders: [], day: "2026-11-22" }, true],
    ["one with a date of its own", { orders: [], at: new Date(0), now: DateTime.makeUnsafe(0) }, true],
    ["one with a text that begins like a time", { orders: [], id: "2026-11-22-7" }, false],
    ["one that counts something", { orders: [], total: 2 }, false],
    ["one that names what has the list", { name: "Ada", tags: [] }, false],
    ["an empty map", new Map(), true],
    ["a map", new Map([[1, 2]]), false],
    ["an empty set", new Set(), true],
    ["no option", Option.none(), true],
    ["an option of an empty list", Option.some([]), false],
    ["a date", new Date(0), false]
  ]
  for (const [what, value, isEmpty] of emptiness) {
    it.effect(`treats ${what} as ${isEmpty ? "empty" : "a result"}`, () =>
      Effect.gen(function*() {
        const tool = Tool.make(
          "t",
          { description: "", success: Schema.Unknown, sideEffect: "none", empty: "There is none." },
          () => Effect.succeed(value)
        )
        const exit = yield* Effect.exit(tool.run({}))
        assert.strictEqual(Exit.isFailure(exit), isEmpty)
      }))
  }

  it.effect("explains the meaning, with a hint", () =>
    Effect.gen(function*() {
      const plain = { _tag: "SemanticGarbage", code: "empty_result", detail: "No orders match.", alternatives: [] }
      assert.deepStrictEqual(yield* failureOf(saying({ empty: plain.detail }, none).run(ada)), plain)
      const more = { detail: plain.detail, hint: "Try a shorter name.", alternatives: ["Ada L."] }
      assert.deepStrictEqual(yield* failureOf(saying({ empty: more }, none).run(ada)), { ...plain, ...more })
    }))

  it.effect("uses a function of the result and the parameters, if there is one", () =>
    Effect.gen(function*() {
      const when = ({ total }: Orders, { limit = 1 }: Params) => total < limit
      const tool = saying({ empty: { when, detail: "Too few." } }, one)
      assert.strictEqual(yield* tool.run({ ...ada, limit: 1 }), one)
      assert.strictEqual((yield* failureOf(tool.run({ ...ada, limit: 2 })))["detail"], "Too few.")
    }))
})
