/**
 * A service that acts, and may lose its answers. Handlers talk to it under `ActsOnce.check`.
 *
 *     service.fetch                          for handlers with fetch, or with an HTTP client of Effect on top of it
 *     service.act({ key, body })             for handlers with a client of their own, in place of its connection
 *     service.look({ key })                  for checks of what has been done
 *
 * Each request to act meets what the check has planned for it:
 *
 * | fault                      | what happens                                                                |
 * | -------------------------- | --------------------------------------------------------------------------- |
 * | `none`                     | it acts, and answers                                                        |
 * | `dropped`                  | it does nothing, and the connection is lost                                 |
 * | `acted_and_dropped`        | it acts, and the connection is lost                                         |
 * | `dropped_and_acted_later`  | the connection is lost, and it acts after that, up to `lateBy` later        |
 * | `acted_and_answered_500`   | it acts, and answers 500                                                    |
 * | `slow`                     | it acts and answers after 3/4 of `lateBy`, even if the caller has gone      |
 * | `answered_503`             | it does nothing, and answers 503                                            |
 * | `answered_429`             | it does nothing, and answers 429 with `Retry-After: 1`                      |
 *
 * A service that honours keys acts once for each key, and repeats its answer. It refuses a key that comes
 * with another body (422), and a key whose first request is still running (409).
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

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
  /** The rest of the request: over HTTP, the body as text. */
  readonly body?: unknown
}

/**
 * The connection was lost. It has the `code` of Node's own errors, so `ToolFailure.from` recognizes it.
 *
 * @category failures
 * @since 0.1.0
 */
export class Dropped extends Data.TaggedError("Dropped")<{ readonly code: "ECONNRESET" }> {}

/**
 * The service answered with a status that is not a success. `ToolFailure.from` recognizes it.
 *
 * @category failures
 * @since 0.1.0
 */
export class Answered extends Data.TaggedError("Answered")<{
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}> {}

/**
 * The service, as a handler sees it.
 *
 * @category models
 * @since 0.1.0
 */
export interface FakeService {
  /** Acts, unless the plan says otherwise. Succeeds with the result of the check's `answer`. */
  readonly act: (request?: Request) => Effect.Effect<unknown, Dropped | Answered>
  /** Looks up whether the service has acted. Succeeds with the result of the check's `found`. */
  readonly look: (request?: Request) => Effect.Effect<unknown>
  /**
   * Does both over `fetch`: GET and HEAD look, and all other methods act. Answers are JSON. It uses the
   * clock of the check.
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
  /** Makes the answer to a request that the service has acted on, as JSON. Default: `{ "done": true }`. */
  readonly answer?: (request: Request) => unknown
  /** Makes the answer to a look. Default: `{ "done": … }`, with whether the service has acted. */
  readonly found?: (request: Request, hasActed: boolean) => unknown
}
