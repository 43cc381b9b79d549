/** What a turn costs with each framework: a model in this process makes one call in each turn. Each run builds its agent. */
import { isStepCount, tool as aiTool, ToolLoopAgent } from "ai"
import { MockLanguageModelV4 } from "ai/test"
import { AIMessage, createAgent, fakeModel, tool as langChainTool } from "langchain"
import { z } from "zod"
import { Agent, Model, RetryPolicy, Tool, Toolkit } from "../../packages/core/src/index.ts"
import { Ai, Effect, Schema, Stream } from "../../test/support/effect.ts"
import { median } from "../../test/support/measure.ts"
import { question } from "./contender.ts"

export const turns = 50
export const rounds = 9

const name = "get_weather"
const description = "The weather"
const lengthOf = ({ city }: { readonly city: string }) => ({ celsius: city.length })
/** The text of the arguments in the turn with this number. */
const argumentsIn = (turn: number) => `{"city":"Paris ${turn}"}`

type Loop = () => Promise<string>

const bare: Loop = async () => {
  const messages: Array<object> = []
  const handler = async (params: { readonly city: string }) => lengthOf(params)
  const reply = async () => messages.length < turns ? argumentsIn(messages.length) : undefined
  for (let text = await reply(); text !== undefined; text = await reply()) {
    const { city } = JSON.parse(text) as { readonly city?: unknown }
    if (typeof city !== "string") throw new Error("city must be a string")
    messages.push({ role: "tool", content: JSON.stringify(await handler({ city })) })
  }
  return "done"
}

// -----------------------------------------------------------------------------
// Fallible
// -----------------------------------------------------------------------------

const fallible: Loop = () => {
  const agent = Agent.make({
    toolkit: Toolkit.make(
      Tool.make(name, {
        description,
        parameters: Schema.Struct({ city: Schema.String }),
        success: Schema.Struct({ celsius: Schema.Finite }),
        sideEffect: "none"
      }, (params) => Effect.succeed(lengthOf(params))).pipe(Tool.retry(RetryPolicy.transient))
    ),
    limits: { turns: turns + 1, calls: turns }
  })
  let turn = 0
  const model = Model.make({
    respond: () =>
      Effect.sync(() =>
        turn++ < turns
          ? { text: "", calls: [{ id: `call_${turn}`, name, arguments: argumentsIn(turn) }] }
          : { text: "done", calls: [] }
      )
  })
  return Effect.runPromise(
    Effect.map(agent.run(question), ({ text }) => text).pipe(Effect.provideService(Model.Model, model))
  )
}

// -----------------------------------------------------------------------------
// The AI SDK
// -----------------------------------------------------------------------------

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined }
}

const aiSdk: Loop = async () => {
  let turn = 0
  const model = new MockLanguageModelV4({
    doGenerate: async () =>
      turn++ < turns
        ? {
          content: [{ type: "tool-call", toolCallId: `call_${turn}`, toolName: name, input: argumentsIn(turn) }],
          finishReason: { unified: "tool-calls", raw: undefined },
          usage,
          warnings: []
        }
        : {
          content: [{ type: "text", text: "done" }],
          finishReason: { unified: "stop", raw: undefined },
          usage,
          warnings: []
        }
  })
  const tools = {
    [name]: aiTool({
      description,
      inputSchema: z.object({ city: z.string() }),
      execute: async (input) => lengthOf(input)
    })
  }
  const agent = new ToolLoopAgent({ model, tools, stopWhen: isStepCount(turns + 1) })
  return (await agent.generate({ prompt: question })).text
}

// -----------------------------------------------------------------------------
// LangChain
// -----------------------------------------------------------------------------

