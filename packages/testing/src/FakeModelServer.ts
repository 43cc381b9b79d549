/**
 * A model server on loopback that plays a script. It plays the scripts of {@link ScriptedModel} over real
 * HTTP, as whole or streamed replies, in these formats:
 *
 * | format      | API                       | path                                       | key in           |
 * | ----------- | ------------------------- | ------------------------------------------ | ---------------- |
 * | `openai`    | OpenAI's Chat Completions | `/v1/chat/completions`                     | `authorization`  |
 * | `responses` | OpenAI's Responses        | `/v1/responses`                            | `authorization`  |
 * | `messages`  | Anthropic's Messages      | `/v1/messages`                             | `x-api-key`      |
 * | `gemini`    | Google's Gemini API       | `/v1beta/models/{model}:generateContent`   | `x-goog-api-key` |
 * | `ollama`    | Ollama's chat             | `/api/chat`                                | `authorization`  |
 *
 *     const server = yield* FakeModelServer.make([ScriptedModel.call("ping"), ScriptedModel.text("Pong.")])
 *     agent.run("Ping!").pipe(Effect.provide(OpenAi.layer({ model: "any", baseUrl: `${server.url}/v1` })))
 *
 * The server checks requests as strictly as real servers do, and answers an invalid request with 400. Every
 * call must have its result, roles and names must be valid, and arguments must be an object. `responses`,
 * `messages` and `gemini` refuse unknown fields, too, in the words of their real servers. A request that is
 * too large is answered with 413.
 *
 * A reply's `native` has what only one format can say, under the format's name. For `openai` and `ollama`,
 * these are fields of the message. For the other three, `before` lists the items, blocks or parts that come
 * before the text and the calls, and other fields override those of the response, message or candidate:
 *
 *     native: { messages: { before: [{ type: "thinking", thinking: "Hm." }], stop_reason: "pause_turn" } }
 *
 * These three formats show a reply's `reasoning` as an item of reasoning, a block of thinking or a part with a
 * thought. The server signs or encrypts it, and refuses it if it comes back changed. In `native`, leave
 * `signature` and `encrypted_content` out, so that the server writes them. In `gemini`, the first call has the
 * signature, and must come back with it. Its calls cannot have arguments other than an object: a reply with
 * such a call ends with `MALFORMED_FUNCTION_CALL`. In `messages`, a reply always has a usage, if need be of 0 tokens.
 *
 * The server misbehaves on command. For a `ModelFailure` in a script, it does what a real server does in that
 * case:
 *
 * | code              | what the server does                                                |
 * | ----------------- | ------------------------------------------------------------------- |
 * | `cut_off`         | breaks off a reply                                                  |
 * | `malformed_reply` | sends something that is not a reply                                 |
 * | `max_tokens`      | sends a reply that says nothing                                     |
 * | `refused`         | sends a refusal; in Ollama's format, which has none, answers 400    |
 * | `connection`      | resets the connection                                               |
 * | `timeout`         | never answers; if the failure has a status, answers with that       |
 * | any other code    | answers with the failure's status, message and `Retry-After`        |
 *
 * If neither the failure nor its code has a status, the server answers 503, or 501 if the failure is not
 * transient. With `Effect.never`, the server hangs, and with a delayed Effect, it is slow. {@link raw}
 * answers with any body. {@link drop} breaks the connection off after a number of bytes, and {@link stall}
 * hangs after them.
 *
 * This module needs Node, so the package's index does not export it.
 *
 * @since 0.1.0
 */
import { type Model, ModelFailure } from "@fallible/core"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { chatCompletions } from "./internal/chatCompletions.ts"
import type { Asked, Format, Wishes } from "./internal/format.ts"
import { gemini } from "./internal/gemini.ts"
import { parse } from "./internal/json.ts"
import { noTraffic, serve, Stage, type Wire } from "./internal/loopback.ts"
import { messages } from "./internal/messages.ts"
import { ollamaChat } from "./internal/ollamaChat.ts"
import { responses } from "./internal/responses.ts"
import { playable } from "./internal/scriptMove.ts"
import type * as ScriptedModel from "./ScriptedModel.ts"

// -----------------------------------------------------------------------------
// Scripts
// -----------------------------------------------------------------------------

/**
 * One move of a script: a move of {@link ScriptedModel}, or a move that needs a real connection.
 *
 * @category models
 * @since 0.1.0
 */
