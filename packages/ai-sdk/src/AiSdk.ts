/**
 * Any language model of the AI SDK's providers as a `Model`: Anthropic, OpenAI's Responses, Gemini, Bedrock and all others.
 *
 *     const model = AiSdk.layer(anthropic("claude-sonnet-4-5"))
 *     agent.run("Hello?").pipe(Effect.provide(model))
 *
 * The bridge stands on the lowest layer of the AI SDK, version 3 or 4 of its language models. Retries, time-outs and attempts
 * are those of {@link Settings}: the AI SDK's own retries stand above that layer. An interrupted run aborts the request.
 *
 * The arguments of a call reach the tool as the package hands them on. Whole replies of Anthropic, and all of Gemini's, have JSON
 * objects there, in which a long number may lose digits: use strings for such values. Some packages report 0 for a count that
 * their server did not send. Reasoning, signatures and other things that a provider adds
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
import type { AgentEvent } from "@fallible/core/AgentEvent"
import type { Failed, Suspension } from "@fallible/core/AgentFailure"
import * as ModelAdapter from "@fallible/core/ModelAdapter"
import type { Reply } from "@fallible/core/Question"
import type { UIMessage } from "ai"
import type * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Bridge } from "./internal/bridge.ts"
import type { ProviderTools } from "./internal/callOptions.ts"
import { problemOf } from "./internal/languageModel.ts"
import * as Messages from "./internal/ui/fromUiMessages.ts"
import * as Replies from "./internal/ui/repliesTo.ts"
import * as Responses from "./internal/ui/response.ts"
import type { UiChunk, UiOptions } from "./internal/ui/types.ts"
import * as Chunks from "./internal/ui/uiMessageStream.ts"

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
export { errorText } from "./internal/tools/errorText.ts"
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

// -----------------------------------------------------------------------------
// Pages with `useChat`
// -----------------------------------------------------------------------------

export { Chat, type ChatOptions, chatStream } from "./internal/ui/chatStream.ts"
export type { UiInput } from "./internal/ui/fromUiMessages.ts"
export type { RepliesOptions } from "./internal/ui/repliesTo.ts"
export type { ResponseOptions } from "./internal/ui/response.ts"
export type {
  Recovery,
  UiApproval,
  UiChunk,
  UiData,
  UiFailure,
  UiMessage,
  UiMetadata,
  UiOptions,
  UiQuestion
} from "./internal/ui/types.ts"

/**
 * Turns the events of a run into the message of an assistant, as the AI SDK's `useChat` reads it. The stream never fails: a failed
 * run ends with an `error`, an interrupted one with an `abort`.
 *
 * When to use: to send the message by a transport of your own, or to store it. For an HTTP response, use {@link response}.
 *
 * | of the run                  | in the message                                                                           |
 * | --------------------------- | ---------------------------------------------------------------------------------------- |
 * | a turn                      | a step; what the model said in a reply that is not used is removed                       |
 * | a call                      | a tool part; its id is that of the call, `<run>/turn/1/call/1`                           |
 * | a handled failure, a doubt  | a `data-recovery` part, which tells customers whether it was done ({@link Recovery})     |
 * | a question for approval     | the tool part asks; its `approval.descriptor` is a {@link UiApproval}                    |
 * | a tool that the page runs   | the tool part waits for `addToolOutput`, with its input                                  |
 * | any other question          | a `data-question` part ({@link UiQuestion})                                              |
 * | a typed answer              | a `data-answer` part as it grows, and the whole answer as text                           |
 * | a run that waits            | `metadata.suspension`, or a `data-postponed` part                                        |
 *
 * By default, a page sees no arguments, no results and no reasoning: the `input` of a tool part is `{}` and its `output` `null`. A
 * question shows the arguments that it is about, without secrets.
 *
 * @param options what is shown, and which message the run goes on with
 * @example
 * ```ts
 * import { Agent, Toolkit } from "@fallible/core"
 * import { AiSdk } from "@fallible/ai-sdk"
 * import { ScriptedModel } from "@fallible/testing"
 * import { Effect, Stream } from "effect"
 *
 * const agent = Agent.make({ toolkit: Toolkit.empty })
 * const chunks = agent.stream("Hi", { id: "run-1" }).pipe(
 *   AiSdk.uiMessageStream(),
 *   Stream.runCollect,
 *   Effect.provide(ScriptedModel.layer([ScriptedModel.text("Hello!")]))
 * )
 * const sent = await Effect.runPromise(chunks)
 * sent.map(({ type }) => type)
 * // => ["start", "start-step", "text-start", "text-delta", "text-end", "finish-step", "finish"]
 * ```
 *
 * @category pages
 * @since 0.1.0
 */
export const uiMessageStream: {
  (options?: UiOptions): <R>(run: Stream.Stream<AgentEvent, Failed, R>) => Stream.Stream<UiChunk, never, R>
  <R>(run: Stream.Stream<AgentEvent, Failed, R>, options?: UiOptions): Stream.Stream<UiChunk, never, R>
} = dual((args) => Stream.isStream(args[0]), Chunks.uiMessageStream)

