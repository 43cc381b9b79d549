/** What servers say of tokens and costs, of models' names, and of reasoning; and the options for reasoning and for the end. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Model, Toolkit } from "@fallible/core"
import type * as RunReport from "@fallible/core/RunReport"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Schedule, Stream } from "effect"
import { ollama, openAi, providers, serving } from "../support/models.ts"
import { parts, request, respond } from "../support/question.ts"

const agent = Agent.make({ toolkit: Toolkit.empty, modelRetry: Schedule.recurs(0) })
const settings = { retry: Schedule.recurs(0) }

const sumsOf = (report: RunReport.RunReport) => {
  const { calls: _, failures: __, repairs: ___, turns: ____, ...sums } = report
  return sums
}

/** Runs an agent, whole and streamed, and returns the reports, also those of runs that failed. */
const reports = Effect.gen(function*() {
  const whole = yield* Effect.match(agent.run("?"), {
    onSuccess: ({ report }) => report,
    onFailure: ({ report }) => report
  })
  const streamed = yield* Effect.match(Stream.runLast(agent.stream("?")), {
    onSuccess: (last) =>
      last._tag === "Some" && last.value._tag === "RunEnded" ? last.value.answer.report : assert.fail("no answer"),
    onFailure: ({ report }) => report
  })
  return [whole, streamed]
})

describe("the usage of a reply", () => {
  const usage = {
    inputTokens: 100,
    outputTokens: 20,
    cachedTokens: 60,
    cacheWrittenTokens: 30,
    reasoningTokens: 15,
    money: 0.25
  }
  const reply = { ...ScriptedModel.text("Done."), usage }

  it.effect("has all details that Chat Completions has, whole and streamed", () =>
    Effect.gen(function*() {
      for (const report of yield* reports) assert.deepStrictEqual(sumsOf(report), usage)
    }).pipe(Effect.provide(serving(openAi)([reply, reply]))))

  it.effect("has the two counts that Ollama has", () =>
    Effect.gen(function*() {
      for (const report of yield* reports) {
        assert.deepStrictEqual(sumsOf(report), { inputTokens: 100, outputTokens: 20 })
      }
    }).pipe(Effect.provide(serving(ollama)([reply, reply]))))

  for (const [name, provider] of providers) {
    it.effect(`is unknown if the server says nothing, over ${name}`, () =>
      Effect.gen(function*() {
        for (const report of yield* reports) assert.deepStrictEqual(sumsOf(report), { unreported: 1 })
      }).pipe(Effect.provide(serving(provider)([ScriptedModel.text("Done."), ScriptedModel.text("Done.")]))))
  }

  it.effect("takes a server's own names, and no nonsense", () =>
    Effect.gen(function*() {
      const read = (usage: unknown) =>
        Effect.map(respond, ({ usage }) => usage).pipe(
          Effect.provide(
            serving(openAi)([
              FakeModelServer.raw(JSON.stringify({ choices: [{ message: { content: "." } }], usage }))
            ])
          )
        )
      assert.deepStrictEqual(yield* read({ prompt_tokens: 9, prompt_cache_hit_tokens: 4 }), {
        inputTokens: 9,
        cachedTokens: 4
      })
      assert.isUndefined(
        yield* read({ cost: "0.1", prompt_tokens_details: { cached_tokens: -1 }, completion_tokens_details: null })
      )
      assert.deepStrictEqual(yield* read({ cost: 0, prompt_tokens_details: 7 }), { money: 0 })
    }))
})

