/*
 * Makes the options of a call from a request.
 */
import { Model, type ModelFailure, type Toolkit } from "@fallible/core"
import * as ModelProblem from "@fallible/core/ModelProblem"
import { copyOf, fieldsOf, frozenCopyOf, textAt } from "./untyped.ts"

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

/** Returns the failure of a reply whose provider says that it ignored an option of the request; `undefined` if it heeded all. */
export const ignoredOption = (
  server: ModelProblem.Server,
  options: Model.Options,
  warnings: unknown,
  usage: Model.Usage | undefined
): ModelFailure | undefined => {
  const ignored = (Array.isArray(warnings) ? warnings : []).map(fieldsOf).flatMap((warning) => {
    const option = features.get(textAt(warning, "feature") ?? textAt(warning, "setting") ?? "")
    return (textAt(warning, "type") ?? "").startsWith("unsupported") && option !== undefined &&
        options[option] !== undefined
      ? [{ option, details: textAt(warning, "details") ?? "" }]
      : []
  })[0]
  return ignored && ModelProblem.unsupported(
    `${server.name} ignored the option '${ignored.option}'${
      ignored.details === "" ? "." : `: ${ModelProblem.quote(server, ignored.details)}`
    }`,
    "Leave the option out, or use a model that has it.",
    usage
  )
}

const features: ReadonlyMap<string, keyof Model.Options> = new Map([
  ["temperature", "temperature"],
  ["maxOutputTokens", "maxTokens"],
  ["toolChoice", "toolChoice"],
  ["stopSequences", "stop"],
  ["reasoning", "reasoning"],
  ["reasoningEffort", "reasoning"],
  ["responseFormat", "output"]
])

/** Returns the options of a call, without its prompt. */
export const callOptions = (
  options: Model.Options,
  tools: ReadonlyArray<object>,
  server: ModelProblem.Server
): object => ({
  ...(tools.length === 0 ? {} : { tools }),
  ...(tools.length === 0 || options.toolChoice === undefined ? {} : { toolChoice: choiceOf(options.toolChoice) }),
  ...(options.temperature === undefined ? {} : { temperature: options.temperature }),
  ...(options.maxTokens === undefined ? {} : { maxOutputTokens: options.maxTokens }),
  ...(options.stop === undefined || options.stop.length === 0 ? {} : { stopSequences: Array.from(options.stop) }),
  ...(options.reasoning === undefined ? {} : { reasoning: options.reasoning }),
  ...(options.output === undefined
    ? {}
    : { responseFormat: { type: "json", schema: copyOf(options.output), name: "answer" } }),
  ...providerOptions(copyOf(options.provider), options, server)
})

// The OpenAI package drops the level silently for models that it does not know as reasoning ones. So the server decides.
const providerOptions = (
  provider: Model.Options["provider"],
  { reasoning = "none" }: Model.Options,
  { name }: ModelProblem.Server
): object => {
  const [own] = reasoning === "none" ? [] : /^(openai|azure)\b/.exec(name) ?? []
  if (own === undefined) return provider === undefined ? {} : { providerOptions: provider }
  return { providerOptions: { ...provider, [own]: { forceReasoning: true, ...fieldsOf(provider?.[own]) } } }
}

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
    // A copy: the schemas are the toolkit's.
    const tools = frozenCopyOf([
      ...definitions.map(({ description, name, parameters }) => ({
        type: "function",
        name,
        description,
        inputSchema: parameters
      })),
      ...this.#ofProvider
    ])
    this.#known.set(definitions, tools)
    return tools
  }
}
