/** Plays a script over the protocol of each provider, or without a network. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createGoogle } from "@ai-sdk/google"
import { createOpenAI } from "@ai-sdk/openai"
import { AiSdk } from "@fallible/ai-sdk"
import { Model, type ModelFailure } from "@fallible/core"
import { Ollama, OpenAi } from "@fallible/providers"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import * as ModelLaws from "@fallible/testing/ModelLaws"
import { Context, type Duration, Effect, Layer, Random, Redacted, type Schedule } from "effect"
import { FetchHttpClient, type HttpClient } from "effect/http"

export interface Settings {
  readonly retry?: Schedule.Schedule<unknown, ModelFailure>
  readonly timeout?: Duration.Input
  readonly streamTimeout?: Duration.Input
  readonly apiKey?: string
}

type Provider = (url: string, settings: Settings) => Layer.Layer<Model.Model, never, HttpClient.HttpClient>

export const openAi: Provider = (url, settings) =>
  OpenAi.layer({ model: "any", baseUrl: `${url}/v1`, ...withKey(settings) })
export const ollama: Provider = (url, settings) => Ollama.layer({ model: "any", host: url, ...withKey(settings) })

// The AI SDK's providers send the key in a header, so each needs one.
const anyKey = ({ apiKey = "any" }: Settings) => apiKey

const limits = (given: Settings): Omit<Settings, "apiKey"> => {
  const { apiKey: _, ...settings } = given
  return settings
}

export const responses: Provider = (url, settings) =>
  AiSdk.layer(createOpenAI({ apiKey: anyKey(settings), baseURL: `${url}/v1` }).responses("any"), limits(settings))
export const messages: Provider = (url, settings) =>
  AiSdk.layer(createAnthropic({ apiKey: anyKey(settings), baseURL: `${url}/v1` })("any"), limits(settings))
export const gemini: Provider = (url, settings) =>
  AiSdk.layer(createGoogle({ apiKey: anyKey(settings), baseURL: `${url}/v1beta` })("any"), limits(settings))

/** The wires that the bridge to the AI SDK speaks, by name. */
export const bridges = [["Responses", responses], ["Messages", messages], ["Gemini", gemini]] as const

/** The providers, by name. */
export const providers = [["Chat Completions", openAi], ["Ollama", ollama]] as const

const withKey = ({ apiKey, ...settings }: Settings) =>
  apiKey === undefined ? settings : { ...settings, apiKey: Redacted.make(apiKey) }

/** Exposes the requests of a provider's server in the form of a scripted model. */
const recordedRequests = Layer.effect(
  ScriptedModel.ScriptedModel,
  Effect.map(FakeModelServer.FakeModelServer, ({ state }) => ({
    requests: Effect.map(
      state,
      ({ requests }) => requests.flatMap(({ asked }) => asked === undefined ? [] : [asked])
    )
  }))
)

/** Makes a provider and a fake server for it. */
export const serving = (provider: Provider) =>
(
  script: FakeModelServer.Script,
  { settings = {}, ...options }: FakeModelServer.Options & { readonly settings?: Settings } = {}
) =>
  Layer.unwrap(Effect.map(FakeModelServer.FakeModelServer, ({ url }) => provider(url, settings))).pipe(
    Layer.merge(recordedRequests),
    Layer.provideMerge(FakeModelServer.layer(script, options)),
    Layer.provide(FetchHttpClient.layer)
  )

/** A model that plays a script and records its requests. */
export interface Player {
  readonly name: string
  /** True if the arguments of a whole reply are objects on the wire, whose spelling is lost. */
  readonly sendsObjects: boolean
  readonly layer: (
    script: ScriptedModel.Script,
    settings?: Settings
  ) => Layer.Layer<Model.Model | ScriptedModel.ScriptedModel>
}

const overWire = (name: string, provider: Provider, options: FakeModelServer.Options = {}): Player => ({
  name,
  sendsObjects: provider === messages || provider === gemini,
  layer: (script, settings = {}) => serving(provider)(script, { ...options, settings })
})

export const wires: ReadonlyArray<Player> = [
  overWire("Chat Completions", openAi),
  overWire("Ollama", ollama),
  ...bridges.map(([name, provider]) => overWire(name, provider))
]

export const players: ReadonlyArray<Player> = [
  { name: "a scripted model", sendsObjects: false, layer: (script) => ScriptedModel.layer(script) },
  ...wires,
  overWire("Chat Completions, byte by byte", openAi, { split: 1 }),
  overWire("Ollama, byte by byte", ollama, { split: 1 })
]

