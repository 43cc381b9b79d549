/**
 * Models that are called through OpenAI's Chat Completions (`POST /v1/chat/completions`): OpenAI's own
 * models, and models behind vLLM, LM Studio, llama.cpp, Ollama and many gateways.
 *
 *     const model = OpenAi.layer({ model: "gpt-5-mini", apiKey })             // or: OpenAi.layerConfig()
 *     agent.run("Hello?").pipe(Effect.provide(model), Effect.provide(FetchHttpClient.layer))
 *
 * Any `HttpClient` works. Add your own headers with `HttpClient.mapRequest`.
 *
 * Files are sent if they are pictures, or PDFs with their bytes. Of others, the model reads a note. Files that a tool attached
 * follow its result, in a message of the user's.
 *
 * This module does not change the text of a call's arguments. Extra fields in a server's
 * messages, such as the model's reasoning, are sent back unchanged.
 *
 * @since 0.1.0
 */
import { demandKnown, type Names } from "@fallible/arguments/internal"
import { Model, type ModelFailure, type Toolkit, type Transcript } from "@fallible/core"
import type { Settings } from "@fallible/core/ModelAdapter"
import * as ModelProblem from "@fallible/core/ModelProblem"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Endpoint from "./internal/endpoint.ts"
import * as FromEnv from "./internal/fromEnv.ts"
import { asJson, isObjectText } from "./internal/json.ts"
import * as Outgoing from "./internal/outgoingMessages.ts"
import * as Provider from "./internal/provider.ts"
import * as Assembly from "./internal/replyAssembly.ts"
import * as Body from "./internal/responseBody.ts"
import * as Server from "./internal/server.ts"
import { each, type Path, write } from "./internal/sourceText.ts"

// -----------------------------------------------------------------------------
// Layers
// -----------------------------------------------------------------------------

/**
 * The model, and the address of its server.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends Settings {
  /** The server's name for the model: `"gpt-5-mini"`. */
  readonly model: string
  /**
   * The base URL of the server, with `/v1` if the server has it. Default: `"https://api.openai.com/v1"`. A
   * query in the URL is sent with each request. Its values of 8 or more characters appear in no failure and no
   * span.
   */
  readonly baseUrl?: string
  /** The key, sent as a bearer token. Default: none, which is right for most local servers. */
  readonly apiKey?: Redacted.Redacted
  /**
   * Whether the server takes a JSON Schema for the text of a reply (`response_format: { type: "json_schema" }`), also beside
   * tools. OpenAI's does; many others refuse it, or ignore it. An agent with an `output` uses it. Default: `false`, so such an
   * agent offers the model the tool `final_answer`.
   */
  readonly structuredOutput?: boolean
}

