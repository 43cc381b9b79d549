/*
 * Values as JSON, the way `JSON.stringify` writes them: a handler returns what its libraries return. Where
 * `JSON.stringify` throws, loses a value or writes nothing of use, a label stands in its place.
 *
 * | value                                    | written as                                                  |
 * | ---------------------------------------- | ----------------------------------------------------------- |
 * | a Date, a URL, anything with `toJSON`    | what `toJSON` returns                                       |
 * | a field that is `undefined` or a function | left out; `null` in a list and as the whole value          |
 * | a Map                                    | an object; a list of pairs if a key is an object            |
 * | a Set, a list of numbers such as Float64Array | a list                                                 |
 * | a bigint                                 | its digits, as a string                                     |
 * | NaN, an infinity                         | `null`, with a note                                         |
 * | bytes                                    | `"<12 bytes>"`                                              |
 * | an error                                 | `{ error }` with the message that may be shown              |
 * | a promise, a cycle, what cannot be read  | `"<promise>"`, `"<circular>"`, `"<unreadable>"`             |
 * | levels beyond 512, after five million values | `"…"`, with a note                                      |
 */
import { describe } from "@fallible/errors"
import type * as Schema from "effect/Schema"
import { attempt, isA, isPromise } from "./untrusted.ts"

/** The deepest nesting of a result, in levels. `JSON.stringify` and journals exhaust the stack only far beyond this depth. */
export const maxDepth = 512

/** Values that are shared, or made on demand, may be without end. */
const maxValues = 5_000_000

/** A level with more values than this is checked for shared ones. */
const maxUnshared = 1000

/** A value as JSON. */
export interface PlainJson {
  readonly json: Schema.Json
  /** What a reader cannot see in the JSON, one sentence each, without its full stop. */
  readonly notes: ReadonlyArray<string>
}

/** Writes any value as JSON. */
export const plainJson = (value: unknown): PlainJson =>
  isJson(value) ? { json: asJson(value), notes: none } : written(value)

const isJson = (value: unknown): boolean => {
  try {
    // Most results are small, and this check is fast.
    return isSmall(value, 3) || isPlain(value)
  } catch {
    return false
  }
}

const none: ReadonlyArray<string> = []

/** True if a value is plain, with so few levels and members that the check allocates nothing. */
const isSmall = (value: unknown, levels: number): boolean => {
  if (!isObject(value)) return isScalar(value)
  if (levels === 0 || !isPlainObject(value)) return false
  if (Array.isArray(value)) {
    if (value.length > 20) return false
    // Unlike `every`, this finds holes.
    for (const member of value) if (!isSmall(member, levels - 1)) return false
    return true
  }
  let members = 0
  for (const key in value) {
    if (++members > 20 || !isSmall((value as Readonly<Record<string, unknown>>)[key], levels - 1)) return false
  }
  return true
}

/** True if a value is JSON already, nested in at most {@link maxDepth} levels, and shares few of its parts. */
const isPlain = (value: unknown): boolean => {
  let level: ReadonlyArray<unknown> = [value]
  // Goes level by level, not recursively, so that no depth overflows the stack.
  for (let depth = 0; level.length > 0; depth++) {
    const next: Array<unknown> = []
    for (const member of level) {
      if (!isObject(member)) {
        if (!isScalar(member)) return false
      } else {
        if (depth === maxDepth || !isPlainObject(member)) return false
        for (const inner of Array.isArray(member) ? member : Object.values(member)) next.push(inner)
      }
    }
    // Thirty nested objects that each have the next one twice would need a billion visits.
    if (next.length > maxUnshared && new Set(next.filter(isObject)).size < next.filter(isObject).length) return false
    level = next
  }
  return true
}

/** True if a value is nested more deeply than a result may be. */
export const isTooDeep = (value: unknown): boolean => {
  let level: ReadonlyArray<unknown> = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === maxDepth && level.some(isObject)) return true
    const next = level.flatMap((member): ReadonlyArray<unknown> =>
      Array.isArray(member) ? member : isObject(member) ? Object.values(member) : []
    )
    // Shared values are visited once per level.
    level = next.length > 1000 ? Array.from(new Set(next)) : next
  }
  return false
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

