/**
 * Honest work, in which nothing is really wrong: the library must not get in its way. Each scenario is played by the loop
 * that everybody writes first, and by an agent with the same tools, the same model and its defaults.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { heeding } from "./support/heeding.ts"
import { honestKinds } from "./support/honest/all.ts"
import { excess, playAgent, playPlain, wrongEnds } from "./support/honest/play.ts"
import { root } from "./support/program.ts"

for (const { kind, scenarios } of honestKinds) {
  describe(`a plain loop: ${kind}`, () => {
    for (const scenario of scenarios) {
      it.effect(scenario.name, () =>
        Effect.gen(function*() {
          const played = yield* playPlain(scenario)
          const faults = wrongEnds(scenario, played)
          if (scenario.plainIsWrong === true) assert.isNotEmpty(faults, "it ends well")
          else {
            assert.deepStrictEqual([...faults, played.replies], [scenario.replies])
            if (scenario.time !== undefined) assert.strictEqual(played.time, scenario.time)
          }
        }))
    }
  })

  for (const [who, listen] of [["its model", undefined], ["a model that heeds all advice", heeding]] as const) {
    describe(`an agent by default, with ${who}: ${kind}`, () => {
      for (const scenario of scenarios) {
        it.effect(scenario.name, () =>
          Effect.gen(function*() {
            const played = yield* playAgent(scenario, listen)
            const faults = [...wrongEnds(scenario, played), ...excess(scenario, played)]
            if (scenario.because === undefined) assert.deepStrictEqual(faults, [])
            else assert.isNotEmpty(faults, "it ends well now: it needs no reason")
          }))
      }
    })
  }
}

it("are as many as the guide to limits says", () => {
  const all = honestKinds.flatMap(({ scenarios }) => scenarios)
  const well = all.filter(({ because }) => because === undefined)
  const plain = all.filter(({ plainIsWrong = false }) => !plainIsWrong)
  const guide = readFileSync(join(root, "docs/limits.md"), "utf8").replaceAll("\n", " ")
  assert.include(
    guide,
    `Of ${all.length} scenarios of honest work, an agent with these defaults and \`Policy.standard()\` ends ${well.length} well, and a plain loop ${plain.length}.`
  )
})