describe("the usage of a request that failed", () => {
  const usage = { prompt_tokens: 7, completion_tokens: 3, cost: 0.5 }
  const sums = { inputTokens: 7, outputTokens: 3, money: 0.5 }
  const event = (data: object | string) => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`
  const cases: ReadonlyArray<readonly [code: string, message: object, finish: string]> = [
    ["refused", { refusal: "I will not." }, "stop"],
    ["refused", { content: "I" }, "content_filter"],
    ["max_tokens", { content: "" }, "length"],
    ["cut_off", { content: "I" }, "error"]
  ]
  for (const [code, message, finish_reason] of cases) {
    it.effect(`with ${code} (${finish_reason}) is in the report, over Chat Completions`, () =>
      Effect.gen(function*() {
        const model = serving(openAi)([
          FakeModelServer.raw(JSON.stringify({ choices: [{ message, finish_reason }], usage })),
          // The usage follows the end.
          FakeModelServer.raw(
            event({ choices: [{ delta: message, finish_reason: null }] }) +
              event({ choices: [{ delta: {}, finish_reason }] }) + event({ choices: [], usage }) + event("[DONE]")
          )
        ], { settings })
        for (const report of yield* Effect.provide(reports, model)) {
          assert.deepStrictEqual(sumsOf(report), sums)
          assert.deepStrictEqual(report.failures.map((entry) => [entry.code, "model" in entry && entry.model]), [
            [code, "any"]
          ])
        }
      }))
  }

  it.effect("at its token limit is in the report, over Ollama", () =>
    Effect.gen(function*() {
      const line = JSON.stringify({
        message: { role: "assistant", content: "" },
        done: true,
        done_reason: "length",
        prompt_eval_count: 7,
        eval_count: 3
      })
      const model = serving(ollama)([FakeModelServer.raw(line), FakeModelServer.raw(`${line}\n`)], { settings })
      for (const report of yield* Effect.provide(reports, model)) {
        assert.deepStrictEqual(sumsOf(report), { inputTokens: 7, outputTokens: 3 })
      }
    }))

  it.effect("counts for each attempt, if the request is repeated", () =>
    Effect.gen(function*() {
      const broken = JSON.stringify({ choices: [{ message: { content: "I" }, finish_reason: "error" }], usage })
      const whole = JSON.stringify({ choices: [{ message: { content: "Done." }, finish_reason: "stop" }], usage })
      const model = serving(openAi)([broken, broken, whole].map((body) => FakeModelServer.raw(body)), {
        settings: { retry: Schedule.recurs(2) }
      })
      const { report } = yield* Effect.provide(agent.run("?"), model)
      assert.deepStrictEqual(sumsOf(report), { inputTokens: 21, outputTokens: 9, money: 1.5 })
    }))
})

describe("a model's name", () => {
  for (const [name, provider] of providers) {
    it.effect(`is in its replies and failures, over ${name}`, () =>
      Effect.gen(function*() {
        assert.strictEqual((yield* respond).model, "any")
        const last = (yield* parts).at(-1)
        assert.strictEqual(last?._tag === "Replied" && last.reply.model, "any")
        const failure = yield* Effect.flip(agent.run("?"))
        assert.strictEqual(failure._tag === "ModelFailed" && failure.failure.model, "any")
        assert.strictEqual((yield* Model.Model).name, "any")
      }).pipe(
        Effect.provide(
          serving(provider)([
            ScriptedModel.text("Done."),
            ScriptedModel.text("Done."),
            FakeModelServer.raw("{}", { status: 400 })
          ], { settings })
        )
      ))
  }
})

describe("what a model thinks", () => {
  const reasoning = "Hm. 21 °C, I think:\n\n ☀️."
  for (const [name, provider] of providers) {
    it.effect(`is in its reply, and in pieces of a stream before its text, over ${name}`, () =>
      Effect.gen(function*() {
        assert.strictEqual((yield* respond).reasoning, reasoning)
        const all = yield* parts
        const thought = all.flatMap((part) => part._tag === "ReasoningDelta" ? [part.text] : [])
        assert.isAbove(thought.length, 1)
        assert.strictEqual(thought.join(""), reasoning)
        const tags = all.map(({ _tag }) => _tag)
        assert.isBelow(tags.lastIndexOf("ReasoningDelta"), tags.indexOf("TextDelta"))
        const last = all.at(-1)
        assert.strictEqual(last?._tag === "Replied" && last.reply.reasoning, reasoning)
      }).pipe(
        Effect.provide(
          serving(provider)([{ text: "21.", calls: [], reasoning }, { text: "21.", calls: [], reasoning }], {
            split: 3
          })
        )
      ))
  }
})

describe("an option", () => {
  const levels = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const
  const sent = (provider: typeof openAi, options: Model.Options) =>
    Effect.gen(function*() {
      const { respond } = yield* Model.Model
      yield* respond({ ...request, options })
      const { requests } = yield* Effect.flatMap(FakeModelServer.FakeModelServer, ({ state }) => state)
      const body: Record<string, unknown> = JSON.parse(requests.at(-1)?.body ?? "null")
      return body
    }).pipe(Effect.provide(serving(provider)([ScriptedModel.text("Done.")], { settings })))

  it.effect("says how much to think, over Chat Completions", () =>
    Effect.gen(function*() {
      for (const reasoning of levels) {
        assert.deepInclude(yield* sent(openAi, { reasoning }), { reasoning_effort: reasoning })
      }
      assert.notProperty(yield* sent(openAi, {}), "reasoning_effort")
      assert.deepInclude(yield* sent(openAi, { reasoning: "low", provider: { reasoning_effort: "high" } }), {
        reasoning_effort: "high"
      })
    }))

  it.effect("says how much to think, over Ollama, which has fewer levels", () =>
    Effect.gen(function*() {
      const thinks = yield* Effect.forEach(levels, (reasoning) => sent(ollama, { reasoning }))
      assert.deepStrictEqual(thinks.map(({ think }) => think), [false, "low", "low", "medium", "high", "high", "high"])
      assert.notProperty(yield* sent(ollama, {}), "think")
    }))

  it.effect("says where to stop", () =>
    Effect.gen(function*() {
      const stop = ["END", "\n\n"]
      assert.deepInclude(yield* sent(openAi, { stop }), { stop })
      assert.deepInclude(yield* sent(ollama, { stop }), { options: { stop } })
      // Servers refuse an empty list.
      assert.notProperty(yield* sent(openAi, { stop: [] }), "stop")
      assert.deepInclude(yield* sent(ollama, { stop: [] }), { options: {} })
    }))
})
