/**
 * What a turn costs with each library, in CPU time.
 *
 * Each agent is the README's first one: one tool that reads a quote, and the defaults of its library; Fallible's has
 * `Policy.standard()`, as there. An agent is built once. Its model is in the same process, calls the tool in each turn, and keeps no
 * state: it sees in the messages how many turns there were. The tool answers at once, since a request costs the same with each.
 */
import { BaseChatModel } from "@langchain/core/language_models/chat_models"
import type { ChatResult } from "@langchain/core/outputs"
import { Agent as MastraAgent } from "@mastra/core/agent"
import { createTool } from "@mastra/core/tools"
import { Agent as OpenAiAgent, type Model as OpenAiModel, Runner, tool as openAiTool, Usage } from "@openai/agents"
import { isStepCount, tool as aiTool, ToolLoopAgent } from "ai"
import { AIMessage, type BaseMessage, createAgent, tool as langChainTool } from "langchain"
import { z } from "zod"
import { Agent, Model, Policy, Tool, Toolkit } from "../../packages/core/src/index.ts"
import { Ai, Effect, Layer, ManagedRuntime, Schema, Stream } from "../../test/support/effect.ts"
import { median } from "../../test/support/measure.ts"
import { question } from "./contender.ts"

export const lengths = [3, 10, 50] as const
export const rounds = 5

const name = "get_quote"
const description = "What a share costs"
const quote = async ({ symbol }: { readonly symbol: string }) => ({ price: symbol.length })
const parameters = z.object({ symbol: z.string() })
const result = z.object({ price: z.number() })

/** The text of the arguments in the turn with this number. */
const argumentsIn = (turn: number) => `{"symbol":"S${turn}"}`

/** Runs as many turns, and returns the answer. */
type Loop = (turns: number) => Promise<string>

/** How many turns there were, if the messages are the user's, and two in each turn. */
const turnOf = (messages: ReadonlyArray<unknown>, others = 1) => (messages.length - others) / 2

// -----------------------------------------------------------------------------
// A loop that everybody writes first
// -----------------------------------------------------------------------------

const bare: Loop = async (turns) => {
  const messages: Array<object> = [{ role: "user", content: question }]
  const reply = async () => turnOf(messages) < turns ? argumentsIn(turnOf(messages)) : undefined
  for (let text = await reply(); text !== undefined; text = await reply()) {
    const { symbol } = JSON.parse(text) as { readonly symbol?: unknown }
    if (typeof symbol !== "string") throw new Error("symbol must be a string")
    messages.push({ role: "assistant", text }, { role: "tool", content: JSON.stringify(await quote({ symbol })) })
  }
  return "done"
}

// -----------------------------------------------------------------------------
// Fallible
// -----------------------------------------------------------------------------

const fallible = (): Loop => {
  const getQuote = Tool.promise(name, {
    description,
    parameters: Schema.Struct({ symbol: Schema.String }),
    success: Schema.Struct({ price: Schema.Finite }),
    sideEffect: "none"
  }, quote)
  const agent = Agent.make({ toolkit: Toolkit.make(getQuote), policies: Policy.standard() })
  return (turns) => {
    const model = Model.make({
      respond: ({ transcript }) =>
        Effect.sync(() => {
          const turn = turnOf(Array.from(transcript))
          return turn < turns
            ? { text: "", calls: [{ id: `call_${turn}`, name, arguments: argumentsIn(turn) }] }
            : { text: "done", calls: [] }
        })
    })
    return agent.run(question, { limits: { turns: turns + 1 } }).pipe(
      Effect.map(({ text }) => text),
      Effect.provideService(Model.Model, model),
      Effect.runPromise
    )
  }
}

// -----------------------------------------------------------------------------
// The AI SDK, and Mastra with a model of the AI SDK
// -----------------------------------------------------------------------------

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined }
}

