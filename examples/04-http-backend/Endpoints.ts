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
import { Agent, type AgentFailure } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import { Conversations, type Turn } from "./Conversations.ts"
import * as EventStream from "./EventStream.ts"
import * as Problem from "./Problem.ts"
import * as Reader from "./Reader.ts"
import * as Replies from "./Replies.ts"
import * as RequestBody from "./RequestBody.ts"
import { longest, Runs } from "./Runs.ts"
import { toolkit } from "./tools.ts"

const agent = Agent.make({
  instructions:
    "You work at the support desk of a small shop. Use the tools. Refund only what the user asks you to refund.",
  toolkit,
  limits: { turns: 15, calls: 20, elapsed: longest },
  // A tool that an operator has disabled, or whose service is down, is not offered.
  offer: "available"
})

const Ask = Schema.Struct({
  question: RequestBody.text("question", 2000),
  conversation: Schema.optionalKey(Schema.String)
})

const ask = Effect.gen(function*() {
  const { conversation, question } = yield* RequestBody.read(Ask)
  const open = Conversations.use(({ open }) => open(conversation))
  return yield* respond(open, ({ options }) => agent.stream(question, options), Problem.ofFailure)
})

const reply = Effect.gen(function*() {
  const body = yield* RequestBody.read(Replies.Body)
  const open = Conversations.use(({ reply }) => reply(body.token))
  return yield* respond(
    open,
    ({ suspension }) => agent.resumeStream(suspension, Replies.given(body)),
    (failure) => failure._tag === "RunRefused" ? Replies.refused(failure) : Problem.ofFailure(failure)
  )
})

type Events<R> = Stream.Stream<AgentEvent.AgentEvent, AgentFailure.Failed, R>

/** A run that has its place and its conversation until its scope closes. */
interface Begun {
  readonly turn: Turn
  readonly events: Events<never>
}

type Begin<R> = Effect.Effect<Begun, Problem.Problem, R | Scope.Scope>

const respond = <T extends Turn, R, R2>(
  open: Effect.Effect<T, Problem.Problem, R | Scope.Scope>,
  run: (turn: T) => Events<R2>,
  problemOf: (failure: AgentFailure.Failed) => Problem.Problem
) =>
  Effect.gen(function*() {
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    const begin = Effect.gen(function*() {
      yield* Effect.flatMap(Runs, ({ admit }) => admit)
      const turn = yield* open
      const events = Stream.provideContext(kept(turn, run(turn)), yield* Effect.context<R2>())
      return { turn, events: yield* Effect.mapError(started(events), problemOf) }
    })
    return yield* /\btext\/event-stream\b/i.test(headers["accept"] ?? "") ? streamed(begin) : whole(begin)
  })

/**
 * Waits for the first event of a run, which comes before it does anything. A run that fails before is a problem with a status
 * of its own, also for a client that wants a stream.
 */
const started = (events: Events<never>): Effect.Effect<Events<never>, AgentFailure.Failed, Scope.Scope> =>
  Effect.map(
    Stream.peel(events, Sink.head()),
    ([first, rest]) => Stream.concat(Stream.fromIterable(Option.toArray(first)), rest)
  )

/** Keeps what the run says and does as soon as it has ended, whoever reads it. */
const kept = <R>(turn: Turn, run: Events<R>): Events<R> =>
  Stream.suspend(() => {
    let id = ""
    return run.pipe(
      Stream.tap((event) => {
        id = event.run
        if (!AgentEvent.isLast(event)) return Effect.void
        return turn.keep(event._tag === "RunEnded" ? event.answer : event.waiting)
      }),
      Stream.tapError((failure) =>
        // Nothing has run. Replies that were refused leave their questions open.
        failure._tag === "RunRefused"
          ? Effect.logInfo(`The run was refused: ${failure.detail}`)
          : Effect.andThen(turn.keep(failure), logged(failure, id))
      )
    )
  })

/** Logs why a run failed. */
const logged = ({ _tag, detail }: AgentFailure.Failed, run: string) =>
  Effect.logWarning(`The run failed (${_tag}): ${detail}`).pipe(Effect.annotateLogs({ run }))

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
