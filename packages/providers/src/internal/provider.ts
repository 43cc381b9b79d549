/**
 * A model over HTTP, built from the parts that differ between providers: a {@link Format} and a server.
 *
 *     request ─ encode ─ send ─ status ─┬ whole: read ────────────────────────── reply
 *                                       └ streamed: frames ─ read ─ add ─ … ──── parts, reply
 *
 * A whole reply is one piece, and a streamed reply is many pieces; the same function reads both. A failure
 * before the reply has begun is retried here, on a schedule. A stream that has begun is not retried, because
 * its first text may already have been shown.
 */
import type { Names } from "@fallible/arguments/internal"
import type { Model, ModelFailure } from "@fallible/core"
import * as ModelAdapter from "@fallible/core/ModelAdapter"
import * as ModelProblem from "@fallible/core/ModelProblem"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { constTrue } from "effect/Function"
import * as HttpClient from "effect/http/HttpClient"
import type { HttpClientError } from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as UrlParams from "effect/http/UrlParams"
import * as Redacted from "effect/Redacted"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Assembly from "./replyAssembly.ts"
import type { Form } from "./responseBody.ts"
import type { Server } from "./server.ts"

/** The parts that differ between providers. */
export interface Format {
  /** Makes the body of a request. */
  readonly encode: (
    request: Model.Request,
    to: { readonly server: Server; readonly stream: boolean }
  ) => Effect.Effect<Schema.JsonObject, ModelFailure>
  /** Writes the body as text. */
  readonly write: (body: Schema.JsonObject) => string
  /** Splits a streamed body into pieces. */
  readonly frames: (
    body: Stream.Stream<Uint8Array, ModelFailure>,
    server: Server
  ) => Stream.Stream<string, ModelFailure>
  /** Reads one piece, or a whole body. */
  readonly read: (text: string, form: Form, server: Server) => Effect.Effect<Assembly.Chunk, ModelFailure>
}

/** The names of the options that all providers share. */
export const settingNames: Names<ModelAdapter.Settings> = {
  timeout: true,
  streamTimeout: true,
  retry: true,
  contextWindow: true
}

/** Makes a model from a format and a server. */
export const make = (
  format: Format,
  server: Server,
  client: HttpClient.HttpClient,
  settings: ModelAdapter.Settings,
  structuredOutput?: Model.Model["Service"]["structuredOutput"]
): Model.Model["Service"] => {
  // Connections are closed with the scope, so an interrupted run leaves none open.
  const scoped = HttpClient.withScope(client)
  const open = (request: Model.Request, stream: boolean) =>
    Effect.flatMap(format.encode(request, { server, stream }), (body) => send(server, scoped, format.write(body)))
  return ModelAdapter.make({
    name: server.model,
    server,
    ...(structuredOutput === undefined ? {} : { structuredOutput }),
    respond: (request) =>
      open(request, false).pipe(
        Effect.flatMap((response) => textOf(server, response)),
        Effect.flatMap((body) => wholeReply(format, server, body))
      ),
    stream: (request) => Effect.map(open(request, true), (response) => piecesOf(format, server, response))
  }, settings)
}

// -----------------------------------------------------------------------------
// Sending
// -----------------------------------------------------------------------------

const send = <R>(server: Server, client: HttpClient.HttpClient.With<HttpClientError, R>, body: string) =>
  client.execute(requestOf(server, body)).pipe(
    // Spans redact the values of a query, but not its names. So if a name may be secret, there is no span.
    Effect.updateService(
      HttpClient.TracerDisabledWhen,
      (isDisabled) => server.endpoint.hasBareWord ? constTrue : isDisabled
    ),
    Effect.catch((error) =>
      // Some clients treat a failure status as an error.
      error.reason._tag === "StatusCodeError"
        ? Effect.succeed(error.reason.response)
        : Effect.fail(
          error.reason._tag === "TransportError"
            ? ModelProblem.unreachable(server, error.cause)
            : ModelProblem.unsendable(server, error.cause)
        )
    ),
    Effect.flatMap((response) =>
      response.status >= 200 && response.status < 300
        ? Effect.succeed(response)
        : Effect.flatMap(failureOf(server, response), Effect.fail)
    )
  )

