/**
 * Laws of calls that ask the user and are resumed, after inner tools have acted, or may have acted.
 *
 * @module-tag slow
 */
import { describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { checkInner } from "../support/innerLaws.ts"
import { asking } from "../support/innerWorld.ts"
import { runs } from "../support/runs.ts"

describe("a call that asks the user", () => {
  it(`repeats no inner effect when it is resumed, keeps its keys, and tells its effects, in ${runs(3_000)} random calls`, () =>
    fc.assert(fc.asyncProperty(asking, checkInner), { numRuns: runs(3_000) }))
})
