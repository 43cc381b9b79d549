/** A run as the message of an assistant, read by the AI SDK's own reader. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { demandSound, play, scenarios } from "../support/uiScenarios.ts"

describe("the message of a run", () => {
  for (const scenario of scenarios) {
    it.effect(`is sound: ${scenario.name}`, () =>
      Effect.gen(function*() {
        const streams = yield* play(scenario)
        for (const played of streams) yield* Effect.promise(() => demandSound(played))
        const isFailed = streams.at(-1)?.chunks.some(({ type }) => type === "error")
        assert.strictEqual(isFailed, scenario.isFailed ?? false)
      }))
  }
})
