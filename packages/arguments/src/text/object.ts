/**
 * Finds the object in a model's argument text, and handles everything around the object:
 *
 *     byte order mark, code fence, template tokens    skipped
 *     a JSON string around the object                 unwrapped, once
 *     words before or after the object                skipped, if the object is strict and the words are plainly prose
 *     template tokens before words after it           skipped
 *     surplus closing brackets after the object       skipped
 *
 * The `Reader` reads the object itself.
 */
import { isJsonObject, type JsonObject } from "../json.ts"
import type { TextRepairKind as Kind } from "../repair.ts"
import type { Fault, FaultKind } from "./fault.ts"
import type { Mode } from "./lexer.ts"
import { isProseAfter, isProseBefore } from "./prose.ts"
import { plainly, Reader } from "./reader.ts"
import { type Around, endOf, noteRepair, peel, peelStart } from "./wrapping.ts"

/** The object that was found in the text. */
export interface Found {
  readonly value: JsonObject
  /** The text that contains the object: the whole argument text, or the content of a JSON string in it. */
  readonly source: string
  /** The offset at which the object begins in `source`. */
  readonly start: number
  /** The kinds of repairs in the text, each with the offset of its first repair. */
  readonly repairs: ReadonlyArray<readonly [kind: Kind, offset: number]>
  readonly hasUnsafeInteger: boolean
}

/** Finds the one object in an argument text, or the fault that makes the text unreadable. */
export const findObject = (text: string, mode: Mode): Found | Fault => {
  const peeled = peel(text)
  // The reader gets the text from its start, so that offsets refer to the whole text. Only the wrapping at
  // the end is cut off.
  const reader = new Reader(text.slice(0, peeled.to), peeled.from, mode)
  reader.blank()
  if (reader.fault !== undefined) return reader.fault
  const result = readBody(reader, peeled, mode)
  return "kind" in result ? result : { ...result, repairs: [...peeled.repairs, ...result.repairs] }
}

const escapedQuote = /\{(?:[ \t\r\n]|\\[nrt])*\\"/y
const surplusClosers = /^[}\] \t\r\n]+$/
const emptyTexts = new Set(["", "null", "None"])

const readBody = (reader: Reader, peeled: Around, mode: Mode): Found | Fault => {
  const { repairs } = peeled
  const { at, text } = reader
  const first = text.charAt(at)
  if (first === "{") {
    return endOf(escapedQuote, text, at) === undefined
      ? readObject(reader, peeled)
      : readEscaped(reader, mode)
  }
  if (first === "[") return readArray(reader)
  if (first === "\"" || first === "'") return readQuoted(reader, mode)
  const rest = text.slice(at, at + 5)
  // If there is nothing inside the wrapping, the text was cut off, or the wrapping is not meant for arguments.
  const isBare = reader.repairs.size === 0 && repairs.every(([kind]) => kind === "byte_order_mark")
  if (emptyTexts.has(rest) && (isBare || rest !== "" && reader.repairs.size === 0)) {
    return foundBy(reader, {}, at, [["no_arguments", at]])
  }
  return text.indexOf("{", at) === -1
    ? { kind: "no_object", offset: at, expected: "object" }
    : readAfterProse(reader, peeled, mode)
}

const foundBy = (
  { hasUnsafeInteger, repairs, text }: Reader,
  value: JsonObject,
  start: number,
  more: ReadonlyArray<readonly [Kind, number]> = []
): Found => ({ value, source: text, start, repairs: [...repairs, ...more], hasUnsafeInteger })

const readObject = (reader: Reader, peeled: Around): Found | Fault => {
  const { at: start, text } = reader
  const value = reader.value()
  const end = reader.at
  const isStrict = reader.repairs.size === 0
  reader.blank()
  if (reader.fault !== undefined) return reader.fault
  if (!isJsonObject(value)) return { kind: "no_object", offset: start, expected: "object" }
  const { at } = reader
  if (at === text.length) return foundBy(reader, value, start)
  const rest = text.slice(at)
  if (surplusClosers.test(rest)) {
    // The surplus bracket may belong elsewhere: an earlier bracket may have closed its container too early.
    const mayBeMisplaced = reader.repairs.has("missing_comma") ||
      Array.from(reader.closedBeforeMore).some((closer) => rest.includes(closer))
    return mayBeMisplaced
      ? { kind: "bracket_mismatch", offset: at, expected: "end" }
      : foundBy(reader, value, start, [["surplus_closers", at]])
  }
  const words = isStrict ? skipProseAfter(text, end, peeled) : undefined
  if (words !== undefined) return foundBy(reader, value, start, [["prose", words]])
  return { kind: faultAfterObject(rest), offset: at, expected: "end" }
}

