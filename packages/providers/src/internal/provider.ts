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
import { Model, ModelFailure, RetryPolicy } from "@fallible/core"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
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
import type { Settings } from "../Settings.ts"
import * as Failures from "./modelFailures.ts"
import * as Assembly from "./replyAssembly.ts"
import type { Form } from "./responseBody.ts"
import { problemIn } from "./serverProblem.ts"

/** The parts that differ between providers. */
export interface Format {
  /** Makes the body of a request. */
  readonly encode: (
    request: Model.Request,
    to: { readonly server: Failures.Server; readonly stream: boolean }
  ) => Effect.Effect<Schema.JsonObject, ModelFailure>
  /** Writes the body as text. */
  readonly write: (body: Schema.JsonObject) => string
  /** Splits a streamed body into pieces. */
  readonly frames: (
    body: Stream.Stream<Uint8Array, ModelFailure>,
    server: Failures.Server
  ) => Stream.Stream<string, ModelFailure>
  /** Reads one piece, or a whole body. */
  readonly read: (text: string, form: Form, server: Failures.Server) => Effect.Effect<Assembly.Chunk, ModelFailure>
}

/** The names of the options that all providers share. */
export const settingNames: Names<Settings> = { timeout: true, streamTimeout: true, retry: true, contextWindow: true }

/** Makes a model from a format and a server. */
export const make = (
  format: Format,
  server: Failures.Server,
  client: HttpClient.HttpClient,
  { contextWindow, retry = RetryPolicy.transient, streamTimeout = "1 hour", timeout = "5 minutes" }: Settings,
  structuredOutput?: Model.Model["Service"]["structuredOutput"]
): Model.Model["Service"] => {
  if (contextWindow !== undefined && !(Number.isSafeInteger(contextWindow) && contextWindow > 0)) {
    throw new TypeError(`A 'contextWindow' must be a whole number of tokens above zero; got ${contextWindow}.`)
  }
  const pieceLimit = limit(timeout, (time) => Failures.timedOut(server, time))
  const replyLimit = limit(streamTimeout, (time) => Failures.unfinishedReply(server, time))
  // Connections are closed with the scope, so an interrupted run leaves none open.
  const scoped = HttpClient.withScope(client)

  const open = (request: Model.Request, stream: boolean) =>
    Effect.flatMap(format.encode(request, { server, stream }), (body) => send(server, scoped, format.write(body)))

  return {
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(structuredOutput === undefined ? {} : { structuredOutput }),
    respond: (request) =>
      open(request, false).pipe(
        Effect.flatMap((response) => textOf(server, response)),
        Effect.flatMap((body) => wholeReply(format, server, body)),
        Effect.scoped,
        limitedBy(pieceLimit),
        Model.retry(retry)
      ),
    stream: (request) =>
      Stream.suspend(() => {
        let attempts = 0
        const openOnce = Effect.suspend(() => {
          attempts++
          return limitedBy(pieceLimit)(open(request, true))
        })
        return Model.retry(openOnce, retry).pipe(
          Effect.map((response) =>
            Stream.mapError(
              partsOf(format, server, format.frames(bytesOf(server, response), server), pieceLimit, replyLimit),
              (failure) => attempts === 1 ? failure : new ModelFailure({ ...failure, cause: failure.cause, attempts })
            )
          ),
          Stream.unwrap
        )
      })
  }
}

/** How long to wait, and the failure after that time. */
interface Limit {
  readonly time: Duration.Duration
  readonly failure: ModelFailure
}

const limit = (input: Duration.Input, failure: (time: Duration.Duration) => ModelFailure): Limit => {
  const time = Duration.fromInputUnsafe(input)
  if (!Duration.isPositive(time)) throw new TypeError("A timeout must be longer than zero.")
  return { time, failure: failure(time) }
}

const limitedBy = ({ failure, time }: Limit) =>
  Effect.timeoutOrElse({ duration: time, orElse: () => Effect.fail(failure) })

// -----------------------------------------------------------------------------
// Sending
// -----------------------------------------------------------------------------

const send = <R>(server: Failures.Server, client: HttpClient.HttpClient.With<HttpClientError, R>, body: string) =>
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
        : Effect.fail(Failures.unreachable(server, error))
    ),
    Effect.flatMap((response) =>
      response.status >= 200 && response.status < 300
        ? Effect.succeed(response)
        : Effect.flatMap(failureOf(server, response), Effect.fail)
    )
  )

