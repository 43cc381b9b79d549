import { assert, describe, it } from "@effect/vitest"
import { coerce, fits, type Origin } from "@fallible/arguments"
import { Arguments } from "@fallible/core"
import { Effect, Result, Schema, SchemaGetter, SchemaRepresentation } from "effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as fc from "fast-check"
import { readFileSync } from "node:fs"
import { misfitOf } from "../../packages/core/src/internal/arguments/fieldIssue.ts"
import { isStricter } from "../../packages/core/src/internal/arguments/jsonSchema.ts"
import { misfits } from "../support/misfits.ts"

interface Row {
  readonly id: string
  readonly schema: JsonSchema.JsonSchema
  readonly input_value: Schema.Json
  readonly action: "accept" | "coerce" | "coerce_note" | "refuse"
  readonly expected: Schema.Json
  readonly category: string
}

const rows: ReadonlyArray<Row> = JSON.parse(
  readFileSync(new URL("../corpora/coercion.json", import.meta.url), "utf8")
)

const written = ({ input_value: input }: Row): { readonly value: Schema.Json; readonly token?: string } => {
  if (typeof input !== "object" || input === null || !("$raw" in input)) return { value: input }
  const token = input["$raw"]
  if (typeof token !== "string") return { value: input }
  return { value: JSON.parse(token), token }
}

// What is made of JSON Schema alone needs no services.
const schemaOf = (schema: JsonSchema.JsonSchema) =>
  SchemaRepresentation.fromJsonSchemaDocument({ dialect: "draft-2020-12", schema, definitions: {} }) as Schema.Codec<
    unknown
  >

const numberAt = (tokens: { readonly [path: string]: string }): Origin => ({
  numberAt: (path) => tokens[path.join(".")]
})

const integer = { type: "integer" }
const string = { type: "string" }
const strings = { type: "array", items: string }
const closed = (properties: JsonSchema.JsonSchema, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false
})

/** The value and the kinds of its repairs, those with a note in capitals. */
const coerced = (value: Schema.Json, schema: JsonSchema.JsonSchema, origin?: Origin) => {
  const { repairs, value: result } = coerce(frozen(value), schema, origin)
  assert.deepStrictEqual(misfits(result, schema, repairs.length === 0 ? origin : undefined), [])
  return [result, ...repairs.map(({ kind, note }) => note === undefined ? kind : kind.toUpperCase())]
}

const notes = (value: Schema.Json, schema: JsonSchema.JsonSchema, origin?: Origin) =>
  coerce(value, schema, origin).repairs.map(({ note }) => note)

const refused = (value: Schema.Json, schema: JsonSchema.JsonSchema, origin?: Origin) => {
  const result = coerce(frozen(value), schema, origin)
  assert.deepStrictEqual(result, { value, repairs: [], fits: false })
  assert.strictEqual(result.value, value)
  const issues = misfits(value, schema, origin)
  assert.isNotEmpty(issues)
  return issues
}

const expected = (value: Schema.Json, schema: JsonSchema.JsonSchema) =>
  misfits(value, schema).map((issue) => [issue.path.join("."), issue.expected])

/** What is said of a value that a schema refuses, coerced as far as possible: path, expectation, what came. */
const refusals = <S extends Schema.Codec<unknown, unknown>>(parameters: S, value: Schema.Json, isCoerced = true) => {
  const shown = Arguments.jsonSchema(parameters)
  const { value: coerced } = isCoerced ? coerce(frozen(value), shown) : { value }
  const decoded = Schema.decodeUnknownResult(Schema.toCodecJson(parameters), {
    errors: "all",
    onExcessProperty: "error"
  })(coerced)
  const issue = Result.isFailure(decoded) ? decoded.failure.issue : undefined
  const { issues = [] } = misfitOf(issue, coerced, shown, { written: { value } }) ?? {}
  return issues.map(({ actual, expected, path }): [string, string, string] => [path.join("."), expected, actual])
}

