/**
 * The faults that the README's first agent recovers from, over HTTP. Its tools are plain async functions that throw
 * ordinary errors, and its only setting is `Policy.standard()`.
 *
 * The model is a function of its messages. It reads the text of tool results as a weak model does, and does
 * not know this library. Errors of libraries are recorded (`support/errorShapes`); errors of `fetch` are
 * real.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { shapeOf } from "./support/errorShapes.ts"
import { modelFaults } from "./support/modelFaults.ts"
import { lookup, weak } from "./support/plainTools.ts"
import { playedFault, shortcomings } from "./support/playedFault.ts"
import { root } from "./support/program.ts"
import { type Scenario, toolFaults, unprovedFaults } from "./support/toolFaults.ts"

/** Scenarios that the agent does not handle yet. */
const undone: ReadonlyArray<Scenario> = [
  {
    name: "the connection is always refused, and there was a value yesterday",
    tools: (world) => [lookup(() => shapeOf("axios refused"))(world)],
    model: weak("look_up"),
    cost: "2/3",
    says: /old/,
    because: "A last known value needs LastKnown, which says where values are kept."
  }
]

const scenarios = [...toolFaults, ...modelFaults, ...undone]

describe("the README's first agent", () => {
  for (const scenario of scenarios) {
    const { because, cost, name } = scenario
    it.effect(`${name}: ${because === undefined ? cost : `not well. ${because}`}`, () =>
      Effect.gen(function*() {
        const played = yield* playedFault(scenario)
        const faults = shortcomings(scenario, played)
        if (because === undefined) assert.deepStrictEqual(faults, [])
        else assert.isNotEmpty(faults, "it ends well now: it needs no reason")
        assert.notMatch(played.read, /SECRET|hunter2|\/home|BookingError|TypeError|    at |127\.0\.0\.1/)
        assert.isAtMost(played.done.length, 1, "nothing acts twice")
      }))
  }

  for (const scenario of unprovedFaults) {
    it.effect(`tells as uncertain, and does at most once: ${scenario.name}`, () =>
      Effect.gen(function*() {
        const played = yield* playedFault(scenario)
        assert.deepStrictEqual(shortcomings(scenario, played), [])
        assert.isAtMost(played.done.length, 1, "nothing acts twice")
      }))
  }

  it("handles at least 85 % of the scenarios, the number in the README, which shows this agent", () => {
    const well = scenarios.filter(({ because }) => because === undefined)
    assert.isAtLeast(well.length / scenarios.length, 0.85)
    const readme = readFileSync(join(root, "README.md"), "utf8").replaceAll("\n", " ")
    assert.include(readme, `a suite of ${scenarios.length} faults`)
    assert.include(readme, `this agent ends well in ${well.length}.`)
    assert.include(readme, "Agent.make({ toolkit: Toolkit.make(getQuote), policies: Policy.standard() })")
  })
})
