/**
 * Measures what `generateText` of the AI SDK costs with tools of ours (`AiSdk.tools`), relative to what it costs with its own: 50
 * steps with one call each, in CPU time. All runs are in one process, in interleaved rounds; medians are printed. First the
 * model is an object in this process, which takes no time: what is left is the loop alone. Then it is OpenAI's Chat
 * Completions, as `@ai-sdk/openai` asks them: the server is another process, and only this one is measured.
 *
 * Run it with `pnpm bench`, or alone with `node test/bench/aiSdkTools.ts`.
 */
import { createOpenAI } from "@ai-sdk/openai"
import { AiSdk } from "@fallible/ai-sdk"
import { Policy, Tool, Toolkit } from "@fallible/core"
import { generateText, isStepCount, type LanguageModel, tool, type ToolSet } from "ai"
import { MockLanguageModelV4 } from "ai/test"
import { Effect, Schema, Scope } from "effect"
import { fork } from "node:child_process"
import { once } from "node:events"
import type { RequestListener } from "node:http"
import { text } from "node:stream/consumers"
import { z } from "zod"
import { serving } from "../support/http.ts"
import { median } from "../support/measure.ts"

const steps = 50
const rounds = 60

const inputOf = (step: number) => JSON.stringify({ booking: `b-${step}`, seats: 2 })

/** Answers Chat Completions with one call after another. It keeps nothing, where `FakeModelServer` keeps each request. */
const answer: RequestListener = async (request, response) => {
  const step = 1 + ((await text(request)).match(/"role":"tool"/g) ?? []).length
  const message = step > steps ? { content: "Done." } : {
    tool_calls: [{ id: `${step}`, type: "function", function: { name: "look", arguments: inputOf(step) } }]
  }
  const choice = { index: 0, message, finish_reason: step > steps ? "stop" : "tool_calls" }
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ choices: [choice] }))
}

const Params = Schema.Struct({ booking: Schema.String, seats: Schema.Int })

const description = "Looks a booking up"
const inputSchema = z.object({ booking: z.string(), seats: z.int() })

const theirs = {
  look: tool({ description, inputSchema, execute: async ({ booking, seats }) => `${booking}: ${seats}` })
}

const oursOf = (sideEffect: "none" | "non_idempotent") =>
  Tool.make("look", {
    description,
    parameters: Params,
    success: Schema.String,
    sideEffect,
    ...(sideEffect === "none" ? {} : { identity: ({ booking }: typeof Params.Type) => booking })
  }, ({ booking, seats }) => Effect.succeed(`${booking}: ${seats}`))

const reading = Toolkit.make(oursOf("none"))
const acting = Toolkit.make(oursOf("non_idempotent"))
const standard = Toolkit.withDefaults(reading, Policy.standard())
const ported = AiSdk.toolkit(theirs, { look: { sideEffect: "none" } })

const contenders: Readonly<Record<string, () => ToolSet>> = {
  "tools of the AI SDK": () => theirs,
  "ours, read-only": () => AiSdk.tools(reading),
  "ours, acting": () => AiSdk.tools(acting),
  "ours, Policy.standard()": () => AiSdk.tools(standard),
  "theirs as ours, and back": () => AiSdk.tools(ported)
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 }
}

/** A model in this process. It is made for each run, because it counts its steps. */
const inProcess = (): LanguageModel => {
  let step = 0
  return new MockLanguageModelV4({
    doGenerate: async () => {
      const isLast = ++step > steps
      return {
        content: isLast
          ? [{ type: "text", text: "Done." }]
          : [{ type: "tool-call", toolCallId: `${step}`, toolName: "look", input: inputOf(step) }],
        finishReason: { unified: isLast ? "stop" : "tool-calls", raw: undefined },
        usage,
        warnings: []
      }
    }
  })
}

/** Runs it once, and returns the CPU time of a step, in µs. */
const timed = async (model: LanguageModel, tools: ToolSet) => {
  const before = process.cpuUsage()
  const answer = await generateText({ model, prompt: "Go.", tools, stopWhen: isStepCount(steps + 1) })
  const { system, user } = process.cpuUsage(before)
  if (answer.text !== "Done.") throw new Error("The run has no answer.")
  return (user + system) / steps
}

const compare = async (title: string, modelOf: () => LanguageModel) => {
  const names = Object.keys(contenders)
  const times = new Map(names.map((name) => [name, [] as Array<number>]))
  for (let round = -rounds; round < rounds; round++) {
    for (const name of names) {
      const time = await timed(modelOf(), contenders[name]!())
      if (round >= 0) times.get(name)!.push(time)
    }
  }
  console.log(title)
  const [base = ""] = names
  const each = (name: string) => times.get(name)!
  for (const name of names) {
    const ratio = median(each(name).map((time, round) => time / each(base)[round]!))
    console.log(`  ${name.padEnd(26)} ${median(each(name)).toFixed(1).padStart(6)} µs a step, ${ratio.toFixed(2)} x`)
  }
}

if (process.send === undefined) {
  await compare("a model in this process", inProcess)
  const server = fork(import.meta.filename)
  const [url] = await once(server, "message")
  const provider = createOpenAI({ apiKey: "any", baseURL: `${url}/v1` })
  await compare("Chat Completions over HTTP", () => provider.chat("any"))
  server.disconnect()
} else {
  process.once("disconnect", () => process.exit())
  process.send(await Effect.runPromise(Effect.provideService(serving(answer), Scope.Scope, Scope.makeUnsafe())))
}
