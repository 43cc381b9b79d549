/* Tools of ours in the loop of the AI SDK (`AiSdk.tools`), over a real wire. */
import { createOpenAI } from "@ai-sdk/openai"
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@fallible/ai-sdk"
import { Tool, ToolCall, Toolkit, ToolUnavailable, Transcript } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { generateText, isStepCount, type ModelMessage, streamText, tool, type ToolSet } from "ai"
import { MockLanguageModelV4 } from "ai/test"
import { Context, Effect, Layer, ManagedRuntime, Schedule, Schema } from "effect"
import { z } from "zod"
import { ada, payments } from "../support/approving.ts"
import { losing } from "../support/losing.ts"

/** Runs `generateText` against a model that plays a script. Returns its result, and what the model read of each call. */
const generating = (
  script: FakeModelServer.Script,
  tools: ToolSet,
  toolkit: Toolkit.Toolkit = Toolkit.empty,
  messages: Array<ModelMessage> = [{ role: "user", content: "Go." }]
) =>
  Effect.scoped(Effect.gen(function*() {
    const { state, url } = yield* FakeModelServer.make(script)
    const model = createOpenAI({ apiKey: "any", baseURL: `${url}/v1` }).responses("any")
    const result = yield* Effect.promise(() =>
      generateText({
        model,
        messages,
        tools,
        repairToolCall: AiSdk.repairToolCall(toolkit),
        stopWhen: isStepCount(10),
        maxRetries: 0
      })
    )
    const { requests } = yield* state
    const read = (requests.at(-1)?.asked?.messages ?? []).flatMap((message) =>
      message.role === "tool" ? [message.text] : []
    )
    return { result, read }
  }))

const done = ScriptedModel.text("Done.")

/** The calls that have failed in the loop of the AI SDK. */
const failuresOf = (
  { steps }: { readonly steps: ReadonlyArray<{ readonly content: ReadonlyArray<{ readonly type: string }> }> }
) =>
  steps.flatMap(({ content }) =>
    content.flatMap((part) =>
      part.type === "tool-error" && "error" in part && part.error instanceof AiSdk.CallFailed ? [part.error] : []
    )
  )

const outcomeCode = ({ outcome }: AiSdk.CallFailed) => outcome._tag === "Failed" ? outcome.failure.code : outcome._tag

