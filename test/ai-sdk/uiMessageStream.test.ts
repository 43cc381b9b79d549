/** A run as the message of an assistant, read by the AI SDK's own reader. */
import { assert, describe, it } from "@effect/vitest"
import { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from "ai"
import { Effect } from "effect"
import { demandWhole, textsOf } from "../support/uiMessages.ts"
import { play, type Played, scenarios } from "../support/uiScenarios.ts"

/** Demands what holds for the message of any run. */
const demandSound = (played: Played, isFailed = false) =>
  Effect.gen(function*() {
    const { before, errors, last, message } = played
    yield* Effect.promise(() => demandWhole(message))
    assert.strictEqual(errors.length, isFailed ? 1 : 0, errors.join())
    if (last?._tag === "RunEnded" && !isFailed) {
      const { shown, text } = last.answer
      assert.strictEqual(textsOf(message).at(-1), shown ?? text)
    }
    if (last?._tag === "RunSuspended") {
      assert.strictEqual(message.metadata?.suspension, last.waiting.suspension.id)
    } else if (!isFailed) {
      assert.notEqual(typeof message.metadata?.suspension, "string")
    }
    const end = before.at(-1)
    if (end?.role === "assistant") assert.strictEqual(message.id, end.id)
    else assert.notInclude(before.map(({ id }) => id), message.id)
    // Otherwise, the page would send the message back by itself, for ever.
    const messages = [...before.filter(({ id }) => id !== message.id), message]
    if (!isFailed) {
      assert.isFalse(lastAssistantMessageIsCompleteWithApprovalResponses({ messages }), "approvals")
      assert.isFalse(lastAssistantMessageIsCompleteWithToolCalls({ messages }), "tool calls")
    }
  })

describe("the message of a run", () => {
  for (const scenario of scenarios) {
    it.effect(`is sound: ${scenario.name}`, () =>
      Effect.gen(function*() {
        for (const played of yield* play(scenario)) yield* demandSound(played, scenario.isFailed)
      }))
  }
})
