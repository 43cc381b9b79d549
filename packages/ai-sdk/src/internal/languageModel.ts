/*
 * The two versions of a language model that the AI SDK's providers have, and where they differ.
 */
import type { LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider"
import * as Predicate from "effect/Predicate"

/** A language model of the AI SDK, as a provider's package makes it. */
export type LanguageModel = LanguageModelV3 | LanguageModelV4

/** True if a model takes files and reasoning in the form of version 4. */
export const isV4 = ({ specificationVersion }: LanguageModel): boolean => specificationVersion === "v4"

/** What the bridge uses of a model of either version. What it returns may be anything. */
export interface Port {
  readonly supportedUrls: unknown
  readonly doGenerate: (options: object) => PromiseLike<unknown>
  readonly doStream: (options: object) => PromiseLike<unknown>
}

// The prompt was made in the form of the model's own version.
export const portOf = (model: LanguageModel): Port => model as unknown as Port

/** Returns why a value is not a model of a known version; `undefined` if it is one. */
export const problemOf = (model: unknown): string | undefined => {
  if (typeof model === "string") {
    return `got the string "${
      model.slice(0, 60)
    }". Make the model by a provider's package, as in anthropic("claude-sonnet-4-5")`
  }
  if (!Predicate.isObject(model) || !("doGenerate" in model)) return `got ${typeof model}`
  const version: unknown = model["specificationVersion"]
  if (version !== "v3" && version !== "v4") {
    return `got a model of version ${String(version)}. Use a newer version of the provider's package`
  }
  const absent = ["doGenerate", "doStream"].find((name) => typeof model[name] !== "function") ??
    ["provider", "modelId"].find((name) => typeof model[name] !== "string")
  return absent === undefined ? undefined : `got a model without \`${absent}\``
}
