/**
 * A model over HTTP, from the few things in which providers differ: a {@link Format}, and who is asked.
 *
 *     request ─ encode ─ send ─ status ─┬ whole: read ────────────────────────── reply
 *                                       └ streamed: frames ─ read ─ add ─ … ──── parts, reply
 *
 * A whole reply is one piece, and a streamed one is many; each is read by the same function. What fails before a
 * reply has begun is asked again here, on a schedule; a stream that has begun is not, since its text is out.
 */
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
import * as Assembly from "./assembly.ts"
import type { Form } from "./body.ts"
import * as Failures from "./failures.ts"
import { problemIn } from "./problem.ts"

/** What differs from provider to provider. */
export interface Format {
  /** A request's body. */
  readonly encode: (
    request: Model.Request,
    to: { readonly server: Failures.Server; readonly stream: boolean }
  ) => Effect.Effect<Schema.JsonObject, ModelFailure>
  /** The text of that body. */
  readonly write: (body: Schema.JsonObject) => string
  /** Where one piece of a streamed body ends and the next one begins. */
  readonly frames: (
    body: Stream.Stream<Uint8Array, ModelFailure>,
    server: Failures.Server
  ) => Stream.Stream<string, ModelFailure>
  /** One piece, or a whole body. */
  readonly read: (text: string, form: Form, server: Failures.Server) => Effect.Effect<Assembly.Chunk, ModelFailure>
}

/** A model in a format, at a server. */
export const make = (
  format: Format,
  server: Failures.Server,
  client: HttpClient.HttpClient,
  { retry = RetryPolicy.transient, streamTimeout = "1 hour", timeout = "5 minutes" }: Settings
): Model.Model["Service"] => {
  const silence = limit(timeout, (time) => Failures.timedOut(server, time))
  const whole = limit(streamTimeout, (time) => Failures.unfinished(server, time))
  // What is open when the scope ends is closed with it: an interrupted run leaves no connection.
  const scoped = HttpClient.withScope(client)

  const open = (request: Model.Request, stream: boolean) =>
    Effect.flatMap(format.encode(request, { server, stream }), (body) => send(server, scoped, format.write(body)))

  return {
    respond: (request) =>
      open(request, false).pipe(
        Effect.flatMap((response) => textOf(server, response)),
        Effect.flatMap((body) => wholeReply(format, server, body)),
        Effect.scoped,
        within(silence),
        Model.retry(retry)
      ),
    stream: (request) =>
      Stream.suspend(() => {
        let attempts = 0
        const opened = Effect.suspend(() => {
          attempts++
          return within(silence)(open(request, true))
        })
        return Model.retry(opened, retry).pipe(
          Effect.map((response) =>
            Stream.mapError(
              partsOf(format, server, format.frames(bytesOf(server, response), server), silence, whole),
              (failure) => attempts === 1 ? failure : new ModelFailure({ ...failure, cause: failure.cause, attempts })
            )
          ),
          Stream.unwrap
        )
      })
  }
}

/** How long to wait, and what comes then. */
interface Limit {
  readonly time: Duration.Duration
  readonly failure: ModelFailure
}

const limit = (input: Duration.Input, failure: (time: Duration.Duration) => ModelFailure): Limit => {
  const time = Duration.fromInputUnsafe(input)
  if (!Duration.isPositive(time)) throw new TypeError("Expected a timeout that is longer than no time at all.")
  return { time, failure: failure(time) }
}

const within = ({ failure, time }: Limit) =>
  Effect.timeoutOrElse({ duration: time, orElse: () => Effect.fail(failure) })

// -----------------------------------------------------------------------------
// Sending
// -----------------------------------------------------------------------------

const send = <R>(server: Failures.Server, client: HttpClient.HttpClient.With<HttpClientError, R>, body: string) =>
  client.execute(requestOf(server, body)).pipe(
    // Spans redact the values of a query, but not its names.
    Effect.updateService(
      HttpClient.TracerDisabledWhen,
      (isDisabled) => server.endpoint.hasBareWord ? constTrue : isDisabled
    ),
    Effect.catch((error) =>
      // Some clients take a status for an error.
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
    return Failures.refused(server, response.status, problemIn(body), retryAfter)
  })

// -----------------------------------------------------------------------------
// Bodies
// -----------------------------------------------------------------------------

const mostBytes = 64 * Failures.mebibyte

const bytesOf = (server: Failures.Server, { stream }: HttpClientResponse): Stream.Stream<Uint8Array, ModelFailure> =>
  Stream.mapAccumEffect(
    Stream.mapError(stream, (error) => Failures.brokenOff(server, error)),
    () => 0,
    (before, bytes) => {
      const sum = before + bytes.length
      return sum > mostBytes
        ? Effect.fail(Failures.oversized(server, mostBytes))
        : Effect.succeed([sum, [bytes]] as const)
    }
  )

