import { assert, describe, it } from "@effect/vitest"
import { coerce } from "@fallible/arguments/internal"
import type { Schema } from "effect"
import type * as JsonSchema from "effect/JsonSchema"
import { closed, expected, integer, string } from "../support/coercing.ts"
import { misfits } from "../support/misfits.ts"

describe("Coercion", () => {
  describe("messages", () => {
    it.each<[Schema.Json, JsonSchema.JsonSchema, string]>([
      [7, { type: "integer", minimum: 1, maximum: 5 }, "integer from 1 to 5"],
      [
        7,
        { type: "integer", minimum: -9007199254740991, maximum: 9007199254740991, exclusiveMinimum: 9 },
        "integer greater than 9"
      ],
      ["x", { type: "number", minimum: 0 }, "number of at least 0"],
      ["a", { type: "string", minLength: 3 }, "string of at least 3 characters"],
      ["b", { type: "string", pattern: "^a+$" }, "string matching ^a+$"],
      ["b", { type: "string", format: "date" }, "string with the format date (2024-01-31)"],
      [[], { type: "array", minItems: 1 }, "array of at least 1 item"],
      [[1, 1], { type: "array", uniqueItems: true }, "array without duplicates"],
      ["celcius", { enum: ["celsius", "kelvin"] }, "\"celsius\" | \"kelvin\". Did you mean \"celsius\"?"],
      ["x", { anyOf: [{ type: "number" }, { type: "null" }] }, "number | null"],
      ["1,000", { type: "number" }, "number. Write 1000, without quotes."],
      ["$5", { type: "integer" }, "integer. Write the number alone, in the unit of this field, without quotes."],
      ["fifty", { type: "number" }, "number. Write it in the digits 0 to 9, without quotes."]
    ])("of %j: %j is not %s", (value, schema, words) => {
      assert.deepStrictEqual(expected(value, schema), [["", words]])
    })

    it("name the keys of an object, and the values of a record", () => {
      const many = closed(Object.fromEntries(["a", "b", "c", "d", "e", "f", "g"].map((key) => [key, integer])))
      assert.deepStrictEqual(expected({}, closed({ place: closed({ street: string, city: string }), many })), [
        ["place", "object with 'street', 'city'"],
        ["many", "object with 'a', 'b', 'c', 'd', 'e' and 2 more"]
      ])
      assert.deepStrictEqual(expected("x", { type: "object", additionalProperties: integer }), [[
        "",
        "object of integer values"
      ]])
    })

    it("advise to send the content of an envelope", () => {
      const weather = closed({ city: string })
      const inside = (value: Schema.Json) => expected(value, weather).map(([, words]) => words)
      assert.include(inside({ name: "w", arguments: { city: "Rome" } }), "no such key. Send what is inside it.")
      assert.include(inside({ name: "w", args: "{\"city\":\"Rome\"}" }), "no such key. Send what is inside it.")
      assert.include(
        inside({ function: { name: "w", arguments: "{\"city\":\"Rome\"}" } }),
        "no such key. Send what is inside its 'arguments'."
      )
      assert.include(inside({ name: "w", arguments: { town: "Rome" } }), "no such key")
    })

    it("count items with the same issue, and continue", () => {
      const items = Array.from({ length: 60 }, (_, index) => ({ n: "x", z: index }))
      const schema = closed({ items: { type: "array", items: closed({ n: integer }) }, last: integer })
      assert.deepStrictEqual(misfits({ items, last: "x" }, schema).map(Object.values), [
        [["items", 0, "n"], "integer", "\"x\""],
        [["items", 1, "n"], "integer", "\"x\""],
        [["items", 2, "n"], "integer", "\"x\""],
        [["items"], "integer for 'n' of each item", "57 more items like these"],
        [["items", 0, "z"], "no such key", "0"],
        [["items", 1, "z"], "no such key", "1"],
        [["items", 2, "z"], "no such key", "2"],
        [["items"], "no such key as 'z'", "57 more items like these"],
        [["last"], "integer", "\"x\""]
      ])
      const [first, ...others] = misfits(["a", "b", "c", "d"], { type: "array", items: integer })
      assert.deepStrictEqual([first?.path, others.length], [[0], 3])
      assert.deepStrictEqual(others.at(-1), {
        path: [],
        expected: "integer for each item",
        actual: "1 more item like these"
      })
    })

    it("are shorter if there are many fields, and never more than twenty", () => {
      const fields = ["a", "b", "c", "d", "e", "f", "g", "h"]
      const schema = { type: "array", items: closed(Object.fromEntries(fields.map((key) => [key, integer]))) }
      const issues = misfits(Array.from({ length: 9 }, () => ({})), schema)
      assert.strictEqual(issues.length, 16)
      assert.deepStrictEqual(issues.at(-1)?.actual, "8 more items like these")
    })

    it("show only the nearest of many choices", () => {
      const schema = { enum: Array.from({ length: 100 }, (_, index) => `city${index}`) }
      const [[, words] = []] = expected("city 77x", schema)
      assert.include(words, "\"city77\" | ")
      assert.include(words, "… (80 more)")
    })

    it("are bounded and on one line, whatever the value", () => {
      const issues = misfits({ ["k\n".repeat(500)]: "v\n".repeat(5_000) }, closed({}))
      assert.isBelow(issues[0]!.actual.length, 200)
      const { repairs } = coerce(
        { ["A".repeat(150)]: ["x\n".repeat(500)] },
        closed({ ["a".repeat(150)]: string })
      )
      assert.isNotEmpty(repairs)
      for (const { note = "" } of repairs) assert.isTrue(note.length < 400 && !note.includes("\n"))
    })
  })
})
