/**
 * A fake of a service that acts (has side effects), and whose answers may be lost. Handlers call it in
 * `ActsOnce.check`.
 *
 *     service.fetch                          for handlers that use fetch, or Effect's HTTP client on top of fetch
 *     service.act({ key, body })             for handlers with their own client, in place of that client's connection
 *     service.look({ key })                  for looking up whether the service has acted
 *
 * The check plans a fault for each request to act:
 *
 * | fault                      | what happens                                                                |
 * | -------------------------- | --------------------------------------------------------------------------- |
 * | `none`                     | the service acts, and answers                                               |
 * | `dropped`                  | the service does nothing, and the connection is lost                        |
 * | `acted_and_dropped`        | the service acts, and the connection is lost                                |
 * | `dropped_and_acted_later`  | the connection is lost, and the service acts up to `lateBy` later           |
 * | `acted_and_answered_500`   | the service acts, and answers 500, 502, 503 or 504                          |
 * | `acted_and_answered_text`  | the service acts, and answers 200 with a sentence in place of its answer    |
 * | `slow`                     | the service acts and answers after 3/4 of `lateBy`, even if the caller left |
 * | `refused`                  | the service does nothing, and answers 402, 404, 409 or 422                  |
 * | `answered_503`             | the service does nothing, and answers 503                                   |
 * | `answered_429`             | the service does nothing, and answers 429 with `Retry-After: 1`             |
 *
 * A fault may hit any request of a handler: also its second one, after the first has acted. In some sequences, requests
 * that only read are refused, too, if the handler sends them by `fetch`: with 402, 404, 409 or 422 if nothing else goes
 * wrong, and otherwise with 500, 503, 403 or 429.
 *
 * An answer that is not a success has a sentence in its body: `{ "message": "Zahlung fehlgeschlagen." }`. Its language
 * changes from sequence to sequence. A handler may throw this sentence, but must not trust it: the service says the same
 * after it has acted.
 *
 * A service that honours keys acts once for each key, and repeats its answer, even if it has refused. If the key comes
 * with a different body, the service answers 422. If the first request with the key is still running, it answers
 * 409.
 *
 * The service notes each request in the record of the handler that sends it, and how it ended (`ToolCall.noteRequest`).
 * So the library sees the same requests as over real HTTP.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/**
 * The fault that the check plans for a request.
 *
 * @category models
 * @since 0.1.0
 */
export type Fault =
  | "none"
  | "dropped"
  | "acted_and_dropped"
  | "dropped_and_acted_later"
  | "acted_and_answered_500"
  | "acted_and_answered_text"
  | "slow"
  | "refused"
  | "answered_503"
  | "answered_429"

/**
 * A request to the service.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  /** The method. Default: POST, if the request acts. */
  readonly method?: string | undefined
  /** The address. Default: `http://service.test/`. If the tool declares which requests act (`acts`), give one of those. */
  readonly url?: string | undefined
  /** The idempotency key: over HTTP, the header `Idempotency-Key`, or what the option `keyOf` of the check says. */
  readonly key?: string | undefined
  /** The headers, over HTTP. Their names are in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The rest of the request: over HTTP, the body as text. */
  readonly body?: unknown
}

/**
 * The connection was lost. This error has the `code` of Node's own errors, so `ToolFailure.from` recognizes
 * it.
 *
 * @category failures
 * @since 0.1.0
 */
export class Dropped extends Data.TaggedError("Dropped")<{ readonly code: "ECONNRESET" }> {}

/**
 * The service answered with a status that is not a success. `ToolFailure.from` recognizes this error by its
 * status.
 *
 * @category failures
 * @since 0.1.0
 */
export class Answered extends Data.TaggedError("Answered")<{
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** What the service says. Over HTTP, it is the field `message` of the body. */
  readonly message: string
}> {}

/**
 * The service, as a handler sees it.
 *
 * @category models
 * @since 0.1.0
 */
export interface FakeService {
  /** Acts, unless the plan says otherwise. Succeeds with the result of the check's option `answer`. */
  readonly act: (request?: Request) => Effect.Effect<unknown, Dropped | Answered>
  /** Looks up whether the service has acted. Succeeds with the result of the check's option `found`: `undefined` if nothing is found. */
  readonly look: (request?: Request) => Effect.Effect<unknown>
  /**
   * Offers `act` and `look` over `fetch`: GET and HEAD look, and all other methods act. Answers are JSON.
   * Delays use the clock of the check.
   */
  readonly fetch: typeof globalThis.fetch
}

/**
 * How the service answers.
 *
 * @category models
 * @since 0.1.0
 */
export interface Answers {
  /**
   * The JSON of the answer to a request on which the service has acted, or a function that makes it. Set it if
   * your tool reads the answer. Default: `{ "done": true }`.
   */
  readonly answer?: Schema.Json | ((request: Request) => unknown)
  /**
   * Makes the JSON of the answer to `look`; `undefined` if nothing is found, which is a 404 over `fetch`. `acted` has the
   * requests on which the service has acted, the earliest first. If the look has a key, it has only those with this key,
   * and `hasActed` is about them. Default: `{ "done": true }` if the service has acted, otherwise `undefined`.
   */
  readonly found?: (request: Request, hasActed: boolean, acted: ReadonlyArray<Request>) => unknown
}
