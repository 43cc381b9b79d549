/**
 * Turns HTTP errors into tool failures, according to what the caller can do next:
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
 * "By the method" means that GET, HEAD, OPTIONS and TRACE, which only read, give no `outcome`. Any other method
 * gives the outcome `unknown`, and so does an unknown method. A transient failure has a `retryAfter` if the service
 * said how long to wait.
 *
 * Some services answer 403 where others answer 429. A 403 counts as a 429 if it has a `Retry-After` header, or
 * if no requests are left (`x-ratelimit-remaining: 0`).
 *
 * A failure describes only one request, but the handler may have made other requests before. So none of these failures
 * proves what an acting tool (one with side effects) did. All requests of the handler together do, if they were seen, or
 * the tool's declaration `refusesFirst`: see `Certainty`.
 *
 * A 403 and the codes `rejected`, `invalid_request` and `unexpected_status` have the scope `"arguments"`, because
 * the service may accept the next record or request. Every other permanent failure has the scope `"tool"`.
 *
 * A lost connection or a timeout is a transient `ToolUnavailable`, code `connection` or `timeout`. Its outcome is
 * `not_executed` if nothing was sent, and otherwise depends on the method. A request that cannot be built has the
 * code `invalid_request`. An answer that cannot be decoded is a `SchemaMismatch` of the result.
 *
 * The `detail` of a failure quotes the service's message: as data, on one line of limited length, without the
 * secrets of the request.
 *
 * Use {@link classify} in the tool's handler, so that a `Tool.retry` around the tool can retry transient failures.
 * Use it before `Guard.json`, which decodes the body of a successful response.
 *
 * This module uses `effect/http`, whose API may still change. The package's index therefore does not export this
 * module. Import it directly: `import * as HttpFailure from "@fallible/core/HttpFailure"`.
 *
 * @since 0.1.0
 */
import { describe, describeStatus, type Description } from "@fallible/errors"
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
import { fromDescription, now } from "./internal/failure/fromDescription.ts"
import { withinTime } from "./internal/fiber/withinTime.ts"
import { cut, oneLine } from "./internal/value/text.ts"
import { SchemaMismatch, SemanticGarbage, ToolUnavailable } from "./ToolFailure.ts"

/**
 * The failures that an HTTP error can become.
 *
 * @category models
 * @since 0.1.0
 */
export type HttpFailure = ToolUnavailable | SemanticGarbage | SchemaMismatch

/**
 * Turns the errors of an HTTP client into tool failures. Other errors pass through.
 *
 * When to use: in a tool's handler, after all steps that use the response. Effect's client accepts any status, so
 * filter the status before you classify. The `HttpBodyError` of `bodyJson` passes through, and no handler may fail with it:
 * use `bodyJsonUnsafe`. Put an `Effect.timeout` before `classify`, too. The timeout's error then becomes a failure with code
 * `timeout` and an unknown outcome.
 *
 * Fails with the failure that {@link fromError} returns, at most 1 s after the status has arrived.
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
  Effect.catch(self, (error) => Effect.flatMap(classifyError(error), Effect.fail))

const classifyError = <E>(error: E): Effect.Effect<Exclude<E, HttpClientError | Cause.TimeoutError> | HttpFailure> =>
  Cause.isTimeoutError(error)
    ? Effect.succeed(timedOut(error))
    : isHttpClientError(error)
    ? fromError(error)
    : Effect.succeed(asOtherError(error))

// TypeScript does not narrow a type parameter where a type guard is false.
const asOtherError = <E>(error: E) => error as Exclude<E, HttpClientError | Cause.TimeoutError>

/**
 * Returns the failure for an HTTP client's error.
 *
 * When to use: where {@link classify} does too much, for example if one status has a special meaning.
 *
 * If the error has a response whose status is not a success, only that response decides, as in
 * {@link fromResponse}.
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
    ? failureOfResponse(response, error)
    : Effect.succeed(withoutStatus(error))
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300

/**
 * Returns the failure for a response, with the service's message from its body.
 *
 * When to use: for a response whose status is not acceptable. At most 16 KiB of the body are read, for at most
 * 1 s. Then the connection is released.
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
export const fromResponse = (response: HttpClientResponse): Effect.Effect<HttpFailure> => failureOfResponse(response)

/**
 * Returns the failure for a status.
 *
 * When to use: with an HTTP client other than Effect's.
 *
 * @param options `message` is the service's message; the failure quotes the first 300 characters.
 * `retryAfter` is how long the service asked callers to wait; if it is given, a 403 counts as a 429. `method` is
 * the request's method; if it is not given, the outcome of a 5xx is unknown.
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
  failureOfStatus(
    options.retryAfter === undefined
      ? describeStatus(status)
      : describeStatus(status, { "retry-after-ms": Duration.toMillis(options.retryAfter) }, now),
    withoutAddresses(options.message ?? ""),
    { cause: undefined, method: options.method }
  )

// -----------------------------------------------------------------------------
// With a status
// -----------------------------------------------------------------------------

/** What is known about a failure besides its description. */
interface Context {
  readonly cause: unknown
  readonly method: string | undefined
  readonly redirected?: boolean
}

