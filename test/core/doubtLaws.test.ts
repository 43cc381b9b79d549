/**
 * A handler that acts never runs again unless its earlier end proves that it did nothing. The reported
 * certainty of a call is true. Both hold under any policies, ours or custom.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { check, play, scenario } from "../support/payments.ts"
import { cases, runs } from "../support/runs.ts"

describe("the oracle", () => {
  it(`an acting tool runs again only after it certainly did nothing, under ${runs(3_000)} random stacks`, async () => {
    const seen = new Map<string, number>()
    const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)
    await fc.assert(
      fc.asyncProperty(scenario, async (scenario) => {
        for (const played of await play(scenario)) {
          check(scenario, played)
          played.seen.forEach(count)
        }
      }),
      { numRuns: runs(3_000) }
    )
    // The sample covers many calls of each kind.
    for (const end of ["Completed", "Failed"]) {
      for (const certainty of ["executed", "not_executed", "unknown"]) {
        assert.isAbove(seen.get(`${end} ${certainty}`) ?? 0, cases(50), `${end} ${certainty}`)
      }
    }
    for (const what of ["runs again", "ends late"]) assert.isAbove(seen.get(what) ?? 0, cases(50), what)
  })
})
