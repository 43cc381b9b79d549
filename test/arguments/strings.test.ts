import { assert, describe, it } from "@effect/vitest"
import { closed, coerced, notes, numberAt, refused, string } from "../support/coercing.ts"

describe("Coercion", () => {
  describe("strings", () => {
    it("accept a number as it was written", () => {
      assert.deepStrictEqual(coerced({ version: 1.1 }, closed({ version: string }), numberAt({ version: "1.10" })), [
        { version: "1.10" },
        "NUMBER_FOR_TEXT"
      ])
      assert.deepStrictEqual(notes({ version: 1.1 }, closed({ version: string }), numberAt({ version: "1.10" })), [
        "'version' is a string: 1.10 was read as \"1.10\""
      ])
      // Without the source text, digits may have been lost: 1.10, 98765432109876543, 0.10.
      assert.deepStrictEqual(coerced({ v: 11 }, closed({ v: string })), [{ v: "11" }, "NUMBER_FOR_TEXT"])
      for (const v of [1.1, JSON.parse("98765432109876543"), 1e21]) refused({ v }, closed({ v: string }))
    })

    it("accept it only if it passes every check", () => {
      refused(100, { type: "string", enum: ["low"] })
      refused(100, { type: "string", pattern: "^[a-z]" })
      refused(100, { type: "string", format: "email" })
      refused(100, { type: "string", minLength: 4 })
      refused(true, { type: "string", maxLength: 3 })
    })

    it("are never made from null, arrays or objects", () => {
      for (const value of [null, {}, { a: 1 }, [], [["a"]], [{ a: "a" }], [null]]) refused(value, string)
    })

    it("count their length in code points", () => {
      assert.deepStrictEqual(coerced("😀", { type: "string", maxLength: 1 }), ["😀"])
      refused("😀", { type: "string", minLength: 2 })
    })
  })
})
