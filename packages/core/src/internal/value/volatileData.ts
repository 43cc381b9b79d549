/*
 * Compares JSON values, but ignores fields that change with every request, such as the time of the response. The rule
 * is strict, because a field that is ignored by mistake hides progress. A field is ignored only in two cases: it is
 * declared as volatile, or both its name and its values look like the time of a response or the id of a request.
 */
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import { attempted } from "./untrusted.ts"

/** The names of fields that change with every request, although the data stays the same. */
export type VolatileNames = ReadonlyArray<string>

/**
 * True if two values are the same except for volatile fields. Values that differ only in volatile fields, and have no
 * other content, are not the same: there, the time is the data.
 */
export const isSameData = (a: Schema.Json, b: Schema.Json, volatile: VolatileNames = []): boolean => {
  const content = new Content(volatile)
  return content.isSame(a, b) && (content.isFound || !content.hasMasked)
}

/** Compares two values, and records whether anything but volatile fields was compared. */
class Content {
  readonly #volatile: VolatileNames
  isFound = false
  hasMasked = false

  constructor(volatile: VolatileNames) {
    this.#volatile = volatile
  }

  isSame(a: Schema.Json, b: Schema.Json): boolean {
    if (a === b) {
      this.isFound = true
      return true
    }
    if (typeof a === "string" && typeof b === "string") return this.#isSameText(a, b)
    if (Array.isArray(a)) {
      if (!Array.isArray(b) || a.length !== b.length) return false
      this.isFound ||= a.length === 0
      return a.every((item, index) => this.isSame(item, b[index]))
    }
    return isFields(a) && isFields(b) && this.#areSameFields(a, b)
  }

  #areSameFields(a: Schema.JsonObject, b: Schema.JsonObject): boolean {
    const names = Object.keys(a)
    if (names.length !== Object.keys(b).length) return false
    this.isFound ||= names.length === 0
    return names.every((name) => {
      const one = a[name]
      const other = b[name]
      if (one === undefined || other === undefined) return false
      if (one !== other && this.#isVolatile(name, one, other)) {
        this.hasMasked = true
        return true
      }
      return this.isSame(one, other)
    })
  }

  #isVolatile(name: string, one: Schema.Json, other: Schema.Json): boolean {
    if (this.#volatile.includes(name)) return true
    if (!isScalar(one) || !isScalar(other)) return false
    const plain = name.toLowerCase().replaceAll(/[^a-z]/g, "")
    return timeNames.test(plain) && isTime(one) && isTime(other) ||
      durationNames.test(plain) && isNumber(one) && isNumber(other) ||
      requestNames.test(plain) && isId(one) && isId(other)
  }

  #isSameText(a: string, b: string): boolean {
    // A tool may return JSON as a text.
    if (isJsonText(a) && isJsonText(b)) {
      const one = parsed(a)
      const other = parsed(b)
      if (one !== undefined && other !== undefined) return this.isSame(one, other)
    }
    // Most texts that differ, differ in length or have no digits. These need no search for times.
    if (Math.abs(a.length - b.length) > mostDrift || !/\d/.test(a)) return false
    const masked = withoutTimes(a)
    if (masked !== withoutTimes(b)) return false
    this.hasMasked = true
    this.isFound ||= /[a-z0-9]/i.test(masked)
    return true
  }
}

// A time that is written differently may be longer by a few characters: "9:59" and "10:00".
const mostDrift = 16

const isFields = (value: Schema.Json): value is Schema.JsonObject => Predicate.isObject(value)

const isScalar = (value: Schema.Json): value is string | number =>
  typeof value === "string" || typeof value === "number"

const isNumber = (value: string | number): boolean => typeof value === "number"

// Names of the time at which a response was made. Names of times that are data, such as `departure_time`, are not here.
const timeNames =
  /^(?:at|ts|now|time|timestamp|datetime|date|(?:server|current|response|request|generated|fetched|retrieved|checked|queried|refreshed|updated|cached|measured|observed|captured|computed|rendered|served|lastupdated|lastchecked|lastfetched|lastrefreshed|asof)(?:at|on|ts|time|timestamp|date)?)$/

const durationNames =
  /^(?:took|elapsed|latency|(?:response|processing|query|request)time|duration)(?:ms|millis|s|sec)?$/

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

const isId = (value: string | number): boolean =>
  typeof value === "number" || value.length >= 6 && /^[\w:.-]+$/.test(value) && /\d/.test(value)

const timesInText = new RegExp(`${iso}|${http}`, "g")
const requestInText = /\b(?:request|trace|correlation)[-_ ]?id\W{1,4}[\w.-]{6,}/gi

const withoutTimes = (text: string): string => text.replaceAll(timesInText, "").replaceAll(requestInText, "")

const isJsonText = (text: string): boolean => text.startsWith("{") || text.startsWith("[")

const parsed = (text: string): Schema.Json | undefined => attempted((): Schema.Json => JSON.parse(text))
