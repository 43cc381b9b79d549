/**
 * The object in a model's argument text, and what stands around it.
 *
 *     byte order mark, code fence, template tokens    passed over
 *     a JSON string around the object                 unwrapped, once
 *     words before or after it                        passed over, if the object is strict and nothing else can be meant
 *     template tokens between it and words after it   passed over
 *     brackets too many after it                      passed over
 *
 * What is inside the object is the `Reader`'s matter.
 */
import { isJsonObject, type JsonObject } from "../json.ts"
import type { TextRepairKind as Kind } from "../repair.ts"
import type { Fault, FaultKind } from "./fault.ts"
import type { Mode } from "./lexer.ts"
import { isProseAfter, isProseBefore } from "./prose.ts"
import { plainly, Reader } from "./reader.ts"
import { type Around, endOf, passed, peel, peelStart } from "./wrapping.ts"

/** An object that was found in a text. */
export interface Found {
  readonly value: JsonObject
  /** The text that it was read from, and where it begins there: the whole one, or one that was inside of it. */
  readonly source: string
  readonly start: number
  /** What was repaired, with where the first of its kind was, in the order of the text. */
  readonly repairs: ReadonlyArray<readonly [kind: Kind, offset: number]>
  readonly hasUnsafeInteger: boolean
}

/** Finds the one object that a text stands for, or the fault because of which there is none. */
export const findObject = (text: string, mode: Mode): Found | Fault => {
  const around = peel(text)
  // Offsets are those of the whole text; what was passed over at its end is not seen.
  const reader = new Reader(text.slice(0, around.to), around.from, mode)
  reader.blank()
  if (reader.fault !== undefined) return reader.fault
  const found = within(reader, around, mode)
  return "kind" in found ? found : { ...found, repairs: [...around.repairs, ...found.repairs] }
}

const escapedQuote = /\{(?:[ \t\r\n]|\\[nrt])*\\"/y
const surplus = /^[}\] \t\r\n]+$/
const nothing = new Set(["", "null", "None"])

const within = (reader: Reader, around: Around, mode: Mode): Found | Fault => {
  const { repairs } = around
  const { at, text } = reader
  const first = text.charAt(at)
  if (first === "{") {
    return endOf(escapedQuote, text, at) === undefined
      ? object(reader, around)
      : unescaped(reader, mode)
  }
  if (first === "[") return array(reader)
  if (first === "\"" || first === "'") return unwrapped(reader, mode)
  const rest = text.slice(at, at + 5)
  // Wrapping with nothing in it was cut off, or says something that is no argument.
  const isBare = reader.repairs.size === 0 && repairs.every(([kind]) => kind === "byte_order_mark")
  if (nothing.has(rest) && (isBare || rest !== "" && reader.repairs.size === 0)) {
    return found(reader, {}, at, [["no_arguments", at]])
  }
  return text.indexOf("{", at) === -1
    ? { kind: "no_object", offset: at, expected: "object" }
    : afterProse(reader, around, mode)
}

const found = (
  { hasUnsafeInteger, repairs, text }: Reader,
  value: JsonObject,
  start: number,
  more: ReadonlyArray<readonly [Kind, number]> = []
): Found => ({ value, source: text, start, repairs: [...repairs, ...more], hasUnsafeInteger })

const object = (reader: Reader, around: Around): Found | Fault => {
  const { at: start, text } = reader
  const value = reader.value()
  const end = reader.at
  const isStrict = reader.repairs.size === 0
  reader.blank()
  if (reader.fault !== undefined) return reader.fault
  if (!isJsonObject(value)) return { kind: "no_object", offset: start, expected: "object" }
  const { at } = reader
  if (at === text.length) return found(reader, value, start)
  const rest = text.slice(at)
  if (surplus.test(rest)) {
    // A bracket that is misplaced may be missing there, or have closed too early what goes on after it.
    const mayBeMisplaced = reader.repairs.has("missing_comma") ||
      Array.from(reader.closedBeforeMore).some((closer) => rest.includes(closer))
    return mayBeMisplaced
      ? { kind: "bracket_mismatch", offset: at, expected: "end" }
      : found(reader, value, start, [["surplus_closers", at]])
  }
  const words = isStrict ? proseBehind(text, end, around) : undefined
  if (words !== undefined) return found(reader, value, start, [["prose", words]])
  return { kind: afterObject(rest), offset: at, expected: "end" }
}

