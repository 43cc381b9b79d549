/**
 * Laws of the calls of one scope: whatever a model writes, a service answers and a fixer corrects, also over several
 * runs whose facts are stored.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { cases, runs } from "../support/runs.ts"
import { play, type Scenario, scenario } from "../support/scopeWorld.ts"

const check = async (scenario: Scenario, count: (what: string) => void) => {
  const { made, shop } = await Effect.runPromise(play(scenario))
  assert.deepStrictEqual(shop.faults, [])
  for (const { isFresh, outcome, payments } of made) {
    count(`${outcome._tag} ${outcome.certainty}`)
    // The certainty of a refused call is that of the earlier call.
    if (outcome._tag === "Failed" && outcome.stage === "admit") continue
    if (outcome.certainty === "not_executed") assert.strictEqual(payments, 0, "paid all the same")
    // A call that is not a repetition pays anew, and so under a new key.
    if (outcome._tag === "Completed" && isFresh) assert.strictEqual(payments, 1, "never paid")
  }
}

describe("the calls of a scope", () => {
  it(`pay each order once until it is told, and send one body under each key, in ${runs(3_000)} random scopes`, async () => {
    const seen = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(scenario, (scenario) => check(scenario, (what) => seen.set(what, (seen.get(what) ?? 0) + 1))),
      { numRuns: runs(3_000) }
    )
    for (const what of ["Completed executed", "Failed unknown", "Failed not_executed"]) {
      assert.isAbove(seen.get(what) ?? 0, cases(100), what)
    }
  })
})
