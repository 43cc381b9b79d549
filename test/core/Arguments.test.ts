import { assert, describe, it } from "@effect/vitest"
import { Arguments, type DispatchFailure } from "@fallible/core"
import { Effect, Result, Schema } from "effect"
import * as fc from "fast-check"
import { firstFault } from "../../packages/core/src/internal/jsonSyntax.ts"

const value = (text: string | undefined) => Result.getOrThrow(Arguments.parse(text)).value

const refusal = (text: string): DispatchFailure.DispatchFailure =>
  Result.match(Arguments.parse(text), {
    onFailure: (failure) => failure,
    onSuccess: ({ value }) => assert.fail(`accepted as ${JSON.stringify(value)}`)
  })

const detail = (text: string) => refusal(text).detail.replace("The arguments cannot be read. ", "")

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const object = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 })
const objectText = fc.tuple(object, fc.constantFrom(0, 2, "\t")).map(([object, indent]) =>
  JSON.stringify(object, null, indent)
)

// Texts that are nearly JSON: tokens in any order, and JSON with one place changed.
const tokens = fc.array(
  fc.constantFrom(
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"a\"",
    "\"",
    "\\",
    "\\n",
    "\\u00e9",
    "0",
    "-1.5e3",
    "true",
    "nul",
    " "
  ),
  { maxLength: 12 }
).map((tokens) => tokens.join(""))
const changed = fc.tuple(objectText, fc.nat(), fc.string({ unit: "binary", maxLength: 2 })).map(
  ([text, at, change]) => {
    const place = at % (text.length + 1)
    return text.slice(0, place) + change + text.slice(place + 1)
  }
)
const anyText = fc.oneof(fc.string({ unit: "binary" }), objectText, tokens, changed)

