/* Calls that cannot be read, in the loop of the AI SDK, and what a customer reads of failures there. */
import { createOpenAI } from "@ai-sdk/openai"
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@fallible/ai-sdk"
import { Tool, Toolkit } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import {
  convertToModelMessages,
  isStepCount,
  readUIMessageStream,
  streamText,
  toUIMessageStream,
  type UIMessage
} from "ai"
import { Effect, Schema } from "effect"
import { ada, payments } from "../support/approving.ts"

/** Payments that need an approval, and what was paid. */
const approvedPayments = () => {
  const { paid, pay } = payments()
  return { paid, toolkit: Toolkit.make(pay.pipe(Tool.approve())) }
}

type Payments = ReturnType<typeof approvedPayments>["toolkit"]

/** One request of a chat. Returns its messages. */
const request = (url: string, toolkit: Payments, messages: ReadonlyArray<UIMessage>) =>
  Effect.promise(async () => {
    const { stream } = streamText({
      model: createOpenAI({ apiKey: "any", baseURL: `${url}/v1` }).responses("any"),
      messages: await convertToModelMessages(Array.from(messages)),
      tools: AiSdk.tools(toolkit, { scope: "chat-1", facts: CallFacts.empty }),
      repairToolCall: AiSdk.repairToolCall(toolkit),
      stopWhen: isStepCount(5)
    })
    let last: UIMessage | undefined
    const chunks = toUIMessageStream({ stream, onError: AiSdk.errorText })
    for await (const message of readUIMessageStream({ stream: chunks })) last = message
    return [...messages, last!]
  })

const said = (text: string): UIMessage => ({ id: text, role: "user", parts: [{ type: "text", text }] })

describe("a call that is cut off, in the loop of the AI SDK", () => {
  it.effect("runs nothing, asks nobody, says where it ends, and leaves a chat that goes on", () =>
    Effect.scoped(Effect.gen(function*() {
      const { paid, toolkit } = approvedPayments()
      const cut = "{\"to\":\"Ada\",\"amo"
      const { state, url } = yield* FakeModelServer.make([
        ScriptedModel.call("pay", cut),
        ScriptedModel.text("I could not."),
        ScriptedModel.text("Hello.")
      ])
      const first = yield* request(url, toolkit, [said("Pay Ada.")])
      const parts = first.at(-1)?.parts ?? []
      assert.deepStrictEqual(parts.flatMap((part) => "errorText" in part ? [part.errorText] : []), ["It did not work."])
      const second = yield* request(url, toolkit, [...first, said("Hi.")])
      assert.deepInclude(second.at(-1)?.parts.at(-1), { type: "text", text: "Hello." })
      assert.strictEqual(paid.length, 0)
      const { requests } = yield* state
      const read = requests[1]?.asked?.messages.at(-1)
      assert.include(read?.role === "tool" ? read.text : "", "They end too early, at offset 16")
    })))

  it.effect("a model cannot write one by itself, to go without an approval", () =>
    Effect.scoped(Effect.gen(function*() {
      const { paid, toolkit } = approvedPayments()
      const { url } = yield* FakeModelServer.make([
        ScriptedModel.call("pay", { unreadable_arguments: JSON.stringify(ada) }),
        ScriptedModel.text("I could not.")
      ])
      const messages = yield* request(url, toolkit, [said("Pay Ada.")])
      assert.deepInclude(messages.at(-1)?.parts[1], { state: "output-error", errorText: "It did not work." })
      assert.strictEqual(paid.length, 0)
    })))
})

describe("AiSdk.errorText", () => {
  it.effect("says of a call beside that of another request that the other one may be doing it", () =>
    Effect.gen(function*() {
      const gate = Promise.withResolvers<string>()
      const book = Tool.promise("book", { description: "Books", success: Schema.String }, () => gate.promise)
      const made = () =>
        AiSdk.tools(Toolkit.make(book), { scope: "chat-of-two", facts: CallFacts.empty }).book.execute?.({}, {
          toolCallId: "1",
          messages: [],
          context: {}
        })
      const first = made()
      const error = yield* Effect.promise(async () => await Promise.resolve(made()).catch((error: unknown) => error))
      assert.strictEqual(AiSdk.errorText(error), "Another request is still at work, and may be doing this.")
      gate.resolve("r-1")
      assert.strictEqual(yield* Effect.promise(async () => await first), "r-1")
    }))

  it.effect("says of what is no failed call that something went wrong", () =>
    Effect.sync(() =>
      assert.strictEqual(
        AiSdk.errorText(new Error("secret")),
        "Something went wrong. What was done before that stays done."
      )
    ))
})
