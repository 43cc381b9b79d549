/**
 * Finds the object in a model's argument text, and handles everything around the object:
 *
 *     byte order mark, code fence, template tokens    skipped
 *     a JSON string around the object                 unwrapped, once
 *     words before or after the object                skipped, if the object is strict and the words are plainly prose
 *     template tokens before words after it           skipped
 *     surplus closing brackets after the object       skipped
 *
 * The reader reads the object itself.
 */
import { isJsonObject, type JsonObject } from "../json.ts"
import type { TextRepairKind as Kind } from "../repair.ts"
import { type Fault, faultAt } from "./fault.ts"
import { readString, skipBlank } from "./lexer.ts"
import { isProseAfter, isProseBefore } from "./prose.ts"
import { plainly, readValue } from "./reader.ts"
import { repaired, type Scanner, scannerOf, sees } from "./scanner.ts"
import { type Around, aroundOf, peel, peelStart } from "./wrapping.ts"

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

/**
 * Finds the one object in an argument text, or the fault that makes the text unreadable.
 *
 * @param limit the deepest nesting of objects and arrays that is read
 */
export const findObject = (text: string, limit: number): Found | Fault => {
  const around = peel(text)
  // The scanner gets the text from its start, so that offsets refer to the whole text. Only the wrapping at
  // the end is cut off.
  const scanner = scannerOf(text.slice(0, around.to), around.at, limit)
  skipBlank(scanner)
  const result = scanner.fault ?? readBody(scanner, around)
  return "kind" in result ? result : { ...result, repairs: [...around.repairs, ...result.repairs] }
}

const escapedQuote = /\{(?:[ \t\r\n]|\\[nrt])*\\"/y
const surplusClosers = /^[}\] \t\r\n]+$/
const emptyText = /^(?:null|None)?$/

const readBody = (scanner: Scanner, around: Around): Found | Fault => {
  const { at, repairs, text } = scanner
  const first = text[at]
  if (first === "{") return sees(scanner, escapedQuote) ? readEscaped(scanner) : readObject(scanner, around)
  if (isCall.test(text.slice(at, at + 100))) return faultAt("call", at, "object")
  if (first === "[") return readArray(scanner)
  if (first === "\"" || first === "'") return readQuoted(scanner)
  const rest = text.slice(at, at + 5)
  // If there is nothing inside the wrapping, the text was cut off, or the wrapping is not meant for arguments.
  const isBare = [...around.repairs.keys()].every((kind) => kind === "byte_order_mark")
  if (emptyText.test(rest) && repairs.size === 0 && (isBare || rest !== "")) {
    return foundBy(scanner, {}, at, "no_arguments")
  }
  const result = text.includes("{", at) ? readAfterProse(scanner, around) : noObject(at)
  return first === "<" && "kind" in result ? faultAt("markup", at, "object") : result
}

