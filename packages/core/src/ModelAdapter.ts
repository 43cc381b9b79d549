/**
 * Makes a `Model` from one attempt to ask a server or an SDK: help for authors of models.
 *
 *     make({ name, server, respond, stream }, settings)      retries, time-outs, whole and streamed replies
 *     argumentsText, toolName, fileNote                      parts of a request that any server accepts
 *     ModelProblem                                           failures
 *
 * `respond` and `stream` make one attempt each. Here they are limited in time, and repeated on a schedule. A stream that has
 * begun is not repeated, because its first text may already have been shown. An interrupted run interrupts the attempt.
 *
 * The arguments of a call must reach the agent as the model wrote them, cut off or malformed: the agent reads and repairs
 * them. What else a message has, such as signatures of reasoning, belongs into `Reply.native`, under a key of the provider's
 * own. On the next turn it comes back in the transcript. Another provider ignores it. The laws in
 * `@fallible/testing/ModelLaws` check a model of your own.
 *
 * This module uses a module of `effect` that is marked unstable, so the package's index does not export it.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Arguments from "./Arguments.ts"
import { withFields } from "./internal/failure/failureClass.ts"
import { isJsonObject } from "./internal/value/plainJson.ts"
import { oneLine } from "./internal/value/text.ts"
import { attempt } from "./internal/value/untrusted.ts"
import { type Model, type ModelFailure, type Part, type Reply, type Request, retry as retryOn } from "./Model.ts"
import * as ModelProblem from "./ModelProblem.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import type { File } from "./Transcript.ts"

// -----------------------------------------------------------------------------
// Models
// -----------------------------------------------------------------------------

/**
 * How long to wait for a model, and when to retry.
 *
 * @category models
 * @since 0.1.0
 */
export interface Settings {
  /**
   * How long to wait for a reply, or for the next piece of a streamed reply. After that time, the call fails
   * with `timeout`, and is not retried. Default: 5 minutes. (Node's own `fetch` also gives up after 5
   * minutes.)
   */
  readonly timeout?: Duration.Input
  /**
   * How long a streamed reply may take in total, even if pieces keep coming. After that time, the call fails
   * with `timeout`, and is not retried. Default: 1 hour. In an hour, a model that writes 40 tokens a second
   * writes 144,000 tokens.
   */
  readonly streamTimeout?: Duration.Input
  /**
   * The schedule on which transient failures are retried. Default: `RetryPolicy.transient`, which makes three
   * attempts in all. Once a streamed reply has begun, it is not retried.
   *
   * A lost connection is transient, and so is a reply that is malformed or cut off. The transient statuses
   * are 408, 429, and all from 500 on except 501 and 505.
   */
  readonly retry?: Schedule.Schedule<unknown, ModelFailure>
  /**
   * The size of the model's context window, in tokens. Big results of tools are then cut to what fits into it (`ResultSize`).
   * Ollama also gets it as `num_ctx`. Default: not known.
   */
  readonly contextWindow?: number
}

/**
 * What one piece of a stream adds to the reply.
 *
 * @category models
 * @since 0.1.0
 */
export interface Piece {
  /** What is new, for display. Default: nothing. */
  readonly parts?: ReadonlyArray<Exclude<Part, { readonly _tag: "Replied" }>>
  /**
   * The whole reply, once the model has ended it. Later pieces may still complete it, for example by its usage, for up to a
   * second. The reply of the latest piece counts. A failure that follows does not lose it.
   */
  readonly reply?: Effect.Effect<Reply, ModelFailure>
  /** True if nothing follows that belongs to the reply. */
  readonly isLast?: boolean
}

/**
 * One attempt to ask a model.
 *
 * @category models
 * @since 0.1.0
 */
export interface Adapter {
  /** The model's name: `"gpt-5-mini"`. */
  readonly name: string
  readonly server: ModelProblem.Server
  /** Returns a whole reply. What it opens is closed with the scope. */
  readonly respond: (request: Request) => Effect.Effect<Reply, ModelFailure, Scope.Scope>
  /** Opens a stream, which is closed with the scope. If it ends without a `reply`, the reply was cut off. */
  readonly stream: (
    request: Request
  ) => Effect.Effect<Stream.Stream<Piece, ModelFailure>, ModelFailure, Scope.Scope>
  /** See `Model.structuredOutput`. Default: the model has none. */
  readonly structuredOutput?: "always" | "without_tools"
}

