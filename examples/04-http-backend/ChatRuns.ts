/**
 * The runs that the page with `useChat` asks for, each as the chunks of a message:
 *
 *     a question             the conversation goes on with it                     a new message
 *     another answer to it   the conversation goes on from before it              a new message in place of the last one
 *     replies                the run goes on that asked                           the same message goes on
 *
 * What is interrupted keeps its transcript and its facts (`keep`), so that no later run does again what it did.
 */
import { AiSdk } from "@fallible/ai-sdk"
import type { Reply } from "@fallible/core/Question"
import type { UIMessage } from "ai"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type Again, type ChatRequest, type Question, type Replies as Given, textOf } from "./ChatRequest.ts"
import * as Chats from "./Chats.ts"
import { Conversations, type Turn } from "./Conversations.ts"
import * as Desk from "./Desk.ts"
import * as Problem from "./Problem.ts"
import * as Replies from "./Replies.ts"
import * as Sentences from "./Sentences.ts"

/** A run that has begun. */
type Begun = Omit<Chats.Playing, "scope">

/** Begins the run that a request asks for. Its place and its conversation belong to the scope of the run. */
export const begin = (request: ChatRequest) => {
  switch (request._tag) {
    case "Question":
      return question(request)
    case "Replies":
      return replies(request)
    case "Again":
      return again(request)
  }
}

const question = ({ id, message, text }: Question) =>
  Effect.gen(function*() {
    const open = Effect.filterOrFail(
      inChat(Conversations.use(({ open }) => open(id))),
      // The browser sends it again if it has heard nothing of it.
      ({ messages }) => messages.every(({ id }) => id !== message.id),
      () => Problem.make(409, "already_asked", "This has been asked already.")
    )
    const { events, turn } = yield* Desk.begin(
      open,
      ({ keep, options }) => Desk.agent.stream(text, { ...options, keep }),
      Problem.ofFailure
    )
    return newMessage([...turn.messages, message], events)
  })

/** Asks the last question again. What was done for the last answer stays done, and is not done twice. */
const again = ({ id }: Again) =>
  Effect.gen(function*() {
    const open = Effect.flatMap(inChat(Conversations.use(({ reopen }) => reopen(id))), (turn) => {
      const last = turn.messages.findLastIndex(({ role }) => role === "user")
      return last === -1
        ? Effect.fail(Problem.make(409, "nothing_asked", "Ask something first."))
        : Effect.succeed({ ...turn, messages: turn.messages.slice(0, last + 1) })
    })
    const { events, turn } = yield* Desk.begin(
      open,
      ({ keep, messages, options }) => Desk.agent.stream(textOf(messages.slice(-1)), { ...options, keep }),
      Problem.ofFailure
    )
    return newMessage(turn.messages, events)
  })

const replies = ({ edits, id, messages }: Given) =>
  Effect.gen(function*() {
    const open = Effect.flatMap(inChat(Conversations.use(({ replyIn }) => replyIn(id))), (turn) => {
      const given = AiSdk.repliesTo(turn.suspension, messages, { by: Replies.by, edits })
      return given.length === 0
        ? Effect.fail(Problem.notOpen)
        : Effect.as(Replies.check(given), { ...turn, given })
    })
    const { events, turn } = yield* Desk.begin(
      open,
      ({ given, keep, suspension }) => Desk.agent.resumeStream(suspension, given, { keep }),
      (failure, { given }) =>
        failure._tag === "RunRefused" ? Replies.refused(failure, placeIn(given)) : Problem.ofFailure(failure)
    )
    const { answer, past } = turn.chat
    // The message goes on.
    return { past, history: answer.chunks, chunks: chunksOf(events, turn.messages, turn.given) }
  })

/** Arguments are in the `edits` of the body, and all else of a reply in its message. */
const placeIn =
  (given: ReadonlyArray<Reply>) =>
  ([, index, field, ...rest]: ReadonlyArray<PropertyKey>): ReadonlyArray<PropertyKey> =>
    field === "arguments" ? ["edits", given[Number(index)]?.id ?? "", ...rest] : ["messages"]

/** The chat of the conversation that is opened, as it is now. */
const inChat = <T extends Turn, R>(open: Effect.Effect<T, Problem.Problem, R>) =>
  Effect.gen(function*() {
    const turn = yield* open
    const chat = yield* Chats.Chats.use(({ get }) => get(turn.conversation))
    return { ...turn, chat, messages: yield* Chats.messagesOf(chat) }
  })

const newMessage = (past: ReadonlyArray<UIMessage>, events: Desk.Events<never>): Begun => ({
  past,
  history: [],
  chunks: chunksOf(events, past)
})

/** A failure is a part of the message, so that it is there after a reload, too. */
const chunksOf = (
  events: Desk.Events<never>,
  originalMessages: ReadonlyArray<UIMessage>,
  replies: ReadonlyArray<Reply> = []
) =>
  AiSdk.uiMessageStream(events, {
    originalMessages,
    replies,
    arguments: true,
    recoveries: Sentences.recovery,
    failures: Sentences.failure
  }).pipe(
    Stream.map((chunk) => chunk.type === "error" ? Sentences.notice(chunk.errorText) : chunk)
  )
