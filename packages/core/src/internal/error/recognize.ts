/*
 * What an error amounts to, by its shape: no library is imported for that, and none has to be there.
 */
import * as Predicate from "effect/Predicate"
import { isA } from "../stranger.ts"
import { ofDatabase } from "./database.ts"
import { ofEffect, ofEffectAtLeast } from "./effects.ts"
import { ofIssues, ofSyntax } from "./format.ts"
import { type Recognized, transient } from "./kind.ts"
import { at, listAt, most, namesOf, textAt, wholeAt } from "./look.ts"
import { ofRpc } from "./rpc.ts"
import { kindOfStatus, ofStatus } from "./status.ts"
import { aborted, late, lost, ofSystem, unsendable } from "./system.ts"

/** What an error amounts to; `undefined` if nothing about it is known. */
export const recognize = (error: unknown, depth = 0): Recognized | undefined => {
  if (!Predicate.isObject(error) || depth > most.depth) return undefined
  for (const look of looks) {
    const found = look(error, depth)
    if (found !== undefined) return found
  }
  return undefined
}

/** Is it a mistake of the program, and not of the world? */
export const isFault = (error: unknown): boolean =>
  Predicate.isObject(error) && namesOf(error).some((name) => faults.includes(name))

const faults = ["TypeError", "RangeError", "ReferenceError", "SyntaxError", "EvalError", "URIError", "AssertionError"]

/** Does it say itself whether it is worth another try? */
export const saysRetryable = (error: unknown): boolean | undefined => {
  const says = [at(error, "retryable"), at(error, "isRetryable"), at(error, "$retryable")]
  // AWS marks with an object what may be tried again.
  if (says.some((said) => said === true || Predicate.isObject(said))) return true
  return says.includes(false) ? false : undefined
}

// -----------------------------------------------------------------------------
// One look after another
// -----------------------------------------------------------------------------

type Look = (error: object, depth: number) => Recognized | undefined

const statusIn: Look = (error) => {
  const own = wholeAt(error, "status") ?? wholeAt(error, "statusCode")
  const status = own !== undefined && own >= 400 ? own : wholeAt(error, "$metadata", "httpStatusCode") ??
    ["response", "$response", "reason"]
      .map((key) => at(error, key))
      .flatMap((response) => statusOf(response) ?? statusOf(at(response, "response")) ?? [])
      .at(0)
  if (status === undefined || status < 300 || status >= 600) return undefined
  // AWS has one status for many things, and names them.
  return (status === 400 ? byName(error) : undefined) ?? ofStatus(status)
}

const statusOf = (response: unknown): number | undefined =>
  wholeAt(response, "status") ?? wholeAt(response, "statusCode")

const throttling: Look = (error) => at(error, "$retryable", "throttling") === true ? tooOften : undefined

const tooOften: Recognized = { kind: kindOfStatus(429), sentence: "The service is asked too often." }

const byName = (error: object): Recognized | undefined => {
  const names = namesOf(error)
  return names.flatMap((name) => ofNames.find(([pattern]) => pattern.test(name))?.[1] ?? []).at(0)
}

const ofNames: ReadonlyArray<readonly [name: RegExp, Recognized]> = [
  [/(Throttl\w*|TooManyRequests|ThroughputExceeded|RequestLimitExceeded|RateLimit\w*)(Error|Exception)?$/, {
    ...tooOften,
    kind: transient("rate_limited")
  }],
  [/(AccessDenied|PermissionDenied|Unauthorized|Forbidden|UnrecognizedClient|ExpiredToken)(Error|Exception)?$/, {
    kind: kindOfStatus(403),
    sentence: "The service denied access."
  }],
  [/NotFound(Error|Exception)?$/, { kind: kindOfStatus(404), sentence: "What was asked for was not found." }],
  [/(Timeout|TimedOut)(Error|Exception)?$/, late],
  [/(Abort|Aborted|Cancel|Canceled|Cancelled)(Error|Exception)$/, aborted],
  [/(Connection|Network|Socket|HTTPParser)(Error|Exception)$/, lost]
]

// Wrapped once more, an error may have nothing left but its message. A word in it does not prove that nothing was sent.
const inMessage: Look = (error) => {
  const message = isError(error) ? textAt(error, "message")?.slice(0, mostMessage) ?? "" : ""
  const ofClient = clients.find(([pattern]) => pattern.test(message))?.[1]
  // A mistake of the program may have any word in its message.
  if (ofClient !== undefined || isFault(error)) return ofClient
  const status = /\b(?:HTTP|status)\b[^\d]{0,20}\b([45]\d\d)\b/i.exec(message)?.[1]
  return status === undefined
    ? others.find(([pattern]) => pattern.test(message))?.[1]
    : unproven(ofStatus(Number(status)))
}

const mostMessage = 1000

const isError = isA(Error)

const unproven = (found: Recognized): Recognized =>
  found.kind._tag === "ToolUnavailable" && found.kind.outcome === "not_executed"
    ? { ...found, kind: { ...found.kind, outcome: "open" } }
    : found

/** The words of fetch in Node and in browsers, of Node's http, and of pg. */
const clients: ReadonlyArray<readonly [message: RegExp, Recognized]> = [
  [
    /^(fetch failed|terminated$|Failed to fetch|Load failed|NetworkError when attempting|socket hang up|other side closed|stream has been aborted|Connection terminated|Connection ended|Client has encountered a connection error)/,
    { ...lost, isInMessage: true }
  ],
  [/^(Invalid URL|Failed to parse URL|Only absolute URLs)/, { ...unsendable, isInMessage: true }]
]

const others: ReadonlyArray<readonly [message: RegExp, Recognized]> = [
  [/\b(ECONNREFUSED|ECONNRESET|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_SOCKET)\b/, {
    ...lost,
    isInMessage: true
  }],
  [/\b(ETIMEDOUT|timed out|time-?out)\b/i, late]
]

// Of several errors the one that leaves most open counts.
const ofSeveral: Look = (error, depth) => {
  const several = listAt(error, "errors").map((error) => recognize(error, depth + 2))
  const [first] = several
  return several.includes(undefined)
    ? undefined
    : several.find((found) => found !== undefined && leavesOpen(found)) ?? first
}

const leavesOpen = ({ kind }: Recognized): boolean => kind._tag === "ToolUnavailable" && kind.outcome === "open"

const ofCause: Look = (error, depth) => recognize(at(error, "cause"), depth + 1)

/** The first that knows it. */
const looks: ReadonlyArray<Look> = [
  throttling,
  statusIn,
  ofEffect,
  ofRpc,
  ofSystem,
  ofDatabase,
  byName,
  ofSyntax,
  ofIssues,
  inMessage,
  ofSeveral,
  ofCause,
  ofEffectAtLeast
]
