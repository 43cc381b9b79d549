/**
 * Laws of every argument text, not only of chosen examples: over generated values, and over texts with all
 * deviations that the parser tolerates.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import { coerce, fits } from "@fallible/arguments/internal"
import * as Arguments from "@fallible/core/Arguments"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Effect, Result, Schema } from "effect"
import * as fc from "fast-check"
import { isDeepStrictEqual } from "node:util"
import type * as DispatchFailure from "../../packages/core/src/internal/arguments/dispatchFailure.ts"
import { inside, write, Writer } from "../support/dialects.ts"
import { runs } from "../support/runs.ts"

type Kind = ToolOutcome.TextRepair["kind"]
type Json = Schema.Json

const noted: ReadonlySet<Kind> = new Set<Kind>([
  "prose",
  "surplus_closers",
  "missing_comma",
  "smart_quotes",
  "escaped_quotes",
  "duplicate_key"
])

const read = (text: string) => Arguments.parse(text)

const isRefused = (text: string) => Result.isFailure(read(text))

const accepted = (text: string) =>
  Result.getOrElse(read(text), ({ detail }) => assert.fail(`refused: ${JSON.stringify(text)}: ${detail}`))

const strict = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

// -----------------------------------------------------------------------------
// Values
// -----------------------------------------------------------------------------

// Pieces of syntax that a reader might misinterpret inside a string.
const pieces = fc.constantFrom(
  "\"",
  "'",
  "\\",
  "{",
  "}",
  "[",
  "]",
  ":",
  ",",
  "://",
  "//",
  "/*",
  "*/",
  "#",
  "```",
  "```json\n",
  "<|im_end|>",
  "<tool_call>",
  "</tool_call>",
  "“",
  "”",
  "‘",
  "’",
  "it's",
  "null",
  "None",
  "...",
  "\n",
  "\t",
  "\r",
  "\0",
  "\u007f",
  "\u00a0",
  "\u2028",
  "\ufeff",
  "\ud800",
  "é",
  "漢字",
  "😀",
  " ",
  "0",
  "-1",
  "a",
  "b",
  "\\u003a",
  "{\"a\":1}"
)

const text = fc.array(fc.oneof({ weight: 4, arbitrary: pieces }, fc.string({ unit: "binary", maxLength: 3 })), {
  maxLength: 6
}).map((parts) => parts.join(""))

const names = fc.constantFrom(
  "a",
  "b",
  "city",
  "unit",
  "$ref",
  "_id",
  "größe",
  "città",
  "x1",
  "constructor",
  "toString",
  "true",
  "NaN"
)

const scalar = fc.oneof(
  text,
  text,
  fc.maxSafeInteger(),
  fc.integer({ min: -9, max: 1500 }),
  // Excludes -0, which JSON.stringify writes as 0.
  fc.double({ min: -1e15, max: 1e15, noNaN: true }).map((number) => number + 0),
  fc.boolean(),
  fc.constant(null)
)

const { object } = fc.letrec<{ value: Json; array: ReadonlyArray<Json>; object: Schema.JsonObject }>((tie) => ({
  value: fc.oneof({ depthSize: "small", withCrossShrink: true }, scalar, tie("array"), tie("object")),
  array: fc.array(tie("value"), { maxLength: 4 }),
  // Prototype keys have their own law.
  object: fc.dictionary(fc.oneof(names, text.filter((key) => key !== "__proto__")), tie("value"), {
    maxKeys: 4,
    noNullPrototype: true
  })
}))

const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null

const choices = fc.array(fc.nat(840), { minLength: 20, maxLength: 60 })

/** Returns a function that takes the next choice below a number. */
const choosing = (choices: ReadonlyArray<number>) => {
  let at = 0
  return (n: number) => choices[at++ % choices.length]! % n
}

const liberal = fc.record({ value: object, choices, allowed: fc.subarray([...inside], { minLength: 1 }) }).map(
  ({ allowed, choices, value }) => ({ value, written: write(value, choosing(choices), allowed) })
)

/** Strict JSON with all kinds of white space and escapes. */
const plain = fc.record({ value: object, choices }).map(({ choices, value }) => ({
  value,
  text: new Writer(choosing(choices), new Set()).value(value)
}))

/** Returns the cuts of a text: every prefix of a short text, and some of a long one. */
const cuts = (from: number, to: number): ReadonlyArray<number> => {
  const step = Math.max(1, Math.ceil((to - from) / 150))
  return Array.from({ length: Math.ceil((to - from) / step) }, (_, index) => from + index * step)
}

