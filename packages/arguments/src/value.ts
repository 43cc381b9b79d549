/**
 * JSON values as they were written. An integer that lost digits becomes an {@link Unsafe}, with its source
 * text.
 *
 * A JavaScript number cannot hold every integer, and only the source text shows which integer was written.
 * Integers that lost digits are marked once, at the beginning. Code that later checks or moves the value then
 * needs neither the text nor a path.
 */
import { entriesOf, hasKey, isArray, isContainer, isNumber, isObject, type Json, keysOf, type Path } from "./json.ts"
import { getOrInsert, newMap } from "./memo.ts"
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
  /** Whether the token is what was written. Else it is what JavaScript made of the number, without its last digits. */
  readonly isSource: boolean
  constructor(token: string, isSource = true) {
    this.token = token
    this.isSource = isSource
  }
  toJSON(): number {
    return Number(this.token)
  }
}

export const isUnsafe = (value: unknown): value is Unsafe => value instanceof Unsafe

export const isList = (value: unknown): value is List => Array.isArray(value)

export const isRecord = (value: unknown): value is Record => isObject(value) && !isUnsafe(value)

/** Treats a part of a value as a value. */
export const asValue = (value: unknown) => value as Value | undefined

/** Returns the value of an own key. */
export const own = (record: Record, key: string): Value | undefined => hasKey(record, key) ? record[key] : undefined

/** Returns the keys of an object, or the indices of a list. */
export const keysIn = (value: List | Record): Iterable<string | number> => isList(value) ? value.keys() : keysOf(value)

/** Returns the value of a key that an object or a list has. */
export const partIn = (value: List | Record, key: string | number): Value => Reflect.get(value, key)

/** Returns the values in an object or a list. */
export const partsIn = <A>(value: ReadonlyArray<A> | { readonly [key: string]: A }): ReadonlyArray<A> =>
  isArray(value) ? value : Object.values(value)

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
    if (isNumber(value)) {
      if (isHeld(value)) return value
      const source = numberAt?.(path.slice())
      const token = source ?? String(value)
      return plainToken.test(token) ? new Unsafe(token, source !== undefined) : value
    }
    if (!isContainer(value) || path.length > deepest) return value
    const markedAt = (child: Json, key: string | number): Value => {
      path.push(key)
      const result = marked(child)
      path.pop()
      return result
    }
    // `Object.fromEntries` defines keys instead of assigning them, so `__proto__` is safe.
    return isArray(value)
      ? value.map(markedAt)
      : Object.fromEntries(entriesOf(value).map(([key, child]) => [key, markedAt(child, key)]))
  }
  return marked(value)
}

/** True for a number within the range in which JavaScript holds every integer. */
export const isHeld = (value: number): boolean => Math.abs(value) <= Number.MAX_SAFE_INTEGER

// Most values have no such integers, and are not copied.
const holdsLarge = (value: Json, depth: number): boolean =>
  isContainer(value)
    ? depth <= deepest && partsIn(value).some((part) => holdsLarge(part, depth + 1))
    : isNumber(value) && !isHeld(value)

/** True for plain JSON: no marked integers, and not nested too deeply. */
export const isJson = (value: Value, depth = 0): value is Json => {
  if (!isContainer(value)) return true
  return !isUnsafe(value) && depth <= deepest && partsIn(value).every((child) => isJson(child, depth + 1))
}

/**
 * Formats an excerpt of a value. An integer that lost digits is shown as it was written. If that is unknown, it is not shown,
 * because its digits would be wrong.
 */
export const show = (value: Value | undefined): string =>
  isUnsafe(value)
    ? value.isSource ? cut(value.token, 80) : "a number that has lost its last digits"
    : excerpt(value)

/** Returns the kind of a value, which is all that may be said about a secret. */
export const kindOf = (value: Value | undefined): string => isUnsafe(value) ? "a number" : kind(value)

/** Formats the path of a field for a sentence: `'items.0.price'`. */
export const nameOf = (path: Path): string => path.length === 0 ? "the value" : `'${cut(oneLine(path.join(".")), 80)}'`

/** Formats a key as it was written. If it has invisible characters, it is formatted as JSON. */
export const keyOf = (written: string): string => oneLine(written) === written ? nameOf([written]) : excerpt(written)

/** Remembers the results of a function of names. Keys and choices repeat; long ones are not remembered. */
const remembered = (compute: (name: string) => string): (name: string) => string => {
  const results = newMap<string, string>()
  return (name) => {
    const known = results.get(name)
    if (known !== undefined) return known
    const result = compute(name)
    if (name.length > 40) return result
    if (results.size === 2_000) results.clear()
    results.set(name, result)
    return result
  }
}

/**
 * Removes the differences that models introduce into names: case, `-`, `_` and spaces. A separator at either
 * end stays, because it may be a sign, and so does a separator between digits. A name that consists only of
 * separators becomes empty, and matches no other name.
 */
export const foldName = remembered((name) => {
  const text = name.trim().toLowerCase()
  return /^[-_\s]*$/.test(text) ? "" : text.replace(
    /(?<=(\d)|[^-_\s])[-_\s]+(?=(\d)|[^-_\s])/g,
    (_, digitBefore?: string, digitAfter?: string) => digitBefore === undefined || digitAfter === undefined ? "" : "-"
  )
})

/**
 * Removes all differences of spelling from a key: case, `-`, `_` and spaces. A key that differs from a declared one in no
 * other way is renamed or refused.
 */
export const loosely = remembered((key) => key.toLowerCase().replace(/[-_\s]+/g, ""))

/** Groups strings by a key, in their order. (Node 20 has no `Map.groupBy`.) */
export const groupBy = (
  texts: ReadonlyArray<string>,
  by: (text: string) => string
): ReadonlyMap<string, ReadonlyArray<string>> => {
  const groups = newMap<string, Array<string>>()
  for (const text of texts) getOrInsert(groups, by(text), () => []).push(text)
  return groups
}

/** True for a number in JSON's grammar, or without the 0 before its point. */
export const isNumberToken = (text: string): boolean => numberToken.test(text)

const numberToken = /^-?(?:(?:0|[1-9]\d*)(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?$/

/** True for a number such as `1.500`, which may mean 1500 or 1.5. */
export const mayBeGrouped = (text: string): boolean => thousands.test(text)

const thousands = /^-?[1-9]\d{0,2}\.\d{3}$/

const plainToken = /^-?[\d.]+$/

// -----------------------------------------------------------------------------
// Places
// -----------------------------------------------------------------------------

/** A place in a value that is being walked. It is turned into a path only for a report. */
export interface Place {
  readonly above: Place | undefined
  readonly key: string | number
  /** The declared key, if the written one is another spelling of it. */
  readonly as?: string
}

export const pathOf = (place: Place | undefined): Path => {
  const path: Array<string | number> = []
  for (let at = place; at; at = at.above) path.push(at.key)
  return path.toReversed()
}

/** Returns the place of a part of the value at a place. */
export const placeIn = (above: Place | undefined, key: string | number): Place => ({ above, key })

/** Returns the place at a path inside another place. */
export const placeOf = (path: Path, outer?: Place): Place | undefined => path.reduce(placeIn, outer)