const langChain: Loop = async () => {
  const model = fakeModel()
  for (let turn = 1; turn <= turns; turn++) {
    // `respondWithTools` repeats all messages in its reply, which would be unfair here.
    model.respond(
      new AIMessage({ content: "", tool_calls: [{ id: `call_${turn}`, name, args: JSON.parse(argumentsIn(turn)) }] })
    )
  }
  model.respond(new AIMessage("done"))
  const agent = createAgent({
    model,
    tools: [
      langChainTool(async (input: { readonly city: string }) => lengthOf(input), {
        name,
        description,
        schema: z.object({ city: z.string() })
      })
    ]
  })
  const { messages } = await agent.invoke(
    { messages: [{ role: "user", content: question }] },
    { recursionLimit: 4 * turns }
  )
  return messages.at(-1)?.text ?? ""
}

// -----------------------------------------------------------------------------
// effect/ai
// -----------------------------------------------------------------------------

const effectAi: Loop = () => {
  const toolkit = Ai.Toolkit.make(
    Ai.Tool.make(name, {
      description,
      parameters: Schema.Struct({ city: Schema.String }),
      success: Schema.Struct({ celsius: Schema.Finite })
    })
  )
  const handlers = toolkit.toLayer({ [name]: (params) => Effect.succeed(lengthOf(params)) })
  let turn = 0
  return Effect.gen(function*() {
    const tools = yield* toolkit
    const chat = yield* Ai.Chat.fromPrompt([{ role: "user", content: question }])
    while (true) {
      const response = yield* chat.generateText({ prompt: Ai.Prompt.empty, toolkit: tools })
      if (response.toolCalls.length === 0) return response.text
    }
  }).pipe(
    Effect.provide(handlers),
    Effect.provideServiceEffect(
      Ai.LanguageModel.LanguageModel,
      Ai.LanguageModel.make({
        generateText: () =>
          Effect.sync(() =>
            turn++ < turns
              ? [{ type: "tool-call", id: `call_${turn}`, name, params: JSON.parse(argumentsIn(turn)) }]
              : [{ type: "text", text: "done" }]
          ),
        streamText: () => Stream.die("This model has no streams.")
      })
    ),
    Effect.runPromise
  )
}

// -----------------------------------------------------------------------------
// Measuring
// -----------------------------------------------------------------------------

const loops: Readonly<Record<string, Loop>> = {
  "bare loop": bare,
  Fallible: fallible,
  "AI SDK": aiSdk,
  LangChain: langChain,
  "effect/ai": effectAi
}

/** Microseconds of CPU per turn. */
const measured = async (loop: Loop, runs: number): Promise<number> => {
  const before = process.cpuUsage()
  for (let run = 0; run < runs; run++) if (await loop() !== "done") throw new Error("The loop did not end well.")
  const { system, user } = process.cpuUsage(before)
  return (user + system) / (runs * turns)
}

/** Doubles the runs until the clock's resolution is negligible. */
const runsOf = async (loop: Loop): Promise<number> => {
  let runs = 1
  while (await measured(loop, runs) * runs * turns < 200_000) runs *= 2
  return runs
}

/** Rows of a table: each loop, its time per turn, and the ratio to Fallible. */
export const costs = async (): Promise<ReadonlyArray<ReadonlyArray<string>>> => {
  const subjects: Array<{ name: string; loop: Loop; runs: number; times: Array<number> }> = []
  for (const [name, loop] of Object.entries(loops)) subjects.push({ name, loop, runs: await runsOf(loop), times: [] })
  for (let round = -2; round < rounds; round++) {
    for (const { loop, runs, times } of subjects) {
      const time = await measured(loop, runs)
      // The first rounds only warm up.
      if (round >= 0) times.push(time)
    }
  }
  const medians = new Map(subjects.map(({ name, times }) => [name, median(times)]))
  const ours = medians.get("Fallible")!
  return [...medians].map(([name, time]) => [name, time.toFixed(1), `${rounded(time / ours)} x`])
}

const rounded = (ratio: number) => ratio.toFixed(ratio < 1 ? 2 : ratio < 10 ? 1 : 0)
