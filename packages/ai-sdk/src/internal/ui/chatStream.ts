/*
 * One request of a chat: what its page asks or replies, as a run that goes on with what is stored.
 */
import { type Agent, Transcript } from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import { type Failed, RunRefused, Suspension } from "@fallible/core/AgentFailure"
import type * as Answer from "@fallible/core/Answer"
import * as CallFacts from "@fallible/core/CallFacts"
import type { Reply } from "@fallible/core/Question"
import type { UIMessage } from "ai"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import { fromUiMessages } from "./fromUiMessages.ts"
import { type RepliesOptions, repliesTo } from "./repliesTo.ts"

/**
 * What a server keeps of a chat: what was said and done, and the questions that a run waits with. Its schema encodes it to plain
 * JSON.
 *
 * When to use: to store a chat beside the messages that its page shows.
 *
 * @example
 * ```ts
 * import { AiSdk } from "@fallible/ai-sdk"
 * import { Transcript } from "@fallible/core"
 * import * as CallFacts from "@fallible/core/CallFacts"
 * import { Schema } from "effect"
 *
 * const chat: AiSdk.Chat = { transcript: Transcript.make([]), facts: CallFacts.empty }
 * const stored = JSON.stringify(Schema.encodeSync(AiSdk.Chat)(chat))
 * Schema.decodeUnknownSync(AiSdk.Chat)(JSON.parse(stored)).transcript.length // => 0
 * ```
 *
 * @category pages
 * @since 0.1.0
 */
export const Chat = Schema.Struct({
  transcript: Transcript.schema,
  facts: CallFacts.schema,
  suspension: Schema.optionalKey(Suspension)
})

/**
 * What a server keeps of a chat.
 *
 * @category pages
 * @since 0.1.0
 */
export type Chat = typeof Chat.Type

/**
 * The chat of a request, and how it is kept.
 *
 * @category options
 * @since 0.1.0
 */
export interface ChatOptions extends RepliesOptions, Omit<Agent.RunSettings, "keep"> {
  /** Names the chat. Its effects are told apart from those of others by it. */
  readonly id: string
  /** What was kept of it. `undefined`: it begins. */
  readonly chat: Chat | undefined
  /** Keeps it: after each call that acts, and however the run ends. The page reads the end once it is kept. */
  readonly keep: (chat: Chat) => Effect.Effect<void>
}

/** What a chat needs of an agent. */
interface Chatting<A extends Answer.Fields, R> {
  readonly stream: (
    question: Agent.Question,
    options?: Agent.RunOptions
  ) => Stream.Stream<AgentEvent.AgentEvent<A>, Failed, R>
  readonly resumeStream: (
    suspension: Suspension,
    replies: ReadonlyArray<Reply>,
    options?: Agent.RunSettings
  ) => Stream.Stream<AgentEvent.AgentEvent<A>, Failed, R>
}

/**
 * Runs an agent for one request of a chat: the page asks something, or replies to what a run waits with. The run goes on with what
 * was kept of the chat, and is kept.
 *
 * When to use: in the route that `useChat` posts to, with {@link response}. It does not lock a chat: if two requests of it may come
 * at once, let the second one wait or refuse it, and provide `Claims`, so that no suspension is resumed twice.
 *
 * If there is neither a question nor a reply, the stream fails with `RunRefused`. A user's words that reply to nothing begin a new
 * run, and the questions before it are dropped. Otherwise the stream fails as that of the agent.
 *
 * @param agent the agent of the chat
 * @param messages what the page has sent
 * @param options `id`, `chat` and `keep` ({@link ChatOptions}); `by` and `edits` of its replies; `limits`, `deltas` and other
 * settings of a run
 *
 * @example
 * ```ts
 * import { AiSdk } from "@fallible/ai-sdk"
 * import { Agent, Toolkit } from "@fallible/core"
 * import { ScriptedModel } from "@fallible/testing"
 * import { Effect, Stream } from "effect"
 *
 * const agent = Agent.make({ toolkit: Toolkit.empty })
 * const chats = new Map<string, AiSdk.Chat>() // your database
 *
 * const post = (id: string, messages: ReadonlyArray<AiSdk.UiMessage>) => {
 *   const keep = (chat: AiSdk.Chat) => Effect.sync(() => void chats.set(id, chat))
 *   const run = AiSdk.chatStream(agent, messages, { id, chat: chats.get(id), keep })
 *   const model = ScriptedModel.layer([ScriptedModel.text("Hello!")])
 *   return AiSdk.response(Stream.provide(run, model), { originalMessages: messages })
 * }
 *
 * const question = { id: "1", role: "user", parts: [{ type: "text", text: "Hi" }] } as const
 * await (await Effect.runPromise(post("chat-1", [{ ...question, parts: [...question.parts] }]))).text()
 * chats.get("chat-1")?.transcript.length // => 2
 * ```
 *
 * @category pages
 * @since 0.1.0
 */
export const chatStream = <A extends Answer.Fields, R>(
  agent: Chatting<A, R>,
  messages: ReadonlyArray<UIMessage>,
  options: ChatOptions
): Stream.Stream<AgentEvent.AgentEvent<A>, Failed, R> => {
  const { chat, id, keep } = options
  const { facts = CallFacts.empty, suspension, transcript } = chat ?? {}
  const keeping = {
    ...Struct.omit(options, ["by", "chat", "edits", "id"]),
    keep: ({ facts, suspension, transcript }: Chat) =>
      keep({ facts, transcript, ...(suspension === undefined ? {} : { suspension }) })
  }
  const replies = suspension === undefined ? [] : repliesTo(suspension, messages, options)
  const { question } = fromUiMessages(messages)
  return suspension !== undefined && replies.length > 0
    ? agent.resumeStream(suspension, replies, keeping)
    : question === undefined
    ? Stream.fail(nothingAsked({ facts, transcript: transcript ?? Transcript.make([]) }))
    : agent.stream(question, { ...keeping, scope: id, facts, ...(transcript === undefined ? {} : { transcript }) })
}

const nothingAsked = (carried: Pick<Chat, "facts" | "transcript">): RunRefused =>
  new RunRefused({
    ...carried,
    detail: "The run was not started: the messages of the page end with nothing that is asked or replied to.",
    report: { turns: 0, calls: 0, failures: [], repairs: [] },
    issues: [{ path: ["messages"], expected: "a question, or a reply to what the run waits with", actual: "neither" }]
  })
