/*
 * Makes tools of ours from tools of the AI SDK.
 */
import {
  type Policy,
  type SchemaMismatch,
  type SemanticGarbage,
  type Tool,
  Toolkit,
  type ToolUnavailable
} from "@fallible/core"
import type { FlexibleSchema, InferSchema } from "ai"
import { type Fields, fieldsOf } from "../untyped.ts"
import { toolOf, type ToolOptions } from "./theirTool.ts"

/**
 * Tools of the AI SDK by their names: what `tool` returns, and what its MCP client returns.
 *
 * @category models
 * @since 0.1.0
 */
// Not the AI SDK's own `ToolSet`, which an application with exact optional properties cannot always satisfy.
export interface AiTools {
  readonly [name: string]: { readonly inputSchema: FlexibleSchema<unknown> }
}

/**
 * The options of the tools of the AI SDK, by their names.
 *
 * @category models
 * @since 0.1.0
 */
export type ToolkitOptions<Tools extends AiTools> = {
  readonly [Name in keyof Tools]?: ToolOptions<InputOf<Tools[Name]>, OutputOf<Tools[Name]>>
}

type InputOf<T> = T extends { readonly inputSchema: infer Schema } ? Known<InferSchema<Schema>> : {}

type OutputOf<T> = T extends { readonly execute: (...args: never) => infer Result } ? Known<Settled<Result>>
  : T extends { readonly outputSchema: infer Schema } ? Known<InferSchema<Schema>>
  : unknown

type Settled<Result> = Result extends AsyncIterable<infer Output> ? Output
  : Result extends PromiseLike<infer Output> ? Output
  : Result

type Known<T> = 0 extends 1 & T ? unknown : T

/** The tools of ours that tools of the AI SDK become. */
type ToolsOf<Tools extends AiTools, Options> = {
  readonly [Name in keyof Tools & string]: Tool.Tool<
    Name,
    InputOf<Tools[Name]>,
    OutputOf<Tools[Name]>,
    | SchemaMismatch
    | SemanticGarbage
    | ToolUnavailable
    | Tool.ContractFailures<OutputOf<Tools[Name]>>[
      Extract<DeclaredIn<Options, Name>, keyof Tool.ContractFailures<unknown>>
    ]
    | PoliciesIn<Options, Name>["failure"],
    PoliciesIn<Options, Name>["needs"]
  >
}[keyof Tools & string]

type DeclaredIn<Options, Name> = Name extends keyof Options ? keyof Options[Name] : never

/** If any text may name a tool, so may any number. */
type AnyIndex<Tools> = string extends keyof Tools ? number : never

/** Refuses keys, with the sentence that the compiler shows. */
type Stray<Key extends PropertyKey, Why extends string> = { readonly [K in Key]: Why }

/** Refuses options that there are not. What is inferred from them would permit any. */
type Misspelt<Options> = {
  readonly [Name in keyof NoInfer<Options>]: Stray<
    Exclude<keyof Options[Name], keyof ToolOptions<unknown, unknown>>,
    "A tool has no such option."
  >
}

interface OfPolicies<R, E> {
  readonly needs: R
  readonly failure: E
}

type PoliciesIn<Options, Name> = Name extends keyof Options
  ? Options[Name] extends { readonly policies: ReadonlyArray<Policy.Policy<infer R, infer E>> } ? OfPolicies<R, E>
  : OfPolicies<never, never>
  : OfPolicies<never, never>

