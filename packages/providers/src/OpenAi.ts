/**
 * Models that speak OpenAI's Chat Completions, `POST /v1/chat/completions`: OpenAI's own, and those behind vLLM, LM Studio,
 * llama.cpp, Ollama and many a gateway.
 *
 *     const model = OpenAi.layer({ model: "gpt-5-mini", apiKey })             // or: OpenAi.layerConfig()
 *     agent.run("Hello?").pipe(Effect.provide(model), Effect.provide(FetchHttpClient.layer))
 *
 * Any `HttpClient` will do; headers of your own come with `HttpClient.mapRequest`. The model's argument texts reach the tools as it wrote them; what a server adds to a
 * message, its model's reasoning, say, goes back to it unchanged.
 *
 * @since 0.1.0
 */
import { Model, type Transcript } from "@fallible/core"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Assembly from "./internal/assembly.ts"
import * as Body from "./internal/body.ts"
import * as Endpoint from "./internal/endpoint.ts"
import * as Failures from "./internal/failures.ts"
import * as FromEnv from "./internal/fromEnv.ts"
import * as Outgoing from "./internal/outgoing.ts"
import * as Provider from "./internal/provider.ts"
import { each, type Path } from "./internal/source.ts"
import type { Settings } from "./Settings.ts"

// -----------------------------------------------------------------------------
// Layers
// -----------------------------------------------------------------------------

/**
 * Which model, and where.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends Settings {
  /** As the server names it: `"gpt-5-mini"`. */
  readonly model: string
  /** Where the server is, with `/v1` where it has that. Default: `"https://api.openai.com/v1"`. */
  readonly baseUrl?: string
  /** Sent as a bearer token. Default: none, as local servers want it. */
  readonly apiKey?: Redacted.Redacted
}