// -----------------------------------------------------------------------------
// Laws
// -----------------------------------------------------------------------------

describe("of strict JSON", () => {
  it("every object is read as written, without repairs", () => {
    fc.assert(
      fc.property(plain, ({ text, value }) => {
        const { isExact, repairs, value: got } = accepted(text)
        // Not compared with JSON.parse, for the reason in the next law.
        assert.deepStrictEqual(got, value, text)
        assert.deepStrictEqual([repairs, isExact], [[], true])
      }),
      { numRuns: runs(2_000) }
    )
  })

  it("no key is confused with one of an earlier text, unlike in V8's JSON.parse if a key has a backslash", () => {
    accepted("{\"shape\":0,\"a\\\\\":1}")
    for (const key of ["a\"", "a\n", "a\t"]) {
      assert.deepStrictEqual(accepted(JSON.stringify({ shape: 0, [key]: 1 })).value, { shape: 0, [key]: 1 })
    }
  })

  it("no proper prefix of an object is accepted", () => {
    fc.assert(
      fc.property(plain, ({ text }) => {
        for (const cut of cuts(1, text.length)) assert.isTrue(isRefused(text.slice(0, cut)), text.slice(0, cut))
      }),
      { numRuns: runs(400) }
    )
  })

  it("no missing or surplus quote, bracket, colon or backslash changes the value of an object", () => {
    fc.assert(
      fc.property(plain, ({ text, value }) => {
        for (let at = 0; at < text.length; at++) {
          if (!"\"'{}[]:\\“”‘’".includes(text[at]!)) continue
          for (
            const changed of [text.slice(0, at) + text.slice(at + 1), text.slice(0, at) + text[at] + text.slice(at)]
          ) {
            // An escaped quote that lost its quote may now escape an apostrophe.
            if (strict(changed) !== undefined || changed.includes("\\'")) continue
            Result.match(read(changed), {
              onFailure: () => {},
              onSuccess: (got) => assert.deepStrictEqual(got.value, value, changed)
            })
          }
        }
      }),
      { numRuns: runs(400) }
    )
  })

  it("each number is found by its path in its source text", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("", " ", "\n", "\t\r\n"),
        fc.double({ min: -1e15, max: 1e15, noNaN: true }),
        (space, number) => {
          const digits = `${JSON.stringify(number)}${Number.isInteger(number) ? ".0" : "0"}`
          fc.pre(!digits.includes("e"))
          for (const text of [`{"a":[${digits}]}`, `{a:[${digits}]}`, JSON.stringify(`${space}{"a":[${digits}]}`)]) {
            assert.strictEqual(accepted(`${space}${text}`).numberAt(["a", 0]), digits, `${space}${text}`)
          }
        }
      ),
      { numRuns: runs(200) }
    )
  })
})

describe("of JSON as models write it", () => {
  it("a text with deviations is read as the written value, and all deviations are reported", () => {
    fc.assert(
      fc.property(liberal, ({ value, written: { kinds, text } }) => {
        const notes = [...kinds].filter((kind) => noted.has(kind))
        if (notes.length > 2) {
          const { fault } = Result.getOrThrow(Result.flip(read(text)))
          assert.strictEqual(fault?.kind, "too_many_repairs", text)
          return
        }
        const { repairs, value: got } = accepted(text)
        assert.deepStrictEqual(got, value, text)
        assert.sameMembers(repairs.map(({ kind }) => kind), [...kinds], text)
        for (const { kind, note } of repairs) assert.strictEqual(note !== undefined, noted.has(kind), kind)
      }),
      { numRuns: runs(3_000) }
    )
  })

  it("no proper prefix of an object with deviations is accepted, and text after it never changes its value", () => {
    fc.assert(
      fc.property(liberal, ({ value, written: { end, start, text } }) => {
        for (const cut of cuts(start + 1, end)) assert.isTrue(isRefused(text.slice(0, cut)), text.slice(0, cut))
        for (const cut of cuts(end, text.length)) {
          Result.match(read(text.slice(0, cut)), {
            onFailure: () => {},
            onSuccess: (got) => assert.deepStrictEqual(got.value, value, text.slice(0, cut))
          })
        }
      }),
      { numRuns: runs(500) }
    )
  })

  it.each(["# heading", "// call it", "/* nothing */", "<tool_call>", "<|python_tag|>", "```get_weather```"])(
    "a text that ends before its object is not a call without arguments: %j",
    (text) => {
      assert.isTrue(isRefused(text))
    }
  )

  it.each([
    "null    {\"a\":1}",
    "null    I cannot do that",
    "None\n\n\n\nof these",
    `${"\u00a0".repeat(8)}{"a":1}`,
    "\f\f\f\f\f\f\f\fno"
  ])("a text that continues after blanks is not a call without arguments: %j", (text) => {
    Result.match(read(text), {
      onFailure: () => {},
      onSuccess: ({ value }) => assert.notDeepEqual(value, {})
    })
  })

  it.each(["\u00a0", "\u2028", "\ufeff", "\f"])(
    "white space outside JSON is not a surplus bracket: %j",
    (space) => {
      Result.match(read(`{"a":1}${space}`), {
        onFailure: () => {},
        onSuccess: ({ repairs }) => assert.notInclude(repairs.map(({ kind }) => kind), "surplus_closers")
      })
    }
  )

  it.each(["\r", "\u2028", "\u2029"])("a comment does not extend past a line that ends in %j", (newLine) => {
    for (const start of ["//", "#"]) {
      Result.match(read(`{"a":[1, ${start} one${newLine}2\n]}`), {
        onFailure: () => {},
        onSuccess: ({ value }) => assert.deepStrictEqual(value, { a: [1, 2] })
      })
    }
  })

  it.each([
    "{\"a\":1} + 2",
    "{\"a\":1} ? 1 : 2",
    "x ? {\"a\":1} : b",
    "foo(bar: {\"a\":1}",
    "foo(bar: {\"a\":1} and baz: 2)",
    "ключ: {\"a\":1}"
  ])("an expression, a cut-off call and a key are not words around an object: %j", (text) => {
    assert.isTrue(isRefused(text))
  })
})

