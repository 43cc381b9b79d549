/**
 * Which model plays: the one that the environment names, or else an example's stand-in.
 */
import type { Model } from "@fallible/core"
import { Ollama, OpenAi } from "@fallible/providers"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"

export interface Player<out E = never> {
  /** Who plays, in a sentence. */
  readonly notice: string
  readonly layer: Layer.Layer<Model.Model, E>
}

const isSet = (name: string): Config.Config<boolean> =>
  Config.String(name).pipe(Config.withDefault(""), Config.map((text) => text.trim() !== ""))

/**
 * `OPENAI_BASE_URL` goes before `OLLAMA_HOST`, which many have set for Ollama itself. The name of a model without any of
 * them is a mistake.
 */
export const choose = (
  model: string | undefined,
  standIn: Player
): Effect.Effect<Player<Config.ConfigError>, Config.ConfigError | string> =>
  Effect.gen(function*() {
    if (yield* isSet("OPENAI_BASE_URL")) {
      const name = model ?? (yield* Config.NonEmptyString("OPENAI_MODEL").pipe(Config.withDefault("")))
      if (name === "") return yield* Effect.fail("Which model? Say it with --model, or in OPENAI_MODEL.")
      return { notice: `${name} plays, over Chat Completions.`, layer: overHttp(OpenAi.layerConfig({ model: name })) }
    }
    if (yield* isSet("OLLAMA_HOST")) {
      const name = model ?? (yield* Config.NonEmptyString("OLLAMA_MODEL").pipe(Config.withDefault("llama3.2")))
      return { notice: `${name} plays, in Ollama.`, layer: overHttp(Ollama.layerConfig({ model: name })) }
    }
    if (model !== undefined) {
      return yield* Effect.fail("Where is the model? Say it in OLLAMA_HOST, or in OPENAI_BASE_URL.")
    }
    return standIn
  })

const overHttp = <E, R>(layer: Layer.Layer<Model.Model, E, R>) => Layer.provide(layer, FetchHttpClient.layer)
