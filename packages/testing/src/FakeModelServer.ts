/**
 * A model server on loopback that plays a script: the same scripts as {@link ScriptedModel}, over real HTTP, in
 * OpenAI's format (`/v1/chat/completions`) and in Ollama's (`/api/chat`), whole and streamed.
 *
 *     const server = yield* FakeModelServer.make([ScriptedModel.call("ping"), ScriptedModel.text("Pong.")])
 *     agent.run("Ping!").pipe(Effect.provide(OpenAi.layer({ model: "any", baseUrl: `${server.url}/v1` })))
 *
 * It checks requests where real servers are strict, and answers a wrong one with 400: every call has its
 * result, roles and names are valid, arguments are an object, and no body is too large.
 *
 * It misbehaves on command. A `ModelFailure` in a script becomes what a server does when that happens: a status with its
 * message and `Retry-After`, a reply that breaks off (`cut_off`) or is none (`malformed_reply`), that says nothing (`max_tokens`) or no
 * (`refused`), a connection that is reset (`connection`), an answer that never comes (`timeout`). What no server knows of is a
 * 503, or a 501 when it is not transient. `Effect.never` hangs, and a delayed Effect is slow. {@link raw} answers any body at all; {@link drop} breaks
 * off where it is told to, and {@link stall} hangs there.
 *
 * It needs Node, and is no part of the index.
 *
 * @since 0.1.0
 */
import { type Model, ModelFailure } from "@fallible/core"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Http from "node:http"
import { chatCompletions } from "./internal/chatCompletions.ts"
import type { Asked, Format } from "./internal/format.ts"
import { parse } from "./internal/json.ts"
import { playable } from "./internal/move.ts"
import { ollamaChat } from "./internal/ollamaChat.ts"
import type * as ScriptedModel from "./ScriptedModel.ts"

// -----------------------------------------------------------------------------
// Scripts
// -----------------------------------------------------------------------------

/**
 * One move of a script: one of {@link ScriptedModel}'s, or a misbehaviour that only a wire has.
 *
 * @category models
 * @since 0.1.0
 */
export type Move = ScriptedModel.Move | Raw | Beginning

/**
 * The moves in order, or a function from what is asked, and how often it was asked before.
 *
 * @category models
 * @since 0.1.0
 */
export type Script = ReadonlyArray<Move> | ((request: ScriptedModel.Recorded, index: number) => Move)

/**
 * An answer as it stands.
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
 * A reply of which the beginning comes.
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
 * Answers any body, under any status.
 *
 * @category moves
 * @since 0.1.0
 */
export const raw = (
  body: string | Uint8Array,
  options: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {}
): Move => ({ _tag: "Raw", body, status: options.status ?? 200, headers: options.headers ?? {} })

/**
 * Begins a reply, and drops the connection.
 *
 * @param bytes how many bytes of the body are sent first, at most all of them; below 0, all but so many
 * @category moves
 * @since 0.1.0
 */
export const drop = (reply: Model.Reply, bytes: number): Move => ({ _tag: "Beginning", reply, bytes, ending: "drop" })

/**
 * Begins a reply, and hangs.
 *
 * @param bytes how many bytes of the body are sent first, at most all of them; below 0, all but so many
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
  /** The most bytes of one write: 1 splits every character that can be split. Default: a piece of the reply. */
  readonly split?: number
  /** Requests without it are answered with 401, in which the wrong key is quoted. Default: any key, or none. */
  readonly apiKey?: string
  /** The most bytes of a request; more are answered with 413. Default: 1 MiB. */
  readonly maxBytes?: number
}

/**
 * A request as it came.
 *
 * @category models
 * @since 0.1.0
 */
export interface Received {
  /** The path, with the query. */
  readonly url: string
  /** Absent where there is no endpoint. */
  readonly format?: "ollama" | "openai"
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: string
  readonly stream: boolean
  /** What it asks for. Absent when something was wrong with it. */
  readonly asked?: ScriptedModel.Recorded
  /** What was wrong with it. */
  readonly problem?: string
}

/**
 * What a server has seen, and what it is at.
 *
 * @category models
 * @since 0.1.0
 */
export interface State {
  /** Every request, oldest first. */
  readonly requests: ReadonlyArray<Received>
  /** How many replies were begun; a status of failure is no reply, one that breaks off is. */
  readonly replies: number
  /** How many requests wait for the end of their answer. */
  readonly open: number
  /** How many answers nobody waited for. */
  readonly abandoned: number
  /** How many connections there are. */
  readonly connections: number
  /** How many connections there were. */
  readonly connected: number
}

/**
 * A model server that plays a script.
 *
 * @category services
 * @since 0.1.0
 */
export class FakeModelServer extends Context.Service<FakeModelServer, {
  /** Where it is: `http://127.0.0.1:40123`. */
  readonly url: string
  readonly state: Effect.Effect<State>
  /** Waits for a state. */
  readonly until: (predicate: (state: State) => boolean) => Effect.Effect<State>
  /** Runs an Effect while nobody listens there; those that were connected are thrown out. */
  readonly whileDown: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}>()("@fallible/testing/FakeModelServer") {}