/**
 * Makes a model behind Chat Completions.
 *
 * {@link Model.ModelFailure} lists how calls to the model can fail. `make` itself dies with a `TypeError` for an
 * unknown option, an invalid base URL, an empty model name, or a key that an HTTP header cannot contain. It also
 * dies if a timeout is not positive.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<Model.Model["Service"], never, HttpClient.HttpClient> =>
  Effect.map(HttpClient.HttpClient, (client) => {
    demandKnown("OpenAi", options, names)
    const { structuredOutput = false } = options
    return Provider.make(format, serverOf(options), client, options, structuredOutput ? "always" : undefined)
  })

const names: Names<Options> = {
  ...Provider.settingNames,
  model: true,
  baseUrl: true,
  apiKey: true,
  structuredOutput: true
}

/**
 * Provides a model behind Chat Completions: {@link make} as a layer.
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
 * Makes a {@link layer} from the environment variables `OPENAI_MODEL`, `OPENAI_BASE_URL` (default: OpenAI's
 * own) and `OPENAI_API_KEY` (default: none). If an option is given, its variable is not read. Fails with a
 * `ConfigError` that names the missing or invalid variable.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  options: Partial<Options> = {}
): Layer.Layer<Model.Model, Config.ConfigError, HttpClient.HttpClient> =>
  Layer.unwrap(Effect.map(
    Config.all({
      model: FromEnv.given(options.model, FromEnv.model("OPENAI_MODEL")),
      baseUrl: FromEnv.given(
        options.baseUrl,
        FromEnv.address("OPENAI_BASE_URL", { fallback: openAi, problem: Endpoint.urlProblem })
      ),
      apiKey: FromEnv.given(options.apiKey, FromEnv.apiKey("OPENAI_API_KEY"))
    }),
    ({ apiKey, ...read }) => layer({ ...options, ...read, ...(apiKey === undefined ? {} : { apiKey }) })
  ))

const openAi = "https://api.openai.com/v1"

const serverOf = ({ apiKey, baseUrl = openAi, model: name }: Options): Server.Server => {
  const model = Endpoint.modelName(name)
  return Server.make({
    name: "The model's server",
    endpoint: Endpoint.make({ baseUrl, path: "/chat/completions", apiKey }),
    model,
    ifUnreachable: "The server may not be running, or its address may be wrong (OPENAI_BASE_URL).",
    ifUnknownModel: `Check the model's name: '${model}'. The server lists its models under /models.`,
    ifDenied: "Check the key (OPENAI_API_KEY), and what it is allowed to do."
  })
}

// -----------------------------------------------------------------------------
// Requests
// -----------------------------------------------------------------------------

const encode: Provider.Format["encode"] = ({ options = {}, tools, transcript }, { server, stream }) => {
  const problem = unsupportedOption(options, tools)
  if (problem !== undefined) return Effect.fail(problem)
  return Effect.succeed({
    model: server.model,
    messages: encodeMessages(transcript, server),
    ...(tools.length === 0 ? {} : { tools: tools.map(Outgoing.definition), ...encodeChoice(options) }),
    ...(options.temperature === undefined ? {} : { temperature: options.temperature }),
    ...encodeMostTokens(options, server),
    ...(options.reasoning === undefined ? {} : { reasoning_effort: options.reasoning }),
    ...(options.stop === undefined || options.stop.length === 0 ? {} : { stop: options.stop }),
    ...(options.output === undefined ? {} : {
      response_format: { type: "json_schema", json_schema: { name: "answer", schema: asJson(options.output) } }
    }),
    ...(stream ? { stream_options: { include_usage: true } } : {}),
    ...options.provider,
    stream
  })
}

// OpenAI's newer models do not accept `max_tokens`; many other servers accept nothing else. So only
// one of the two is sent.
const encodeMostTokens = (
  { maxTokens, provider = {} }: Model.Options,
  { endpoint }: Server.Server
): Schema.JsonObject =>
  maxTokens === undefined || "max_tokens" in provider || "max_completion_tokens" in provider
    ? {}
    : /^https:\/\/([\w-]+\.)*(openai\.com|(openai|cognitiveservices|services\.ai)\.azure\.com)\//.test(endpoint.url)
    ? { max_completion_tokens: maxTokens }
    : { max_tokens: maxTokens }

const encodeMessages = (transcript: Transcript.Transcript, server: Server.Server): Schema.JsonArray => {
  const messages: Array<Schema.JsonObject> = []
  // In this format, the result of a tool is a text. Files follow in a message of the user's, after all results of a turn.
  let attached: Array<Schema.JsonObject> = []
  const addAttached = (): void => {
    if (attached.length > 0) messages.push({ role: "user", content: attached })
    attached = []
  }
  for (const message of transcript) {
    if (message.role !== "tool") addAttached()
    messages.push(encodeMessage(message, server))
    if (message.role !== "tool" || message.files === undefined) continue
    const parts = readable(message.files)
    if (parts.length > 0) attached.push({ type: "text", text: `Files of the result of ${message.callId}:` }, ...parts)
  }
  addAttached()
  return messages
}

const encodeMessage = (message: Transcript.Message, server: Server.Server): Schema.JsonObject => {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.text }
    case "user":
      return { role: "user", content: encodeContent(message) }
    case "assistant":
      return Outgoing.assistant(message, server, (text) => text)
    case "tool":
      return {
        role: "tool",
        tool_call_id: message.callId,
        content: Outgoing.withNotes(message.text, unreadable(message.files))
      }
  }
}

const encodeContent = ({ files = [], text }: Transcript.MessageOf<"user">): Schema.Json => {
  const noted = Outgoing.withNotes(text, unreadable(files))
  const parts = readable(files)
  return parts.length === 0 ? noted : [{ type: "text", text: noted }, ...parts]
}

const readable = (files: ReadonlyArray<Transcript.File>): ReadonlyArray<Schema.JsonObject> =>
  files.map(encodeFile).filter((part) => part !== undefined)

const unreadable = (files: ReadonlyArray<Transcript.File> = []): ReadonlyArray<Transcript.File> =>
  files.filter((file) => encodeFile(file) === undefined)

// Returns a file in the server's form: a picture, or a PDF. The server accepts nothing else.
const encodeFile = (file: Transcript.File): Schema.JsonObject | undefined => {
  const { name } = file
  const url = "url" in file ? file.url : `data:${file.mediaType};base64,${file.base64}`
  // An address alone is that of a picture, unless it says what it is.
  const mediaType = file.mediaType ?? /^data:([^;,]+)/.exec(url)?.[1] ?? "image/*"
  if (mediaType.startsWith("image/")) return { type: "image_url", image_url: { url } }
  return mediaType === "application/pdf" && url.startsWith("data:")
    ? { type: "file", file: { filename: name ?? "file.pdf", file_data: url } }
    : undefined
}

const encodeChoice = ({ parallelCalls, toolChoice }: Model.Options): Schema.JsonObject => ({
  ...(toolChoice === undefined ? {} : {
    tool_choice: typeof toolChoice === "string"
      ? toolChoice
      : { type: "function", function: { name: toolChoice.tool } }
  }),
  ...(parallelCalls === undefined ? {} : { parallel_tool_calls: parallelCalls })
})

const unsupportedOption = (
  options: Model.Options,
  tools: ReadonlyArray<Toolkit.Definition>
): ModelFailure | undefined =>
  tools.length === 0 && Model.mustCall(options)
    ? ModelProblem.unsupported(
      "A tool call is required, but no tool is offered.",
      "Leave `toolChoice` out, or offer a tool."
    )
    : undefined

// -----------------------------------------------------------------------------
// Replies
// -----------------------------------------------------------------------------

const Completion = Schema.Struct({
  choices: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Struct({
    index: Schema.optionalKey(Schema.NullOr(Schema.Number)),
    message: Schema.optionalKey(Schema.NullOr(Assembly.Message)),
    delta: Schema.optionalKey(Schema.NullOr(Assembly.Message)),
    finish_reason: Schema.optionalKey(Schema.NullOr(Schema.String))
  })))),
  usage: Schema.optionalKey(Schema.Unknown)
})

/** A field that every whole reply and every streamed piece has. */
const ofReplies = "choices"

