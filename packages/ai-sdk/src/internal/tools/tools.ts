/*
 * Makes tools of the AI SDK from tools of ours.
 */
import type { Tool, Toolkit } from "@fallible/core"
import * as Arguments from "@fallible/core/Arguments"
import type { CallFacts } from "@fallible/core/CallFacts"
import * as CallSession from "@fallible/core/CallSession"
import type * as Rendering from "@fallible/core/Rendering"
import type { Tool as TheirTool, ToolCallRepairFunction, ToolSet } from "ai"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { type Sharing, theirToolOf } from "./ourTool.ts"
import { unreadable } from "./unreadable.ts"

/**
 * The options of {@link tools}, beside those of a session (`CallSession.Options`).
 *
 * @category models
 * @since 0.1.0
 */
export type ToolsOptions<R> = CallSession.Options & {
  /**
   * How results and failures are written for the model. Default: results as the AI SDK writes them, and failures and notes by
   * `Rendering.json`.
   */
  readonly rendering?: Rendering.Rendering
} & Running<R>

type Running<R> = [R] extends [never] ? { readonly runPromise?: RunPromise<never> } : {
  /** Runs the calls, whose tools need services: the `runPromise` of a `ManagedRuntime`. */
  readonly runPromise: RunPromise<R>
}

type RunPromise<R> = <A>(effect: Effect.Effect<A, never, R>, options?: { readonly signal?: AbortSignal }) => Promise<A>

/**
 * The tools of a toolkit as the AI SDK takes them, by their names.
 *
 * @category models
 * @since 0.1.0
 */
export type ToolsOf<T extends Tool.Any> = {
  readonly [Name in T["name"]]: TheirToolOf<Extract<T, { readonly name: Name }>>
}

type TheirToolOf<T> = T extends Tool.Tool<string, infer Input, infer Output, infer _E, infer _R>
  ? TheirTool<Input, Output, {}>
  : never

/**
 * Makes tools of the AI SDK from a toolkit: `generateText`, `streamText` and its agents then run calls under policies, with repaired
 * arguments, and one idempotency key for each effect.
 *
 * When to use: to keep the loop of the AI SDK. Make the tools for each request, as their record of calls is that of one run: what
 * is in doubt, what was done. For a conversation of several requests, pass the `scope` and the `facts` of the request before
 * ({@link factsOf}).
 *
 * | of a tool here                | of the AI SDK                                                                       |
 * | ----------------------------- | ----------------------------------------------------------------------------------- |
 * | its parameters                | `inputSchema`, which repairs and checks; the handler gets what it decodes            |
 * | a result                      | what `execute` returns, decoded; the model also reads the notes on it               |
 * | a failure                     | {@link CallFailed}, thrown; its message is what the model reads                     |
 * | `Tool.approve`                | `needsApproval`; what `toolApproval` says goes before it                            |
 * | `Tool.client`                 | a tool without `execute`; throws if it needs an approval, which would come too late |
 * | `ToolCall.progress`           | not shown: what `execute` yields is no part of it                                   |
 * | a question (`ToolCall.ask`)   | a failure with the code `not_asked`: nobody can be asked in their loop              |
 *
 * An approval in their loop is a part of the messages, and a page can make up any, with any arguments: pass
 * `experimental_toolApprovalSecret` to the AI SDK. The `preview` and the time of an approval do not count there. Of two requests
 * that have the same approval at the same time, one runs its call, if both name the same `scope` in one process. In several
 * processes both do, under one idempotency key.
 *
 * Calls that act run one by one, and equal calls of one step run once. An aborted call that may have acted is in doubt. The AI SDK
 * parses a model's text before it is checked, so numbers of more than 15 digits may have lost some.
 *
 * @param toolkit its tools, under policies: `Toolkit.withDefaults(toolkit, Policy.standard())`
 * @param options {@link ToolsOptions}. Default: no facts, a scope of its own. `runPromise` is needed if tools need services
 *
 * @example
 * ```ts
 * import { AiSdk } from "@fallible/ai-sdk"
 * import { Tool, Toolkit } from "@fallible/core"
 * import { generateText, isStepCount } from "ai"
 * import { MockLanguageModelV4 } from "ai/test"
 * import { Effect, Schema } from "effect"
 *
 * const pay = Tool.make("pay", {
 *   description: "Pays an order",
 *   parameters: Schema.Struct({ order: Schema.String }),
 *   success: Schema.String,
 *   identity: ({ order }) => order
 * }, ({ order }) => Effect.succeed(`${order} is paid.`))
 *
 * const toolkit = Toolkit.make(pay)
 * const usage = {
 *   inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
 *   outputTokens: { total: 1, text: 1, reasoning: 0 }
 * }
 * const model = new MockLanguageModelV4({
 *   doGenerate: async () => ({
 *     content: [{ type: "tool-call", toolCallId: "1", toolName: "pay", input: "{order: 'o-7'}" }],
 *     finishReason: { unified: "tool-calls", raw: undefined },
 *     usage,
 *     warnings: []
 *   })
 * })
 * const { toolResults } = await generateText({
 *   model,
 *   prompt: "Pay order o-7.",
 *   tools: AiSdk.tools(toolkit),
 *   repairToolCall: AiSdk.repairToolCall(toolkit),
 *   stopWhen: isStepCount(1)
 * })
 * toolResults.map(({ output }) => output) // => ["o-7 is paid."]
 * ```
 *
 * @category tools
 * @since 0.1.0
 */
