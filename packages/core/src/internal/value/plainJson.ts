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
 * | levels beyond 512, after a million values | `"…"`, with a note                                      |
 */
import { describe } from "@fallible/errors"
import type * as Schema from "effect/Schema"
import { attempt, isA, isPromise } from "./untrusted.ts"

/** The deepest nesting of a result, in levels. `JSON.stringify` and journals exhaust the stack only far beyond this depth. */
export const maxDepth = 512

/** Values that are shared, or made on demand, may be without end. */
const maxValues = 1_000_000

/** A level with more values than this is checked for shared ones. */
const maxUnshared = 1000

/** A value as JSON. */
export interface PlainJson {
  readonly json: Schema.Json
  /** What a reader cannot see in the JSON, one sentence each, without its full stop. */
  readonly notes: ReadonlyArray<string>
}

/**
 * Writes any value as JSON.
 *
 * @param path where the value stands in the result; default: it is the result
 */
export const plainJson = (value: unknown, path: Path = none): PlainJson =>
  isJson(value) ? { json: asJson(value), notes: none } : written(value, path)

const isJson = (value: unknown): boolean => {
  try {
    // Most results are small, and this check is fast.
    return isSmall(value, 3) || isPlain(value)
  } catch {
    return false
  }
}

const none: ReadonlyArray<never> = []

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
    if (next.length > maxUnshared && hasShared(next)) return false
    level = next
  }
  return true
}

