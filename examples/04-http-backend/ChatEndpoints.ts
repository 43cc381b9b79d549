/**
 * The endpoints for the page with `useChat`. They speak the protocol of the AI SDK's `DefaultChatTransport`.
 *
 *     POST /api/chats                begins a conversation: 201 and its id
 *     GET  /api/chat/{id}/messages   the messages so far
 *     POST /api/chat                 a question, replies to questions of the assistant, or another answer to the last question
 *     GET  /api/chat/{id}/stream     the answer that is being written, from its beginning; 204 if there is none
 *     POST /api/chat/{id}/stop       stops the run that is under way
 *
 * A lost connection looks like a client that left, so neither ends a run here. Who wants to stop it says so.
 *
 * The messages of a conversation are those that the server keeps. A browser sends only its last message, and nothing of it counts
 * but a question, or the replies to open questions.
 */
import { AiSdk } from "@fallible/ai-sdk"
import type * as Question from "@fallible/core/Question"
import { UI_MESSAGE_STREAM_HEADERS, type UIMessage, type UIMessageChunk } from "ai"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Broadcast from "./Broadcast.ts"
import * as ChatRequest from "./ChatRequest.ts"
import * as Chats from "./Chats.ts"
import { Conversations, type Turn } from "./Conversations.ts"
import * as Desk from "./Desk.ts"
import * as Endpoints from "./Endpoints.ts"
import * as EventStream from "./EventStream.ts"
import * as Problem from "./Problem.ts"
import * as Reader from "./Reader.ts"
import * as Replies from "./Replies.ts"
import * as Sentences from "./Sentences.ts"

const begin = Effect.gen(function*() {
  const id = yield* Conversations.use(({ begin }) => begin)
  return HttpServerResponse.jsonUnsafe({ id }, { status: 201 })
})

const messages = Effect.gen(function*() {
  const chat = yield* chatInPath
  return yield* timed(HttpServerResponse.jsonUnsafe({ messages: yield* Chats.messagesOf(chat) }))
})

const post = Effect.gen(function*() {
  const request = yield* ChatRequest.read
  const { answer, from } = yield* written(request.id, writing(request))
  return yield* streamed(answer, from)
})

const resume = Effect.gen(function*() {
  const { answer } = yield* chatInPath
  return answer.isOver ? HttpServerResponse.empty({ status: 204 }) : yield* streamed(answer, 0)
})

const stop = Effect.gen(function*() {
  const id = yield* idInPath
  yield* Chats.Chats.use(({ stop }) => stop(id))
  return HttpServerResponse.empty({ status: 204 })
})

const idInPath = Effect.gen(function*() {
  const { id = "" } = yield* HttpRouter.params
  yield* Conversations.use(({ check }) => check(id))
  return id
})

const chatInPath = Effect.flatMap(idInPath, (id) => Chats.Chats.use(({ get }) => get(id)))

// -----------------------------------------------------------------------------
// Runs
// -----------------------------------------------------------------------------

type Writing = Omit<Chats.Playing, "scope">

/** Begins a run, which has its own scope: it does not end with the request. */
const written = <R>(id: string, writing: Effect.Effect<Writing, Problem.Problem, R | Scope.Scope>) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const playing = yield* restore(Scope.provide(writing, scope)).pipe(
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
      const answer = yield* Chats.Chats.use(({ play }) => play(id, { ...playing, scope }))
      return { answer, from: playing.history.length }
    })
  )

const writing = (request: ChatRequest.ChatRequest) => {
  switch (request._tag) {
    case "Question":
      return question(request)
    case "Replies":
      return replies(request)
    case "Again":
      return again(request)
  }
}

const question = ({ id, message, text }: ChatRequest.Question) =>
  Effect.gen(function*() {
    const open = Effect.filterOrFail(
      inChat(Conversations.use(({ open }) => open(id))),
      // The browser sends it again if it has heard nothing of it.
      ({ messages }) => messages.every(({ id }) => id !== message.id),
      () => Problem.make(409, "already_asked", "This has been asked already.")
    )
    const { events, turn } = yield* Desk.begin(
      open,
      ({ keep, options }) => Desk.agent.stream(text, { ...options, onInterrupt: keep }),
      Problem.ofFailure
    )
    return newMessage([...turn.messages, message], events)
  })