const textOf = (server: Failures.Server, response: HttpClientResponse): Effect.Effect<string, ModelFailure> =>
  Stream.mkString(Stream.decodeText(bytesOf(server, response)))

// An error says what it says at once, and in the first few lines: what comes after that is not listened to.
const beginningOf = (server: Failures.Server, response: HttpClientResponse): Effect.Effect<string> =>
  Effect.suspend(() => {
    let heard = ""
    const listen = Stream.runForEachWhile(Stream.decodeText(bytesOf(server, response)), (text) => {
      heard += text
      return Effect.succeed(heard.length < 65_536)
    })
    return listen.pipe(Effect.timeoutOption("2 seconds"), Effect.ignore, Effect.map(() => heard))
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
  if (typeof refusal === "string" && refusal !== "") return Effect.fail(Failures.declined(server, refusal))
  if (chunk.finish === "failed") return Effect.fail(Failures.cutOff(server))
  if (chunk.finish === "refused") return Effect.fail(Failures.filtered)
  const reply = Assembly.toReply(server.endpoint.url, chunk)
  return reply.truncated === true && reply.text === "" && reply.calls.length === 0
    ? Effect.fail(Failures.usedUp)
    : Effect.succeed(reply)
}

/** The parts of a streamed reply. It is complete when it says so; a connection that ends before is cut off. */
const partsOf = (
  format: Format,
  server: Failures.Server,
  frames: Stream.Stream<string, ModelFailure>,
  silence: Limit,
  whole: Limit
): Stream.Stream<Model.Part, ModelFailure> =>
  Stream.suspend(() => {
    const sofar = new Assembly.Assembly()
    let form: Form = "first"
    let over = false
    // When it was first asked for: what keeps coming does not put it off.
    const untilEnd = deadline(afterEnd)
    const untilOver = deadline(afterMark)
    const untilTooLate = deadline(whole.time)
    const next = (now: number): Limit => {
      // Pieces may come for ever, and say nothing.
      const left = untilTooLate(now)
      if (over) return { ...silence, time: untilOver(now) }
      if (sofar.isFinished) return { ...silence, time: untilEnd(now) }
      return Duration.isLessThan(left, silence.time) ? { ...whole, time: left } : silence
    }

    const replied = Effect.suspend(() =>
      Effect.map(replyOf(server, sofar.chunk), (reply): ReadonlyArray<Model.Part> => {
        over = true
        return [{ _tag: "Replied", reply }]
      })
    )
    // What goes wrong after a reply's end, with its usage, say, is not worth losing it.
    const ended = (failure: ModelFailure): Effect.Effect<ReadonlyArray<Model.Part>, ModelFailure> =>
      over ? Effect.succeed([]) : sofar.isFinished ? replied : Effect.fail(failure)
    const heard = (piece: Assembly.Chunk): Effect.Effect<ReadonlyArray<Model.Part>, ModelFailure> => {
      sofar.add(piece)
      form = "later"
      const text = Assembly.textOf(piece)
      const parts: ReadonlyArray<Model.Part> = text === "" ? [] : [{ _tag: "TextDelta", text }]
      return piece.done ? Effect.map(replied, (last) => [...parts, ...last]) : Effect.succeed(parts)
    }
    const read = (text: string) =>
      over ? Effect.succeed([]) : Effect.matchEffect(format.read(text, form, server), {
        onFailure: ended,
        onSuccess: heard
      })

    return paced(frames, next).pipe(
      Stream.mapEffect(read),
      Stream.concat(Stream.fromEffect(Effect.suspend(() => ended(Failures.cutOff(server))))),
      Stream.catch((failure) => Stream.fromEffect(ended(failure))),
      Stream.flattenIterable
    )
  })

/** How long to wait for what may follow a reply's end: what it took, and the mark that this was all. */
const afterEnd = Duration.seconds(1)

/** How long to wait for the end of the body after that: then its connection can be used again. */
const afterMark = Duration.millis(100)

/** What is left until then, from the first time that it is asked for. */
const deadline = (after: Duration.Duration) => {
  let at: number | undefined
  return (now: number): Duration.Duration => {
    at ??= now + Duration.toMillis(after)
    return Duration.millis(Math.max(at - now, 0))
  }
}

/** Waits for each piece; what keeps a connection alive is none. */
const paced = (
  frames: Stream.Stream<string, ModelFailure>,
  next: (now: number) => Limit
): Stream.Stream<string, ModelFailure> =>
  Stream.transformPull(
    frames,
    (pull) => Effect.succeed(Effect.flatMap(Clock.currentTimeMillis, (now) => within(next(now))(pull)))
  )
