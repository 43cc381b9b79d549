/** What customers read: all sentences of the scenarios, in one list. */
import { assert, describe, it } from "@effect/vitest"
import type { AiSdk } from "@fallible/ai-sdk"
import { Effect } from "effect"
import { play, scenarios } from "../support/uiScenarios.ts"

const sentencesOf = (chunk: AiSdk.UiChunk): ReadonlyArray<string> => {
  if (chunk.type === "data-recovery") return [chunk.data.text]
  if (chunk.type === "data-postponed") return [chunk.data.message]
  return "errorText" in chunk ? [chunk.errorText] : []
}

const golden = [
  "equal calls: It was asked for twice, and done only once.",
  "a retried call: There was a problem. Trying again in 5 seconds. | There was a problem. It worked on try 2.",
  "a call retried in vain: There was a problem. Trying again in 5 seconds. | It is not available now. | It was tried 3 times, without success.",
  "another source: The usual source failed. Asking another one. | The usual source failed. Another one answered.",
  "a lost answer that a check finds: There was a problem. It is being handled. | Done once: the answer was lost, and a check found that it had been done.",
  "a lost answer that a check refutes: There was a problem. Trying again in 5 seconds. | Done once: a check found that the first try had done nothing, so it was tried again.",
  "a lost answer: It may have been done. That is not known for sure.",
  "a lost answer, and one in its place: The usual source failed. Asking another one. | It may have been done. That is not known for sure.",
  "a call that was done before: It had been done before, so it was not done again.",
  "hostile names and arguments that are no JSON: It did not work.",
  "a fixed call: A detail was wrong. Trying again with it corrected. | A detail was wrong. It worked once that was corrected.",
  "a fixer that answers: There was a problem. It is being handled. | The usual source failed. Another one answered.",
  "a call retried at once: There was a problem. Trying again. | There was a problem. It worked on try 2.",
  "a call retried after minutes: There was a problem. Trying again in 5 minutes. | There was a problem. It worked on try 2.",
  "a failure that is caught: There was a problem. It is being handled. | There was a problem. It was solved.",
  "a failure that is told otherwise, and remains: The usual source failed. Asking another one. | It is not available now. | There was a problem. It did not work.",
  "a part of the answer: It was done, but its answer was not complete.",
  "a conclusion: It is not available now.",
  "a typed conclusion: It is not available now.",
  "a limit: A limit was reached without an answer. Ask a simpler question.",
  "a stop, beside another call: It was stopped. | A tool stopped the run.",
  "a model that cannot answer: The model did not answer.",
  "a refused run: The request is not valid.",
  "a postponed run: The model is busy. Ask again in 1h.",
  "a broken stream: The run ended before this did. | Something went wrong. What was done before that stays done.",
  "an interrupted run: The run ended before this did.",
  "a doubt that is asked about: It may have been done. That is not known for sure. | It had been done before, so it was not done again.",
  "a tool of the page, shown, that fails: It did not work."
]

describe("the sentences for customers", () => {
  it.effect("are these", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      for (const scenario of scenarios) {
        const { arguments: _, results: __, ...hidden } = scenario.show ?? {}
        const streams = yield* play({ ...scenario, show: hidden })
        const sentences = Array.from(new Set(streams.flatMap(({ chunks }) => chunks.flatMap(sentencesOf))))
        for (const sentence of sentences) assert.isAtMost(sentence.split(" ").length, 25, sentence)
        if (sentences.length > 0) said.push(`${scenario.name}: ${sentences.join(" | ")}`)
      }
      assert.deepStrictEqual(said, golden)
    }))
})
