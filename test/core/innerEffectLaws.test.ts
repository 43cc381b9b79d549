/**
 * Laws of tools that run inside the handler of another tool: whatever they do, and whatever that handler makes of their
 * failures.
 *
 * @module-tag slow
 */
import { describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { checkInner } from "../support/innerLaws.ts"
import { abandoned, repeating, scenario } from "../support/innerWorld.ts"
import { runs } from "../support/runs.ts"

describe("inner tools", () => {
  it(`act once under one key, and their effects are told truly, in ${runs(3_000)} random calls`, () =>
    fc.assert(fc.asyncProperty(scenario, checkInner), { numRuns: runs(3_000) }))

  it(`are known by their end, although their attempt was abandoned before it, in ${runs(3_000)} random calls`, () =>
    fc.assert(fc.asyncProperty(abandoned, checkInner), { numRuns: runs(3_000) }))

  it(`are not begun again in doubt, and keep their keys, if a handler repeats them, in ${runs(3_000)} random calls`, () =>
    fc.assert(fc.asyncProperty(repeating, checkInner), { numRuns: runs(3_000) }))
})