const requestOf = ({ endpoint }: Server, body: string): HttpClientRequest.HttpClientRequest => {
  const urlParams = UrlParams.make(endpoint.query)
  const request = HttpClientRequest.bodyText(
    HttpClientRequest.post(endpoint.url, { urlParams }),
    body,
    "application/json"
  )
  return endpoint.authorization === undefined
    ? request
    : HttpClientRequest.setHeader(request, "authorization", Redacted.value(endpoint.authorization))
}

const failureOf = (server: Server, response: HttpClientResponse): Effect.Effect<ModelFailure> =>
  Effect.gen(function*() {
    const body = yield* beginningOf(server, response)
    const retryAfter = ModelProblem.retryAfter(response.headers, yield* Clock.currentTimeMillis)
    return ModelProblem.refused(server, { status: response.status, body, retryAfter })
  })

// -----------------------------------------------------------------------------
// Bodies
// -----------------------------------------------------------------------------

const maxBytes = 64 * 1024 * 1024

const bytesOf = (server: Server, { stream }: HttpClientResponse): Stream.Stream<Uint8Array, ModelFailure> =>
  Stream.mapAccumEffect(
    Stream.mapError(stream, (error) => brokenOff(server, error)),
    () => 0,
    (before, bytes) => {
      const sum = before + bytes.length
      return sum > maxBytes
        ? Effect.fail(ModelProblem.oversized(server, maxBytes))
        : Effect.succeed([sum, [bytes]] as const)
    }
  )

const brokenOff = (server: Server, { cause, reason }: HttpClientError): ModelFailure =>
  reason._tag === "EmptyBodyError" ? ModelProblem.malformed(server, "", true) : ModelProblem.brokenOff(server, cause)

const textOf = (server: Server, response: HttpClientResponse): Effect.Effect<string, ModelFailure> =>
  Stream.mkString(Stream.decodeText(bytesOf(server, response)))

// Reads the beginning of an error's body, which says what is wrong. The rest is ignored.
const beginningOf = (server: Server, response: HttpClientResponse): Effect.Effect<string> =>
  Effect.suspend(() => {
    let received = ""
    const reading = Stream.runForEachWhile(Stream.decodeText(bytesOf(server, response)), (text) => {
      received += text
      return Effect.succeed(received.length < 65_536)
    })
    return reading.pipe(Effect.timeoutOption("2 seconds"), Effect.ignore, Effect.map(() => received))
  })

// -----------------------------------------------------------------------------
// Replies
// -----------------------------------------------------------------------------

const wholeReply = (format: Format, server: Server, body: string): Effect.Effect<Model.Reply, ModelFailure> =>
  Effect.flatMap(
    format.read(body, "whole", server),
    (chunk) => chunk.done ? replyOf(server, chunk) : Effect.fail(ModelProblem.cutOff(server, undefined, chunk.usage))
  )

const replyOf = (server: Server, chunk: Assembly.Chunk): Effect.Effect<Model.Reply, ModelFailure> => {
  const { finish, message, usage } = chunk
  const refusal = message["refusal"]
  if (typeof refusal === "string" && refusal !== "") return Effect.fail(ModelProblem.declined(server, refusal, usage))
  if (finish === "failed") return Effect.fail(ModelProblem.cutOff(server, undefined, usage))
  if (finish === "refused") return Effect.fail(ModelProblem.filtered(usage))
  const reply = Assembly.toReply(server, chunk)
  return reply.truncated === true && reply.text === "" && reply.calls.length === 0
    ? Effect.fail(ModelProblem.usedUp(usage))
    : Effect.succeed(reply)
}

const piecesOf = (
  format: Format,
  server: Server,
  response: HttpClientResponse
): Stream.Stream<ModelAdapter.Piece, ModelFailure> =>
  Stream.suspend(() => {
    const assembly = new Assembly.Assembly()
    let form: Form = "first"
    const reply = Effect.suspend(() => replyOf(server, assembly.chunk))
    return Stream.mapEffect(format.frames(bytesOf(server, response), server), (text) =>
      Effect.map(format.read(text, form, server), (piece): ModelAdapter.Piece => {
        form = "later"
        const parts = assembly.add(piece)
        return assembly.isFinished || piece.done ? { parts, reply, isLast: piece.done } : { parts }
      }))
  })
