/**
 * Models that Ollama serves, over its own API (`POST /api/chat`).
 *
 *     const model = Ollama.layer({ model: "llama3.2" })                       // or: Ollama.layerConfig()
 *     agent.run("Hello?").pipe(Effect.provide(model), Effect.provide(FetchHttpClient.layer))
 *
 * If a conversation exceeds the model's context window, Ollama silently cuts the conversation. To set the size of the
 * window, and to have big results of tools cut to it, use `Ollama.layer({ model: "llama3.2", contextWindow: 16_384 })`.
 *
 * Any `HttpClient` works. Add your own headers with `HttpClient.mapRequest`.
 *
 * Files are sent if they are pictures with their bytes. Of others, the model reads a note.
 *
 * The arguments of a call reach the tool exactly as the model wrote them. Extra fields in Ollama's messages,
 * such as the model's thinking, are sent back unchanged.
 *
 * @since 0.1.0
 */
import { demandKnown, type Names } from "@fallible/arguments/internal"
import { Model, type ModelFailure, type Transcript } from "@fallible/core"
import { type Settings, toolName } from "@fallible/core/ModelAdapter"
import * as ModelProblem from "@fallible/core/ModelProblem"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Endpoint from "./internal/endpoint.ts"
import * as FromEnv from "./internal/fromEnv.ts"
import { asJson, isObject } from "./internal/json.ts"
import * as Outgoing from "./internal/outgoingMessages.ts"
import * as Provider from "./internal/provider.ts"
import * as Assembly from "./internal/replyAssembly.ts"
import * as Body from "./internal/responseBody.ts"
import * as Server from "./internal/server.ts"
import { asSource, each, writeWithSources } from "./internal/sourceText.ts"

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
  /** The name in `ollama list`: `"llama3.2"`. */
  readonly model: string
  /**
   * The address of Ollama, as in `OLLAMA_HOST`: `"10.0.0.7"`, `"gpu:8080"`, `"https://…"`. Default:
   * `"127.0.0.1:11434"`.
   */
  readonly host?: string
  /** The key, sent as a bearer token, for an Ollama behind a proxy or in the cloud. Default: none. */
  readonly apiKey?: Redacted.Redacted
}