const hasShared = (values: ReadonlyArray<unknown>): boolean => {
  const objects = values.filter(isObject)
  return new Set(objects).size < objects.length
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

/** Keys and indices from the root. */
export type Path = ReadonlyArray<string | number>

/** A path, with its last key first. Most paths are never listed. */
interface Place {
  readonly key: string | number
  readonly around: Place | undefined
  readonly depth: number
}

const inside = (around: Place | undefined, key: string | number): Place => ({
  key,
  around,
  depth: depthOf(around) + 1
})

const depthOf = (place: Place | undefined): number => place?.depth ?? 0

const pathTo = (place: Place | undefined): Path => place === undefined ? [] : [...pathTo(place.around), place.key]

/** The JSON of an object that was written before, how many values it has, and in how many levels. */
interface Written {
  readonly json: Schema.Json | undefined
  readonly values: number
  readonly height: number
}

class Writer {
  /** The places of each note. */
  readonly notes = new Map<string, Array<string>>()
  // `undefined`: the object is still being written.
  readonly #known = new Map<object, Written | undefined>()
  #values = 0
  #height = 0

  /** Returns `undefined` for a value that `JSON.stringify` leaves out. */
  write(value: unknown, at: Place | undefined): Schema.Json | undefined {
    if (++this.#values > maxValues) return this.#leftOut(at)
    if (!isObject(value)) return this.#scalar(value, at)
    if (this.#known.has(value)) return this.#again(this.#known.get(value), at)
    if (depthOf(at) >= maxDepth) return this.#leftOut(at)
    this.#known.set(value, undefined)
    const [values, height] = [this.#values, this.#height]
    this.#height = 0
    const { json } = attempt(() => ({ json: this.#object(value, at) })) ?? this.#unreadable(at)
    this.#known.set(value, { json, values: this.#values - values, height: this.#height + 1 })
    this.#height = Math.max(height, this.#height + 1)
    return json
  }

  #again(again: Written | undefined, at: Place | undefined): Schema.Json | undefined {
    if (again === undefined) return "<circular>"
    this.#values += again.values
    return this.#values > maxValues || depthOf(at) + again.height > maxDepth ? this.#leftOut(at) : again.json
  }

  #scalar(value: unknown, at: Place | undefined): Schema.Json | undefined {
    if (typeof value === "bigint") return `${value}`
    if (isScalar(value)) return asJson(value)
    if (typeof value !== "number") return undefined
    this.#note(`${value} is shown as null`, at)
    return null
  }

  #object(value: object, at: Place | undefined): Schema.Json | undefined {
    const bytes = bytesOf(value)
    if (bytes !== undefined) return `<${bytes} ${bytes === 1 ? "byte" : "bytes"}>`
    // An HTTP client's error has a `toJSON` that shows the headers of its request.
    if (isA(Error)(value)) return { error: describe(value).message }
    if (isPromise(value)) {
      this.#note("a promise was not awaited", at)
      return "<promise>"
    }
    if (!("toJSON" in value) || typeof value.toJSON !== "function") return this.#parts(value, at)
    const own: unknown = value.toJSON(String(at?.key ?? ""))
    if (own === null && isA(Date)(value)) this.#note("an invalid date is shown as null", at)
    return isObject(own) && bytesOf(own) === undefined ? this.#parts(own, at) : this.write(own, at)
  }

  #parts(value: object, at: Place | undefined): Schema.Json | undefined {
    if (isA(Map)(value)) {
      return Array.from(value.keys()).some(isObject) ? this.#list(value, at) : this.#fields(value, at)
    }
    if (Array.isArray(value) || isA(Set)(value) || ArrayBuffer.isView(value)) return this.#list(asIterable(value), at)
    const boxed: unknown = isBoxed(value) ? value.valueOf() : value
    return isObject(boxed) ? this.#fields(fieldsIn(boxed), at) : this.write(boxed, at)
  }

  #list(list: Iterable<unknown>, at: Place | undefined): Schema.Json {
    const items: Array<Schema.Json> = []
    for (const item of list) {
      items.push(this.write(item, inside(at, items.length)) ?? null)
      if (this.#values > maxValues) break
    }
    return items
  }

  #fields(fields: Iterable<readonly [unknown, unknown]>, at: Place | undefined): Schema.JsonObject {
    const entries: Array<readonly [string, Schema.Json]> = []
    for (const [key, field] of fields) {
      const name = String(key)
      const json = this.write(field, inside(at, name))
      if (json !== undefined) entries.push([name, json])
      if (this.#values > maxValues) break
    }
    // Unlike an assignment, fromEntries keeps a field with the name "__proto__".
    return Object.fromEntries(entries)
  }

  #leftOut(at: Place | undefined): Schema.Json {
    this.#note(
      `what is marked '…' is left out: the result is too ${depthOf(at) >= maxDepth ? "deep" : "large"}`,
      undefined
    )
    return "…"
  }

  #unreadable(at: Place | undefined): { readonly json: Schema.Json } {
    this.#note("a value cannot be read", at)
    return { json: "<unreadable>" }
  }

  #note(what: string, at: Place | undefined): void {
    const places = this.notes.get(what) ?? []
    this.notes.set(what, places)
    if (places.length < maxPlaces) places.push(pathTo(at).join("."))
  }
}

/** The places of one note that are counted. */
const maxPlaces = 1000

const written = (root: unknown, path: Path): PlainJson => {
  const writer = new Writer()
  const json = writer.write(root, path.reduce<Place | undefined>(inside, undefined)) ?? null
  return { json, notes: Array.from(writer.notes, ([what, places]) => noteOf(what, places)) }
}

const noteOf = (what: string, [first = "", ...more]: ReadonlyArray<string>): string =>
  first === "" ? capital(what) : `${first}${more.length === 0 ? "" : ` and ${more.length} more`}: ${what}`

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

const bytesOf = (value: object): number | undefined =>
  isA(Uint8Array)(value) || isA(Uint8ClampedArray)(value) || isA(DataView)(value) || isA(ArrayBuffer)(value)
    ? value.byteLength
    : undefined

const isBoxed = (value: object): boolean => isA(Number)(value) || isA(String)(value) || isA(Boolean)(value)

// Lists of numbers are iterable, which their common type does not say.
const asIterable = (value: object) => value as Iterable<unknown>

function* fieldsIn(value: object): Iterable<readonly [string, unknown]> {
  for (const key of Object.keys(value)) yield [key, (value as Readonly<Record<string, unknown>>)[key]]
}
