/*
 * Compares JSON values, but ignores fields that change with every request, such as the time of the response. The rule
 * is strict, because a field that is ignored by mistake hides progress. A field is ignored only in two cases: it is
 * declared as volatile, or both its name and its values look like the time of a response or the id of a request. In a
 * text with other content, ids of requests are ignored, and full times that may be the time of a response.
 */
import type * as Schema from "effect/Schema"
import { isJsonObject } from "./plainJson.ts"
import { attempt } from "./untrusted.ts"

/** The names of fields that change with every request, although the data stays the same. */
export type VolatileNames = ReadonlyArray<string>

/**
 * True if two values are the same except for volatile fields. Values that differ only in volatile fields, and have no
 * other content, are not the same: there, the time is the data.
 */
export const isSameData = (a: Schema.Json, b: Schema.Json, volatile: VolatileNames = none): boolean => {
  // Only a hostile text could exhaust the stack: JSON in a text may be nested deeply.
  const found = attempt(() => compared(a, b, volatile)) ?? different
  return found !== different && (found & content) !== 0 || found === nothing
}

const none: VolatileNames = []

// What a comparison found, as bits.
const different = 0
const nothing = 1
const content = 2
const masked = 4

const compared = (a: Schema.Json, b: Schema.Json, volatile: VolatileNames): number => {
  if (a === b) return content
  if (typeof a === "string") return typeof b === "string" ? comparedTexts(a, b, volatile) : different
  if (Array.isArray(a)) return Array.isArray(b) ? comparedLists(a, b, volatile) : different
  return isJsonObject(a) && isJsonObject(b) ? comparedFields(a, b, volatile) : different
}

const comparedLists = (
  a: ReadonlyArray<Schema.Json>,
  b: ReadonlyArray<Schema.Json>,
  volatile: VolatileNames
): number => {
  if (a.length !== b.length) return different
  let found = a.length === 0 ? content : nothing
  for (let index = 0; index < a.length; index++) {
    const of = compared(a[index]!, b[index]!, volatile)
    if (of === different) return different
    found |= of
  }
  return found
}

const comparedFields = (a: Schema.JsonObject, b: Schema.JsonObject, volatile: VolatileNames): number => {
  let fields = 0
  let found = nothing
  for (const name in a) {
    // Every object has an inherited `__proto__`, which is no field.
    if (!Object.hasOwn(b, name)) return different
    fields++
    const one = a[name]
    const other = b[name]
    if (one === undefined || other === undefined) return different
    const of = one !== other && isVolatile(name, one, other, volatile) ? masked : compared(one, other, volatile)
    if (of === different) return different
    found |= of
  }
  for (const _ in b) fields--
  if (fields !== 0) return different
  return found === nothing ? content : found
}

const isVolatile = (name: string, one: Schema.Json, other: Schema.Json, volatile: VolatileNames): boolean => {
  if (volatile.length > 0 && volatile.includes(name)) return true
  if (!isScalar(one) || !isScalar(other)) return false
  switch (kindOf(name)) {
    case "time":
      return isTime(one) && isTime(other)
    case "perhaps":
      return areMoments(one, other)
    case "duration":
      return typeof one === "number" && typeof other === "number"
    case "request":
      return isId(one) && isId(other)
    case undefined:
      return false
  }
}

const comparedTexts = (a: string, b: string, volatile: VolatileNames): number => {
  // A tool may return JSON as a text.
  if (isJsonText(a) && isJsonText(b)) {
    const one = parsed(a)
    const other = parsed(b)
    if (one !== undefined && other !== undefined) return compared(one, other, volatile)
  }
  if (Math.abs(a.length - b.length) > maxDrift) return different
  // Most texts differ first at a place where there is no time. These need no further search.
  const start = firstDifference(a, b)
  if (!volatileHint.test(a.slice(Math.max(0, start - maxHint), start + maxHint))) return different
  const without = haveSameMoments(a, b) ? withoutAllTimes : withoutTimes
  const rest = without(a)
  if (rest !== without(b)) return different
  // In a text that is only a time, the time is the data.
  return /[a-z0-9]/i.test(rest) ? masked | content : different
}

// A time that is written differently may be longer by a few characters: "9:59" and "10:00".
const maxDrift = 16

const isScalar = (value: Schema.Json): value is string | number =>
  typeof value === "string" || typeof value === "number"

type Kind = "time" | "perhaps" | "duration" | "request" | undefined

const kindOf = (name: string): Kind => {
  const known = kinds.get(name)
  if (known !== undefined || kinds.has(name)) return known
  if (name.length > longestName) return undefined
  const plain = name.toLowerCase().replaceAll(/[^a-z]/g, "")
  const kind = timeNames.test(plain)
    ? "time"
    : ambiguousNames.test(plain)
    ? "perhaps"
    : durationNames.test(plain)
    ? "duration"
    : requestNames.test(plain)
    ? "request"
    : undefined
  if (kinds.size >= maxKinds) kinds.clear()
  kinds.set(name, kind)
  return kind
}