/** A model under the laws, by name. */
export type Subject = readonly [name: string, subject: ModelLaws.Subject]

const servedBy = (provider: Provider, wire: ModelLaws.Wire, options?: FakeModelServer.Options) =>
  ModelLaws.served(
    (url, settings) => Layer.provide(provider(url, settings), FetchHttpClient.layer),
    wire,
    options
  )

const counted = ["inputTokens", "outputTokens", "cachedTokens", "cacheWrittenTokens", "reasoningTokens"] as const

const own = {
  openai: {
    counts: [...counted, "money"],
    own: {
      native: { openai: { reasoning_details: [{ type: "reasoning.encrypted", data: "OWN-7" }] } },
      mark: "OWN-7"
    }
  },
  // Any field of a message goes back.
  ollama: {
    refusals: false,
    own: { native: { ollama: { own_field: "OWN-7" } }, mark: "OWN-7" },
    provider: { option: { options: { seed: 7 } }, mark: "\"seed\":7" }
  },
  responses: {
    counts: counted,
    zeroUsage: true,
    provider: { option: { openai: { user: "user-7" } }, mark: "user-7" }
  },
  messages: {
    // The package reads the input of a whole reply, and writes it anew.
    arguments: "texts_in_streams",
    quotesStreams: false,
    counts: counted,
    zeroUsage: true,
    own: {
      native: { messages: { before: [{ type: "redacted_thinking", data: "OWN-7" }] } },
      mark: "OWN-7"
    },
    provider: { option: { anthropic: { metadata: { userId: "user-7" } } }, mark: "user-7" }
  },
  gemini: {
    arguments: "objects",
    counts: ["inputTokens", "outputTokens", "cachedTokens", "reasoningTokens"],
    zeroUsage: true,
    // The server says the same of a limit of requests in a minute.
    confuses: ["quota_exhausted"],
    provider: { option: { google: { cachedContent: "cache-7" } }, mark: "cache-7" }
  }
} satisfies Readonly<Record<string, ModelLaws.Wire>>

/** A scripted model under the laws: without a wire. */
const scripted: ModelLaws.Subject = {
  wire: { connects: false, counts: [...counted, "money"] },
  play: (script) =>
    Effect.map(Layer.build(ScriptedModel.layer(ModelLaws.withoutBreaks(script))), (services) => ({
      model: Context.get(services, Model.Model),
      requests: Context.get(services, ScriptedModel.ScriptedModel).requests
    }))
}

/** All models that play a script, under the laws. */
export const subjects: ReadonlyArray<Subject> = [
  ["a scripted model", scripted],
  ["Chat Completions", servedBy(openAi, own.openai)],
  ["Ollama", servedBy(ollama, own.ollama)],
  ["Responses", servedBy(responses, own.responses)],
  ["Messages", servedBy(messages, own.messages)],
  ["Gemini", servedBy(gemini, own.gemini)],
  ["Chat Completions, byte by byte", servedBy(openAi, own.openai, { split: 1 })],
  ["Ollama, byte by byte", servedBy(ollama, own.ollama, { split: 1 })]
]

// With each request, tells the server to store nothing. Then all that a reasoning model thought comes encrypted.
const storingNothing: Provider = (url, settings) =>
  Layer.effect(
    Model.Model,
    Effect.map(Model.Model, ({ respond, stream, ...model }) => {
      const provider = { openai: { store: false, forceReasoning: true } }
      const unstored = (request: Model.Request) => ({ ...request, options: { ...request.options, provider } })
      return Model.Model.of({
        ...model,
        respond: (request) => respond(unstored(request)),
        stream: (request) => stream(unstored(request))
      })
    })
  ).pipe(Layer.provide(responses(url, settings)))

/** Responses whose server stores nothing, for the laws of what it gets back. */
export const unstored: Subject = ["Responses, nothing stored", servedBy(storingNothing, own.responses)]

/** Makes every random draw 0, so random waits end at once. */
export const atOnce = Effect.provideService(Random.Random, { nextDoubleUnsafe: () => 0, nextIntUnsafe: () => 0 })

/** Removes the provider's native data from a reply. */
export const withoutNative = (reply: Model.Reply): Omit<Model.Reply, "native"> => {
  const { native: _, ...rest } = reply
  return rest
}