export type Move = ScriptedModel.Move | Raw | Beginning

/**
 * The moves in order, or a function that returns the move for a request. `index` is the number of earlier
 * requests.
 *
 * @category models
 * @since 0.1.0
 */
export type Script = ReadonlyArray<Move> | ((request: ScriptedModel.Recorded, index: number) => Move)

/**
 * An answer that is sent as it is.
 *
 * @category models
 * @since 0.1.0
 */
export interface Raw {
  readonly _tag: "Raw"
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/**
 * A reply that is sent only up to a number of bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Beginning {
  readonly _tag: "Beginning"
  readonly reply: Model.Reply
  readonly bytes: number
  readonly ending: "drop" | "stall"
}

/**
 * Answers with any body and any status.
 *
 * @category moves
 * @since 0.1.0
 */
export const raw = (
  body: string | Uint8Array,
  options: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {}
): Move => ({ _tag: "Raw", body, status: options.status ?? 200, headers: options.headers ?? {} })

/**
 * Sends the beginning of a reply, and drops the connection.
 *
 * @param bytes how many bytes of the body to send (if negative, how many to leave out at its end)
 * @category moves
 * @since 0.1.0
 */
export const drop = (reply: Model.Reply, bytes: number): Move => ({ _tag: "Beginning", reply, bytes, ending: "drop" })

/**
 * Sends the beginning of a reply, and hangs.
 *
 * @param bytes how many bytes of the body to send (if negative, how many to leave out at its end)
 * @category moves
 * @since 0.1.0
 */
export const stall = (reply: Model.Reply, bytes: number): Move => ({ _tag: "Beginning", reply, bytes, ending: "stall" })

// -----------------------------------------------------------------------------
// The server
// -----------------------------------------------------------------------------

/**
 * How a server plays its script.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * The most bytes in one write; 1 splits every character of several bytes. By default, each piece of the
   * reply is one write.
   */
  readonly split?: number
  /**
   * The key that requests must have. Other requests are answered with 401 (in `gemini` with 400), and the
   * answer quotes the wrong key. By default, requests need no key, and any key is accepted.
   */
  readonly apiKey?: string
  /** The most bytes in a request. A larger request is answered with 413. Default: 1 MiB. */
  readonly maxBytes?: number
}

/**
 * A request as it arrived.
 *
 * @category models
 * @since 0.1.0
 */
export interface Received {
  /** The path, with the query. */
  readonly url: string
  /** The format of the request; absent if there is no endpoint at the path. */
  readonly format?: "gemini" | "messages" | "ollama" | "openai" | "responses"
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: string
  readonly stream: boolean
  /** The content of the request; absent if the request is invalid. */
  readonly asked?: ScriptedModel.Recorded
  /** The problem with an invalid request. */
  readonly problem?: string
}

/**
 * The requests that a server has received, and its current state.
 *
 * @category models
 * @since 0.1.0
 */
export interface State {
  /** All requests, oldest first. */
  readonly requests: ReadonlyArray<Received>
  /** The number of replies that have begun. A reply that breaks off is included; a failure status is not. */
  readonly replies: number
  /** The number of requests whose answer has not ended. */
  readonly open: number
  /** The number of answers whose client hung up before the end. */
  readonly abandoned: number
  /** The number of open connections. */
  readonly connections: number
  /** The number of connections so far. */
  readonly connected: number
}

/**
 * A model server that plays a script.
 *
 * @category services
 * @since 0.1.0
 */
export class FakeModelServer extends Context.Service<FakeModelServer, {
  /** The address: `http://127.0.0.1:40123`. */
  readonly url: string
  readonly state: Effect.Effect<State>
  /** Waits until the state meets a condition. */
  readonly until: (predicate: (state: State) => boolean) => Effect.Effect<State>
  /** Runs an Effect while the server is down. Open connections are closed. */
  readonly whileDown: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}>()("@fallible/testing/FakeModelServer") {}

