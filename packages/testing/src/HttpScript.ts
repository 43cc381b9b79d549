/**
 * The script of an HTTP service: what it does with each request.
 *
 * `HttpStub` plays a script in the test's own process, and `HttpStubServer` plays it on loopback. `HttpStub` also exports
 * everything in this module, so a test writes `HttpStub.json`.
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
 * As in HTTP, no body is sent in the answer to a `HEAD`, or with a status of 204, 205 or 304.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"

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
  /** From 200 to 599. Default: 200. */
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
 * If the beginning is the whole body, the answer is complete.
 *
 * @param bytes how many bytes of the body to send (if negative, how many to leave out at its end)
 * @category moves
 * @since 0.1.0
 */
export const drop = (answer: Whole, bytes: number): Beginning => ({ _tag: "Beginning", answer, bytes, ending: "drop" })

/**
 * Sends the beginning of an answer, and closes the connection in good order.
 *
 * If the beginning is the whole body, the answer is complete.
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
 * If the beginning is the whole body, the answer is complete.
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
