/**
 * Measures a turn over the bridge to the AI SDK, at histories of 2, 100 and 1,000 messages: with the bridge, with the same
 * replies without it, and with the AI SDK's own `generateText`. The model is played in this process, replies at once, and calls
 * a tool in every turn. All three run in one process, in interleaved rounds. Each round is one run of 510 turns, of which three
 * windows of ten turns are timed; medians are printed.
 *
 * Run it with `node test/bench/bridge.ts`.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import { AiSdk } from "@fallible/ai-sdk"
import { Agent, Model, Tool, Toolkit } from "@fallible/core"
import { generateText, jsonSchema, stepCountIs, tool } from "ai"
import { Effect, Schema } from "effect"
import { median } from "../support/measure.ts"

const rounds = 41
const warmUp = 10

/** The turns that are timed: by then, the history has 2, 100 and 1,000 messages. */
const windows = [2, 51, 501]
const width = 9
const turns = 511

// -----------------------------------------------------------------------------
// The model
// -----------------------------------------------------------------------------

let asked = 0
let begun = 0
let times: Array<number> = []

const cpu = (): number => {
  const { system, user } = process.cpuUsage()
  return user + system
}

/** Counts a request, and times the windows. True for the last one. */
const ask = (): boolean => {
  asked++
  if (windows.includes(asked)) begun = cpu()
  if (windows.includes(asked - width)) times.push((cpu() - begun) / width)
  return asked === turns
}

const usage = {
  inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 10, text: 10, reasoning: 0 }
}

const played: LanguageModelV4 = {
  specificationVersion: "v4",
  provider: "played",
  modelId: "any",
  supportedUrls: {},
  doGenerate: () =>
    Promise.resolve(
      ask()
        ? {
          content: [{ type: "text", text: "Done." }],
          finishReason: { unified: "stop", raw: "stop" },
          usage,
          warnings: []
        }
        : {
          content: [{ type: "tool-call", toolCallId: `call_${asked}`, toolName: "add", input: `{"n":${asked}}` }],
          finishReason: { unified: "tool-calls", raw: "tool_use" },
          usage,
          warnings: []
        }
    ),
  doStream: () => Promise.reject(new Error("not streamed"))
}

const counts = { inputTokens: 100, outputTokens: 10 }

// The same replies, also by a promise.
const direct = Model.layer({
  respond: () =>
    Effect.promise(() =>
      Promise.resolve(
        ask()
          ? { text: "Done.", calls: [], usage: counts }
          : { text: "", calls: [{ id: `call_${asked}`, name: "add", arguments: `{"n":${asked}}` }], usage: counts }
      )
    )
})

// -----------------------------------------------------------------------------
// The programs
// -----------------------------------------------------------------------------

const add = Tool.make(
  "add",
  { description: "Adds", parameters: Schema.Struct({ n: Schema.Int }), success: Schema.Int, sideEffect: "none" },
  ({ n }) => Effect.succeed(n + 1)
)
const agent = Agent.make({ toolkit: Toolkit.make(add), limits: { turns } })

const tools = {
  add: tool({
    description: "Adds",
    inputSchema: jsonSchema<{ readonly n: number }>({
      type: "object",
      properties: { n: { type: "integer" } },
      required: ["n"]
    }),
    execute: ({ n }: { readonly n: number }) => n + 1
  })
}

const runWith = (layer: typeof direct) => () => Effect.runPromise(agent.run("Add.").pipe(Effect.provide(layer)))

const programs: ReadonlyArray<readonly [name: string, run: () => Promise<unknown>]> = [
  ["without", runWith(direct)],
  ["with", runWith(AiSdk.layer(played))],
  ["generateText", () => generateText({ model: played, prompt: "Add.", tools, stopWhen: stepCountIs(turns) })]
]

// -----------------------------------------------------------------------------
// Measuring
// -----------------------------------------------------------------------------

const measured = new Map(programs.map(([name]) => [name, windows.map((): Array<number> => [])]))
for (let round = -warmUp; round < rounds; round++) {
  for (const [name, run] of programs) {
    asked = 0
    times = []
    await run()
    if (round >= 0) times.forEach((time, window) => measured.get(name)![window]!.push(time))
  }
}

const timeOf = (name: string, window: number): number => median(measured.get(name)![window]!)
const share = (window: number): number => timeOf("with", window) - timeOf("without", window)

console.table(Object.fromEntries(windows.map((turn, window) => [`${(turn - 1) * 2} messages`, {
  "without, µs": timeOf("without", window).toFixed(1),
  "with, µs": timeOf("with", window).toFixed(1),
  "generateText, µs": timeOf("generateText", window).toFixed(1),
  "with / generateText": (timeOf("with", window) / timeOf("generateText", window)).toFixed(2),
  "own share, µs": share(window).toFixed(1),
  "own share, relative to 2 messages": (share(window) / share(0)).toFixed(2)
}])))
