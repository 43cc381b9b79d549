/**
 * Reads a model's argument text as one JSON object.
 *
 *     text ─ JSON.parse ─ faithful? ──────────────────────── value
 *              └ no ─ the object in it ─ tolerant reader ──── value and repairs, or a refusal
 */
import { isJsonObject, isObject, type JsonObject, type Path } from "./json.ts"
import { limitsOf, type Options } from "./options.ts"
import type { Unreadable } from "./refusal.ts"
import type { TextRepair } from "./repair.ts"
import { utf8Length } from "./text/excerpt.ts"
import { isFaithful, parseOrUndefined } from "./text/faithful.ts"
import type { Fault } from "./text/fault.ts"
import { findObject } from "./text/object.ts"
import { numbersOf, Reader } from "./text/reader.ts"
import { openingOf } from "./text/wrapping.ts"
import { ofText, unreadable } from "./words.ts"

/** The result for an argument text that was read. */
export interface Readable {
  readonly ok: true
  readonly value: JsonObject
  /** The repairs, in the order of the text. */
  readonly repairs: ReadonlyArray<TextRepair>
  /**
   * Whether all numbers in `value` kept every digit of the text. If not, {@link numberAt} returns their
   * source texts.
   */
  readonly isExact: boolean
  /** The text that contains the object: the whole argument text, or the content of a JSON string in it. */
  readonly source: string
  /** The offset at which the object begins in `source`. */
  readonly start: number
}

/** The result for an argument text or a value that was refused. */
export interface Refused<out R> {
  readonly ok: false
  readonly refusal: R
}

/**
 * Reads a model's argument text as one JSON object.
 *
 * When to use: without a schema, or if another validator checks the value. The text `null` is read as an
 * object without keys. An integer beyond the safe range loses digits, and `isExact` is then `false`.
 *
 * The text is accepted only if it has exactly one reading. Text that was cut off is never completed, even if
 * only closing brackets are missing: `{"amount": 1` may have been the beginning of 1500.
 *
 * The idea of repairing text by a grammar instead of regular expressions comes from jsonrepair. Unlike
 * `read`, jsonrepair also completes text that was cut off.
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
 * @param text what the model wrote; `undefined` if the model sent nothing
 * @param options default: no prose, no secrets, 1 MiB, 128 levels
 */
export const read = (text: string | undefined, options: Options = {}): Readable | Refused<Unreadable> => {
  const result = readText(text, options)
  return "ok" in result ? result : refusedFor(text, result, options)
}

const refusedFor = (text = "", fault: Fault, { secrets = [] }: Options): Refused<Unreadable> => ({
  ok: false,
  refusal: unreadable(text, fault, secrets.length > 0)
})

const readText = (text: string | undefined, options: Options): Readable | Fault => {
  const { bytes, depth } = limitsOf(options)
  // Nothing was sent, so nothing was repaired.
  if (text === undefined) return { ok: true, value: {}, repairs: none, isExact: true, source: "{}", start: 0 }
  if (isTooLong(text, bytes)) return { kind: "too_long", offset: 0, expected: "bytes", of: String(bytes) }
  const value = strictObject(text, depth)
  if (value !== undefined) return { ok: true, value, repairs: none, isExact: true, source: text, start: 0 }
  const object = findObject(text, { depth })
  if ("kind" in object) return object
  const { hasUnsafeInteger, source, start } = object
  const repairs = object.repairs.toSorted(([, a], [, b]) => a - b).map(ofText)
  const prose = options.prose === true ? undefined : repairs.find(({ kind }) => kind === "prose")
  if (prose !== undefined) return { kind: "prose", offset: prose.offset, expected: "object_alone" }
  const third = repairs.filter(({ note }) => note !== undefined)[2]
  if (third !== undefined) return { kind: "too_many_repairs", offset: third.offset, expected: "plain_json" }
  return { ok: true, value: object.value, repairs, isExact: !hasUnsafeInteger, source, start }
}

const none: ReadonlyArray<never> = []

/**
 * Returns the source text of the number at a path, such as `1.10`. Returns `undefined` if no number is there.
 *
 * When to use: for amounts and ids, in which every digit matters.
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
  const lookUp = numbers.get(text) ?? numbersOf(text.source, text.start)
  numbers.set(text, lookUp)
  return lookUp(path)
}

// For each text, the function that finds its numbers. The text is read again when its first number is requested.
const numbers = new WeakMap<Readable, (path: Path) => string | undefined>()

/** The complete part of arguments that are still being written. It is only for display. */
export interface Preview {
  /**
   * An object with the members that are complete. It is typed as `unknown`, so that no tool accepts it by
   * mistake.
   */
  readonly soFar: unknown
}

/**
 * Returns the complete part of arguments that are still streaming in.
 *
 * When to use: to show a person what a model is about to call. Do not run a tool with it: parts are missing,
 * and the rest may still be refused. A string or a number at the end of the text is left out, because it may
 * continue. Never fails: at the first fault, the preview ends.
 *
 * Each call reads the text from its start. So call `preview` when the display is refreshed, not for every
 * streamed piece.
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
// Strict JSON
// -----------------------------------------------------------------------------

// A UTF-16 code unit takes at most three bytes of UTF-8, and one byte if it is ASCII.
const isTooLong = (text: string, bytes: number): boolean =>
  text.length > bytes / 3 && (text.length > bytes || /[\u0080-\uffff]/.test(text) && utf8Length(text) > bytes)

// Text that cannot be a strict object is not passed to `JSON.parse`, to save the cost of an exception.
const beginsStrictly = /^\s*\{\s*["}]/

// The first test recognizes nearly all strict objects; the second allows for white space.
const mayBeStrict = (text: string): boolean =>
  text.charCodeAt(0) === 0x7b && text.charCodeAt(1) === 0x22 && text.charCodeAt(text.length - 1) === 0x7d ||
  beginsStrictly.test(text) && text.trimEnd().endsWith("}")

const strictObject = (text: string, depth: number): JsonObject | undefined => {
  const value = mayBeStrict(text) ? parseOrUndefined(text) : undefined
  return isJsonObject(value) && isFaithful(value, text, depth) ? value : undefined
}
