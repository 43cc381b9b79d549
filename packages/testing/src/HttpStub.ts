/**
 * A stub for the HTTP services behind tools. It plays a script: answers as data, or a function of the request.
 *
 *     const script = [HttpStub.status(503, { "retry-after": "1" }), HttpStub.json({ price: 42 })]
 *     quote.run({ symbol: "ACME" }).pipe(Effect.provide(HttpStub.layer(script)))
 *
 * The stub answers in the test's own process: it opens no socket, and its delays use Effect's `Clock`, so it works
 * under `TestClock`. It serves Effect's `HttpClient`, and `fetch` where a tool takes that as a parameter. For tools
 * that call the global `fetch`, or a library with its own connections, `HttpStubServer` plays the same script on
 * loopback.
 *
 * | move                                      | what the caller sees                                           |
 * | ----------------------------------------- | -------------------------------------------------------------- |
 * | {@link json}, {@link text}, {@link bytes} | an answer with this body                                       |
 * | {@link status}                            | an answer without a body, for example a 503 with `Retry-After` |
 * | {@link refused}                           | the connection is refused, so nothing was done                 |
 * | {@link reset}                             | the connection is reset before an answer                       |
 * | {@link drop}                              | the connection is reset in the middle of the body              |
 * | {@link close}                             | the connection is closed before the body is complete           |
 * | {@link stall}                             | the body begins, and then nothing more arrives                 |
 * | `Effect.never`                            | the request hangs                                              |
 * | a delayed Effect of an answer             | the answer is slow                                             |
 *
 * The stub records every request. If there are more requests than moves, each further request is answered with 501.
 * When the stub's scope closes, it then dies with an error that names these requests. It does the same if the
 * script throws. So such a test fails, even if the tool has a fallback.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import { effectFetch } from "./internal/effectFetch.ts"
import { Play, receivedOf } from "./internal/httpPlay.ts"
import { clientResponse, lost, requestText, webResponse } from "./internal/httpResponse.ts"

// -----------------------------------------------------------------------------
// Scripts
// -----------------------------------------------------------------------------

/**
 * A complete answer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Whole {
  readonly _tag: "Whole"
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/**
 * An answer whose body is sent only up to a number of bytes. Then the connection is reset (`drop`), closed
 * (`close`), or silent (`stall`).
 *
 * @category models
 * @since 0.1.0
 */
export interface Beginning {
  readonly _tag: "Beginning"
  readonly answer: Whole
  readonly bytes: number
  readonly ending: "close" | "drop" | "stall"
}

/**
 * A connection that is refused.
 *
 * @category models
 * @since 0.1.0
 */
export interface Refused {
  readonly _tag: "Refused"
}

/**
 * A connection that is reset before an answer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reset {
  readonly _tag: "Reset"
}

/**
 * What the service does with a request.
 *
 * @category models
 * @since 0.1.0
 */
export type Answer = Whole | Beginning | Refused | Reset

/**
 * One move of a script: an answer, or an Effect that makes one.
 *
 * @category models
 * @since 0.1.0
 */
export type Move<A = Answer> = A | Effect.Effect<A>

/**
 * The moves in order, or a function that returns the move for a request. `index` is the number of earlier
 * requests.
 *
 * @category models
 * @since 0.1.0
 */
export type Script<A = Answer> = ReadonlyArray<Move<A>> | ((request: Received, index: number) => Move<A>)

/**
 * A request as the service received it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Received {
  readonly method: string
  /** The whole address, with its host and query. */
  readonly url: string
  /** The path, without the query. */
  readonly path: string
  /** The parameters of the query. A parameter that is repeated is a list. */
  readonly query: Readonly<Record<string, string | ReadonlyArray<string>>>
  /** The headers. Their names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The body, as text. */
  readonly body: string
}

/**
 * Options of an answer.
 *
 * @category models
 * @since 0.1.0
 */