describe("AiSdk.tools in generateText", () => {
  it.effect("runs calls with repaired arguments, and returns decoded results", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const at = Tool.make("at", {
        description: "When",
        parameters: Schema.Struct({ n: Schema.Int, since: Schema.DateFromString }),
        success: Schema.Struct({ at: Schema.DateFromString }),
        sideEffect: "none"
      }, (params) => {
        seen.push(params)
        return Effect.succeed({ at: params.since })
      })
      const toolkit = Toolkit.make(at)
      const date = new Date("2026-01-01T00:00:00.000Z")
      const { read, result } = yield* generating(
        [ScriptedModel.call("at", "{n: '7', since: '2026-01-01T00:00:00.000Z',}"), done],
        AiSdk.tools(toolkit),
        toolkit
      )
      assert.deepStrictEqual(seen, [{ n: 7, since: date }])
      assert.deepStrictEqual(result.steps[0]?.toolResults.map(({ output }) => output), [{ at: date }])
      assert.include(read[0], "2026-01-01T00:00:00.000Z")
      assert.strictEqual(result.text, "Done.")
    }))

  it.effect("a lost payment is made once, in other words either, and another one goes on", () =>
    Effect.gen(function*() {
      const { keys, pay } = losing()
      const { read, result } = yield* generating([
        ScriptedModel.call("pay", { order: "o-7" }),
        ScriptedModel.call("pay", { order: "o-7", note: "please" }),
        ScriptedModel.call("pay", { order: "o-8" }),
        done
      ], AiSdk.tools(Toolkit.make(pay)))
      assert.deepStrictEqual(failuresOf(result).map(outcomeCode), ["outcome_unknown", "repeated_call"])
      assert.deepStrictEqual(failuresOf(result).map(({ outcome }) => outcome.certainty), ["unknown", "unknown"])
      assert.strictEqual(keys.length, 2)
      assert.strictEqual(new Set(keys).size, 2)
      // The model reads what an agent's model reads.
      const told: { readonly error: string } = JSON.parse(read[1] ?? "")
      assert.deepInclude(JSON.parse(told.error), { ok: false, code: "repeated_call" })
      assert.include(read[1], "it may already have taken effect")
      assert.strictEqual(read[2], "paid")
    }))

  it.effect("equal calls of one step run once, and those of two steps twice", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const { read } = yield* generating(
        [ScriptedModel.calls(["pay", ada], ["pay", ada]), ScriptedModel.call("pay", ada), done],
        AiSdk.tools(Toolkit.make(pay))
      )
      assert.strictEqual(paid.length, 2)
      assert.include(read[1], "it ran once")
    }))

  it.effect("policies retry, and the result carries its notes and files", () =>
    Effect.gen(function*() {
      let attempts = 0
      const chart = Tool.make("chart", { description: "Draws", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.gen(function*() {
          if (++attempts === 1) {
            return yield* new ToolUnavailable({ code: "down", detail: "Down.", transient: true })
          }
          yield* ToolCall.caveat("from yesterday")
          yield* ToolCall.attach(Transcript.file(new Uint8Array([1]), "image/png", "a.png"))
          return attempts
        })).pipe(Tool.retry(Schedule.recurs(1)))
      const { result } = yield* generating([ScriptedModel.call("chart", {}), done], AiSdk.tools(Toolkit.make(chart)))
      assert.deepStrictEqual(
        result.steps[0]?.toolResults.map(({ output }) =>
          output
        ),
        [2]
      )
      const outputs = result.responseMessages.flatMap((message) =>
        message.role === "tool"
          ? message.content.flatMap((part) =>
            part.type === "tool-result" ? [part.output] : []
          )
          : []
      )
      assert.deepStrictEqual(outputs, [{
        type: "content",
        value: [
          { type: "text", text: "{\"value\":2,\"notes\":[\"from yesterday\"]}" },
          { type: "file", mediaType: "image/png", data: { type: "data", data: "AQ==" }, filename: "a.png" }
        ]
      }])
    }))

  it.effect("arguments that do not fit, or are cut off, reach no handler", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const toolkit = Toolkit.make(pay)
      const { read } = yield* generating(
        [
          ScriptedModel.call("pay", { to: "Ada", amount: "much" }),
          ScriptedModel.call("pay", "{\"to\":\"Ada\",\"amount\":1"),
          ScriptedModel.call("pya", ada),
          done
        ],
        AiSdk.tools(toolkit),
        toolkit
      )
      assert.strictEqual(paid.length, 0)
      assert.include(read[0], "'amount'")
      assert.strictEqual(read.length, 3)
    }))

  it.effect("a tool's services come by `runPromise`", () =>
    Effect.gen(function*() {
      class Bank extends Context.Service<Bank, { readonly pay: (to: string) => string }>()("test/Bank") {}
      const pay = Tool.make("pay", {
        description: "Pays",
        parameters: Schema.Struct({ to: Schema.String }),
        success: Schema.String
      }, ({ to }) => Effect.map(Bank, (bank) => bank.pay(to)))
      const runtime = ManagedRuntime.make(Layer.succeed(Bank, { pay: (to) => `${to} is paid` }))
      const tools = AiSdk.tools(Toolkit.make(pay), { runPromise: runtime.runPromise })
      const { read } = yield* generating([ScriptedModel.call("pay", { to: "Ada" }), done], tools)
      assert.deepStrictEqual(read, ["Ada is paid"])
      yield* Effect.promise(() => runtime.dispose())
    }))

  it.effect("an aborted call is in doubt", () =>
    Effect.gen(function*() {
      const controller = new AbortController()
      const send = Tool.make("send", { description: "Sends", success: Schema.Void }, () =>
        Effect.andThen(
          Effect.sync(() => controller.abort()),
          Effect.never
        ))
      const tools = AiSdk.tools(Toolkit.make(send))
      const execute = tools.send.execute
      const sent = Effect.promise(async () =>
        execute?.({}, { toolCallId: "1", messages: [], context: {}, abortSignal: controller.signal })
      )
      assert.strictEqual((yield* Effect.exit(sent))._tag, "Failure")
      assert.deepStrictEqual(CallFacts.inDoubt(AiSdk.factsOf(tools)).map(({ tool }) => tool), ["send"])
    }))

  it.effect("a call that begins after an abort does nothing", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const tools = AiSdk.tools(Toolkit.make(pay))
      const execute = tools.pay.execute
      const called = Effect.promise(async () =>
        execute?.(ada, { toolCallId: "1", messages: [], context: {}, abortSignal: AbortSignal.abort() })
      )
      assert.strictEqual((yield* Effect.exit(called))._tag, "Failure")
      assert.deepStrictEqual(paid, [])
      assert.deepStrictEqual(CallFacts.inDoubt(AiSdk.factsOf(tools)), [])
    }))

  it.effect("an input that a function of the user changes in place is what runs", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const limited = Tool.approve(pay, (payment) => {
        Object.assign(payment, { to: "Ben" })
        return false
      })
      yield* generating([ScriptedModel.call("pay", ada), done], AiSdk.tools(Toolkit.make(limited)))
      assert.deepStrictEqual(paid, [{ ...ada, to: "Ben" }])
    }))

  it.effect("a date that a function of the user changes in place is the one that was written", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const book = Tool.make("book", {
        description: "Books",
        parameters: Schema.Struct({ day: Schema.DateFromString }),
        success: Schema.Void
      }, ({ day }) => Effect.sync(() => void seen.push(day)))
      const postponing = Tool.approve(book, ({ day }) => {
        day.setTime(0)
        return false
      })
      const day = "2026-01-01T00:00:00.000Z"
      yield* generating([ScriptedModel.call("book", { day }), done], AiSdk.tools(Toolkit.make(postponing)))
      assert.deepStrictEqual(seen, [new Date(day)])
    }))

  it.effect("calls that have one id have each its own result", () =>
    Effect.gen(function*() {
      const look = Tool.make("look", {
        description: "Looks",
        parameters: Schema.Struct({ order: Schema.String }),
        success: Schema.String,
        sideEffect: "none"
      }, ({ order }) => Effect.as(ToolCall.caveat(`about ${order}`), order))
      const calls = ["o-7", "o-8"].map((order) => ({
        type: "tool-call" as const,
        toolCallId: "call_0",
        toolName: "look",
        input: JSON.stringify({ order })
      }))
      const end = {
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 }
        },
        warnings: []
      }
      const model = new MockLanguageModelV4({
        doGenerate: [
          { content: calls, finishReason: { unified: "tool-calls", raw: undefined }, ...end },
          { content: [{ type: "text", text: "Done." }], finishReason: { unified: "stop", raw: undefined }, ...end }
        ]
      })
      yield* Effect.promise(() =>
        generateText({ model, prompt: "Look.", tools: AiSdk.tools(Toolkit.make(look)), stopWhen: isStepCount(2) })
      )
      const read = model.doGenerateCalls.at(-1)?.prompt.flatMap((message) =>
        message.role === "tool"
          ? message.content.flatMap((part) => part.type === "tool-result" ? [part.output] : [])
          : []
      )
      assert.deepStrictEqual(
        read,
        ["o-7", "o-8"].map((order) => ({
          type: "text",
          value: JSON.stringify({ value: order, notes: [`about ${order}`] })
        }))
      )
    }))

  it.effect("what was done is told as done, whatever becomes of its words and files", () =>
    Effect.gen(function*() {
      const pay = Tool.make("pay", { description: "Pays", success: Schema.BigInt }, () =>
        Effect.as(ToolCall.attach({ url: "/receipts/1.pdf" }), 5n))
      const failing = () => {
        throw new Error("no words")
      }
      const async = (() =>
        Promise.reject(new Error("no words"))) as never
      for (
        const [options, words] of [
          [{}, "5"],
          [{ rendering: failing }, "\"5\""],
          [{ rendering: async }, "\"5\""]
        ] as const
      ) {
        const tools = AiSdk.tools(Toolkit.make(pay), options)
        const { result } = yield* generating([ScriptedModel.call("pay", {}), done], tools)
        assert.deepStrictEqual(
          result.steps[0]?.toolResults.map(({ output }) =>
            output
          ),
          [5n]
        )
        const outputs = result.responseMessages.flatMap((message) =>
          message.role === "tool"
            ? message.content.flatMap((part) => part.type === "tool-result" ? [part.output] : [])
            : []
        )
        assert.deepStrictEqual(outputs, [{
          type: "content",
          value: [
            { type: "text", text: words },
            { type: "text", text: "A file that cannot be shown: /receipts/1.pdf" }
          ]
        }])
        // Another process reads the message again.
        const other = AiSdk.tools(Toolkit.make(pay)).pay.toModelOutput?.({ toolCallId: "1", input: {}, output: 5n })
        assert.deepEqual(yield* Effect.promise(async () => other), {
          type: "text",
          value: "a value that cannot be written"
        })
      }
    }))

  it.effect("the facts of one request hold in the next, and in one that is sent twice", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const toolkit = Toolkit.make(pay)
      const scoped = (facts: CallFacts.CallFacts) => AiSdk.tools(toolkit, { scope: "chat-1", facts })
      const first = scoped(CallFacts.empty)
      yield* generating([ScriptedModel.call("pay", ada), done], first)
      const second = scoped(AiSdk.factsOf(first))
      const { read } = yield* generating([ScriptedModel.call("pay", ada), done], second)
      assert.strictEqual(paid.length, 1)
      assert.include(read[0], "already_done")
      assert.throws(() => AiSdk.factsOf({ ...first }), /spread a copy/)
    }))

  it.effect("a tool that the client runs has no `execute`", () =>
    Effect.gen(function*() {
      const locate = Tool.client("locate", { description: "Locates", success: Schema.String, sideEffect: "none" })
      const { result } = yield* generating([ScriptedModel.call("locate", {})], AiSdk.tools(Toolkit.make(locate)))
      assert.strictEqual(result.finishReason, "tool-calls")
      assert.deepStrictEqual(result.toolCalls.map(({ toolName }) => toolName), ["locate"])
      assert.deepStrictEqual(result.toolResults, [])
    }))

  it("a tool that the client runs loses no approval: it is refused", () => {
    const open = Tool.client("open", { description: "Opens", success: Schema.String }).pipe(Tool.approve())
    assert.throws(() => AiSdk.tools(Toolkit.make(open)), /'open' needs an approval/)
  })
})

