/**
 * From what goes wrong over HTTP to a tool's failure, by what happens next:
 *
 * | status        | failure                                                     | transient | outcome        |
 * | ------------- | ----------------------------------------------------------- | --------- | -------------- |
 * | 401, 403      | `ToolUnavailable`, code `permission_denied`                 | no        |                |
 * | 402           | `ToolUnavailable`, code `quota_exhausted`                   | no        |                |
 * | 404, 410      | `SemanticGarbage`, code `not_found`                         |           |                |
 * | 408           | `ToolUnavailable`, code `timeout`                           | yes       | by the method  |
 * | 409           | `ToolUnavailable`, code `rejected`                          | no        |                |
 * | 422           | `SchemaMismatch` of the arguments, code `invalid_arguments` |           |                |
 * | 423, 425      | `ToolUnavailable`, code `server_error`                      | yes       | `not_executed` |
 * | 429           | `ToolUnavailable`, code `rate_limited`                      | yes       | `not_executed` |
 * | any other 4xx | `ToolUnavailable`, code `rejected`                          | no        |                |
 * | 501, 505      | `ToolUnavailable`, code `server_error`                      | no        |                |
 * | any other 5xx | `ToolUnavailable`, code `server_error`                      | yes       | by the method  |
 * | any other     | `ToolUnavailable`, code `unexpected_status`                 | no        | by the method  |
 *
 * By the method: after GET, HEAD, OPTIONS or TRACE, which only read, there is no `outcome`; after any other method, or
 * an unknown one, it is `unknown`. What is permanent and has no outcome is a refusal: nothing was done (`Certainty`). What is transient comes with `retryAfter`, when the service said how long to wait.
 *
 * Some services answer 403 where others answer 429. A 403 with a `Retry-After`, or with none of its requests left
 * (`x-ratelimit-remaining: 0`), is read as a 429.
 *
 * All of this is about one request, and a handler may have made others before. So of a tool that must not act twice, `not_executed` and
 * `invalid_arguments` lead to another attempt only if the tool is declared `refusesFirst`.
 *
 * An answer that came after a redirect leaves open what the first request did: `fetch` follows redirects by itself. Those of
 * `HttpClient.followRedirects` cannot be seen.
 *
 * 403, `rejected`, `invalid_request` and `unexpected_status` are about the arguments (`scope`): the service refuses one record or one
 * request, and may answer the next. Everything else that is permanent is about the tool.
 *
 * A connection that was lost, or took too long, is `ToolUnavailable` too, code `connection` or `timeout`, transient:
 * `not_executed` when nothing had been sent, else by the method. A request that cannot be made is one with code
 * `invalid_request`. An answer that cannot be decoded is a `SchemaMismatch` of the result.
 *
 * A `detail` quotes what the service said: as data, on one line, bounded, and without what the request held of secrets.
 *
 * Classify in a handler, and so inside of `Tool.retry`, which retries what is transient; and before `Guard.json`, which
 * reads what came under a status of success.
 *
 * This module stands on `effect/http`, which may still change. So the index leaves it out:
 * `import * as HttpFailure from "@fallible/core/HttpFailure"`.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type HttpClientError, isHttpClientError } from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { withinTime } from "./internal/effect/withinTime.ts"
import { asConflict, asGuess, asRedirected } from "./internal/error/guess.ts"
import type { Described, Kind } from "./internal/error/kind.ts"
import { made } from "./internal/error/made.ts"
import { isConflictStatus, recognize } from "./internal/error/recognize.ts"
import { isLimitedIn, retryAfterIn } from "./internal/error/retryAfter.ts"
import { kindOfStatus } from "./internal/error/status.ts"
import { late, lost } from "./internal/error/system.ts"
import { plain } from "./internal/error/words.ts"
import { cut, oneLine } from "./internal/value/text.ts"
import { SchemaMismatch, SemanticGarbage, ToolUnavailable } from "./ToolFailure.ts"

/**
 * What becomes of a failure over HTTP.
 *
 * @category models
 * @since 0.1.0
 */
export type HttpFailure = ToolUnavailable | SemanticGarbage | SchemaMismatch

