/** The answers of the clinical assistant. */
import { assert, describe, it } from "@effect/vitest"
import * as Cache from "@fallible/examples/02-clinical-assistant/Cache"
import * as Database from "@fallible/examples/02-clinical-assistant/Database"
import * as DrugServer from "@fallible/examples/02-clinical-assistant/DrugServer"
import { Effect } from "effect"
import { ask, mayTake } from "../support/clinic.ts"

const record = "P-1001 is Ada Rowe, born 1954-03-02, 61 kg; takes warfarin and lisinopril; allergies: none known"
const facts400 = "ibuprofen: NSAID, usual dose 200 to 400 mg every 6 to 8 hours"
const unasked = "So: I cannot tell. Somebody has to look who sees what I could not."
const agreed = "So: not before a doctor or a pharmacist has agreed."

describe("the assistant", () => {
  it.effect("reports its findings and their sources", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* ask(mayTake)).split("\n"), [
        `${record} (from the internal database).`,
        `${facts400} (from the internal database).`,
        "Interactions are known among ibuprofen, warfarin and lisinopril (from the external API).",
        "- ibuprofen with warfarin, major: bleeding is more likely.",
        "- ibuprofen with lisinopril, moderate: the blood pressure may rise.",
        agreed
      ])
    }))

  it.effect("reports what it could not find out, and what it still knows", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* ask(mayTake, { api: "quota" })).split("\n").slice(2), [
        "The interactions could not be checked. The service answered 402: \"The requests of this month are used up.\"",
        "- By its facts alone, ibuprofen interacts with warfarin and lisinopril.",
        agreed
      ])
      assert.include(
        yield* ask(mayTake, { api: "truncated" }),
        "The interactions could not be checked. What came back cannot be read.\n"
      )
      assert.deepStrictEqual((yield* ask(mayTake, { database: "locked", api: "down" })).split("\n"), [
        "P-1001: The internal database is locked by somebody else. Please look at the patient's chart on the ward.",
        `${facts400} (from cache, 3h old; the live service is unavailable).`,
        unasked
      ])
      assert.deepStrictEqual((yield* ask(mayTake, { database: "down", api: "down", cache: "stale" })).split("\n"), [
        "P-1001: The internal database could not be opened. Please look at the patient's chart on the ward.",
        "ibuprofen: The service could not be reached: it refused the connection. " +
        "I tried the internal database (connection, 3 attempts), then the external API (connection, 3 attempts), " +
        "then the cache (no value). Please contact the pharmacy team.",
        unasked
      ])
    }))

  it.effect("asks, and does not guess, when a drug or a patient is unknown", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* ask("Can P-1009 take ibuprofin?"),
        "P-1009: There is no patient P-1009.\nibuprofin: No source knows a drug called 'ibuprofin'. " +
          `Did you mean ibuprofen? I do not guess at drugs.\n${unasked}`
      )
      assert.match(yield* ask("Who is P-12?"), /^P-12: 'patientId': expected 'P-' and four digits, got "P-12"\./)
      assert.match(yield* ask("Hello?"), /^I can look up patients/)
    }))

  it.effect("continues with partial data, and says which part is missing", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* ask("Can P-1003 take clarithromycin?")).split("\n"), [
        "P-1003 is Cleo Marsh, born 1971-06-30; takes simvastatin and ginkgo; allergies: none known. " +
        "The record has no weight.",
        "clarithromycin: macrolide antibiotic, usual dose 250 mg twice a day (from external API).",
        "Interactions are known among clarithromycin and simvastatin. Nothing is known of ginkgo.",
        "- clarithromycin with simvastatin, major: muscle damage is more likely.",
        agreed
      ])
    }))

  it.effect("warns of an allergy, and respects a record that it may not read", () =>
    Effect.gen(function*() {
      const allergic = yield* ask("Can P-1002 take amoxicillin?")
      assert.include(allergic, "- amoxicillin is a penicillin antibiotic: mind the allergy.")
      const denied = yield* ask("Can P-1004 take ibuprofen?")
      assert.match(
        denied,
        /^P-1004: The record of P-1004 needs the permission 'psychiatry', which this assistant does not/
      )
      assert.notInclude(denied, "Dan Silva")
    }))

  it.effect("has an answer whatever fails, and never calls anything safe", () =>
    Effect.gen(function*() {
      for (const database of Database.states) {
        for (const cache of Cache.states) {
          // "slow" and "limited" take virtual time, and have their own tests.
          for (const api of DrugServer.states.filter((api) => api !== "slow" && api !== "limited")) {
            const answer = yield* ask(mayTake, { database, api, cache })
            assert.match(answer, /\nSo: /)
            assert.notMatch(answer, /\bsafe\b|undefined|\[object/)
          }
        }
      }
    }), { tags: "slow" })
})
