import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import * as fc from "fast-check"
import { isDeepStrictEqual } from "node:util"
import { identityOf } from "../../packages/core/src/internal/arguments/argumentIdentity.ts"

const Leaf = Schema.Union([
  Schema.Finite,
  Schema.String,
  Schema.Struct({ kind: Schema.Literal("date"), at: Schema.Date }),
  Schema.Struct({ kind: Schema.Literal("big"), of: Schema.BigInt }),
  Schema.Struct({ of: Schema.NullOr(Schema.String) })
])

const Arguments = Schema.Struct({
  amount: Schema.Finite,
  currency: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("EUR"))),
  at: Schema.Date,
  big: Schema.BigInt,
  leaf: Leaf,
  list: Schema.optionalKey(Schema.Array(Schema.Union([Leaf, Schema.Array(Leaf)])))
})

// Only a few values of each type, so that equal ones occur too.
const number = fc.constantFrom(0, -0, 1, 1.5, 1e21, 10, -1)
const date = fc.constantFrom(
  "2026-01-01T00:00:00Z",
  "2026-01-01T00:00:00.000Z",
  "2026-01-01T01:00:00+01:00",
  "2026-01-02T00:00:00Z"
)
const big = fc.constantFrom("0", "1", "10", "12345678901234567890", "12345678901234567891")
const leaf = fc.oneof(
  number,
  fc.constantFrom("", "1", "10n", "null", "EUR"),
  fc.record({ kind: fc.constant("date"), at: date }),
  fc.record({ kind: fc.constant("big"), of: big }),
  fc.record({ of: fc.constantFrom(null, "", "null") })
)
const written = fc.record({
  amount: number,
  currency: fc.constantFrom("EUR", "USD"),
  at: date,
  big,
  leaf,
  list: fc.array(fc.oneof(leaf, fc.array(leaf, { maxLength: 2 })), { maxLength: 2 })
}, { requiredKeys: ["amount", "at", "big", "leaf"] })

const decode = Schema.decodeUnknownSync(Schema.toCodecJson(Arguments))

const tool = { name: "pay", parameters: Arguments }
const effectOf = (json: object) => identityOf(tool, decode(json), JSON.stringify(json)).effect

const turned = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(turned)
    : typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).toReversed().map(([key, field]) => [key, turned(field)]))
    : value

// 0 and -0 have the same meaning.
const unsigned = (value: unknown): unknown =>
  value === 0
    ? 0
    : Array.isArray(value)
    ? value.map(unsigned)
    : typeof value === "object" && value !== null && !(value instanceof Date)
    ? Object.fromEntries(Object.entries(value).map(([key, field]) => [key, unsigned(field)]))
    : value

describe("the identity of arguments", () => {
  it("is equal for equal arguments, and for no others", () => {
    let equal = 0
    fc.assert(
      fc.property(written, written, (one, other) => {
        const isSame = isDeepStrictEqual(unsigned(decode(one)), unsigned(decode(other)))
        if (isSame) equal++
        return (effectOf(one) === effectOf(other)) === isSame
      }),
      { numRuns: 2_000 }
    )
    // Values that differ in one field.
    fc.assert(
      fc.property(
        written,
        written,
        fc.constantFrom("amount", "currency", "at", "big", "leaf", "list"),
        (one, other, key) => {
          const next = { ...one, ...(key in other ? { [key]: other[key] } : {}) }
          const isSame = isDeepStrictEqual(unsigned(decode(one)), unsigned(decode(next)))
          if (isSame) equal++
          return (effectOf(one) === effectOf(next)) === isSame
        }
      ),
      { numRuns: 2_000 }
    )
    assert.isAbove(equal, 200)
  })

  it("does not depend on the order of keys", () => {
    fc.assert(fc.property(written, (json) => effectOf(json) === effectOf(Object.assign({}, turned(json)))), {
      numRuns: 500
    })
  })

  it("distinguishes secrets, and then cannot serve as a key", () => {
    const secret = { name: "pay", parameters: Schema.Struct({ pin: Schema.Redacted(Schema.String) }) }
    const of = (pin: string) => identityOf(secret, { pin: Redacted.make(pin) }, JSON.stringify({ pin }))
    assert.strictEqual(of("1").effect, of("1").effect)
    assert.notStrictEqual(of("1").effect, of("2").effect)
    assert.isFalse(of("1").isFit)
  })

  it("is the text if the values are not comparable", () => {
    class Opaque {
      readonly #a: number
      constructor(a: number) {
        this.#a = a
      }
      get a() {
        return this.#a
      }
    }
    const opaque = { name: "pay", parameters: Schema.Struct({ a: Schema.instanceOf(Opaque) }) }
    const of = (text: string) => identityOf(opaque, { a: new Opaque(1) }, text)
    assert.strictEqual(of("{\"a\":1,\"b\":2}").whole, of("{ \"b\": 2, \"a\": 1 }").whole)
    assert.notStrictEqual(of("{\"a\":1}").whole, of("{\"a\":2}").whole)
  })
})
