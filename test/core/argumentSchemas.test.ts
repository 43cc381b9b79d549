import { assert, describe, it } from "@effect/vitest"
import * as Arguments from "@fallible/core/Arguments"
import { Schema, SchemaGetter } from "effect"
import { isStricter } from "../../packages/core/src/internal/arguments/jsonSchema.ts"
import { coerced, string, time } from "../support/coercing.ts"
import { refusals } from "../support/refusals.ts"

describe("Arguments", () => {
  describe("jsonSchema", () => {
    it("is a closed object, even for a tool without parameters", () => {
      assert.deepStrictEqual(Arguments.jsonSchema(Schema.Struct({})), {
        type: "object",
        properties: {},
        additionalProperties: false
      })
      assert.deepStrictEqual(Arguments.jsonSchema(Schema.Struct({ city: Schema.String })), {
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
        additionalProperties: false
      })
    })

    it("shows a thousand choices like two, whatever is around them", () => {
      const words = (count: number) => Array.from({ length: count }, (_, index) => `choice ${index}`)
      const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)
      const shown = (count: number): unknown =>
        Arguments.jsonSchema(Schema.Struct({
          word: Schema.Literals(words(count)),
          number: Schema.Literals(numbers(count)).annotate({ description: "a number" }),
          maybe: Schema.optionalKey(Schema.NullOr(Schema.Literals(words(count)))),
          list: Schema.Array(Schema.Literals(words(count)).annotate({ identifier: "Word" })),
          two: Schema.Union([Schema.Literals(words(count)), Schema.Boolean, Schema.Literals(numbers(count))]),
          both: Schema.Union([Schema.Literals(words(count)), Schema.String]),
          secret: Schema.Redacted(Schema.Literals(words(count)))
        }))
      const asMany: unknown = JSON.parse(
        JSON.stringify(shown(2))
          .replaceAll(JSON.stringify(words(2)), JSON.stringify(words(1_001)))
          .replaceAll(JSON.stringify(numbers(2)), JSON.stringify(numbers(1_001)))
      )
      assert.deepStrictEqual(shown(1_001), asMany)
    })

    it("shows a thousand choices of several types, and with their own descriptions", () => {
      const words = Array.from({ length: 1_001 }, (_, index) => `choice ${index}`)
      const literals = words.map((word) => Schema.Literal(word))
      const told = Schema.Literal("told").annotate({ description: "of its own" })
      const shown = (choice: Schema.Constraint) => Arguments.jsonSchema(Schema.Struct({ choice }))["properties"]
      const description = { type: "string", enum: ["told"], description: "of its own" }
      const single = (word: string) => ({ type: "string", enum: [word] })
      assert.deepStrictEqual(shown(Schema.Literals([...words, 1, 2])), {
        choice: {
          anyOf: [{ type: "string", enum: words }, { type: "number", enum: [1] }, { type: "number", enum: [2] }]
        }
      })
      assert.deepStrictEqual(shown(Schema.Union([...literals, told, Schema.Literal("last")])), {
        choice: { anyOf: [{ type: "string", enum: words }, description, single("last")] }
      })
      assert.deepStrictEqual(shown(Schema.Union([told, ...literals])), {
        choice: { anyOf: [description, ...words.map(single)] }
      })
      assert.deepStrictEqual(shown(Schema.Union(literals, { mode: "oneOf" })), {
        choice: { oneOf: words.map(single) }
      })
    })

    it("contains its definitions", () => {
      class Place extends Schema.Class<Place>("Place")({ city: Schema.String }) {}
      const schema = Arguments.jsonSchema(Schema.Struct({ from: Place, to: Place }))
      const [name = ""] = Object.keys(schema["$defs"] ?? {})
      assert.deepInclude(schema, {
        properties: { from: { $ref: `#/$defs/${name}` }, to: { $ref: `#/$defs/${name}` } }
      })
    })
  })
})

describe("Coercion", () => {
  describe("dates", () => {
    it("are shown as dates only if an Effect schema has them", () => {
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

  describe("numbers in texts", () => {
    it("are numbers of JSON, not of JavaScript", () => {
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
        assert.deepStrictEqual(coerced({ n: 12 }, shown), [{ n: "12" }, "NUMBER_FOR_TEXT"])
      }
    })

    it("are left alone if the author decodes them differently", () => {
      const own = Schema.String.pipe(
        Schema.decodeTo(Schema.Number, { decode: SchemaGetter.Number(), encode: SchemaGetter.String() })
      )
      assert.deepStrictEqual(Arguments.jsonSchema(Schema.Struct({ own }))["properties"], { own: string })
    })
  })
})
