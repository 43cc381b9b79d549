/**
 * Models that run in Ollama, by its own `POST /api/chat`.
 *
 *     const model = Ollama.layer({ model: "llama3.2" })                       // or: Ollama.layerConfig()
 *     agent.run("Hello?").pipe(Effect.provide(model), Effect.provide(FetchHttpClient.layer))
 *
 * A conversation that is longer than the model's window is cut by Ollama, and not refused: make room with
 * `modelOptions: { provider: { options: { num_ctx: 16_384 } } }`.
 *
 * Any `HttpClient` will do; headers of your own come with `HttpClient.mapRequest`.
 *
 * The model's argument texts reach the tools as it wrote them; what Ollama adds to a
 * message, its model's thinking, say, goes back to it unchanged.
 *
 * @since 0.1.0
 */
import { Model, type ModelFailure, type Transcript } from "@fallible/core"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
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
import { isObject } from "./internal/json.ts"
import * as Outgoing from "./internal/outgoing.ts"
import * as Provider from "./internal/provider.ts"
import { asSource, each, writeWithSources } from "./internal/source.ts"
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
  /** As `ollama list` names it: `"llama3.2"`. */
  readonly model: string
  /** Where Ollama is, as in `OLLAMA_HOST`: `"10.0.0.7"`, `"gpu:8080"`, `"https://…"`. Default: `"127.0.0.1:11434"`. */
  readonly host?: string
  /** Sent as a bearer token, for an Ollama behind a proxy or in the cloud. Default: none. */
  readonly apiKey?: Redacted.Redacted
}

/**
 * A model in Ollama.
 *
 * Fails as {@link Model.ModelFailure} lists. A host that is none, a key that fits no header, an empty name, and a time-out
 * of nothing die with a `TypeError`.
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
 * import { Ollama } from "@fallible/providers"
 * import { Effect } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * const model = Ollama.layer({ model: "llama3.2" })
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
 * {@link layer} from `OLLAMA_MODEL`, `OLLAMA_HOST` (default: this machine) and `OLLAMA_API_KEY` (default: none). What
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
      model: FromEnv.given(options.model, FromEnv.model("OLLAMA_MODEL")),
      host: FromEnv.given(
        options.host,
        FromEnv.address("OLLAMA_HOST", { fallback: thisMachine, problem: hostProblem })
      ),
      apiKey: FromEnv.given(options.apiKey, FromEnv.apiKey("OLLAMA_API_KEY"))
    }),
    ({ apiKey, ...read }) => layer({ ...options, ...read, ...(apiKey === undefined ? {} : { apiKey }) })
  ))

const thisMachine = "127.0.0.1:11434"

const serverOf = ({ apiKey, host = thisMachine, model: given }: Options): Failures.Server => {
  const model = Endpoint.modelName(given)
  return {
    name: "Ollama",
    endpoint: Endpoint.make({ baseUrl: urlOf(host), path: "/api/chat", apiKey }),
    model,
    ifUnreachable:
      `It may not be running. Start it with 'ollama serve', and get the model with 'ollama pull ${model}'.`,
    ifUnknownModel: `Get the model with 'ollama pull ${model}', or take one that 'ollama list' shows.`,
    ifDenied: "Check the key (OLLAMA_API_KEY), and what it is allowed to do."
  }
}

/** Scheme and port may be left out, as Ollama's own programs allow it. */
const urlOf = (host: string): string => {
  const text = host.trim().replace(/^["']|["']$/g, "")
  const [, scheme, address = "", path = ""] = /^(?:(\w+):\/\/)?([^/]*)(.*)$/s.exec(text)!
  const [, credentials = "", name = "", port] = /^(.*@)?(\[[^\]]*\]|[^:]*:[^:]*:.*|[^:]*)(?::(.*))?$/s.exec(address)!
  // With a scheme the usual port of that scheme, else Ollama's own.
  const suffix = port !== undefined ? `:${port}` : scheme === undefined ? ":11434" : ""
  return `${scheme ?? "http"}://${credentials}${reachable(name)}${suffix}${path}`
}

const hostProblem = (host: string): string | undefined =>
  Endpoint.urlProblem(urlOf(host)) === undefined
    ? undefined
    : "a host, with or without http:// or https:// before it and a port behind it, such as 127.0.0.1:11434"

/** A server listens on "all addresses", which nobody can call. */
const reachable = (name: string): string => {
  if (name === "" || name === "0.0.0.0") return "127.0.0.1"
  if (name === "[::]" || name === "::") return "[::1]"
  return name.includes(":") && !name.startsWith("[") ? `[${name}]` : name
}

// -----------------------------------------------------------------------------
// Requests
// -----------------------------------------------------------------------------

const encode: Provider.Format["encode"] = ({ options = {}, tools, transcript }, { server, stream }) => {
  const problem = unsupportedOption(options) ?? unsupportedImage(transcript)
  if (problem !== undefined) return Effect.fail(problem)
  const { options: own, ...provider } = options.provider ?? {}
  return Effect.succeed({
    model: server.model,
    messages: Array.from(transcript, encodeMessage(server)),
    ...(tools.length === 0 || options.toolChoice === "none" ? {} : { tools: tools.map(Outgoing.definition) }),
    options: {
      ...(options.temperature === undefined ? {} : { temperature: options.temperature }),
      ...(options.maxTokens === undefined ? {} : { num_predict: options.maxTokens }),
      ...(isObject(own) ? own : {})
    },
    ...provider,
    stream
  })
}

const encodeMessage = (server: Failures.Server) => (message: Transcript.Message): Schema.JsonObject => {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.text }
    case "user":
      return { role: "user", content: message.text, ...encodeImages(message) }
    case "assistant":
      return { ...Outgoing.assistant(message, server, asSource), content: message.text }
    case "tool":
      return {
        role: "tool",
        tool_call_id: message.callId,
        tool_name: Outgoing.toolName(message.name),
        content: message.text
      }
  }
}