// A call in some language: `f(…)`, `[f(…)]`, `({…})`.
const isCall = /^\[?\s*[\p{ID_Start}_$]?[\p{ID_Continue}.$]*\(/u

/** @param kind one more repair, at `offset` (default: `start`) */
const foundBy = (
  { hasUnsafeInteger, repairs, text }: Scanner,
  value: JsonObject,
  start: number,
  kind?: Kind,
  offset = start
): Found => ({
  value,
  source: text,
  start,
  repairs: kind === undefined ? [...repairs] : [...repairs, [kind, offset]],
  hasUnsafeInteger
})

const readObject = (scanner: Scanner, around: Around): Found | Fault => {
  const { at: start, repairs, text } = scanner
  const value = readValue(scanner)
  const end = scanner.at
  const isStrict = repairs.size === 0
  skipBlank(scanner)
  const { at, closedBeforeMore, fault } = scanner
  if (fault !== undefined) return fault
  if (!isJsonObject(value)) return noObject(start)
  if (at === text.length) return foundBy(scanner, value, start)
  const rest = text.slice(at)
  if (surplusClosers.test(rest)) {
    // The surplus bracket may belong elsewhere: an earlier bracket may have closed its container too early.
    return repairs.has("missing_comma") || [...closedBeforeMore].some((closer) => rest.includes(closer))
      ? faultAt("bracket_mismatch", at, "end")
      : foundBy(scanner, value, start, "surplus_closers", at)
  }
  const words = isStrict ? skipProseAfter(text, end, around) : undefined
  if (words !== undefined) return foundBy(scanner, value, start, "prose", words)
  const kind = rest.includes("{")
    ? "several_objects"
    : rest.startsWith(",")
    ? "bracket_mismatch"
    : "unexpected_character"
  return faultAt(kind, at, "end")
}

const readArray = (scanner: Scanner): Found | Fault => {
  const { at: start, repairs, text } = scanner
  const value = readValue(scanner)
  const isEmpty = Array.isArray(value) && value.length === 0
  // After `[]`, a `#` may begin an item.
  skipBlank(scanner, isEmpty)
  if (scanner.fault !== undefined) return scanner.fault
  return isEmpty && scanner.at === text.length && repairs.size === 0
    ? foundBy(scanner, {}, start, "no_arguments")
    : faultAt("array", start, "object")
}

// Reads a JSON string that contains an object. The object must be strict JSON.
const readQuoted = (scanner: Scanner): Found | Fault => {
  const { at: start, text } = scanner
  const inner = readString(scanner)
  // The meaning of a backslash inside single quotes differs between languages.
  if (text[start] === "'" && /\\(?!')/.test(text.slice(start, scanner.at))) {
    return faultAt("invalid_escape", text.indexOf("\\", start), "double_quotes")
  }
  skipBlank(scanner)
  if (scanner.fault !== undefined) return scanner.fault
  return inner === undefined || scanner.at < text.length
    ? noObject(start)
    : readInner(scanner, inner, start, start + 1, "double_encoded")
}

// Reads an object in which all quotes are escaped, as if it were the content of a JSON string. An unescaped
// quote would end that string too early, so it is a fault.
const readEscaped = (scanner: Scanner): Found | Fault => {
  const { at: start, limit, text } = scanner
  const quoted = scannerOf(`"${text.slice(start)}"`, 0, limit)
  const inner = readString(quoted)
  return inner === undefined || quoted.at < quoted.text.length
    ? faultAt("invalid_escape", text.indexOf("\\", start), "plain_quotes")
    : readInner(scanner, inner, start, start, "escaped_quotes")
}

/**
 * @param start the offset of the enclosing string
 * @param from the offset of the first character inside it
 */
const readInner = (scanner: Scanner, inner: string, start: number, from: number, kind: Kind): Found | Fault => {
  const result = plainly(inner, { depth: scanner.limit })
  if ("kind" in result) {
    return inner.trimStart().startsWith("{")
      ? { ...result, offset: offsetInOuter(scanner.text, from, result.offset) }
      : noObject(start)
  }
  const { hasUnsafeInteger, value } = result
  return isJsonObject(value)
    ? { ...foundBy(scanner, value, 0, kind, start), source: inner, hasUnsafeInteger }
    : noObject(start)
}

// Converts an offset in the inner text to an offset in the outer text, in which characters may be escaped.
// The end of the inner text becomes the offset of the closing quote.
const offsetInOuter = (text: string, from: number, units: number): number => {
  let at = from
  for (let unit = 0; unit < units; unit++) at += text[at] !== "\\" ? 1 : text[at + 1] === "u" ? 6 : 2
  return at
}

const noObject = (offset: number): Fault => faultAt("no_object", offset, "object")

// -----------------------------------------------------------------------------
// Prose around the object
// -----------------------------------------------------------------------------

/**
 * Returns the offset of the words after an object, if they are prose. Between a template token and the words,
 * no space is needed.
 */
const skipProseAfter = (text: string, end: number, around: Around): number | undefined => {
  const tail = aroundOf(text, end)
  while (peelStart(tail)) continue
  const [token] = tail.repairs
  if (!isProseAfter(token === undefined ? text.slice(end) : ` ${text.slice(tail.at)}`)) return undefined
  if (token !== undefined) repaired(around, ...token)
  return tail.at
}

const readAfterProse = (scanner: Scanner, around: Around): Found | Fault => {
  const { at: words, limit, repairs, text } = scanner
  const start = text.indexOf("{", around.at)
  if (repairs.size > 0 || !isProseBefore(text.slice(around.at, start))) return noObject(words)
  const inner = scannerOf(text, start, limit)
  const value = readValue(inner)
  const { at, fault } = inner
  if (fault !== undefined) return fault
  const rest = text.slice(at)
  if (rest.includes("{")) return faultAt("several_objects", at, "end")
  return isJsonObject(value) && inner.repairs.size === 0 &&
      (rest.trim() === "" || skipProseAfter(text, at, around) !== undefined)
    ? foundBy(inner, value, start, "prose", words)
    : noObject(words)
}
