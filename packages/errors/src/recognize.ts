/*
 * Recognizes an error by its shape, without importing the library that threw it.
 *
 *     an error ─ its own shape ─ vague? ─ its cause, or the errors of an aggregate
 */
import { ofDatabase } from "./databaseErrors.ts"
import { ofEffect, ofFallible } from "./effectErrors.ts"
import { ofIssues, ofSyntax } from "./formatErrors.ts"
import { kindOfStatus, ofStatus, tooOften } from "./httpStatus.ts"
import { leavesOpen, type Look, type Recognized, refusedAs, transient, unproven } from "./kind.ts"
import { ofMail } from "./mailErrors.ts"
import { at, classesOf, errorsIn, isObject, isRecord, listAt, max, namesOf, wholeAt } from "./reading.ts"
import { isLimited } from "./retryAfter.ts"
import { ofRpc } from "./rpcErrors.ts"
import { inWords, ofClients } from "./sentences.ts"
import { ofStore } from "./storeErrors.ts"
import { abortedRequest, late, lost, ofSystem } from "./systemErrors.ts"

/** Recognizes an error; `undefined` if nothing is known about it. */
export const recognize = (error: unknown): Recognized | undefined => new Search().of(error)

// Errors may be circular and numerous. So a search remembers the errors around the current one, and stops
// after a number of errors.
class Search {
  readonly #above = new Set<object>()
  #left = max.errors

  of(error: unknown, isOfAttempts = false): Recognized | undefined {
    if (!isObject(error) || this.#above.has(error) || this.#left === 0) return undefined
    this.#left--
    const isMistake = isFault(error)
    const own = first(isMistake ? looksAtFaults : looks, error)
    if (own === undefined ? isMistake : own.isVague !== true) return unprovenIfRetried(error, own)
    this.#above.add(error)
    const recognized = this.#below(error, own, isOfAttempts)
    this.#above.delete(error)
    return unprovenIfRetried(error, recognized)
  }

  /** @param isOfAttempts whether the errors of an aggregate come from several attempts to connect */
  #below(error: object, own: Recognized | undefined, isOfAttempts: boolean): Recognized | undefined {
    const several = listAt(error, "errors")
    const isConnecting = isOfAttempts || own !== undefined && isOfConnection(own)
    if (several.length === 0) return moreExact(own, this.of(at(error, "cause"), isConnecting))
    // The first error that leaves the outcome open decides for the aggregate.
    const all = several.map((error) => this.of(error))
    if (all.includes(undefined)) return own === undefined ? undefined : unproven(own)
    const decisive = all.find((one) => one !== undefined && leavesOpen(one.kind)) ?? all[0]
    // A user's own aggregate may cover several actions, and some may have taken effect.
    return decisive === undefined || isConnecting ? moreExact(own, decisive) : unproven(decisive)
  }
}

// If the client retried, its last error says nothing about the earlier attempts.
const unprovenIfRetried = (error: object, recognized: Recognized | undefined): Recognized | undefined =>
  recognized !== undefined && (retries(error) || namesOf(error).some((name) => retrying.test(name)))
    ? unproven(recognized)
    : recognized

const retries = (error: object): boolean =>
  attempts.some((path) => (wholeAt(error, ...path) ?? 1) > 1) ||
  repetitions.some((path) => (wholeAt(error, ...path) ?? 0) > 0)

/** The paths at which clients count attempts, and the paths at which they count retries. */
const attempts = [["attempts"], ["$metadata", "attempts"], ["attemptNumber"]]
const repetitions = [
  ["retries"],
  ["retryCount"],
  ["request", "retryCount"],
  ["request", "request", "retryCount"],
  ["config", "axios-retry", "retryCount"],
  ["config", "retryConfig", "currentRetryAttempt"]
]

/** Classes of clients that retry by default without reporting how often. */
const retrying = /^(APIConnection|Stripe|Slack|Mongo|Retry|NumberOfRetries|MaxRetries)/

// Returns what an error's cause says, if that is more exact. Only an error about connections explains a
// failed connection.
const moreExact = (own: Recognized | undefined, below: Recognized | undefined): Recognized | undefined =>
  own === undefined || below !== undefined && (!isOfConnection(own) || isOfConnection(below)) ? below : own

const isOfConnection = ({ kind }: Recognized): boolean =>
  ["connection", "timeout", "invalid_request"].includes(kind.code)

const first = (looks: ReadonlyArray<Look>, error: object): Recognized | undefined => {
  for (const look of looks) {
    const recognized = look(error)
    if (recognized !== undefined) return recognized
  }
  return undefined
}

/** True if an error is a mistake in the program, and not a failure of its environment. */
export const isFault = (error: unknown): boolean =>
  isObject(error) && classesOf(error).some((name) => faults.includes(name))

const faults = ["TypeError", "RangeError", "ReferenceError", "SyntaxError", "EvalError", "URIError", "AssertionError"]