const isPlainObject = (value: object): boolean => {
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const isScalar = (value: unknown): boolean =>
  value === null || typeof value === "string" || typeof value === "boolean" ||
  typeof value === "number" && Number.isFinite(value)

// Every part of the value has been checked.
const asJson = (value: unknown) => value as Schema.Json

/** True if a JSON value is an object. */
export const isJsonObject = (value: Schema.Json): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

// -----------------------------------------------------------------------------
// Writing values that are not plain
// -----------------------------------------------------------------------------

/** The JSON of an object that was written before, how many values it has, and in how many levels. */
interface Written {
  readonly json: Schema.Json | undefined
  readonly values: number
  readonly height: number
}

type Key = string | number

const written = (root: unknown): PlainJson => {
  const notes = new Map<string, Array<string>>()
  const noteAt = (what: string, path: ReadonlyArray<Key>) => {
    const places = notes.get(what) ?? []
    notes.set(what, places)
    places.push(path.join("."))
  }
  // Of an object that is being written, there is no JSON yet.
  const known = new Map<object, Written | undefined>()
  let values = 0
  let height = 0

  /** Returns `undefined` for a value that `JSON.stringify` leaves out. */
  const write = (value: unknown, path: ReadonlyArray<Key>): Schema.Json | undefined => {
    if (++values > maxValues) return leftOut(path)
    if (!isObject(value)) return writeScalar(value, path)
    if (known.has(value)) return writeAgain(known.get(value), path)
    if (path.length >= maxDepth) return leftOut(path)
    known.set(value, undefined)
    const [valuesBefore, heightBefore] = [values, height]
    height = 0
    const json = attempt(() => ({ is: writeObject(value, path) })) ?? unreadable(path)
    known.set(value, { json: json.is, values: values - valuesBefore, height: height + 1 })
    height = Math.max(heightBefore, height + 1)
    return json.is
  }

  const writeAgain = (again: Written | undefined, path: ReadonlyArray<Key>): Schema.Json | undefined => {
    if (again === undefined) return "<circular>"
    values += again.values
    return values > maxValues || path.length + again.height > maxDepth ? leftOut(path) : again.json
  }

  const writeScalar = (value: unknown, path: ReadonlyArray<Key>): Schema.Json | undefined => {
    if (typeof value === "bigint") return `${value}`
    if (isScalar(value)) return asJson(value)
    if (typeof value !== "number") return undefined
    noteAt(`${value} is shown as null`, path)
    return null
  }

  const writeObject = (value: object, path: ReadonlyArray<Key>): Schema.Json | undefined => {
    const bytes = bytesOf(value)
    if (bytes !== undefined) return `<${bytes} ${bytes === 1 ? "byte" : "bytes"}>`
    // An HTTP client's error has a `toJSON` that shows the headers of its request.
    if (isA(Error)(value)) return { error: describe(value).message }
    if (isPromise(value)) {
      noteAt("a promise was not awaited", path)
      return "<promise>"
    }
    if ("toJSON" in value && typeof value.toJSON === "function") {
      const own: unknown = value.toJSON(path.at(-1) ?? "")
      if (own === null && isA(Date)(value)) noteAt("an invalid date is shown as null", path)
      return isObject(own) && own !== value && bytesOf(own) === undefined ? writeParts(own, path) : own === value
        ? writeParts(value, path)
        : write(own, path)
    }
    return writeParts(value, path)
  }

  const writeParts = (value: object, path: ReadonlyArray<Key>): Schema.Json | undefined => {
    if (isA(Map)(value)) {
      const entries = Array.from(value)
      return entries.some(([key]) => isObject(key)) ? writeList(entries, path) : writeFields(entries, path)
    }
    const list: ReadonlyArray<unknown> | undefined = Array.isArray(value)
      ? value
      : isA(Set)(value) || ArrayBuffer.isView(value)
      ? Array.from(value as Iterable<unknown>)
      : undefined
    if (list !== undefined) return writeList(list, path)
    const boxed: unknown = isBoxed(value) ? value.valueOf() : value
    return isObject(boxed)
      ? writeFields(Object.keys(boxed).map((key) => [key, (boxed as Readonly<Record<string, unknown>>)[key]]), path)
      : write(boxed, path)
  }

  const writeList = (list: ReadonlyArray<unknown>, path: ReadonlyArray<Key>): Schema.Json =>
    Array.from(list, (item, index) => write(item, [...path, index]) ?? null)

  const writeFields = (
    fields: ReadonlyArray<readonly [unknown, unknown]>,
    path: ReadonlyArray<Key>
  ): Schema.JsonObject =>
    // Unlike an assignment, fromEntries keeps a field with the name "__proto__".
    Object.fromEntries(fields.flatMap(([key, field]) => {
      const name = String(key)
      const json = write(field, [...path, name])
      return json === undefined ? [] : [[name, json]]
    }))

  const leftOut = (path: ReadonlyArray<Key>) => {
    noteAt(`what is marked '…' is left out: the result is too ${path.length >= maxDepth ? "deep" : "large"}`, [])
    return "…"
  }

  const unreadable = (path: ReadonlyArray<Key>) => {
    noteAt("a value cannot be read", path)
    return { is: "<unreadable>" }
  }

  const json = write(root, []) ?? null
  return { json, notes: Array.from(notes, ([what, places]) => noteOf(what, places)) }
}

const noteOf = (what: string, [first = "", ...more]: ReadonlyArray<string>): string =>
  first === "" ? capital(what) : `${first}${more.length === 0 ? "" : ` and ${more.length} more`}: ${what}`

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

const bytesOf = (value: object): number | undefined =>
  isA(Uint8Array)(value) || isA(Uint8ClampedArray)(value) || isA(DataView)(value) || isA(ArrayBuffer)(value)
    ? value.byteLength
    : undefined

const isBoxed = (value: object): boolean => isA(Number)(value) || isA(String)(value) || isA(Boolean)(value)