describe("approvals in the loop of the AI SDK", () => {
  const requests = [{ role: "user", content: "Pay Ada." }] satisfies Array<ModelMessage>

  it.effect("are asked for by the AI SDK, and an approved call runs once, however often the approval is sent", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const toolkit = Toolkit.make(pay.pipe(Tool.approve(({ amount }) => amount > 3)))
      const scope = { scope: "chat-1", facts: CallFacts.empty }
      const first = AiSdk.tools(toolkit, scope)
      const { result } = yield* generating([ScriptedModel.call("pay", ada)], first, toolkit, requests)
      const [request] = result.content.flatMap((part) => part.type === "tool-approval-request" ? [part] : [])
      assert.strictEqual(paid.length, 0)
      const messages: Array<ModelMessage> = [
        ...requests,
        ...result.responseMessages,
        {
          role: "tool",
          content: [{ type: "tool-approval-response", approvalId: request?.approvalId ?? "", approved: true }]
        }
      ]
      const second = AiSdk.tools(toolkit, { ...scope, facts: AiSdk.factsOf(first) })
      yield* generating([done], second, toolkit, messages)
      assert.deepStrictEqual(paid, [ada])
      const third = AiSdk.tools(toolkit, { ...scope, facts: AiSdk.factsOf(second) })
      yield* generating([done], third, toolkit, messages)
      assert.deepStrictEqual(paid, [ada])
    }))

  it.effect("are not asked for if the predicate says so, and are if it fails", () =>
    Effect.gen(function*() {
      const { pay } = payments()
      const needs = (tool: typeof pay) => {
        const { needsApproval } = AiSdk.tools(Toolkit.make(tool)).pay
        return typeof needsApproval === "function"
          ? Effect.promise(async () => needsApproval(ada, { toolCallId: "1", messages: [], context: {} }))
          : Effect.succeed(needsApproval)
      }
      assert.isUndefined(yield* needs(pay))
      assert.isTrue(yield* needs(pay.pipe(Tool.approve())))
      assert.isFalse(yield* needs(pay.pipe(Tool.approve(({ amount }) => amount > 5))))
      assert.isTrue(yield* needs(pay.pipe(Tool.approve(() => Effect.die("down")))))
      // Its type forbids it. A rejection that nobody hears would end the process, so the test run would fail.
      const rejecting = async () => Promise.reject(new Error("down"))
      assert.isTrue(yield* needs(pay.pipe(Tool.approve(rejecting as never))))
      assert.isTrue(yield* needs(pay.pipe(Tool.approve(() => false), Tool.approve(() => true))))
    }))
})

