/** A script, played over every wire that there is, and without one. */
import type { Model } from "@fallible/core"
import { Ollama, OpenAi } from "@fallible/providers"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Layer, Random, Redacted } from "effect"
import type { Duration, Schedule } from "effect"
import { FetchHttpClient } from "effect/http"
import type { HttpClient } from "effect/http"

export interface Settings {
  readonly retry?: Schedule.Schedule<unknown>
  readonly timeout?: Duration.Input
  readonly streamTimeout?: Duration.Input
  readonly apiKey?: string
}

type Provider = (url: string, settings: Settings) => Layer.Layer<Model.Model, never, HttpClient.HttpClient>

export const openAi: Provider = (url, settings) =>
  OpenAi.layer({ model: "any", baseUrl: `${url}/v1`, ...withKey(settings) })
export const ollama: Provider = (url, settings) => Ollama.layer({ model: "any", host: url, ...withKey(settings) })

/** The providers, by name. */
export const providers = [["Chat Completions", openAi], ["Ollama", ollama]] as const

const withKey = ({ apiKey, ...settings }: Settings) =>
  apiKey === undefined ? settings : { ...settings, apiKey: Redacted.make(apiKey) }

/** What a provider's server was asked, as a scripted model says it. */
const asked = Layer.effect(
  ScriptedModel.ScriptedModel,
  Effect.map(FakeModelServer.FakeModelServer, ({ state }) => ({
    requests: Effect.map(state, ({ requests }) => requests.flatMap(({ asked }) => asked === undefined ? [] : [asked]))
  }))
)

/** A provider, and the server that it asks. */
export const serving = (provider: Provider) =>
(
  script: FakeModelServer.Script,
  { settings = {}, ...options }: FakeModelServer.Options & { readonly settings?: Settings } = {}
) =>
  Layer.unwrap(Effect.map(FakeModelServer.FakeModelServer, ({ url }) => provider(url, settings))).pipe(
    Layer.merge(asked),
    Layer.provideMerge(FakeModelServer.layer(script, options)),
    Layer.provide(FetchHttpClient.layer)
  )

/** A model that plays a script, and what it was asked. */
export interface Player {
  readonly name: string
  readonly layer: (
    script: ScriptedModel.Script,
    settings?: Settings
  ) => Layer.Layer<Model.Model | ScriptedModel.ScriptedModel>
}

const overWire = (name: string, provider: Provider, options: FakeModelServer.Options = {}): Player => ({
  name,
  layer: (script, settings = {}) => serving(provider)(script, { ...options, settings })
})

export const wires: ReadonlyArray<Player> = [
  overWire("Chat Completions", openAi),
  overWire("Ollama", ollama)
]

export const players: ReadonlyArray<Player> = [
  { name: "a scripted model", layer: (script) => ScriptedModel.layer(script) },
  ...wires,
  overWire("Chat Completions, byte by byte", openAi, { split: 1 }),
  overWire("Ollama, byte by byte", ollama, { split: 1 })
]

/** Waits that are drawn are over at once. */
export const atOnce = Effect.provideService(Random.Random, { nextDoubleUnsafe: () => 0, nextIntUnsafe: () => 0 })

/** A reply but for what a provider adds of its own, which is its own matter. */
export const withoutNative = (reply: Model.Reply): Omit<Model.Reply, "native"> => {
  const { native: _, ...rest } = reply
  return rest
}
