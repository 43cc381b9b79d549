/**
 * Reads a model's argument text as one JSON object.
 *
 *     text ─ JSON.parse ─ faithful? ──────────────────────── value
 *              └ no ─ the object in it ─ tolerant reader ──── value and repairs, or a refusal
 */
import { checkOptions, limitsOf } from "./checkedOptions.ts"
import { isJsonObject, isObject, type JsonObject, type Path } from "./json.ts"
import { noOptions, type Options } from "./options.ts"
import type { Unreadable } from "./refusal.ts"
import type { TextRepair } from "./repair.ts"
import { kind, utf8Length } from "./text/excerpt.ts"
import { isFaithful, parseOrUndefined } from "./text/faithful.ts"
import { type Fault, faultAt } from "./text/fault.ts"
import { findObject } from "./text/object.ts"
import { numbersOf, readRoot } from "./text/reader.ts"
import { type NumberTokens, scannerOf } from "./text/scanner.ts"
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
 * @param text what the model wrote; `undefined` or `null` if the model sent nothing
 * @param options default: no prose, no secrets, 1 MiB, 128 levels
 */
export const read = (text: string | null | undefined, options: Options = noOptions): Readable | Refused<Unreadable> =>
  readerWith(options)(text)

/** Returns a function that reads texts as {@link read} does, with options that are checked once, here. */
export const readerWith = (options: Options): (text: string | null | undefined) => Readable | Refused<Unreadable> => {
  checkOptions("read", options)
  const isSecret = (options.secrets?.length ?? 0) > 0
  return (text) => {
    const result = readText(text, options)
    return "ok" in result ? result : refusedFor(text, result, isSecret)
  }
}

/** Returns the refusal of a text. A text that may have a secret is not quoted. */
export const refusedFor = (text: string | null | undefined, fault: Fault, isSecret: boolean): Refused<Unreadable> => ({
  ok: false,
  refusal: unreadable(text ?? "", fault, isSecret)
})

/** Reads a text as {@link read} does. Returns the fault of a text that cannot be read. */
export const readText = (text: string | null | undefined, options: Options): Readable | Fault => {
  const { bytes, depth } = limitsOf(options)
  // Nothing was sent, so nothing was repaired.
  if (text === undefined || text === null) {
    return readable({}, "{}")
  }
  if (typeof text !== "string") {
    throw new TypeError(`The arguments are ${kind(text)}, not a text. For a value that is already parsed, use 'fit'.`)
  }
  if (isTooLong(text, bytes)) return faultAt("too_long", 0, "bytes", String(bytes))
  const value = strictObject(text, depth)
  if (value !== undefined) return readable(value, text)
  const found = findObject(text, depth)
  if ("kind" in found) return found
  const repairs = found.repairs.toSorted(([, a], [, b]) => a - b).map(ofText)
  const prose = options.prose === true ? undefined : repairs.find(({ kind }) => kind === "prose")
  if (prose !== undefined) return faultAt("prose", prose.offset, "object_alone")
  const third = repairs.filter(({ note }) => note !== undefined)[2]
  if (third !== undefined) return faultAt("too_many_repairs", third.offset, "plain_json")
  return readable(found.value, found.source, found.start, repairs, !found.hasUnsafeInteger)
}

const readable = (
  value: JsonObject,
  source: string,
  start = 0,
  repairs: ReadonlyArray<TextRepair> = none,
  isExact = true
): Readable => ({ ok: true, value, repairs, isExact, source, start })

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

/** The part of arguments that is already written. It is only for display. */
export interface Preview {
  /**
   * An object with the members that are complete, and with the string that is being written. It is typed as `unknown`, so that
   * no tool accepts it by mistake.
   */
  readonly soFar: unknown
}

/**
 * Returns the part of arguments that has been written, while they are still streaming in.
 *
 * When to use: to show a person what a model is about to call. Do not run a tool with it: parts are missing,
 * and the rest may still be refused. A number that lost digits is shown as the text that was written. A string at the end of the text is shown as far as it is written. A number there is left
 * out, because it may continue. Never fails: at the first fault, the preview ends.
 *
 * Each call reads the text from its start. So call `preview` when the display is refreshed, not for every
 * streamed piece.
 *
 * @example
 * ```ts
 * import { preview } from "@fallible/arguments"
 *
 * preview("{\"days\":[1,2").soFar // => { days: [1] }
 * preview("{\"city\":\"Par").soFar // => { city: "Par" }
 * ```
 */
export const preview = (text: string, options: Options = noOptions): Preview => {
  checkOptions("preview", options)
  const { bytes, depth } = limitsOf(options)
  const shown = (written: string, hops = 2): unknown => {
    const scanner = scannerOf(written, openingOf(written), depth)
    const soFar = readRoot(scanner)
    if (scanner.hasUnsafeInteger) showDigits(scanner.tokens)
    const { expected, of = "" } = scanner.fault ?? {}
    // A string that is being written is read again, without the beginning of an escape and with a closing quote.
    if (hops > 0 && expected === "rest_of_escape") return shown(written.slice(0, written.lastIndexOf("\\")), hops - 1)
    return hops > 0 && expected === "closing_quote" ? shown(written + of, 0) : soFar
  }
  const soFar = typeof text === "string" ? shown(text.slice(0, bytes)) : undefined
  return { soFar: isObject(soFar) ? soFar : {} }
}

// A person must not see another number than the one that was written.
const showDigits = (tokens: NumberTokens): void => {
  for (const [container, numbers] of tokens) {
    for (const [key, token] of numbers) {
      if (Math.abs(Number(token)) > Number.MAX_SAFE_INTEGER) Reflect.set(container, key, token)
    }
  }
}

// -----------------------------------------------------------------------------
// Strict JSON
// -----------------------------------------------------------------------------

// A UTF-16 code unit takes at most three bytes of UTF-8, and one byte if it is ASCII.
const isTooLong = (text: string, bytes: number): boolean =>
  text.length > bytes / 3 && (text.length > bytes || /[^\0-\x7f]/.test(text) && utf8Length(text) > bytes)

// Text that cannot be a strict object is not passed to `JSON.parse`, to save the cost of an exception.
const beginsStrictly = /^\s*\{\s*["}]/

// The first test recognizes nearly all strict objects; the second allows for white space.
const mayBeStrict = (text: string): boolean =>
  text[0] === "{" && text[1] === "\"" && text.at(-1) === "}" ||
  beginsStrictly.test(text) && text.trimEnd().endsWith("}")

const strictObject = (text: string, depth: number): JsonObject | undefined => {
  const value = mayBeStrict(text) ? parseOrUndefined(text) : undefined
  return isJsonObject(value) && isFaithful(value, text, depth) ? value : undefined
}
