import { assert, describe, it } from "@effect/vitest"
import * as Arguments from "@fallible/core/Arguments"
import { Effect, Schema } from "effect"
import { closed, expected, integer, string } from "../support/coercing.ts"
import { refusals } from "../support/refusals.ts"

describe("Coercion", () => {
  describe("refusals", () => {
    const parameters = Schema.Struct({
      id: Schema.String.check(Schema.isPattern(/^P-\d{4}$/, { expected: "'P-' and four digits" })),
      days: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })),
      drugs: Schema.Array(Schema.String).check(Schema.isMinLength(2, { expected: "2 drugs or more" }))
    })
    const expectations = (value: Schema.Json) =>
      refusals(parameters, value, false).map(([path, expected]) => [path, expected])

    it("state the schema's issues and the decoder's own, once each", () => {
      const refusals = expectations
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

    it("state a length as the decoder counts it", () => {
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

    it("describe a pattern and a check without words as the schema does", () => {
      assert.deepStrictEqual(of(Schema.String.check(Schema.isPattern(/^c-\d+$/)), "x"), [
        "string matching ^c-\\d+$, got \"x\""
      ])
      const silent = Schema.String.check(Schema.makeFilter((text: string) => text.length > 3))
      assert.deepStrictEqual(of(silent, "x"), ["a valid value, got \"x\""])
    })

    it("show the value that the model wrote, not the coerced one", () => {
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

  describe("unions", () => {
    it("of objects describe the members, and refer to the intended one", () => {
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
  })

  describe("messages", () => {
    it("count items even if only the decoder rejects them", () => {
      const parameters = Schema.Struct({ ids: Schema.Array(Schema.String.check(Schema.isPattern(/^c-\d+$/))) })
      assert.deepStrictEqual(refusals(parameters, { ids: Array.from({ length: 60 }, () => "d") }).at(-1), [
        "ids",
        "string matching ^c-\\d+$ for each item",
        "57 more items like these"
      ])
    })
  })
})

describe("findings of a second reader", () => {
  it("an author's words are bounded and on one line", () => {
    const parameters = Schema.Struct({
      a: Schema.String.check(Schema.makeFilter((text) => text.length < 3 ? undefined : `bad:\n${text}`))
    })
    const text = JSON.stringify({ a: "x\n".repeat(100_000) })
    const { detail, issues } = Effect.runSync(Effect.flip(Arguments.decode(text, { parameters })))
    assert.isBelow(detail.length, 800)
    assert.notMatch(`${detail}${issues[0]?.expected}`, /\n/)
  })

  it("a nonexistent day is refused even if the decoder does not check it", () => {
    const parameters = Schema.Struct({ day: Schema.String.annotate({ format: "date" }) })
    const failure = Effect.runSync(Effect.flip(Arguments.decode("{\"day\":\"2024-02-30\"}", { parameters })))
    assert.strictEqual(failure.code, "invalid_arguments")
  })
})
