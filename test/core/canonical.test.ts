import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as fc from "fast-check"
import { canonical } from "../../packages/core/src/internal/value/canonical.ts"

const areSame = (one: unknown, other: unknown): boolean => {
  const known = canonical(one)
  return known !== undefined && known === canonical(other)
}

const shuffled = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(shuffled)
    : typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).toReversed().map(([key, field]) => [key, shuffled(field)]))
    : value

describe("a value as text", () => {
  it("is equal for equal values, whatever the order of keys", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => areSame(value, shuffled(value))), { numRuns: 300 })
  })

  it("differs for all other values", () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.jsonValue(),
        (one, other) =>
          areSame(one, other) ===
            (JSON.stringify(shuffled(shuffled(one))) === JSON.stringify(shuffled(shuffled(other))))
      ),
      { numRuns: 300 }
    )
    for (
      const [one, other] of [
        [1n, 1],
        ["1n", 1n],
        [[1, [2]], [1, 2]],
        [{ a: { b: 1 } }, { a: 1, b: 1 }],
        [null, {}],
        [NaN, null],
        [Infinity, -Infinity],
        [new Map([["a", 1]]), [["a", 1]]],
        [new Set([1]), [1]],
        [new Date(0), new Date(0).toISOString()],
        [[undefined], [null]]
      ]
    ) {
      assert.isFalse(areSame(one, other))
    }
  })

  it("does not exist for a value with unreadable content", () => {
    class Pin {
      #pin: string
      constructor(pin: string) {
        this.#pin = pin
      }
      is(pin: string) {
        return this.#pin === pin
      }
    }
    const endless: { self?: unknown } = {}
    endless.self = endless
    for (
      const [one, other] of [
        [Redacted.make("1"), Redacted.make("2")],
        [new Pin("1"), new Pin("2")],
        [endless, { self: {} }],
        [() => 1, () => 2]
      ]
    ) {
      assert.isFalse(areSame({ pin: one }, { pin: other }))
    }
  })

  it("supports values that JSON does not", () => {
    assert.isTrue(areSame({ a: undefined, b: 1 }, { b: 1 }))
    assert.isTrue(areSame(new Date(0), new Date(0)))
    assert.isFalse(areSame(new Date(0), new Date(1)))
    assert.isTrue(areSame(new Map([["a", 1n]]), new Map([["a", 1n]])))
    assert.isFalse(areSame(new Set([1]), new Set([2])))
    assert.isTrue(areSame(new Set([1, 2]), new Set([2, 1])))
    assert.isTrue(areSame(new Map([["a", 1], ["b", 2]]), new Map([["b", 2], ["a", 1]])))
    assert.isTrue(areSame(-0, 0))
    assert.isTrue(areSame(10n, 10n))
  })
})
