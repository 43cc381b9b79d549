import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { strictFault as firstFault } from "../../packages/arguments/src/text/strict.ts"
import { anyText, changed, isJson } from "../support/nearlyJson.ts"

describe("Arguments", () => {
  describe("firstFault", () => {
    interface Written {
      readonly text: string
      /** The paths at a character inside the text, and after it. */
      readonly inside: Path
      readonly after: Path
    }

    type Path = ReadonlyArray<string | number>

    /** Splits a value's JSON into pieces, each with its paths. */
    const placed = (value: unknown, path: Path = []): ReadonlyArray<Written> => {
      const piece = (text: string, inside = path, after = inside): Written => ({ text, inside, after })
      if (typeof value !== "object" || value === null) return [piece(JSON.stringify(value))]
      const isArray = Array.isArray(value)
      const parts = Object.entries(value).flatMap(([key, part], index): ReadonlyArray<Written> => {
        const inner = [...path, isArray ? index : key]
        const comma = index === 0 ? [] : [piece(",", isArray ? inner : path)]
        const name = isArray ? [] : [piece(JSON.stringify(key), path, inner), piece(":", inner)]
        return [...comma, ...name, ...placed(part, inner)]
      })
      return [piece(isArray ? "[" : "{"), ...parts, piece(isArray ? "]" : "}")]
    }

    it("finds a fault exactly where JSON.parse refuses", () => {
      fc.assert(
        fc.property(anyText, (text) => {
          assert.strictEqual(firstFault(text) === undefined, isJson(text))
        }),
        { numRuns: 2_000 }
      )
    })

    it("knows which characters a string may hold, raw and escaped", () => {
      for (let code = 0; code < 0x100; code++) {
        const char = String.fromCharCode(code)
        const hex = code.toString(16).padStart(4, "0")
        for (const text of [char, `\\${char}`, `\\u${hex}`, `\\u${hex.toUpperCase()}`]) {
          assert.strictEqual(firstFault(`"${text}"`) === undefined, isJson(`"${text}"`), text)
        }
      }
    })

    it("points into the text, after a start that can still become JSON", () => {
      fc.assert(fc.property(changed.filter((text) => !isJson(text)), (text) => {
        const { offset } = firstFault(text) ?? assert.fail("no fault")
        const start = firstFault(text.slice(0, offset))
        assert.isAtMost(offset, text.length)
        assert.isTrue(start === undefined || start.offset === offset)
      }))
    })

    it("copes with any depth", () => {
      const fault = firstFault("[".repeat(500_000)) ?? assert.fail("no fault")
      assert.deepInclude(fault, { kind: "too_deep", offset: 1000, of: "1000" })
    })

    it("locates a cut after each character of a text", () => {
      fc.assert(fc.property(fc.jsonValue(), (value) => {
        const written = placed(value)
        const text = written.map(({ text }) => text).join("")
        assert.strictEqual(text, JSON.stringify(value))
        const places = written.flatMap(({ after, inside, text }) =>
          Array.from({ length: text.length }, (_, index) => index === text.length - 1 ? after : inside)
        )
        // A cut-off number may be a number, and then the text is complete.
        for (let length = 1; length < text.length; length++) {
          const fault = firstFault(text.slice(0, length))
          if (fault !== undefined) assert.deepStrictEqual(fault.path, places[length - 1], text.slice(0, length))
        }
      }))
    })

    it("locates a fault in the middle of a text with white space and escapes", () => {
      const cases: ReadonlyArray<readonly [text: string, path: ReadonlyArray<string | number>]> = [
        ["{ \"orders\" : [ { \"total\" : 12 } , { \"total\" : oops", ["orders", 1, "total"]],
        ["{\"a\":[1,2],\"b\":{\"c\":[[],[{\"d\":+1", ["b", "c", 1, 0, "d"]],
        ["{\"a\":[[1],[2]],\"\\u0062\\\"\":tru", ["b\""]],
        ["{\"a\":1 \"b\":2}", ["a"]],
        ["{\"a\":{\"b\":1},\"c", []],
        ["[1,2,", [2]],
        ["[[1],[2,3]", [1]],
        ["tru", []]
      ]
      for (const [text, path] of cases) assert.deepStrictEqual(firstFault(text)?.path, path, text)
    })
  })
})