export const tools = <T extends Tool.Any>(
  toolkit: Toolkit.Toolkit<T>,
  ...[options]: [Tool.Requirements<T>] extends [never] ? [options?: ToolsOptions<never>]
    : [options: ToolsOptions<Tool.Requirements<T>>]
): ToolsOf<T> => {
  const { rendering, runPromise, ...ofSession } = withRunner(options)
  const session = CallSession.make<Tool.Any>(toolkit, ofSession)
  const sharing: Sharing = { session, runPromise, ...(rendering === undefined ? {} : { rendering }) }
  const made = Object.fromEntries(
    toolkit.definitions.map((definition) =>
      [definition.name, theirToolOf(toolkit.tools.get(definition.name)!, definition, sharing)] as const
    )
  )
  // Not enumerable, so a copy has none. A weak map of all sessions would keep them through many collections.
  return asTyped<T>(Object.defineProperty(made, facts, { value: session.facts }))
}

const facts = Symbol("facts")

// `runPromise` provides what the tools need, and `ToolsOptions` demands it if they need anything.
const withRunner = (options?: object): CallSession.Options & Omit<Sharing, "session"> => {
  const all: object = { runPromise: Effect.runPromise, ...options }
  return all as CallSession.Options & Omit<Sharing, "session">
}

// The types are those of the toolkit, whose schemas decode inputs and results.
const asTyped = <T extends Tool.Any>(made: Readonly<Record<string, TheirTool>>) => made as unknown as ToolsOf<T>

/**
 * Returns what the calls of tools have done so far: the facts for the next request of the conversation.
 *
 * When to use: after `generateText`, and in `onFinish` of `streamText`. Store them beside the messages (`CallFacts.schema`).
 * Throws a `TypeError` for a copy of the tools.
 *
 * @param made what {@link tools} returned
 *
 * @example
 * ```ts
 * import { AiSdk } from "@fallible/ai-sdk"
 * import { Toolkit } from "@fallible/core"
 * import * as CallFacts from "@fallible/core/CallFacts"
 *
 * const tools = AiSdk.tools(Toolkit.empty, { scope: "chat-1", facts: CallFacts.empty })
 * CallFacts.inDoubt(AiSdk.factsOf(tools)) // => []
 * ```
 *
 * @category tools
 * @since 0.1.0
 */
export const factsOf = (made: object): CallFacts => {
  const read: unknown = Reflect.get(made, facts)
  if (isFacts(read)) return read()
  throw new TypeError(
    "These tools are not made by AiSdk.tools. Keep the object that it returned, and spread a copy of it."
  )
}

const isFacts = (value: unknown): value is () => CallFacts => typeof value === "function"

/**
 * Repairs the text of a call that the AI SDK cannot read: broken quotes, trailing commas, a fence around it. A text that was cut off
 * is never completed: such a call fails, and its model reads where the text ends.
 *
 * When to use: as `repairToolCall` of `generateText` and `streamText`, beside {@link tools}.
 *
 * @param toolkit the toolkit of the tools
 *
 * @example
 * ```ts
 * import { AiSdk } from "@fallible/ai-sdk"
 * import { Toolkit } from "@fallible/core"
 *
 * typeof AiSdk.repairToolCall(Toolkit.empty) // => "function"
 * ```
 *
 * @category tools
 * @since 0.1.0
 */
export const repairToolCall = ({ tools }: Toolkit.Toolkit): ToolCallRepairFunction<ToolSet> => ({ toolCall }) => {
  const { input: text, toolName } = toolCall
  if (!tools.has(toolName)) return Promise.resolve(null)
  const input = Result.match(Arguments.parse(text), {
    onFailure: () => unreadable(text),
    onSuccess: ({ value }) => JSON.stringify(value)
  })
  return Promise.resolve(input === text ? null : { ...toolCall, input })
}
