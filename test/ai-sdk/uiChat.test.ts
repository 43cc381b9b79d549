/**
 * The AI SDK's own chat talks to an agent, over each way to serve it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Tool, ToolCall, Toolkit } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Deferred, Effect, Schema } from "effect"
import { payments } from "../support/approving.ts"
import { Chat, routeOf, servings } from "../support/uiChats.ts"
import { demandWhole, textsOf, toolsOf } from "../support/uiMessages.ts"
import { inPieces } from "../support/uiScenarios.ts"

const { call, calls, text } = ScriptedModel

const locate = Tool.client("locate", {
  description: "Where the user is",
  success: Schema.Struct({ city: Schema.String }),
  sideEffect: "none"
})

const booking = {
  agent: Agent.make({
    toolkit: Toolkit.make(
      Tool.make("book", { description: "Books", success: Schema.String }, () => ToolCall.ask("For how many?"))
    )
  }),
  model: inPieces(({ messages }) => {
    const last = messages.at(-1)
    return last?.role === "tool" ? text(`A table for ${last.text}`) : call("book")
  })
}

const lastText = (chat: Chat) => textsOf(chat.lastMessage ?? assert.fail("no message")).at(-1)

const sound = (chat: Chat) =>
  Effect.promise(async () => {
    assert.strictEqual(chat.status, "ready", String(chat.error))
    for (const message of chat.messages) await demandWhole(message)
    const ids = chat.messages.map(({ id }) => id)
    assert.strictEqual(new Set(ids).size, ids.length)
  })

for (const [name, serving] of Object.entries(servings)) {
  describe(`a chat over ${name}`, () => {
    it.live("asks, and asks again with what was said", () =>
      Effect.gen(function*() {
        const agent = Agent.make({ toolkit: Toolkit.empty })
        const model = inPieces(({ messages }) => text(`${messages.length} messages.`))
        const chat = new Chat({ transport: yield* serving(routeOf(agent, model)) })
        yield* Effect.promise(() => chat.sendMessage({ text: "Hi" }))
        assert.strictEqual(lastText(chat), "1 messages.")
        yield* Effect.promise(() => chat.sendMessage({ text: "And now?" }))
        assert.strictEqual(lastText(chat), "3 messages.")
        yield* Effect.promise(() => chat.regenerate())
        assert.strictEqual(lastText(chat), "3 messages.")
        assert.deepStrictEqual(chat.messages.map(({ role }) => role), ["user", "assistant", "user", "assistant"])
        yield* sound(chat)
      }).pipe(Effect.scoped))

    it.live("approves one call and denies another, and goes on by itself", () =>
      Effect.gen(function*() {
        const { paid, pay } = payments()
        const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve())) })
        const model = inPieces(({ messages }) =>
          messages.at(-1)?.role === "user"
            ? calls(["pay", { to: "Ada", amount: 5 }], ["pay", { to: "Ben", amount: 6 }])
            : text("Paid one.")
        )
        const chat = new Chat({ transport: yield* serving(routeOf(agent, model)) })
        yield* Effect.promise(() => chat.sendMessage({ text: "Pay both." }))
        const asking = toolsOf(chat.lastMessage ?? assert.fail())
        assert.deepStrictEqual(asking.map(({ state }) => state), ["approval-requested", "approval-requested"])
        const [ada, ben] = asking.map(({ approval }) => approval?.id ?? assert.fail())
        yield* Effect.promise(async () => {
          await chat.addToolApprovalResponse({ id: ada!, approved: true })
          await chat.addToolApprovalResponse({ id: ben!, approved: false, reason: "Too much." })
          await chat.answered()
        })
        assert.strictEqual(lastText(chat), "Paid one.")
        assert.deepStrictEqual(toolsOf(chat.lastMessage ?? assert.fail()).map(({ state }) => state), [
          "output-available",
          "output-denied"
        ])
        assert.deepStrictEqual(paid, [{ to: "Ada", amount: 5 }])
        assert.strictEqual(chat.messages.length, 2)
        yield* sound(chat)
      }).pipe(Effect.scoped))

    it.live("runs a tool of the page, and sends its result by itself", () =>
      Effect.gen(function*() {
        const agent = Agent.make({ toolkit: Toolkit.make(locate) })
        const model = inPieces(({ messages }) => {
          const last = messages.at(-1)
          return last?.role === "tool" ? text(`Found ${last.text}`) : call("locate", {})
        })
        const chat = new Chat({ transport: yield* serving(routeOf(agent, model)) })
        yield* Effect.promise(async () => {
          await chat.sendMessage({ text: "Where am I?" })
          const [part] = toolsOf(chat.lastMessage ?? assert.fail())
          assert.strictEqual(part?.state, "input-available")
          await chat.addToolOutput({ tool: "locate", toolCallId: part?.toolCallId ?? "", output: { city: "Oslo" } })
          await chat.answered()
        })
        assert.strictEqual(lastText(chat), "Found {\"city\":\"Oslo\"}")
        yield* sound(chat)
      }).pipe(Effect.scoped))

    it.live("runs a tool of the page once, and only after its approval", () =>
      Effect.gen(function*() {
        const open = Tool.client("open", {
          description: "Opens a page",
          parameters: Schema.Struct({ page: Schema.String }),
          success: Schema.String,
          sideEffect: "none"
        }).pipe(Tool.approve(({ page }) => page === "secret"))
        const agent = Agent.make({ toolkit: Toolkit.make(open) })
        const model = inPieces(({ messages }) =>
          messages.at(-1)?.role === "user"
            ? calls(["open", { page: "secret" }], ["open", { page: "home" }])
            : text("Both are open.")
        )
        const ran: Array<unknown> = []
        const chat: Chat = new Chat({
          transport: yield* serving(routeOf(agent, model)),
          onToolCall: ({ toolCall: { input, toolCallId } }) => {
            ran.push(input)
            void chat.addToolOutput({ tool: "open", toolCallId, output: "opened" })
          }
        })
        yield* Effect.promise(() => chat.sendMessage({ text: "Open both." }))
        const approval = toolsOf(chat.lastMessage ?? assert.fail()).flatMap(({ approval }) => approval?.id ?? [])
        assert.deepStrictEqual([approval.length, ran], [1, [{ page: "home" }]])
        yield* Effect.promise(async () => {
          await chat.addToolApprovalResponse({ id: approval[0]!, approved: true })
          await chat.answered()
        })
        assert.strictEqual(lastText(chat), "Both are open.")
        assert.deepStrictEqual(ran, [{ page: "home" }, { page: "secret" }])
        yield* sound(chat)
      }).pipe(Effect.scoped))

    it.live("asks in words, and the user's next message replies", () =>
      Effect.gen(function*() {
        const { agent, model } = booking
        const chat = new Chat({ transport: yield* serving(routeOf(agent, model)) })
        yield* Effect.promise(() => chat.sendMessage({ text: "Book a table." }))
        assert.deepInclude(chat.lastMessage?.parts.at(-1), { type: "data-question" })
        yield* Effect.promise(() => chat.sendMessage({ text: "four" }))
        assert.strictEqual(lastText(chat), "A table for \"four\"")
        assert.deepStrictEqual(chat.messages.map(({ role }) => role), ["user", "assistant", "user", "assistant"])
        yield* sound(chat)
      }).pipe(Effect.scoped))

    it.live("is stopped: the run is interrupted, and so is its tool", () =>
      Effect.gen(function*() {
        const ended = yield* Deferred.make<void>()
        const endless = Tool.make(
          "endless",
          { description: "", success: Schema.String, sideEffect: "none" },
          () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(ended, undefined))
        )
        const agent = Agent.make({ toolkit: Toolkit.make(endless) })
        const chat = new Chat({ transport: yield* serving(routeOf(agent, inPieces([call("endless")]))) })
        const sending = chat.sendMessage({ text: "Go." })
        yield* Effect.promise(() =>
          chat.until((message) => message?.role === "assistant" && toolsOf(message).length > 0)
        )
        yield* Effect.promise(() => chat.stop())
        yield* Effect.promise(() => sending)
        yield* Deferred.await(ended)
        yield* sound(chat)
      }).pipe(Effect.scoped))

    it.live("is read again by another page, from its beginning, while it runs", () =>
      Effect.gen(function*() {
        const go = yield* Deferred.make<void>()
        const gate = Tool.make(
          "gate",
          { description: "", success: Schema.String, sideEffect: "none" },
          () => Effect.as(Deferred.await(go), "open")
        )
        const agent = Agent.make({ toolkit: Toolkit.make(gate) })
        const transport = yield* serving(routeOf(agent, inPieces([call("gate"), text("It is open.")])))
        const first = new Chat({ id: "c", transport: { ...transport, body: { keep: true } } })
        const sending = first.sendMessage({ text: "Go." })
        yield* Effect.promise(() =>
          first.until((message) => message?.role === "assistant" && toolsOf(message).length > 0)
        )
        const second = new Chat({ id: "c", transport })
        const reading = second.resumeStream()
        yield* Effect.promise(() =>
          second.until((message) => message?.role === "assistant" && toolsOf(message).length > 0)
        )
        yield* Deferred.succeed(go, undefined)
        yield* Effect.promise(() => Promise.all([sending, reading]))
        assert.deepStrictEqual(second.lastMessage, first.lastMessage)
        assert.strictEqual(lastText(second), "It is open.")
        yield* sound(second)
        // Nothing is running any more.
        yield* Effect.promise(() => second.resumeStream())
        assert.strictEqual(second.status, "ready")
      }).pipe(Effect.scoped))

    it.live("shows the error of a run that fails", () =>
      Effect.gen(function*() {
        const agent = Agent.make({ toolkit: Toolkit.empty, limits: { turns: 1 } })
        const chat = new Chat({ transport: yield* serving(routeOf(agent, inPieces([text("")]))) })
        yield* Effect.promise(() => chat.sendMessage({ text: "Hi" }))
        assert.strictEqual(chat.status, "error")
        assert.strictEqual(chat.error?.message, "A limit was reached without an answer. Ask a simpler question.")
      }).pipe(Effect.scoped))
  })
}