/** `others` counts the messages that are neither calls nor results. */
const aiSdkModel = (turnsOf: () => number, others: number) => {
  const parts = (messages: ReadonlyArray<unknown>) => {
    const turn = turnOf(messages, others)
    return turn < turnsOf()
      ? [{ type: "tool-call" as const, toolCallId: `call_${turn}`, toolName: name, input: argumentsIn(turn) }]
      : [{ type: "text" as const, text: "done" }]
  }
  const reason = ([part]: ReturnType<typeof parts>) =>
    part?.type === "text"
      ? { unified: "stop" as const, raw: "stop" }
      : { unified: "tool-calls" as const, raw: "tool_calls" }
  return {
    specificationVersion: "v4" as const,
    provider: "none",
    modelId: "any",
    supportedUrls: {},
    doGenerate: async ({ prompt }: { readonly prompt: ReadonlyArray<unknown> }) => {
      const content = parts(prompt)
      return { content, finishReason: reason(content), usage, warnings: [] }
    },
    doStream: () => Promise.reject(new Error("This model has no streams."))
  }
}

const aiSdk = (): Loop => {
  let turns = 0
  const model = aiSdkModel(() => turns, 1)
  const tools = { [name]: aiTool({ description, inputSchema: parameters, execute: quote }) }
  const agent = new ToolLoopAgent({ model, tools, stopWhen: isStepCount(lengths.at(-1)! + 1) })
  return async (count) => {
    turns = count
    return (await agent.generate({ prompt: question })).text
  }
}

const mastra = (): Loop => {
  let turns = 0
  const agent = new MastraAgent({
    id: "assistant",
    name: "Assistant",
    instructions: "You are a helpful assistant.",
    model: aiSdkModel(() => turns, 2),
    tools: {
      [name]: createTool({ id: name, description, inputSchema: parameters, outputSchema: result, execute: quote })
    }
  })
  return async (count) => {
    turns = count
    return (await agent.generate(question, { maxSteps: count + 1 })).text
  }
}

// -----------------------------------------------------------------------------
// LangChain
// -----------------------------------------------------------------------------

class QuotingModel extends BaseChatModel {
  turns = 0

  override _llmType(): string {
    return "quoting"
  }

  override bindTools() {
    return this
  }

  override async _generate(messages: Array<BaseMessage>): Promise<ChatResult> {
    const turn = turnOf(messages)
    const message = turn < this.turns
      ? new AIMessage({ content: "", tool_calls: [{ id: `call_${turn}`, name, args: JSON.parse(argumentsIn(turn)) }] })
      : new AIMessage("done")
    return { generations: [{ text: message.text, message }] }
  }
}

const langChain = (): Loop => {
  const model = new QuotingModel({})
  const agent = createAgent({ model, tools: [langChainTool(quote, { name, description, schema: parameters })] })
  return async (turns) => {
    model.turns = turns
    const { messages } = await agent.invoke(
      { messages: [{ role: "user", content: question }] },
      { recursionLimit: 4 * turns + 10 }
    )
    return messages.at(-1)?.text ?? ""
  }
}

// -----------------------------------------------------------------------------
// OpenAI Agents
// -----------------------------------------------------------------------------

const openAiAgents = (): Loop => {
  let turns = 0
  const model: OpenAiModel = {
    getResponse: async ({ input }) => {
      const turn = turnOf(Array.isArray(input) ? input : [input])
      return {
        usage: new Usage(),
        output: [
          turn < turns
            ? { type: "function_call", callId: `call_${turn}`, name, arguments: argumentsIn(turn), status: "completed" }
            : {
              type: "message",
              role: "assistant",
              status: "completed",
              content: [{ type: "output_text", text: "done" }]
            }
        ]
      }
    },
    getStreamedResponse: () => {
      throw new Error("This model has no streams.")
    }
  }
  const agent = new OpenAiAgent({
    name: "Assistant",
    instructions: "You are a helpful assistant.",
    model,
    tools: [openAiTool({ name, description, parameters, execute: quote })]
  })
  const runner = new Runner({ tracingDisabled: true })
  return async (count) => {
    turns = count
    return (await runner.run(agent, question, { maxTurns: count + 1 })).finalOutput ?? ""
  }
}