// -----------------------------------------------------------------------------
// Previews
// -----------------------------------------------------------------------------

/** True if one value may be a partial reading of another. */
const agrees = (soFar: unknown, whole: unknown): boolean => {
  if (typeof soFar === "string" && typeof whole === "string") return whole.startsWith(soFar)
  if (!isContainer(soFar) || !isContainer(whole)) return Object.is(soFar, whole)
  if (Array.isArray(soFar) !== Array.isArray(whole)) return false
  return (!Array.isArray(soFar) || !Array.isArray(whole) || soFar.length <= whole.length) &&
    Object.entries(soFar).every(([key, item]) => Object.hasOwn(whole, key) && agrees(item, Reflect.get(whole, key)))
}

describe("a preview", () => {
  it("of any prefix of an object shows nothing that the whole does not have", () => {
    fc.assert(
      fc.property(plain, ({ text, value }) => {
        for (const cut of cuts(0, text.length)) {
          const { soFar } = Arguments.preview(text.slice(0, cut))
          assert.isTrue(agrees(soFar, value), text.slice(0, cut))
        }
        assert.deepStrictEqual(Arguments.preview(text).soFar, value)
      }),
      { numRuns: runs(400) }
    )
  })

  it("of an object with deviations agrees with the final value", () => {
    const shown = liberal.filter(({ written: { kinds } }) =>
      !kinds.has("prose") && !kinds.has("double_encoded") && !kinds.has("escaped_quotes")
    )
    fc.assert(
      fc.property(shown, ({ value, written: { text } }) => {
        for (const cut of cuts(0, text.length)) {
          assert.isTrue(agrees(Arguments.preview(text.slice(0, cut)).soFar, value), text.slice(0, cut))
        }
        assert.deepStrictEqual(Arguments.preview(text).soFar, value, text)
      }),
      { numRuns: runs(300) }
    )
  })
})

// -----------------------------------------------------------------------------
// Any text at all
// -----------------------------------------------------------------------------

const soup = fc.array(
  fc.oneof(
    pieces,
    fc.constantFrom(
      "{\"a\":",
      "\"b\":",
      "c:",
      "'d'",
      "“e”",
      "1e5",
      "9007199254740993",
      "1e999",
      "true",
      "False",
      "NaN",
      "\"__proto__\":",
      "__proto__:",
      "\"constructor\":{\"prototype\":",
      "\\\"",
      "\\u00",
      "{",
      "}",
      "}",
      ",",
      "Here: ",
      " ok",
      "(",
      ")",
      "=",
      "+",
      "[]",
      "{}"
    )
  ),
  { maxLength: 14 }
).map((parts) => parts.join(""))

const mangled = fc.record({
  text: fc.oneof(plain, liberal.map(({ written }) => written)),
  at: fc.nat(),
  cut: fc.nat(2),
  by: pieces
})
  .map(({ at, by, cut, text: { text } }) => {
    const place = at % (text.length + 1)
    return text.slice(0, place) + by + text.slice(place + cut)
  })