/**
 * Starts a server, which runs until its scope closes.
 *
 * If the server receives more requests than its script has moves, it answers 501 and says so. A test with one
 * model call too many therefore does not pass by accident.
 *
 * @example
 * ```ts
 * import { Agent, Toolkit } from "@fallible/core"
 * import { OpenAi } from "@fallible/providers"
 * import { ScriptedModel } from "@fallible/testing"
 * import * as FakeModelServer from "@fallible/testing/FakeModelServer"
 * import { Effect } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * const program = Effect.gen(function*() {
 *   const server = yield* FakeModelServer.make([ScriptedModel.text("Hello.")])
 *   const model = OpenAi.layer({ model: "any", baseUrl: `${server.url}/v1` })
 *   const answer = yield* Agent.make({ toolkit: Toolkit.empty }).run("Hello?").pipe(Effect.provide(model))
 *   return [answer.text, (yield* server.state).requests.length]
 * })
 *
 * await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))) // => ["Hello.", 1]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  script: Script,
  options: Options = {}
): Effect.Effect<FakeModelServer["Service"], never, Scope.Scope> =>
  Effect.suspend(() => {
    const stage = new Stage<State>({ ...noTraffic, requests: [], replies: 0 })
    const formats = [chatCompletions, responses(), messages, gemini(), ollamaChat]
    return serve(stage, (wire) => answer({ wire, stage, formats, options }, script), fail)
  })

/**
 * Provides a server: {@link make} as a layer.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (script: Script, options: Options = {}): Layer.Layer<FakeModelServer> =>
  Layer.effect(FakeModelServer, make(script, options))

// -----------------------------------------------------------------------------
// Answering
// -----------------------------------------------------------------------------

interface Exchange {
  readonly wire: Wire
  readonly stage: Stage<State>
  readonly formats: ReadonlyArray<Format>
  readonly options: Options
}

const answer = (exchange: Exchange, script: Script): Effect.Effect<void> =>
  Effect.gen(function*() {
    const { headers, url = "" } = exchange.wire.request
    const format = exchange.formats.find(({ path }) => path.test(url.split("?")[0] ?? ""))
    const body = yield* exchange.wire.body
    if (format === undefined) {
      received(exchange, { url, headers, body, stream: false, problem: "There is no such endpoint." })
      return send(exchange, 404, "{\"error\":\"404 page not found\"}")
    }
    const decoded = check(exchange, format, body)
    const request = { url, format: format.name, headers, body, stream: "wishes" in decoded && decoded.wishes.stream }
    const index = exchange.stage.state.requests.filter(({ asked }) => asked !== undefined).length
    if (!("wishes" in decoded)) {
      received(exchange, { ...request, problem: decoded.detail })
      return send(exchange, decoded.status, format.problem(decoded, decoded.status))
    }
    const { wishes, ...recorded } = decoded
    received(exchange, { ...request, asked: recorded })
    const move = typeof script === "function" ? script(recorded, index) : script[index] ?? exhausted(script.length)
    return yield* play(exchange, format, wishes, playable(move, "a reply"))
  })

const received = ({ stage }: Exchange, request: Received): void =>
  stage.change((state) => ({ ...state, requests: [...state.requests, request] }))

const replied = ({ stage }: Exchange): void => stage.change((state) => ({ ...state, replies: state.replies + 1 }))

// A script is user code. If the script throws, its error is sent as an answer.
const fail = (wire: Wire, defect: unknown): void =>
  wire.send(501, JSON.stringify({ error: { message: `The script failed: ${String(defect)}` } }), json)

interface Wrong {
  readonly status: number
  readonly code: string
  readonly detail: string
}

const check = ({ options, wire: { request } }: Exchange, format: Format, body: string): Asked | Wrong => {
  const { apiKey, maxBytes = 1024 * 1024 } = options
  const { headers, url = "" } = request
  const key = String(headers[format.keyHeader] ?? "").replace(/^Bearer /, "")
  if (apiKey !== undefined && key !== apiKey) {
    const code = "permission_denied"
    return { status: statusOf(format, code) ?? 401, code, detail: `Incorrect API key provided: ${key}` }
  }
  if (Buffer.byteLength(body) > maxBytes) {
    return { status: 413, code: "bad_request", detail: `The request is larger than ${maxBytes} bytes.` }
  }
  const decoded = format.decode(Option.getOrUndefined(parse(body)), { url, headers })
  return typeof decoded === "string" ? { status: 400, code: "bad_request", detail: decoded } : decoded
}

const exhausted = (moves: number) =>
  new ModelFailure({
    code: "script_exhausted",
    detail: `The script has ${moves} ${moves === 1 ? "move" : "moves"}, and the model was asked once more.`,
    transient: false,
    status: 501
  })

// -----------------------------------------------------------------------------
// Playing
// -----------------------------------------------------------------------------

const play = (exchange: Exchange, format: Format, wishes: Wishes, move: Move): Effect.Effect<void> => {
  if (Effect.isEffect(move)) {
    return Effect.match(move, {
      onFailure: (failure) => playFailure(exchange, format, wishes, failure),
      onSuccess: (reply) => sendReply(exchange, format, wishes, reply)
    })
  }
  return Effect.sync(() => {
    if ("calls" in move) sendReply(exchange, format, wishes, move)
    else if (move._tag === "Beginning") sendBeginning(exchange, format, wishes, move)
    else {
      if (move.status < 400) replied(exchange)
      send(exchange, move.status, move.body, move.headers)
    }
  })
}

const sendReply = (exchange: Exchange, format: Format, wishes: Wishes, reply: Model.Reply): void => {
  const pieces = piecesOf(exchange, format, wishes, reply)
  replied(exchange)
  exchange.wire.sendPieces(200, pieces, typeOf(format, wishes))
}

const sendBeginning = (
  exchange: Exchange,
  format: Format,
  wishes: Wishes,
  { bytes, ending, reply }: Omit<Beginning, "_tag">
): void => {
  const body = Buffer.concat(piecesOf(exchange, format, wishes, reply))
  replied(exchange)
  exchange.wire.sendBeginning(200, body.subarray(0, bytes), ending, typeOf(format, wishes))
}

const json = { "content-type": "application/json" }

const typeOf = (format: Format, { stream }: Wishes) => stream ? { "content-type": format.streamType } : json

const piecesOf = (
  { options }: Exchange,
  format: Format,
  wishes: Wishes,
  reply: Model.Reply
): ReadonlyArray<Buffer> => {
  const pieces = wishes.stream ? format.streamed(reply, wishes) : [format.whole(reply, wishes)]
  return pieces.map((piece) => Buffer.from(piece)).flatMap((bytes) => splitBy(bytes, options.split ?? bytes.length))
}

const splitBy = (bytes: Buffer, length: number): ReadonlyArray<Buffer> =>
  Array.from(
    { length: Math.ceil(bytes.length / length) },
    (_, index) => bytes.subarray(index * length, (index + 1) * length)
  )

const playFailure = (exchange: Exchange, format: Format, wishes: Wishes, failure: ModelFailure): void => {
  switch (failure.code) {
    case "connection":
      return exchange.wire.hangUp()
    case "timeout":
      // A timeout of the server itself has a status. Otherwise nothing is sent.
      if (failure.status === undefined) return
      break
    case "cut_off":
      return sendBeginning(exchange, format, wishes, {
        reply: replyToCutOff,
        bytes: format.whole(replyToCutOff, wishes).length / 2,
        ending: "drop"
      })
    case "malformed_reply": {
      replied(exchange)
      const body = `<html>${failure.detail}</html>`
      return send(exchange, 200, wishes.stream ? format.frame(body) : body, { "content-type": "text/html" })
    }
    case "max_tokens":
      return sendReply(exchange, format, wishes, { text: "", calls: [], truncated: true })
    case "refused":
      if (format.refusal === undefined) break
      return sendReply(exchange, format, wishes, format.refusal(failure.detail))
  }
  const status = failure.status ?? statusOf(format, failure.code) ?? (failure.transient ? 503 : 501)
  send(exchange, status, format.problem(failure, status), retryAfter(failure))
}

const statusOf = (format: Format, code: string): number | undefined => format.statuses?.get(code) ?? statuses.get(code)

const replyToCutOff: Model.Reply = { text: "This reply is going to break off before its end.", calls: [] }

const statuses: ReadonlyMap<string, number> = new Map([
  ["bad_request", 400],
  ["context_overflow", 400],
  ["permission_denied", 401],
  ["unknown_model", 404],
  ["quota_exhausted", 429],
  ["rate_limited", 429],
  ["refused", 400]
])

const retryAfter = ({ retryAfter }: ModelFailure): Record<string, string> =>
  retryAfter === undefined ? {} : { "retry-after": String(Math.ceil(Duration.toSeconds(retryAfter))) }

const send = (
  { wire }: Exchange,
  status: number,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {}
): void => wire.send(status, body, { ...json, ...headers })