const encodeImages = ({ images = [] }: Transcript.MessageOf<"user">): Schema.JsonObject =>
  images.length === 0 ? {} : { images: images.flatMap((image) => bytesIn(image) ?? []) }

/** The bytes of a picture, in base64; nothing, when they are elsewhere. */
const bytesIn = (image: Transcript.Image): string | undefined =>
  "base64" in image ? image.base64 : /^data:[^,]*;base64,(.*)$/s.exec(image.url)?.[1]

// What Ollama does not have is refused: it would ignore it.
const unsupportedOption = (options: Model.Options): ModelFailure | undefined =>
  Model.mustCall(options)
    ? Failures.unsupported("Ollama cannot be told to call a tool.", elsewhere)
    : options.parallelCalls === false
    ? Failures.unsupported("Ollama cannot be told to make one call at a time.", elsewhere)
    : undefined

const unsupportedImage = (transcript: Transcript.Transcript): ModelFailure | undefined =>
  Array.from(transcript).some((message) =>
      message.role === "user" && message.images?.some((image) => bytesIn(image) === undefined)
    )
    ? Failures.unsupported(
      "Ollama takes no picture by its address.",
      "Send its bytes: Transcript.image(bytes, mediaType)."
    )
    : undefined

const elsewhere = "Leave the option out, or say it in the instructions."

// -----------------------------------------------------------------------------
// Replies
// -----------------------------------------------------------------------------

const Completion = Schema.Struct({
  message: Schema.optionalKey(Schema.NullOr(Assembly.Message)),
  done: Schema.Boolean,
  done_reason: Schema.optionalKey(Schema.NullOr(Schema.String)),
  prompt_eval_count: Schema.optionalKey(Schema.Unknown),
  eval_count: Schema.optionalKey(Schema.Unknown)
})

/** The field that every reply and every piece of one has. */
const ofReplies = "done"

const read: Provider.Format["read"] = Body.reader(Completion, ofReplies, (body, text) => ({
  message: Assembly.withSources(body.message ?? {}, text, ["message", "tool_calls", each, "function", "arguments"]),
  usage: Body.usageOf(body, "prompt_eval_count", "eval_count"),
  finish: body.done ? body.done_reason === "length" ? "length" : "stop" : undefined,
  done: body.done
}))

/** Lines of JSON, the last of which is `done`. */
const frames: Provider.Format["frames"] = (body) =>
  Stream.decodeText(body).pipe(
    Stream.splitLines,
    Stream.filter((line) => line.trim() !== "")
  )

const format: Provider.Format = { encode, write: writeWithSources, read, frames }