/**
 * Turns what an HTTP client fails with into a tool's failures; other errors pass.
 *
 * When to use: in a tool's handler, behind all that is done with the response. A client takes any status for an answer,
 * so filter it first. An `Effect.timeout` goes before it, too: what it fails with is a `timeout` of unknown outcome.
 *
 * Fails as {@link fromError} says, at most 1 s after the status was known.
 *
 * @example
 * ```ts
 * import * as HttpFailure from "@fallible/core/HttpFailure"
 * import { Effect } from "effect"
 * import { HttpClient, HttpClientResponse } from "effect/http"
 *
 * const client = HttpClient.make((request) =>
 *   Effect.succeed(HttpClientResponse.fromWeb(request, new Response("No such order.", { status: 404 })))
 * )
 * const order = client.get("https://orders.example/17").pipe(
 *   Effect.flatMap(HttpClientResponse.filterStatusOk),
 *   Effect.flatMap((response) => response.text),
 *   HttpFailure.classify
 * )
 * const failure = await Effect.runPromise(Effect.flip(order))
 * failure._tag // => "SemanticGarbage"
 * failure.detail // => "The service answered 404: \"No such order.\""
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const classify = <A, E, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, HttpClientError | Cause.TimeoutError> | HttpFailure, R> =>
  Effect.catch(self, (error) => Effect.flatMap(classified(error), Effect.fail))

const classified = <E>(error: E): Effect.Effect<Exclude<E, HttpClientError | Cause.TimeoutError> | HttpFailure> =>
  Cause.isTimeoutError(error)
    ? Effect.succeed(timedOut(error))
    : isHttpClientError(error)
    ? fromError(error)
    : Effect.succeed(other(error))

// A guard that does not hold leaves a type parameter as it is.
const other = <E>(error: E) => error as Exclude<E, HttpClientError | Cause.TimeoutError>

/**
 * The failure that an HTTP client's error amounts to.
 *
 * When to use: where {@link classify} is too much, such as when one status means something of its own.
 *
 * An error with a response that has no status of success is told by {@link fromResponse}, whatever else it says.
 *
 * @example
 * ```ts
 * import * as HttpFailure from "@fallible/core/HttpFailure"
 * import { Effect } from "effect"
 * import { HttpClientError, HttpClientRequest } from "effect/http"
 *
 * const refused = new HttpClientError.HttpClientError({
 *   reason: new HttpClientError.TransportError({
 *     request: HttpClientRequest.post("https://orders.example"),
 *     cause: Object.assign(new Error(), { code: "ECONNREFUSED" })
 *   })
 * })
 * const failure = Effect.runSync(HttpFailure.fromError(refused))
 * failure.detail // => "The service could not be reached: it refused the connection."
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromError = (error: HttpClientError): Effect.Effect<HttpFailure> => {
  const { reason, response } = error
  return response !== undefined && (reason._tag === "StatusCodeError" || !isSuccess(response.status))
    ? answered(response, error)
    : Effect.succeed(withoutStatus(error))
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300

/**
 * The failure that a response amounts to, with what the service said in its body.
 *
 * When to use: on a response that was found wanting by its status. Its body is read, but no more than 16 KiB of it and
 * for no longer than 1 s, and the connection is let go.
 *
 * @example
 * ```ts
 * import * as HttpFailure from "@fallible/core/HttpFailure"
 * import { Effect } from "effect"
 * import { HttpClientRequest, HttpClientResponse } from "effect/http"
 *
 * const response = HttpClientResponse.fromWeb(
 *   HttpClientRequest.get("https://orders.example"),
 *   new Response("One at a time, please.", { status: 429, headers: { "retry-after": "30" } })
 * )
 * const failure = await Effect.runPromise(HttpFailure.fromResponse(response))
 * failure.code // => "rate_limited"
 * failure.detail // => "The service answered 429: \"One at a time, please.\""
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromResponse = (response: HttpClientResponse): Effect.Effect<HttpFailure> => answered(response)

/**
 * The failure that a status amounts to.
 *
 * When to use: with another HTTP client than Effect's.
 *
 * @param options `message` is what the service said, and is quoted, but for what is too long. `retryAfter` is how long
 * the service asked to be left alone: with one, a 403 is a 429. `method` is the request's; without it, the outcome of a
 * 5xx is unknown.
 *
 * @example
 * ```ts
 * import * as HttpFailure from "@fallible/core/HttpFailure"
 *
 * const failure = HttpFailure.fromStatus(503, { message: "Back soon.", method: "GET" })
 * failure.code // => "server_error"
 * failure.detail // => "The service answered 503: \"Back soon.\""
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromStatus = (
  status: number,
  options: { readonly message?: string; readonly retryAfter?: Duration.Input; readonly method?: string } = {}
): HttpFailure =>
  byStatus(status, plain(options.message ?? ""), {
    cause: undefined,
    method: options.method,
    isLimited: options.retryAfter !== undefined,
    retryAfter: options.retryAfter === undefined ? undefined : Duration.fromInputUnsafe(options.retryAfter)
  })

// -----------------------------------------------------------------------------
// With a status
// -----------------------------------------------------------------------------

/** What is known of a failure besides its kind. */
interface Known extends Pick<Described, "cause" | "retryAfter"> {
  readonly method: string | undefined
  /** Does the service limit requests? */
  readonly isLimited?: boolean
}