const requestOf = ({ endpoint }: Failures.Server, body: string): HttpClientRequest.HttpClientRequest => {
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

const failureOf = (server: Failures.Server, response: HttpClientResponse): Effect.Effect<ModelFailure> =>
  Effect.gen(function*() {
    const body = yield* beginningOf(server, response)
    const retryAfter = Failures.retryAfterIn(response.headers, yield* Clock.currentTimeMillis)
    return Failures.refusedRequest(server, response.status, problemIn(body), retryAfter)
  })

// -----------------------------------------------------------------------------
// Bodies
// -----------------------------------------------------------------------------

const maxBytes = 64 * Failures.mebibyte

const bytesOf = (server: Failures.Server, { stream }: HttpClientResponse): Stream.Stream<Uint8Array, ModelFailure> =>
  Stream.mapAccumEffect(
    Stream.mapError(stream, (error) => Failures.brokenOff(server, error)),
    () => 0,
    (before, bytes) => {
      const sum = before + bytes.length
      return sum > maxBytes
        ? Effect.fail(Failures.oversizedReply(server, maxBytes))
        : Effect.succeed([sum, [bytes]] as const)
    }
  )

const textOf = (server: Failures.Server, response: HttpClientResponse): Effect.Effect<string, ModelFailure> =>
  Stream.mkString(Stream.decodeText(bytesOf(server, response)))

// Reads the beginning of an error's body, which says what is wrong. The rest is ignored.
const beginningOf = (server: Failures.Server, response: HttpClientResponse): Effect.Effect<string> =>
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

const wholeReply = (format: Format, server: Failures.Server, body: string): Effect.Effect<Model.Reply, ModelFailure> =>
  Effect.flatMap(
    format.read(body, "whole", server),
    (chunk) => chunk.done ? replyOf(server, chunk) : Effect.fail(Failures.cutOff(server))
  )

const replyOf = (server: Failures.Server, chunk: Assembly.Chunk): Effect.Effect<Model.Reply, ModelFailure> => {
  const refusal = chunk.message["refusal"]
  if (typeof refusal === "string" && refusal !== "") return Effect.fail(Failures.declinedReply(server, refusal))
  if (chunk.finish === "failed") return Effect.fail(Failures.cutOff(server))
  if (chunk.finish === "refused") return Effect.fail(Failures.filteredReply)
  const reply = Assembly.toReply(server.endpoint.url, chunk)
  return reply.truncated === true && reply.text === "" && reply.calls.length === 0
    ? Effect.fail(Failures.usedUp)
    : Effect.succeed(reply)
}

/**
 * Returns the parts of a streamed reply. The reply itself says when it is complete. If the connection ends
 * earlier, the reply was cut off.
 */
const partsOf = (
  format: Format,
  server: Failures.Server,
  frames: Stream.Stream<string, ModelFailure>,
  pieceLimit: Limit,
  replyLimit: Limit
): Stream.Stream<Model.Part, ModelFailure> =>
  Stream.suspend(() => {
    const assembly = new Assembly.Assembly()
    let form: Form = "first"
    let hasReplied = false
    // Each of these times starts to run when it is first read. Later pieces do not extend it.
    const leftForMark = deadline(afterEnd)
    const leftForBody = deadline(afterMark)
    const leftForReply = deadline(replyLimit.time)
    const nextLimit = (now: number): Limit => {
      // Pieces may keep coming without any content, so the whole reply has a limit, too.
      const left = leftForReply(now)
      if (hasReplied) return { ...pieceLimit, time: leftForBody(now) }
      if (assembly.isFinished) return { ...pieceLimit, time: leftForMark(now) }
      return Duration.isLessThan(left, pieceLimit.time) ? { ...replyLimit, time: left } : pieceLimit
    }

    const emitReply = Effect.suspend(() =>
      Effect.map(replyOf(server, assembly.chunk), (reply): ReadonlyArray<Model.Part> => {
        hasReplied = true
        return [{ _tag: "Replied", reply }]
      })
    )
    // A failure after a reply's end, for example in the usage that follows, must not lose the reply.
    const endWith = (failure: ModelFailure): Effect.Effect<ReadonlyArray<Model.Part>, ModelFailure> =>
      hasReplied ? Effect.succeed([]) : assembly.isFinished ? emitReply : Effect.fail(failure)
    const addPiece = (piece: Assembly.Chunk): Effect.Effect<ReadonlyArray<Model.Part>, ModelFailure> => {
      const text = assembly.add(piece)
      form = "later"
      const parts: ReadonlyArray<Model.Part> = [
        ...(text === "" ? [] : [{ _tag: "TextDelta" as const, text }]),
        ...assembly.argumentsIn(piece)
      ]
      return piece.done ? Effect.map(emitReply, (last) => [...parts, ...last]) : Effect.succeed(parts)
    }
    const read = (text: string) =>
      hasReplied ? Effect.succeed([]) : Effect.matchEffect(format.read(text, form, server), {
        onFailure: endWith,
        onSuccess: addPiece
      })

    return withLimits(frames, nextLimit).pipe(
      Stream.mapEffect(read),
      Stream.concat(Stream.fromEffect(Effect.suspend(() => endWith(Failures.cutOff(server))))),
      Stream.catch((failure) => Stream.fromEffect(endWith(failure))),
      Stream.flattenIterable
    )
  })

/** How long to wait after a reply's end for its usage and its end mark. */
const afterEnd = Duration.seconds(1)

/**
 * How long to wait, after the end mark, for the end of the body. If the body ends in time, the connection can
 * be used again.
 */
const afterMark = Duration.millis(100)

/** Returns a function that returns the time that is left. The time starts to run at that function's first call. */
const deadline = (after: Duration.Duration) => {
  let at: number | undefined
  return (now: number): Duration.Duration => {
    at ??= now + Duration.toMillis(after)
    return Duration.millis(Math.max(at - now, 0))
  }
}

/** Limits the wait for each piece. Signals that only keep a connection alive do not count as pieces. */
const withLimits = (
  frames: Stream.Stream<string, ModelFailure>,
  next: (now: number) => Limit
): Stream.Stream<string, ModelFailure> =>
  Stream.transformPull(
    frames,
    (pull) => Effect.succeed(Effect.flatMap(Clock.currentTimeMillis, (now) => limitedBy(next(now))(pull)))
  )
