/** Requests: their addresses, their options, and messages that are sent back unchanged. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Model, type ModelFailure, Tool, Toolkit, Transcript } from "@fallible/core"
import { Ollama, OpenAi } from "@fallible/providers"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Cause, ConfigProvider, Effect, Exit, type Layer, Redacted, Schedule, Schema, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientError, type HttpClientRequest } from "effect/http"
import { ollama, openAi, serving } from "../support/models.ts"

const request: Model.Request = { transcript: Transcript.make([{ role: "user", text: "Hello?" }]), tools: [] }
const ping = Tool.make(
  "ping",
  { description: "Answers", success: Schema.String, sideEffect: "none" },
  () => Effect.succeed("pong")
)
const pinging = Agent.make({ toolkit: Toolkit.make(ping) })

/** Captures the request of a model, with a client that sends nothing. */
const sentBy = <E>(
  layer: Layer.Layer<Model.Model, E, HttpClient.HttpClient>,
  asked: Model.Request = request
): Effect.Effect<HttpClientRequest.HttpClientRequest, E | ModelFailure> =>
  Effect.suspend(() => {
    let sent: HttpClientRequest.HttpClientRequest | undefined
    const client = HttpClient.make((request) => {
      sent = request
      return Effect.fail(
        new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request }) })
      )
    })
    return Effect.flatMap(Model.Model, ({ respond }) => respond(asked)).pipe(
      Effect.provide(layer),
      Effect.provideService(HttpClient.HttpClient, client),
      Effect.matchEffect({
        onSuccess: () => Effect.die("nothing was to be answered"),
        onFailure: (failure) => sent === undefined ? Effect.fail(failure) : Effect.succeed(sent)
      })
    )
  })

const bodyOf = ({ body }: HttpClientRequest.HttpClientRequest): Record<string, unknown> =>
  body._tag === "Uint8Array" ? JSON.parse(new TextDecoder().decode(body.body)) : {}

const quick = { model: "any", retry: Schedule.recurs(0) }

describe("OLLAMA_HOST", () => {
  for (
    const [host, url] of [
      ["", "http://127.0.0.1:11434"],
      ["  ", "http://127.0.0.1:11434"],
      ["localhost", "http://localhost:11434"],
      ["gpu.local:8080", "http://gpu.local:8080"],
      ["10.0.0.7", "http://10.0.0.7:11434"],
      [":8080", "http://127.0.0.1:8080"],
      ["0.0.0.0", "http://127.0.0.1:11434"],
      ["0.0.0.0:8080", "http://127.0.0.1:8080"],
      ["::1", "http://[::1]:11434"],
      ["[::1]", "http://[::1]:11434"],
      ["[::1]:8080", "http://[::1]:8080"],
      ["[::]:8080", "http://[::1]:8080"],
      ["http://gpu.local", "http://gpu.local"],
      ["http://gpu.local:11434/", "http://gpu.local:11434"],
      ["https://gpu.local", "https://gpu.local"],
      ["https://gpu.local:8443/ollama/", "https://gpu.local:8443/ollama"],
      ["gpu.local/ollama", "http://gpu.local:11434/ollama"],
      ["\"gpu.local\"", "http://gpu.local:11434"]
    ] as const
  ) {
    it.effect(`${JSON.stringify(host)} is ${url}`, () =>
      Effect.gen(function*() {
        const sent = yield* sentBy(Ollama.layerConfig(quick))
        assert.strictEqual(sent.url, `${url}/api/chat`)
      }).pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { OLLAMA_HOST: host } })))))
  }

  for (const host of ["ftp://gpu.local", "gpu:port", "[::1", "a b", "host:99999"]) {
    it.effect(`${JSON.stringify(host)} is refused, by name and without being quoted`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(sentBy(Ollama.layerConfig(quick)))
        assert.match(String(error), /OLLAMA_HOST/)
        assert.match(String(error), /Expected a host, optionally with http:\/\//)
      }).pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { OLLAMA_HOST: host } })))))
  }
})

