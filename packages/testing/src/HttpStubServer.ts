/**
 * A server on loopback that plays a {@link HttpScript}, for tools that make real connections: with the global
 * `fetch`, or with a library of their own.
 *
 *     const server = yield* HttpStubServer.make([HttpStub.status(503), HttpStub.json({ price: 42 })])
 *     const quote = makeQuoteTool({ baseUrl: server.url })
 *
 * A server cannot refuse a connection and yet know of it. So it plays every move of a script except
 * `HttpStub.refused`; `whileDown` refuses all connections for a while.
 *
 * Network traffic takes real time, even under `TestClock`. Wait with `until` for a request before you let virtual
 * time pass. If a tool uses Effect's `HttpClient`, or takes a `fetch` as a parameter, prefer `HttpStub`.
 *
 * This module needs Node, so the package's index does not export it.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as HttpScript from "./HttpScript.ts"
import { Play, type Played, receivedOf } from "./internal/httpPlay.ts"
import { noTraffic, serve, Stage, type Wire } from "./internal/loopback.ts"

/**
 * What the server can do with a request: all that a stub can do, except to refuse the connection.
 *
 * @category models
 * @since 0.1.0
 */
export type Answer = Exclude<HttpScript.Answer, HttpScript.Refused>

/**
 * The requests that a server has received, and its current state.
 *
 * @category models
 * @since 0.1.0
 */
export interface State {
  /** All requests, oldest first. */
  readonly requests: ReadonlyArray<HttpScript.Received>
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
 * A server that plays a script.
 *
 * @category services
 * @since 0.1.0
 */
export class HttpStubServer extends Context.Service<HttpStubServer, {
  /** The address: `http://127.0.0.1:40123`. */
  readonly url: string
  readonly state: Effect.Effect<State>
  /** Waits until the state meets a condition. */
  readonly until: (predicate: (state: State) => boolean) => Effect.Effect<State>
  /** Runs an Effect while the server is down: connections are refused, and those that are open are closed. */
  readonly whileDown: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}>()("@fallible/testing/HttpStubServer") {}

/**
 * Starts a server, which runs until its scope closes.
 *
 * When to use: to test a tool over real HTTP. If there are more requests than moves, if the script throws, or if
 * an answer has an invalid status or header, the server answers 501. When its scope closes, it dies with an error that
 * says so.
 *
 * @example
 * ```ts
 * import { RetryPolicy, Tool } from "@fallible/core"
 * import { HttpStub } from "@fallible/testing"
 * import * as HttpStubServer from "@fallible/testing/HttpStubServer"
 * import { Effect, Schema } from "effect"
 *
 * const Quote = Schema.Struct({ price: Schema.Finite })
 *
 * const program = Effect.gen(function*() {
 *   const server = yield* HttpStubServer.make([HttpStub.status(503), HttpStub.json({ price: 42 })])
 *   const quote = Tool.promise("get_quote", {
 *     description: "What a share costs",
 *     parameters: Schema.Struct({ symbol: Schema.String }),
 *     success: Quote,
 *     sideEffect: "none"
 *   }, async ({ symbol }, { signal }) => {
 *     const response = await fetch(`${server.url}/quotes?symbol=${symbol}`, { signal })
 *     if (!response.ok) throw response
 *     return await response.json() as typeof Quote.Type
 *   }).pipe(Tool.retry(RetryPolicy.transient))
 *   const { price } = yield* quote.run({ symbol: "ACME" })
 *   return { price, queries: (yield* server.state).requests.map(({ query }) => query) }
 * })
 *
 * await Effect.runPromise(Effect.scoped(program))
 * // => { price: 42, queries: [{ symbol: "ACME" }, { symbol: "ACME" }] }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  script: HttpScript.Script<Answer>
): Effect.Effect<HttpStubServer["Service"], never, Scope.Scope> =>
  Effect.gen(function*() {
    const play = yield* Play.make(script)
    const stage = new Stage<State>({ ...noTraffic, requests: [] })
    return yield* serve(stage, (wire) =>
      answer(wire, play, stage), (wire, defect) =>
      send(wire, play.failed(wire.request.method ?? "GET", defect)))
  })

/**
 * Provides a server: {@link make} as a layer.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (script: HttpScript.Script<Answer>): Layer.Layer<HttpStubServer> =>
  Layer.effect(HttpStubServer, make(script))

const answer = (wire: Wire, play: Play, stage: Stage<State>): Effect.Effect<void> =>
  Effect.gen(function*() {
    const { headers, method = "GET", url = "/" } = wire.request
    const lines = Object.entries(headers).map(([name, value]) => [name, String(value)] as const)
    const address = new URL(url, `http://${headers.host ?? "127.0.0.1"}`)
    const request = receivedOf(method, address, Object.fromEntries(lines), yield* wire.body)
    stage.change((state) => ({ ...state, requests: [...state.requests, request] }))
    send(wire, yield* play.next(request))
  })

const send = (wire: Wire, played: Played): void => {
  switch (played._tag) {
    case "Sent": {
      const { body = "", broken, headers, status } = played
      return broken === undefined
        ? wire.send(status, body, headers)
        : wire.sendBeginning(status, body, broken.ending, { ...headers, "content-length": broken.length })
    }
    case "Reset":
      return wire.hangUp()
    case "Refused":
      throw new TypeError("A server cannot refuse a connection that it has accepted: use whileDown.")
  }
}