const byStatus = (status: number, said: string, known: Known): HttpFailure => {
  const line = oneLine(said)
  const quote = line === "" ? "." : `: ${JSON.stringify(cut(line, 300))}`
  const failure = after(kindOfStatus(status, known.isLimited), `The service answered ${status}${quote}`, known)
  return isConflictStatus(status) ? asConflict(failure) : failure
}

// What came of it depends on the method, unless the kind says so.
const after = (kind: Kind, detail: string, { cause, method, retryAfter }: Known): HttpFailure => {
  const outcome = kind._tag === "ToolUnavailable" ? kind.outcome : undefined
  const failure = made({
    kind,
    detail,
    cause,
    retryAfter,
    outcome: outcome === "open" ? isSafe(method) ? undefined : "unknown" : outcome
  }, { SchemaMismatch, SemanticGarbage, ToolUnavailable })
  return asGuess(failure)
}

const isSafe = (method = ""): boolean => /^(GET|HEAD|OPTIONS|TRACE)$/i.test(method)

const answered = (response: HttpClientResponse, cause?: unknown): Effect.Effect<HttpFailure> =>
  Effect.map(
    beginningOf(response),
    (body) => {
      const failure = byStatus(response.status, withoutSecrets(response.request, plain(messageIn(body))), {
        cause,
        method: response.request.method,
        retryAfter: retryAfterIn(response.headers),
        isLimited: isLimitedIn(response.headers)
      })
      return wasRedirected(response) ? asRedirected(failure) : failure
    }
  )

// A client that follows redirects by itself, as `fetch` does, answers with another address.
const wasRedirected = ({ request, url }: HttpClientResponse): boolean =>
  Option.exists(HttpClientRequest.toUrl(request), (asked) => {
    asked.hash = ""
    return asked.href !== url
  })

// -----------------------------------------------------------------------------
// Without one
// -----------------------------------------------------------------------------

const withoutStatus = (error: HttpClientError): HttpFailure => {
  const { kind, sentence } = recognize(error) ?? lost
  return after(kind, sentence, { cause: error, method: error.request.method })
}

// What was to be done in time may have been more than one request, of any method.
const timedOut = (cause: Cause.TimeoutError): HttpFailure =>
  after(late.kind, late.sentence, { cause, method: undefined })

// -----------------------------------------------------------------------------
// What the service said
// -----------------------------------------------------------------------------

const mostBytes = 16 * 1024

/** What came of the body in time: the failure is known already, and does not wait for more. */
const beginningOf = ({ stream }: HttpClientResponse): Effect.Effect<string> =>
  Effect.suspend(() => {
    let left = mostBytes
    let heard = ""
    const bytes = Stream.map(stream, (bytes) => {
      const taken = bytes.subarray(0, left)
      left -= taken.length
      return taken
    })
    const listen = Stream.runForEachWhile(Stream.decodeText(bytes), (text) => {
      heard += text
      return Effect.succeed(left > 0)
    })
    return Effect.map(withinTime(Effect.ignoreCause(listen), 1_000, { late: () => Effect.void }), () => heard)
  })

/** The message of a JSON body, as RFC 9457 and others have it; else the text. Neither pages nor what is no text. */
const messageIn = (body: string): string => {
  const json = Option.getOrUndefined(parse(body))
  const { detail, error, message, title }: Fields = Predicate.isObject(json) ? json : { message: json }
  const nested = Predicate.isObject(error) ? error["message"] : undefined
  const found = [detail, nested, message, error, title].find(isText) ?? body
  return /^\s*<(?!\?xml)|\uFFFD/i.test(found) ? "" : found
}

interface Fields {
  readonly [name: string]: unknown
}

const parse: (text: string) => Option.Option<unknown> = Option.liftThrowable((text) => JSON.parse(text))

const isText = (value: unknown): value is string => typeof value === "string" && value.trim() !== ""

/** Some services repeat what they were sent, credentials and all: what is one by its name, or marked as one. */
const withoutSecrets = (request: HttpClientRequest.HttpClientRequest, text: string): string => {
  const url = Option.getOrUndefined(HttpClientRequest.toUrl(request))
  const named = [...Object.entries(request.headers), ...(url?.searchParams ?? [])]
    .flatMap(([name, value]) => secretName.test(name) ? value.split(/[\s,;=]+/) : [])
  const marked = Array.from(request.urlParams, ([, value]) => Redacted.isRedacted(value) ? Redacted.value(value) : "")
  return [...named, ...marked, url?.username ?? "", url?.password ?? ""]
    // What is shorter stands in many a text by chance.
    .filter(({ length }) => length >= 8)
    // The longest first: a shorter one may be a part of it.
    .toSorted((a, b) => b.length - a.length)
    .reduce((text, secret) => text.replaceAll(secret, "<redacted>"), text)
}

const secretName = /(auth|authorization|cookie|credential|key|keyid|pass|password|pwd|secret|sig|signature|token)$/i