describe("the environment", () => {
  const withEnv = (env: Record<string, string>) => Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))

  it.effect("sets the model, the address and the key", () =>
    Effect.gen(function*() {
      const sent = yield* sentBy(OpenAi.layerConfig({ retry: quick.retry }))
      assert.strictEqual(sent.url, "http://10.0.0.7:8000/v1/chat/completions")
      assert.strictEqual(sent.headers["authorization"], "Bearer sk-0123456789")
      assert.strictEqual(bodyOf(sent)["model"], "qwen3")
    }).pipe(withEnv({
      OPENAI_BASE_URL: "http://10.0.0.7:8000/v1/",
      OPENAI_API_KEY: "sk-0123456789\n",
      OPENAI_MODEL: "qwen3"
    })))

  it.effect("may omit settings that the program passes", () =>
    Effect.gen(function*() {
      const sent = yield* sentBy(OpenAi.layerConfig({ ...quick, apiKey: Redacted.make("sk-of-the-program") }))
      assert.strictEqual(sent.url, "https://api.openai.com/v1/chat/completions")
      assert.strictEqual(sent.headers["authorization"], "Bearer sk-of-the-program")
    }).pipe(withEnv({ OPENAI_BASE_URL: "" })))

  it.effect("may omit the key", () =>
    Effect.gen(function*() {
      assert.isUndefined((yield* sentBy(OpenAi.layerConfig(quick))).headers["authorization"])
      assert.isUndefined((yield* sentBy(Ollama.layerConfig(quick))).headers["authorization"])
    }).pipe(withEnv({ OPENAI_API_KEY: " " })))

  it.effect("has its missing or wrong variables reported by name, and never quoted", () =>
    Effect.gen(function*() {
      const messageOf = (layer: Layer.Layer<Model.Model, unknown, HttpClient.HttpClient>) =>
        Effect.map(Effect.flip(sentBy(layer)), String)
      assert.match(
        yield* messageOf(OpenAi.layerConfig({ baseUrl: "http://10.0.0.7" })),
        /Expected the name of a model[\s\S]*OPENAI_MODEL/
      )
      assert.match(yield* messageOf(Ollama.layerConfig({ apiKey: Redacted.make("key") })), /OLLAMA_MODEL/)
      const address = yield* messageOf(OpenAi.layerConfig(quick))
      assert.match(address, /Expected an address that begins with http:\/\/ or https:\/\/[\s\S]*OPENAI_BASE_URL/)
      assert.notMatch(address, /s3cret/)
      const key = yield* messageOf(Ollama.layerConfig(quick))
      assert.match(key, /Expected a key of letters[\s\S]*OLLAMA_API_KEY/)
      assert.notMatch(key, /sk-/)
    }).pipe(withEnv({ OPENAI_BASE_URL: "ann:s3cret@host", OLLAMA_API_KEY: "sk-0123\u00e9456" })))

  it.effect("has its values trimmed, and a complete address kept unchanged", () =>
    Effect.gen(function*() {
      const sent = yield* sentBy(OpenAi.layerConfig({ retry: quick.retry }))
      assert.strictEqual(sent.url, "http://10.0.0.7/v1/chat/completions")
      assert.strictEqual(bodyOf(sent)["model"], "qwen3")
    }).pipe(withEnv({ OPENAI_BASE_URL: "http://10.0.0.7/v1/chat/completions/", OPENAI_MODEL: " qwen3 " })))

  it("and the program's own values are validated alike", () => {
    const died = (effect: Effect.Effect<unknown, unknown>) => {
      const exit = Effect.runSyncExit(effect)
      return Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "no"
    }
    const wrong =
      "TypeError: Expected an address that begins with http:// or https://, such as http://127.0.0.1:8080/v1."
    assert.strictEqual(died(sentBy(OpenAi.layer({ model: "any", baseUrl: "localhost:8000" }))), wrong)
    assert.strictEqual(died(sentBy(Ollama.layer({ model: "any", host: "ftp://gpu" }))), wrong)
    assert.match(died(sentBy(Ollama.layer({ model: " " }))), /^TypeError: Expected the name of a model/)
    assert.match(died(sentBy(OpenAi.layer({ model: "" }))), /^TypeError: Expected the name of a model/)
    const misspelled: object = { baseURL: "http://10.0.0.7" }
    assert.strictEqual(
      died(sentBy(OpenAi.layer({ ...quick, ...misspelled }))),
      "TypeError: OpenAi has no option 'baseURL'. Did you mean 'baseUrl'?"
    )
    assert.match(
      died(sentBy(Ollama.layer({ ...quick, ...misspelled }))),
      /^TypeError: Ollama has no option 'baseURL'\. Its options are 'timeout', .*'host'/
    )
    assert.match(died(sentBy(OpenAi.layerConfig({ ...quick, ...misspelled }))), /^TypeError: OpenAi has no option/)
    for (const timeout of [0, -5]) {
      assert.match(died(sentBy(OpenAi.layer({ ...quick, timeout }))), /^TypeError: A timeout must be longer/)
    }
  })
})