/**
 * Makes a model that Ollama serves.
 *
 * Calls to the model fail as {@link Model.ModelFailure} lists. `make` itself dies with a `TypeError` for an
 * unknown option, an invalid host, an empty model name, or a key that an HTTP header cannot contain. It also dies
 * if a timeout is not positive.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<Model.Model["Service"], never, HttpClient.HttpClient> =>
  Effect.map(HttpClient.HttpClient, (client) => {
    demandKnown("Ollama", options, names)
    return Provider.make(formatFor(options.contextWindow), serverOf(options), client, options, "without_tools")
  })

const names: Names<Options> = { ...Provider.settingNames, model: true, host: true, apiKey: true }

/**
 * Provides a model that Ollama serves: {@link make} as a layer.
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
 * Makes a {@link layer} from the environment variables `OLLAMA_MODEL`, `OLLAMA_HOST` (default: this machine)
 * and `OLLAMA_API_KEY` (default: none). If an option is given, its variable is not read. Fails with a
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

const serverOf = ({ apiKey, host = thisMachine, model: name }: Options): Server.Server => {
  const model = Endpoint.modelName(name)
  return Server.make({
    name: "Ollama",
    endpoint: Endpoint.make({ baseUrl: urlOf(host), path: "/api/chat", apiKey }),
    model,
    ifUnreachable:
      `It may not be running. Start it with 'ollama serve', and get the model with 'ollama pull ${model}'.`,
    ifUnknownModel: `Get the model with 'ollama pull ${model}', or use one that 'ollama list' shows.`,
    ifDenied: "Check the key (OLLAMA_API_KEY), and what it is allowed to do."
  })
}

/** Returns the URL of a host. As in Ollama's own programs, the scheme and the port of the host may be left out. */
const urlOf = (host: string): string => {
  const text = host.trim().replace(/^["']|["']$/g, "")
  const [, scheme, address = "", path = ""] = /^(?:(\w+):\/\/)?([^/]*)(.*)$/s.exec(text)!
  const [, credentials = "", name = "", port] = /^(.*@)?(\[[^\]]*\]|[^:]*:[^:]*:.*|[^:]*)(?::(.*))?$/s.exec(address)!
  // Without a port, the scheme's usual port is used. Without a scheme, Ollama's own port is used.
  const suffix = port !== undefined ? `:${port}` : scheme === undefined ? ":11434" : ""
  return `${scheme ?? "http"}://${credentials}${reachable(name)}${suffix}${path}`
}

const hostProblem = (host: string): string | undefined =>
  Endpoint.urlProblem(urlOf(host)) === undefined
    ? undefined
    : "a host, optionally with http:// or https:// before it and a port after it, such as 127.0.0.1:11434"

/**
 * Replaces an address that means "all addresses", on which a server may listen, by an address that a client
 * can call.
 */
const reachable = (name: string): string => {
  if (name === "" || name === "0.0.0.0") return "127.0.0.1"
  if (name === "[::]" || name === "::") return "[::1]"
  return name.includes(":") && !name.startsWith("[") ? `[${name}]` : name
}

// -----------------------------------------------------------------------------
// Requests
// -----------------------------------------------------------------------------

const encode = (
  contextWindow: number | undefined
): Provider.Format["encode"] =>
({ options = {}, tools, transcript }, { server, stream }) => {
  const problem = unsupportedOption(options)
  if (problem !== undefined) return Effect.fail(problem)
  const { options: own, ...provider } = options.provider ?? {}
  return Effect.succeed({
    model: server.model,
    messages: Array.from(transcript, encodeMessage(server)),
    ...(tools.length === 0 || options.toolChoice === "none" ? {} : { tools: tools.map(Outgoing.definition) }),
    options: {
      ...(options.temperature === undefined ? {} : { temperature: options.temperature }),
      ...(options.maxTokens === undefined ? {} : { num_predict: options.maxTokens }),
      ...(options.stop === undefined || options.stop.length === 0 ? {} : { stop: options.stop }),
      ...(contextWindow === undefined ? {} : { num_ctx: contextWindow }),
      ...(isObject(own) ? own : {})
    },
    ...(options.reasoning === undefined ? {} : { think: thinking[options.reasoning] }),
    // Ollama makes the model write by the schema, and nothing else: it could call no tool.
    ...(options.output === undefined ? {} : { format: asJson(options.output) }),
    ...provider,
    stream
  })
}

// Ollama has fewer levels.
const thinking: Readonly<Record<NonNullable<Model.Options["reasoning"]>, false | string>> = {
  none: false,
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high"
}

const encodeMessage = (server: Server.Server) => (message: Transcript.Message): Schema.JsonObject => {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.text }
    case "user":
      return { role: "user", ...encodeContent(message) }
    case "assistant":
      return { ...Outgoing.assistant(message, server, asSource), content: message.text }
    case "tool":
      return {
        role: "tool",
        tool_call_id: message.callId,
        tool_name: toolName(message.name),
        ...encodeContent(message)
      }
  }
}

const encodeContent = (
  { files = [], text }: Pick<Transcript.MessageOf<"user">, "files" | "text">
): Schema.JsonObject => {
  const images = files.flatMap((file) => pictureIn(file) ?? [])
  const content = Outgoing.withNotes(text, files.filter((file) => pictureIn(file) === undefined))
  return images.length === 0 ? { content } : { content, images }
}

/** Returns the bytes of a picture in base64; `undefined` if the file is something else, or has only an address. */
const pictureIn = (file: Transcript.File): string | undefined =>
  "base64" in file
    ? file.mediaType.startsWith("image/") ? file.base64 : undefined
    : /^data:(?:image\/[^,]*|);base64,(.*)$/s.exec(file.url)?.[1]

// Options that Ollama does not have are refused, because Ollama would silently ignore them.
const unsupportedOption = (options: Model.Options): ModelFailure | undefined =>
  Model.mustCall(options)
    ? ModelProblem.unsupported("Ollama cannot be forced to call a tool.", elsewhere)
    : options.parallelCalls === false
    ? ModelProblem.unsupported("Ollama cannot be limited to one call at a time.", elsewhere)
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

/** A field that every whole reply and every streamed piece has. */
const ofReplies = "done"

const read: Provider.Format["read"] = Body.reader(Completion, ofReplies, (body, text) => ({
  message: Assembly.withSources(body.message ?? {}, text, ["message", "tool_calls", each, "function", "arguments"]),
  usage: Body.usageOf({ inputTokens: body.prompt_eval_count, outputTokens: body.eval_count }),
  finish: body.done ? body.done_reason === "length" ? "length" : "stop" : undefined,
  done: body.done
}))

/** Splits the body into lines of JSON. The last line has `done: true`. */
const frames: Provider.Format["frames"] = (body) =>
  Stream.decodeText(body).pipe(
    Stream.splitLines,
    Stream.filter((line) => line.trim() !== "")
  )

const formatFor = (contextWindow: number | undefined): Provider.Format => ({
  encode: encode(contextWindow),
  write: writeWithSources,
  read,
  frames
})