const frozen = <A>(value: A): A => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(frozen)
  }
  return value
}

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

    it.each(rows.map((row) => [row.id, row.category, row] as const))(
      "%s through a schema: %s",
      (_id, _category, row) => {
        const { token, value } = written(row)
        const codec = Schema.toCodecJson(Schema.Struct({ value: schemaOf(row.schema) }))
        const shown = closed({ value: row.schema })
        const origin: Origin = token === undefined ? {} : { numberAt: () => token }
        const result = coerce({ value }, shown, origin)
        const decoded = Schema.decodeUnknownResult(codec, { onExcessProperty: "error" })(result.value)
        const isFit = fits(result.value, shown, result.repairs.length === 0 ? origin : {})
        assert.strictEqual(isFit, row.action !== "refuse")
        if (isFit) assert.deepStrictEqual(Result.getOrThrow(decoded), { value: row.expected })
      }
    )
  })

  describe("numbers", () => {
    it("reads canonical integers in silence, and other JSON numbers of the same value with a note", () => {
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
          ".5",
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

    it("refuses a group of three after a dot, which may be thousands, and says both readings", () => {
      for (const text of ["1.500", "150.000", "-1.500", "12.345", "0.500", "1.000"]) {
        refused(text, { type: "number" })
        refused(text, integer)
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

    it("takes no boolean for a number, and no number for a boolean", () => {
      refused(true, { type: "number" })
      refused(1, { type: "boolean" })
      for (const text of ["yes", "on", "1", " true", "T"]) refused(text, { type: "boolean" })
    })
  })

  describe("integers beyond the safe range", () => {
    const origin = numberAt({ "id": "12345678901234567890", "list.0": "9007199254740993", "big": "1e300" })

    it("fit a string alone, with all their digits", () => {
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

    it("fit nothing that is not declared either", () => {
      const list = [9007199254740992]
      const issues = refused({ list }, { type: "object" }, origin)
      assert.deepStrictEqual(issues, [{
        path: ["list", 0],
        expected: "a whole number of at most 9007199254740991, or a text where one is accepted",
        actual: "9007199254740993"
      }])
      refused({ list }, { type: "object", additionalProperties: { type: "array" } }, origin)
      refused({ list }, {}, origin)
    })

    it("are not confused with large numbers that were written with an exponent", () => {
      assert.deepStrictEqual(coerced({ big: 1e300 }, closed({ big: { type: "number" } }), origin), [{ big: 1e300 }])
      refused({ big: 1e300 }, closed({ big: integer }), origin)
    })

    it("are told the largest that is possible, where a number is declared", () => {
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

    it("stay refused after their key was renamed", () => {
      const id = Number("1234567890123456789012")
      const result = coerce(
        { ID: id },
        closed({ id: { type: "number" } }),
        numberAt({ ID: "1234567890123456789012" })
      )
      assert.deepStrictEqual(result, { value: { ID: id }, repairs: [], fits: false })
    })
  })

  describe("strings", () => {
    it("take a number as it was written", () => {
      assert.deepStrictEqual(coerced({ version: 1.1 }, closed({ version: string }), numberAt({ version: "1.10" })), [
        { version: "1.10" },
        "NUMBER_FOR_TEXT"
      ])
      assert.deepStrictEqual(notes({ version: 1.1 }, closed({ version: string }), numberAt({ version: "1.10" })), [
        "'version' is a string: 1.10 was read as \"1.10\""
      ])
      assert.deepStrictEqual(coerced({ v: 1.1 }, closed({ v: string })), [{ v: "1.1" }, "NUMBER_FOR_TEXT"])
    })

    it("take it only if it passes every check", () => {
      refused(100, { type: "string", enum: ["low"] })
      refused(100, { type: "string", pattern: "^[a-z]" })
      refused(100, { type: "string", format: "email" })
      refused(100, { type: "string", minLength: 4 })
      refused(true, { type: "string", maxLength: 3 })
    })

    it("are never made of null, arrays and objects", () => {
      for (const value of [null, {}, { a: 1 }, [], [["a"]], [{ a: "a" }], [null]]) refused(value, string)
    })

    it("count their length in code points", () => {
      assert.deepStrictEqual(coerced("😀", { type: "string", maxLength: 1 }), ["😀"])
      refused("😀", { type: "string", minLength: 2 })
    })
  })

  describe("choices", () => {
    const state = { type: "string", enum: ["in_progress", "done", "Not Started"] }

    it("fold case and outer white space in silence, separators with a note, and nothing else", () => {
      assert.deepStrictEqual(coerced(" DONE\n", state), ["done", "choice_case"])
      assert.deepStrictEqual(coerced("not-started", state), ["Not Started", "CHOICE_SPELLING"])
      for (const text of ["finished", "don", "donee", "", "in.progress"]) refused(text, state)
    })

    it("are one question, also where a union spells them out", () => {
      const schema = { anyOf: ["a_b", "A-B", "c"].map((choice) => ({ type: "string", enum: [choice] })) }
      assert.deepStrictEqual(coerced("C", schema), ["c", "choice_case"])
      assert.deepStrictEqual(coerced("A_B", schema), ["a_b", "choice_case"])
      refused("a b", schema)
    })

    it("may be numbers", () => {
      assert.deepStrictEqual(coerced("2", { enum: [1, 2] }), [2, "TEXT_FOR_CHOICE"])
      assert.deepStrictEqual(coerced(2, { enum: ["1", "2"], type: "string" }), ["2", "NUMBER_FOR_TEXT"])
      refused("3", { enum: [1, 2] })
      refused("two", { enum: [1, 2] })
    })

    it("may be a const", () => {
      assert.deepStrictEqual(coerced("CITY", { const: "city" }), ["city", "choice_case"])
      assert.deepStrictEqual(coerced({ a: [1] }, { const: { a: [1] } }), [{ a: [1] }])
      refused({ a: [2] }, { const: { a: [1] } })
    })
  })

  describe("texts that hold arrays and objects", () => {
    const place = closed({ city: string, zip: integer }, ["city"])

    it("are read where they are strict JSON and fit", () => {
      assert.deepStrictEqual(coerced("[\"a\",\"b\"]", strings), [["a", "b"], "text_for_array"])
      assert.deepStrictEqual(coerced(" {\"city\":\"Rome\"} ", place), [{ city: "Rome" }, "text_for_object"])
    })

    it("are read with a note where their leaves drifted in silence", () => {
      assert.deepStrictEqual(coerced("{\"city\":\"Rome\",\"zip\":\"7\"}", place), [
        { city: "Rome", zip: 7 },
        "TEXT_WITH_DRIFT",
        "text_for_number"
      ])
      refused("{\"city\":\"Rome\",\"zip\":\"7.0\"}", place)
      refused("{\"City\":\"Rome\"}", place)
    })

    it("are read once, and not repaired", () => {
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

    it("stay texts where the schema takes a text", () => {
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
    it("wraps a single item that fits as it is", () => {
      assert.deepStrictEqual(coerced("Rome", strings), [["Rome"], "SINGLE_FOR_ARRAY"])
      assert.deepStrictEqual(coerced(5, { type: "array", items: integer }), [[5], "SINGLE_FOR_ARRAY"])
      assert.deepStrictEqual(notes({ tags: "a" }, closed({ tags: strings })), [
        "'tags' is an array: \"a\" was read as [\"a\"]"
      ])
    })

    it("refuses what may be a list of its own, stands for nothing, or needs a second guess", () => {
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

    it("refuses a list for a list of lists, which may be one of them or all", () => {
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

    it("takes a single element out", () => {
      assert.deepStrictEqual(coerced(["Rome"], string), ["Rome", "ARRAY_FOR_SINGLE"])
      assert.deepStrictEqual(coerced([5], integer), [5, "ARRAY_FOR_SINGLE"])
      for (const value of [[], ["a", "b"], [5], [null], [["a"]]]) refused(value, string)
      refused(["5"], integer)
    })
  })

  describe("optional fields", () => {
    const schema = closed({ days: integer, name: string, code: { type: "string", minLength: 2 } }, [])

    it("lose null in silence, and texts for nothing with a note", () => {
      assert.deepStrictEqual(coerced({ days: null, name: null }, schema), [
        {},
        "null_for_optional",
        "null_for_optional"
      ])
      for (const blank of ["", "null", "None", "undefined"]) {
        assert.deepStrictEqual(coerced({ days: blank, name: "x" }, schema), [{ name: "x" }, "BLANK_FOR_OPTIONAL"])
      }
      assert.deepStrictEqual(coerced({ code: "" }, schema), [{}, "BLANK_FOR_OPTIONAL"])
      assert.deepStrictEqual(notes({ days: "None" }, schema), ["'days' is optional: leave it out instead of \"None\""])
    })

    it("keep what can be their value", () => {
      assert.deepStrictEqual(coerced({ name: "null" }, schema), [{ name: "null" }])
      assert.deepStrictEqual(coerced({ code: "None" }, schema), [{ code: "None" }])
      assert.deepStrictEqual(coerced({ x: null }, { properties: { x: { type: ["integer", "null"] } } }), [{ x: null }])
    })

    it("keep everything else, and required ones nothing less", () => {
      for (const value of ["N/A", " ", "NULL", "none", false, 0.5]) refused({ days: value }, schema)
      for (const value of [null, "", "null"]) refused({ days: value }, closed({ days: integer }))
      refused({ a: null }, { type: "object", additionalProperties: integer })
    })
  })

  describe("keys", () => {
    const schema = closed({ userId: integer, page: integer }, ["userId"])

    it("are renamed where only case and separators differ", () => {
      for (const key of ["user_id", "UserID", "user-id", "user id", "USERID"]) {
        assert.deepStrictEqual(coerced({ [key]: 1 }, schema), [{ userId: 1 }, "RENAMED_KEY"])
      }
      assert.deepStrictEqual(coerced({ user_id: "1", Page: 2 }, schema), [
        { userId: 1, page: 2 },
        "RENAMED_KEY",
        "text_for_number",
        "RENAMED_KEY"
      ])
    })

    it("stay where two could be meant, or two were written", () => {
      refused({ user_id: 1, userId: 2 }, schema)
      refused({ user_id: 1, UserId: 1 }, schema)
      refused({ Page: 1, page: null }, schema)
      refused({ "user id": 1 }, closed({ user_id: integer, userId: integer }))
    })

    it("of open objects are renamed only where one is missing", () => {
      const open = { type: "object", properties: { userId: integer, note: string }, required: ["userId"] }
      assert.deepStrictEqual(coerced({ user_id: 1 }, open), [{ userId: 1 }, "RENAMED_KEY"])
      assert.deepStrictEqual(coerced({ userId: 1, Note: 5 }, open), [{ userId: 1, Note: 5 }])
    })

    it("are quoted so that the difference is seen", () => {
      assert.deepStrictEqual(notes({ " page ": 1, user_id: 1 }, schema), [
        "'page' was written as \" page \"",
        "'userId' was written as 'user_id'"
      ])
    })

    it("of every object's prototype are never touched", () => {
      const value = JSON.parse("{\"__proto__\":1}")
      refused(value, closed({ proto: integer }))
      refused({ Constructor: 1 }, closed({ constructor: integer }))
      assert.deepStrictEqual(
        coerced(JSON.parse("{\"a\":\"1\",\"__proto__\":2}"), { properties: { a: integer } })[0],
        JSON.parse("{\"a\":1,\"__proto__\":2}")
      )
      assert.deepStrictEqual(expected({}, closed({ toString: string })), [["toString", "string"]])
    })
  })

  describe("wrappers", () => {
    const schema = closed({ userId: integer, options: closed({ deep: { type: "boolean" } }) }, [])

    it("are taken off at any object, around values and JSON text", () => {
      for (const key of ["arguments", "args", "parameters", "params", "input", "properties"]) {
        assert.deepStrictEqual(coerced({ [key]: { userId: 1 } }, schema), [{ userId: 1 }, "WRAPPER"])
      }
      assert.deepStrictEqual(coerced({ args: "{\"userId\":1}" }, schema), [{ userId: 1 }, "WRAPPER"])
      assert.deepStrictEqual(coerced({ options: { params: { deep: "true" } } }, schema), [
        { options: { deep: true } },
        "WRAPPER",
        "text_for_boolean"
      ])
      assert.deepStrictEqual(notes({ args: { userId: 1 } }, schema), ["the arguments go without 'args' around them"])
    })

    it("stay where they are declared, not alone, or hold what needs a second guess", () => {
      refused({ input: { a: 1 } }, closed({ input: integer }))
      refused({ input: { userId: 1 }, page: 1 }, schema)
      refused({ input: { user_id: 1 } }, schema)
      refused({ args: { args: { userId: 1 } } }, schema)
      refused({ args: "{\"args\":{\"userId\":1}}" }, schema)
      refused({ input: { a: 1 } }, { type: "object", additionalProperties: integer })
      assert.deepStrictEqual(coerced({ input: { a: 1 } }, { type: "object" }), [{ input: { a: 1 } }])
    })

    it("are not made by dropping what stands beside them", () => {
      refused({ userId: null, input: { userId: 1 } }, schema)
    })
  })

  describe("dates", () => {
    const date = { type: "string", format: "date" }
    const time = { type: "string", format: "date-time" }

    it("are checked against the calendar", () => {
      for (const text of ["2024-02-29", "2000-02-29", "0001-01-01"]) assert.deepStrictEqual(coerced(text, date), [text])
      for (
        const text of ["2023-02-29", "1900-02-29", "2024-13-01", "2024-00-10", "2024-04-31", "24-01-02", "2024-1-32"]
      ) {
        refused(text, date)
      }
    })

    it("are read where the order is certain and no time is lost", () => {
      for (
        const text of [
          "2024-1-2",
          "2024-01-02T00:00:00",
          "2024-01-02T00:00:00Z",
          "2024-01-02 00:00",
          "2024-01-02T00:00:00.000Z"
        ]
      ) {
        assert.deepStrictEqual(coerced(text, date), ["2024-01-02", "DATE_FORM"])
      }
      for (
        const text of [
          "2024-01-02T10:00:00",
          "2024-01-02T00:00:00+02:00",
          "02-01-2024",
          "2024/01/02",
          "20240102",
          "today"
        ]
      ) {
        refused(text, date)
      }
    })

    it("with a time need a zone", () => {
      for (const text of ["2024-01-02T10:00:00Z", "2024-01-02T10:00:00.123+05:30"]) {
        assert.deepStrictEqual(coerced(text, time), [text])
      }
      assert.deepStrictEqual(coerced("2024-01-02 10:00:00+02:00", time), [
        "2024-01-02T10:00:00+02:00",
        "space_in_date_time"
      ])
      for (
        const text of [
          "2024-01-02",
          "2024-01-02T10:00:00",
          "2024-01-02 10:00:00",
          "2024-01-02T25:00:00Z",
          "2023-02-29T10:00:00Z",
          "01/02/2024"
        ]
      ) {
        refused(text, time)
      }
      refused(1704153600, time)
    })

    it("are shown as dates where an Effect schema has them, and only there", () => {
      class Stay extends Schema.Class<Stay>("Stay")({ from: Schema.Date }) {}
      const parameters = Schema.Struct({
        at: Schema.Date.annotate({ description: "when" }),
        utc: Schema.optionalKey(Schema.DateTimeUtc),
        stays: Schema.Array(Stay),
        text: Schema.DateFromString,
        zoned: Schema.DateTimeZoned
      })
      const shown = Arguments.jsonSchema(parameters)
      assert.deepInclude(shown["properties"], {
        at: { type: "string", description: "when", format: "date-time" },
        utc: time,
        text: time,
        zoned: string
      })
      assert.include(JSON.stringify(shown), "\"from\":{\"type\":\"string\",\"format\":\"date-time\"}")
      assert.isTrue(isStricter(shown, parameters))
      assert.isTrue(isStricter({}, Schema.Struct({ n: Schema.Number })))
      assert.isFalse(isStricter({}, Schema.Struct({ n: Schema.Finite, s: Schema.NullOr(Schema.String) })))
    })
  })

  describe("unions", () => {
    const shapes = {
      anyOf: [
        closed({ kind: { type: "string", enum: ["circle"] }, radius: { type: "number" } }),
        closed({ kind: { type: "string", enum: ["box"] }, width: integer, label: string }, ["kind", "width"])
      ]
    }

    it("are left alone where a member fits", () => {
      assert.deepStrictEqual(coerced("5", { anyOf: [integer, string] }), ["5"])
      assert.deepStrictEqual(coerced(null, { type: ["integer", "null"] }), [null])
    })

    it("are coerced to the one member that comes to fit", () => {
      assert.deepStrictEqual(coerced("5", { anyOf: [integer, { type: "null" }] }), [5, "text_for_number"])
      assert.deepStrictEqual(coerced("5", { type: ["integer", "null"] }), [5, "text_for_number"])
      assert.deepStrictEqual(coerced("5", { type: ["integer", "number"] }), [5, "text_for_number"])
      assert.deepStrictEqual(coerced("true", { oneOf: [integer, { type: "boolean" }] }), [true, "text_for_boolean"])
      refused("5", { anyOf: [integer, strings] })
      refused("x", { anyOf: [integer, { type: "boolean" }] })
    })

    it("are told apart by their literals, in coercions and in messages", () => {
      assert.deepStrictEqual(coerced({ kind: "Circle", radius: "2" }, shapes), [
        { kind: "circle", radius: 2 },
        "choice_case",
        "text_for_number"
      ])
      assert.deepStrictEqual(expected({ kind: "box", width: "wide" }, shapes), [["width", "integer"]])
      assert.deepStrictEqual(expected({ kind: "bax", width: 1 }, shapes), [
        ["kind", "\"circle\" | \"box\". Did you mean \"box\"?"]
      ])
      assert.deepStrictEqual(expected({ width: 1 }, shapes), [["kind", "\"circle\" | \"box\""]])
      // What can be undone inside of the member that was meant, is.
      const partly = coerce({ kind: "box", width: "3", label: [] }, shapes)
      assert.deepStrictEqual(partly.value, { kind: "box", width: 3, label: [] })
    })

    it("by a tag name it, its choices, and the keys that no member has", () => {
      const tag = "object with 'kind' (\"circle\" | \"box\")"
      assert.deepStrictEqual(expected({ type: "box", width: 1 }, shapes), [
        ["kind", "\"circle\" | \"box\""],
        ["type", "no such key"]
      ])
      assert.deepStrictEqual(expected("box", shapes), [["", tag]])
      assert.deepStrictEqual(expected({}, closed({ shape: shapes })), [["shape", tag]])
      assert.deepStrictEqual(expected({ kind: "Box", width: "wide" }, shapes), [
        ["kind", "\"box\". Did you mean \"box\"?"],
        ["width", "integer"]
      ])
      const { value } = coerce({ kind: "Box", width: "wide" }, shapes)
      assert.deepStrictEqual(expected(value, shapes), [["width", "integer"]])
    })

    it("of objects say what these are, and speak of the one that was meant", () => {
      const schema = { anyOf: [closed({ a: integer }), closed({ b: string })] }
      assert.deepStrictEqual(expected({ a: 1, b: "x" }, schema), [["", "object with 'a' | object with 'b'"]])
      const parameters = Schema.Struct({
        x: Schema.Union([Schema.Struct({ a: Schema.Int }), Schema.Struct({ b: Schema.String })])
      })
      assert.deepStrictEqual(refusals(parameters, { x: { a: "x" } }), [["x.a", "integer", "\"x\""]])
      const checked = Schema.Struct({
        x: Schema.Union([
          Schema.Struct({ a: Schema.String.check(Schema.isPattern(/^c/i)) }),
          Schema.Struct({ b: Schema.String })
        ])
      })
      assert.deepStrictEqual(refusals(checked, { x: { a: "x" } }), [["x.a", "string matching ^c", "\"x\""]])
    })

    it("have their siblings", () => {
      const schema = {
        type: "object",
        properties: { id: integer, name: string },
        anyOf: [{ required: ["id"] }, { required: ["name"] }]
      }
      assert.deepStrictEqual(coerced({ id: "1" }, schema)[0], { id: 1 })
      assert.isNotEmpty(misfits({}, schema))
    })

    it("without literals name the fields of the member that shares the most keys", () => {
      const schema = { anyOf: [closed({ city: string, zip: integer }), closed({ lat: integer, lon: integer })] }
      assert.deepStrictEqual(expected({ lat: 1, lon: "east" }, schema), [["lon", "integer"]])
      assert.deepStrictEqual(expected({ x: 1 }, schema), [["", "object with 'city', 'zip' | object with 'lat', 'lon'"]])
    })

    it("of an object and null name the fields of the object", () => {
      assert.deepStrictEqual(expected({ a: "x" }, { anyOf: [closed({ a: integer }), { type: "null" }] }), [[
        "a",
        "integer"
      ]])
    })
  })

  describe("structures", () => {
    const tree = {
      $ref: "#/$defs/Tree",
      $defs: { Tree: closed({ size: integer, kids: { type: "array", items: { $ref: "#/$defs/Tree" } } }, ["size"]) }
    }

    it("are coerced through references, also recursive ones", () => {
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

    it("report a key that no object has, with the nearest that is free", () => {
      const schema = closed({ city: string, unit: string })
      assert.deepStrictEqual(expected({ citi: "Rome", unit: "x" }, schema), [
        ["city", "string"],
        ["citi", "no such key. Did you mean 'city'?"]
      ])
    })
  })

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
      ["$5", { type: "integer" }, "integer. Write 5, without quotes."],
      ["fifty", { type: "number" }, "number. Write it in digits."]
    ])("of %j: %j is no %s", (value, schema, words) => {
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

    it("send what is inside of an envelope", () => {
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

    it("count items that are wrong in the same way, and go on", () => {
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

    it("count them also where only the decoder knows", () => {
      const parameters = Schema.Struct({ ids: Schema.Array(Schema.String.check(Schema.isPattern(/^c-\d+$/))) })
      assert.deepStrictEqual(refusals(parameters, { ids: Array.from({ length: 60 }, () => "d") }).at(-1), [
        "ids",
        "string matching ^c-\\d+$ for each item",
        "57 more items like these"
      ])
    })

    it("say less of each where there are many fields, and never more than twenty", () => {
      const fields = ["a", "b", "c", "d", "e", "f", "g", "h"]
      const schema = { type: "array", items: closed(Object.fromEntries(fields.map((key) => [key, integer]))) }
      const issues = misfits(Array.from({ length: 9 }, () => ({})), schema)
      assert.strictEqual(issues.length, 16)
      assert.deepStrictEqual(issues.at(-1)?.actual, "8 more items like these")
    })

    it("show of many choices those that are near", () => {
      const schema = { enum: Array.from({ length: 100 }, (_, index) => `city${index}`) }
      const [[, words] = []] = expected("city 77x", schema)
      assert.include(words, "\"city77\" | ")
      assert.include(words, "… (80 more)")
    })

    it("are bounded and on one line, whatever came", () => {
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

  describe("refusals", () => {
    const parameters = Schema.Struct({
      id: Schema.String.check(Schema.isPattern(/^P-\d{4}$/, { expected: "'P-' and four digits" })),
      days: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })),
      drugs: Schema.Array(Schema.String).check(Schema.isMinLength(2, { expected: "2 drugs or more" }))
    })
    const told = (value: Schema.Json) => refusals(parameters, value, false).map(([path, expected]) => [path, expected])

    it("say what the schema says, and what only the decoder knows, once each", () => {
      const refusals = told
      assert.deepStrictEqual(refusals({ id: "1", days: 7, drugs: ["a"], x: 1 }), [
        ["days", "integer from 1 to 5"],
        ["drugs", "2 drugs or more"],
        ["x", "no such key"],
        ["id", "'P-' and four digits"]
      ])
      assert.deepStrictEqual(refusals({ id: 1, days: 7, drugs: {} }), [
        ["id", "string"],
        ["days", "integer from 1 to 5"],
        ["drugs", "array of at least 2 items"]
      ])
      assert.deepStrictEqual(refusals({ id: "P-1234", days: 1, drugs: ["a", "b"] }), [])
    })

    const of = (schema: Schema.Codec<unknown, unknown>, value: Schema.Json) =>
      refusals(Schema.Struct({ x: schema }), { x: value }).map(([, ...words]) => words.join(", got "))

    it("give a length as the decoder knows it", () => {
      const length = Schema.String.check(Schema.isMinLength(5))
      for (const text of ["ab", "abcd"]) {
        assert.deepStrictEqual(of(length, text), [`string of at least 5 characters, got "${text}"`])
      }
      assert.deepStrictEqual(of(Schema.String.check(Schema.isBetweenLength(5, 7)), "ab"), [
        "string of 5 to 7 characters, got \"ab\""
      ])
      assert.deepStrictEqual(of(Schema.NullOr(length), "abcd"), ["string of at least 5 characters, got \"abcd\""])
      assert.deepStrictEqual(of(Schema.Array(Schema.Int).check(Schema.isMinLength(2)), [1]), [
        "array of at least 2 items, got [1]"
      ])
    })

    it("say a pattern and a check without words as the schema would", () => {
      assert.deepStrictEqual(of(Schema.String.check(Schema.isPattern(/^c-\d+$/)), "x"), [
        "string matching ^c-\\d+$, got \"x\""
      ])
      const silent = Schema.String.check(Schema.makeFilter((text: string) => text.length > 3))
      assert.deepStrictEqual(of(silent, "x"), ["a valid value, got \"x\""])
    })

    it("show what the model wrote, and not what became of it", () => {
      const customer = Schema.String.check(Schema.isPattern(/^c-\d+$/))
      const parameters = Schema.Struct({ customerId: customer, note: Schema.optionalKey(Schema.String) })
      const words = "string matching ^c-\\d+$"
      for (
        const value of [{ customerId: 7 }, { customer_id: 7 }, { args: { customerId: "7" } }, { customerId: ["7"] }]
      ) {
        const [written] = Object.values(value)
        const shown = typeof written === "object" && !Array.isArray(written) ? "\"7\"" : JSON.stringify(written)
        assert.deepStrictEqual(refusals(parameters, value), [["customerId", words, shown]])
      }
      assert.deepStrictEqual(of(Schema.Array(customer), "7"), [`${words}, got "7"`])
      assert.deepStrictEqual(of(Schema.Date, 1704067200), [
        "string with the format date-time (2024-01-31T12:00:00Z), got 1704067200"
      ])
    })

    it("keep the format of a date", () => {
      for (const date of [Schema.Date, Schema.DateTimeUtc, Schema.DateFromString, Schema.DateTimeUtcFromString]) {
        for (const text of ["tomorrow", "2026-02-30", "03/01/2026", "1", "foo 7"]) {
          assert.deepStrictEqual(of(date, text), [
            `string with the format date-time (2024-01-31T12:00:00Z), got "${text}"`
          ])
        }
      }
    })
  })

  describe("numbers in texts", () => {
    it("are JSON's numbers, whatever JavaScript reads", () => {
      for (const number of [Schema.FiniteFromString, Schema.NumberFromString, Schema.BigDecimalFromString]) {
        const parameters = Schema.Struct({ n: number })
        const shown = Arguments.jsonSchema(parameters)
        assert.isTrue(isStricter(shown, parameters))
        for (const n of ["", "0x10", "1,000", " 1", "NaN", "Infinity", "1e999", "1."]) {
          assert.deepStrictEqual(refusals(parameters, { n }), [[
            "n",
            "string that holds a plain number (12.5)",
            JSON.stringify(n)
          ]])
        }
        for (const n of ["0", "-1.50", "6e23"]) assert.deepStrictEqual(refusals(parameters, { n }), [])
        assert.deepStrictEqual(coerced({ n: 12.5 }, shown), [{ n: "12.5" }, "NUMBER_FOR_TEXT"])
      }
    })

    it("are left alone where an author reads them in his own way", () => {
      const own = Schema.String.pipe(
        Schema.decodeTo(Schema.Number, { decode: SchemaGetter.Number(), encode: SchemaGetter.String() })
      )
      assert.deepStrictEqual(Arguments.jsonSchema(Schema.Struct({ own }))["properties"], { own: string })
    })
  })

  describe("secrets", () => {
    const secret = "hunter2-hunter2"
    const Password = Schema.RedactedFromValue(Schema.String.check(Schema.isMinLength(20)))
    const login = Schema.Struct({ user: Schema.String, password: Password })
    const told = <S extends Schema.Codec<unknown, unknown>>(parameters: S, value: Schema.Json): string => {
      const { repairs } = coerce(value, Arguments.jsonSchema(parameters))
      const issues = refusals(parameters, value)
      assert.isTrue(issues.length > 0 || repairs.length > 0)
      return JSON.stringify([issues, repairs])
    }

    it("are shown as what is only written", () => {
      const shown = Arguments.jsonSchema(Schema.Struct({
        a: Password,
        b: Schema.optionalKey(Schema.Redacted(Schema.String.annotate({ description: "a key" }))),
        c: Schema.Array(Schema.Redacted(Schema.Int)),
        d: Schema.fromJsonString(Schema.Struct({ key: Schema.RedactedFromValue(Schema.String) })),
        e: login.pipe(Schema.encodeKeys({ password: "pass_word" })),
        f: Schema.RedactedFromValue(Schema.String.check(Schema.makeFilter((text: string) => text.length > 3)))
      }))
      const properties = JSON.stringify(shown["properties"])
      assert.deepInclude(shown["properties"], {
        a: { type: "string", minLength: 10, writeOnly: true },
        b: { type: "string", description: "a key", writeOnly: true },
        d: { type: "string", writeOnly: true },
        f: { type: "string", writeOnly: true }
      })
      assert.strictEqual(properties.match(/"writeOnly":true/g)?.length, 6)
      assert.deepStrictEqual(shown["required"], ["a", "c", "d", "e", "f"])
    })

    it("are never quoted: at their path, below it, and above it", () => {
      assert.deepStrictEqual(refusals(login, { user: "u", password: secret }), [
        ["password", "string of at least 20 characters", "a string"]
      ])
      for (
        const value of [
          secret,
          { user: "u", password: [secret, secret] },
          { user: "u", password: { inner: secret } },
          { user: "u", pasword: secret },
          { user: "u", password: [secret] },
          { user: "u", login: { user: "u", password: secret } },
          { args: { user: 7, password: secret } }
        ]
      ) assert.notInclude(told(login, value), "hunter2")
    })

    it("are not quoted in notes either", () => {
      const open = closed({
        password: { type: "string", writeOnly: true },
        pins: { type: "array", items: { type: "string", format: "password" } }
      }, [])
      assert.deepStrictEqual(notes({ password: 123456 }, open), [
        "'password' is a string: a number was read as a string"
      ])
      assert.deepStrictEqual(notes({ pins: secret }, open), ["'pins' is an array: a string was read as an array of 1"])
      assert.deepStrictEqual(notes({ password: [secret] }, open), [
        "'password' is a single value: an array of 1 was read as a string"
      ])
    })

    it("are not quoted from unions, arrays, records, recursive schemas and classes", () => {
      class Login extends Schema.Class<Login>("Login")({ user: Schema.String, password: Password }) {}
      interface Tree {
        readonly key: string
        readonly kids: ReadonlyArray<Tree>
      }
      const Tree = Schema.Struct({
        key: Schema.RedactedFromValue(Schema.String),
        kids: Schema.Array(Schema.suspend((): Schema.Codec<unknown, unknown> => Tree))
      })
      const cases: ReadonlyArray<readonly [Schema.Codec<unknown, unknown>, Schema.Json]> = [
        [Schema.Union([login, Schema.Int]), secret],
        [Schema.Union([login, Schema.Struct({ token: Password })]), { user: "u", token: secret, password: secret }],
        [Schema.Union([Schema.Int, Password]), secret],
        [Schema.Array(Password), [secret]],
        [Schema.Array(Password), secret],
        [Schema.Record(Schema.String, Password), { a: secret }],
        [Schema.Record(Schema.String, Password), secret],
        [Login, { user: "u", password: secret, extra: secret }],
        [Tree, { key: "a", kids: [{ key: [secret, secret], kids: [] }] }],
        [Tree, { key: "a", kids: secret }],
        [Schema.RedactedFromValue(Schema.Struct({ pin: Schema.Int })), { pin: secret }]
      ]
      for (const [schema, value] of cases) {
        assert.notInclude(told(Schema.Struct({ x: schema }), { x: value }), "hunter2", JSON.stringify(value))
      }
    })

    it("are not quoted from an author's words, nor by what a decoder says alone", () => {
      const parameters = Schema.Struct({
        x: Schema.RedactedFromValue(Schema.String.check(Schema.makeFilter((text: string) => `${text} is too weak`)))
      })
      assert.notInclude(told(parameters, { x: secret }), "hunter2")
      const decoded = Schema.decodeUnknownResult(Schema.toCodecJson(parameters))({ x: secret })
      if (Result.isSuccess(decoded)) return assert.fail()
      const schema = Arguments.jsonSchema(parameters)
      assert.notInclude(
        JSON.stringify(misfitOf(decoded.failure.issue, { x: secret }, schema, {})),
        "hunter2"
      )
    })

    it("leave what stands beside them to be quoted", () => {
      assert.deepStrictEqual(refusals(login, { user: ["a", "b"], password: `${secret}${secret}` }), [
        ["user", "string", "[\"a\",\"b\"]"]
      ])
    })
  })

  describe("repairs", () => {
    it("of one kind in the items of one array are one note, with a count", () => {
      const items = Array.from({ length: 30 }, () => ({ n: "1.0", t: 1 }))
      const schema = closed({ items: { type: "array", items: closed({ n: integer, t: string }) } })
      assert.deepStrictEqual(notes({ items }, schema).filter((note) => note !== undefined), [
        "'items.0.n' is an integer: \"1.0\" was read as 1, and 29 more like it",
        "'items.0.t' is a string: 1 was read as \"1\", and 29 more like it"
      ])
    })

    it("of many fields keep twenty notes, the last of which counts the others", () => {
      const many = (fields: number) =>
        Object.fromEntries(Array.from({ length: fields }, (_, index) => [`f${index}`, 1]))
      const open = { type: "object", additionalProperties: string }
      const twenty = notes(many(20), open)
      assert.deepStrictEqual([twenty.length, twenty.at(-1)], [20, "'f19' is a string: 1 was read as \"1\""])
      const noted = notes(many(20_000), open).filter((note) => note !== undefined)
      assert.strictEqual(noted.length, 20)
      assert.deepStrictEqual(noted.slice(0, 19), twenty.slice(0, 19))
      assert.strictEqual(noted.at(-1), "'f19' is a string: 1 was read as \"1\"; 19980 more repairs are not listed")
    })

    it("of many items count those that are alike once, and those that are left out", () => {
      const items = Array.from(
        { length: 3 },
        () => Object.fromEntries(Array.from({ length: 25 }, (_, key) => [`f${key}`, 1]))
      )
      const noted = notes({ items }, { properties: { items: { items: { additionalProperties: string } } } })
        .filter((note) => note !== undefined)
      assert.strictEqual(noted.length, 20)
      assert.match(noted[0] ?? "", /, and 2 more like it$/)
      assert.match(noted[19] ?? "", /, and 2 more like it; 15 more repairs are not listed$/)
    })

    it("below a long key are told as below a short one", () => {
      const below = (key: string) => ({ [key]: Array.from({ length: 30 }, () => "1.0") })
      const schema = { type: "object", additionalProperties: { type: "array", items: integer } }
      assert.deepStrictEqual(coerced(below("k"), schema).slice(1), coerced(below("k".repeat(100_000)), schema).slice(1))
      assert.deepStrictEqual(
        notes(below("k".repeat(100_000)), schema).filter((note) => note !== undefined).map((note) => note?.length),
        [`'${"k".repeat(80)}… (99922 more characters)' is an integer: "1.0" was read as 1, and 29 more like it`.length]
      )
    })

    it("of several fields keep a note each", () => {
      assert.deepStrictEqual(notes({ a: "1.0", b: "1.0" }, closed({ a: integer, b: integer })), [
        "'a' is an integer: \"1.0\" was read as 1",
        "'b' is an integer: \"1.0\" was read as 1"
      ])
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

    it("leaves what fits alone, changes nothing in place, and makes nothing worse", () => {
      fc.assert(
        fc.property(schema, value, (schema, value) => {
          const { repairs, value: result } = coerce(frozen(value), frozen(schema))
          if (fits(value, schema)) assert.deepStrictEqual([result === value, repairs], [true, []])
          assert.strictEqual(repairs.length === 0, result === value)
          assert.strictEqual(fits(result, schema), misfits(result, schema).length === 0)
          if (repairs.length > 0 && !fits(result, schema)) {
            assert.isAtMost(misfits(result, schema).length, 20)
            // Where nothing moved, what does not fit afterwards is where something did not fit before.
            if (repairs.some(({ kind }) => kind === "renamed_key" || kind === "wrapper")) return
            const before = misfits(value, schema)
            for (const { path } of misfits(result, schema)) {
              assert.isTrue(before.some((misfit) => path.slice(0, misfit.path.length).join() === misfit.path.join()))
            }
          }
        }),
        { numRuns: 3_000 }
      )
    })

    it("is done after one time", () => {
      fc.assert(
        fc.property(schema, value, (schema, value) => {
          const once = coerce(value, schema)
          assert.deepStrictEqual(coerce(once.value, schema), { value: once.value, repairs: [], fits: once.fits })
        }),
        { numRuns: 3_000 }
      )
    })

    it("never reads a text as another value than JSON does", () => {
      fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
        const { value } = coerce(text, { type: "number" })
        assert.isTrue(value === text || JSON.parse(text) === value)
      }))
    })
  })

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

    it("survives depth, and long texts", () => {
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
        // Words may be one item.
        assert.deepStrictEqual(
          misfits({ anyOf: [integer, strings, { type: "object" }] }),
          text.startsWith("a") ? [] : [["v"]]
        )
      }
    })
  })
})

describe("what a second reader found", () => {
  const coerced = (value: Schema.Json, schema: JsonSchema.JsonSchema) => coerce(value, schema)

  it("a fraction is never a whole number, however it rounds", () => {
    for (
      const text of ["9007199254740991.4", "4503599627370497.5", "100.00000000000000001", "15e-1", "1e-1", "12.50e1x"]
    ) {
      assert.deepStrictEqual(coerced(text, { type: "integer" }).repairs, [], text)
    }
    for (const [text, value] of [["1000.000", 1000], ["12.50e1", 125], ["1200e-2", 12], ["-0.0e3", 0]] as const) {
      assert.strictEqual(Math.abs(Number(coerced(text, { type: "integer" }).value)), value, text)
    }
    assert.deepStrictEqual(coerced("9007199254740993", { enum: [9007199254740992] }).repairs, [])
  })

  it("a sign is no separator, and digits stay apart", () => {
    for (
      const [value, choices] of [["1", ["+1", "-1"]], ["1_0", ["10", "x"]], ["_", ["-", "a"]], ["10", ["1-0"]]] as const
    ) assert.deepStrictEqual(coerced(value, { enum: choices }).repairs, [], value)
    assert.strictEqual(coerced("in-progress", { enum: ["in_progress"] }).value, "in_progress")
    assert.strictEqual(coerced("A", { enum: ["a", "a"] }).value, "a")
    const closed = (key: string) => ({ type: "object", properties: { [key]: {} }, additionalProperties: false })
    assert.deepStrictEqual(coerced({ id: 1 }, closed("-id")).repairs, [])
    assert.deepStrictEqual(coerced({ _: 1 }, closed("")).repairs, [])
    assert.deepStrictEqual(coerced({ " user_id ": 1 }, closed("userId")).value, { userId: 1 })
  })

  it("what keeps digits apart may be another separator", () => {
    for (
      const [value, choice] of [["plan-2024-01", "plan_2024_01"], ["ISO-8859-1", "iso_8859_1"], [
        "gpt 4 1",
        "gpt-4-1"
      ]] as const
    ) assert.strictEqual(coerced(value, { enum: [choice, "other"] }).value, choice)
  })

  it("a recursive union and a secret are no reason to take long", () => {
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

  it("midnight in UTC is a date, however it is written", () => {
    for (const zone of ["", "Z", "+00:00", "-00:00"]) {
      assert.strictEqual(coerced(`2024-01-02T00:00:00${zone}`, { type: "string", format: "date" }).value, "2024-01-02")
    }
    assert.deepStrictEqual(coerced("2024-01-02T00:00:00+01:00", { type: "string", format: "date" }).repairs, [])
  })

  it("large numbers stay what they are when something else was repaired", () => {
    const parameters = Schema.Struct({ a: Schema.Int, b: Schema.Number })
    for (const b of ["1e16", "1e25", "1.5"]) {
      const { params } = Effect.runSync(Arguments.decode(`{"a":"1","b":${b}}`, { parameters }))
      assert.deepStrictEqual(params, { a: 1, b: Number(b) })
    }
  })

  it("an author's words are one line, and bounded", () => {
    const parameters = Schema.Struct({
      a: Schema.String.check(Schema.makeFilter((text) => text.length < 3 ? undefined : `bad:\n${text}`))
    })
    const text = JSON.stringify({ a: "x\n".repeat(100_000) })
    const { detail, issues } = Effect.runSync(Effect.flip(Arguments.decode(text, { parameters })))
    assert.isBelow(detail.length, 800)
    assert.notMatch(`${detail}${issues[0]?.expected}`, /\n/)
  })

  it("what is optional and can be what it is stays, beside what drifted", () => {
    const schema = {
      type: "object",
      properties: { x: { type: ["integer", "null"] }, s: { type: "string" }, y: { type: "integer" } }
    }
    assert.deepStrictEqual(coerced({ x: null, s: "", y: "5" }, schema).value, { x: null, s: "", y: 5 })
  })

  it("a text in a text in a wrapper is one text too many", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "array", items: { type: "integer" } } },
      required: ["a"],
      additionalProperties: false
    }
    for (const args of ["{\"a\":\"[1]\"}", { a: "[\"1\"]" }]) {
      assert.deepStrictEqual(coerced({ args }, schema).repairs, [])
    }
    for (const a of ["[12345678901234567890]", "[12345678901234567890,]", "[1 // x\n, 2]"]) {
      assert.deepStrictEqual(coerced({ a }, schema).repairs, [], a)
    }
  })

  it("of members that both fit, oneOf fits none", () => {
    assert.isFalse(fits(1, { oneOf: [{ type: "integer" }, { type: "number" }] }))
    assert.isTrue(fits(1.5, { oneOf: [{ type: "integer" }, { type: "number" }] }))
    assert.isFalse(fits(1.00000000001, { multipleOf: 0.1 }))
  })

  it("any depth is a refusal, and never a crash", () => {
    const deep: Schema.Json = Array.from({ length: 20_000 }).reduce<Schema.Json>((value) => [value], 1)
    assert.isFalse(fits({ a: deep }, { type: "object" }))
    assert.isAbove(misfits({ a: deep }, { type: "object" }).length, 0)
    assert.deepStrictEqual(coerced({ a: deep }, { type: "object" }).repairs, [])
  })

  it("a day that there is not is refused also where the decoder does not look", () => {
    const parameters = Schema.Struct({ day: Schema.String.annotate({ format: "date" }) })
    const failure = Effect.runSync(Effect.flip(Arguments.decode("{\"day\":\"2024-02-30\"}", { parameters })))
    assert.strictEqual(failure.code, "invalid_arguments")
  })
})
