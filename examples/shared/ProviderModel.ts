/**
 * Models that are named by their provider, as in `anthropic/claude-sonnet-4-5`, over the bridge to the AI SDK.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import { AiSdk } from "@fallible/ai-sdk"
import type { Model } from "@fallible/core"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

interface Settings {
  readonly apiKey: string
  readonly baseURL?: string
}

interface Provider {
  readonly title: string
  /** The variables that may hold the key; the first that is set counts. */
  readonly keys: readonly [string, ...ReadonlyArray<string>]
  /** The variable that may hold another address. */
  readonly address: string
  readonly example: string
  // A package is loaded only if its model plays: that takes a while.
  readonly load: (settings: Settings) => Promise<(name: string) => LanguageModelV4>
}

const providers: Readonly<Record<string, Provider>> = {
  anthropic: {
    title: "Anthropic",
    keys: ["ANTHROPIC_API_KEY"],
    address: "ANTHROPIC_BASE_URL",
    example: "claude-sonnet-4-5",
    load: async (settings) => (await import("@ai-sdk/anthropic")).createAnthropic(settings)
  },
  openai: {
    title: "OpenAI",
    keys: ["OPENAI_API_KEY"],
    address: "OPENAI_BASE_URL",
    example: "gpt-5-mini",
    load: async (settings) => (await import("@ai-sdk/openai")).createOpenAI(settings)
  },
  google: {
    title: "Google",
    keys: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"],
    address: "GOOGLE_GENERATIVE_AI_BASE_URL",
    example: "gemini-3-flash-preview",
    load: async (settings) => (await import("@ai-sdk/google")).createGoogle(settings)
  }
}

/** Names of models, one for each provider. */
export const examples: ReadonlyArray<string> = Object.entries(providers).map(([id, { example }]) => `${id}/${example}`)

/** Returns the model that a name like `anthropic/claude-sonnet-4-5` stands for; `undefined` for any other name. */
export const named = (name: string): ProviderModel | undefined => {
  const [, id = "", model = ""] = /^([a-z]+)\/(.+)$/s.exec(name) ?? []
  const provider = Object.hasOwn(providers, id) ? providers[id] : undefined
  if (provider === undefined) return undefined
  const layer = Effect.gen(function*() {
    const key = yield* keyOf(provider)
    return key === undefined
      ? yield* Effect.fail(`${provider.title} needs a key: set ${provider.keys.join(" or ")}.`)
      : layerOf(provider, model, key, yield* read(provider.address))
  })
  return { notice: `${model} plays, at ${provider.title}.`, layer }
}

export interface ProviderModel {
  readonly notice: string
  readonly layer: Effect.Effect<Layer.Layer<Model.Model>, Config.ConfigError | string>
}

const layerOf = (
  { load }: Provider,
  model: string,
  apiKey: Redacted.Redacted,
  baseURL: string | undefined
): Layer.Layer<Model.Model> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => load({ apiKey: Redacted.value(apiKey), ...(baseURL === undefined ? {} : { baseURL }) })),
      (make) => AiSdk.layer(make(model))
    )
  )

const keyOf = ({ keys }: Provider): Effect.Effect<Redacted.Redacted | undefined, Config.ConfigError> =>
  Effect.map(
    Effect.all(keys.map(read)),
    (found) => {
      const key = found.find((text) => text !== undefined)
      return key === undefined ? undefined : Redacted.make(key)
    }
  )

/** Reads an environment variable. An empty one counts as missing. */
export const read = (name: string): Config.Config<string | undefined> =>
  Config.String(name).pipe(
    Config.withDefault(""),
    Config.map((text) => text.trim() === "" ? undefined : text.trim())
  )
