/**
 * Any language model of the AI SDK's providers as a `Model`: Anthropic, OpenAI's Responses, Gemini, Bedrock and all others.
 *
 *     const model = AiSdk.layer(anthropic("claude-sonnet-4-5"))
 *     agent.run("Hello?").pipe(Effect.provide(model))
 *
 * The bridge stands on the lowest layer of the AI SDK, version 3 or 4 of its language models. Retries, time-outs and attempts
 * are those of {@link Settings}: the AI SDK's own retries stand above that layer. An interrupted run aborts the request.
 *
 * The arguments of a call reach the tool as the package hands them on. Reasoning, signatures and other things that a provider adds
 * go back to it unchanged, also after a suspension. Another provider is not sent them.
 *
 * The key of a provider is not visible here. So the details of failures have no addresses, and nothing that looks like a
 * secret. A provider's package decides which options it heeds. If it says that it ignored an option of a request, the request
 * fails with the code `unsupported`. What else it warns of is logged once.
 *
 * @since 0.1.0
 */
import type { LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider"
import { demandKnown, type Names } from "@fallible/arguments/internal"
import { Model } from "@fallible/core"
import * as ModelAdapter from "@fallible/core/ModelAdapter"
import * as Layer from "effect/Layer"
import { Bridge } from "./internal/bridge.ts"
import type { ProviderTools } from "./internal/callOptions.ts"
import { problemOf } from "./internal/languageModel.ts"

/**
 * How long to wait for the model and when to retry, and what it can do.
 *
 * @category models
 * @since 0.1.0
 */
export interface Settings extends ModelAdapter.Settings {
  /**
   * Whether the model takes a JSON Schema for the text of a reply, also beside tools. An agent with an `output` uses it.
   * Default: `false`, so such an agent offers the model the tool `final_answer`.
   */
  readonly structuredOutput?: boolean
  /**
   * Tools that the provider runs itself, by name, as its package makes them: `{ search: openai.tools.webSearch({}) }`. Their
   * calls are shown (`Reply.providerCalls`), and never run here. Default: none.
   */
  readonly providerTools?: ProviderTools
}

export type { ProviderTools } from "./internal/callOptions.ts"
export { callOf } from "./internal/toolkit/executionOptions.ts"
export type { ToolOptions } from "./internal/toolkit/theirTool.ts"
export { type AiTools, toolkit, type ToolkitOptions } from "./internal/toolkit/toolkit.ts"
export { CallFailed } from "./internal/tools/callFailed.ts"
export { factsOf, repairToolCall, tools, type ToolsOf, type ToolsOptions } from "./internal/tools/tools.ts"

const names: Names<Settings> = {
  timeout: true,
  streamTimeout: true,
  retry: true,
  contextWindow: true,
  structuredOutput: true,
  providerTools: true
}

/**
 * Makes a model from one of the AI SDK's.
 *
 * Calls to the model fail as `ModelFailure` lists. `make` itself throws a `TypeError` for a value that is not a language model
 * of version 3 or 4, for an unknown setting, and for a timeout that is not positive.
 *
 * @param model as a provider's package makes it: `anthropic("claude-sonnet-4-5")`
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  model: LanguageModelV3 | LanguageModelV4,
  settings: Settings = {}
): Model.Model["Service"] => {
  const problem = problemOf(model)
  if (problem !== undefined) throw new TypeError(`Expected a language model of the AI SDK, version 3 or 4; ${problem}.`)
  demandKnown("AiSdk", settings, names)
  const { providerTools = {}, structuredOutput = false, ...limits } = settings
  const bridge = new Bridge(model, providerTools)
  return ModelAdapter.make({
    name: model.modelId,
    server: bridge.server,
    respond: (request) => bridge.respond(request),
    stream: (request) => bridge.stream(request),
    ...(structuredOutput ? { structuredOutput: "always" } : {})
  }, limits)
}

/**
 * Provides a model of the AI SDK: {@link make} as a layer.
 *
 * @example
 * ```ts
 * import { Agent, Toolkit } from "@fallible/core"
 * import { AiSdk } from "@fallible/ai-sdk"
 * import { createAnthropic } from "@ai-sdk/anthropic"
 * import { Effect } from "effect"
 *
 * const anthropic = createAnthropic({ apiKey: "sk-ant-..." })
 * const answer = Agent.make({ toolkit: Toolkit.empty }).run("Hello?").pipe(
 *   Effect.provide(AiSdk.layer(anthropic("claude-sonnet-4-5")))
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  model: LanguageModelV3 | LanguageModelV4,
  settings: Settings = {}
): Layer.Layer<Model.Model> => Layer.sync(Model.Model, () => make(model, settings))
