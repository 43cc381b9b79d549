import { assert, describe, it } from "@effect/vitest"
import type { Origin } from "@fallible/arguments"
import { coerce, fits } from "@fallible/arguments/internal"
import type { Schema } from "effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as fc from "fast-check"
import { frozen, integer, string } from "../support/coercing.ts"
import { rows, written } from "../support/coercionTable.ts"
import { misfits } from "../support/misfits.ts"

describe("Coercion", () => {
  describe("the table", () => {
    it.each(rows.map((row) => [row.id, row.category, row] as const))("%s: %s", (_id, _category, row) => {
      const { token, value } = written(row)
      const origin: Origin = token === undefined ? {} : { numberAt: () => token }
      const result = coerce(frozen(value), row.schema, origin)
      const issues = misfits(result.value, row.schema, result.repairs.length === 0 ? origin : {})
      if (row.action === "refuse") return assert.isNotEmpty(issues)
      assert.deepStrictEqual([result.value, issues], [row.expected, []])
      if (row.action === "accept") assert.deepStrictEqual([result.value === value, result.repairs], [true, []])
      else assert.isNotEmpty(result.repairs)
      assert.strictEqual(result.repairs.some(({ note }) => note !== undefined), row.action === "coerce_note")
    })
  })

  describe("laws", () => {
    const leaf: fc.Arbitrary<JsonSchema.JsonSchema> = fc.constantFrom<JsonSchema.JsonSchema>(
      integer,
      { type: "number" },
      string,
      { type: "boolean" },
      { type: "null" },
      { enum: ["red", "Blue_1", 1] },
      { type: "string", format: "date" },
      { type: "string", minLength: 2 },
      { type: ["integer", "null"] },
      {}
    )
    const { schema } = fc.letrec<{ schema: JsonSchema.JsonSchema }>((tie) => ({
      schema: fc.oneof(
        { depthSize: "small", maxDepth: 3 },
        leaf,
        tie("schema").map((items) => ({ type: "array", items })),
        fc.tuple(tie("schema"), tie("schema")).map((anyOf) => ({ anyOf })),
        fc.tuple(tie("schema"), tie("schema"), fc.subarray(["userId", "input", "b"]), fc.boolean()).map(
          ([userId, b, required, isClosed]) => ({
            type: "object",
            properties: { userId, b, input: integer },
            required,
            ...(isClosed ? { additionalProperties: false } : {})
          })
        )
      )
    }))
    const { value } = fc.letrec<{ value: Schema.Json }>((tie) => ({
      value: fc.oneof(
        { depthSize: "small", maxDepth: 4 },
        fc.constantFrom<Schema.Json>(
          "1",
          "1.0",
          "true",
          "red",
          "RED",
          "blue 1",
          "",
          "null",
          null,
          1,
          1.5,
          true,
          "a",
          "2024-1-2",
          "[1]",
          "['a']",
          "{\"userId\":1}",
          "[\"1\"]",
          Number("12345678901234567890")
        ),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom("userId", "user_id", "b", "B", "input", "args", "__proto__"), tie("value"), {
          maxKeys: 3
        })
      )
    }))

    const uncovered: [JsonSchema.JsonSchema, Schema.Json] = [
      { type: "object", properties: { userId: integer, b: { type: "array", items: string } } },
      { b: "red", args: { userId: "1" } }
    ]

    it("does not change a value that fits, mutates nothing, and adds no issue", () => {
      fc.assert(
        fc.property(schema, value, (schema, value) => {
          const { repairs, value: result } = coerce(frozen(value), frozen(schema))
          if (fits(value, schema)) assert.deepStrictEqual([result === value, repairs], [true, []])
          assert.strictEqual(repairs.length === 0, result === value)
          assert.strictEqual(fits(result, schema), misfits(result, schema).length === 0)
          if (repairs.length > 0 && !fits(result, schema)) {
            assert.isAtMost(misfits(result, schema).length, 20)
            // If no field moved, every issue after coercion is at a place with an issue before.
            if (repairs.some(({ kind }) => kind === "renamed_key" || kind === "wrapper")) return
            const before = misfits(value, schema)
            const after = misfits(result, schema)
            // Mistaken keys are looked for in a value in which nothing else is wrong. So coercion may uncover them.
            if (after.every(({ expected }) => expected === "no such key")) return
            for (const { path } of after) {
              assert.isTrue(before.some((misfit) => path.slice(0, misfit.path.length).join() === misfit.path.join()))
            }
          }
        }),
        { numRuns: 3_000, examples: [uncovered] }
      )
    })

    it("is idempotent", () => {
      fc.assert(
        fc.property(schema, value, (schema, value) => {
          const once = coerce(value, schema)
          assert.deepStrictEqual(coerce(once.value, schema), { value: once.value, repairs: [], fits: once.fits })
        }),
        { numRuns: 3_000 }
      )
    })

    it("never reads a text as a different value than JSON does", () => {
      fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
        const { value } = coerce(text, { type: "number" })
        assert.isTrue(value === text || JSON.parse(text) === value)
      }))
    })
  })
})
