/**
 * A handler that acts is never run again after an end that was not certainly nothing, and what is said of a call is what happened in
 * it; whatever policies of ours, and of users, stand around it.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { check, play, scenario } from "../support/payments.ts"

describe("the oracle", () => {
  it("what acts is not run again after an end that was not certainly nothing, under 3,000 random stacks", async () => {
    const seen = new Map<string, number>()
    const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)
    await fc.assert(
      fc.asyncProperty(scenario, async (scenario) => {
        for (const played of await play(scenario)) {
          check(scenario, played)
          played.seen.forEach(count)
        }
      }),
      { numRuns: 3_000 }
    )
    // It says something of many of them.
    for (const end of ["Completed", "Failed"]) {
      for (const certainty of ["executed", "not_executed", "unknown"]) {
        assert.isAbove(seen.get(`${end} ${certainty}`) ?? 0, 50, `${end} ${certainty}`)
      }
    }
    for (const what of ["runs again", "ends late"]) assert.isAbove(seen.get(what) ?? 0, 50, what)
  })
})