/**
 * Makes a model from one attempt to ask it.
 *
 * Throws a `TypeError` if a timeout is not positive, or if `contextWindow` is not a whole number above zero.
 *
 * @example
 * ```ts
 * import { Agent, Model, Toolkit } from "@fallible/core"
 * import * as ModelAdapter from "@fallible/core/ModelAdapter"
 * import { Effect, Stream } from "effect"
 *
 * const server = { name: "Echo" }
 * const reply = { text: "Hello.", calls: [] }
 * const echo = ModelAdapter.make({
 *   name: "echo-1",
 *   server,
 *   respond: () => Effect.succeed(reply),
 *   stream: () => Effect.succeed(Stream.make({ reply: Effect.succeed(reply), isLast: true }))
 * })
 *
 * const run = Agent.make({ toolkit: Toolkit.empty }).run("Hi")
 * const answer = Effect.runSync(Effect.provideService(run, Model.Model, echo))
 * answer.text // => "Hello."
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  { name, respond, server, stream, structuredOutput }: Adapter,
  { contextWindow, retry = RetryPolicy.transient, streamTimeout = "1 hour", timeout = "5 minutes" }: Settings = {}
): Model["Service"] => {
  if (contextWindow !== undefined && !(Number.isSafeInteger(contextWindow) && contextWindow > 0)) {
    throw new TypeError(`A 'contextWindow' must be a whole number of tokens above zero; got ${contextWindow}.`)
  }
  const pieceLimit = limit(timeout, (time) => ModelProblem.timedOut(server, time))
  const replyLimit = limit(streamTimeout, (time) => ModelProblem.unfinishedReply(server, time))
  return {
    name,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(structuredOutput === undefined ? {} : { structuredOutput }),
    respond: (request) => respond(request).pipe(Effect.scoped, limitedBy(pieceLimit), retryOn(retry)),
    stream: (request) =>
      Stream.suspend(() => {
        let attempts = 0
        const openOnce = Effect.suspend(() => {
          attempts++
          return limitedBy(pieceLimit)(stream(request))
        })
        return retryOn(openOnce, retry).pipe(
          Effect.map((pieces) =>
            Stream.mapError(
              partsOf(server, pieces, pieceLimit, replyLimit),
              (failure) => attempts === 1 ? failure : withFields(failure, { attempts })
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

/**
 * Returns the parts of a streamed reply. The reply itself says when it is complete. If the stream ends earlier, the reply was
 * cut off.
 */
const partsOf = (
  server: ModelProblem.Server,
  pieces: Stream.Stream<Piece, ModelFailure>,
  pieceLimit: Limit,
  replyLimit: Limit
): Stream.Stream<Part, ModelFailure> =>
  Stream.suspend(() => {
    let ended: Piece["reply"]
    let hasReplied = false
    // Each of these times starts to run when it is first read. Later pieces do not extend it.
    const leftForMark = deadline(afterEnd)
    const leftForBody = deadline(afterMark)
    const leftForReply = deadline(replyLimit.time)
    const nextLimit = (now: number): Limit => {
      // Pieces may keep coming without any content, so the whole reply has a limit, too.
      const left = leftForReply(now)
      if (hasReplied) return { ...pieceLimit, time: leftForBody(now) }
      if (ended !== undefined) return { ...pieceLimit, time: leftForMark(now) }
      return Duration.isLessThan(left, pieceLimit.time) ? { ...replyLimit, time: left } : pieceLimit
    }
    const emit = (reply: NonNullable<Piece["reply"]>): Effect.Effect<ReadonlyArray<Part>, ModelFailure> =>
      Effect.map(reply, (reply): ReadonlyArray<Part> => {
        hasReplied = true
        return [{ _tag: "Replied", reply }]
      })
    // A failure after a reply's end, for example in the usage that follows, must not lose the reply.
    const endWith = (failure: ModelFailure): Effect.Effect<ReadonlyArray<Part>, ModelFailure> =>
      hasReplied ? Effect.succeed([]) : ended === undefined ? Effect.fail(failure) : emit(ended)
    const read = (piece: Piece): Effect.Effect<ReadonlyArray<Part>, ModelFailure> => {
      if (hasReplied) return Effect.succeed([])
      const { isLast = false, parts = [], reply = ended } = piece
      ended = reply
      if (!isLast) return Effect.succeed(parts)
      return Effect.map(reply === undefined ? Effect.fail(ModelProblem.cutOff(server)) : emit(reply), (last) => [
        ...parts,
        ...last
      ])
    }
    return withLimits(pieces, nextLimit).pipe(
      Stream.mapEffect(read),
      Stream.concat(Stream.fromEffect(Effect.suspend(() => endWith(ModelProblem.cutOff(server))))),
      Stream.catch((failure) => Stream.fromEffect(endWith(failure))),
      Stream.flattenIterable
    )
  })

/** How long to wait after a reply's end for its usage and its end mark. */
const afterEnd = Duration.seconds(1)

