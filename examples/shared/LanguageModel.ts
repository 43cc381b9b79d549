/**
 * Chooses the model that plays: one on a server, or the example's stand-in.
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

/** Says which model plays, for the help of `--model`. The first that applies is chosen. */
export const precedence = "Which model plays: at OPENAI_BASE_URL, or else at OLLAMA_HOST, or else at OpenAI with " +
  "OPENAI_API_KEY, or else in Ollama on this machine. Without a model and an address, a stand-in plays"

/**
 * Chooses a model by its name and the environment:
 *
 *     OPENAI_BASE_URL               a server with Chat Completions; needs a name
 *     OLLAMA_HOST                   Ollama; `llama3.2` without a name
 *     OPENAI_API_KEY, and a name    OpenAI
 *     a name                        Ollama on this machine
 *     nothing                       the stand-in
 *
 * `OPENAI_BASE_URL` takes precedence over `OLLAMA_HOST`, because many users set `OLLAMA_HOST` for Ollama itself. An
 * address takes precedence over a key. A key without a name chooses nothing, because many users have one in their
 * environment for something else. The name is `--model`, or else `OPENAI_MODEL` or `OLLAMA_MODEL`.
 */
export const choose = (
  model: string | undefined,
  standIn: Player
): Effect.Effect<Player<Config.ConfigError>, Config.ConfigError | string> =>
  Effect.gen(function*() {
    const openAiName = model ?? (yield* read("OPENAI_MODEL"))
    const ollamaName = model ?? (yield* read("OLLAMA_MODEL"))
    if ((yield* read("OPENAI_BASE_URL")) !== undefined) {
      return openAiName === undefined
        ? yield* Effect.fail("Which model? Say it with --model, or in OPENAI_MODEL.")
        : chatCompletions(openAiName, "over Chat Completions")
    }
    if ((yield* read("OLLAMA_HOST")) !== undefined) return ollama(ollamaName ?? "llama3.2", "in Ollama")
    if (openAiName !== undefined && (yield* read("OPENAI_API_KEY")) !== undefined) {
      return chatCompletions(openAiName, "at OpenAI")
    }
    return ollamaName === undefined ? standIn : ollama(ollamaName, "in Ollama on this machine")
  })

/** Reads an environment variable. An empty one counts as missing. */
const read = (name: string): Config.Config<string | undefined> =>
  Config.String(name).pipe(
    Config.withDefault(""),
    Config.map((text) => text.trim() === "" ? undefined : text)
  )

const chatCompletions = (model: string, where: string): Player<Config.ConfigError> => ({
  notice: `${model} plays, ${where}.`,
  layer: overHttp(OpenAi.layerConfig({ model }))
})

const ollama = (model: string, where: string): Player<Config.ConfigError> => ({
  notice: `${model} plays, ${where}.`,
  layer: overHttp(Ollama.layerConfig({ model }))
})

const overHttp = <E, R>(layer: Layer.Layer<Model.Model, E, R>) => Layer.provide(layer, FetchHttpClient.layer)
