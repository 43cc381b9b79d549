/*
 * What an error amounts to, by its shape: no library is imported for that, and none has to be there.
 *
 *     an error ─ its own shape ─ vague? ─ its cause, or the errors of an aggregate
 */
import * as Predicate from "effect/Predicate"
import { isA } from "../stranger.ts"
import { ofDatabase } from "./database.ts"
import { ofEffect, ofOurs } from "./effects.ts"
import { ofIssues, ofSyntax } from "./format.ts"
import { leavesOpen, type Recognized, transient, unproven, unrecognized } from "./kind.ts"
import { at, classesOf, listAt, most, namesOf, textAt, wholeAt } from "./look.ts"
import { ofRpc } from "./rpc.ts"
import { kindOfStatus, ofStatus } from "./status.ts"
import { aborted, late, lost, ofSystem, unsendable } from "./system.ts"

/** What an error amounts to; `undefined` if nothing about it is known. */
export const recognize = (error: unknown): Recognized | undefined => new Search().of(error)

// Errors may hold each other, and be many.
class Search {
  readonly #above = new Set<object>()
  #left = most.errors

  of(error: unknown): Recognized | undefined {
    if (!Predicate.isObjectOrArray(error) || this.#above.has(error) || this.#left === 0) return undefined
    this.#left--
    const isMistake = isFault(error)
    const own = first(isMistake ? looksAtFaults : looks, error)
    if (own === undefined ? isMistake : own.isVague !== true) return own
    this.#above.add(error)
    const found = this.#below(error, own)
    this.#above.delete(error)
    return found
  }

  #below(error: object, own: Recognized | undefined): Recognized | undefined {
    const several = listAt(error, "errors")
    if (several.length === 0) return this.of(at(error, "cause")) ?? own
    // Of several errors, take one that leaves the outcome open.
    const all = several.map((error) => this.of(error))
    if (all.includes(undefined)) return own === undefined ? undefined : unproven(own)
    return all.find((one) => one !== undefined && leavesOpen(one.kind)) ?? all[0]
  }
}

type Look = (error: object) => Recognized | undefined

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
  const status = ownStatus(error) ?? wholeAt(error, "$metadata", "httpStatusCode") ?? responseStatus(error)
  if (status === undefined || status < 300 || status >= 600) return undefined
  // AWS has one status for many things, and names them.
  const said = (status === 400 ? byName(error) : undefined) ?? ofStatus(status)
  // The client retried: its last attempt says nothing of the earlier ones.
  return (wholeAt(error, "$metadata", "attempts") ?? 1) > 1 ? unproven(said) : said
}

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

const tooOften: Recognized = { kind: kindOfStatus(429), sentence: "The service is rate limiting requests." }

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
  [/NotFound(Error|Exception)?$/, { kind: kindOfStatus(404), sentence: "The requested item was not found." }],
  [/(Timeout|TimedOut)(Error|Exception)?$/, late],
  [/(Abort|Aborted|Cancel|Canceled|Cancelled)(Error|Exception)$/, aborted],
  [/(Connection|Network|Socket|HTTPParser)(Error|Exception)$/, lost]
]

// -----------------------------------------------------------------------------
// By message
// -----------------------------------------------------------------------------

const isError = isA(Error)

/** A wrapped error may have only its message. A word in it does not prove that nothing was sent. */
const inMessage = (table: ReadonlyArray<readonly [message: RegExp, Recognized]>): Look => (error) => {
  const message = isError(error) ? textAt(error, "message") ?? "" : ""
  return message === "" ? undefined : table.find(([pattern]) => pattern.test(message))?.[1]
}

const mute = (found: Recognized): Recognized => ({ ...unproven(found), isMute: true })

/** The words of fetch, in Node and in browsers. */
const ofClients = inMessage([
  [
    /^(fetch failed|terminated$|Failed to fetch|Load failed|NetworkError when attempting|other side closed)/,
    mute(lost)
  ],
  [/^(Invalid URL|Failed to parse URL|Only absolute URLs|unknown scheme$|bad port$)/, {
    ...unsendable,
    isMute: true,
    isVague: true
  }]
])

/** How people write a status: `HTTP 503`, `503 Service Unavailable`, `Request failed: 503`. */
const inStatus: Look = (error) => {
  const message = isError(error) ? textAt(error, "message") ?? "" : ""
  const status = statuses.flatMap((pattern) => pattern.exec(message)?.[1] ?? []).at(0)
  return status === undefined ? undefined : unproven(ofStatus(Number(status)))
}

const statuses = [
  /\bHTTP(?:\/\d(?:\.\d)?)?(?: error)?(?: status)?(?: code)?!?[ :]{1,3}(?:status: ?)?\(?([45]\d\d)\b/i,
  /\bstatus(?: ?code)?(?: of| was|:|=)? ?\(?([45]\d\d)\b(?! is)/i,
  /\b(?:error|failed|responded|response|returned|answered)(?: with)?(?: a| an)?[ :]{1,3}\(?([45]\d\d)\b/i,
  /^\(?([45]\d\d)\)?:? (?:Bad|Unauthorized|Payment|Forbidden|Not|Method|Proxy|Request|Conflict|Gone|Precondition|Payload|Unsupported|Unprocessable|Locked|Too|Unavailable|Internal|Service|Gateway)\b/
]

const reasons = (words: string) => new RegExp(`\\b(?:${words})\\b`, "i")

const inWords = inMessage([
  [reasons("Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out"), {
    kind: kindOfStatus(503),
    sentence: "The service failed."
  }],
  [reasons("Too Many Requests|rate limit(?:ed| exceeded)"), unproven(tooOften)],
  [/\b(ECONNREFUSED|ECONNRESET|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_SOCKET)\b/, mute(lost)],
  [
    /\b(?:connection|socket|channel|stream|client)\b[^.]{0,40}\b(?:closed|lost|reset|aborted|terminated|ended|hang up|dropped|broken)\b|\bconnection error\b|\bnot queryable\b|\b(?:lost|no|broken) (?:connection|response)\b|\bsocket hang up\b|\bnetwork (?:error|response was not ok)\b/i,
    mute(lost)
  ],
  [/^(?:the |this )?(?:request|operation|call|query)? ?(?:was |has been )?(?:aborted|cancell?ed)\.?$/i, mute(aborted)],
  [
    /\b(?:ETIMEDOUT|timed out|time-?out (?:expired|exceeded|error|after)|time-?out of \w+ exceeded|(?:request|query|read|connect(?:ion)?|socket|gateway|statement|lock|acquire)(?: read)? time-?out)\b/i,
    late
  ],
  [/^(?:an? )?(?:unexpected|unknown|internal) error\b|^something went wrong\b|^an error (?:has )?occurred\b/i, {
    kind: unrecognized,
    sentence: "The tool failed without saying why."
  }]
])

/** The first that knows it. */
const looks: ReadonlyArray<Look> = [
  ofOurs,
  byThrottling,
  byStatus,
  ofEffect,
  ofRpc,
  ofSystem,
  ofDatabase,
  byName,
  ofSyntax,
  ofIssues,
  ofClients,
  inStatus,
  inWords
]

// What a client of HTTP throws as a TypeError, or a parser as a SyntaxError. Any other word may stand in a mistake of the program.
const looksAtFaults: ReadonlyArray<Look> = [ofSyntax, ofSystem, ofClients]
