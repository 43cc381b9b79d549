/** A run as the message of an assistant, read by the AI SDK's own reader. */
import { assert, describe, it } from "@effect/vitest"
import type { AiSdk } from "@fallible/ai-sdk"
import { Effect } from "effect"
import { demandWhole, messageOf, textsOf, toolsOf } from "../support/uiMessages.ts"
import { demandSound, play, scenarios } from "../support/uiScenarios.ts"

/** What a page shows of a message, but for what its own user has added to it. */
const shownOf = (message: AiSdk.UiMessage) => ({
  texts: textsOf(message),
  tools: toolsOf(message).map(({ approval, state, type }) => [type, state, approval?.approved])
})

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

  for (const scenario of scenarios.filter(({ acts = [] }) => acts.length > 0)) {
    it.effect(`is read again from the streams that it had: ${scenario.name}`, () =>
      Effect.gen(function*() {
        const streams = yield* play(scenario)
        const last = streams.at(-1)?.message ?? assert.fail()
        const chunks = streams.flatMap(({ chunks, message }) => message.id === last.id ? chunks : [])
        const { errors, message } = yield* Effect.promise(() => messageOf(chunks))
        assert.deepStrictEqual(errors, [])
        yield* Effect.promise(() => demandWhole(message))
        assert.deepStrictEqual(shownOf(message), shownOf(last))
      }))
  }
})