describe("AiSdk.tools in streamText", () => {
  it.live("a call that goes on after an abort is in doubt in `onAbort`", () =>
    Effect.scoped(Effect.gen(function*() {
      const controller = new AbortController()
      const gate = Promise.withResolvers<string>()
      const pay = Tool.promise("pay", { description: "Pays", success: Schema.String }, async () => {
        controller.abort()
        return gate.promise
      })
      // While the call goes on, no other one of its scope in this process acts.
      const tools = AiSdk.tools(Toolkit.make(pay), { scope: "chat-aborted", facts: CallFacts.empty })
      const { url } = yield* FakeModelServer.make([ScriptedModel.call("pay", {}), done])
      const doubts = yield* Effect.promise(() =>
        new Promise<ReadonlyArray<CallFacts.Doubt>>((resolve) => {
          const result = streamText({
            model: createOpenAI({ apiKey: "any", baseURL: `${url}/v1` }).responses("any"),
            prompt: "Pay.",
            tools,
            abortSignal: controller.signal,
            onAbort: () => resolve(CallFacts.inDoubt(AiSdk.factsOf(tools)))
          })
          void result.consumeStream()
        })
      )
      assert.deepStrictEqual(doubts.map(({ tool }) => tool), ["pay"])
      gate.resolve("paid")
    })))

  it.effect("a failure is a part of the stream, and the model reads its text", () =>
    Effect.scoped(Effect.gen(function*() {
      const { pay } = losing()
      const { state, url } = yield* FakeModelServer.make([ScriptedModel.call("pay", { order: "o-7" }), done])
      const { text } = streamText({
        model: createOpenAI({ apiKey: "any", baseURL: `${url}/v1` }).responses("any"),
        prompt: "Go.",
        tools: AiSdk.tools(Toolkit.make(pay)),
        stopWhen: isStepCount(5)
      })
      assert.strictEqual(yield* Effect.promise(async () => text), "Done.")
      const { requests } = yield* state
      const read = requests.at(-1)?.asked?.messages.flatMap((message) => message.role === "tool" ? [message.text] : [])
      assert.include(read?.[0], "outcome_unknown")
    })))
})

