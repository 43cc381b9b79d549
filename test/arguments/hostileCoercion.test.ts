import { assert, describe, it } from "@effect/vitest"
import { coerce, fits } from "@fallible/arguments/internal"
import type { Schema } from "effect"
import type * as JsonSchema from "effect/JsonSchema"
import { closed, integer, strings } from "../support/coercing.ts"
import { misfits } from "../support/misfits.ts"

describe("Coercion", () => {
  describe("hostile input", () => {
    const check = (value: Schema.Json, schema: JsonSchema.JsonSchema) => {
      const { value: result } = coerce(value, schema)
      return misfits(result, schema)
    }

    it("bounds recursive unions", () => {
      const schema = {
        $ref: "#/$defs/Node",
        $defs: {
          Node: {
            anyOf: [
              closed({ kids: { type: "array", items: { $ref: "#/$defs/Node" } }, a: integer }),
              closed({ kids: { type: "array", items: { $ref: "#/$defs/Node" } }, b: integer }),
              closed({ kids: { type: "array", items: { $ref: "#/$defs/Node" } }, c: integer })
            ]
          }
        }
      }
      const grown = (depth: number): Schema.Json =>
        depth === 0 ? { kids: [], a: "x" } : { kids: [grown(depth - 1), grown(depth - 1)], a: "1" }
      assert.isNotEmpty(check(grown(12), schema))
      let deep: Schema.Json = { kids: [], b: "1" }
      for (let depth = 0; depth < 60; depth++) deep = { kids: [deep], b: "1" }
      assert.isEmpty(check(deep, schema))
    })

    it("ends on schemas that refer to themselves", () => {
      const loop = { $ref: "#/$defs/A", $defs: { A: { anyOf: [{ $ref: "#/$defs/A" }, { $ref: "#/$defs/A" }] } } }
      assert.isNotEmpty(check("x", loop))
      assert.isNotEmpty(check({ a: 1 }, loop))
      const all = { $ref: "#/$defs/A", $defs: { A: { allOf: [{ $ref: "#/$defs/A" }] } } }
      assert.isNotEmpty(check("x", all))
    })

    it("bounds keys, issues and repairs", () => {
      const value = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`user_${index}`, 1]))
      assert.strictEqual(check(value, closed({ userId: integer })).length, 20)
      const items = Array.from({ length: 100_000 }, (_, index) => String(index))
      const { repairs, value: numbers } = coerce(items, { type: "array", items: integer })
      assert.strictEqual(JSON.stringify(numbers), JSON.stringify(items.map(Number)))
      assert.strictEqual(repairs.length, 20)
    })

    it("survives depth and long texts", () => {
      let deep: Schema.Json = "1"
      for (let depth = 0; depth < 5_000; depth++) deep = [deep]
      assert.isNotEmpty(check(deep, { type: "array", items: integer }))
      for (
        const text of [
          "[".repeat(500_000),
          "[" + " ".repeat(500_000),
          "'".repeat(500_000),
          "['" + "\\'".repeat(200_000),
          "[" + "'a',".repeat(100_000),
          "a ".repeat(250_000)
        ]
      ) {
        const misfits = (schema: JsonSchema.JsonSchema) =>
          check({ v: text }, closed({ v: schema })).map(({ path }) => path)
        assert.deepStrictEqual(misfits({ type: "array", items: integer }), [["v"]])
        assert.deepStrictEqual(misfits({ enum: ["a", "b"] }), [["v"]])
        // Words may be a single item, or no number.
        assert.deepStrictEqual(misfits({ anyOf: [integer, strings, { type: "object" }] }), [["v"]])
      }
    })
  })
})

describe("findings of a second reader", () => {
  it("a recursive union with a secret is fast", () => {
    const binary = (op: string) => ({
      type: "object",
      properties: { op: { enum: [op] }, left: { $ref: "#/$defs/E" }, right: { $ref: "#/$defs/E" } },
      required: ["op", "left", "right"],
      additionalProperties: false
    })
    const schema = {
      type: "object",
      properties: { e: { $ref: "#/$defs/E" }, key: { type: "string", writeOnly: true } },
      $defs: {
        E: { anyOf: [{ type: "number" }, ...["add", "mul", "sub", "div"].map(binary)] },
        A: { anyOf: [{ $ref: "#/$defs/B" }, { $ref: "#/$defs/C" }] },
        B: { anyOf: [{ $ref: "#/$defs/A" }, { $ref: "#/$defs/C" }] },
        C: { anyOf: [{ $ref: "#/$defs/A" }, { $ref: "#/$defs/B" }] }
      }
    }
    const deep = Array.from({ length: 40 }).reduce<Schema.Json>((left) => ({ op: "add", left, right: "x" }), "x")
    assert.isAbove(misfits({ e: deep }, schema).length, 0)
    assert.isAbove(
      misfits({ e: "x" }, { ...schema, properties: { ...schema.properties, e: { $ref: "#/$defs/A" } } })
        .length,
      0
    )
  })

  it("excessive depth is refused, and never crashes", () => {
    const deep: Schema.Json = Array.from({ length: 20_000 }).reduce<Schema.Json>((value) => [value], 1)
    assert.isFalse(fits({ a: deep }, { type: "object" }))
    assert.isAbove(misfits({ a: deep }, { type: "object" }).length, 0)
    assert.deepStrictEqual(coerce({ a: deep }, { type: "object" }).repairs, [])
  })
})