// -----------------------------------------------------------------------------
// effect/ai
// -----------------------------------------------------------------------------

const effectAi = (): Loop => {
  let turns = 0
  const toolkit = Ai.Toolkit.make(
    Ai.Tool.make(name, {
      description,
      parameters: Schema.Struct({ symbol: Schema.String }),
      success: Schema.Struct({ price: Schema.Finite })
    })
  )
  const model = Ai.LanguageModel.make({
    generateText: ({ prompt }) =>
      Effect.sync(() => {
        const turn = turnOf(prompt.content)
        return turn < turns
          ? [{ type: "tool-call", id: `call_${turn}`, name, params: JSON.parse(argumentsIn(turn)) }]
          : [{ type: "text", text: "done" }]
      }),
    streamText: () => Stream.die("This model has no streams.")
  })
  const runtime = ManagedRuntime.make(Layer.merge(
    toolkit.toLayer({ [name]: (params) => Effect.promise(() => quote(params)) }),
    Layer.effect(Ai.LanguageModel.LanguageModel, model)
  ))
  const program = Effect.gen(function*() {
    const tools = yield* toolkit
    const chat = yield* Ai.Chat.fromPrompt([{ role: "user", content: question }])
    while (true) {
      const response = yield* chat.generateText({ prompt: Ai.Prompt.empty, toolkit: tools })
      if (response.toolCalls.length === 0) return response.text
    }
  })
  return (count) => {
    turns = count
    return runtime.runPromise(program)
  }
}

// -----------------------------------------------------------------------------
// Measuring
// -----------------------------------------------------------------------------

const loops: Readonly<Record<string, () => Loop>> = {
  "a loop by hand": () => bare,
  Fallible: fallible,
  "AI SDK": aiSdk,
  LangChain: langChain,
  Mastra: mastra,
  "OpenAI Agents": openAiAgents,
  "effect/ai": effectAi
}

/** Microseconds of CPU per turn. */
const measured = async (loop: Loop, turns: number, runs: number): Promise<number> => {
  const before = process.cpuUsage()
  for (let run = 0; run < runs; run++) if (await loop(turns) !== "done") throw new Error("The loop did not end well.")
  const { system, user } = process.cpuUsage(before)
  return (user + system) / (runs * turns)
}

/** Doubles the runs until the clock's resolution is negligible. This also warms up. */
const runsOf = async (loop: Loop, turns: number): Promise<number> => {
  let runs = 1
  while (await measured(loop, turns, runs) * runs * turns < 200_000) runs *= 2
  return runs
}

/** The times per turn, in microseconds: by loop, and by the number of turns. */
export const costs = async (): Promise<ReadonlyMap<string, ReadonlyArray<ReadonlyArray<number>>>> => {
  const subjects: Array<{ loop: Loop; turns: number; runs: number; times: Array<number> }> = []
  const table = new Map<string, Array<Array<number>>>()
  for (const [name, build] of Object.entries(loops)) {
    const loop = build()
    const row: Array<Array<number>> = []
    for (const turns of lengths) {
      const times: Array<number> = []
      row.push(times)
      subjects.push({ loop, turns, runs: await runsOf(loop, turns), times })
    }
    table.set(name, row)
  }
  // The rounds are interleaved, so that a busy moment of the machine hits all. The first one only warms up.
  for (let round = -1; round < rounds; round++) {
    for (const { loop, runs, times, turns } of subjects) {
      const time = await measured(loop, turns, runs)
      if (round >= 0) times.push(time)
    }
  }
  return table
}

/** A median with the least and the greatest value, and its share of the second that a model's reply takes. */
export const shownTimes = (times: ReadonlyArray<number>): string =>
  `${median(times).toFixed(0)} (${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)})`
export const shareOfASecond = (times: ReadonlyArray<number>): string => `${(median(times) / 10_000).toFixed(3)} %`
