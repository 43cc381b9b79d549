/** Options and tools over each wire: what is asked for reaches the server, or fails. Calls that a provider ran are shown. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createOpenAI } from "@ai-sdk/openai"
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@fallible/ai-sdk"
import { Agent, Model, Tool, Toolkit } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, type Layer, Schema } from "effect"
import { languageModel, once, versions, whole } from "../support/languageModels.ts"
import { bridges, serving } from "../support/models.ts"
import type { Untyped } from "../support/nonsense.ts"
import { request } from "../support/question.ts"

const add = Tool.make("add", {
  description: "Adds",
  parameters: Schema.Struct({ n: Schema.Number }),
  success: Schema.Number,
  sideEffect: "none"
}, ({ n }) => Effect.succeed(n + 1))

const tools = Toolkit.make(add).definitions

/** Where each wire has an option: a path into the body. */
const places: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Responses: {
    temperature: "temperature",
    maxTokens: "max_output_tokens",
    toolChoice: "tool_choice",
    output: "text.format"
  },
  Messages: {
    temperature: "temperature",
    maxTokens: "max_tokens",
    toolChoice: "tool_choice.type",
    stop: "stop_sequences"
  },
  Gemini: {
    temperature: "generationConfig.temperature",
    maxTokens: "generationConfig.maxOutputTokens",
    toolChoice: "toolConfig.functionCallingConfig.mode",
    stop: "generationConfig.stopSequences",
    output: "generationConfig"
  }
}

const values: Readonly<Record<string, unknown>> = {
  temperature: 0.25,
  maxTokens: 77,
  toolChoice: "required",
  stop: ["END"],
  output: { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false }
}

const at = (body: Untyped, path: string): Untyped => path.split(".").reduce((value, key) => value?.[key], body)

describe("an option", () => {
  for (const [name, provider] of bridges) {
    for (const [option, path] of Object.entries(places[name]!)) {
      it.effect(`${option} reaches ${name}`, () =>
        Effect.gen(function*() {
          const server = yield* FakeModelServer.FakeModelServer
          const { respond } = yield* Model.Model
          const asked = { ...request, tools: option === "toolChoice" ? tools : [] }
          yield* Effect.exit(respond({ ...asked, options: { [option]: values[option] } }))
          const [received] = (yield* server.state).requests
          const value = at(JSON.parse(received!.body), path)
          if (option === "toolChoice") assert.match(String(value), /required|any/i)
          else if (option === "output") assert.include(JSON.stringify(value), "\"a\"")
          else assert.deepStrictEqual(value, values[option] as Untyped)
        }).pipe(Effect.provide(serving(provider)(() => ScriptedModel.text("{\"a\":\"b\"}")))))
    }

    it.effect(`of the provider reaches ${name}, and one that nobody has fails before anything is sent`, () =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.FakeModelServer
        const { respond } = yield* Model.Model
        const failure = yield* Effect.flip(respond({ ...request, options: { parallelCalls: false } }))
        assert.deepStrictEqual([failure.code, failure.transient], ["unsupported", false])
        const must = yield* Effect.flip(respond({ ...request, options: { toolChoice: "required" } }))
        assert.strictEqual(must.code, "unsupported")
        assert.deepStrictEqual((yield* server.state).requests, [])
        const providerOptions = {
          openai: { user: "ada" },
          anthropic: { metadata: { userId: "ada" } },
          google: { labels: { user: "ada" } }
        }
        yield* Effect.exit(respond({ ...request, options: { provider: providerOptions } }))
        const [received] = (yield* server.state).requests
        if (name !== "Gemini") assert.include(received?.body, "ada")
      }).pipe(Effect.provide(serving(provider)(() => ScriptedModel.text("Hello.")))))
  }

  it.effect("of reasoning reaches models of version 4, and version 3 has none", () =>
    Effect.gen(function*() {
      for (const version of versions) {
        const seen: Array<Untyped> = []
        const model = languageModel({
          doGenerate: async (options: Untyped) => {
            seen.push(options.reasoning)
            return whole([])
          }
        }, version)
        const asked = once(model, { ...request, options: { reasoning: "low" } })
        if (version === "v4") yield* asked
        else assert.strictEqual((yield* Effect.flip(asked)).code, "unsupported")
        assert.deepStrictEqual(seen, version === "v4" ? ["low"] : [])
      }
    }))

  it.effect("structuredOutput has the answer written as text, beside tools, for both versions", () =>
    Effect.gen(function*() {
      for (const version of versions) {
        const seen: Array<Untyped> = []
        const model = languageModel({
          doGenerate: async (options: Untyped) => {
            seen.push(options)
            return whole([{ type: "text", text: "{\"sum\":3}" }])
          }
        }, version)
        const agent = Agent.make({ toolkit: Toolkit.make(add), output: Schema.Struct({ sum: Schema.Number }) })
        const answer = yield* agent.run("1+2?").pipe(Effect.provide(AiSdk.layer(model, { structuredOutput: true })))
        assert.deepStrictEqual(answer.value, { sum: 3 })
        assert.deepStrictEqual(seen[0].tools.map(({ name }: Untyped) => name), ["add"])
        assert.strictEqual(seen[0].responseFormat.type, "json")
        assert.include(JSON.stringify(seen[0].responseFormat.schema), "sum")
      }
    }))
})

