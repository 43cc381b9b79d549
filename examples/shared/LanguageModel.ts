/**
 * Chooses the model that plays: the server that the environment names, or else the example's stand-in.
 */
import type { Model } from "@fallible/core"
import { Ollama, OpenAi } from "@fallible/providers"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"

export interface Player<out E = never> {
  /** Says which model plays, in one sentence. */
  readonly notice: string
  readonly layer: Layer.Layer<Model.Model, E>
}

const isSet = (name: string): Config.Config<boolean> =>
  Config.String(name).pipe(Config.withDefault(""), Config.map((text) => text.trim() !== ""))

/**
 * Chooses a model by the environment. `OPENAI_BASE_URL` takes precedence over `OLLAMA_HOST`, because many users set
 * `OLLAMA_HOST` for Ollama itself. Fails if a model is named but neither variable is set, or if the model for
 * `OPENAI_BASE_URL` has no name.
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
