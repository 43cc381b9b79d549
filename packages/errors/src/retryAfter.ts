/*
 * Reads how long a service asks its clients to wait: in seconds, in milliseconds, or until a date (RFC 9110,
 * 10.2.3). If a rate limit leaves no requests, clients wait until the limit resets
 * (https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api).
 */
import { at, attempt, isRecord, max, textAt } from "./reading.ts"

/** A clock: returns the time in milliseconds since 1970. */
export type Now = () => number

/** The clock of this machine, for programs that have no other. */
// oxlint-disable-next-line no-restricted-properties
export const systemClock: Now = Date.now

/** Returns the wait, in milliseconds, from the headers of an error, of its response, or of its causes. */
export const retryAfterOf = (error: unknown, now: Now, depth = 0): number | undefined =>
  error === undefined || depth > max.depth
    ? undefined
    : headersOf(error).flatMap((headers) => retryAfterIn(headers, now) ?? []).at(0) ?? ofSlack(error, now) ??
      retryAfterOf(at(error, "cause"), now, depth + 1)

// Slack's `retryAfter` is in seconds. In other libraries, a field with this name is in milliseconds.
const ofSlack = (error: unknown, now: Now): number | undefined =>
  textAt(error, "code") === "slack_webapi_rate_limited_error"
    ? retryAfterIn({ "retry-after": at(error, "retryAfter") }, now)
    : undefined

/** True if the headers of an error, or of its response, say that the service limits requests. */
export const isLimited = (error: unknown): boolean => headersOf(error).some(isLimitedIn)

const headersOf = (error: unknown): ReadonlyArray<unknown> => {
  const responses = ["response", "$response"].map((key) => at(error, key, "headers"))
  return [at(error, "headers"), at(error, "responseHeaders"), ...responses, at(error, "reason", "response", "headers")]
}

/** Returns the wait, in milliseconds, that headers ask for. */
export const retryAfterIn = (headers: unknown, now: Now): number | undefined => {
  const millis = headerIn(headers, "retry-after-ms") ?? ""
  if (/^\d+(\.\d+)?$/.test(millis)) return Math.min(Number(millis), longest)
  const after = headerIn(headers, "retry-after") ?? ""
  if (/^\d+$/.test(after)) return Math.min(Number(after) * 1000, longest)
  const until = /^[a-z]{3,9}, /i.test(after) ? Date.parse(after) : resetIn(headers)
  return Number.isNaN(until) ? undefined : Math.min(Math.max(0, until - now()), longest)
}

/** True if headers say that the service limits requests. */
export const isLimitedIn = (headers: unknown): boolean =>
  hasNoneLeft(headers) || retryAfterIn(headers, () => 0) !== undefined

const hasNoneLeft = (headers: unknown): boolean => headerIn(headers, "x-ratelimit-remaining") === "0"

// Some services send a point in time, in seconds since 1970. Others send a number of seconds to wait, which
// has fewer digits and is ignored.
const resetIn = (headers: unknown): number => {
  const reset = hasNoneLeft(headers) ? headerIn(headers, "x-ratelimit-reset") ?? "" : ""
  return /^\d{10}$/.test(reset) ? Number(reset) * 1000 : Number.NaN
}

/** The longest wait, in milliseconds: about thirty years, which can still be written as text. */
const longest = 1e12

const headerIn = (headers: unknown, name: string): string | undefined => {
  if (!isRecord(headers)) return undefined
  const get = at(headers, "get")
  const value = typeof get === "function"
    ? attempt((): unknown => get.call(headers, name))
    : attempt(() => Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1])
  return typeof value === "number" ? String(value) : typeof value === "string" ? value.slice(0, 1000).trim() : undefined
}