/**
 * How long to wait, after the end mark, for the end of the stream. If it ends in time, the connection can be used again.
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

/** Limits the wait for each piece. Signals that only keep a connection alive must not be pieces. */
const withLimits = (
  pieces: Stream.Stream<Piece, ModelFailure>,
  next: (now: number) => Limit
): Stream.Stream<Piece, ModelFailure> =>
  Stream.transformPull(
    pieces,
    (pull) => Effect.succeed(Effect.flatMap(Clock.currentTimeMillis, (now) => limitedBy(next(now))(pull)))
  )

// -----------------------------------------------------------------------------
// Requests
// -----------------------------------------------------------------------------

/**
 * Turns a tool name into one that servers accept, because models invent invalid names. The call's id still
 * identifies the call.
 *
 * @example
 * ```ts
 * import * as ModelAdapter from "@fallible/core/ModelAdapter"
 *
 * ModelAdapter.toolName("files.read all") // => "files_read_all"
 * ```
 *
 * @category requests
 * @since 0.1.0
 */
export const toolName = (name: string): string => name.replace(/[^\w-]/g, "_").slice(0, 64) || "unknown"

/**
 * Returns the arguments of an earlier call as the text of a JSON object, because servers parse them. If the model wrote the
 * text of an object, returns that text; otherwise, the arguments as they were read. Arguments that cannot be read are quoted
 * inside an object.
 *
 * @example
 * ```ts
 * import * as ModelAdapter from "@fallible/core/ModelAdapter"
 *
 * ModelAdapter.argumentsText({ arguments: "{city: 'Paris',}" }) // => '{"city":"Paris"}'
 * ModelAdapter.argumentsText({ arguments: '{"city":"Par' }) // => '{"INVALID_JSON":"{\\"city\\":\\"Par"}'
 * ```
 *
 * @category requests
 * @since 0.1.0
 */
export const argumentsText = ({ arguments: text = "" }: { readonly arguments?: string | undefined }): string =>
  objectIn(text) === undefined ? JSON.stringify(readOrQuoted(text)) : text

/**
 * Like {@link argumentsText}, for servers that take an object.
 *
 * @example
 * ```ts
 * import * as ModelAdapter from "@fallible/core/ModelAdapter"
 *
 * ModelAdapter.argumentsObject({ arguments: "{city: 'Paris',}" }) // => { city: "Paris" }
 * ```
 *
 * @category requests
 * @since 0.1.0
 */
export const argumentsObject = (
  { arguments: text = "" }: { readonly arguments?: string | undefined }
): Schema.JsonObject => objectIn(text) ?? readOrQuoted(text)

const readOrQuoted = (text: string): Schema.JsonObject => {
  const parsed = Result.filterOrFail(Arguments.parse(text), ({ isExact }) => isExact, () => "numbers that lost digits")
  return Result.match(parsed, { onSuccess: ({ value }) => value, onFailure: () => ({ INVALID_JSON: text }) })
}

// Returns the object whose JSON text this is, if it can also be written: it is not nested too deeply.
const objectIn = (text: string): Schema.JsonObject | undefined =>
  attempt(() => {
    const value: Schema.Json = JSON.parse(text)
    return isJsonObject(value) && JSON.stringify(value) !== undefined ? value : undefined
  })

/**
 * Returns a note for a model that cannot read a file.
 *
 * @example
 * ```ts
 * import * as ModelAdapter from "@fallible/core/ModelAdapter"
 *
 * ModelAdapter.fileNote({ url: "https://shop.example/7.pdf", mediaType: "application/pdf" })
 * // => "[A file is attached here that you cannot read: application/pdf, https://shop.example/7.pdf.]"
 * ```
 *
 * @category requests
 * @since 0.1.0
 */
export const fileNote = (file: File): string => {
  const what = [file.name, ...("base64" in file ? [file.mediaType, sizeOf(file.base64)] : urlNote(file))].filter((
    text
  ) => text !== undefined).map(oneLine).join(", ")
  return `[A file is attached here that you cannot read: ${what}.]`
}

const urlNote = ({ mediaType, url }: File & { readonly url: string }): ReadonlyArray<string | undefined> => {
  const [, type, data] = dataUrl.exec(url) ?? []
  // The bytes themselves would only cost tokens.
  return [mediaType ?? type, data === undefined ? url.slice(0, 200) : sizeOf(data)]
}

const dataUrl = /^data:([^;,]+)[^,]*;base64,(.*)$/s

const sizeOf = (base64: string): string => {
  const bytes = Math.floor(base64.replace(/=+$/, "").length * 3 / 4)
  return bytes === 1 ? "1 byte" : `${bytes} bytes`
}
