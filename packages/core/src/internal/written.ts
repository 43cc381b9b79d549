/**
 * JSON values as they were written: a number that lost digits when it was read stands as an {@link Unsafe}, with its source.
 *
 * A JavaScript number cannot hold every integer, and which one it was only the text knows. The marks are
 * set once, so that whatever checks or moves a value afterwards needs no text and no path.
 */
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import type { FieldIssue } from "../ToolFailure.ts"
import { cut, excerpt, kind, oneLine } from "./text.ts"

export type Path = FieldIssue["path"]

export type Value = null | boolean | number | string | Unsafe | List | Record
export type List = ReadonlyArray<Value>
export interface Record {
  readonly [key: string]: Value
}

/** An integer of more digits than a number holds. */
export class Unsafe {
  readonly token: string
  constructor(token: string) {
    this.token = token
  }
  toJSON(): number {
    return Number(this.token)
  }
}

export const isList = (value: unknown): value is List => Array.isArray(value)

export const isRecord = (value: unknown): value is Record => Predicate.isObject(value) && !(value instanceof Unsafe)

/** The value at an own key. */
export const own = (record: Record, key: string): Value | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined

/** The part of a value at a path, as far as it has one of its own. */
export const partAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (at, key) => Predicate.isObjectKeyword(at) && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined,
    value
  )

/** Marks the integers that lost digits, by their source texts where these are known; the same reference where there are none. */
export const mark = (value: Schema.Json, numberAt?: (path: Path) => string | undefined): Value => {
  const path: Array<string | number> = []
  const within = (value: Schema.Json): Value => {
    if (typeof value === "number") {
      if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value
      const token = numberAt?.(path.slice()) ?? String(value)
      return integerToken.test(token) ? new Unsafe(token) : value
    }
    if (typeof value !== "object" || value === null || path.length > deepest) return value
    return mapChildren(value, (child, key) => {
      path.push(key)
      const marked = within(child)
      path.pop()
      return marked
    })
  }
  return within(value)
}

/** Is it plain JSON, without a marked integer in it, and no deeper than is looked at? */
export const isJson = (value: Value, depth = 0): value is Schema.Json => {
  if (typeof value !== "object" || value === null) return true
  if (value instanceof Unsafe || depth > deepest) return false
  return (isList(value) ? value : Object.values(value)).every((child) => isJson(child, depth + 1))
}

/** An excerpt of a value, of an integer all its digits. */
export const show = (value: Value | undefined): string =>
  value instanceof Unsafe ? cut(value.token, 80) : excerpt(value)

/** What sort of value it is: all that is said of a secret. */
export const kindOf = (value: Value | undefined): string => value instanceof Unsafe ? "a number" : kind(value)

/** `'items.0.price'`: a field for a sentence. */
export const nameOf = (path: Path): string => path.length === 0 ? "the value" : `'${cut(oneLine(path.join(".")), 80)}'`

/** `orders[0].total`: the same as a program would write it. Of a long one, its end. */
export const dotted = (path: Path): string => {
  const last = path.slice(-mostKeys)
  const text = last.map((key) =>
    typeof key === "number" ? `[${key}]` : identifier.test(key) ? `.${key}` : `[${excerpt(key, 40)}]`
  ).join("")
  return last.length < path.length ? `…${text}` : text.replace(/^\./, "")
}

const mostKeys = 10
const identifier = /^[\p{L}_$][\p{L}\p{N}_$]{0,79}$/u

/** A key as it was written: in JSON where it would not be seen what is in it. */
export const keyOf = (written: string): string => oneLine(written) === written ? nameOf([written]) : excerpt(written)

/**
 * A spelling without what models change in names: case, `-`, `_` and spaces. A sign stays, and so does what keeps digits apart; of a name that
 * is nothing else, nothing is left, and nothing is spelled like it.
 */
export const folded = (name: string): string => {
  const text = name.trim().toLowerCase()
  return /^[-_\s]*$/.test(text) ? "" : text.replace(/[-_\s]+/g, (separator, at: number) => {
    const isBetweenDigits = /\d/.test(text.charAt(at - 1)) && /\d/.test(text.charAt(at + separator.length))
    return at === 0 ? separator : isBetweenDigits ? "-" : ""
  })
}

/** A token of JSON's grammar for a number. */
export const isNumberToken = (text: string): boolean => numberToken.test(text)

const numberToken = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Is it a thousand to some, and one and a half to others: `1.500`? */
export const mayBeGrouped = (text: string): boolean => grouped.test(text)

const grouped = /^-?\d{1,3}\.\d{3}$/

/** The pattern that is shown of a number in a text: JSON's grammar, with no exponent of which a number becomes infinite. */
export const numberText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?[0-2]?\d{1,2})?$/

const integerToken = /^-?(?:0|[1-9]\d*)$/

/** How deep a value is looked at; what is read of a model is never as deep. */
export const deepest = 256

// The container with each child mapped; the same reference where none changed.
const mapChildren = (
  container: Schema.JsonArray | Schema.JsonObject,
  f: (child: Schema.Json, key: string | number) => Value
): Value => {
  const changes = new Map<string | number, Value>()
  const mapped = (child: Schema.Json, key: string | number) => {
    const value = f(child, key)
    if (value !== child) changes.set(key, value)
  }
  if (isArray(container)) {
    container.forEach(mapped)
    return changes.size === 0 ? container : container.map((child, index) => changes.get(index) ?? child)
  }
  for (const key of Object.keys(container)) mapped(container[key]!, key)
  // An own key may be called `__proto__`: it is defined, never assigned.
  return changes.size === 0
    ? container
    : Object.fromEntries(Object.entries(container).map(([key, child]) => [key, changes.get(key) ?? child]))
}

const isArray = (value: Schema.JsonArray | Schema.JsonObject): value is Schema.JsonArray => Array.isArray(value)