describe("Arguments", () => {
  describe("parse", () => {
    it("reads nothing, null and an empty array as no arguments", () => {
      for (const text of [undefined, "", "  \n\t", "null", " null\n", "[]", " [ ] "]) {
        assert.deepStrictEqual(value(text), {})
      }
    })

    it("reads one strict object, and repairs nothing in it", () => {
      assert.deepStrictEqual(Result.getOrThrow(Arguments.parse(" {\"city\": \"Paris\", \"days\": [1, 2]}\n")), {
        value: { city: "Paris", days: [1, 2] },
        repairs: []
      })
    })

    it("says where a text that was cut off ends, and what is missing there", () => {
      assert.strictEqual(
        detail("{\"city\":\"Par"),
        "They end too early, at offset 12: the closing '\"' of a string is missing."
      )
      assert.strictEqual(detail("{\"amount\":1"), "They end too early, at offset 11: ',' or '}' is missing.")
      assert.strictEqual(detail("{\"amount\":"), "They end too early, at offset 10: a value is missing.")
    })

    it("gives the place of a fault by offset, line and column", () => {
      assert.strictEqual(
        detail("{\n  \"a\": 1,\n  b: 2\n}"),
        "They are no valid JSON at offset 14 (line 3, column 3): expected a key in double quotes."
      )
    })

    it.each([
      ["{'a': 1}", 1, "a key in double quotes or '}'"],
      ["{\"a\" 1}", 5, "':'"],
      ["{\"a\": 1,}", 8, "a key in double quotes"],
      ["{\"a\": 1 \"b\": 2}", 8, "',' or '}'"],
      ["{\"a\": [1, ]}", 10, "a value"],
      ["{\"a\": [x]}", 7, "a value or ']'"],
      ["{\"a\": True}", 6, "a value"],
      ["{\"a\": 6*30}", 7, "',' or '}'"],
      ["{\"a\": 01}", 6, "a value"],
      ["{\"a\": NaN}", 6, "a value"],
      ["{\"a\": 1} {\"b\": 2}", 9, "the end of the text"],
      ["{\"a\": \"C:\\Users\"}", 9, "a valid escape: a backslash itself is written \\\\"],
      ["{\"a\": \"one\ntwo\"}", 10, "an escape such as \\n in place of a raw control character"],
      ["call it with {}", 0, "a value"]
    ])("refuses %j at offset %i, expecting %s", (text, offset, expected) => {
      assert.include(detail(text), `at offset ${offset} (`)
      assert.strictEqual(detail(text).split(": expected ")[1], `${expected}.`)
    })

    it("refuses JSON that is no object", () => {
      for (const text of ["1", "true", "\"Paris\""]) assert.strictEqual(detail(text), "They are no JSON object.")
      assert.strictEqual(detail("[{\"a\":1},{\"a\":2}]"), "They are an array: send a separate call for each item.")
    })

    it("says how to go on, with one issue that shows the place in a short excerpt", () => {
      const failure = refusal(`{"a": 1, b: "${"x".repeat(1_000)}"}`)
      assert.deepInclude({ ...failure }, {
        _tag: "SchemaMismatch",
        side: "arguments",
        code: "invalid_json",
        hint: "Send the complete arguments again, as one JSON object.",
        issues: [{
          path: [],
          expected: "a key in double quotes",
          actual: JSON.stringify(`{"a": 1, b: "${"x".repeat(16)}`)
        }]
      })
    })

    it("reads a text of the greatest length, and refuses one character more", () => {
      const longest = `{"a":"${"x".repeat(Arguments.maxLength - 8)}"}`
      assert.strictEqual(longest.length, Arguments.maxLength)
      assert.property(value(longest), "a")
      assert.strictEqual(detail(`${longest} `), "They have 1048577 characters, and at most 1048576 are read.")
    })

    it("yields the object that JSON.parse yields, or a refusal, and never throws", () => {
      fc.assert(
        fc.property(anyText, (text) =>
          Result.match(Arguments.parse(text), {
            onSuccess: ({ value }) => {
              const blank = ["", "null", "[]"].includes(text.replace(/\s/g, ""))
              assert.deepStrictEqual(value, blank ? {} : JSON.parse(text))
            },
            onFailure: (failure) => {
              assert.strictEqual(failure.code, "invalid_json")
              assert.isBelow(JSON.stringify(failure).length, 2_000)
            }
          })),
        { numRuns: 1_000 }
      )
    })

    it("accepts every object that JSON can write", () => {
      fc.assert(fc.property(objectText, (text) => {
        assert.deepStrictEqual(value(text), JSON.parse(text))
      }))
    })

    it("completes no prefix of an object", () => {
      fc.assert(fc.property(objectText, fc.nat(), (text, cut) => {
        refusal(text.slice(0, 1 + cut % (text.length - 1)))
      }))
    })
  })

  describe("firstFault", () => {
    it("finds a fault exactly where JSON.parse refuses", () => {
      fc.assert(
        fc.property(anyText, (text) => {
          assert.strictEqual(firstFault(text) === undefined, isJson(text))
        }),
        { numRuns: 2_000 }
      )
    })

    it("knows which characters a string may hold, raw and escaped", () => {
      for (let code = 0; code < 0x100; code++) {
        const char = String.fromCharCode(code)
        const hex = code.toString(16).padStart(4, "0")
        for (const text of [char, `\\${char}`, `\\u${hex}`, `\\u${hex.toUpperCase()}`]) {
          assert.strictEqual(firstFault(`"${text}"`) === undefined, isJson(`"${text}"`), text)
        }
      }
    })

    it("points into the text, after a start that can still become JSON", () => {
      fc.assert(fc.property(changed.filter((text) => !isJson(text)), (text) => {
        const { offset } = firstFault(text) ?? assert.fail("no fault")
        const start = firstFault(text.slice(0, offset))
        assert.isAtMost(offset, text.length)
        assert.isTrue(start === undefined || start.offset === offset)
      }))
    })

    it("is not hurt by depth", () => {
      assert.deepStrictEqual(firstFault("[".repeat(500_000)), { offset: 500_000, expected: "a value or ']'" })
    })
  })

  describe("decode", () => {
    const order = Schema.Struct({
      city: Schema.String,
      unit: Schema.Literals(["celsius", "fahrenheit"]),
      days: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 }))),
      stops: Schema.optionalKey(Schema.Array(Schema.Struct({ name: Schema.String, seat: Schema.Boolean })))
    })
    const target = { parameters: order }

    const refused = (value: unknown, parameters: Schema.ConstraintDecoder<unknown> = order) =>
      Effect.map(
        Effect.flip(Arguments.decode(JSON.stringify(value), { parameters })),
        (failure) => failure._tag === "SchemaMismatch" ? failure : assert.fail(failure._tag)
      )

    const paris = { city: "Paris", unit: "celsius" }

    it.effect("yields the typed parameters", () =>
      Effect.gen(function*() {
        const { params, repairs } = yield* Arguments.decode(
          "{\"city\":\"Paris\",\"unit\":\"celsius\",\"days\":2}",
          target
        )
        const days: number | undefined = params.days
        assert.deepStrictEqual([params.city, params.unit, days, repairs], ["Paris", "celsius", 2, []])
      }))

    it.effect("reads values in their JSON form, as the model was shown it", () =>
      Effect.gen(function*() {
        const parameters = Schema.Struct({ at: Schema.Date, id: Schema.BigInt })
        const { params } = yield* Arguments.decode(
          "{\"at\":\"2024-01-02T03:04:05.000Z\",\"id\":\"9007199254740993\"}",
          { parameters }
        )
        assert.deepStrictEqual(params, { at: new Date("2024-01-02T03:04:05.000Z"), id: 9007199254740993n })
      }))

    it.effect("gives a tool without required parameters no arguments at all", () =>
      Effect.gen(function*() {
        for (const text of [undefined, "", "null", "[]"]) {
          assert.deepStrictEqual(
            (yield* Arguments.decode(text, { parameters: Schema.Struct({}) })).params,
            {}
          )
        }
      }))

    it.effect("refuses unreadable text as parse does", () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(Arguments.decode("{\"city\":", target))
        assert.deepStrictEqual({ ...failure }, { ...refusal("{\"city\":") })
      }))

    it.effect("names every field at fault, with what was expected and what came", () =>
      Effect.gen(function*() {
        const failure = yield* refused({
          unit: "kelvin",
          days: 7,
          stops: [{ name: 1, seat: true }, { name: "Lyon" }]
        })
        assert.deepStrictEqual(failure.issues, [
          { path: ["city"], expected: "string", actual: "nothing" },
          { path: ["unit"], expected: "\"celsius\" | \"fahrenheit\"", actual: "\"kelvin\"" },
          { path: ["days"], expected: "a value between 1 and 5", actual: "7" },
          { path: ["stops", 0, "name"], expected: "string", actual: "1" },
          { path: ["stops", 1, "seat"], expected: "boolean", actual: "nothing" }
        ])
        assert.strictEqual(
          failure.detail,
          "'city': expected string, got nothing. 'unit': expected \"celsius\" | \"fahrenheit\", got \"kelvin\". " +
            "'days': expected a value between 1 and 5, got 7. 'stops.0.name': expected string, got 1. " +
            "'stops.1.seat': expected boolean, got nothing. Expected keys: 'city', 'unit', 'days', 'stops'."
        )
        assert.deepInclude({ ...failure }, {
          side: "arguments",
          code: "invalid_arguments"
        })
      }))

    it.effect("refuses a key that no parameter has, and names the one that was meant", () =>
      Effect.gen(function*() {
        const failure = yield* refused({ citi: "Paris", unit: "celsius" })
        assert.include(failure.detail, "'citi': no such key; did you mean 'city'?")
        assert.deepStrictEqual(failure.alternatives, ["city", "days", "stops", "unit"])
      }))

    it.effect("does not suggest a key for one that resembles none", () =>
      Effect.gen(function*() {
        const failure = yield* refused({ ...paris, language: "fr" })
        assert.deepStrictEqual(failure.issues, [{ path: ["language"], expected: "no such key", actual: "\"fr\"" }])
      }))

    it.effect("offers the keys that are still free first", () =>
      Effect.gen(function*() {
        const failure = yield* refused({ ...paris, unitt: "celsius" })
        assert.deepStrictEqual(failure.alternatives.slice(-2), ["unit", "city"])
      }))

    it.effect("offers the keys of the inner object for an unknown one inside it", () =>
      Effect.gen(function*() {
        const failure = yield* refused({ ...paris, stops: [{ nam: "Lyon", seat: true }] })
        assert.deepStrictEqual(failure.alternatives, ["name", "seat"])
      }))

    it.effect("offers an enum's choices, nearest first", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(
          (yield* refused({ ...paris, unit: "farenheit" })).alternatives,
          ["fahrenheit", "celsius"]
        )
        assert.deepStrictEqual((yield* refused({ ...paris, unit: "Celcius" })).alternatives, ["celsius", "fahrenheit"])
      }))

    it.effect("treats keys of every object's prototype as keys like any other", () =>
      Effect.gen(function*() {
        for (const key of ["__proto__", "constructor", "toString"]) {
          const text = `{"city":"Paris","unit":"celsius",${JSON.stringify(key)}:{}}`
          const failure = yield* Effect.flip(Arguments.decode(text, target))
          assert.include(failure.detail, `'${key}': no such key`)
        }
        const missing = yield* refused({}, Schema.Struct({ ["__proto__"]: Schema.String }))
        assert.deepStrictEqual(missing.issues, [{ path: ["__proto__"], expected: "string", actual: "nothing" }])
      }))

    it.effect("reports no more than twenty fields", () =>
      Effect.gen(function*() {
        const items = Array.from({ length: 30 }, () => "x")
        const failure = yield* refused({ items }, Schema.Struct({ items: Schema.Array(Schema.Int) }))
        assert.deepStrictEqual(failure.issues.map(({ path }) => path[1]), Array.from({ length: 20 }, (_, i) => i))
      }))

    it.effect("shows of a long value only its start", () =>
      Effect.gen(function*() {
        const failure = yield* refused({ ...paris, days: "x".repeat(10_000) })
        assert.isBelow(failure.detail.length, 250)
        assert.include(failure.detail, "more characters")
      }))

    it.effect("reads fields through a schema with a name", () =>
      Effect.gen(function*() {
        class Place extends Schema.Class<Place>("Place")({ city: Schema.String }) {}
        const failure = yield* refused({ place: { town: "Paris" } }, Schema.Struct({ place: Place }))
        assert.deepStrictEqual(failure.issues, [
          { path: ["place", "town"], expected: "no such key", actual: "\"Paris\"" },
          { path: ["place", "city"], expected: "string", actual: "nothing" }
        ])
        assert.deepStrictEqual(failure.alternatives, ["city"])
      }))

    it.effect("never dies of a value, and refuses it on one line", () =>
      Effect.gen(function*() {
        const values = fc.sample(object, { numRuns: 200, seed: 1 })
        for (const value of values) {
          const failure = yield* refused(value)
          assert.strictEqual(failure.code, "invalid_arguments")
          assert.notMatch(failure.detail, /[\p{Cc}\u2028\u2029]/u)
        }
      }))
  })

  describe("jsonSchema", () => {
    it("is a closed object, also for a tool without parameters", () => {
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

    it("carries its definitions inside", () => {
      class Place extends Schema.Class<Place>("Place")({ city: Schema.String }) {}
      const schema = Arguments.jsonSchema(Schema.Struct({ from: Place, to: Place }))
      const [name = ""] = Object.keys(schema["$defs"] ?? {})
      assert.deepInclude(schema, {
        properties: { from: { $ref: `#/$defs/${name}` }, to: { $ref: `#/$defs/${name}` } }
      })
    })
  })
})
