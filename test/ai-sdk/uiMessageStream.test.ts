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

/** The parts of a message in short. */
const partsOf = (message: AiSdk.UiMessage): ReadonlyArray<string> =>
  message.parts.map((part) => {
    if (part.type === "step-start") return "-"
    if (part.type === "data-recovery") return `recovery ${part.data.status} ${part.data.by ?? ""}`.trim()
    if (part.type === "data-answer") return `answer ${JSON.stringify(part.data)}`
    if ("toolCallId" in part) return `${part.type} ${part.state} ${JSON.stringify(part.input)}`
    if ("text" in part) return `${part.type} ${part.text}`
    return "url" in part ? `${part.type} ${part.url}` : part.type
  })

const parts: Readonly<Record<string, ReadonlyArray<string>>> = {
  "a call, shown, with reasoning and text": [
    "-",
    "reasoning Where?",
    "text I look.",
    "tool-look output-available {\"city\":\"Oslo\"}",
    "-",
    "reasoning So be it.",
    "text It is done."
  ],
  "a model that fails while it speaks": [
    "-",
    "tool-look output-available {\"city\":\"Oslo\"}",
    "-",
    "text It is done."
  ],
  "a lost answer that a check finds": [
    "-",
    "tool-pay output-available {}",
    "recovery completed reconcile",
    "-",
    "text It is done."
  ],
  "a written typed answer": [
    "-",
    "tool-look output-available {\"city\":\"Oslo\"}",
    "-",
    "reasoning Three.",
    "source-url https://days.example",
    "text {\"days\":3}",
    "answer {\"days\":3}"
  ],
  "a typed answer by a call": [
    "-",
    "tool-look output-available {\"city\":\"Oslo\"}",
    "-",
    "text So:",
    "tool-final_answer output-available {\"days\":3}",
    "answer {\"days\":3}",
    "-",
    "text {\"days\":3}"
  ],
  "a conclusion": [
    "-",
    "tool-look output-available {\"city\":\"Oslo\"}",
    "-",
    "text Now Rome.",
    "tool-look output-error {\"city\":\"Rome\"}",
    "-",
    "text It is done."
  ],
  "a stop, beside another call": [
    "-",
    "tool-look output-available {\"city\":\"Oslo\"}",
    "tool-look output-error {\"city\":\"Rome\"}",
    "tool-check output-error {}"
  ],
  "several approvals, some calls held back": [
    "-",
    "tool-look output-available {\"city\":\"Oslo\"}",
    "tool-pay output-available {\"city\":\"Oslo\"}",
    "tool-look output-available {\"city\":\"Rome\"}",
    "tool-pay approval-requested {\"city\":\"Rome\"}"
  ],
  "an approved call that asks": ["-", "tool-book output-available {}", "-", "text It is done."],
  "a tool of the page, hidden": ["-", "tool-locate output-available {\"exact\":true}", "-", "text It is done."],
  "sources and files": [
    "-",
    "tool-draw output-available {}",
    "file data:image/gif;base64,R0lG",
    "-",
    "text It is done.",
    "source-url https://a.example",
    "source-document",
    "source-document",
    "file data:image/png;base64,aaaa",
    "file https://a.example/b.png"
  ],
  "a postponed run": ["-", "data-postponed"]
}

describe("the parts of a message", () => {
  for (const [name, expected] of Object.entries(parts)) {
    it.effect(`are those of its run: ${name}`, () =>
      Effect.gen(function*() {
        const streams = yield* play(scenarios.find((scenario) => scenario.name === name) ?? assert.fail(name))
        assert.deepStrictEqual(partsOf(streams.at(-1)?.message ?? assert.fail()), expected)
      }))
  }
})