/** Returns whether an error declares itself retryable; `undefined` if it declares nothing. */
export const saysRetryable = (error: unknown): boolean | undefined => {
  const flags = [at(error, "retryable"), at(error, "isRetryable"), at(error, "$retryable")]
  // AWS marks a retryable error with an object.
  if (flags.some((flag) => flag === true || isRecord(flag))) return true
  return flags.includes(false) ? false : undefined
}

// -----------------------------------------------------------------------------
// By status
// -----------------------------------------------------------------------------

const byStatus: Look = (error) => {
  // Octokit gives an aborted request a status, too.
  if (namesOf(error).includes("AbortError")) return abortedRequest
  const status = ownStatusIn(error)
  if (status === undefined || status < 300 || status >= 600) return undefined
  // Some services use one status for many errors, which only their names distinguish.
  const named = status === 400 || status === 402 ? byName(error) : undefined
  if (named !== undefined) return named
  const recognized = { ...ofStatus(status, isLimited(error)), isRedirected: wasRedirected(error) }
  // Octokit also reports 500 if there was no response.
  return status === 500 && hasNoResponse(error) ? { ...recognized, isVague: true } : recognized
}

const ownStatusIn = (error: object): number | undefined =>
  ownStatus(error) ?? wholeAt(error, "$metadata", "httpStatusCode") ?? responseStatus(error)

/**
 * Returns the HTTP status of an error, or of an error inside it: its causes, and the errors of an aggregate. A status that may
 * report a conflict of idempotency keys (409, 422) comes first.
 *
 * @category reading
 * @since 0.1.0
 */
export const statusIn = (error: unknown): number | undefined => {
  const statuses = Array.from(errorsIn(error)).flatMap((one) =>
    isRecord(one) ? wholeAt(one, "evidence", "status") ?? ownStatusIn(one) ?? [] : []
  ).filter((status) => status >= 100 && status < 600)
  return statuses.find((status) => status === 409 || status === 422) ?? statuses[0]
}

/** True if an error reports a redirect, in the form of a `Response`, of got, or of axios. */
const wasRedirected = (error: object): boolean =>
  at(error, "redirected") === true || at(error, "response", "redirected") === true ||
  listAt(at(error, "response"), "redirectUrls").length > 0 ||
  (wholeAt(error, "request", "_redirectable", "_redirectCount") ?? 0) > 0

const hasNoResponse = (error: object): boolean =>
  at(error, "request") !== undefined && at(error, "response") === undefined

// A number below 400 is a status only on a response that is not `ok`.
const ownStatus = (error: object): number | undefined => {
  const status = statusOf(error)
  return status !== undefined && status < 400 && at(error, "ok") !== false ? undefined : status
}

const responseStatus = (error: object): number | undefined =>
  ["response", "$response", "reason", "output"]
    .map((key) => at(error, key))
    .flatMap((response) => statusOf(response) ?? statusOf(at(response, "response")) ?? [])
    .at(0)

const statusOf = (response: unknown): number | undefined =>
  wholeAt(response, "status") ?? wholeAt(response, "statusCode")

const byThrottling: Look = (error) => at(error, "$retryable", "throttling") === true ? tooOften : undefined

// -----------------------------------------------------------------------------
// By name
// -----------------------------------------------------------------------------

const byName: Look = (error) =>
  namesOf(error).flatMap((name) => ofNames.find(([pattern]) => pattern.test(name))?.[1] ?? []).at(0)

const ofNames: ReadonlyArray<readonly [name: RegExp, Recognized]> = [
  [
    /(Throttl(ed|ing)|TooManyRequests|ThroughputExceeded|RequestLimitExceeded|RateLimit(ed|Exceeded)?|SlowDown)(Error|Exception)?$/,
    {
      ...tooOften,
      kind: transient("rate_limited")
    }
  ],
  [/(AccessDenied|PermissionDenied|Unauthorized|Forbidden|UnrecognizedClient|ExpiredToken)(Error|Exception)?$/, {
    kind: kindOfStatus(403),
    sentence: "The service denied access."
  }],
  // Stripe's error for a declined card.
  [/^StripeCardError$/, { kind: refusedAs("rejected"), sentence: "The card was declined." }],
  [/NotFound(Error|Exception)?$/, { kind: kindOfStatus(404), sentence: "The requested item was not found." }],
  [/(Timeout|TimedOut)(Error|Exception)?$/, late],
  [/^(APIUser)?(Abort|Aborted|Cancel|Canceled|Cancelled)(Error|Exception)$/, abortedRequest],
  [/(Connection|Network|Socket|HTTPParser)(Error|Exception)$/, lost]
]

/** The functions that recognize errors, in the order in which they are tried. The first result is used. */
const looks: ReadonlyArray<Look> = [
  ofFallible,
  byThrottling,
  byStatus,
  ofEffect,
  ofRpc,
  ofMail,
  ofSystem,
  ofDatabase,
  ofStore,
  byName,
  ofSyntax,
  ofIssues,
  inWords
]

// The functions for an error whose class suggests a mistake in the program. HTTP clients throw TypeErrors,
// and parsers throw SyntaxErrors. All other functions might take a mistake for a failure.
const looksAtFaults: ReadonlyArray<Look> = [ofSyntax, ofSystem, ofClients]
