import { assert, describe, it } from "@effect/vitest"
import { coerce } from "@fallible/arguments/internal"
import { coerced, refused } from "../support/coercing.ts"

describe("Coercion", () => {
  describe("choices", () => {
    const state = { type: "string", enum: ["in_progress", "done", "Not Started"] }

    it("ignore case and outer white space silently, separators with a note, and nothing else", () => {
      assert.deepStrictEqual(coerced(" DONE\n", state), ["done", "choice_case"])
      assert.deepStrictEqual(coerced("not-started", state), ["Not Started", "CHOICE_SPELLING"])
      for (const text of ["finished", "don", "donee", "", "in.progress"]) refused(text, state)
    })

    it("are one issue, even if a union lists them", () => {
      const schema = { anyOf: ["a_b", "A-B", "c"].map((choice) => ({ type: "string", enum: [choice] })) }
      assert.deepStrictEqual(coerced("C", schema), ["c", "choice_case"])
      assert.deepStrictEqual(coerced("A_B", schema), ["a_b", "choice_case"])
      refused("a b", schema)
    })

    it("may be numbers", () => {
      assert.deepStrictEqual(coerced("2", { enum: [1, 2] }), [2, "TEXT_FOR_CHOICE"])
      assert.deepStrictEqual(coerced(2, { enum: ["1", "2"], type: "string" }), ["2", "NUMBER_FOR_TEXT"])
      refused("3", { enum: [1, 2] })
      refused("two", { enum: [1, 2] })
    })

    it("may be one const", () => {
      assert.deepStrictEqual(coerced("CITY", { const: "city" }), ["city", "choice_case"])
      assert.deepStrictEqual(coerced({ a: [1] }, { const: { a: [1] } }), [{ a: [1] }])
      refused({ a: [2] }, { const: { a: [1] } })
    })
  })
})

describe("findings of a second reader", () => {
  it("a sign is not a separator, and digits stay apart", () => {
    for (
      const [value, choices] of [["1", ["+1", "-1"]], ["1_0", ["10", "x"]], ["_", ["-", "a"]], ["10", ["1-0"]]] as const
    ) assert.deepStrictEqual(coerce(value, { enum: choices }).repairs, [], value)
    assert.strictEqual(coerce("in-progress", { enum: ["in_progress"] }).value, "in_progress")
    assert.strictEqual(coerce("A", { enum: ["a", "a"] }).value, "a")
    const closed = (key: string) => ({ type: "object", properties: { [key]: {} }, additionalProperties: false })
    assert.deepStrictEqual(coerce({ id: 1 }, closed("-id")).repairs, [])
    assert.deepStrictEqual(coerce({ _: 1 }, closed("")).repairs, [])
    assert.deepStrictEqual(coerce({ " user_id ": 1 }, closed("userId")).value, { userId: 1 })
  })

  it("another separator may keep digits apart", () => {
    for (
      const [value, choice] of [["plan-2024-01", "plan_2024_01"], ["ISO-8859-1", "iso_8859_1"], [
        "gpt 4 1",
        "gpt-4-1"
      ]] as const
    ) assert.strictEqual(coerce(value, { enum: [choice, "other"] }).value, choice)
  })
})