/**
 * Makes a response that streams a run to `useChat`, as server-sent events. If the page closes it, the run is interrupted.
 *
 * When to use: in a route of Next, Hono or any server that answers with a `Response`.
 *
 * The run goes on after the Effect has ended. So provide its services to the run, as below: what is provided to the Effect may be
 * closed by then.
 * Every 15 seconds, a comment keeps proxies from closing the connection.
 *
 * @param options what is shown, which message the run goes on with, and headers
 * @example
 * ```ts
 * import { Agent, Toolkit } from "@fallible/core"
 * import { AiSdk } from "@fallible/ai-sdk"
 * import { ScriptedModel } from "@fallible/testing"
 * import type { UIMessage } from "ai"
 * import { Effect, Stream } from "effect"
 *
 * const agent = Agent.make({ toolkit: Toolkit.empty })
 * const model = ScriptedModel.layer([ScriptedModel.text("Hello!")])
 *
 * // app/api/chat/route.ts
 * const POST = async (request: Request): Promise<Response> => {
 *   const { messages }: { readonly messages: ReadonlyArray<UIMessage> } = JSON.parse(await request.text())
 *   const { question = "", transcript } = AiSdk.fromUiMessages(messages)
 *   const run = Stream.provide(agent.stream(question, { transcript }), model)
 *   return Effect.runPromise(AiSdk.response(run, { originalMessages: messages }))
 * }
 *
 * const messages = [{ id: "1", role: "user", parts: [{ type: "text", text: "Hi" }] }]
 * const response = await POST(new Request("http://localhost", { method: "POST", body: JSON.stringify({ messages }) }))
 * const body = await response.text()
 * body.includes("Hello!") // => true
 * ```
 *
 * @category pages
 * @since 0.1.0
 */
export const response: {
  (
    options?: Responses.ResponseOptions
  ): <R>(run: Stream.Stream<AgentEvent, Failed, R>) => Effect.Effect<Response, never, R>
  <R>(
    run: Stream.Stream<AgentEvent, Failed, R>,
    options?: Responses.ResponseOptions
  ): Effect.Effect<Response, never, R>
} = dual((args) => Stream.isStream(args[0]), Responses.response)

/**
 * Reads the messages that a page sent: what to ask the agent, and the conversation before it. It never throws: what is not
 * understood is passed over, and so are system prompts.
 *
 * When to use: in the route that `useChat` posts to. A page can make up anything, also results of tools. If that matters, keep the
 * `transcript` and the `facts` of each run on the server, and take only the `question`. A transcript with calls of tools that act
 * needs `facts`, too.
 *
 * @example
 * ```ts
 * import { AiSdk } from "@fallible/ai-sdk"
 *
 * const { question, transcript } = AiSdk.fromUiMessages([
 *   { id: "1", role: "user", parts: [{ type: "text", text: "Hi" }] },
 *   { id: "2", role: "assistant", parts: [{ type: "text", text: "Hello!" }] },
 *   { id: "3", role: "user", parts: [{ type: "text", text: "Who are you?" }] }
 * ])
 * question // => "Who are you?"
 * transcript.length // => 2
 * ```
 *
 * @category pages
 * @since 0.1.0
 */
export const fromUiMessages: (messages: ReadonlyArray<UIMessage>) => Messages.UiInput = Messages.fromUiMessages

/**
 * Finds the replies to the open questions of a suspension in the messages that a page sent. Empty if there are none.
 *
 * When to use: before a run is resumed. With replies, call `agent.resumeStream(suspension, replies)`; without, begin a run.
 *
 * | kind of question           | its reply in the messages                                                       |
 * | -------------------------- | ------------------------------------------------------------------------------- |
 * | `approval`                 | `addToolApprovalResponse`, with the digest that the page was shown              |
 * | `client`                   | `addToolOutput`: its `output`, or its `errorText`                               |
 * | `reply`, `choice`, `doubt` | `addToolOutput` with a text; or the user's next message, for the first of them  |
 *
 * An approval counts only while its message is the last one: who wrote something else meanwhile has not agreed to it.
 *
 * @param suspension what the server has stored
 * @param options who replies, and other arguments for approved calls
 * @example
 * ```ts
 * import { AiSdk } from "@fallible/ai-sdk"
 *
 * const question = { id: "r/turn/1/call/1/question/1", kind: "reply", tool: "book", text: "For how many?" } as const
 * AiSdk.repliesTo({ questions: [question] }, [{ id: "1", role: "user", parts: [{ type: "text", text: "four" }] }])
 * // => [{ id: "r/turn/1/call/1/question/1", reply: "four" }]
 * ```
 *
 * @category pages
 * @since 0.1.0
 */
export const repliesTo: (
  suspension: Pick<Suspension, "questions">,
  messages: ReadonlyArray<UIMessage>,
  options?: Replies.RepliesOptions
) => ReadonlyArray<Reply> = Replies.repliesTo
