/**
 * What holds for every run: random replies and failures of a model, random tools, and a page that replies at random.
 */
import { describe, it } from "@effect/vitest"
import {
  Agent,
  ModelFailure,
  RetryPolicy,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Option, References, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { runs } from "../support/runs.ts"
import { demandAccepted, messageOf } from "../support/uiMessages.ts"
import {
  type Chatting,
  decide,
  demandSound,
  inPieces,
  output,
  play,
  says,
  type Scenario
} from "../support/uiScenarios.ts"

const Text = Schema.Struct({ n: Schema.Int })

const fails = (n: number): Effect.Effect<string, ToolUnavailable | SemanticGarbage> =>
  n % 3 === 0
    ? Effect.fail(new ToolUnavailable({ code: "connection", detail: "Down.", transient: n % 2 === 0 }))
    : n % 3 === 1
    ? Effect.fail(new SemanticGarbage({ code: "odd", detail: "Odd." }))
    : Effect.succeed(`${n}`)

const reading = Tool.make(
  "read",
  { description: "", parameters: Text, success: Schema.String, sideEffect: "none" },
  ({ n }) => Effect.andThen(ToolCall.progress(n), fails(n))
).pipe(Tool.retry(RetryPolicy.transient))

const acting = Tool.make(
  "act",
  { description: "", parameters: Text, success: Schema.String, identity: ({ n }) => n },
  ({ n }) => Effect.andThen(ToolCall.progress(n), fails(n))
).pipe(
  Tool.reconcile((_, { failure }) => Effect.succeed(failure.code === "odd" ? Option.some("found") : Option.none()))
)

const asking = Tool.make(
  "ask",
  { description: "", parameters: Text, success: Schema.String },
  ({ n }) => n % 2 === 0 ? ToolCall.ask("How?") : Effect.succeed("so")
)

const page = Tool.client("page", { description: "", parameters: Text, success: Schema.Json, sideEffect: "none" })

const stopping = Tool.make(
  "stop",
  { description: "", success: Schema.String, sideEffect: "none" },
  () => ToolCall.stop("no")
)

const approvedAsking = Tool.make(
  "both",
  { description: "", parameters: Text, success: Schema.String },
  () => Effect.andThen(ToolCall.progress("half"), ToolCall.ask("What?"))
).pipe(Tool.approve())

const toolkit = Toolkit.make(
  reading,
  acting.pipe(Tool.approve(({ n }) => n > 5)),
  asking,
  page,
  stopping,
  approvedAsking
)

const Days = Schema.Struct({ days: Schema.Int })

const agents: ReadonlyArray<Chatting> = [
  Agent.make({ toolkit, limits: { turns: 8 } }),
  Agent.make({ toolkit, limits: { calls: 3 }, onLimit: "conclude", onDoubt: "ask" }),
  Agent.make({ toolkit, output: Days, limits: { turns: 8 } })
]

// -----------------------------------------------------------------------------
// Random scripts
// -----------------------------------------------------------------------------

const text = fc.oneof(
  fc.constantFrom(
    "",
    " ",
    "I'll look it up now.",
    "{\"days\": 3}",
    "<tool_call>{\"name\":\"read\"}</tool_call>",
    "Done."
  ),
  fc.string({ unit: "binary", maxLength: 30 })
)
const args = fc.oneof(
  { weight: 5, arbitrary: fc.nat(9).map((n) => JSON.stringify({ n })) },
  { weight: 1, arbitrary: fc.constantFrom("{", "", "[]", "{\"n\":\"x\"}", "{\"days\":4}") }
)
const name = fc.constantFrom(
  "read",
  "act",
  "ask",
  "page",
  "both",
  "read",
  "act",
  "stop",
  "final_answer",
  "__proto__",
  ""
)
const reply = fc.record({
  text: fc.oneof(fc.constant(""), text),
  reasoning: fc.oneof(fc.constant(""), text),
  calls: fc.array(fc.tuple(name, args), { maxLength: 3 })
}).map(({ calls, reasoning, text }) => ({
  ...ScriptedModel.calls(calls),
  text,
  reasoning,
  ...(text.length % 5 === 4 ? { sources: [{ url: "https://a.example" }], files: [{ url: "none" }] } : {})
}))
const failure = fc.boolean().map((transient) =>
  Effect.fail(new ModelFailure({ code: "busy", detail: "Busy.", transient }))
)
const script = fc.array(fc.oneof({ weight: 5, arbitrary: reply }, { weight: 1, arbitrary: failure }), { maxLength: 6 })

const show = fc.record({ arguments: fc.boolean(), results: fc.boolean(), reasoning: fc.boolean() })

/** What a page does with all that waits. */
const reaction = fc.record({
  approves: fc.boolean(),
  which: fc.constantFrom<(index: number) => boolean>(() => true, (index) => index === 0, (index) => index > 0),
  value: fc.constantFrom<unknown>("four", { a: 1 }, null),
  words: fc.option(fc.constant("five"))
})

describe("the message of any run", () => {
  it("is sound whole, and taken back wherever it is cut off", () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...agents),
        script,
        show,
        fc.array(reaction, { maxLength: 4 }),
        fc.nat(),
        async (agent, moves, show, acts, cut) => {
          const scenario: Scenario = {
            name: "random",
            agent,
            model: inPieces((_, index) => moves[index] ?? ScriptedModel.text("So be it.")),
            deltas: ["arguments", "reasoning"],
            show,
            acts: acts.map(({ approves, value, which, words }) => (message) => {
              const [decided = message] = decide(approves, undefined, which)(message)
              return words === null ? output(value)(decided) : says(words)(decided)
            }),
            isRandom: true
          }
          for (
            const played of await Effect.runPromise(
              play(scenario).pipe(
                Effect.provide(TestClock.layer()),
                Effect.provideService(References.MinimumLogLevel, "None")
              )
            )
          ) {
            await demandSound(played)
            const { before, chunks } = played
            const end = before.at(-1)
            const part = chunks.slice(0, 1 + cut % chunks.length)
            const { message } = await messageOf(part, end?.role === "assistant" ? end : undefined)
            await demandAccepted(message)
          }
        }
      ),
      { numRuns: runs(400) }
    ))
})
