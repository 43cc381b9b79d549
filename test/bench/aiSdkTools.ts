/**
 * Measures what `generateText` of the AI SDK costs with tools of ours (`AiSdk.tools`), relative to what it costs with its own: 50
 * steps with one call each, in CPU time. All runs are in one process, in interleaved rounds; medians are printed.
 *
 * Run it with `pnpm bench`, or alone with `node test/bench/aiSdkTools.ts`.
 */
import { AiSdk } from "@fallible/ai-sdk"
import { Policy, Tool, Toolkit } from "@fallible/core"
import { generateText, isStepCount, tool, type ToolSet } from "ai"
import { MockLanguageModelV4 } from "ai/test"
import { Effect, Schema } from "effect"
import { z } from "zod"
import { median } from "../support/measure.ts"

const steps = 50
const rounds = 41

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

const run = async (tools: ToolSet) => {
  let step = 0
  const model = new MockLanguageModelV4({
    doGenerate: async () => {
      const isLast = ++step > steps
      return {
        content: isLast ? [{ type: "text", text: "Done." }] : [{
          type: "tool-call",
          toolCallId: `${step}`,
          toolName: "look",
          input: JSON.stringify({ booking: `b-${step}`, seats: 2 })
        }],
        finishReason: { unified: isLast ? "stop" : "tool-calls", raw: undefined },
        usage,
        warnings: []
      }
    }
  })
  const { text } = await generateText({ model, prompt: "Go.", tools, stopWhen: isStepCount(steps + 1) })
  if (text !== "Done.") throw new Error("The run has no answer.")
}

const timed = async (tools: ToolSet) => {
  const before = process.cpuUsage()
  await run(tools)
  const { system, user } = process.cpuUsage(before)
  return (user + system) / steps
}

const names = Object.keys(contenders)
const times = new Map(names.map((name) => [name, [] as Array<number>]))
for (let round = -60; round < rounds; round++) {
  for (const name of names) {
    const time = await timed(contenders[name]!())
    if (round >= 0) times.get(name)!.push(time)
  }
}

const [base = ""] = names
const each = (name: string) => times.get(name)!
for (const name of names) {
  const ratio = median(each(name).map((time, round) => time / each(base)[round]!))
  console.log(`${name.padEnd(26)} ${median(each(name)).toFixed(1).padStart(6)} µs a step, ${ratio.toFixed(2)} x`)
}
