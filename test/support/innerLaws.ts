/** The laws of tools that run inside another tool's handler: what a record of their effects says of the outcomes. */
import { assert } from "@effect/vitest"
import { described, play, type Scenario } from "./innerWorld.ts"

export const checkInner = async (scenario: Scenario): Promise<void> => {
  const { made, world } = await play(scenario)
  const text = described(scenario)
  assert.deepStrictEqual(world.faults, [], text)
  // A policy of a user may leave work behind, or replace a failure.
  const isOrderly = [scenario, ...scenario.inners].every(({ policies }) =>
    policies.every(([text]) => /^(retry|timeout|waits$)/.test(text))
  )
  for (const { call, hasOpen, outcome, part } of made) {
    // The certainty of a refused call is that of the earlier call.
    if (outcome._tag === "Failed" && outcome.stage === "admit") continue
    const executions = [...world.inner, ...world.outer]
    const hasActed = executions.some((execution) =>
      execution.call === call && execution.part <= part && execution.hasActed
    )
    // The answer of a read-only tool clears the doubt about what its earlier attempts ran under keys.
    const isCleared = scenario.sideEffect === "none" && outcome._tag === "Completed" && outcome.attempts > 1
    if (outcome.certainty === "not_executed" && !isCleared) assert.isFalse(hasActed, `acted all the same: ${text}`)
    if (outcome.certainty === "executed") {
      assert.isTrue(executions.some(({ hasActed }) => hasActed), `never acted: ${text}`)
    }
    if (outcome._tag === "Completed" && isOrderly) {
      const last = world.outer.findLastIndex((execution) => execution.call === call && execution.part === part)
      if (outcome.certainty !== "unknown") assert.isFalse(world.hasDoubt(last), `forgets a doubt: ${text}`)
    }
    if (outcome.certainty === "unknown" && isOrderly) assert.isTrue(hasOpen, `doubts without a reason: ${text}`)
  }
}
