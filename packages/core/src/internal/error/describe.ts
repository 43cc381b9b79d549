/*
 * From any error to a failure: of what kind it is, and what a model is told.
 */
import * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import { attempted } from "../stranger.ts"
import { type Described, garbage, type Kind, transient } from "./kind.ts"
import { at } from "./look.ts"
import { isFault, recognize, saysRetryable } from "./recognize.ts"
import { type Told, wordsOf } from "./words.ts"

/** What an error amounts to; `undefined` of a mistake in the program. */
export const describe = (error: unknown, listed: ReadonlyArray<Told>): Described | undefined => {
  const found = recognize(error)
  const words = found?.isInMessage === true ? undefined : wordsOf(error, listed)
  if (found === undefined && isFault(error) && words === undefined) return undefined
  const kind = asItSays(found?.kind ?? (words === undefined ? unknown : refusal), saysRetryable(error))
  return {
    kind,
    detail: words ?? found?.sentence ?? "The tool failed. The reason is in its log.",
    cause: error,
    outcome: outcomeOf(kind),
    retryAfter: retryAfterIn(error),
    issues: found?.issues
  }
}

// A sentence that was thrown says no: "Room A1 is booked."
const refusal: Kind = garbage("rejected")

const unknown: Kind = { _tag: "ToolUnavailable", code: "failed", transient: false, scope: "arguments", outcome: "open" }

// What the error says itself goes before what its kind says.
const asItSays = (kind: Kind, isRetryable: boolean | undefined): Kind => {
  if (isRetryable === undefined) return kind
  if (kind._tag !== "ToolUnavailable") return isRetryable && kind === refusal ? transient(unknown.code) : kind
  if (isRetryable === kind.transient) return kind
  // What may be tried again did not refuse.
  return isRetryable ? transient(kind.code, kind.outcome) : { ...kind, transient: false }
}

// What is transient leaves its outcome open by itself.
const outcomeOf = (kind: Kind): Described["outcome"] => {
  if (kind._tag !== "ToolUnavailable") return undefined
  return kind.outcome === "open" ? kind.transient ? undefined : "unknown" : kind.outcome
}

// -----------------------------------------------------------------------------
// Retry-After
// -----------------------------------------------------------------------------

/** How long the service asked to be left alone: in seconds, in milliseconds, or until a date. */
const retryAfterIn = (error: unknown): Duration.Duration | undefined => {
  const sources = [at(error, "headers"), at(error, "responseHeaders")].concat(
    ["response", "$response"].map((key) => at(error, key, "headers")),
    at(error, "reason", "response", "headers")
  )
  return sources.flatMap((headers) => retryAfterOf(headers) ?? []).at(0)
}

const retryAfterOf = (headers: unknown): Duration.Duration | undefined => {
  const millis = numberIn(headerIn(headers, "retry-after-ms"))
  if (millis !== undefined) return Duration.millis(millis)
  const after = headerIn(headers, "retry-after") ?? ""
  const seconds = numberIn(after)
  if (seconds !== undefined) return Duration.seconds(seconds)
  // Both dates are of the service's own clock.
  const wait = Date.parse(after) - Date.parse(headerIn(headers, "date") ?? "")
  return Number.isNaN(wait) ? undefined : Duration.millis(Math.max(0, wait))
}

const numberIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined

const headerIn = (headers: unknown, name: string): string | undefined => {
  if (!Predicate.isObject(headers)) return undefined
  const get = at(headers, "get")
  const value = typeof get === "function"
    ? attempted((): unknown => get.call(headers, name))
    : attempted(() => Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1])
  return typeof value === "number" ? String(value) : typeof value === "string" ? value : undefined
}