describe("model options", () => {
  const bodyFor = (layer: Layer.Layer<Model.Model, never, HttpClient.HttpClient>, options: Model.Options) =>
    Effect.map(sentBy(layer, { ...request, tools: Toolkit.make(ping).definitions, options }), bodyOf)

  it.effect("are those of Chat Completions, and those of OpenAI for OpenAI", () =>
    Effect.gen(function*() {
      const options: Model.Options = {
        temperature: 0,
        maxTokens: 50,
        toolChoice: { tool: "ping" },
        parallelCalls: false,
        provider: { reasoning_effort: "low", stream: true, temperature: 1 }
      }
      const elsewhere = OpenAi.layer({ ...quick, baseUrl: "http://10.0.0.7/v1" })
      assert.deepInclude(yield* bodyFor(elsewhere, options), {
        temperature: 1,
        max_tokens: 50,
        tool_choice: { type: "function", function: { name: "ping" } },
        parallel_tool_calls: false,
        reasoning_effort: "low",
        stream: false
      })
      for (
        const baseUrl of [
          "https://api.openai.com/v1",
          "https://us.api.openai.com/v1",
          "https://x.openai.azure.com/v1",
          "https://x.cognitiveservices.azure.com/v1"
        ]
      ) {
        const body = yield* bodyFor(OpenAi.layer({ ...quick, baseUrl }), options)
        assert.deepStrictEqual([body["max_tokens"], body["max_completion_tokens"]], [undefined, 50])
      }
      const other = yield* bodyFor(OpenAi.layer({ ...quick, baseUrl: "https://notopenai.com/v1" }), options)
      assert.strictEqual(other["max_tokens"], 50)
    }))

  it.effect("of the program are not sent twice, and tool choice needs a tool", () =>
    Effect.gen(function*() {
      const body = yield* bodyFor(OpenAi.layer(quick), { maxTokens: 5, provider: { max_tokens: 7 } })
      assert.deepStrictEqual([body["max_tokens"], body["max_completion_tokens"]], [7, undefined])
      const newer = yield* bodyFor(OpenAi.layer({ ...quick, baseUrl: "http://10.0.0.7/v1" }), {
        maxTokens: 5,
        provider: { max_completion_tokens: 7 }
      })
      assert.deepStrictEqual([newer["max_tokens"], newer["max_completion_tokens"]], [undefined, 7])
      const failure = yield* Effect.flip(
        sentBy(OpenAi.layer(quick), { ...request, options: { toolChoice: "required" } })
      )
      assert.deepInclude({ ...failure }, { code: "unsupported" })
    }))

  it.effect("are omitted if unset, and so is tool choice without tools", () =>
    Effect.gen(function*() {
      const sent = yield* sentBy(OpenAi.layer(quick), {
        ...request,
        options: { toolChoice: "none", parallelCalls: true }
      })
      assert.deepStrictEqual(Object.keys(bodyOf(sent)), ["model", "messages", "stream"])
    }))

  it.effect("are those of Ollama, and the program's options take precedence", () =>
    Effect.gen(function*() {
      const body = yield* bodyFor(Ollama.layer(quick), {
        temperature: 0,
        maxTokens: 50,
        provider: { keep_alive: "10m", options: { num_ctx: 8192, temperature: 1 } }
      })
      assert.deepInclude(body, {
        keep_alive: "10m",
        options: { temperature: 1, num_predict: 50, num_ctx: 8192 }
      })
      assert.isArray(body["tools"])
      assert.notProperty(yield* bodyFor(Ollama.layer(quick), { toolChoice: "none" }), "tools")
      assert.property(yield* bodyFor(Ollama.layer(quick), { toolChoice: "auto", parallelCalls: true }), "tools")
    }))

  it.effect("say how large the window is, to Ollama and to an agent", () =>
    Effect.gen(function*() {
      const settings = { ...quick, contextWindow: 16_384 }
      assert.deepInclude(yield* bodyFor(Ollama.layer(settings), {}), { options: { num_ctx: 16_384 } })
      const own = { provider: { options: { num_ctx: 4096 } } }
      assert.deepInclude(yield* bodyFor(Ollama.layer(settings), own), { options: { num_ctx: 4096 } })
      assert.notProperty(bodyOf(yield* sentBy(OpenAi.layer(settings), request)), "options")
      for (const layer of [Ollama.layer(settings), OpenAi.layer(settings)]) {
        const model = yield* Effect.provide(Model.Model, layer).pipe(Effect.provide(FetchHttpClient.layer))
        assert.strictEqual(model.contextWindow, 16_384)
      }
      const wrong = Effect.exit(Effect.provide(Model.Model, Ollama.layer({ ...quick, contextWindow: -1 })))
      const exit = yield* Effect.provide(wrong, FetchHttpClient.layer)
      assert.match(String(exit), /A 'contextWindow' must be a whole number of tokens above zero; got -1/)
    }))

  it.effect("that Ollama would ignore are refused", () =>
    Effect.gen(function*() {
      for (
        const options of [
          { toolChoice: "required" },
          { toolChoice: { tool: "ping" } },
          { parallelCalls: false }
        ] satisfies ReadonlyArray<Model.Options>
      ) {
        const failure = yield* Effect.flip(sentBy(Ollama.layer(quick), { ...request, options }))
        assert.deepInclude({ ...failure }, { code: "unsupported", transient: false })
        assert.match(failure.detail, /^Ollama cannot be (?:forced|limited) to/)
      }
    }))

  it.effect("pictures with only an address become a note, for Ollama", () =>
    Effect.gen(function*() {
      const picture = Transcript.make([{ role: "user", text: "?", files: [{ url: "https://example.org/a.png" }] }])
      const { messages } = bodyOf(yield* sentBy(Ollama.layer(quick), { transcript: picture, tools: [] }))
      assert.deepStrictEqual(messages, [{
        role: "user",
        content: "?\n[A file is attached here that you cannot read: https://example.org/a.png.]"
      }])
    }))

  it.effect("pictures may stay URLs, for Chat Completions", () =>
    Effect.gen(function*() {
      const picture = Transcript.make([{ role: "user", text: "?", files: [{ url: "https://example.org/a.png" }] }])
      const { messages } = bodyOf(yield* sentBy(OpenAi.layer(quick), { transcript: picture, tools: [] }))
      assert.deepStrictEqual(messages, [{
        role: "user",
        content: [
          { type: "text", text: "?" },
          { type: "image_url", image_url: { url: "https://example.org/a.png" } }
        ]
      }])
    }))
})

