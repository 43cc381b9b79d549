import { assert, describe, it } from "@effect/vitest"
import { coerce } from "@fallible/arguments/internal"
import { closed, coerced, expected, integer, notes, refused, string, strings } from "../support/coercing.ts"

describe("Coercion", () => {
  describe("texts that hold arrays and objects", () => {
    const place = closed({ city: string, zip: integer }, ["city"])

    it("are read if they are strict JSON and fit", () => {
      assert.deepStrictEqual(coerced("[\"a\",\"b\"]", strings), [["a", "b"], "text_for_array"])
      assert.deepStrictEqual(coerced(" {\"city\":\"Rome\"} ", place), [{ city: "Rome" }, "text_for_object"])
    })

    it("are read with a note if their leaves were coerced silently", () => {
      assert.deepStrictEqual(coerced("{\"city\":\"Rome\",\"zip\":\"7\"}", place), [
        { city: "Rome", zip: 7 },
        "TEXT_WITH_DRIFT",
        "text_for_number"
      ])
      refused("{\"city\":\"Rome\",\"zip\":\"7.0\"}", place)
      refused("{\"City\":\"Rome\"}", place)
    })

    it("are read once, without repairs", () => {
      for (
        const text of [
          JSON.stringify(JSON.stringify({ city: "Rome" })),
          "{\"city\":\"Rome\"",
          "{city:\"Rome\"}",
          "{\"city\":\"Rome\",}",
          "{\"city\":\"Rome\",\"city\":\"Oslo\"}",
          "{\"city\":\"Rome\",\"zip\":9007199254740993}",
          "{\"city\":\"Rome\",\"__proto__\":{}}"
        ]
      ) refused(text, place)
      refused("[\"[1]\"]", { type: "array", items: { type: "array", items: integer } })
      refused(`${"[".repeat(500)}${"]".repeat(500)}`, { type: "array" })
      refused("{\"a\":1,\"a\":2}", { type: "object" })
    })

    it("stay texts if the schema accepts a text", () => {
      assert.deepStrictEqual(coerced("[1]", { anyOf: [string, { type: "array" }] }), ["[1]"])
    })

    it("may be a Python list of literals", () => {
      assert.deepStrictEqual(coerced("['a', \"it's\", 'x\\'y',]", strings), [["a", "it's", "x'y"], "PYTHON_LIST"])
      assert.deepStrictEqual(coerced("[True, None, 1.5]", { type: "array" }), [[true, null, 1.5], "PYTHON_LIST"])
      for (
        const text of [
          "['a' 'b']",
          "['a',,]",
          "[,]",
          "['a'",
          "[a]",
          "[['a']]",
          "['a', f(1)]",
          "['\\x41']",
          "[1_000]",
          "('a',)",
          "['a'], ['b']"
        ]
      ) {
        refused(text, strings)
      }
      refused("['1']", { type: "array", items: integer })
    })
  })

  describe("one for many, many for one", () => {
    it("wraps a single item that fits", () => {
      assert.deepStrictEqual(coerced("Rome", strings), [["Rome"], "SINGLE_FOR_ARRAY"])
      assert.deepStrictEqual(coerced(5, { type: "array", items: integer }), [[5], "SINGLE_FOR_ARRAY"])
      assert.deepStrictEqual(notes({ tags: "a" }, closed({ tags: strings })), [
        "'tags' is an array: \"a\" was read as [\"a\"]"
      ])
    })

    it("refuses a value that may itself be a list, is blank, or needs a second guess", () => {
      for (const text of ["a,b", "a; b", "a|b", "a\nb", "", " ", "null", "None", "[a", "{a}", "\"a\""]) {
        refused(text, strings)
      }
      for (const text of ["a，b", "a、b", "a،b", "a؛b", "a；b", "a & b", "a\tb", "a\u2028b", "• a • b", "a · b"]) {
        refused(text, strings)
      }
      for (const text of ["- a", "* a", " – a", "1. a", "2) b"]) refused(text, strings)
      for (const text of ["a-b", "New York", "v1.2", "-1", "3D", "a/b", "*.ts", "R&D", "/find?a=1&b=2"]) {
        assert.deepStrictEqual(coerced(text, strings), [[text], "SINGLE_FOR_ARRAY"])
      }
      refused("5", { type: "array", items: integer })
      refused(5, strings)
      refused(null, { type: "array" })
      refused({ a: 1 }, { type: "array", items: { type: "object" } })
      refused("a", { ...strings, minItems: 2 })
    })

    it("refuses a list for a list of lists: it may be one of them, or all", () => {
      const integers = { type: "array", items: integer }
      const lists = { type: "array", items: integers }
      for (const value of [[1, 2, 3], [1], [[1], 2]]) refused(value, lists)
      refused({ a: [1, 2] }, closed({ a: { type: "array", items: { anyOf: [integers, { type: "null" }] } } }))
      refused([["a"], "b"], { type: "array", prefixItems: [strings, strings] })
      assert.deepStrictEqual(
        coerced({ a: [{ b: 1 }] }, closed({ a: { type: "array", items: closed({ b: integers }) } })),
        [
          { a: [{ b: [1] }] },
          "SINGLE_FOR_ARRAY"
        ]
      )
    })

    it("unwraps a single element", () => {
      assert.deepStrictEqual(coerced(["Rome"], string), ["Rome", "ARRAY_FOR_SINGLE"])
      assert.deepStrictEqual(coerced([5], integer), [5, "ARRAY_FOR_SINGLE"])
      for (const value of [[], ["a", "b"], [5], [null], [["a"]]]) refused(value, string)
      refused(["5"], integer)
    })
  })

  describe("structures", () => {
    const tree = {
      $ref: "#/$defs/Tree",
      $defs: { Tree: closed({ size: integer, kids: { type: "array", items: { $ref: "#/$defs/Tree" } } }, ["size"]) }
    }

    it("are coerced through references, even recursive ones", () => {
      assert.deepStrictEqual(coerced({ size: "1", kids: [{ size: 2, kids: "[{\"size\":3}]" }] }, tree), [
        { size: 1, kids: [{ size: 2, kids: [{ size: 3 }] }] },
        "text_for_number",
        "text_for_array"
      ])
      assert.deepStrictEqual(expected({ size: 1, kids: [{ size: "x" }] }, tree), [["kids.0.size", "integer"]])
    })

    it("are coerced through allOf, tuples, records, patterns and names", () => {
      assert.deepStrictEqual(coerced("5", { type: "integer", allOf: [{ minimum: 1 }, { maximum: 5 }] })[0], 5)
      refused("6", { type: "integer", allOf: [{ minimum: 1 }, { maximum: 5 }] })
      const tuple = { type: "array", prefixItems: [string, integer], items: { type: "boolean" }, minItems: 2 }
      assert.deepStrictEqual(coerced(["a", "1", "true"], tuple)[0], ["a", 1, true])
      assert.deepStrictEqual(coerced({ a: "1" }, { type: "object", additionalProperties: integer })[0], { a: 1 })
      const patterned = { type: "object", patternProperties: { "^n": integer }, additionalProperties: false }
      assert.deepStrictEqual(coerced({ n1: "1" }, patterned)[0], { n1: 1 })
      refused({ m: 1 }, patterned)
      refused({ m: 1 }, { type: "object", propertyNames: { pattern: "^x" } })
      assert.deepStrictEqual(coerced("a", { type: "string", pattern: "(" }), ["a"])
      refused([1, 1], { type: "array", uniqueItems: true })
      refused(1, { not: {} })
      refused(null, { not: { type: "null" } })
    })

    it("report an unknown key, with the nearest unused one", () => {
      const schema = closed({ city: string, unit: string })
      assert.deepStrictEqual(expected({ citi: "Rome", unit: "x" }, schema), [
        ["city", "string"],
        ["citi", "no such key. Did you mean 'city'?"]
      ])
    })
  })
})

describe("findings of a second reader", () => {
  it("a text in a text in a wrapper is one text too many", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "array", items: { type: "integer" } } },
      required: ["a"],
      additionalProperties: false
    }
    for (const args of ["{\"a\":\"[1]\"}", { a: "[\"1\"]" }]) {
      assert.deepStrictEqual(coerce({ args }, schema).repairs, [])
    }
    for (const a of ["[12345678901234567890]", "[12345678901234567890,]", "[1 // x\n, 2]"]) {
      assert.deepStrictEqual(coerce({ a }, schema).repairs, [], a)
    }
  })
})
