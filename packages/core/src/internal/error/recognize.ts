/*
 * What an error amounts to, by its shape: no library is imported for that, and none has to be there.
 *
 *     an error ─ its own shape ─ vague? ─ its cause, or the errors of an aggregate
 */
import * as Predicate from "effect/Predicate"
import { ofDatabase } from "./database.ts"
import { ofEffect, ofOurs } from "./effects.ts"
import { ofIssues, ofSyntax } from "./format.ts"
import { isMarkedConflict, partsOf } from "./guess.ts"
import { garbage, leavesOpen, type Look, type Recognized, transient, unproven } from "./kind.ts"
import { at, classesOf, listAt, most, namesOf, wholeAt, withBelow } from "./look.ts"
import { ofMail } from "./mail.ts"
import { isLimited } from "./retryAfter.ts"
import { ofRpc } from "./rpc.ts"
import { inWords, ofClients } from "./sentences.ts"
import { kindOfStatus, ofStatus, tooOften } from "./status.ts"
import { ofStore } from "./stores.ts"
import { aborted, late, lost, ofSystem } from "./system.ts"

/** What an error amounts to; `undefined` if nothing about it is known. */
export const recognize = (error: unknown): Recognized | undefined => new Search().of(error)

// Errors may hold each other, and be many.
class Search {
  readonly #above = new Set<object>()
  #left = most.errors

  of(error: unknown, isOfAttempts = false): Recognized | undefined {
    if (!Predicate.isObjectOrArray(error) || this.#above.has(error) || this.#left === 0) return undefined
    this.#left--
    const isMistake = isFault(error)
    const own = first(isMistake ? looksAtFaults : looks, error)
    if (own === undefined ? isMistake : own.isVague !== true) return ofAttempts(error, own)
    this.#above.add(error)
    const found = this.#below(error, own, isOfAttempts)
    this.#above.delete(error)
    return ofAttempts(error, found)
  }

  /** @param isOfAttempts are several errors those of several attempts to connect? */
  #below(error: object, own: Recognized | undefined, isOfAttempts: boolean): Recognized | undefined {
    const several = listAt(error, "errors")
    const isConnecting = isOfAttempts || own !== undefined && isOfConnection(own)
    if (several.length === 0) return moreExact(own, this.of(at(error, "cause"), isConnecting))
    // Of several errors, take one that leaves the outcome open.
    const all = several.map((error) => this.of(error))
    if (all.includes(undefined)) return own === undefined ? undefined : unproven(own)
    const most = all.find((one) => one !== undefined && leavesOpen(one.kind)) ?? all[0]
    // Somebody's own aggregate may be of several things, some of which were done.
    return most === undefined || isConnecting ? moreExact(own, most) : unproven(most)
  }
}

// The client retried: its last attempt says nothing of the earlier ones.
const ofAttempts = (error: object, found: Recognized | undefined): Recognized | undefined =>
  found !== undefined && (retries(error) || namesOf(error).some((name) => retrying.test(name)))
    ? unproven(found)
    : found

const retries = (error: object): boolean =>
  attempts.some((path) => (wholeAt(error, ...path) ?? 1) > 1) ||
  repetitions.some((path) => (wholeAt(error, ...path) ?? 0) > 0)

/** Where clients count attempts, and where repetitions. */
const attempts = [["attempts"], ["$metadata", "attempts"], ["attemptNumber"]]
const repetitions = [
  ["retries"],
  ["retryCount"],
  ["request", "retryCount"],
  ["request", "request", "retryCount"],
  ["config", "axios-retry", "retryCount"],
  ["config", "retryConfig", "currentRetryAttempt"]
]

/** Classes of clients that retry by default, and do not say how often. */
const retrying = /^(APIConnection|Stripe|Slack|Mongo|Retry|NumberOfRetries|MaxRetries)/

