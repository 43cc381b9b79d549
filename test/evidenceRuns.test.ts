/**
 * What is told of a call is compared with what its requests did. `pnpm evidence` plays many more runs.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { faultsOf, hasActed, play, refusedIn } from "./support/evidenceRuns.ts"
import { described, refusing, scenario, styles } from "./support/evidenceScenario.ts"

const seed = 20_261_125

describe("a handler over HTTP, whatever its style and its faults", () => {
  it.live("is never told as not executed once it has acted, and pays no order twice, in 100 runs", () =>
    Effect.gen(function*() {
      const scenarios = fc.sample(scenario, { numRuns: 100, seed })
      const played = yield* play(scenarios)
      const seen = new Map<string, number>()
      scenarios.forEach((one, index) => {
        const { asked, claims } = played[index]!
        assert.deepStrictEqual(faultsOf(one, played[index]!), [], described(one))
        for (const { call, outcome, told } of claims) {
          if (outcome === undefined) continue
          const acted = asked.some((request) => request.call === call && hasActed(one, request))
          const what = `${told}, ${acted ? "acted" : "did nothing"}`
          seen.set(what, (seen.get(what) ?? 0) + 1)
        }
      })
      // The sample covers many calls of each kind.
      for (const what of ["executed, acted", "unknown, acted", "unknown, did nothing", "not_executed, did nothing"]) {
        assert.isAbove(seen.get(what) ?? 0, 20, what)
      }
    }))

  it.live("is told as not executed if all its requests were refused", () =>
    Effect.gen(function*() {
      const scenarios = fc.sample(refusing, { numRuns: 80, seed })
      const played = yield* play(scenarios)
      const refused = scenarios.flatMap((one, index) => refusedIn(one, played[index]!))
      assert.deepStrictEqual(refused.filter(({ isDoubted }) => isDoubted), [])
      for (const style of styles) assert.isAbove(refused.filter((one) => one.style === style).length, 1, style)
    }))
})