export interface AnswerOptions {
  /** Default: 200. */
  readonly status?: number
  /** Further headers. Write their names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Answers with a value as JSON.
 *
 * @category moves
 * @since 0.1.0
 */
export const json = (value: unknown, options: AnswerOptions = {}): Whole =>
  whole(JSON.stringify(value), options, "application/json")

/**
 * Answers with a text.
 *
 * @category moves
 * @since 0.1.0
 */
export const text = (body: string, options: AnswerOptions = {}): Whole =>
  whole(body, options, "text/plain;charset=UTF-8")

/**
 * Answers with bytes.
 *
 * @category moves
 * @since 0.1.0
 */
export const bytes = (body: Uint8Array, options: AnswerOptions = {}): Whole =>
  whole(body, options, "application/octet-stream")

/**
 * Answers with a status and no body.
 *
 * @category moves
 * @since 0.1.0
 */
export const status = (status: number, headers: Readonly<Record<string, string>> = {}): Whole => ({
  _tag: "Whole",
  status,
  headers,
  body: ""
})

const whole = (body: string | Uint8Array, options: AnswerOptions, type: string): Whole => ({
  _tag: "Whole",
  status: options.status ?? 200,
  headers: { "content-type": type, ...options.headers },
  body
})

/**
 * Refuses the connection.
 *
 * `HttpStubServer` cannot play this move, because a server has accepted the connection before it can read the
 * request. Use its `whileDown` instead.
 *
 * @category moves
 * @since 0.1.0
 */
export const refused: Refused = { _tag: "Refused" }

/**
 * Resets the connection before an answer. The caller cannot know whether the service did its work.
 *
 * @category moves
 * @since 0.1.0
 */
export const reset: Reset = { _tag: "Reset" }

/**
 * Sends the beginning of an answer, and resets the connection.
 *
 * @param bytes how many bytes of the body to send (if negative, how many to leave out at its end)
 * @category moves
 * @since 0.1.0
 */
export const drop = (answer: Whole, bytes: number): Beginning => ({ _tag: "Beginning", answer, bytes, ending: "drop" })

/**
 * Sends the beginning of an answer, and closes the connection in good order.
 *
 * @param bytes how many bytes of the body to send (if negative, how many to leave out at its end)
 * @category moves
 * @since 0.1.0
 */
export const close = (answer: Whole, bytes: number): Beginning => ({
  _tag: "Beginning",
  answer,
  bytes,
  ending: "close"
})

/**
 * Sends the beginning of an answer, and hangs.
 *
 * @param bytes how many bytes of the body to send (if negative, how many to leave out at its end)
 * @category moves
 * @since 0.1.0
 */
export const stall = (answer: Whole, bytes: number): Beginning => ({
  _tag: "Beginning",
  answer,
  bytes,
  ending: "stall"
})

// -----------------------------------------------------------------------------
// The stub
// -----------------------------------------------------------------------------

/**
 * The stub, as a test sees it.
 *
 * @category services
 * @since 0.1.0
 */
export class HttpStub extends Context.Service<HttpStub, {
  /** All requests, oldest first. */
  readonly requests: Effect.Effect<ReadonlyArray<Received>>
  /**
   * The stub as a `fetch`, for tools that take one as a parameter. It fails with the errors of Node's own `fetch`,
   * but it does not follow redirects.
   */
  readonly fetch: typeof globalThis.fetch
}>()("@fallible/testing/HttpStub") {}

/**
 * Provides a stub: `HttpClient` for the tool, {@link HttpStub} for the test.
 *
 * When to use: to test what a tool does if its service fails. Each build of the layer plays the script from its
 * start.
 *
 * @example
 * ```ts
 * import { Guard, RetryPolicy, Tool } from "@fallible/core"
 * import * as HttpFailure from "@fallible/core/HttpFailure"
 * import { HttpStub } from "@fallible/testing"
 * import { Effect, Fiber, Schema } from "effect"
 * import { HttpClient, HttpClientResponse } from "effect/http"
 * import { TestClock } from "effect/testing"
 *
 * const Quote = Schema.Struct({ price: Schema.Finite })
 *
 * const quote = Tool.make("get_quote", {
 *   description: "What a share costs",
 *   parameters: Schema.Struct({ symbol: Schema.String }),
 *   success: Quote,
 *   sideEffect: "none"
 * }, ({ symbol }) =>
 *   HttpClient.get(`https://quotes.example/${symbol}`).pipe(
 *     Effect.flatMap(HttpClientResponse.filterStatusOk),
 *     Effect.flatMap((response) => response.text),
 *     HttpFailure.classify,
 *     Guard.json(Quote)
 *   )).pipe(Tool.retry(RetryPolicy.transient))
 *
 * const program = Effect.gen(function*() {
 *   const { requests } = yield* HttpStub.HttpStub
 *   const fiber = yield* Effect.forkChild(quote.run({ symbol: "ACME" }))
 *   yield* TestClock.adjust("999 millis")
 *   const before = (yield* requests).length
 *   yield* TestClock.adjust("1 milli")
 *   const { price } = yield* Fiber.join(fiber)
 *   return { before, price, paths: (yield* requests).map(({ path }) => path) }
 * })
 *
 * const script = [HttpStub.status(503, { "retry-after": "1" }), HttpStub.json({ price: 42 })]
 * await Effect.runPromise(program.pipe(Effect.provide(HttpStub.layer(script)), Effect.provide(TestClock.layer())))
 * // => { before: 1, price: 42, paths: ["/ACME", "/ACME"] }
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (script: Script): Layer.Layer<HttpClient.HttpClient | HttpStub> =>
  Layer.effectContext(Effect.gen(function*() {
    const play = yield* Play.make(script)
    const client = HttpClient.make((request, url) =>
      requestText(request.body).pipe(
        Effect.flatMap((body) => play.next(receivedOf(request.method, url, request.headers, body))),
        Effect.flatMap((answer) => clientResponse(request, answer))
      )
    )
    const fetch = effectFetch(yield* Effect.context(), ({ headers, method, signal, url }, body) =>
      Effect.flatMap(
        play.next(receivedOf(method, new URL(url), Object.fromEntries(headers), body)),
        (answer) =>
          answer._tag === "Refused" || answer._tag === "Reset"
            ? Effect.fail(lost(answer))
            : Effect.sync(() => webResponse(answer, signal))
      ))
    return Context.make(HttpClient.HttpClient, client).pipe(
      Context.add(HttpStub, { requests: play.requests, fetch })
    )
  }))
