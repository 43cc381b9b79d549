/**
 * A service that acts, and loses its answers: what a handler talks to under `ActsOnce.check`.
 *
 *     service.fetch                          for handlers that use fetch, or an HTTP client of Effect on top of it
 *     service.act({ key, body })             for handlers that use a client of their own, of which this stands in for the wire
 *     service.look({ key })                  for a check that asks what has been done
 *
 * Each request that acts meets what the check has planned for it:
 *
 * | fault                      | what happens                                                                |
 * | -------------------------- | --------------------------------------------------------------------------- |
 * | `none`                     | it acts, and answers                                                        |
 * | `dropped`                  | it does nothing, and the connection is lost                                 |
 * | `acted_and_dropped`        | it acts, and the connection is lost                                         |
 * | `dropped_and_acted_later`  | the connection is lost, and it acts after that, up to `lateBy` later        |
 * | `acted_and_answered_500`   | it acts, and answers 500                                                    |
 * | `slow`                     | it acts, and answers, after 3/4 of `lateBy`, whoever has gone until then    |
 * | `answered_503`             | it does nothing, and answers 503                                            |
 * | `answered_429`             | it does nothing, and answers 429 with `Retry-After: 1`                      |
 *
 * A service that goes by keys acts once for each key, and answers the same again. It refuses a key that came with another body (422), and one
 * whose first request is still under way (409).
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

/**
 * What goes wrong with a request.
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
  | "slow"
  | "answered_503"
  | "answered_429"

/**
 * A request to the service.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  /** The idempotency key: over HTTP, the header `Idempotency-Key`. */
  readonly key?: string | undefined
  /** Whatever else it is asked: over HTTP, the body as text. */
  readonly body?: unknown
}

/**
 * The connection was lost. It has the `code` that Node gives such errors, so that `ToolFailure.from` reads it.
 *
 * @category failures
 * @since 0.1.0
 */
export class Dropped extends Data.TaggedError("Dropped")<{ readonly code: "ECONNRESET" }> {}

/**
 * The service answered with a status that is no success. `ToolFailure.from` reads it.
 *
 * @category failures
 * @since 0.1.0
 */
export class Answered extends Data.TaggedError("Answered")<{
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}> {}

/**
 * The service.
 *
 * @category models
 * @since 0.1.0
 */
export interface FakeService {
  /** Acts, unless the plan says otherwise. Succeeds with what the check's `answer` makes of the request. */
  readonly act: (request?: Request) => Effect.Effect<unknown, Dropped | Answered>
  /** Tells what has been done. Succeeds with what the check's `found` makes of it. */
  readonly look: (request?: Request) => Effect.Effect<unknown>
  /** Both over `fetch`: GET and HEAD look, and all other methods act. Answers are JSON. Its time is that of the check. */
  readonly fetch: typeof globalThis.fetch
}

/**
 * What answers are made of.
 *
 * @category models
 * @since 0.1.0
 */
export interface Answers {
  /** What it answers to a request that it has acted on, as JSON. Default: `{ "done": true }`. */
  readonly answer?: (request: Request) => unknown
  /** What it answers to whoever looks. Default: `{ "done": … }`, whether it has acted. */
  readonly found?: (request: Request, hasActed: boolean) => unknown
}