/**
 * Makes a toolkit from tools of the AI SDK: those of `tool({ inputSchema, execute })`, and those of its MCP client.
 *
 * When to use: to run tools that you have under policies, with typed failures, in an agent that charges once.
 *
 * | of the AI SDK                           | here                                                                                    |
 * | --------------------------------------- | --------------------------------------------------------------------------------------- |
 * | `inputSchema`                           | read, repaired and checked; the author's own rules judge                                |
 * | `inputSchema` that is a union           | shown as one object with the keys of all members, which providers demand                |
 * | `outputSchema`                          | the default of `success`                                                                |
 * | `execute` with its options              | the handler (`Tool.promise`); its requests are evidence; {@link callOf} has its key      |
 * | `execute` that yields                   | what it yields is progress (`ToolCall.progress`); the last value is the result           |
 * | no `execute`                            | a question of the kind `client` (`Tool.client`)                                         |
 * | `toModelOutput`                         | what the model reads in place of the result (`ToolCall.tell`, and files)                |
 * | `needsApproval`                         | `Tool.approve`                                                                          |
 * | `onInputStart`, `onInputAvailable`      | called before `execute`                                                                 |
 * | `inputExamples`                         | a line of the description                                                               |
 * | `strict`, `providerOptions`, `metadata` | not used: they are for a provider, or for the AI SDK's own messages                     |
 *
 * A tool acts (has side effects) unless its options say `sideEffect: "none"`. Give a tool that acts an `identity`, which says what
 * is done once: `({ booking }) => booking`.
 *
 * An MCP server that reports a failure (`isError`) may have acted, so the call is in doubt. If nothing but the requests of its
 * client acts, say so: `acts: { requests: ["POST mcp.example.org/mcp"], only: true }`. Then a request for a token does not
 * count, and a call whose request was never sent did nothing.
 *
 * Throws a `TypeError` that names each tool that cannot be used, and why: a provider's own tool, a name that providers refuse, a
 * schema that cannot be written as a JSON Schema.
 *
 * @param tools as the AI SDK takes them
 * @param options by the names of the tools: {@link ToolOptions}. Default: none
 *
 * @example
 * ```ts
 * import { AiSdk } from "@fallible/ai-sdk"
 * import { Agent } from "@fallible/core"
 * import { ScriptedModel } from "@fallible/testing"
 * import { tool } from "ai"
 * import { Effect } from "effect"
 * import { z } from "zod"
 *
 * const charge = tool({
 *   description: "Charges a booking",
 *   inputSchema: z.object({ booking: z.string(), note: z.string() }),
 *   execute: async ({ booking }) => ({ charged: booking })
 * })
 *
 * const toolkit = AiSdk.toolkit({ charge }, { charge: { identity: ({ booking }) => booking } })
 * const model = ScriptedModel.layer([
 *   ScriptedModel.call("charge", { booking: "b-1", note: "as agreed" }),
 *   ScriptedModel.text("It is charged.")
 * ])
 * const run = Agent.make({ toolkit }).run("Charge booking b-1.")
 * const { text } = await Effect.runPromise(Effect.provide(run, model))
 * text // => "It is charged."
 * ```
 *
 * @category tools
 * @since 0.1.0
 */
export const toolkit = <Tools extends AiTools, const Options = {}>(
  tools: Tools,
  // Inferred from what is given, and typed by the tools: so functions among the options know their parameters.
  options?:
    & Options
    & ToolkitOptions<Tools>
    & Stray<Exclude<keyof Options, keyof Tools | AnyIndex<Tools>>, "There is no tool of this name.">
    & Misspelt<Options>
): Toolkit.Toolkit<ToolsOf<Tools, Options>> => {
  const given: Fields = options ?? {}
  const strangers = Object.keys(given).filter((name) => !Object.hasOwn(tools, name))
  if (strangers.length > 0) {
    throw new TypeError(`There are options for tools that are not there: ${strangers.join(", ")}.`)
  }
  const refused: Array<string> = []
  const made = Object.entries(tools).flatMap(([name, tool]) => {
    try {
      return [toolOf(name, tool, fieldsOf(given[name]))]
    } catch (error) {
      refused.push(withName(name, error instanceof Error ? error.message : String(error)))
      return []
    }
  })
  if (refused.length > 0) throw new TypeError(refused.join("\n"))
  return asTyped(Toolkit.make(...made))
}

// Its own functions may throw anything.
const withName = (name: string, why: string): string =>
  why.includes(`'${name}'`) || why.includes(JSON.stringify(name)) ? why : `The tool '${name}': ${why}`

// The types are those of the AI SDK's tools, which the compiler has checked.
const asTyped = <T extends Tool.Any>(made: Toolkit.Toolkit) => made as Toolkit.Toolkit<T>
