/*
 * Makes the options of a call from a request.
 */
import { Model, type ModelFailure, type Toolkit } from "@fallible/core"
import * as ModelProblem from "@fallible/core/ModelProblem"

/**
 * Tools that a provider runs itself, by name.
 *
 * @category models
 * @since 0.1.0
 */
export type ProviderTools = Readonly<
  Record<string, { readonly id: string; readonly args: Readonly<Record<string, unknown>> }>
>

/** Returns why a request has an option that the model cannot be sent; `undefined` if it has none. */
export const unsupportedOption = (
  { options = {}, tools }: Model.Request,
  isV4: boolean,
  providerTools: ProviderTools
): ModelFailure | undefined => {
  if (options.parallelCalls !== undefined) {
    return ModelProblem.unsupported(
      "The AI SDK has no option for the calls of one reply.",
      "Use the provider's own: modelOptions: { provider: { openai: { parallelToolCalls: false } } }."
    )
  }
  if (options.reasoning !== undefined && !isV4) {
    return ModelProblem.unsupported(
      "Models of version 3 of the AI SDK have no option for reasoning.",
      "Use a newer version of the provider's package, or the provider's own option."
    )
  }
  return tools.length === 0 && Object.keys(providerTools).length === 0 && Model.mustCall(options)
    ? ModelProblem.unsupported(
      "A tool call is required, but no tool is offered.",
      "Leave `toolChoice` out, or offer a tool."
    )
    : undefined
}

/** Returns the options of a call, without its prompt. */
export const callOptions = (options: Model.Options, tools: ReadonlyArray<object>): object => ({
  ...(tools.length === 0 ? {} : { tools }),
  ...(tools.length === 0 || options.toolChoice === undefined ? {} : { toolChoice: choiceOf(options.toolChoice) }),
  ...(options.temperature === undefined ? {} : { temperature: options.temperature }),
  ...(options.maxTokens === undefined ? {} : { maxOutputTokens: options.maxTokens }),
  ...(options.stop === undefined || options.stop.length === 0 ? {} : { stopSequences: Array.from(options.stop) }),
  ...(options.reasoning === undefined ? {} : { reasoning: options.reasoning }),
  ...(options.output === undefined
    ? {}
    : { responseFormat: { type: "json", schema: options.output, name: "answer" } }),
  ...(options.provider === undefined ? {} : { providerOptions: options.provider })
})

const choiceOf = (choice: NonNullable<Model.Options["toolChoice"]>): object =>
  typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.tool }

/** The tools in the AI SDK's form. Those of a toolkit are converted once. */
export class Tools {
  readonly #ofProvider: ReadonlyArray<object>
  readonly #known = new WeakMap<object, ReadonlyArray<object>>()

  constructor(providerTools: ProviderTools) {
    this.#ofProvider = Object.entries(providerTools).map(([name, { args, id }]) => ({
      type: "provider",
      id,
      name,
      args
    }))
  }

  of(definitions: ReadonlyArray<Toolkit.Definition>): ReadonlyArray<object> {
    const known = this.#known.get(definitions)
    if (known !== undefined) return known
    const tools = [
      ...definitions.map(({ description, name, parameters }) => ({
        type: "function",
        name,
        description,
        inputSchema: parameters
      })),
      ...this.#ofProvider
    ]
    this.#known.set(definitions, tools)
    return tools
  }
}