const anyText = fc.oneof(fc.string({ unit: "binary" }), soup, soup, mangled)

/** True if a value, or a part of it, has a key that reaches a prototype, or an unusual prototype. */
const isTainted = (value: unknown): boolean => {
  if (!isContainer(value)) return typeof value === "number" && !Number.isFinite(value)
  const prototype = Object.getPrototypeOf(value)
  return prototype !== Object.prototype && prototype !== Array.prototype || Object.hasOwn(value, "__proto__") ||
    Object.hasOwn(value, "constructor") && isContainer(Reflect.get(value, "constructor")) &&
      Object.hasOwn(Object(Reflect.get(value, "constructor")), "prototype") ||
    Object.values(value).some(isTainted)
}

const frozen = <A>(value: A): A => {
  if (isContainer(value)) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}

const schemas = [
  Schema.Record(Schema.String, Schema.Json),
  Schema.Struct({}),
  Schema.Struct({ a: Schema.Int, b: Schema.optionalKey(Schema.String) }),
  Schema.Struct({
    a: Schema.optionalKey(Schema.Array(Schema.Finite)),
    city: Schema.optionalKey(Schema.Literals(["Paris", "Rome"])),
    b: Schema.optionalKey(Schema.Struct({ c: Schema.NullOr(Schema.Boolean), d: Schema.optionalKey(Schema.BigInt) })),
    unit: Schema.optionalKey(Schema.Union([Schema.Date, Schema.Int]))
  })
]

const isWellTold = ({ code, detail, fault }: DispatchFailure.Mismatch, text: string) => {
  assert.include(["invalid_json", "invalid_arguments"], code)
  assert.isBelow(detail.length, 3_000)
  if (fault !== undefined) {
    assert.isAtLeast(fault.offset, 0)
    assert.isAtMost(fault.offset, text.length)
  }
}

describe("of any text", () => {
  it("the result is a value or a refusal, and nothing reaches a prototype", () => {
    const before = Object.getOwnPropertyNames(Object.prototype)
    fc.assert(
      fc.property(anyText, (text) => {
        Result.match(read(text), {
          onFailure: (failure) => isWellTold(failure, text),
          onSuccess: ({ numberAt, repairs, value }) => {
            assert.isFalse(isTainted(value))
            assert.isAtMost(repairs.filter(({ note }) => note !== undefined).length, 2)
            assert.strictEqual(new Set(repairs.map(({ kind }) => kind)).size, repairs.length)
            numberAt(["a"])
            // JSON is read as that JSON. Compares with `JSON.parse` where that is reliable.
            const second = strict(text)
            if (second !== undefined && repairs.length === 0 && !text.includes("\\")) {
              assert.deepStrictEqual(value, second)
            }
          }
        })
        Arguments.preview(text)
      }),
      { numRuns: runs(8_000) }
    )
    assert.deepStrictEqual(Object.getOwnPropertyNames(Object.prototype), before)
  })

  it("the result is parameters or a refusal, whatever the schema", () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom(...schemas), (text, parameters: Schema.ConstraintDecoder<unknown>) => {
        Result.match(Effect.runSync(Effect.result(Arguments.decode(text, { parameters }))), {
          onFailure: (failure) => isWellTold(failure, text),
          onSuccess: ({ params }) => assert.isTrue(isContainer(params))
        })
      }),
      { numRuns: runs(3_000) }
    )
  })

  it("is read the same when it is read again", () => {
    fc.assert(fc.property(anyText, (text) => {
      const [one, two] = [read(text), read(text)]
      assert.isTrue(
        isDeepStrictEqual(
          Result.match(one, { onFailure: ({ fault }) => fault, onSuccess: ({ value }) => value }),
          Result.match(two, { onFailure: ({ fault }) => fault, onSuccess: ({ value }) => value })
        )
      )
    }))
  })

  it("missing arguments give a fresh object each time", () => {
    for (const text of [undefined, "", "null"]) {
      const [one, two] = [Arguments.parse(text), Arguments.parse(text)].map(Result.getOrThrow)
      assert.notStrictEqual(one!.value, two!.value)
    }
  })
})

describe("of any value", () => {
  it("coercing does not mutate it", () => {
    fc.assert(
      fc.property(
        object.map(frozen),
        fc.constantFrom(...schemas),
        (value, parameters: Schema.ConstraintDecoder<unknown>) => {
          const schema = Arguments.jsonSchema(parameters)
          // The value is frozen, so an assignment would throw.
          const { value: coerced } = coerce(value, schema)
          fits(coerced, schema)
        }
      ),
      { numRuns: runs(1_000) }
    )
  })
})
