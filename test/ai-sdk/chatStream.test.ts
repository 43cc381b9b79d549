/** One request of a chat after the other (`AiSdk.chatStream`): what is asked or replied, and what is kept. */
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@fallible/ai-sdk"
import { Agent, ModelFailure, Tool, Toolkit } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import { ScriptedModel } from "@fallible/testing"
import { Deferred, Effect, Fiber, Schema, Stream } from "effect"
import { payments, playing } from "../support/approving.ts"
import { chunksOf, messageOf, textsOf, toolsOf } from "../support/uiMessages.ts"
import { decide } from "../support/uiScenarios.ts"

const { call, text } = ScriptedModel

const codec = Schema.toCodecJson(AiSdk.Chat)

/** A chat that is kept as text, its agent, and what has been paid. */
const chatting = () => {
  const { paid, pay } = payments()
  const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve())) })
  let kept: string | undefined
  const chat = () => kept === undefined ? undefined : Schema.decodeUnknownSync(codec)(JSON.parse(kept))
  let keeps = 0
  const keep = (chat: AiSdk.Chat) =>
    Effect.sync(() => {
      keeps++
      kept = JSON.stringify(Schema.encodeSync(codec)(chat))
    })
  /** Sends the messages of the page, and returns them with the answer. */
  const post = (messages: ReadonlyArray<AiSdk.UiMessage>) =>
    Effect.gen(function*() {
      const run = AiSdk.chatStream(agent, messages, { id: "chat-1", chat: chat(), keep, by: "Ada" })
      const chunks = yield* chunksOf(run, { originalMessages: messages })
      const last = messages.at(-1)
      const continued = last?.role === "assistant" ? last : undefined
      const { errors, message } = yield* Effect.promise(() => messageOf(chunks, continued))
      return {
        messages: [...(continued === undefined ? messages : messages.slice(0, -1)), message],
        message,
        chunks,
        errors
      }
    })
  return { agent, paid, post, chat, keep, keeps: () => keeps }
}

let count = 0
const user = (words: string): AiSdk.UiMessage => ({
  id: `u${++count}`,
  role: "user",
  parts: [{ type: "text", text: words }]
})

const deciding = (approved: boolean) => (messages: ReadonlyArray<AiSdk.UiMessage>): ReadonlyArray<AiSdk.UiMessage> => {
  const last = messages.at(-1) ?? assert.fail("There is no message.")
  return [...messages.slice(0, -1), ...decide(approved)(last)]
}

describe("AiSdk.chatStream", () => {
  it.effect("asks, waits, goes on with the approval, and remembers", () =>
    Effect.gen(function*() {
      const { chat, paid, post } = chatting()
      const asked = yield* post([user("Pay Ada.")])
      assert.deepStrictEqual(toolsOf(asked.message).map(({ state }) => state), ["approval-requested"])
      assert.strictEqual(chat()?.suspension?.questions.length, 1)
      const approved = yield* post(deciding(true)(asked.messages))
      assert.deepStrictEqual(textsOf(approved.message), ["Paid."])
      // Who reads the message from its beginning sees the decision first.
      assert.strictEqual(approved.chunks[1]?.type, "tool-approval-response")
      assert.strictEqual(paid.length, 1)
      assert.isUndefined(chat()?.suspension)
      const later = yield* post([...approved.messages, user("Pay Ada again.")])
      assert.deepStrictEqual(textsOf(later.message), ["It was paid before."])
      assert.strictEqual(paid.length, 1)
      assert.strictEqual(chat()?.transcript.length, 8)
    }).pipe(
      playing(
        call("pay", { to: "Ada", amount: 5 }),
        text("Paid."),
        call("pay", { to: "Ada", amount: 5 }),
        text("It was paid before.")
      )
    ))

  it.effect("an approval that is sent twice pays once", () =>
    Effect.gen(function*() {
      const { paid, post } = chatting()
      const asked = yield* post([user("Pay Ada.")])
      const reply = deciding(true)(asked.messages)
      yield* post(reply)
      const again = yield* post(reply)
      assert.strictEqual(paid.length, 1)
      assert.deepStrictEqual(again.errors, ["Error: The request is not valid."])
    }).pipe(playing(call("pay", { to: "Ada", amount: 5 }), text("Paid."))))

  it.effect("words instead of a decision begin a new run, and the question is dropped", () =>
    Effect.gen(function*() {
      const { chat, paid, post } = chatting()
      const asked = yield* post([user("Pay Ada.")])
      const other = yield* post([...asked.messages, user("Never mind.")])
      assert.deepStrictEqual(textsOf(other.message), ["As you like."])
      assert.isUndefined(chat()?.suspension)
      assert.strictEqual(paid.length, 0)
    }).pipe(playing(call("pay", { to: "Ada", amount: 5 }), text("As you like."))))

  it.effect("nothing that is asked is refused, and nothing is kept", () =>
    Effect.gen(function*() {
      const { agent, keep, keeps } = chatting()
      for (const messages of [[], [{ id: "a", role: "assistant", parts: [] } satisfies AiSdk.UiMessage]]) {
        const run = AiSdk.chatStream(agent, messages, { id: "chat-1", chat: undefined, keep })
        const failure = yield* Effect.flip(Stream.runDrain(run))
        assert.strictEqual(failure._tag, "RunRefused")
        assert.include(failure.detail, "end with nothing that is asked or replied to")
      }
      assert.strictEqual(keeps(), 0)
    }).pipe(playing()))

  it.effect("a run that fails is kept, with what it did", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({ toolkit: Toolkit.make(pay) })
      const kept: Array<AiSdk.Chat> = []
      const keep = (chat: AiSdk.Chat) => Effect.sync(() => void kept.push(chat))
      const run = AiSdk.chatStream(agent, [user("Pay Ada.")], { id: "chat-1", chat: undefined, keep })
      const failure = yield* Effect.flip(Stream.runDrain(run))
      assert.strictEqual(failure._tag, "ModelFailed")
      assert.strictEqual(paid.length, 1)
      // Once the payment was made, and at the end.
      assert.deepStrictEqual(kept.map(({ transcript }) => transcript.length), [3, 3])
    }).pipe(
      playing(
        call("pay", { to: "Ada", amount: 5 }),
        new ModelFailure({ code: "down", detail: "Down.", transient: false })
      )
    ))

  it.effect("a run that is stopped is kept, and its call is in doubt", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const send = Tool.make("send", { description: "Sends", success: Schema.Void }, () =>
        Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
      const kept: Array<AiSdk.Chat> = []
      const keep = (chat: AiSdk.Chat) =>
        Effect.sync(() =>
          void kept.push(chat)
        )
      const agent = Agent.make({ toolkit: Toolkit.make(send) })
      const run = AiSdk.chatStream(agent, [user("Send.")], { id: "chat-1", chat: undefined, keep })
      const fiber = yield* Effect.forkChild(Stream.runDrain(run))
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(kept.map(({ facts }) => CallFacts.inDoubt(facts).map(({ tool }) => tool)), [["send"]])
    }).pipe(playing(call("send", {}))))
})
