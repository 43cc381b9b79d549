/** Tools of ours in the loop of the AI SDK: their names, inputs and outputs. */
import { AiSdk } from "@fallible/ai-sdk"
import { Tool, Toolkit } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import { type generateText, type InferToolInput, type InferToolOutput, streamText, type ToolSet } from "ai"
import { Context, Effect, Layer, ManagedRuntime, Schema } from "effect"
import { describe, expect, it } from "tstyche"

class Bank extends Context.Service<Bank, { readonly pay: (to: string) => string }>()("types/Bank") {}

const find = Tool.make("find", {
  description: "Finds",
  parameters: Schema.Struct({ name: Schema.String, since: Schema.DateFromString }),
  success: Schema.Struct({ at: Schema.DateFromString }),
  sideEffect: "none"
}, ({ since }) => Effect.succeed({ at: since }))

const pay = Tool.make("pay", {
  description: "Pays",
  parameters: Schema.Struct({ to: Schema.String }),
  success: Schema.String
}, ({ to }) => Effect.map(Bank, (bank) => bank.pay(to)))

describe("AiSdk.tools", () => {
  it("keep their names, inputs and outputs", () => {
    const tools = AiSdk.tools(Toolkit.make(find))
    expect<keyof typeof tools>().type.toBe<"find">()
    expect<InferToolInput<typeof tools.find>>().type.toBe<{ readonly name: string; readonly since: Date }>()
    expect<InferToolOutput<typeof tools.find>>().type.toBe<{ readonly at: Date }>()
  })

  it("are a tool set of the AI SDK", () => {
    const tools = AiSdk.tools(Toolkit.make(find))
    expect(tools).type.toBeAssignableTo<ToolSet>()
    expect<Parameters<typeof generateText<typeof tools>>[0]["tools"]>().type.toBe<typeof tools | undefined>()
    const { toolCalls } = streamText({ model: "any", prompt: "Go.", tools })
    type Call = Awaited<typeof toolCalls>[number]
    type OfTool = Extract<Call, { readonly toolName: "find"; readonly dynamic?: false | undefined }>
    expect<OfTool["input"]>().type.toBe<{ readonly name: string; readonly since: Date }>()
  })

  it("need `runPromise` if they need services, and only then", () => {
    expect(AiSdk.tools).type.not.toBeCallableWith(Toolkit.make(pay))
    expect(AiSdk.tools).type.not.toBeCallableWith(Toolkit.make(pay), { runPromise: Effect.runPromise })
    const runtime = ManagedRuntime.make(Layer.succeed(Bank, { pay: (to) => to }))
    expect(AiSdk.tools).type.toBeCallableWith(Toolkit.make(pay), { runPromise: runtime.runPromise })
    expect(AiSdk.tools).type.toBeCallableWith(Toolkit.make(find))
  })

  it("have a scope only with its facts", () => {
    expect(AiSdk.tools).type.toBeCallableWith(Toolkit.make(find), { scope: "chat-1", facts: CallFacts.empty })
    expect(AiSdk.tools).type.not.toBeCallableWith(Toolkit.make(find), { scope: "chat-1" })
  })
})
