/**
 * The endpoints for users: `POST /ask` and `POST /reply`. Each answers with one JSON object or, if the client accepts
 * `text/event-stream`, with the events of the run.
 *
 *     body ─ 400, 413, 415 ─ place ─ 503 ─ conversation ─ 404, 409 ─ run ─ answer, question (202), or problem
 *
 * A run that fails is logged with its id and the reason: its client learns neither.
 *
 * The place and the conversation belong to the scope of the request. It closes when the last byte is sent, or when the
 * client leaves.
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
import * as Stream from "effect/Stream"
import { Conversations, type Turn } from "./Conversations.ts"
import * as EventStream from "./EventStream.ts"
import * as Problem from "./Problem.ts"
import * as RequestBody from "./RequestBody.ts"
import { longest, Runs } from "./Runs.ts"
import { toolkit } from "./tools.ts"

const agent = Agent.make({
  instructions:
    "You work at the support desk of a small shop. Use the tools. Refund only what the user asks you to refund.",
  toolkit,
  limits: { turns: 8, calls: 20, elapsed: longest },
  // A tool that an operator has disabled, or whose service is down, is not offered.
  offer: "available"
})

const Ask = Schema.Struct({
  question: RequestBody.text("question", 2000),
  conversation: Schema.optionalKey(Schema.String)
})

const Reply = Schema.Struct({ token: Schema.String, reply: RequestBody.text("reply", 2000) })

const ask = Effect.gen(function*() {
  const { conversation, question } = yield* RequestBody.read(Ask)
  yield* Effect.flatMap(Runs, ({ admit }) => admit)
  const turn = yield* Conversations.use(({ open }) => open(conversation))
  return yield* respond(turn, agent.stream(question, turn.options))
})

const reply = Effect.gen(function*() {
  const { reply, token } = yield* RequestBody.read(Reply)
  yield* Effect.flatMap(Runs, ({ admit }) => admit)
  const turn = yield* Conversations.use((conversations) => conversations.reply(token))
  return yield* respond(turn, agent.resumeStream(turn.suspension, reply))
})

type Events<R> = Stream.Stream<AgentEvent.AgentEvent, AgentFailure.AgentFailure, R>

const respond = <R>(turn: Turn, run: Events<R>) =>
  Effect.gen(function*() {
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    const { stopping } = yield* Runs
    let id = ""
    const events = run.pipe(
      Stream.tap((event) => {
        id = event.run
        return event._tag === "RunEnded" ? turn.keep(event.answer) : Effect.void
      }),
      Stream.tapError((failure) => Effect.andThen(turn.keep(failure), logged(failure, id))),
      Stream.provideContext(yield* Effect.context<R>())
    )
    const answer = /\btext\/event-stream\b/i.test(headers["accept"] ?? "")
      ? Effect.succeed(streamed(turn, stopping, events))
      : Effect.raceFirst(whole(turn, events), Effect.andThen(stopping, Problem.draining))
    return HttpServerResponse.setHeader(
      yield* Effect.catch(answer, (problem) => Effect.succeed(Problem.response(problem))),
      "conversation-id",
      turn.conversation
    )
  })

/** Logs why a run failed. A run that asks its user has not failed. */
const logged = ({ _tag, detail }: AgentFailure.AgentFailure, run: string) =>
  _tag === "RunSuspended"
    ? Effect.void
    : Effect.logWarning(`The run failed (${_tag}): ${detail}`).pipe(Effect.annotateLogs({ run }))

const streamed = (turn: Turn, stopping: Effect.Effect<void>, events: Events<never>) =>
  events.pipe(
    // The page shows what the tools do. A page for the public would leave this out.
    AgentEvent.forClients({ arguments: true, results: true }),
    EventStream.ending({
      stopping,
      stopped: { _tag: "ServerStopping", message: Problem.draining.detail },
      after: Effect.map(turn.token, (token) => token === undefined ? undefined : { _tag: "ReplyWanted", token })
    }),
    EventStream.response
  )

const whole = (turn: Turn, events: Events<never>) =>
  events.pipe(
    Stream.filter((event) => event._tag === "RunEnded"),
    Stream.runHead,
    Effect.map(Option.getOrThrow),
    Effect.map(({ answer: { text } }) => HttpServerResponse.jsonUnsafe({ text })),
    Effect.catchTag("RunSuspended", ({ question }) =>
      Effect.map(turn.token, (token) =>
        HttpServerResponse.jsonUnsafe({ question, token }, { status: 202 }))),
    Effect.mapError(Problem.ofFailure)
  )

/** Answers a problem with its response. Other errors of a handler are defects: an empty 500, and the whole in the log. */
export const answering = <R>(
  handler: Effect.Effect<HttpServerResponse.HttpServerResponse, Problem.Problem, R>
) => Effect.catch(handler, (problem) => Effect.succeed(Problem.response(problem)))

export const layer = Layer.mergeAll(
  HttpRouter.add("POST", "/ask", answering(ask)),
  HttpRouter.add("POST", "/reply", answering(reply))
)