describe("tools of the AI SDK, ours and theirs again", () => {
  it.effect("keep their schema, their input and their output", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const find = tool({
        description: "Finds",
        inputSchema: z.object({ name: z.string().trim(), max: z.int().default(3) }),
        execute: async (input) => {
          seen.push(input)
          return { found: input.max }
        }
      })
      const toolkit = AiSdk.toolkit({ find }, { find: { sideEffect: "none" } })
      const { read } = yield* generating(
        [ScriptedModel.call("find", "{\"name\": \" Ada \"}"), done],
        AiSdk.tools(toolkit),
        toolkit
      )
      assert.deepStrictEqual(seen, [{ name: "Ada", max: 3 }])
      assert.deepStrictEqual(read, ["{\"found\":3}"])
    }))

  it.effect("are checked as often as by the AI SDK alone, and run with the input that was shown, which they cannot change", () =>
    Effect.gen(function*() {
      let [checks, ids] = [0, 0]
      const seen: Array<unknown> = []
      const find = tool({
        description: "Finds",
        inputSchema: z.object({ name: z.string(), id: z.string().default(() => `made-${++ids}`) })
          .refine(() => ++checks > 0),
        execute: async (input) => {
          seen.push({ ...input })
          input.name = "Ben"
          return "Found."
        }
      })
      const script = [ScriptedModel.call("find", { name: "Ada" }), done]
      yield* generating(script, { find })
      const alone = checks
      const { result } = yield* generating(
        script,
        AiSdk.tools(AiSdk.toolkit({ find }, { find: { sideEffect: "none" } }))
      )
      assert.strictEqual(checks, 2 * alone)
      assert.deepStrictEqual(seen.at(-1), { name: "Ada", id: `made-${ids}` })
      assert.deepStrictEqual(result.steps[0]?.toolCalls.map(({ input }) => input), seen.slice(-1))
    }))
})
