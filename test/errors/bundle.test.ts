/**
 * The package as in a browser: bundled and minified, with only the globals of ECMAScript.
 *
 * @module-tag slow
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { describe as describeError } from "@fallible/errors"
import { runInNewContext } from "node:vm"
import { bundled } from "../support/bundled.ts"

let bundle = ""

beforeAll(async () => {
  bundle = await bundled("errors", "Errors")
})

describe("bundled and minified", () => {
  it("has at most 35 KiB", () => {
    assert.isAbove(bundle.length, 10_000)
    assert.isAtMost(Buffer.byteLength(bundle), 35 * 1024)
  })

  it("runs with only the globals of ECMAScript, with the same results", () => {
    const errors = [
      { code: "ECONNREFUSED", message: "connect ECONNREFUSED 10.0.0.7:5432" },
      { code: "23505", severity: "ERROR", message: "duplicate key" },
      { status: 429, headers: { "retry-after": "7" } },
      { message: "Room A1 is booked." }
    ]
    const inside = `${bundle};JSON.stringify(${
      JSON.stringify(errors)
    }.map((fields) => Errors.describe(Object.assign(new Error(fields.message), fields))))`
    const context = { console: undefined }
    const there: unknown = JSON.parse(runInNewContext(inside, context) as string)
    const here = errors.map((fields) => describeError(Object.assign(new Error(fields.message), fields)))
    assert.deepStrictEqual(there, JSON.parse(JSON.stringify(here)))
    assert.deepStrictEqual(Object.keys(context).toSorted(), ["Errors", "console"])
  })
})