const afterObject = (rest: string): FaultKind =>
  rest.includes("{") ? "several_objects" : rest.startsWith(",") ? "bracket_mismatch" : "unexpected_character"

const array = (reader: Reader): Found | Fault => {
  const { at: start, text } = reader
  const value = reader.value()
  reader.blank()
  if (reader.fault !== undefined) return reader.fault
  const isEmpty = Array.isArray(value) && value.length === 0 && reader.at === text.length && reader.repairs.size === 0
  return isEmpty
    ? found(reader, {}, start, [["no_arguments", start]])
    : { kind: "array", offset: start, expected: "object" }
}

// A JSON string that holds an object: what is inside has to be strict.
const unwrapped = (reader: Reader, mode: Mode): Found | Fault => {
  const { at: start, text } = reader
  const inner = reader.string(text.charCodeAt(start))
  // What a backslash means between single quotes depends on who wrote them.
  if (text[start] === "'" && /\\(?!')/.test(text.slice(start, reader.at))) {
    return { kind: "invalid_escape", offset: text.indexOf("\\", start), expected: "double_quotes" }
  }
  reader.blank()
  if (inner === undefined || reader.fault !== undefined) return reader.fault ?? noObject(start)
  return reader.at === text.length ? inside(reader, inner, [start, start + 1], "double_encoded", mode) : noObject(start)
}

// An object all of whose quotes are escaped reads as the inside of a string. A quote that is not would end it too early.
const unescaped = (reader: Reader, mode: Mode): Found | Fault => {
  const { at: start, text } = reader
  const quoted = new Reader(`"${text.slice(start)}"`, 0, mode)
  const inner = quoted.string(0x22)
  return inner === undefined || quoted.at < quoted.text.length
    ? { kind: "invalid_escape", offset: text.indexOf("\\", start), expected: "plain_quotes" }
    : inside(reader, inner, [start, start], "escaped_quotes", mode)
}

/** @param places where the text begins that holds it, and where the first unit of what is inside stands */
const inside = (
  reader: Reader,
  inner: string,
  [start, from]: readonly [number, number],
  kind: Kind,
  mode: Mode
): Found | Fault => {
  const read = plainly(inner, mode)
  if ("kind" in read) {
    return inner.trimStart().startsWith("{")
      ? { ...read, offset: offsetAround(reader.text, from, read.offset) }
      : noObject(start)
  }
  const { hasUnsafeInteger, value } = read
  return isJsonObject(value)
    ? { ...found(reader, value, 0, [[kind, start]]), source: inner, hasUnsafeInteger }
    : noObject(start)
}

// Where a unit of what is inside stands in the text around it, in which it may be escaped. Behind the last one stands the closing quote.
const offsetAround = (text: string, from: number, units: number): number => {
  let at = from
  for (let unit = 0; unit < units; unit++) at += text[at] !== "\\" ? 1 : text[at + 1] === "u" ? 6 : 2
  return at
}

const noObject = (offset: number): Fault => ({ kind: "no_object", offset, expected: "object" })

// -----------------------------------------------------------------------------
// Words around the object
// -----------------------------------------------------------------------------

/** Where the words begin behind an object, if that is what stands there. Behind template tokens they may touch these. */
const proseBehind = (text: string, end: number, around: Around): number | undefined => {
  const behind: Around = { from: end, to: text.length, repairs: [] }
  while (peelStart(text, behind)) continue
  const [token] = behind.repairs
  if (!isProseAfter(token === undefined ? text.slice(end) : ` ${text.slice(behind.from)}`)) return undefined
  if (token !== undefined) passed(around, ...token)
  return behind.from
}

const afterProse = (reader: Reader, around: Around, mode: Mode): Found | Fault => {
  const { text } = reader
  const start = text.indexOf("{", around.from)
  if (reader.repairs.size > 0 || !isProseBefore(text.slice(around.from, start))) return noObject(reader.at)
  const inside = new Reader(text, start, mode)
  const value = inside.value()
  if (inside.fault !== undefined) return inside.fault
  const rest = text.slice(inside.at)
  if (rest.includes("{")) return { kind: "several_objects", offset: inside.at, expected: "end" }
  return isJsonObject(value) && inside.repairs.size === 0 &&
      (rest.trim() === "" || proseBehind(text, inside.at, around) !== undefined)
    ? found(inside, value, start, [["prose", reader.at]])
    : noObject(reader.at)
}
