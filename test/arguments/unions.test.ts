import { assert, describe, it } from "@effect/vitest"
import { coerce, fits } from "@fallible/arguments/internal"
import { closed, coerced, expected, integer, refused, string, strings } from "../support/coercing.ts"
import { misfits } from "../support/misfits.ts"

describe("Coercion", () => {
  describe("unions", () => {
    const shapes = {
      anyOf: [
        closed({ kind: { type: "string", enum: ["circle"] }, radius: { type: "number" } }),
        closed({ kind: { type: "string", enum: ["box"] }, width: integer, label: string }, ["kind", "width"])
      ]
    }

    it("are not coerced if a member fits", () => {
      assert.deepStrictEqual(coerced("5", { anyOf: [integer, string] }), ["5"])
      assert.deepStrictEqual(coerced(null, { type: ["integer", "null"] }), [null])
    })

    it("are coerced to the only member that then fits", () => {
      assert.deepStrictEqual(coerced("5", { anyOf: [integer, { type: "null" }] }), [5, "text_for_number"])
      assert.deepStrictEqual(coerced("5", { type: ["integer", "null"] }), [5, "text_for_number"])
      assert.deepStrictEqual(coerced("5", { type: ["integer", "number"] }), [5, "text_for_number"])
      assert.deepStrictEqual(coerced("true", { oneOf: [integer, { type: "boolean" }] }), [true, "text_for_boolean"])
      refused("5", { anyOf: [integer, strings] })
      refused("x", { anyOf: [integer, { type: "boolean" }] })
    })

    it("are told apart by their literals, in coercions and in messages", () => {
      assert.deepStrictEqual(coerced({ kind: "Circle", radius: "2" }, shapes), [
        { kind: "circle", radius: 2 },
        "choice_case",
        "text_for_number"
      ])
      assert.deepStrictEqual(expected({ kind: "box", width: "wide" }, shapes), [["width", "integer"]])
      assert.deepStrictEqual(expected({ kind: "bax", width: 1 }, shapes), [
        ["kind", "\"circle\" | \"box\""]
      ])
      assert.deepStrictEqual(expected({ width: 1 }, shapes), [["kind", "\"circle\" | \"box\""]])
      // Inside the intended member, all other drifts are still coerced.
      const partly = coerce({ kind: "box", width: "3", label: [] }, shapes)
      assert.deepStrictEqual(partly.value, { kind: "box", width: 3, label: [] })
    })

    it("with a tag name the tag, its choices, and the keys that no member has", () => {
      const tag = "object with 'kind' (\"circle\" | \"box\")"
      assert.deepStrictEqual(expected({ type: "box", width: 1 }, shapes), [
        ["kind", "\"circle\" | \"box\""],
        ["type", "no such key"]
      ])
      assert.deepStrictEqual(expected("box", shapes), [["", tag]])
      assert.deepStrictEqual(expected({}, closed({ shape: shapes })), [["shape", tag]])
      assert.deepStrictEqual(expected({ kind: "Box", width: "wide" }, shapes), [
        ["kind", "\"box\""],
        ["width", "integer"]
      ])
      const { value } = coerce({ kind: "Box", width: "wide" }, shapes)
      assert.deepStrictEqual(expected(value, shapes), [["width", "integer"]])
    })

    it("respect the keywords beside them", () => {
      const schema = {
        type: "object",
        properties: { id: integer, name: string },
        anyOf: [{ required: ["id"] }, { required: ["name"] }]
      }
      assert.deepStrictEqual(coerced({ id: "1" }, schema)[0], { id: 1 })
      assert.isNotEmpty(misfits({}, schema))
    })

    it("without literals name the fields of the member that shares the most keys", () => {
      const schema = { anyOf: [closed({ city: string, zip: integer }), closed({ lat: integer, lon: integer })] }
      assert.deepStrictEqual(expected({ lat: 1, lon: "east" }, schema), [["lon", "integer"]])
      assert.deepStrictEqual(expected({ x: 1 }, schema), [["", "object with 'city', 'zip' | object with 'lat', 'lon'"]])
    })

    it("of an object and null name the fields of the object", () => {
      assert.deepStrictEqual(expected({ a: "x" }, { anyOf: [closed({ a: integer }), { type: "null" }] }), [[
        "a",
        "integer"
      ]])
    })
  })
})

describe("findings of a second reader", () => {
  it("oneOf does not fit if two members fit", () => {
    assert.isFalse(fits(1, { oneOf: [{ type: "integer" }, { type: "number" }] }))
    assert.isTrue(fits(1.5, { oneOf: [{ type: "integer" }, { type: "number" }] }))
    assert.isFalse(fits(1.00000000001, { multipleOf: 0.1 }))
  })
})
