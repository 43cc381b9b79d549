/**
 * The JSON-Schema-Test-Suite (draft 2020-12): all cases of each supported keyword must pass, and every
 * unsupported keyword must be on the list of unchecked ones. JSONTestSuite checks the grammar of the strict
 * mode. Neither suite is in this repository.
 */
import { assert, describe, it } from "@effect/vitest"
import { inspect, type Json, type JsonSchema } from "@fallible/arguments"
import { explain, fits, parse } from "@fallible/arguments/internal"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { strictFault } from "../../packages/arguments/src/text/strict.ts"
import { areThere, corpus, folder } from "../support/corpora.ts"

interface Case {
  readonly id: string
  readonly keyword: string
  readonly schema: JsonSchema | boolean
  readonly data: Json
  readonly valid: boolean
}

const cases = (): ReadonlyArray<Case> => JSON.parse(readFileSync(join(folder, "json_schema_2020_12.json"), "utf8"))

const schemaOf = ({ schema }: Case): JsonSchema => typeof schema === "boolean" ? { allOf: [schema] } : schema

/** True for cases in which our rules are stricter than the suite. */
const isStricter = ({ data, schema }: Case): boolean =>
  typeof schema === "object" &&
  // An integer beyond the safe range may differ from the written one.
  (typeof data === "number" && Number.isInteger(data) && !Number.isSafeInteger(data) ||
    // In the suite, formats are only annotations.
    schema["format"] === "date" || schema["format"] === "date-time")

/** The keywords of the suite that are not checked at all. */
const unheard = ["content", "dynamicRef", "format", "refRemote", "vocabulary"]

describe.skipIf(!areThere)("the JSON-Schema-Test-Suite", () => {
  const all = areThere ? cases() : []

  it.each([...new Set(all.map(({ keyword }) => keyword))])("%s", (keyword) => {
    const of = all.filter((row) => row.keyword === keyword)
    let held = 0
    for (const row of of) {
      const schema = schemaOf(row)
      const { refused, unchecked } = inspect(schema)
      if (refused.length > 0 || unchecked.length > 0) continue
      held++
      const isAsked = fits(row.data, schema)
      if (!isStricter(row)) assert.strictEqual(isAsked, row.valid, `${row.id}: ${JSON.stringify(row)}`)
      assert.strictEqual(explain(row.data, schema) === undefined, isAsked, row.id)
    }
    // A few of the remaining cases depend on remote schemas or on unsupported keywords.
    if (!unheard.includes(keyword)) assert.isAtLeast(held / of.length, keyword === "defs" ? 0 : 0.9)
  })

  it("ignores no keyword silently", () => {
    const unsaid = all.filter((row) => unheard.includes(row.keyword)).filter((row) => {
      const { refused, unchecked } = inspect(schemaOf(row))
      return refused.length + unchecked.length === 0 && fits(row.data, schemaOf(row)) !== row.valid
    })
    assert.deepStrictEqual(unsaid.filter((row) => !isStricter(row)).map(({ id }) => id), [])
  })
})

describe.skipIf(!areThere)("JSONTestSuite", () => {
  const rows = areThere ? corpus("jsontestsuite") : []

  it("is parsed as its verdicts say", () => {
    for (const { input, verdict } of rows) {
      const parsed = parse(input)
      if (verdict !== "either") assert.strictEqual(parsed.ok, verdict === "value", JSON.stringify(input).slice(0, 200))
    }
  })

  it("finds a fault exactly in the texts that do not parse", () => {
    const names = ["jsontestsuite", "jsonrepair", "json_repair_py", "toolcalls_valid"]
    for (const { input } of areThere ? names.flatMap(corpus) : []) {
      const fault = strictFault(input)
      // Texts beyond the depth limit are refused on purpose.
      if (fault?.kind === "too_deep") continue
      assert.strictEqual(fault === undefined, parse(input).ok, JSON.stringify(input).slice(0, 200))
    }
  })
})
