import { assert, describe, it } from "@effect/vitest"
import { coerce } from "@fallible/arguments/internal"
import { closed, coerced, expected, integer, notes, numberAt, refused, string } from "../support/coercing.ts"

describe("Coercion", () => {
  describe("numbers", () => {
    it("reads canonical integers silently, and other JSON numbers of the same value with a note", () => {
      assert.deepStrictEqual(coerced("-7", integer), [-7, "text_for_number"])
      assert.deepStrictEqual(coerced("1e2", integer), [100, "DECIMAL_FOR_INTEGER"])
      assert.deepStrictEqual(notes({ amount: "100.0" }, closed({ amount: integer })), [
        "'amount' is an integer: \"100.0\" was read as 100"
      ])
      assert.deepStrictEqual(coerced("9007199254740991", integer), [9007199254740991, "text_for_number"])
    })

    it("reads them with white space around them", () => {
      for (const text of [" 7", "7\n", "\t 7 \r\n"]) {
        assert.deepStrictEqual(coerced(text, integer), [7, "text_for_number"])
        assert.deepStrictEqual(coerced(text, { type: "number" }), [7, "text_for_number"])
      }
      assert.deepStrictEqual(coerced(" 7.0 ", integer), [7, "DECIMAL_FOR_INTEGER"])
      refused(" 1.500 ", { type: "number" })
    })

    it("refuses every other text", () => {
      for (
        const text of [
          "1 2",
          "\u00a01",
          "1\u2009",
          "1\u200b",
          "+1",
          "007",
          "１",
          "NaN",
          "Infinity",
          "1e400",
          "1e-400",
          "9007199254740993",
          "1_000",
          "0b1",
          "..5",
          "5.",
          "--1",
          "١"
        ]
      ) {
        refused(text, { type: "number" })
        refused(text, integer)
      }
      refused("12345678901234567890.5", { type: "number" })
    })

    it("refuses a group of three digits after a dot, which may be thousands, and names both readings", () => {
      for (const text of ["1.500", "150.000", "-1.500", "12.345", "1.000"]) {
        refused(text, { type: "number" })
        refused(text, integer)
      }
      // No group of thousands begins with a 0.
      for (const [text, number] of [["0.500", 0.5], ["0.125", 0.125], [".5", 0.5], ["-.250", -0.25]] as const) {
        assert.deepStrictEqual(coerced(text, { type: "number" }), [number, "text_for_number"])
      }
      refused("150.000", { enum: [150, 7] })
      assert.deepStrictEqual(expected("-1.500", { type: "number" }), [[
        "",
        "number. Write -1.5 or -1500, without quotes."
      ]])
      assert.deepStrictEqual(expected("150.000", integer), [["", "integer. Write 150 or 150000, without quotes."]])
      assert.deepStrictEqual(expected("1.500", integer), [["", "integer. Write 1500, without quotes."]])
      assert.deepStrictEqual(expected("0.000", { type: "number" }), [["", "number. Write 0, without quotes."]])
      for (
        const [text, value] of [
          ["1.50", 1.5],
          ["1.5000", 1.5],
          ["1500.125", 1500.125],
          ["1.500e3", 1500],
          ["1.500e0", 1.5]
        ] as const
      ) {
        assert.deepStrictEqual(coerced(text, { type: "number" }), [value, "text_for_number"])
      }
      assert.deepStrictEqual(coerced("[1.500]", { type: "array" }), [[1.5], "text_for_array"])
    })

    it("keeps the bounds", () => {
      assert.deepStrictEqual(coerced("5", { type: "integer", maximum: 5 }), [5, "text_for_number"])
      refused("6", { type: "integer", maximum: 5 })
      refused("5", { type: "number", exclusiveMaximum: 5 })
      assert.deepStrictEqual(coerced("0.3", { type: "number", multipleOf: 0.1 }), [0.3, "text_for_number"])
    })

    it("reads no boolean as a number, and no number as a boolean", () => {
      refused(true, { type: "number" })
      refused(1, { type: "boolean" })
      for (const text of ["yes", "on", "1", "true.", "T"]) refused(text, { type: "boolean" })
    })
  })

  describe("integers beyond the safe range", () => {
    const origin = numberAt({ "id": "12345678901234567890", "list.0": "9007199254740993", "big": "1e300" })

    it("fit only a string, with all their digits", () => {
      const id = JSON.parse("12345678901234567890")
      assert.deepStrictEqual(coerced({ id }, closed({ id: string }), origin), [
        { id: "12345678901234567890" },
        "NUMBER_FOR_TEXT"
      ])
      assert.deepStrictEqual(coerced({ id }, closed({ id: { type: "string", pattern: "^-?\\d+$" } }), origin)[0], {
        id: "12345678901234567890"
      })
      for (const schema of [{ type: "number" }, integer, {}, true, { anyOf: [{ type: "number" }, { type: "null" }] }]) {
        const [issue] = refused({ id }, closed({ id: schema }), origin)
        assert.deepStrictEqual(issue?.path, ["id"])
        assert.deepStrictEqual(issue?.actual, "12345678901234567890")
      }
    })

    it("do not fit an undeclared field either", () => {
      const list = [9007199254740992]
      const issues = refused({ list }, { type: "object" }, origin)
      assert.deepStrictEqual(issues, [{
        path: ["list", 0],
        expected:
          "a whole number of at most 9007199254740991, or a text where one is accepted. Write it in double quotes.",
        actual: "9007199254740993"
      }])
      refused({ list }, { type: "object", additionalProperties: { type: "array" } }, origin)
      refused({ list }, {}, origin)
    })

    it("are not confused with large numbers that were written with an exponent", () => {
      assert.deepStrictEqual(coerced({ big: 1e300 }, closed({ big: { type: "number" } }), origin), [{ big: 1e300 }])
      refused({ big: 1e300 }, closed({ big: integer }), origin)
    })

    it("are refused with the largest possible number, if a number is declared", () => {
      const big = { type: "integer", exclusiveMinimum: 0, maximum: 9007199254740991 }
      assert.deepStrictEqual(expected(1e300, big), [["", "integer of at most 9007199254740991, greater than 0"]])
      assert.deepStrictEqual(expected(-1e300, integer), [["", "integer of at least -9007199254740991"]])
      assert.deepStrictEqual(expected("9007199254740993", integer), [["", "integer of at most 9007199254740991"]])
      assert.deepStrictEqual(expected(1e300, { type: "integer", minimum: 1, maximum: 5 }), [[
        "",
        "integer from 1 to 5"
      ]])
      for (const type of ["integer", "number"]) {
        const [issue] = refused({ id: Number("12345678901234567890") }, closed({ id: { type } }), origin)
        assert.strictEqual(issue?.expected, `${type} of at most 9007199254740991`)
      }
    })

    it("stay refused after their key is renamed", () => {
      const id = Number("1234567890123456789012")
      const result = coerce(
        { ID: id },
        closed({ id: { type: "number" } }),
        numberAt({ ID: "1234567890123456789012" })
      )
      assert.deepStrictEqual(result, { value: { ID: id }, repairs: [], fits: false })
    })
  })
})

describe("findings of a second reader", () => {
  it("a fraction is never a whole number, however it rounds", () => {
    for (
      const text of ["9007199254740991.4", "4503599627370497.5", "100.00000000000000001", "15e-1", "1e-1", "12.50e1x"]
    ) {
      assert.deepStrictEqual(coerce(text, { type: "integer" }).repairs, [], text)
    }
    for (const [text, value] of [["1000.000", 1000], ["12.50e1", 125], ["1200e-2", 12], ["-0.0e3", 0]] as const) {
      assert.strictEqual(Math.abs(Number(coerce(text, { type: "integer" }).value)), value, text)
    }
    assert.deepStrictEqual(coerce("9007199254740993", { enum: [9007199254740992] }).repairs, [])
  })
})