describe("a provider's addition to a message", () => {
  const reply: Model.Reply = {
    ...ScriptedModel.call("ping", {}),
    native: {
      openai: { reasoning_content: "I should ping.", annotations: [{ at: 1 }], refusal: null },
      ollama: { thinking: "I should ping.", mood: { calm: true } }
    }
  }

  const secondRequest = (provider: typeof openAi, stream: boolean) =>
    Effect.gen(function*() {
      yield* stream ? Stream.runDrain(pinging.stream("Ping!")) : pinging.run("Ping!")
      const { state } = yield* FakeModelServer.FakeModelServer
      const { messages }: { readonly messages: ReadonlyArray<unknown> } = JSON.parse((yield* state).requests[1]!.body)
      return messages[1]
    }).pipe(Effect.provide(serving(provider)([reply, ScriptedModel.text("Pong.")])))

  for (const stream of [false, true]) {
    it.effect(`is sent back unchanged (${stream ? "streamed" : "whole"})`, () =>
      Effect.gen(function*() {
        assert.deepInclude(yield* secondRequest(openAi, stream), {
          role: "assistant",
          reasoning_content: "I should ping.",
          annotations: [{ at: 1 }],
          tool_calls: [{ id: "call_1", type: "function", function: { name: "ping", arguments: "{}" } }]
        })
        assert.deepInclude(yield* secondRequest(ollama, stream), {
          role: "assistant",
          thinking: "I should ping.",
          mood: { calm: true },
          tool_calls: [{ id: "call_1", type: "function", function: { name: "ping", arguments: {} } }]
        })
      }))
  }
})

