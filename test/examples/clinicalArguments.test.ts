/** The checks of a call's arguments before any source is queried. */
import { assert, describe, it } from "@effect/vitest"
import { toolkit } from "@fallible/examples/02-clinical-assistant/tools"
import { Effect } from "effect"
import { asked, call, facts, played, real, together } from "../support/clinic.ts"
import { failed } from "../support/fixing.ts"

const wrong: ReadonlyArray<readonly [what: string, tool: string, args: object | string, detail: RegExp]> = [
  [
    "an id without its letter",
    "get_patient",
    { patientId: "1001" },
    /^'patientId': expected 'P-' and four digits, got "1001"\./
  ],
  [
    "an id with more behind it",
    "get_patient",
    { patientId: "P-1001' OR 1=1" },
    /^'patientId': expected 'P-' and four digits/
  ],
  ["no id", "get_patient", {}, /^'patientId': expected string matching \^P-\\d\{4\}\$, got nothing\./],
  ["a key that is none", "get_patient", { patient: "P-1001" }, /'patient': no such key\. Expected keys: 'patientId'/],
  [
    "a name of nothing but blanks",
    "get_drug_facts",
    { name: "   " },
    /^'name': expected the name of one drug, 2 to 60 letters/
  ],
  ["a name that is too long", "get_drug_facts", { name: "a".repeat(61) }, /^'name': expected the name of one drug/],
  ["a name that is a path", "get_drug_facts", { name: "../patients" }, /^'name': expected the name of one drug/],
  ["a list in a name", "get_drug_facts", { name: "aspirin, warfarin" }, /^'name': expected the name of one drug/],
  ["a number for a name", "get_drug_facts", { name: 7 }, /^'name': expected the name of one drug/],
  ["one drug", "check_interactions", { drugs: ["aspirin"] }, /^'drugs': expected 2 drugs or more, got \["aspirin"\]\./],
  ["eleven drugs", "check_interactions", { drugs: [..."abcdefghijk"].map((x) => x.repeat(3)) }, /10 drugs at the most/],
  [
    "the same drug twice",
    "check_interactions",
    { drugs: ["aspirin", " Aspirin"] },
    /^'drugs': expected each drug once/
  ],
  [
    "a wrong drug among right ones",
    "check_interactions",
    { drugs: ["aspirin", "?"] },
    /^'drugs\.1': expected the name of/
  ]
]

describe("arguments", () => {
  for (const [what, tool, args, detail] of wrong) {
    it.effect(`are checked field by field before any source is queried: ${what}`, () =>
      Effect.gen(function*() {
        const { asked, layer } = played()
        const outcome = failed(yield* call(tool, args).pipe(Effect.provide(layer)))
        assert.deepInclude(outcome, { stage: "decode", attempts: 0 })
        assert.deepInclude(outcome.failure, { _tag: "SchemaMismatch", side: "arguments", code: "invalid_arguments" })
        assert.match(outcome.failure.detail, detail)
        assert.deepStrictEqual(asked, [])
      }))
  }

  it.effect("that are wrong reach neither the real database nor the real API", () =>
    Effect.gen(function*() {
      // A query to a source that is down would take three attempts.
      for (const [, tool, args] of wrong) assert.strictEqual((yield* call(tool, args)).attempts, 0)
      assert.deepStrictEqual(yield* asked, [])
    }).pipe(Effect.provide(real({ database: "down" }))))

  it.effect("are trimmed and lower-cased for every source", () =>
    Effect.gen(function*() {
      const { asked, layer } = played()
      yield* Effect.all([facts("  IbuProfen "), together(" Aspirin", "St John's wort ")]).pipe(Effect.provide(layer))
      assert.deepStrictEqual(asked, ["0 database: ibuprofen", "0 api: aspirin,st john's wort"])
    }))

  it.effect("are shown to the model with their bounds", () =>
    Effect.sync(() => {
      const [patient, , check] = toolkit.definitions
      assert.deepNestedInclude(patient, { "parameters.properties.patientId.pattern": "^P-\\d{4}$" })
      assert.deepNestedInclude(check, {
        "parameters.properties.drugs.minItems": 2,
        "parameters.properties.drugs.maxItems": 10
      })
    }))

  it.effect("that are not JSON come back with the reason and the place, and no source is queried", () =>
    Effect.gen(function*() {
      const { asked, layer } = played()
      const { failure, stage } = failed(
        yield* call("get_patient", "{\"patientId\": P-1001}").pipe(Effect.provide(layer))
      )
      assert.deepInclude(failure, { _tag: "SchemaMismatch", side: "arguments", code: "invalid_json" })
      assert.match(failure.detail, /A string has no quotes, at offset 14 \(line 1, column 15\)/)
      assert.strictEqual(stage, "parse")
      assert.deepStrictEqual(asked, [])
    }))
})