const faultAfterObject = (rest: string): FaultKind =>
  rest.includes("{") ? "several_objects" : rest.startsWith(",") ? "bracket_mismatch" : "unexpected_character"

const readArray = (reader: Reader): Found | Fault => {
  const { at: start, text } = reader
  const value = reader.value()
  reader.blank()
  if (reader.fault !== undefined) return reader.fault
  const isEmpty = Array.isArray(value) && value.length === 0 && reader.at === text.length && reader.repairs.size === 0
  return isEmpty
    ? foundBy(reader, {}, start, [["no_arguments", start]])
    : { kind: "array", offset: start, expected: "object" }
}

// Reads a JSON string that contains an object. The object must be strict JSON.
const readQuoted = (reader: Reader, mode: Mode): Found | Fault => {
  const { at: start, text } = reader
  const inner = reader.string(text.charCodeAt(start))
  // The meaning of a backslash inside single quotes differs between languages.
  if (text[start] === "'" && /\\(?!')/.test(text.slice(start, reader.at))) {
    return { kind: "invalid_escape", offset: text.indexOf("\\", start), expected: "double_quotes" }
  }
  reader.blank()
  if (inner === undefined || reader.fault !== undefined) return reader.fault ?? noObject(start)
  return reader.at === text.length
    ? readInner(reader, inner, [start, start + 1], "double_encoded", mode)
    : noObject(start)
}

// Reads an object in which all quotes are escaped, as if it were the content of a JSON string. An unescaped
// quote would end that string too early, so it is a fault.
const readEscaped = (reader: Reader, mode: Mode): Found | Fault => {
  const { at: start, text } = reader
  const quoted = new Reader(`"${text.slice(start)}"`, 0, mode)
  const inner = quoted.string(0x22)
  return inner === undefined || quoted.at < quoted.text.length
    ? { kind: "invalid_escape", offset: text.indexOf("\\", start), expected: "plain_quotes" }
    : readInner(reader, inner, [start, start], "escaped_quotes", mode)
}

/** @param places the offset of the enclosing string, and the offset of the first character inside it */
const readInner = (
  reader: Reader,
  inner: string,
  [start, from]: readonly [number, number],
  kind: Kind,
  mode: Mode
): Found | Fault => {
  const result = plainly(inner, mode)
  if ("kind" in result) {
    return inner.trimStart().startsWith("{")
      ? { ...result, offset: offsetInOuter(reader.text, from, result.offset) }
      : noObject(start)
  }
  const { hasUnsafeInteger, value } = result
  return isJsonObject(value)
    ? { ...foundBy(reader, value, 0, [[kind, start]]), source: inner, hasUnsafeInteger }
    : noObject(start)
}

// Converts an offset in the inner text to an offset in the outer text, in which characters may be escaped.
// The end of the inner text becomes the offset of the closing quote.
const offsetInOuter = (text: string, from: number, units: number): number => {
  let at = from
  for (let unit = 0; unit < units; unit++) at += text[at] !== "\\" ? 1 : text[at + 1] === "u" ? 6 : 2
  return at
}

const noObject = (offset: number): Fault => ({ kind: "no_object", offset, expected: "object" })

// -----------------------------------------------------------------------------
// Prose around the object
// -----------------------------------------------------------------------------

/**
 * Returns the offset of the words after an object, if they are prose. Between a template token and the words,
 * no space is needed.
 */
const skipProseAfter = (text: string, end: number, peeled: Around): number | undefined => {
  const tail: Around = { from: end, to: text.length, repairs: [] }
  while (peelStart(text, tail)) continue
  const [token] = tail.repairs
  if (!isProseAfter(token === undefined ? text.slice(end) : ` ${text.slice(tail.from)}`)) return undefined
  if (token !== undefined) noteRepair(peeled, ...token)
  return tail.from
}

const readAfterProse = (reader: Reader, peeled: Around, mode: Mode): Found | Fault => {
  const { text } = reader
  const start = text.indexOf("{", peeled.from)
  if (reader.repairs.size > 0 || !isProseBefore(text.slice(peeled.from, start))) return noObject(reader.at)
  const inner = new Reader(text, start, mode)
  const value = inner.value()
  if (inner.fault !== undefined) return inner.fault
  const rest = text.slice(inner.at)
  if (rest.includes("{")) return { kind: "several_objects", offset: inner.at, expected: "end" }
  return isJsonObject(value) && inner.repairs.size === 0 &&
      (rest.trim() === "" || skipProseAfter(text, inner.at, peeled) !== undefined)
    ? foundBy(inner, value, start, [["prose", reader.at]])
    : noObject(reader.at)
}