/** Asks the last question again. What was done for the last answer stays done, and is not done twice. */
const again = ({ id }: ChatRequest.Again) =>
  Effect.gen(function*() {
    const open = Effect.flatMap(inChat(Conversations.use(({ reopen }) => reopen(id))), (turn) => {
      const last = turn.messages.findLastIndex(({ role }) => role === "user")
      return last === -1
        ? Effect.fail(Problem.make(409, "nothing_asked", "Ask something first."))
        : Effect.succeed({ ...turn, messages: turn.messages.slice(0, last + 1) })
    })
    const { events, turn } = yield* Desk.begin(
      open,
      ({ keep, messages, options }) =>
        Desk.agent.stream(ChatRequest.textOf(messages.slice(-1)), { ...options, onInterrupt: keep }),
      Problem.ofFailure
    )
    return newMessage(turn.messages, events)
  })

const replies = ({ edits, id, messages }: ChatRequest.Replies) =>
  Effect.gen(function*() {
    const open = Effect.flatMap(inChat(Conversations.use(({ replyIn }) => replyIn(id))), (turn) => {
      const given = AiSdk.repliesTo(turn.suspension, messages, { by: Replies.by, edits })
      return given.length === 0 ? Effect.fail(Problem.notOpen) : Effect.succeed({ ...turn, given })
    })
    const { events, turn } = yield* Desk.begin(
      open,
      ({ given, keep, suspension }) => Desk.agent.resumeStream(suspension, given, { onInterrupt: keep }),
      (failure, { given }) =>
        failure._tag === "RunRefused" ? Replies.refused(failure, placeIn(given)) : Problem.ofFailure(failure)
    )
    const { answer, past } = turn.chat
    // The message goes on: who reads it from its beginning must also read what was decided.
    return {
      past,
      history: [...answer.chunks, ...turn.given.flatMap(decided)],
      chunks: chunksOf(events, turn.messages)
    }
  })

/** Arguments are in the `edits` of the body, and all else of a reply in its message. */
const placeIn =
  (given: ReadonlyArray<Question.Reply>) =>
  ([, index, field, ...rest]: ReadonlyArray<PropertyKey>): ReadonlyArray<PropertyKey> =>
    field === "arguments" ? ["edits", given[Number(index)]?.id ?? "", ...rest] : ["messages"]

const decided = (reply: Question.Reply): ReadonlyArray<UIMessageChunk> => {
  if (!("approved" in reply)) return []
  const reason = "reason" in reply && reply.reason !== undefined ? { reason: reply.reason } : {}
  return [{ type: "tool-approval-response", approvalId: reply.id, approved: reply.approved, ...reason }]
}

/** The chat of the conversation that is opened, as it is now. */
const inChat = <T extends Turn, R>(open: Effect.Effect<T, Problem.Problem, R>) =>
  Effect.gen(function*() {
    const turn = yield* open
    const chat = yield* Chats.Chats.use(({ get }) => get(turn.conversation))
    return { ...turn, chat, messages: yield* Chats.messagesOf(chat) }
  })

const newMessage = (past: ReadonlyArray<UIMessage>, events: Desk.Events<never>): Writing => ({
  past,
  history: [],
  chunks: chunksOf(events, past)
})

/** A failure is a part of the message, so that it is there after a reload, too. */
const chunksOf = (events: Desk.Events<never>, originalMessages: ReadonlyArray<UIMessage>) =>
  AiSdk.uiMessageStream(events, { originalMessages, arguments: true, recoveries: Sentences.recovery }).pipe(
    Stream.map((chunk) => chunk.type === "error" ? Sentences.notice(chunk.errorText) : chunk)
  )

// -----------------------------------------------------------------------------
// Responses
// -----------------------------------------------------------------------------

const streamed = (answer: Broadcast.Broadcast, from: number) =>
  Effect.gen(function*() {
    const reader = yield* Reader.make
    yield* answer.follow(reader, from)
    yield* Effect.forkScoped(Stream.runForEach(EventStream.heartbeat, reader.send))
    const response = EventStream.response(reader.bytes)
    return yield* timed(HttpServerResponse.setHeader(response, protocol, UI_MESSAGE_STREAM_HEADERS[protocol]))
  })

const protocol = "x-vercel-ai-ui-message-stream"

/** The page counts by the server's clock how long an approval is open. */
const timed = (response: HttpServerResponse.HttpServerResponse) =>
  Effect.map(Clock.currentTimeMillis, (now) => HttpServerResponse.setHeader(response, "server-time", `${now}`))

export const layer = Layer.mergeAll(
  HttpRouter.add("POST", "/api/chats", begin),
  HttpRouter.add("GET", "/api/chat/:id/messages", Endpoints.answering(messages)),
  HttpRouter.add("POST", "/api/chat", Endpoints.answering(post)),
  HttpRouter.add("GET", "/api/chat/:id/stream", Endpoints.answering(resume)),
  HttpRouter.add("POST", "/api/chat/:id/stop", Endpoints.answering(stop))
)
