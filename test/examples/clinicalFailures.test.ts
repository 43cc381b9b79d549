/** The messages that a model gets when the tools of the clinical assistant fail, for each way to fail. */
import { assert, describe, it } from "@effect/vitest"
import type { ToolFailure } from "@fallible/core"
import { Effect } from "effect"
import { type call, facts, patient, real, type States, together, told } from "../support/clinic.ts"
import { failed } from "../support/fixing.ts"
import { atOnce } from "../support/models.ts"

interface Row {
  readonly what: string
  readonly states?: States
  readonly call: ReturnType<typeof call>
  readonly error: ToolFailure.Tag
  readonly code: string
  readonly hint?: RegExp
  readonly retry: RegExp
}

const once = /^Do not repeat this call with the same arguments\. /
const byUser = /^Do not repeat this call .* Ask the user which ones to use; do not choose them yourself\.$/
const never = /^Do not call this tool again\. Use another one, or answer without it\.$/
const later = /^Already tried 3 times\. Do not call it again now; use another tool, or answer without it\.$/

const rows: ReadonlyArray<Row> = [
  {
    what: "not found: a patient",
    call: patient("P-1009"),
    error: "SemanticGarbage",
    code: "unknown_patient",
    hint: /^No other id is shown/,
    retry: byUser
  },
  {
    what: "not found: a drug, whoever is asked",
    call: facts("ibuprofin"),
    error: "SemanticGarbage",
    code: "unknown_drug",
    hint: /^Drugs with similar names differ in effect\.$/,
    retry: byUser
  },
  {
    what: "permission denied, by a record",
    call: patient("P-1004"),
    error: "ToolUnavailable",
    code: "permission_denied",
    hint: /^This holds for this patient alone\. Tell the user that somebody with the permission must look/,
    retry: once
  },
  {
    what: "permission denied, by the API",
    states: { api: "forbidden" },
    call: together("aspirin", "warfarin"),
    error: "ToolUnavailable",
    code: "permission_denied",
    hint: /^Someone has to grant access first.* Call get_drug_facts instead\.$/,
    retry: once
  },
  {
    what: "the quota",
    states: { api: "quota" },
    call: together("aspirin", "warfarin"),
    error: "ToolUnavailable",
    code: "quota_exhausted",
    hint: /^The service requires payment.* Call get_drug_facts instead\.$/,
    retry: never
  },
  {
    what: "the connection to the API",
    states: { api: "down" },
    call: together("aspirin", "warfarin"),
    error: "ToolUnavailable",
    code: "connection",
    hint: /^Call get_drug_facts instead\.$/,
    retry: later
  },
  {
    what: "the connection to the database",
    states: { database: "down" },
    call: patient("P-1001"),
    error: "ToolUnavailable",
    code: "connection",
    hint: /^Tell the user to look at the patient's chart on the ward\.$/,
    retry: later
  },
  {
    what: "a database that somebody else has locked",
    states: { database: "locked" },
    call: patient("P-1001"),
    error: "ToolUnavailable",
    code: "database_locked",
    hint: /^Tell the user to look at the patient's chart/,
    retry: later
  },
  {
    what: "the quality of data: a record without a weight",
    call: patient("P-1003"),
    error: "PartialData",
    code: "incomplete_record",
    hint: /^Go by no dose that depends on the weight/,
    retry: /Use the data that you have\.$/
  },
  {
    what: "the quality of data: a drug that is not covered",
    call: together("simvastatin", "ginkgo", "warfarin"),
    error: "PartialData",
    code: "not_covered",
    hint: /^Say so/,
    retry: /Use the data that you have\.$/
  },
  {
    what: "the quality of data: a page where facts should be",
    states: { api: "garbage" },
    call: together("aspirin", "warfarin"),
    error: "SchemaMismatch",
    code: "invalid_json",
    retry: /^Do not repeat this call.* tell the user what is missing\.$/
  },
  {
    what: "the quality of data: an answer that breaks off",
    states: { api: "truncated" },
    call: together("aspirin", "warfarin"),
    error: "SchemaMismatch",
    code: "truncated",
    retry: /^Do not repeat this call.* tell the user what is missing\.$/
  },
  {
    what: "all sources of one fact",
    states: { api: "down", database: "down", cache: "empty" },
    call: facts("aspirin"),
    error: "ToolUnavailable",
    code: "connection",
    hint: /^Tell the user to contact the pharmacy team\.$/,
    // Three attempts at the database, and three at the API.
    retry: /^Already tried 6 times\. Do not call it again now;/
  },
  {
    what: "wrong arguments",
    call: patient("1001"),
    error: "SchemaMismatch",
    code: "invalid_arguments",
    retry: /Call again with corrected arguments\.$/
  }
]

const outcomeOf = ({ call, states }: Row) => Effect.map(Effect.provide(atOnce(call), real(states)), failed)

describe("the model's message", () => {
  for (const row of rows) {
    it.effect(`has its own code and advice for ${row.what}: ${row.error}, ${row.code}`, () =>
      Effect.gen(function*() {
        const { error, code, hint, retry } = told(yield* outcomeOf(row))
        assert.deepStrictEqual([error, code], [row.error, row.code])
        assert.match(String(retry), row.retry)
        if (row.hint === undefined) assert.isUndefined(hint)
        else assert.match(String(hint), row.hint)
      }))
  }

  it.effect("contains partial data, so that the model can continue", () =>
    Effect.gen(function*() {
      const record = told(yield* patient("P-1003"))
      assert.deepInclude(record["data"], { id: "P-1003", kilograms: null, medications: ["simvastatin", "ginkgo"] })
      assert.deepStrictEqual(record["coverage"], { have: 5, of: 6, unit: "fields" })
      const check = told(yield* together("clarithromycin", "ginkgo", "simvastatin"))
      assert.deepInclude(check["data"], { uncovered: ["ginkgo"], covered: ["clarithromycin", "simvastatin"] })
      assert.deepNestedInclude(check["data"], { "interactions.0.severity": "major" })
      assert.deepStrictEqual(check["coverage"], { have: 2, of: 3, unit: "drugs" })
    }).pipe(Effect.provide(real())))

  it.effect("suggests a drug with a similar name, but never another patient", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(told(yield* facts("ibuprofin"))["alternatives"], ["ibuprofen"])
      assert.notProperty(told(yield* facts("unobtainium")), "alternatives")
      assert.notProperty(told(yield* patient("P-1000")), "alternatives")
    }).pipe(Effect.provide(real())))

  it.effect("has one shape for all failures of all tools: what went wrong, a hint, whether to retry", () =>
    Effect.gen(function*() {
      const optional = ["hint", "alternatives", "tried", "coverage", "data"]
      for (const row of rows) {
        const message = told(yield* outcomeOf(row))
        const keys = Object.keys(message)
        assert.deepStrictEqual(keys.filter((key) => !optional.includes(key)), [
          "ok",
          "error",
          "code",
          "detail",
          "retry"
        ])
        assert.strictEqual(message["ok"], false)
        for (const key of ["detail", "retry"]) assert.match(String(message[key]), /^\S[^\n]*\."?$/)
        // It contains no database file, no service address and no stack.
        assert.notMatch(JSON.stringify(message), /clinical-assistant-|127\.0\.0\.1|\.ts|Error:/)
      }
    }))
})
