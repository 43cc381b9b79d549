/**
 * What is meant once happens once, and a careful model reaches it, in conversations over real HTTP whose services have
 * faults, whose users come back, and whose doubts are settled. `pnpm conversations` plays many more.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { described, faultOf, isReached, isSettled, play, scenario } from "../support/conversations.ts"
import { kinds } from "../support/conversationTools.ts"

describe("a conversation, whatever its model and its service do", () => {
  const seed = 20_261_126

  it.live("has each effect as often as it is meant at most, and a careful model reaches it, in 200 conversations", () =>
    Effect.gen(function*() {
      const scenarios = fc.sample(scenario, { numRuns: 200, seed })
      const played = yield* play(scenarios)
      const seen = new Map<string, number>()
      const see = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)
      scenarios.forEach((one, index) => {
        assert.isUndefined(faultOf(one, played[index]!), described(one))
        const { isCareful, kind, wants } = one
        if (isReached(one, played[index]!)) see(kind)
        if (isCareful && isSettled(one)) see("careful, settled")
        if (wants.some(({ times }) => times === 2) && isReached(one, played[index]!)) {
          see("two were meant, and happened")
        }
      })
      // The sample covers many conversations of each kind.
      for (const what of [...Object.keys(kinds), "careful, settled", "two were meant, and happened"]) {
        assert.isAbove(seen.get(what) ?? 0, 2, what)
      }
    }))
})