// Results have the same fields again and again, so the kinds of their names are remembered.
const kinds = new Map<string, Kind>()
const maxKinds = 500
const longestName = 60

// Names of times that are data as often as not.
const ambiguousNames = /^(?:at|time|date|datetime|(?:last)?(?:updated|modified|changed)(?:at|on|time)?)$/

/** How far apart two responses to the same request may be, in milliseconds. */
const maxApart = 3_600_000

// True for two full times that are near each other, and not both on the minute. A timetable has round times.
const areMoments = (one: string | number, other: string | number): boolean => {
  const a = millisOf(one)
  const b = millisOf(other)
  return Math.abs(a - b) <= maxApart && (a % 60_000 !== 0 || b % 60_000 !== 0)
}

// NaN if the value is not a full time.
const millisOf = (value: string | number): number => {
  if (typeof value === "string") return isoTime.test(value) || httpTime.test(value) ? Date.parse(value) : Number.NaN
  return isEpoch(value) ? value < 1e11 ? value * 1000 : value : Number.NaN
}

// Names of the time at which a response was made. Names of times that are data are not here, such as `departure_time`.
const timeNames =
  /^(?:ts|now|timestamp|(?:server|current|response|request|generated|fetched|retrieved|checked|queried|refreshed|cached|measured|observed|captured|computed|rendered|served|lastchecked|lastfetched|lastrefreshed|asof)(?:at|on|ts|time|timestamp|date)?)$/

// Not `duration` or `latency`, which may be data: the time of a journey, or of a ping.
const durationNames = /^(?:took|(?:response|processing|query|request)time)(?:ms|millis|s|sec)?$/

const requestNames = /^(?:x?(?:request|trace|correlation|span|invocation)(?:id|uuid)|reqid|nonce|traceparent)$/

const isTime = (value: string | number): boolean =>
  typeof value === "number" ? isEpoch(value) : isoTime.test(value) || httpTime.test(value) || clockTime.test(value)

// Seconds or milliseconds since 1970, between 2001 and 2100.
const isEpoch = (value: number): boolean => value >= 1e9 && value <= 4.1e9 || value >= 1e12 && value <= 4.1e12

const iso = String.raw`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?`
const http = String.raw`[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT`
const isoTime = new RegExp(`^${iso}$`)
const httpTime = new RegExp(`^${http}$`)
const clockTime = /^\d\d?:\d\d(?::\d\d(?:\.\d{1,9})?)?$/

// A number may count requests, which is data.
const isId = (value: string | number): boolean =>
  typeof value === "string" && value.length >= 6 && /^[\w:.-]+$/.test(value) && /\d/.test(value)

// Only after a word that says that it is the time of the response: the next departure is a time, too.
const responseWords =
  "(?:as of|generated|fetched|retrieved|checked|queried|refreshed|measured|observed|cached|served|timestamp|server time)"
const timesInText = new RegExp(`\\b${responseWords}(?: (?:at|on))?\\W{1,3}(?:${iso}|${http})`, "gi")
const requestInText = /\b(?:request|trace|correlation)[-_ ]?id\W{1,4}[\w.-]{6,}/gi

const firstDifference = (a: string, b: string): number => {
  let start = 0
  let end = Math.min(a.length, b.length)
  // Comparing whole slices is much faster than comparing characters.
  while (end - start > 32) {
    const middle = (start + end) >>> 1
    if (a.slice(start, middle) === b.slice(start, middle)) start = middle
    else end = middle
  }
  while (start < end && a.charCodeAt(start) === b.charCodeAt(start)) start++
  return start
}

const volatileHint = /\d:\d\d|id\W/i
const maxHint = 64

// True if the texts have the same number of times, and each may be the time of a response.
const haveSameMoments = (a: string, b: string): boolean => {
  const times = a.match(anyTime) ?? []
  const others = b.match(anyTime) ?? []
  return times.length === others.length &&
    times.every((time, index) => time === others[index] || areMoments(time, others[index] ?? ""))
}

const anyTime = new RegExp(`${iso}|${http}`, "g")

const withoutAllTimes = (text: string): string => text.replaceAll(anyTime, "").replaceAll(requestInText, "")

const withoutTimes = (text: string): string => text.replaceAll(timesInText, "").replaceAll(requestInText, "")

const isJsonText = (text: string): boolean => text.startsWith("{") || text.startsWith("[")

const parsed = (text: string): Schema.Json | undefined => attempt((): Schema.Json => JSON.parse(text))
