/** Laws of models, over all that play a script: each protocol, split at odd places or not, and without a network. */
import { assert, describe, it } from "@effect/vitest"
import * as ModelLaws from "@fallible/testing/ModelLaws"
import { subjects, unstored } from "../support/models.ts"

it("have names of their own", () => {
  const names = ModelLaws.laws.map(({ name }) => name)
  assert.strictEqual(new Set(names).size, names.length)
})

for (const [name, subject] of subjects) {
  describe(name, () => {
    for (const law of ModelLaws.laws) it.live(law.name, () => law.check(subject))
  })
}

describe(unstored[0], () => {
  const laws = ModelLaws.laws.filter(({ name }) => /goes back to it|another model|whole conversation/i.test(name))
  assert.strictEqual(laws.length, 4)
  for (const law of laws) it.live(law.name, () => law.check(unstored[1]))
})
