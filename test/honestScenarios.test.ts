/**
 * Scenarios in which caution may hurt: nothing is wrong, or only a little. A plain loop plays each of them, and so does the
 * README's agent. It must end as well as the plain loop, or better, with at most one reply more.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { playedHere, playedPlainly } from "./support/honest/play.ts"
import { deaf, heeding } from "./support/honest/scenario.ts"
import { scenarios } from "./support/honest/scenarios.ts"
import { root } from "./support/program.ts"

for (const kind of new Set(scenarios.map(({ kind }) => kind))) {
  describe(`honest work: ${kind}`, () => {
    for (const scenario of scenarios.filter((one) => one.kind === kind)) {
      const { done = [], name, plainIsWrong = false, replies, says, time } = scenario
      it.effect(name, () =>
        Effect.gen(function*() {
          const plain = yield* playedPlainly(scenario)
          assert.strictEqual(
            says.test(plain.answer),
            !plainIsWrong,
            `a plain loop answers ${plain.answer.slice(0, 300)}`
          )
          if (!plainIsWrong) assert.deepStrictEqual([plain.replies, plain.done], [replies, done])

          for (const [how, reading] of [["reads", undefined], ["heeds", heeding], ["ignores", deaf]] as const) {
            const here = yield* playedHere(scenario, reading)
            // Only advice helps where a plain loop ends wrongly.
            if (how === "ignores" && plainIsWrong) continue
            assert.match(here.answer, says, `a model that ${how} advice`)
            assert.deepStrictEqual(here.done, done, how)
            assert.isAtMost(here.replies, replies + 1, `a model that ${how} advice`)
            if (time !== undefined) assert.isAtMost(here.time, time)
          }
        }))
    }
  })
}

it("are as many as the README says", () => {
  const readme = readFileSync(join(root, "README.md"), "utf8").replaceAll("\n", " ")
  const plain = scenarios.filter(({ plainIsWrong = false }) => !plainIsWrong)
  assert.include(
    readme,
    `Of ${scenarios.length} scenarios of honest work, it ends all well; a plain loop, ${plain.length}.`
  )
})
