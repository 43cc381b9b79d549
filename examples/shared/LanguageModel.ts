/**
 * Chooses the model that plays: one on a server, or the example's stand-in.
 */
import type { Model } from "@fallible/core"
import { Ollama, OpenAi } from "@fallible/providers"
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as ProviderModel from "./ProviderModel.ts"
import { read } from "./ProviderModel.ts"

export interface Player<out E = never> {
  /** Says which model plays, in one sentence. */
  readonly notice: string
  readonly layer: Layer.Layer<Model.Model, E>
}

/** Says which model plays, for the help of `--model`. */
export const precedence = `Which model plays: ${ProviderModel.examples.join(", ")}, ollama/llama3.2, ` +
  "a URL with a name (http://127.0.0.1:1234/v1#qwen3), or a name alone: at OPENAI_BASE_URL, or else at OLLAMA_HOST, " +
  "or else at OpenAI with OPENAI_API_KEY, or else in Ollama on this machine. Without a model and an address, a stand-in plays"

/**
 * Chooses a model by its name and the environment:
 *
 *     anthropic/…, openai/…, google/…  that provider, with its key (`ANTHROPIC_API_KEY`, …)
 *     ollama/…                         Ollama, at OLLAMA_HOST or on this machine
 *     a URL, # and a name              a server with Chat Completions
 *
 *     OPENAI_BASE_URL                  a server with Chat Completions; needs a name
 *     OLLAMA_HOST                      Ollama; `llama3.2` without a name
 *     OPENAI_API_KEY, and a name       OpenAI
 *     a name                           Ollama on this machine
 *     nothing                          the stand-in
 *
 * What the name says takes precedence over the environment. `OPENAI_BASE_URL` takes precedence over `OLLAMA_HOST`, because many
 * users set `OLLAMA_HOST` for Ollama itself. An address takes precedence over a key. A key without a name chooses nothing,
 * because many users have one in their environment for something else. The name is `--model`, or else `OPENAI_MODEL` or
 * `OLLAMA_MODEL`.
 */
export const choose = (
  model: string | undefined,
  standIn: Player
): Effect.Effect<Player<Config.ConfigError>, Config.ConfigError | string> =>
  Effect.gen(function*() {
    if (model?.trim() === "") return yield* Effect.fail("Which model? --model needs a name, such as ollama/llama3.2.")
    const ofProvider = model === undefined ? undefined : ProviderModel.named(model)
    if (ofProvider !== undefined) return { notice: ofProvider.notice, layer: yield* ofProvider.layer }
    if (model?.startsWith("ollama/") === true) return ollama(model.slice("ollama/".length), "in Ollama")
    if (model !== undefined && /^https?:\/\//.test(model)) return yield* atUrl(model)
    const openAiName = model ?? (yield* read("OPENAI_MODEL"))
    const ollamaName = model ?? (yield* read("OLLAMA_MODEL"))
    if ((yield* read("OPENAI_BASE_URL")) !== undefined) {
      return openAiName === undefined
        ? yield* Effect.fail("Which model? Say it with --model, or in OPENAI_MODEL.")
        : chatCompletions(openAiName, "over Chat Completions")
    }
    if ((yield* read("OLLAMA_HOST")) !== undefined) return ollama(ollamaName ?? "llama3.2", "in Ollama")
    // Names in Ollama may have a slash, too. But a misspelt provider is likelier.
    if (model?.includes("/") === true) {
      const choices = [...ProviderModel.examples, `ollama/${model}`, `http://127.0.0.1:1234/v1#${model}`]
      return yield* Effect.fail(
        `'${model}' names no provider that is known here. Choose one of: ${choices.join(", ")}.`
      )
    }
    if (openAiName !== undefined && (yield* read("OPENAI_API_KEY")) !== undefined) {
      return chatCompletions(openAiName, "at OpenAI")
    }
    return ollamaName === undefined ? standIn : ollama(ollamaName, "in Ollama on this machine")
  })

const atUrl = (model: string): Effect.Effect<Player<Config.ConfigError>, string> => {
  const [baseUrl = "", name = ""] = model.split(/#(.*)/s)
  return name === ""
    ? Effect.fail(`Which model? Write its name after the URL: ${baseUrl}#qwen3.`)
    : Effect.succeed({
      notice: `${name} plays, over Chat Completions.`,
      layer: overHttp(OpenAi.layerConfig({ model: name, baseUrl }))
    })
}

const chatCompletions = (model: string, where: string): Player<Config.ConfigError> => ({
  notice: `${model} plays, ${where}.`,
  layer: overHttp(OpenAi.layerConfig({ model }))
})

const ollama = (model: string, where: string): Player<Config.ConfigError> => ({
  notice: `${model} plays, ${where}.`,
  layer: overHttp(Ollama.layerConfig({ model }))
})

const overHttp = <E, R>(layer: Layer.Layer<Model.Model, E, R>) => Layer.provide(layer, FetchHttpClient.layer)
