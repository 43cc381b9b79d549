import { assert, describe, it } from "@effect/vitest"
import * as Arguments from "@fallible/core/Arguments"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Effect, Result, Schema } from "effect"
import * as fc from "fast-check"
import { anyText, object, objectText } from "../support/nearlyJson.ts"
import { detail, refusal, value } from "../support/parsing.ts"

describe("Arguments", () => {
  describe("parse", () => {
    it("reads an empty text, null and an empty array as no arguments", () => {
      for (const text of [undefined, "", "  \n\t", "null", " null\n", "[]", " [ ] "]) {
        assert.deepStrictEqual(value(text), {})
      }
    })

    it("reads one strict object without repairs", () => {
      const parsed = Result.getOrThrow(Arguments.parse(" {\"city\": \"Paris\", \"days\": [1, 2]}\n"))
      assert.deepStrictEqual(parsed.value, { city: "Paris", days: [1, 2] })
      assert.deepStrictEqual(parsed.repairs, [])
    })

    it("keeps the source text of numbers", () => {
      for (
        const text of [
          "{\"a\":[1.10,{\"b\":1e2}],\"c\":12345678901234567890}",
          "{'a':[1.10,{b:1e2,}],c:12345678901234567890}"
        ]
      ) {
        const { isExact, numberAt } = Result.getOrThrow(Arguments.parse(text))
        assert.deepStrictEqual(
          [["a", 0], ["a", 1, "b"], ["c"], ["a"], ["a", 2], [], ["d", "e"]].map(numberAt),
          ["1.10", "1e2", "12345678901234567890", undefined, undefined, undefined, undefined]
        )
        assert.isFalse(isExact)
      }
      const inside = Result.getOrThrow(Arguments.parse(JSON.stringify("{\"a\":1.50}")))
      assert.strictEqual(inside.numberAt(["a"]), "1.50")
      assert.isTrue(inside.isExact)
    })

    it("reads a text of the maximal length, and refuses one more byte", () => {
      const longest = `{"a":"${"x".repeat(Arguments.maxBytes - 8)}"}`
      assert.strictEqual(longest.length, Arguments.maxBytes)
      assert.property(value(longest), "a")
      assert.strictEqual(detail(`${longest} `), "They are too long: expected at most 1048576 bytes.")
      const wide = `{"a":"${"é".repeat((Arguments.maxBytes - 8) / 2)}"}`
      assert.property(value(wide), "a")
      assert.strictEqual(refusal(` ${wide}`).fault?.kind, "too_long")
    })

    it("agrees with JSON.parse on every object, repairs or refuses other texts, and never throws", () => {
      fc.assert(
        fc.property(anyText, (text) =>
          Result.match(Arguments.parse(text), {
            onSuccess: ({ repairs, value }) => {
              if (repairs.length === 0) assert.deepStrictEqual(value, JSON.parse(text))
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

    it.effect("reads values in the JSON form that the model got", () =>
      Effect.gen(function*() {
        const parameters = Schema.Struct({ at: Schema.Date, id: Schema.BigInt })
        const { params } = yield* Arguments.decode(
          "{\"at\":\"2024-01-02T03:04:05.000Z\",\"id\":\"9007199254740993\"}",
          { parameters }
        )
        assert.deepStrictEqual(params, { at: new Date("2024-01-02T03:04:05.000Z"), id: 9007199254740993n })
      }))

    it.effect("accepts no arguments for a tool without required parameters", () =>
      Effect.gen(function*() {
        for (const text of [undefined, "", "null", "[]"]) {
          assert.deepStrictEqual(
            (yield* Arguments.decode(text, { parameters: Schema.Struct({}) })).params,
            {}
          )
        }
      }))

    it.effect("refuses unreadable text like parse", () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(Arguments.decode("{\"city\":", target))
        assert.deepStrictEqual({ ...failure }, { ...refusal("{\"city\":") })
      }))

    it.effect("names every field at fault, with the expected and the actual value", () =>
      Effect.gen(function*() {
        const failure = yield* refused({
          unit: "kelvin",
          days: 7,
          stops: [{ name: null, seat: true }, { name: "Lyon" }]
        })
        assert.deepStrictEqual(failure.issues, [
          { path: ["city"], expected: "string", actual: "nothing" },
          { path: ["unit"], expected: "\"celsius\" | \"fahrenheit\"", actual: "\"kelvin\"" },
          { path: ["days"], expected: "integer from 1 to 5", actual: "7" },
          { path: ["stops", 0, "name"], expected: "string", actual: "null" },
          { path: ["stops", 1, "seat"], expected: "boolean", actual: "nothing" }
        ])
        assert.strictEqual(
          failure.detail,
          "'city': expected string, got nothing. 'unit': expected \"celsius\" | \"fahrenheit\", got \"kelvin\". " +
            "'days': expected integer from 1 to 5, got 7. 'stops.0.name': expected string, got null. " +
            "'stops.1.seat': expected boolean, got nothing. Expected keys: 'city', 'unit', 'days', 'stops'."
        )
        assert.deepInclude({ ...failure }, {
          side: "arguments",
          code: "invalid_arguments"
        })
      }))

    it.effect("refuses an unknown key, and suggests the intended one", () =>
      Effect.gen(function*() {
        const failure = yield* refused({ citi: "Paris", unit: "celsius" })
        assert.include(failure.detail, "'citi': no such key. Did you mean 'city'?")
        assert.deepStrictEqual(failure.alternatives, ["city", "days", "stops", "unit"])
      }))

    it.effect("suggests no key for one without a resemblance", () =>
      Effect.gen(function*() {
        const failure = yield* refused({ ...paris, language: "fr" })
        assert.deepStrictEqual(failure.issues, [{ path: ["language"], expected: "no such key", actual: "\"fr\"" }])
      }))

    it.effect("offers unused keys first", () =>
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

    it.effect("treats the keys of Object.prototype like any other keys", () =>
      Effect.gen(function*() {
        for (const key of ["constructor", "toString"]) {
          const text = `{"city":"Paris","unit":"celsius",${JSON.stringify(key)}:{}}`
          const failure = yield* Effect.flip(Arguments.decode(text, target))
          assert.include(failure.detail, `'${key}': no such key`)
        }
        const missing = yield* refused({}, Schema.Struct({ ["__proto__"]: Schema.String }))
        assert.deepStrictEqual(missing.issues, [{ path: ["__proto__"], expected: "string", actual: "nothing" }])
      }))

    it.effect("reports at most twenty fields", () =>
      Effect.gen(function*() {
        const items = Array.from({ length: 30 }, () => "x")
        const failure = yield* refused({ items }, Schema.Struct({ items: Schema.Array(Schema.Int) }))
        assert.deepStrictEqual(failure.issues.map(({ path }) => path.join(".")), [
          "items.0",
          "items.1",
          "items.2",
          "items"
        ])
        assert.include(failure.detail, "27 more items like these")
        const keys = Array.from({ length: 30 }, (_, index) => [`key${index}`, index])
        assert.strictEqual(
          (yield* refused(Object.fromEntries(keys), Schema.Struct({ a: Schema.String }))).issues.length,
          20
        )
      }))

    it.effect("shows only the start of a long value", () =>
      Effect.gen(function*() {
        const failure = yield* refused({ ...paris, days: "x".repeat(10_000) })
        assert.isBelow(failure.detail.length, 250)
        assert.include(failure.detail, "more characters")
      }))

    it.effect("reads fields through a named schema", () =>
      Effect.gen(function*() {
        class Place extends Schema.Class<Place>("Place")({ city: Schema.String }) {}
        const failure = yield* refused({ place: { town: "Paris" } }, Schema.Struct({ place: Place }))
        assert.deepStrictEqual(failure.issues, [
          { path: ["place", "city"], expected: "string", actual: "nothing" },
          { path: ["place", "town"], expected: "no such key", actual: "\"Paris\"" }
        ])
        assert.deepStrictEqual(failure.alternatives, ["city"])
      }))

    it.effect("never dies of a value, and refuses it in one line", () =>
      Effect.gen(function*() {
        const values = fc.sample(object, { numRuns: 200, seed: 1 })
        for (const value of values) {
          const failure = yield* refused(value)
          assert.strictEqual(failure.code, "invalid_arguments")
          assert.notMatch(failure.detail, /[\p{Cc}\u2028\u2029]/u)
        }
      }))
  })

  describe("decode, if the text has more information than JSON.parse keeps", () => {
    const anything = Schema.Struct({ id: Schema.Union([Schema.Json, Schema.Undefined]) })
    const decode = <P>(text: string, parameters: Schema.ConstraintDecoder<P>, sideEffect?: SideEffect.SideEffect) =>
      Effect.runSync(
        Effect.result(Arguments.decode(text, { parameters, ...(sideEffect === undefined ? {} : { sideEffect }) }))
      )
    const params = <P>(text: string, parameters: Schema.ConstraintDecoder<P>) =>
      Result.getOrThrow(decode(text, parameters)).params
    const notes = <P>(text: string, parameters: Schema.ConstraintDecoder<P>) =>
      Result.getOrThrow(decode(text, parameters)).repairs.flatMap(({ note }) => note ?? [])

    it("keeps all digits of an integer for a string or a bigint, and refuses it for other types", () => {
      const text = "{\"id\":12345678901234567890}"
      assert.deepStrictEqual(params(text, Schema.Struct({ id: Schema.String })), { id: "12345678901234567890" })
      assert.deepStrictEqual(params(text, Schema.Struct({ id: Schema.BigInt })), { id: 12345678901234567890n })
      for (
        const parameters of [
          Schema.Struct({ id: Schema.Number }),
          Schema.Struct({ id: Schema.Int }),
          Schema.Record(Schema.String, Schema.Json),
          Schema.Struct({ id: Schema.Unknown }),
          anything
        ]
      ) {
        const refused = Result.getOrThrow(Result.flip(decode<unknown>(text, parameters)))
        assert.strictEqual(refused.code, "invalid_arguments")
        assert.include(refused.detail, "'id': expected ")
      }
    })

    it("keeps a number as written for a string", () => {
      const parameters = Schema.Struct({ version: Schema.String })
      assert.deepStrictEqual(params("{\"version\":1.10}", parameters), { version: "1.10" })
      assert.deepStrictEqual(params("{version:1.10,}", parameters), { version: "1.10" })
      assert.strictEqual(notes("{\"version\":1.10}", parameters).length, 1)
      // A number that is written in two ways has two readings.
      assert.isTrue(Result.isFailure(decode("{\"version\":1.10,\"version\":1.1}", parameters)))
      assert.deepStrictEqual(params("{\"n\":1.10,\"n\":1.1}", Schema.Struct({ n: Schema.Number })), { n: 1.1 })
    })

    it("quotes no part of an unreadable text with a secret", () => {
      const parameters = Schema.Struct({ n: Schema.Int, pw: Schema.Redacted(Schema.String) })
      for (const text of ["{\"n\":1,\"pw\":\"hunter2", "{\"n\":1,\"pw\":\"hun\"hunter2\"}", "{\"pw\":hunter2}"]) {
        const failure = Result.getOrThrow(Result.flip(decode(text, parameters)))
        assert.notInclude(JSON.stringify(failure), "hunter2")
        assert.strictEqual(failure.code, "invalid_json")
      }
    })

    it("skips words around the arguments of a tool that only reads, but never of a tool that acts", () => {
      const text = "I will NOT call it with these arguments: {\"id\":5}"
      const parameters = Schema.Struct({ id: Schema.Int })
      for (const sideEffect of ["none", undefined] as const) {
        assert.deepStrictEqual(Result.getOrThrow(decode(text, parameters, sideEffect)).params, { id: 5 })
      }
      for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
        const refused = Result.getOrThrow(Result.flip(decode(text, parameters, sideEffect)))
        assert.deepInclude({ ...refused }, {
          code: "invalid_json",
          detail: "The arguments cannot be read. There are words around them, near `I will NOT call it w…`.",
          fault: { kind: "prose", offset: 0, line: 1, column: 1 }
        })
        for (
          const [around, offset] of [
            ["{\"id\":5}</tool_call>\nDone.", 21],
            ["Not yet:\n{\"id\":5}", 0]
          ] as const
        ) {
          const { fault } = Result.getOrThrow(Result.flip(decode(around, parameters, sideEffect)))
          assert.deepInclude({ ...fault }, { kind: "prose", offset })
        }
        assert.deepStrictEqual(
          Result.getOrThrow(decode("<tool_call>{\"id\":5}</tool_call>", parameters, sideEffect)).params,
          { id: 5 }
        )
      }
    })

    it("refuses a value outside the schema that the model got, even if the decoder accepts it", () => {
      const refused = (value: unknown, schema: Schema.ConstraintDecoder<unknown>) =>
        Result.getOrThrow(Result.flip(decode(JSON.stringify({ value }), Schema.Struct({ value: schema })))).detail
      assert.include(refused("NaN", Schema.Number), "'value': expected number")
      assert.include(refused("-Infinity", Schema.Number), "'value': expected number")
      assert.include(refused("01/02/2024", Schema.Date), "'value': expected ")
      assert.include(refused("2024-01-02T10:00:00", Schema.Date), "'value': expected ")
    })

    it("never mutates its input", () => {
      const { repairs } = Result.getOrThrow(
        decode("{\"a\":{\"b\":\"1\"}}", Schema.Struct({ a: Schema.Struct({ b: Schema.Int }) }))
      )
      assert.deepStrictEqual(repairs, [{ kind: "text_for_number", path: ["a", "b"] }])
    })
  })

  describe("preview", () => {
    it("shows the members that are written", () => {
      const text = "{\"a\":\"x\",\"b\":[1,{\"c\":true,\"d\":25}],\"e\":\"y\"}"
      const seen = Array.from(
        new Set(Array.from(text, (_, end) => JSON.stringify(Arguments.preview(text.slice(0, end)).soFar)))
      )
      assert.deepStrictEqual(seen, [
        "{}",
        "{\"a\":\"\"}",
        "{\"a\":\"x\"}",
        "{\"a\":\"x\",\"b\":[]}",
        "{\"a\":\"x\",\"b\":[1]}",
        "{\"a\":\"x\",\"b\":[1,{}]}",
        "{\"a\":\"x\",\"b\":[1,{\"c\":true}]}",
        "{\"a\":\"x\",\"b\":[1,{\"c\":true,\"d\":25}]}",
        "{\"a\":\"x\",\"b\":[1,{\"c\":true,\"d\":25}],\"e\":\"\"}",
        "{\"a\":\"x\",\"b\":[1,{\"c\":true,\"d\":25}],\"e\":\"y\"}"
      ])
    })

    it("skips text before the object", () => {
      for (const before of ["```json\n", "<tool_call>", "\ufeff", " \n"]) {
        assert.deepStrictEqual(Arguments.preview(`${before}{city: 'Paris', n`).soFar, { city: "Paris" })
      }
    })

    it("shows nothing of a text without an object, and stops at an unreadable place", () => {
      for (const text of ["", "nul", "[1,2", "Hello", "\"{", "{", "{\"__proto__\":{\"a\":1}"]) {
        assert.deepStrictEqual(Arguments.preview(text).soFar, {})
      }
      assert.deepStrictEqual(Arguments.preview("{\"a\":1,\"b\":oops,\"c\":2}").soFar, { a: 1 })
    })
  })
})

describe("findings of a second reader", () => {
  it("large numbers are unchanged if another part is repaired", () => {
    const parameters = Schema.Struct({ a: Schema.Int, b: Schema.Number })
    for (const b of ["1e16", "1e25", "1.5"]) {
      const { params } = Effect.runSync(Arguments.decode(`{"a":"1","b":${b}}`, { parameters }))
      assert.deepStrictEqual(params, { a: 1, b: Number(b) })
    }
  })
})
