import { assert, describe, it } from "@effect/vitest"
import { CallFacts, SemanticGarbage } from "@fallible/core"
import { HashMap, Redacted } from "effect"
import * as fc from "fast-check"

const garbage = new SemanticGarbage({ code: "c", detail: "d" })
const failed = { _tag: "Failed", failure: garbage, stage: "run", attempts: 1, handled: [] } as never

/** Are calls with these parameters the same? */
const areSame = (one: unknown, other: unknown): boolean => {
  const [a, b] = [{ id: "1", name: "t", arguments: "<one>" }, { id: "2", name: "t", arguments: "<other>" }]
  const facts = CallFacts.ended(CallFacts.empty, a, failed, { params: one })
  assert.strictEqual(HashMap.size(facts.failed), 1)
  return CallFacts.refusal(facts, b, { sideEffect: "non_idempotent" }, { params: other }) !== undefined
}

const shuffled = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(shuffled)
    : typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).toReversed().map(([key, field]) => [key, shuffled(field)]))
    : value

describe("the same call", () => {
  it("is one whose parameters are equal, whatever the order of keys", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => areSame(value, shuffled(value))), { numRuns: 300 })
  })

  it("is no other", () => {
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
      const [one, other] of [[1n, 1], ["1n", 1n], [[1, [2]], [1, 2]], [{ a: { b: 1 } }, { a: 1, b: 1 }], [null, {}]]
    ) {
      assert.isFalse(areSame(one, other))
    }
  })

  it("is told by what was written, where what a parameter holds cannot be told", () => {
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

  it("knows what JSON does not", () => {
    assert.isTrue(areSame({ a: undefined, b: 1 }, { b: 1 }))
    assert.isTrue(areSame(new Date(0), new Date(0)))
    assert.isFalse(areSame(new Date(0), new Date(1)))
    assert.isTrue(areSame(new Map([["a", 1n]]), new Map([["a", 1n]])))
    assert.isFalse(areSame(new Set([1]), new Set([2])))
    assert.isTrue(areSame(10n, 10n))
  })
})
