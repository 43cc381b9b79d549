import { assert, describe, it } from "@effect/vitest"
import { closed, coerced, integer, notes, string } from "../support/coercing.ts"

describe("Coercion", () => {
  describe("repairs", () => {
    it("of one kind in the items of one array share one note, with a count", () => {
      const items = Array.from({ length: 30 }, () => ({ n: "1.0", t: 1 }))
      const schema = closed({ items: { type: "array", items: closed({ n: integer, t: string }) } })
      assert.deepStrictEqual(notes({ items }, schema).filter((note) => note !== undefined), [
        "'items.0.n' is an integer: \"1.0\" was read as 1, and 29 more like it",
        "'items.0.t' is a string: 1 was read as \"1\", and 29 more like it"
      ])
    })

    it("of many fields keep twenty notes, and the last one counts the rest", () => {
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

    it("of many items share a note if they are alike, and the rest is counted", () => {
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

    it("below a long key are noted as below a short one", () => {
      const below = (key: string) => ({ [key]: Array.from({ length: 30 }, () => "1.0") })
      const schema = { type: "object", additionalProperties: { type: "array", items: integer } }
      assert.deepStrictEqual(coerced(below("k"), schema).slice(1), coerced(below("k".repeat(100_000)), schema).slice(1))
      assert.deepStrictEqual(
        notes(below("k".repeat(100_000)), schema).filter((note) => note !== undefined).map((note) => note?.length),
        [`'${"k".repeat(80)}… (99922 more characters)' is an integer: "1.0" was read as 1, and 29 more like it`.length]
      )
    })

    it("of several fields keep one note each", () => {
      assert.deepStrictEqual(notes({ a: "1.0", b: "1.0" }, closed({ a: integer, b: integer })), [
        "'a' is an integer: \"1.0\" was read as 1",
        "'b' is an integer: \"1.0\" was read as 1"
      ])
    })
  })
})