/**
 * A server for as long as its scope.
 *
 * Asked more often than its script has moves, it answers 501 and says so: a run that takes one model call too many
 * does not pass by accident.
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
  Effect.gen(function*() {
    const stage = new Stage()
    const fork = Effect.runForkWith(yield* Effect.context())
    const server = Http.createServer((request, response) => {
      const exchange: Exchange = { request, response, stage, options, dropped: false }
      stage.change(({ open }) => ({ open: open + 1 }))
      const fiber = fork(answer(exchange, script))
      // Looked at from outside: an Effect that breaks its fiber is not caught inside of it.
      fiber.addObserver((exit) => {
        if (Exit.isFailure(exit) && !response.destroyed) fail(exchange, Cause.squash(exit.cause))
      })
      response.once("close", () => {
        const abandoned = response.writableFinished || exchange.dropped ? 0 : 1
        stage.change((state) => ({ open: state.open - 1, abandoned: state.abandoned + abandoned }))
        // Whoever hung up is not worked for.
        fork(Fiber.interrupt(fiber))
      })
    })
    server.on("connection", (socket) => {
      stage.change(({ connected, connections }) => ({ connections: connections + 1, connected: connected + 1 }))
      socket.once("close", () => stage.change(({ connections }) => ({ connections: connections - 1 })))
    })
    const port = yield* Effect.acquireRelease(listen(server, 0), () => close(server))
    return {
      url: `http://127.0.0.1:${port}`,
      state: Effect.sync(() => stage.state),
      until: (predicate) => stage.until(predicate),
      whileDown: (self) => Effect.acquireUseRelease(close(server), () => self, () => listen(server, port))
    }
  })

/**
 * {@link make} as a layer.
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
  readonly request: Http.IncomingMessage
  readonly response: Http.ServerResponse
  readonly stage: Stage
  readonly options: Options
  /** Did the server hang up itself? */
  dropped: boolean
}

const formats: ReadonlyArray<Format> = [chatCompletions, ollamaChat]

const answer = (exchange: Exchange, script: Script): Effect.Effect<void> =>
  Effect.gen(function*() {
    const { headers, url = "" } = exchange.request
    const format = formats.find(({ path }) => path === url.split("?")[0])
    const body = yield* bodyOf(exchange.request)
    if (format === undefined) {
      exchange.stage.received({ url, headers, body, stream: false, problem: "There is no such endpoint." })
      return send(exchange, 404, "{\"error\":\"404 page not found\"}")
    }
    const asked = check(exchange, format, body)
    const received = { url, format: format.name, headers, body, stream: "stream" in asked && asked.stream }
    const index = exchange.stage.state.requests.filter(({ asked }) => asked !== undefined).length
    if (!("messages" in asked)) {
      exchange.stage.received({ ...received, problem: asked.detail })
      return send(exchange, asked.status, format.problem(asked))
    }
    const { stream, usage, ...recorded } = asked
    exchange.stage.received({ ...received, asked: recorded })
    const move = typeof script === "function" ? script(recorded, index) : script[index] ?? exhausted(script.length)
    return yield* perform(exchange, format, { stream, usage }, playable(move))
  })

// A script is somebody's code: what it throws is said, and not waited for.
const fail = (exchange: Exchange, defect: unknown): void =>
  exchange.response.headersSent
    ? hangUp(exchange)
    : send(exchange, 501, JSON.stringify({ error: { message: `The script failed: ${String(defect)}` } }))

const bodyOf = (request: Http.IncomingMessage): Effect.Effect<string> =>
  Effect.callback<string>((resume) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => resume(Effect.succeed(Buffer.concat(chunks).toString("utf8"))))
  })

interface Wrong {
  readonly status: number
  readonly code: string
  readonly detail: string
}