const failureOfStatus = (description: Description, message: string, context: Context): HttpFailure => {
  const line = oneLine(message)
  const quote = line === "" ? "." : `: ${JSON.stringify(cut(line, 300))}`
  return failureOf(description, context, `The service answered ${description.status}${quote}`)
}

// The outcome depends on the method, unless the error determines it.
const failureOf = (description: Description, { method, ...context }: Context, detail = description.message) =>
  fromDescription(description, { ...context, detail, acts: !isSafe(method) }, {
    SchemaMismatch,
    SemanticGarbage,
    ToolUnavailable
  })

const isSafe = (method = ""): boolean => /^(GET|HEAD|OPTIONS|TRACE)$/i.test(method)

const failureOfResponse = (response: HttpClientResponse, cause?: unknown): Effect.Effect<HttpFailure> =>
  Effect.map(
    beginningOf(response),
    (body) =>
      failureOfStatus(
        describeStatus(response.status, response.headers, now),
        withoutSecrets(response.request, withoutAddresses(messageIn(body))),
        { cause, method: response.request.method, redirected: wasRedirected(response) }
      )
  )

// After a redirect, a client such as `fetch` reports a URL that differs from the request's URL.
const wasRedirected = ({ request, url }: HttpClientResponse): boolean =>
  Option.exists(HttpClientRequest.toUrl(request), (requested) => {
    requested.hash = ""
    return requested.href !== url
  })

// -----------------------------------------------------------------------------
// Without a status
// -----------------------------------------------------------------------------

const withoutStatus = (error: HttpClientError): HttpFailure =>
  failureOf(describe(error, { now }), { cause: error, method: error.request.method })

// No method is given, because the time limit may have covered several requests.
const timedOut = (cause: Cause.TimeoutError): HttpFailure => failureOf(describe(cause), { cause, method: undefined })

// -----------------------------------------------------------------------------
// The service's message
// -----------------------------------------------------------------------------

const maxBytes = 16 * 1024

/**
 * Returns the part of the body that arrives in time. The kind of failure is already known, so the rest is not worth
 * waiting for.
 */
const beginningOf = ({ stream }: HttpClientResponse): Effect.Effect<string> =>
  Effect.suspend(() => {
    let left = maxBytes
    let received = ""
    const bytes = Stream.map(stream, (bytes) => {
      const taken = bytes.subarray(0, left)
      left -= taken.length
      return taken
    })
    const read = Stream.runForEachWhile(Stream.decodeText(bytes), (text) => {
      received += text
      return Effect.succeed(left > 0)
    })
    return Effect.map(withinTime(Effect.ignoreCause(read), 1_000, { late: () => Effect.void }), () => received)
  })

/**
 * Returns the message in a JSON body, if the body has the form of RFC 9457 or a similar form. Otherwise returns the
 * whole body. Returns an empty string for HTML pages and for binary data.
 */
const messageIn = (body: string): string => {
  const json = Option.getOrUndefined(parse(body))
  const { detail, error, message, title }: Fields = Predicate.isObject(json) ? json : { message: json }
  const nested = Predicate.isObject(error) ? error["message"] : undefined
  const text = [detail, nested, message, error, title].find(isText) ?? body
  return /^\s*<(?!\?xml)|\uFFFD/i.test(text) ? "" : text
}

interface Fields {
  readonly [name: string]: unknown
}

const parse: (text: string) => Option.Option<unknown> = Option.liftThrowable((text) => JSON.parse(text))

const isText = (value: unknown): value is string => typeof value === "string" && value.trim() !== ""

/** Removes addresses, query strings, and the lines of a stack. */
const withoutAddresses = (text: string): string =>
  text
    .replace(/^[ \t]+(?:at |File ").*$/gm, "")
    .replace(/\b[a-z][a-z\d]{1,15}:\/\/[^\s"'<>]+/gi, "<address>")
    .replace(/\?[^\s?="'<>]+=[^\s"'<>]*/g, "")

/**
 * Removes the request's secrets from a message, because some services repeat them. The secrets are the URL's
 * credentials, `Redacted` parameters, and all headers and parameters with names such as `token`.
 */
const withoutSecrets = (request: HttpClientRequest.HttpClientRequest, text: string): string => {
  const url = Option.getOrUndefined(HttpClientRequest.toUrl(request))
  const named = [...Object.entries(request.headers), ...(url?.searchParams ?? [])]
    .flatMap(([name, value]) => secretName.test(name) ? value.split(/[\s,;=]+/) : [])
  const marked = Array.from(request.urlParams, ([, value]) => Redacted.isRedacted(value) ? Redacted.value(value) : "")
  return [...named, ...marked, url?.username ?? "", url?.password ?? ""]
    // A shorter value may occur in the message by chance.
    .filter(({ length }) => length >= 8)
    // Longest first, because a shorter secret may be part of a longer one.
    .toSorted((a, b) => b.length - a.length)
    .reduce((text, secret) => text.replaceAll(secret, "<redacted>"), text)
}

const secretName = /(auth|authorization|cookie|credential|key|keyid|pass|password|pwd|secret|sig|signature|token)$/i
