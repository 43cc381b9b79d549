/** Replies that cost something: what they used is counted, and they are not lost. */
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@fallible/ai-sdk"
import { Agent, Tool, Toolkit } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Schedule, Schema, Stream } from "effect"
import { finish, languageModel, streamOf, textParts, whole } from "../support/languageModels.ts"
import { messages, serving } from "../support/models.ts"

const plain = Agent.make({ toolkit: Toolkit.empty })

describe("a reply that was paid for", () => {
  it.effect("is counted if the provider ignored an option of its request", () =>
    Effect.gen(function*() {
      const warnings = [{ type: "unsupported", feature: "temperature", details: "Reasoning models have none." }]
      const model = languageModel({ doGenerate: async () => whole([{ type: "text", text: "Hello." }], { warnings }) })
      const failure = yield* Effect.flip(
        plain.run("Hi", { modelOptions: { temperature: 0 } }).pipe(Effect.provide(AiSdk.layer(model)))
      )
      assert.strictEqual(failure._tag === "ModelFailed" && failure.failure.code, "unsupported")
      assert.deepInclude(failure.report, { inputTokens: 3, outputTokens: 1 })
    }))

  it.effect("is counted if it has no content, each time that it is asked for again", () =>
    Effect.gen(function*() {
      const model = languageModel({ doGenerate: async () => whole(undefined) })
      const failure = yield* Effect.flip(
        plain.run("Hi").pipe(Effect.provide(AiSdk.layer(model, { retry: Schedule.recurs(2) })))
      )
      assert.deepInclude(failure.report, { inputTokens: 9, outputTokens: 3 })
    }))

  it.live("is not lost if its stream cannot be cancelled", () =>
    Effect.gen(function*() {
      const stream = streamOf([...textParts("Hello."), finish], "stall", () => {
        throw new Error("no")
      })
      const events = yield* plain.stream("Hi").pipe(
        Stream.runCollect,
        Effect.provide(AiSdk.layer(languageModel({ doStream: async () => stream })))
      )
      const last = events.at(-1)
      assert.strictEqual(last?._tag === "RunEnded" && last.answer.text, "Hello.")
    }))

  it.effect("goes on if the provider paused, with what it had found, and is counted each time", () =>
    Effect.gen(function*() {
      const search = [
        { type: "tool-call", toolCallId: "s1", toolName: "web_search", input: "{}", providerExecuted: true },
        { type: "tool-result", toolCallId: "s1", toolName: "web_search", result: [{ url: "https://a.example" }] }
      ]
      const prompts: Array<string> = []
      const model = languageModel({
        doGenerate: async (options: object) => {
          prompts.push(JSON.stringify(options))
          return prompts.length < 3
            ? whole(search, { finishReason: { unified: "stop", raw: "pause_turn" } })
            : whole([{ type: "text", text: "Found it." }])
        }
      })
      const answer = yield* plain.run("Search.").pipe(Effect.provide(AiSdk.layer(model)))
      assert.strictEqual(answer.text, "Found it.")
      assert.deepInclude(answer.report, { turns: 3, inputTokens: 9, failures: [] })
      assert.include(prompts[1], "https://a.example")
      assert.strictEqual(answer.transcript.length, 4)
    }))
})

describe("a conversation of another provider", () => {
  it.effect("goes on, although its ids have a form that this one refuses", () =>
    Effect.gen(function*() {
      const now = Tool.make("now", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        Effect.succeed("noon"))
      const agent = Agent.make({ toolkit: Toolkit.make(now) })
      const first = yield* agent.run("Time?").pipe(Effect.provide(ScriptedModel.layer([
        { text: "", calls: [{ id: "functions.now:0", name: "now", arguments: "{}" }] },
        ScriptedModel.text("Noon.")
      ])))
      yield* Effect.gen(function*() {
        yield* agent.run("And now?", { transcript: first.transcript, facts: CallFacts.empty })
        const { requests } = yield* (yield* FakeModelServer.FakeModelServer).state
        assert.deepStrictEqual(
          requests.map(({ problem }) =>
            problem
          ),
          [undefined]
        )
      }).pipe(Effect.provide(serving(messages)([ScriptedModel.text("One.")])))
    }))
})