// Below a connection that failed, only what is said of connections is about that.
const moreExact = (own: Recognized | undefined, below: Recognized | undefined): Recognized | undefined =>
  own === undefined || below !== undefined && (!isOfConnection(own) || isOfConnection(below)) ? below : own

const isOfConnection = ({ kind }: Recognized): boolean =>
  ["connection", "timeout", "invalid_request"].includes(kind.code)

const first = (looks: ReadonlyArray<Look>, error: object): Recognized | undefined => {
  for (const look of looks) {
    const found = look(error)
    if (found !== undefined) return found
  }
  return undefined
}

/** Is it a mistake of the program, and not of the world? */
export const isFault = (error: unknown): boolean =>
  Predicate.isObjectOrArray(error) && classesOf(error).some((name) => faults.includes(name))

const faults = ["TypeError", "RangeError", "ReferenceError", "SyntaxError", "EvalError", "URIError", "AssertionError"]

/** Does it say itself whether it is worth another try? */
export const saysRetryable = (error: unknown): boolean | undefined => {
  const says = [at(error, "retryable"), at(error, "isRetryable"), at(error, "$retryable")]
  // AWS marks with an object what may be tried again.
  if (says.some((said) => said === true || Predicate.isObject(said))) return true
  return says.includes(false) ? false : undefined
}

// -----------------------------------------------------------------------------
// By status
// -----------------------------------------------------------------------------

const byStatus: Look = (error) => {
  // Octokit gives it a status, too.
  if (namesOf(error).includes("AbortError")) return aborted
  const status = statusIn(error)
  if (status === undefined || status < 300 || status >= 600) return undefined
  // Some services have one status for many things, and name them.
  const named = status === 400 || status === 402 ? byName(error) : undefined
  if (named !== undefined) return named
  const found = { ...ofStatus(status, isLimited(error)), isRedirected: wasRedirected(error) }
  // Octokit says 500 also where there was no answer.
  return status === 500 && hasNoResponse(error) ? { ...found, isVague: true } : found
}

const statusIn = (error: object): number | undefined =>
  ownStatus(error) ?? wholeAt(error, "$metadata", "httpStatusCode") ?? responseStatus(error)

/**
 * Does a failure come of a status that services also refuse a key with: one that they know, with another body, or whose first request is
 * still under way?
 */
export const isConflict = (failure: object): boolean =>
  Array.from(withBelow(failure, partsOf)).some((one) =>
    Predicate.isObject(one) && (isMarkedConflict(one) || isConflictStatus(statusIn(one)))
  )

/** See {@link isConflict}. */
export const isConflictStatus = (status: number | undefined): boolean => status === 409 || status === 422

/** A `Response` says so; axios and got tell in their own ways. */
const wasRedirected = (error: object): boolean =>
  at(error, "redirected") === true || at(error, "response", "redirected") === true ||
  listAt(at(error, "response"), "redirectUrls").length > 0 ||
  (wholeAt(error, "request", "_redirectable", "_redirectCount") ?? 0) > 0

const hasNoResponse = (error: object): boolean =>
  at(error, "request") !== undefined && at(error, "response") === undefined

// A number below 400 is a status only on a response.
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
  // Stripe's.
  [/^StripeCardError$/, { kind: garbage("rejected"), sentence: "The card was declined." }],
  [/NotFound(Error|Exception)?$/, { kind: kindOfStatus(404), sentence: "The requested item was not found." }],
  [/(Timeout|TimedOut)(Error|Exception)?$/, late],
  [/^(APIUser)?(Abort|Aborted|Cancel|Canceled|Cancelled)(Error|Exception)$/, aborted],
  [/(Connection|Network|Socket|HTTPParser)(Error|Exception)$/, lost]
]

/** The first that knows it. */
const looks: ReadonlyArray<Look> = [
  ofOurs,
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

// What a client of HTTP throws as a TypeError, or a parser as a SyntaxError. Any other word may stand in a mistake of the program.
const looksAtFaults: ReadonlyArray<Look> = [ofSyntax, ofSystem, ofClients]