const read: Provider.Format["read"] = (text, form, server) =>
  form !== "whole" && isEnd(text) ? Effect.succeed(end) : readCompletion(text, form, server)

const isEnd = (text: string): boolean => text.trim() === "[DONE]"

const end: Assembly.Chunk = { message: {}, done: true }

const readCompletion = Body.reader(Completion, ofReplies, ({ choices, usage }, text, form) => {
  // If there are several choices, the one with index 0 is the reply.
  const at = choices?.findIndex(({ index }) => (index ?? 0) === 0) ?? -1
  const choice = choices?.[at]
  const partOf = (part: "delta" | "message") => {
    const path: Path = ["choices", at, part, "tool_calls", each, "function", "arguments"]
    return Assembly.withSources(choice?.[part] ?? {}, text, path)
  }
  return {
    ...(form === "whole" ? {} : { delta: partOf("delta") }),
    message: partOf("message"),
    usage: usageOf(usage),
    finish: finishOf(choice?.finish_reason ?? ""),
    done: form === "whole"
  }
})

// OpenRouter also reports what was written to a cache, and the cost; DeepSeek has a name of its own for what was cached.
const usageOf = (usage: unknown): Model.Usage | undefined =>
  Body.usageOf({
    inputTokens: Body.fieldOf(usage, "prompt_tokens"),
    outputTokens: Body.fieldOf(usage, "completion_tokens"),
    cachedTokens: Body.fieldOf(usage, "prompt_tokens_details", "cached_tokens") ??
      Body.fieldOf(usage, "prompt_cache_hit_tokens"),
    cacheWrittenTokens: Body.fieldOf(usage, "prompt_tokens_details", "cache_write_tokens"),
    reasoningTokens: Body.fieldOf(usage, "completion_tokens_details", "reasoning_tokens"),
    money: Body.fieldOf(usage, "cost")
  })

/** Translates a finish reason of OpenAI, vLLM, Mistral, OpenRouter, DeepSeek, Gemini and others. */
const finishOf = (reason: string): Assembly.Chunk["finish"] =>
  reason === "" ? undefined : finishes.find(([, pattern]) => pattern.test(reason))?.[0] ?? "stop"

const finishes: ReadonlyArray<readonly [Assembly.Chunk["finish"], RegExp]> = [
  ["length", /^(model_length|length|max_tokens)$/i],
  ["refused", /content_filter|safety|prohibited|blocklist|recitation|spii|sensitive/i],
  ["failed", /error|abort|malformed|insufficient_system_resource/i]
]

/** Splits the body into server-sent events. The last event is `[DONE]`. */
const frames: Provider.Format["frames"] = (body, server) =>
  Stream.suspend(() => {
    const events: Array<string> = []
    const parser = Sse.makeParser((event) => event._tag === "Event" && events.push(event.data))
    // Some servers answer a request for a stream with a whole reply, an error or a web page. Such a body is
    // one piece.
    let hasBegun = false
    let whole: string | undefined
    const read = (text: string) => {
      if (!hasBegun && /\S/.test(text)) {
        hasBegun = true
        if (/^\s*[{[<]/.test(text)) whole = ""
      }
      if (whole !== undefined) whole += text
      else if (parser.feed(text) !== undefined) {
        return Effect.fail(ModelProblem.oversized(server, 10 * 1024 * 1024))
      }
      return Effect.succeed(events.splice(0))
    }
    // The empty line after the last event may be missing, so it is added here. An event that was cut off is dropped.
    const rest = Effect.suspend(() => {
      if (whole === undefined) {
        return Effect.map(read("\n\n"), (events) => events.filter((text) => isEnd(text) || isObjectText(text)))
      }
      return Body.isForeign(whole, ofReplies)
        ? Effect.fail(ModelProblem.malformed(server, whole, true))
        : Effect.succeed([whole])
    })
    return Stream.decodeText(body).pipe(
      Stream.mapEffect(read),
      Stream.concat(Stream.fromEffect(rest)),
      Stream.flattenIterable
    )
  })

const format: Provider.Format = { encode, write, read, frames }
