/**
 * JSON values as they were written. An integer that lost digits becomes an {@link Unsafe}, with its source
 * text.
 *
 * A JavaScript number cannot hold every integer, and only the source text shows which integer was written.
 * Integers that lost digits are marked once, at the beginning. Code that later checks or moves the value then
 * needs neither the text nor a path.
 */
import { isObject, type Json, type JsonArray, type JsonObject, type Path } from "./json.ts"
import { deepest } from "./options.ts"
import { cut, excerpt, kind, oneLine } from "./text/excerpt.ts"

export type Value = null | boolean | number | string | Unsafe | List | Record
export type List = ReadonlyArray<Value>
export interface Record {
  readonly [key: string]: Value
}

/** An integer with more digits than a number can hold. */
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

export const isRecord = (value: unknown): value is Record => isObject(value) && !(value instanceof Unsafe)

/** Returns the value of an own key. */
export const own = (record: Record, key: string): Value | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined

/** A function that returns the source text of the number at a path. */
export type NumberAt = (path: Path) => string | undefined

/**
 * Replaces each integer that lost digits by an {@link Unsafe}, with its source text if that is known. If no
 * integer lost digits, returns the same reference.
 */
export const mark = (value: Json, numberAt?: NumberAt): Value => {
  if (!holdsLarge(value, 0)) return value
  const path: Array<string | number> = []
  const marked = (value: Json): Value => {
    if (typeof value === "number") {
      if (isHeld(value)) return value
      const token = numberAt?.(path.slice()) ?? String(value)
      return integerToken.test(token) ? new Unsafe(token) : value
    }
    if (typeof value !== "object" || value === null || path.length > deepest) return value
    return mapped(value, (child, key) => {
      path.push(key)
      const result = marked(child)
      path.pop()
      return result
    })
  }
  return marked(value)
}

const isHeld = (value: number): boolean => value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER

// Most values have no such integers, and are not copied.
const holdsLarge = (value: Json, depth: number): boolean => {
  if (typeof value === "number") return !isHeld(value)
  if (typeof value !== "object" || value === null || depth > deepest) return false
  if (isArray(value)) return value.some((item) => holdsLarge(item, depth + 1))
  for (const key of Object.keys(value)) if (holdsLarge(value[key]!, depth + 1)) return true
  return false
}

/** True for plain JSON: no marked integers, and not nested too deeply. */
export const isJson = (value: Value, depth = 0): value is Json => {
  if (typeof value !== "object" || value === null) return true
  if (value instanceof Unsafe || depth > deepest) return false
  return (isList(value) ? value : Object.values(value)).every((child) => isJson(child, depth + 1))
}

/** Formats an excerpt of a value. An integer that lost digits is shown as it was written. */
export const show = (value: Value | undefined): string =>
  value instanceof Unsafe ? cut(value.token, 80) : excerpt(value)

/** Returns the kind of a value, which is all that may be said about a secret. */
export const kindOf = (value: Value | undefined): string => value instanceof Unsafe ? "a number" : kind(value)

/** Formats the path of a field for a sentence: `'items.0.price'`. */
export const nameOf = (path: Path): string => path.length === 0 ? "the value" : `'${cut(oneLine(path.join(".")), 80)}'`

/** Formats a key as it was written. If it has invisible characters, it is formatted as JSON. */
export const keyOf = (written: string): string => oneLine(written) === written ? nameOf([written]) : excerpt(written)

/**
 * Removes the differences that models introduce into names: case, `-`, `_` and spaces. A separator at either
 * end stays, because it may be a sign, and so does a separator between digits. A name that consists only of
 * separators becomes empty, and matches no other name.
 */
export const foldName = (name: string): string => {
  // Keys and choices repeat, so results are cached.
  const cached = folds.get(name)
  if (cached !== undefined) return cached
  const fold = computeFold(name)
  if (name.length > 40) return fold
  if (folds.size === 2_000) folds.clear()
  folds.set(name, fold)
  return fold
}

const folds = new Map<string, string>()

const computeFold = (name: string): string => {
  const text = name.trim().toLowerCase()
  return /^[-_\s]*$/.test(text) ? "" : text.replace(/[-_\s]+/g, (separator, at: number) => {
    const isBetweenDigits = /\d/.test(text.charAt(at - 1)) && /\d/.test(text.charAt(at + separator.length))
    const isAtEnd = at === 0 || at + separator.length === text.length
    return isAtEnd ? separator : isBetweenDigits ? "-" : ""
  })
}

/** Groups strings by a key, in their order. (Node 20 has no `Map.groupBy`.) */
export const groupBy = (
  texts: ReadonlyArray<string>,
  by: (text: string) => string
): ReadonlyMap<string, ReadonlyArray<string>> => {
  const groups = new Map<string, Array<string>>()
  for (const text of texts) {
    const group = groups.get(by(text))
    if (group === undefined) groups.set(by(text), [text])
    else group.push(text)
  }
  return groups
}

/** True for a number in JSON's grammar. */
export const isNumberToken = (text: string): boolean => numberToken.test(text)

const numberToken = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** True for a number such as `1.500`, which may mean 1500 or 1.5. */
export const mayBeGrouped = (text: string): boolean => thousands.test(text)

const thousands = /^-?\d{1,3}\.\d{3}$/

const integerToken = /^-?(?:0|[1-9]\d*)$/

// Maps each child of a container. `Object.fromEntries` defines keys instead of assigning them, so `__proto__`
// is safe.
const mapped = (container: JsonArray | JsonObject, f: (child: Json, key: string | number) => Value): List | Record =>
  isArray(container)
    ? container.map(f)
    : Object.fromEntries(Object.entries(container).map(([key, child]) => [key, f(child, key)]))

const isArray = (value: JsonArray | JsonObject): value is JsonArray => Array.isArray(value)

// -----------------------------------------------------------------------------
// Places
// -----------------------------------------------------------------------------

/** A place in a value that is being walked. It is turned into a path only for a report. */
export interface Place {
  readonly above: Place | undefined
  readonly key: string | number
}

export const pathOf = (place: Place | undefined): Path => {
  const path: Array<string | number> = []
  for (let at = place; at !== undefined; at = at.above) path.push(at.key)
  return path.toReversed()
}

export const placeOf = (path: Path): Place | undefined =>
  path.reduce<Place | undefined>((above, key) => ({ above, key }), undefined)