const check = ({ options, request: { headers } }: Exchange, format: Format, body: string): Asked | Wrong => {
  const { apiKey, maxBytes = 1024 * 1024 } = options
  const given = headers.authorization?.replace(/^Bearer /, "") ?? ""
  if (apiKey !== undefined && given !== apiKey) {
    return { status: 401, code: "permission_denied", detail: `Incorrect API key provided: ${given}` }
  }
  if (Buffer.byteLength(body) > maxBytes) {
    return { status: 413, code: "bad_request", detail: `The request is larger than ${maxBytes} bytes.` }
  }
  const asked = format.decode(Option.getOrUndefined(parse(body)))
  return typeof asked === "string" ? { status: 400, code: "bad_request", detail: asked } : asked
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

type Streaming = Pick<Asked, "stream" | "usage">

const perform = (exchange: Exchange, format: Format, asked: Streaming, move: Move): Effect.Effect<void> => {
  if (Effect.isEffect(move)) {
    return Effect.match(move, {
      onFailure: (failure) => misbehave(exchange, format, asked, failure),
      onSuccess: (reply) => say(exchange, format, asked, reply)
    })
  }
  return Effect.sync(() => {
    if ("calls" in move) say(exchange, format, asked, move)
    else if (move._tag === "Beginning") sayBeginning(exchange, format, asked, move)
    else {
      if (move.status < 400) exchange.stage.replied()
      send(exchange, move.status, move.body, move.headers)
    }
  })
}

const say = (exchange: Exchange, format: Format, asked: Streaming, reply: Model.Reply): void => {
  const { response, stage } = exchange
  const pieces = piecesOf(exchange, format, asked, reply)
  stage.replied()
  begin(exchange, format, asked)
  for (const piece of pieces) response.write(piece)
  response.end()
}

const sayBeginning = (
  exchange: Exchange,
  format: Format,
  asked: Streaming,
  { bytes, ending, reply }: Omit<Beginning, "_tag">
): void => {
  const body = Buffer.concat(piecesOf(exchange, format, asked, reply))
  exchange.stage.replied()
  begin(exchange, format, asked)
  exchange.response.write(body.subarray(0, bytes), () => {
    if (ending === "drop") hangUp(exchange)
  })
}

const begin = ({ response }: Exchange, format: Format, { stream }: Streaming): void => {
  response.writeHead(200, { "content-type": stream ? format.streamType : "application/json" })
}

const piecesOf = (
  { options }: Exchange,
  format: Format,
  asked: Streaming,
  reply: Model.Reply
): ReadonlyArray<Buffer> => {
  const pieces = asked.stream ? format.streamed(reply, asked) : [format.whole(reply)]
  return pieces.map((piece) => Buffer.from(piece)).flatMap((bytes) => splitBy(bytes, options.split ?? bytes.length))
}

const splitBy = (bytes: Buffer, length: number): ReadonlyArray<Buffer> =>
  Array.from(
    { length: Math.ceil(bytes.length / length) },
    (_, index) => bytes.subarray(index * length, (index + 1) * length)
  )

const misbehave = (exchange: Exchange, format: Format, asked: Streaming, failure: ModelFailure): void => {
  switch (failure.code) {
    case "connection":
      return hangUp(exchange)
    case "timeout":
      // A status, when it is the server's; else nothing at all.
      if (failure.status === undefined) return
      break
    case "cut_off":
      return sayBeginning(exchange, format, asked, {
        reply: halfSaid,
        bytes: format.whole(halfSaid).length / 2,
        ending: "drop"
      })
    case "malformed_reply": {
      exchange.stage.replied()
      const body = `<html>${failure.detail}</html>`
      return send(exchange, 200, asked.stream ? format.frame(body) : body, { "content-type": "text/html" })
    }
    case "max_tokens":
      return say(exchange, format, asked, { text: "", calls: [], truncated: true })
    case "refused":
      if (format.refusal === undefined) break
      return say(exchange, format, asked, format.refusal(failure.detail))
  }
  const status = failure.status ?? statuses.get(failure.code) ?? (failure.transient ? 503 : 501)
  send(exchange, status, format.problem(failure), retryAfter(failure))
}

const halfSaid: Model.Reply = { text: "This reply is going to break off before its end.", calls: [] }

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
  { response }: Exchange,
  status: number,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {}
): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(body)
}

const hangUp = (exchange: Exchange): void => {
  exchange.dropped = true
  exchange.request.socket.resetAndDestroy()
}

// -----------------------------------------------------------------------------
// What is seen
// -----------------------------------------------------------------------------

class Stage {
  state: State = { requests: [], replies: 0, open: 0, abandoned: 0, connections: 0, connected: 0 }
  readonly #waiting = new Set<() => void>()

  change(f: (state: State) => Partial<State>): void {
    this.state = { ...this.state, ...f(this.state) }
    for (const look of this.#waiting) look()
  }

  received(request: Received): void {
    this.change(({ requests }) => ({ requests: [...requests, request] }))
  }

  replied(): void {
    this.change(({ replies }) => ({ replies: replies + 1 }))
  }

  until(predicate: (state: State) => boolean): Effect.Effect<State> {
    return Effect.callback<State>((resume) => {
      const look = () => {
        if (predicate(this.state)) {
          this.#waiting.delete(look)
          resume(Effect.succeed(this.state))
        }
      }
      this.#waiting.add(look)
      look()
      return Effect.sync(() => this.#waiting.delete(look))
    })
  }
}

// -----------------------------------------------------------------------------
// Listening
// -----------------------------------------------------------------------------

const listen = (server: Http.Server, port: number): Effect.Effect<number> =>
  Effect.callback<number>((resume) => {
    const onError = (fault: Error) => resume(Effect.die(fault))
    server.once("error", onError)
    server.listen(port, "127.0.0.1", () => {
      server.off("error", onError)
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const close = (server: Http.Server): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })
