import { assert, describe, it } from "@effect/vitest"
import { coerce } from "@fallible/arguments/internal"
import { closed, coerced, expected, integer, notes, refused, string } from "../support/coercing.ts"

describe("Coercion", () => {
  describe("optional fields", () => {
    const schema = closed({ days: integer, name: string, code: { type: "string", minLength: 2 } }, [])

    it("drop null silently, and words for null with a note", () => {
      assert.deepStrictEqual(coerced({ days: null, name: null }, schema), [
        {},
        "null_for_optional",
        "null_for_optional"
      ])
      for (const blank of ["", "null", "None", "undefined"]) {
        assert.deepStrictEqual(coerced({ days: blank, name: "x" }, schema), [{ name: "x" }, "BLANK_FOR_OPTIONAL"])
      }
      assert.deepStrictEqual(coerced({ code: "" }, schema), [{}, "BLANK_FOR_OPTIONAL"])
      assert.deepStrictEqual(notes({ days: "None" }, schema), ["'days' is optional: leave it out instead of \"None\""])
    })

    it("keep null, or a word for null, if it fits", () => {
      assert.deepStrictEqual(coerced({ name: "null" }, schema), [{ name: "null" }])
      assert.deepStrictEqual(coerced({ code: "None" }, schema), [{ code: "None" }])
      assert.deepStrictEqual(coerced({ x: null }, { properties: { x: { type: ["integer", "null"] } } }), [{ x: null }])
    })

    it("keep all other values, and required fields keep everything", () => {
      for (const value of ["N/A", " ", "NULL", "none", false, 0.5]) refused({ days: value }, schema)
      for (const value of [null, "", "null"]) refused({ days: value }, closed({ days: integer }))
      refused({ a: null }, { type: "object", additionalProperties: integer })
    })
  })

  describe("keys", () => {
    const schema = closed({ userId: integer, page: integer }, ["userId"])

    it("are renamed if only case and separators differ", () => {
      for (const key of ["user_id", "UserID", "user-id", "user id", "USERID"]) {
        assert.deepStrictEqual(coerced({ [key]: 1 }, schema), [{ userId: 1 }, "RENAMED_KEY"])
      }
      assert.deepStrictEqual(coerced({ user_id: "1", Page: 2 }, schema), [
        { userId: 1, page: 2 },
        "RENAMED_KEY",
        "text_for_number",
        "RENAMED_KEY"
      ])
    })

    it("stay if two keys could be meant, or two were written", () => {
      refused({ user_id: 1, userId: 2 }, schema)
      refused({ user_id: 1, UserId: 1 }, schema)
      refused({ Page: 1, page: null }, schema)
      refused({ "user id": 1 }, closed({ user_id: integer, userId: integer }))
    })

    it("of open objects are renamed only if the declared key is missing", () => {
      const open = { type: "object", properties: { userId: integer, note: string }, required: ["userId"] }
      assert.deepStrictEqual(coerced({ user_id: 1 }, open), [{ userId: 1 }, "RENAMED_KEY"])
      assert.deepStrictEqual(coerced({ userId: 1, Note: "5" }, open), [{ userId: 1, note: "5" }, "RENAMED_KEY"])
      assert.deepStrictEqual(coerced({ userId: 1, note: "a", Note: "b" }, open), [{ userId: 1, note: "a", Note: "b" }])
      assert.deepStrictEqual(coerced({ userId: 1, other: 5 }, open), [{ userId: 1, other: 5 }])
    })

    it("are quoted so that the difference is visible", () => {
      assert.deepStrictEqual(notes({ " page ": 1, user_id: 1 }, schema), [
        "'page' was written as \" page \"",
        "'userId' was written as 'user_id'"
      ])
    })

    it("of Object.prototype are never touched", () => {
      const value = JSON.parse("{\"__proto__\":1}")
      refused(value, closed({ proto: integer }))
      refused({ Constructor: 1 }, closed({ constructor: integer }))
      assert.deepStrictEqual(
        coerced(JSON.parse("{\"a\":\"1\",\"__proto__\":2}"), { properties: { a: integer } })[0],
        JSON.parse("{\"a\":1,\"__proto__\":2}")
      )
      assert.deepStrictEqual(expected({}, closed({ toString: string })), [["toString", "string"]])
    })
  })

  describe("wrappers", () => {
    const schema = closed({ userId: integer, options: closed({ deep: { type: "boolean" } }) }, [])

    it("are removed from any object, around values and JSON text", () => {
      for (const key of ["arguments", "args", "parameters", "params", "input", "properties"]) {
        assert.deepStrictEqual(coerced({ [key]: { userId: 1 } }, schema), [{ userId: 1 }, "WRAPPER"])
      }
      assert.deepStrictEqual(coerced({ args: "{\"userId\":1}" }, schema), [{ userId: 1 }, "WRAPPER"])
      assert.deepStrictEqual(coerced({ options: { params: { deep: "true" } } }, schema), [
        { options: { deep: true } },
        "WRAPPER",
        "text_for_boolean"
      ])
      assert.deepStrictEqual(notes({ args: { userId: 1 } }, schema), ["the arguments go without 'args' around them"])
    })

    it("stay if they are declared, are not alone, or hold a value that needs a second guess", () => {
      refused({ input: { a: 1 } }, closed({ input: integer }))
      refused({ input: { userId: 1 }, page: 1 }, schema)
      refused({ input: { user_id: 1 } }, schema)
      refused({ args: { args: { userId: 1 } } }, schema)
      refused({ args: "{\"args\":{\"userId\":1}}" }, schema)
      refused({ input: { a: 1 } }, { type: "object", additionalProperties: integer })
      assert.deepStrictEqual(coerced({ input: { a: 1 } }, { type: "object" }), [{ input: { a: 1 } }])
    })

    it("are not removed if other keys stand beside them", () => {
      refused({ userId: null, input: { userId: 1 } }, schema)
    })
  })
})

describe("findings of a second reader", () => {
  it("a valid optional value stays beside a coerced one", () => {
    const schema = {
      type: "object",
      properties: { x: { type: ["integer", "null"] }, s: { type: "string" }, y: { type: "integer" } }
    }
    assert.deepStrictEqual(coerce({ x: null, s: "", y: "5" }, schema).value, { x: null, s: "", y: 5 })
  })
})