describe("a tool that the provider runs", () => {
  it.effect("is offered, its calls are shown and never run, and they go back unchanged", () =>
    Effect.gen(function*() {
      let ran = 0
      const search = Tool.make("search", {
        description: "Searches here",
        parameters: Schema.Struct({}),
        success: Schema.String,
        sideEffect: "none"
      }, () => Effect.sync(() => String(ran++)))
      for (const version of versions) {
        const seen: Array<Untyped> = []
        const providerMetadata = { played: { id: "ws_1" } }
        const content = [
          {
            type: "tool-call",
            toolCallId: "p1",
            toolName: "search",
            input: "{\"q\":1.0}",
            providerExecuted: true,
            providerMetadata
          },
          { type: "tool-result", toolCallId: "p1", toolName: "search", result: { preliminary: 1 }, preliminary: true },
          { type: "tool-result", toolCallId: "p1", toolName: "search", result: { found: [1] }, providerMetadata },
          { type: "source", sourceType: "url", id: "s", url: "https://found.example/", title: "Found" },
          { type: "tool-call", toolCallId: "c1", toolName: "add", input: "{\"n\":1}" }
        ]
        const model = languageModel({
          doGenerate: async (options: Untyped) => {
            seen.push(options)
            return whole(seen.length === 1 ? content : [{ type: "text", text: "Done." }])
          }
        }, version)
        const layer = AiSdk.layer(model, { providerTools: { search: { id: "played.search", args: { max: 2 } } } })
        const answer = yield* Agent.make({ toolkit: Toolkit.make(add) }).run("Go.").pipe(Effect.provide(layer))
        assert.strictEqual(answer.text, "Done.")
        assert.deepStrictEqual(
          seen[0].tools.map(({ id, name, type }: Untyped) => [type, name, id]),
          [["function", "add", undefined], ["provider", "search", "played.search"]]
        )
        const back = seen[1].prompt[1].content
        assert.deepStrictEqual(back.slice(0, 2), [
          {
            type: "tool-call",
            toolCallId: "p1",
            toolName: "search",
            input: { q: 1 },
            providerExecuted: true,
            providerOptions: providerMetadata
          },
          {
            type: "tool-result",
            toolCallId: "p1",
            toolName: "search",
            output: { type: "json", value: { found: [1] } },
            providerOptions: providerMetadata
          }
        ] as Untyped)
        assert.deepStrictEqual(seen[1].prompt[2].content.map(({ toolCallId }: Untyped) => toolCallId), ["c1"])
        const reply = yield* once(languageModel({ doGenerate: async () => whole(content) }, version))
        assert.deepStrictEqual(
          reply.providerCalls,
          [{ id: "p1", name: "search", arguments: "{\"q\":1.0}", result: { found: [1] } }] as Untyped
        )
        assert.deepStrictEqual(reply.calls.map(({ id }) => id), ["c1"])
      }
      assert.strictEqual(ran, 0)
      assert.strictEqual(search.name, "search")
    }))

  const searched = {
    Responses: JSON.stringify({
      id: "r",
      created_at: 1,
      model: "any",
      output: [
        { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "q" } },
        {
          type: "message",
          id: "m",
          role: "assistant",
          content: [{ type: "output_text", text: "Found.", annotations: [] }]
        }
      ],
      usage: { input_tokens: 1, output_tokens: 1 }
    }),
    Messages: JSON.stringify({
      id: "m",
      type: "message",
      role: "assistant",
      model: "any",
      content: [
        { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } },
        {
          type: "web_search_tool_result",
          tool_use_id: "srvtoolu_1",
          content: [{
            type: "web_search_result",
            url: "https://found.example/",
            title: "T",
            encrypted_content: "E",
            page_age: null
          }]
        },
        { type: "text", text: "Found." }
      ],
      stop_reason: "end_turn",
      usage: { input_tokens: 1, output_tokens: 1 }
    })
  }

  for (const name of ["Responses", "Messages"] as const) {
    it.effect(`of ${name}: a search of the web is shown, and goes back on the next turn`, () =>
      Effect.gen(function*() {
        const bodies: Array<string> = []
        // The fake server takes no tools of the provider.
        const fetch = (_: unknown, init?: { readonly body?: unknown }): Promise<Response> => {
          bodies.push(String(init?.body))
          return Promise.resolve(new Response(searched[name], { headers: { "content-type": "application/json" } }))
        }
        const openai = createOpenAI({ apiKey: "any", fetch })
        const anthropic = createAnthropic({ apiKey: "any", fetch })
        const model: Layer.Layer<Model.Model> = name === "Responses"
          ? AiSdk.layer(openai.responses("any"), { providerTools: { web_search: openai.tools.webSearch({}) } })
          : AiSdk.layer(anthropic("any"), { providerTools: { web_search: anthropic.tools.webSearch_20250305({}) } })
        const agent = Agent.make({ toolkit: Toolkit.empty })
        const first = yield* agent.run("Search").pipe(Effect.provide(model))
        assert.strictEqual(first.text, "Found.")
        yield* agent.run("Again", { transcript: first.transcript }).pipe(Effect.provide(model))
        assert.strictEqual(bodies.length, 2)
        assert.include(bodies[0], "web_search")
        assert.include(bodies[1], name === "Responses" ? "ws_1" : "srvtoolu_1")
        if (name === "Messages") assert.include(bodies[1], "\"encrypted_content\":\"E\"")
      }))
  }
})
