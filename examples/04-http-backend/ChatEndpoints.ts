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
import { UI_MESSAGE_STREAM_HEADERS } from "ai"
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
import * as ChatRuns from "./ChatRuns.ts"
import * as Chats from "./Chats.ts"
import { Conversations } from "./Conversations.ts"
import * as Endpoints from "./Endpoints.ts"
import * as EventStream from "./EventStream.ts"
import * as Reader from "./Reader.ts"

const begin = Effect.gen(function*() {
  const id = yield* Conversations.use(({ begin }) => begin)
  return HttpServerResponse.jsonUnsafe({ id }, { status: 201 })
})

const messages = Effect.gen(function*() {
  const chat = yield* chatInPath
  return yield* timed(HttpServerResponse.jsonUnsafe({ messages: yield* Chats.messagesOf(chat) }))
})

const post = Effect.gen(function*() {
  const { answer, from } = yield* written(yield* ChatRequest.read)
  return yield* streamed(answer, from)
})

/** Begins a run, which has its own scope: it does not end with the request. */
const written = (request: ChatRequest.ChatRequest) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const playing = yield* restore(Scope.provide(ChatRuns.begin(request), scope)).pipe(
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
      const answer = yield* Chats.Chats.use(({ play }) => play(request.id, { ...playing, scope }))
      return { answer, from: playing.history.length }
    })
  )

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
