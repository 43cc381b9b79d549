/**
 * The endpoints for users: `POST /ask` and `POST /reply`. Each answers with one JSON object or, if the client accepts
 * `text/event-stream`, with the events of the run.
 *
 *     body ─ 400, 413, 415 ─ place ─ 503 ─ conversation ─ 404, 409 ─ replies ─ 422 ─ run ─ answer, questions (202), or problem
 *
 * A run that waits for its user has questions, each with its own kind of reply (`Replies`). A run that fails is logged with
 * its id and the reason: its client learns neither.
 *
 * The place and the conversation belong to the scope of the run. It closes when the run has ended, or when the client
 * leaves. A reader who is slow keeps neither (`Reader`).
 */
import type { AgentFailure } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { Conversations, type Turn } from "./Conversations.ts"
import * as Desk from "./Desk.ts"
import * as EventStream from "./EventStream.ts"
import * as Problem from "./Problem.ts"
import * as Reader from "./Reader.ts"
import * as Replies from "./Replies.ts"
import * as RequestBody from "./RequestBody.ts"
import { Runs } from "./Runs.ts"

const Ask = Schema.Struct({
  question: RequestBody.text("question", 2000),
  conversation: Schema.optionalKey(Schema.String)
})

const ask = Effect.gen(function*() {
  const { conversation, question } = yield* RequestBody.read(Ask)
  const open = Conversations.use(({ open }) => open(conversation))
  return yield* respond(
    open,
    ({ keep, options }) => Desk.agent.stream(question, { ...options, keep }),
    Problem.ofFailure
  )
})

const reply = Effect.gen(function*() {
  const body = yield* RequestBody.read(Replies.Body)
  const open = Conversations.use(({ reply }) => reply(body.token))
  return yield* respond(
    open,
    ({ keep, suspension }) => Desk.agent.resumeStream(suspension, Replies.given(body), { keep }),
    (failure) => failure._tag === "RunRefused" ? Replies.refused(failure) : Problem.ofFailure(failure)
  )
})

type Begin<R> = Effect.Effect<Desk.Begun<Turn>, Problem.Problem, R | Scope.Scope>

const respond = <T extends Turn, R, R2>(
  open: Effect.Effect<T, Problem.Problem, R | Scope.Scope>,
  run: (turn: T) => Desk.Events<R2>,
  problemOf: (failure: AgentFailure.Failed) => Problem.Problem
) =>
  Effect.gen(function*() {
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    const begin = Desk.begin(open, run, problemOf)
    return yield* /\btext\/event-stream\b/i.test(headers["accept"] ?? "") ? streamed(begin) : whole(begin)
  })

const streamed = <R>(begin: Begin<R>) =>
  Effect.gen(function*() {
    const { stopping } = yield* Runs
    const reader = yield* Reader.make
    const run = yield* Effect.acquireRelease(Scope.make(), (run, exit) =>
      Effect.flatMap(reader.isCutOff, (isCutOff) => isCutOff ? Effect.void : Scope.close(run, exit)))
    const { events, turn } = yield* Scope.provide(begin, run)
    yield* events.pipe(
      // The page shows what the tools do. A page for the public would leave this out.
      AgentEvent.forClients({ arguments: true, results: true }),
      EventStream.ending({
        stopping,
        stopped: { _tag: "ServerStopping", message: Problem.draining.detail },
        after: Effect.map(turn.token, (token) =>
          token === undefined ? undefined : { _tag: "ReplyWanted", token })
      }),
      EventStream.encoded,
      Stream.runForEach(reader.send),
      Effect.tapDefect((defect) => Effect.logError("The run died.", defect)),
      // Who has read all can ask on at once.
      Effect.onExit((exit) => Effect.andThen(Scope.close(run, exit), reader.end)),
      Effect.forkIn(run)
    )
    return named(turn, EventStream.response(reader.bytes))
  })

const whole = <R>(begin: Begin<R>) =>
  Effect.gen(function*() {
    const { stopping } = yield* Runs
    const { events, turn } = yield* begin
    const answer = Stream.runLast(events).pipe(
      Effect.mapError(Problem.ofFailure),
      Effect.map(Option.filter(AgentEvent.isLast)),
      Effect.map(Option.getOrThrow),
      Effect.flatMap((event) => {
        if (event._tag === "RunPostponed") return Problem.postponed(event.waiting)
        if (event._tag === "RunEnded") return Effect.succeed(HttpServerResponse.jsonUnsafe({ text: event.answer.text }))
        const { question, suspension: { questions } } = event.waiting
        return Effect.map(turn.token, (token) =>
          HttpServerResponse.jsonUnsafe({ question, questions, token }, { status: 202 }))
      }),
      Effect.raceFirst(Effect.andThen(stopping, Problem.draining))
    )
    return named(turn, yield* answering(answer))
  }).pipe(Effect.scoped)

const named = ({ conversation }: Turn, response: HttpServerResponse.HttpServerResponse) =>
  HttpServerResponse.setHeader(response, "conversation-id", conversation)

/** Answers a problem with its response. Other errors of a handler are defects: an empty 500, and the whole in the log. */
export const answering = <R>(
  handler: Effect.Effect<HttpServerResponse.HttpServerResponse, Problem.Problem, R>
) => Effect.catch(handler, (problem) => Effect.succeed(Problem.response(problem)))

export const layer = Layer.mergeAll(
  HttpRouter.add("POST", "/ask", answering(ask)),
  HttpRouter.add("POST", "/reply", answering(reply))
)
