/*
 * How long a service asks to be left alone: in seconds, in milliseconds, or until a date (RFC 9110, 10.2.3).
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import { currentContext } from "../containment.ts"
import { attempted } from "../stranger.ts"
import { at } from "./look.ts"

/** By the headers of an error, or of its response. */
export const retryAfterOf = (error: unknown): Duration.Duration | undefined => {
  const responses = ["response", "$response"].map((key) => at(error, key, "headers"))
  return [at(error, "headers"), at(error, "responseHeaders"), ...responses, at(error, "reason", "response", "headers")]
    .flatMap((headers) => retryAfterIn(headers) ?? [])
    .at(0)
}

export const retryAfterIn = (headers: unknown): Duration.Duration | undefined => {
  const millis = headerIn(headers, "retry-after-ms") ?? ""
  if (/^\d+(\.\d+)?$/.test(millis)) return Duration.seconds(Math.min(Number(millis) / 1000, longest))
  const after = headerIn(headers, "retry-after") ?? ""
  if (/^\d+$/.test(after)) return Duration.seconds(Math.min(Number(after), longest))
  const until = /^[a-z]{3,9}, /i.test(after) ? Date.parse(after) : Number.NaN
  return Number.isNaN(until) ? undefined : Duration.millis(Math.max(0, until - now()))
}

/** In seconds: some thirty years, which can still be written down. */
const longest = 1e9

// An error is not an Effect; the fiber that looks at it knows the time.
const now = (): number => Context.get(currentContext<never>(), Clock.Clock).currentTimeMillisUnsafe()

const headerIn = (headers: unknown, name: string): string | undefined => {
  if (!Predicate.isObject(headers)) return undefined
  const get = at(headers, "get")
  const value = typeof get === "function"
    ? attempted((): unknown => get.call(headers, name))
    : attempted(() => Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1])
  return typeof value === "number" ? String(value) : typeof value === "string" ? value.slice(0, 1000).trim() : undefined
}