describe("an earlier message", () => {
  const at = { openAi: "http://10.0.0.7/v1/chat/completions", ollama: "http://10.0.0.7:11434/api/chat" }
  const layers = [
    OpenAi.layer({ ...quick, baseUrl: "http://10.0.0.7/v1" }),
    Ollama.layer({ ...quick, host: "10.0.0.7" })
  ]
  const sentMessages = (message: Transcript.Message) =>
    Effect.forEach(
      layers,
      (layer) =>
        Effect.map(sentBy(layer, { transcript: Transcript.make([message]), tools: [] }), ({ body }) => {
          const text = body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""
          return text.slice(text.indexOf("[") + 1, text.lastIndexOf("]"))
        })
    )

  it.effect("is sent with the arguments as written, including long digits and duplicate keys", () =>
    Effect.gen(function*() {
      const text = "{ \"n\": 12345678901234567890, \"n\": 1e400, \"s\": \"a \\\"quote\\\" \\u00e9 {\" }"
      const [chat, own] = yield* sentMessages({
        role: "assistant",
        text: "{\"\u0000source\":\"x\"}",
        calls: [{ id: "1", name: "pay", arguments: text }]
      })
      assert.include(chat, `"arguments":${JSON.stringify(text)}`)
      assert.include(own, `"arguments":${text}`)
      assert.include(own, "\"content\":\"{\\\"\\u0000source\\\":\\\"x\\\"}\"")
    }))

  it.effect("is sent with the repaired arguments if they are not JSON, or quoted if they are unreadable", () =>
    Effect.gen(function*() {
      const texts: ReadonlyArray<readonly [written: string, sent: string]> = [
        ["{city: 'Paris',}", "{\"city\":\"Paris\"}"],
        ["```json\n{\"a\":1}\n```", "{\"a\":1}"],
        ["null", "{}"],
        [" ", "{}"],
        ["{\"amount\":1", "{\"INVALID_JSON\":\"{\\\"amount\\\":1\"}"],
        ["[1]", "{\"INVALID_JSON\":\"[1]\"}"],
        // The value would lose digits.
        ["{id:12345678901234567890}", "{\"INVALID_JSON\":\"{id:12345678901234567890}\"}"]
      ]
      for (const [written, sent] of texts) {
        const [chat, own] = yield* sentMessages({
          role: "assistant",
          text: "",
          calls: [{ id: "1", name: "pay", arguments: written }]
        })
        assert.include(chat, `"arguments":${JSON.stringify(sent)}`, written)
        assert.include(own, `"arguments":${sent}`, written)
      }
    }))

  it.effect("is sent unchanged, and cannot inject anything into a request", () =>
    Effect.gen(function*() {
      const trick = { "\u0000source": "1,\"model\":\"evil\"", "source-0": "source-0", source: ["source-source-0"] }
      const transcript = Transcript.make([
        { role: "user", text: "source-0" },
        {
          role: "assistant",
          text: "",
          calls: [{ id: "1", name: "pay", arguments: "{\"n\": 1.0, \"s\": \"source-0\"}" }],
          native: {
            [at.ollama]: { content: "", trick }
          }
        },
        { role: "tool", callId: "1", name: "pay", text: "source-source-source-source-0" }
      ])
      const sent = yield* sentBy(layers[1]!, {
        transcript,
        tools: [{ name: "pay", description: "source-1", parameters: { default: trick } }],
        options: { provider: { trick } }
      })
      const body = bodyOf(sent)
      assert.strictEqual(body["model"], "any")
      assert.deepStrictEqual(body["trick"], trick)
      assert.deepInclude(JSON.parse(JSON.stringify(body["messages"]))[1], { trick })
      assert.deepStrictEqual(body["tools"], [
        { type: "function", function: { name: "pay", description: "source-1", parameters: { default: trick } } }
      ])
      const text = sent.body._tag === "Uint8Array" ? new TextDecoder().decode(sent.body.body) : ""
      assert.include(text, "\"arguments\":{\"n\": 1.0, \"s\": \"source-0\"}")
    }))

  it.effect("is sent without the additions to a removed call", () =>
    Effect.gen(function*() {
      const own = {
        content: "",
        tool_calls: ["first", "second"].map((name) => ({ id: name, extra: name, function: { name, arguments: "{}" } }))
      }
      const [chat] = yield* sentMessages({
        role: "assistant",
        text: "",
        calls: [{ id: "2", name: "second" }],
        native: { [at.openAi]: own }
      })
      assert.notInclude(chat, "extra")
    }))

  it.effect("is sent with the server's additions to a call, without its stream index", () =>
    Effect.gen(function*() {
      const own = {
        role: "assistant",
        content: null,
        tool_calls: [{
          index: 0,
          id: "old",
          extra: { signature: "s" },
          function: { name: "ping", arguments: "", strict: true }
        }]
      }
      const [chat] = yield* sentMessages({
        role: "assistant",
        text: "",
        calls: [{ id: "call_1", name: "ping" }],
        native: { [at.openAi]: own }
      })
      assert.deepStrictEqual(JSON.parse(chat!), {
        role: "assistant",
        content: null,
        tool_calls: [{
          type: "function",
          id: "call_1",
          extra: { signature: "s" },
          function: { name: "ping", arguments: "{}", strict: true }
        }]
      })
    }))

  it.effect("is sent to another server without this server's additions", () =>
    Effect.gen(function*() {
      const [chat, own] = yield* sentMessages({
        role: "assistant",
        text: "",
        calls: [{ id: "call_1", name: "ping" }],
        native: { "https://elsewhere.example/v1/chat/completions": { content: "theirs", reasoning_content: "Hm." } }
      })
      const call = (args: unknown) => ({
        tool_calls: [{ type: "function", id: "call_1", function: { name: "ping", arguments: args } }]
      })
      assert.deepStrictEqual(JSON.parse(chat!), { role: "assistant", content: null, ...call("{}") })
      assert.deepStrictEqual(JSON.parse(own!), { role: "assistant", content: "", ...call({}) })
    }))

  it.effect("that was changed is sent as changed", () =>
    Effect.gen(function*() {
      const native = Object.fromEntries(
        Object.values(at).map((url) => [url, { content: "My card is 1234.", mood: "calm" }])
      )
      for (const message of yield* sentMessages({ role: "assistant", text: "My card is …", calls: [], native })) {
        assert.deepStrictEqual(JSON.parse(message), { role: "assistant", content: "My card is …", mood: "calm" })
      }
    }))

  it.effect("may contain a picture in a data URL", () =>
    Effect.gen(function*() {
      const url = "data:image/gif;base64,R0lG"
      const [, own] = yield* sentMessages({ role: "user", text: "?", files: [{ url }] })
      assert.deepInclude(JSON.parse(own!), { images: ["R0lG"] })
    }))
})

describe("a text with half of a surrogate pair", () => {
  it.effect("is sent with the half replaced", () =>
    Effect.gen(function*() {
      const text = "half \ud83d and \udf27\\ and \\ud83d whole \ud83c\udf27 \\\ud83d"
      for (const layer of [OpenAi.layer(quick), Ollama.layer(quick)]) {
        const sent = yield* sentBy(layer, { transcript: Transcript.make([{ role: "user", text }]), tools: [] })
        assert.deepStrictEqual(bodyOf(sent)["messages"], [
          { role: "user", content: "half \ufffd and \ufffd\\ and \\ud83d whole \ud83c\udf27 \\\ufffd" }
        ])
      }
    }))
})