/**
 * A model behind Chat Completions.
 *
 * Fails as {@link Model.ModelFailure} lists. A base URL that is none, and a key that fits no header, die with a `TypeError`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<Model.Model["Service"], never, HttpClient.HttpClient> =>
  Effect.map(HttpClient.HttpClient, (client) => Provider.make(format, serverOf(options), client, options))

/**
 * {@link make} as a layer.
 *
 * @example
 * ```ts
 * import { Agent, Toolkit } from "@fallible/core"
 * import { OpenAi } from "@fallible/providers"
 * import { Effect, Redacted } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * const model = OpenAi.layer({ model: "gpt-5-mini", apiKey: Redacted.make("sk-...") })
 * const answer = Agent.make({ toolkit: Toolkit.empty }).run("Hello?").pipe(
 *   Effect.provide(model),
 *   Effect.provide(FetchHttpClient.layer)
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<Model.Model, never, HttpClient.HttpClient> =>
  Layer.effect(Model.Model, make(options))

/**
 * {@link layer} from `OPENAI_MODEL`, `OPENAI_BASE_URL` (default: OpenAI's own) and `OPENAI_API_KEY` (default: none). What
 * is given here is not read. Fails with a `ConfigError` that names the variable.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  options: Partial<Options> = {}
): Layer.Layer<Model.Model, Config.ConfigError, HttpClient.HttpClient> =>
  Layer.unwrap(Effect.map(
    Config.all({
      model: FromEnv.given(options.model, Config.NonEmptyString("OPENAI_MODEL")),
      baseUrl: FromEnv.given(
        options.baseUrl,
        FromEnv.address("OPENAI_BASE_URL", { fallback: openAi, problem: Endpoint.urlProblem })
      ),
      apiKey: FromEnv.given(options.apiKey, FromEnv.apiKey("OPENAI_API_KEY"))
    }),
    ({ apiKey, ...read }) => layer({ ...options, ...read, ...(apiKey === undefined ? {} : { apiKey }) })
  ))

const openAi = "https://api.openai.com/v1"

const serverOf = ({ apiKey, baseUrl = openAi, model }: Options): Failures.Server => ({
  name: "The model's server",
  endpoint: Endpoint.make({ baseUrl, path: "/chat/completions", apiKey }),
  model,
  ifUnreachable: "The server may not be running, or its address may be wrong: OPENAI_BASE_URL.",
  ifUnknownModel: `Check the model's name: '${model}'. The server lists those that it has under /models.`,
  ifDenied: "Check the key: OPENAI_API_KEY."
})

// -----------------------------------------------------------------------------
// Requests
// -----------------------------------------------------------------------------

const encode: Provider.Format["encode"] = ({ options = {}, tools, transcript }, { server, stream }) =>
  Effect.succeed({
    model: server.model,
    messages: Array.from(transcript, encodeMessage),
    ...(tools.length === 0 ? {} : { tools: tools.map(Outgoing.definition), ...encodeChoice(options) }),
    ...(options.temperature === undefined ? {} : { temperature: options.temperature }),
    ...(options.maxTokens === undefined ? {} : { [mostTokens(server)]: options.maxTokens }),
    ...(stream ? { stream_options: { include_usage: true } } : {}),
    ...options.provider,
    stream
  })

// OpenAI's newer models take no `max_tokens`; many other servers take nothing else.
const mostTokens = ({ endpoint }: Failures.Server): string =>
  /^https:\/\/([\w-]+\.)*openai(\.azure)?\.com\//.test(endpoint.shown) ? "max_completion_tokens" : "max_tokens"

const encodeMessage = (message: Transcript.Message): Schema.JsonObject => {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.text }
    case "user":
      return { role: "user", content: encodeContent(message) }
    case "assistant":
      return Outgoing.assistant(message, "openai", (text) => text)
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content: message.text }
  }
}

const encodeContent = ({ images = [], text }: Transcript.MessageOf<"user">): Schema.Json =>
  images.length === 0 ? text : [
    { type: "text", text },
    ...images.map((image) => ({ type: "image_url", image_url: { url: encodeImage(image) } }))
  ]

const encodeImage = (image: Transcript.Image): string =>
  "url" in image ? image.url : `data:${image.mediaType};base64,${image.base64}`

const encodeChoice = ({ parallelCalls, toolChoice }: Model.Options): Schema.JsonObject => ({
  ...(toolChoice === undefined ? {} : {
    tool_choice: typeof toolChoice === "string"
      ? toolChoice
      : { type: "function", function: { name: toolChoice.tool } }
  }),
  ...(parallelCalls === undefined ? {} : { parallel_tool_calls: parallelCalls })
})

// -----------------------------------------------------------------------------
// Replies
// -----------------------------------------------------------------------------

const Completion = Schema.Struct({
  choices: Schema.Array(Schema.Struct({
    message: Schema.optionalKey(Schema.NullOr(Assembly.Message)),
    delta: Schema.optionalKey(Schema.NullOr(Assembly.Message)),
    finish_reason: Schema.optionalKey(Schema.NullOr(Schema.String))
  })),
  usage: Schema.optionalKey(Schema.Unknown)
})

const read: Provider.Format["read"] = (text, server) =>
  text === "[DONE]" ? Effect.succeed(end) : readCompletion(text, server)

const end: Assembly.Chunk = { message: {}, done: true }

const readCompletion = Body.reader(Completion, ({ choices: [choice], usage }, text) => {
  // A whole message, or what is to be added to one.
  const part = choice?.message ? "message" : "delta"
  const path: Path = ["choices", 0, part, "tool_calls", each, "function", "arguments"]
  return {
    message: Assembly.withSources(choice?.[part] ?? {}, text, path),
    usage: Body.usageOf(usage, "prompt_tokens", "completion_tokens"),
    finish: choice?.finish_reason ? finishes.get(choice.finish_reason) ?? "stop" : undefined,
    done: false
  }
})

// Of vLLM, Mistral, OpenRouter, DeepSeek and others, too. What is not here is an end like any other.
const finishes: ReadonlyMap<string, Assembly.Chunk["finish"]> = new Map([
  ["length", "length"],
  ["model_length", "length"],
  ["max_tokens", "length"],
  ["content_filter", "refused"],
  ["error", "failed"],
  ["abort", "failed"],
  ["insufficient_system_resource", "failed"]
])

/** Server-sent events, the last of which is `[DONE]`. */
const frames: Provider.Format["frames"] = (body, server) =>
  Stream.suspend(() => {
    const events: Array<string> = []
    const parser = Sse.makeParser((event) => event._tag === "Event" && events.push(event.data))
    return Stream.decodeText(body).pipe(
      Stream.mapEffect((text) =>
        parser.feed(text) === undefined
          ? Effect.succeed(events.splice(0))
          : Effect.fail(Failures.oversized(server, 10 * Failures.mebibyte))
      ),
      Stream.flattenIterable
    )
  })

const format: Provider.Format = { name: "openai", encode, read, frames }
