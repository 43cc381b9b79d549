/**
 * One intent leads to one payment, whatever a model writes, a connection loses, or a stopped process leaves undone.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import * as IntentWire from "./support/intentWire.ts"
import { runs } from "./support/runs.ts"

describe("H3 a stubborn model", () => {
  const seed = 20_261_122

  it.live(
    `never pays twice for one intent, in ${runs(300, 4)} conversations whose processes stop`,
    () =>
      Effect.gen(function*() {
        const scenarios = fc.sample(IntentWire.scenario, { numRuns: runs(300, 4), seed })
        const played = yield* IntentWire.play(scenarios)
        const seen = new Map<string, number>()
        played.forEach((one, index) => {
          const scenario = scenarios[index]!
          assert.isUndefined(IntentWire.faultOf(scenario, one), IntentWire.described(scenario))
          const what = `${scenario.kind}, meant ${scenario.means}, paid ${one.payments.length}`
          seen.set(what, (seen.get(what) ?? 0) + 1)
        })
        // The sample covers many conversations of each kind.
        for (
          const what of [
            "by key, meant 1, paid 1",
            "without, meant 1, paid 1",
            "by key, meant 2, paid 2",
            "without, meant 2, paid 2"
          ]
        ) {
          assert.isAbove(seen.get(what) ?? 0, runs(5, 4), what)
        }
      }),
    120_000
  )
})
