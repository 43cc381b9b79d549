/**
 * A model's argument text, as one JSON object.
 *
 *     text ─ JSON.parse ─ faithful? ──────────────────────── value
 *              └ no ─ the object in it ─ tolerant reader ──── value and repairs, or a refusal
 */
import { isJsonObject, isObject, type JsonObject, type Path } from "./json.ts"
import { limitsOf, type Options } from "./options.ts"
import type { Unreadable } from "./refusal.ts"
import type { TextRepair } from "./repair.ts"
import { utf8Length } from "./text/excerpt.ts"
import { isFaithful, parsed } from "./text/faithful.ts"
import type { Fault } from "./text/fault.ts"
import { findObject } from "./text/object.ts"
import { numbersOf, Reader } from "./text/reader.ts"
import { openingOf } from "./text/wrapping.ts"
import { ofText, unreadable } from "./words.ts"

/** A text that was read. */
export interface Readable {
  readonly ok: true
  readonly value: JsonObject
  /** In the order of the text. */
  readonly repairs: ReadonlyArray<TextRepair>
  /** Do its numbers have all digits of the text? Where not, {@link numberAt} has them. */
  readonly isExact: boolean
  /** The text that the object was read from, and where it begins there: what was read, or what was inside a string. */
  readonly source: string
  readonly start: number
}

/** A text or a value that was refused. */
export interface Refused<out R> {
  readonly ok: false
  readonly refusal: R
}

/**
 * Reads a model's argument text as one JSON object.
 *
 * When to use: where there is no schema, or another validator looks at the value. What depends on a schema is decided by `decode`: here `null`
 * is an object without keys, and a whole number beyond the safe range is a number that has lost digits (`isExact` says so).
 *
 * What has exactly one reading is accepted, and nothing else. A text that was cut off is never completed, even where only closers are missing:
 * `{"amount": 1` may have been 1500.
 *
 * The idea that a text may be repaired by a real grammar, and not by regular expressions, is jsonrepair's. What is different is that it never completes.
 *
 * @example
 * ```ts
 * import { read } from "@fallible/arguments"
 *
 * const paris = read("{city: 'Paris',}")
 * paris.ok && paris.value // => { city: "Paris" }
 *
 * const cut = read("{\"city\":\"Par")
 * cut.ok || cut.refusal.kind // => "cut_off"
 * ```
 *
 * @param text what the model wrote; `undefined` where it sent nothing
 * @param options default: no prose, no secrets, 1 MiB, 128 levels
 */
export const read = (text: string | undefined, options: Options = {}): Readable | Refused<Unreadable> => {
  const found = readable(text, options)
  return "ok" in found ? found : refused(text, found, options)
}

const refused = (text = "", fault: Fault, { secrets = [] }: Options): Refused<Unreadable> => ({
  ok: false,
  refusal: unreadable(text, fault, secrets.length > 0)
})

const readable = (text: string | undefined, options: Options): Readable | Fault => {
  const { bytes, depth } = limitsOf(options)
  // Where nothing was sent, nothing had to be repaired.
  if (text === undefined) return { ok: true, value: {}, repairs: none, isExact: true, source: "{}", start: 0 }
  if (isTooLong(text, bytes)) return { kind: "too_long", offset: 0, expected: "bytes", of: String(bytes) }
  const value = strictObject(text, depth)
  if (value !== undefined) return { ok: true, value, repairs: none, isExact: true, source: text, start: 0 }
  const found = findObject(text, { depth })
  if ("kind" in found) return found
  const { hasUnsafeInteger, source, start } = found
  const repairs = found.repairs.toSorted(([, a], [, b]) => a - b).map(ofText)
  const prose = options.prose === true ? undefined : repairs.find(({ kind }) => kind === "prose")
  if (prose !== undefined) return { kind: "prose", offset: prose.offset, expected: "object_alone" }
  const third = repairs.filter(({ note }) => note !== undefined)[2]
  if (third !== undefined) return { kind: "too_many_repairs", offset: third.offset, expected: "plain_json" }
  return { ok: true, value: found.value, repairs, isExact: !hasUnsafeInteger, source, start }
}

const none: ReadonlyArray<never> = []

/**
 * The source text of a number, as in `1.10`; `undefined` where there is no number.
 *
 * When to use: where a number is an amount or an id, and its digits count.
 *
 * @example
 * ```ts
 * import { numberAt, read } from "@fallible/arguments"
 *
 * const price = read("{\"total\":1.10}")
 * price.ok && numberAt(price, ["total"]) // => "1.10"
 * ```
 *
 * @param path keys and indices, from the root
 */
export const numberAt = (text: Readable, path: Path): string | undefined => {
  const known = numbers.get(text) ?? numbersOf(text.source, text.start)
  numbers.set(text, known)
  return known(path)
}

// The text is read once more for its numbers, when the first of them is asked for.
const numbers = new WeakMap<Readable, (path: Path) => string | undefined>()

/** What is there so far of arguments that are still being written: to be shown, and for nothing else. */
export interface Preview {
  /** An object with the members that are complete. No tool takes it, since nothing is known of its type. */
  readonly soFar: unknown
}

/**
 * What is complete of arguments that are still streaming in.
 *
 * When to use: to show a person what a model is about to call. It cannot be run: what is missing is missing, and what is there may yet be refused.
 * A text or a number at the end is not shown, since it may go on. Never fails; what cannot be read ends it.
 *
 * Each call reads the text from its start: call it as often as somebody looks, not for every piece.
 *
 * @example
 * ```ts
 * import { preview } from "@fallible/arguments"
 *
 * preview("{\"city\":\"Paris\",\"days\":[1,2").soFar // => { city: "Paris", days: [1] }
 * ```
 */
export const preview = (text: string, options: Options = {}): Preview => {
  const { bytes, depth } = limitsOf(options)
  const reader = new Reader(text.slice(0, bytes), openingOf(text), { depth })
  reader.blank()
  const soFar = reader.value()
  return { soFar: isObject(soFar) ? soFar : {} }
}

// -----------------------------------------------------------------------------
// Strict texts
// -----------------------------------------------------------------------------

// A unit of UTF-16 is at most three bytes of UTF-8, and one where it is ASCII.
const isTooLong = (text: string, bytes: number): boolean =>
  text.length > bytes / 3 && (text.length > bytes || /[\u0080-\uffff]/.test(text) && utf8Length(text) > bytes)

// What cannot be a strict object is not worth the price of an exception.
const beginsStrictly = /^\s*\{\s*["}]/

// As nearly all texts begin and end, or as the others may.
const mayBeStrict = (text: string): boolean =>
  text.charCodeAt(0) === 0x7b && text.charCodeAt(1) === 0x22 && text.charCodeAt(text.length - 1) === 0x7d ||
  beginsStrictly.test(text) && text.trimEnd().endsWith("}")

const strictObject = (text: string, depth: number): JsonObject | undefined => {
  const value = mayBeStrict(text) ? parsed(text) : undefined
  return isJsonObject(value) && isFaithful(value, text, depth) ? value : undefined
}
