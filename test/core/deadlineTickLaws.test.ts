/**
 * Laws of a tool that acts when attempts, waits, deadlines and the leaving of callers fall on the same tick.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { cases, runs } from "../support/runs.ts"
import { described, limited, play, type Played, type Scenario, scenario } from "../support/tickWorld.ts"

const check = (scenario: Scenario, { expected, outcome, world }: Played) => {
  const text = described(scenario)
  for (const { began, deadline } of world.executions) assert.isBelow(began, deadline, `begins too late: ${text}`)
  assert.strictEqual(world.begunAfterwards, 0, `begins after its call has ended: ${text}`)
  if (scenario.sideEffect === "non_idempotent") assert.strictEqual(world.repetitions, 0, `runs again: ${text}`)
  // A hedge that is refused while another attempt runs says that the outcome is unknown. This stays, out of caution, even
  // if that attempt turns out to have done nothing.
  const isDoubted = expected === "not_executed" && outcome?.certainty === "unknown" &&
    scenario.sideEffect === "non_idempotent" &&
    scenario.policies.some(([text]) => /^(hedges|runs both|takes the first|leaves)/.test(text))
  if (!isDoubted) assert.strictEqual(outcome?.certainty, expected, `certainty: ${text}`)
  // Nobody else learns what becomes of a call whose caller has left. A run that a policy has left behind may still act.
  const isLeftBehind = scenario.policies.some(([text]) => text.startsWith("leaves"))
  if (outcome === undefined && !isLeftBehind && world.certainty === "unknown") {
    assert.isTrue(world.reports.some(({ certainty }) => certainty === "unknown"), `reported: ${text}`)
  }
}

describe("a call in which everything falls on the same ticks", () => {
  it(`begins nothing too late or twice, and says what its attempts prove, in ${runs(5_000)} random stacks`, async () => {
    const seen = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(scenario, async (scenario) => {
        const played = await play(scenario)
        check(scenario, played)
        const what = played.expected ?? "left"
        seen.set(what, (seen.get(what) ?? 0) + 1)
      }),
      { numRuns: runs(5_000) }
    )
    for (const what of ["executed", "not_executed", "unknown", "left"]) {
      assert.isAbove(seen.get(what) ?? 0, cases(50), what)
    }
  })
  it("lets no two executions run behind a limit of one, even if a time limit has left one, in 1,000 stacks", () =>
    fc.assert(
      fc.asyncProperty(limited, async (scenario) => {
        const { world } = await play(scenario)
        assert.isAtMost(world.maxAtOnce, 1, described(scenario))
      }),
      { numRuns: 1_000 }
    ))
})
