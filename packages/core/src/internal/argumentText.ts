/**
 * The object in a model's argument text, and what stands around it.
 *
 *     byte order mark, code fence, template tokens    passed over
 *     a JSON string around the object                 unwrapped, once
 *     words before or after it                        passed over, if the object is strict and nothing else can be meant
 *     template tokens between it and words after it   passed over
 *     brackets too many after it                      passed over
 *
 * What is inside of the object is the `Reader`'s matter.
 */
import type * as Schema from "effect/Schema"
import type { TextRepair } from "../ToolOutcome.ts"
import { Reader, strictly } from "./jsonReader.ts"
import type { Fault, FaultKind } from "./jsonScanner.ts"

/** What can be repaired about an argument text. */
export type Kind = TextRepair["kind"]

/** An object that was found in a text. */
export interface Found {
  readonly value: Schema.JsonObject
  /** The text that it was read from, and where it begins there: the whole one, or one that was inside of it. */
  readonly source: string
  readonly start: number
  /** What was repaired, with where the first of its kind was, in the order of the text. */
  readonly repairs: ReadonlyArray<readonly [kind: Kind, offset: number]>
  readonly hasUnsafeInteger: boolean
}

/** Finds the one object that a text stands for, or the fault because of which there is none. */
export const findObject = (text: string): Found | Fault => {
  const around = peel(text)
  // Offsets are those of the whole text; what was passed over at its end is not seen.
  const reader = new Reader(text.slice(0, around.to), around.from)
  reader.blank()
  if (reader.fault !== undefined) return reader.fault
  const found = within(reader, around)
  return "kind" in found ? found : { ...found, repairs: [...around.repairs, ...found.repairs] }
}

/** Where the object of a text begins, as far as nothing but silent wrapping stands before it. */
export const openingOf = (text: string): number => {
  const around = { from: 0, to: text.length, repairs: [] }
  while (peelStart(text, around) || peelOpeningFence(text, around)) continue
  return around.from
}

// -----------------------------------------------------------------------------
// What stands around the object
// -----------------------------------------------------------------------------

/** The part of a text that is left, and what was passed over. */
interface Around {
  from: number
  to: number
  readonly repairs: Array<readonly [Kind, number]>
}

const token =
  /<\|[^<>|{}"\n]{1,64}\|>|<｜[^<>｜{}"\n]{1,64}｜>|<\/?(?:tools?|tool_calls?|functions?|function_calls?|arguments|args|parameters|params|input|json|s|bos|eos|end_of_turn)>/y
const opening = /^<\w/
const longestToken = 72
const fence = /`{3,}/y
// A word on the line of the fence; before the object itself, only what is no name.
const info = /[\w+.-]*[ \t]*(?=\n)|(?:json[5c]?)?[ \t]*/y

const peel = (text: string): Around => {
  const around: Around = { from: 0, to: text.length, repairs: [] }
  let isFenced = false
  for (;;) {
    if (peelStart(text, around) || peelEnd(text, around)) continue
    if (isFenced || !peelFence(text, around)) return around
    isFenced = true
  }
}

/** Passes over one thing at the start; says whether there was one. */
const peelStart = (text: string, around: Around): boolean => {
  skipSpace(text, around)
  if (around.from === 0 && text.startsWith("\ufeff")) {
    around.repairs.push(["byte_order_mark", 0])
    around.from = 1
    return true
  }
  const end = endOf(token, text, around.from)
  if (end === undefined || end > around.to) return false
  passed(around, "template_token", around.from)
  around.from = end
  return true
}

const peelEnd = (text: string, around: Around): boolean => {
  while (around.to > around.from && isSpace(text.charCodeAt(around.to - 1))) around.to--
  if (text[around.to - 1] !== ">") return false
  const start = text.lastIndexOf("<", around.to - 1)
  if (start < around.from || around.to - start > longestToken || endOf(token, text, start) !== around.to) return false
  // What opens at the end was cut off.
  if (opening.test(text.slice(start, around.to))) return false
  passed(around, "template_token", start)
  around.to = start
  return true
}

const peelFence = (text: string, around: Around): boolean => {
  const opened = endOf(fence, text, around.from)
  if (opened === undefined) return false
  const ticks = text.slice(around.from, opened)
  const closing = around.to - ticks.length
  if (closing < opened || !text.startsWith(ticks, closing) || text[closing - 1] === "`") return false
  peelOpeningFence(text, around)
  around.to = closing
  return true
}

const peelOpeningFence = (text: string, around: Around): boolean => {
  const opened = endOf(fence, text, around.from)
  if (opened === undefined) return false
  passed(around, "code_fence", around.from)
  around.from = endOf(info, text, opened) ?? opened
  return true
}

const passed = ({ repairs }: Around, kind: Kind, offset: number): void => {
  if (!repairs.some(([known]) => known === kind)) repairs.push([kind, offset])
}

const skipSpace = (text: string, around: Around): void => {
  while (around.from < around.to && isSpace(text.charCodeAt(around.from))) around.from++
}

const isSpace = (unit: number): boolean => unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09

const endOf = (pattern: RegExp, text: string, at: number): number | undefined => {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}

// -----------------------------------------------------------------------------
// What is inside
// -----------------------------------------------------------------------------

const escapedQuote = /\{(?:[ \t\r\n]|\\[nrt])*\\"/y
const surplus = /^[}\] \t\r\n]+$/
const nothing = new Set(["", "null", "None"])

const within = (reader: Reader, around: Around): Found | Fault => {
  const { repairs } = around
  const { at, text } = reader
  const first = text.charAt(at)
  if (first === "{") return endOf(escapedQuote, text, at) === undefined ? object(reader, around) : unescaped(reader)
  if (first === "[") return array(reader)
  if (first === "\"" || first === "'") return unwrapped(reader)
  const rest = text.slice(at, at + 5)
  // Wrapping with nothing in it was cut off, or says something that is no argument.
  const isBare = reader.repairs.size === 0 && repairs.every(([kind]) => kind === "byte_order_mark")
  if (nothing.has(rest) && (isBare || rest !== "" && reader.repairs.size === 0)) {
    return found(reader, {}, at, [["no_arguments", at]])
  }
  return text.indexOf("{", at) === -1
    ? { kind: "no_object", offset: at, expected: oneObject }
    : afterProse(reader, around)
}

const oneObject = "one JSON object"
const theEnd = "the end of the text"

const found = (
  { hasUnsafeInteger, repairs, text }: Reader,
  value: Schema.JsonObject,
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
  if (!isObject(value)) return { kind: "no_object", offset: start, expected: oneObject }
  const { at } = reader
  if (at === text.length) return found(reader, value, start)
  const rest = text.slice(at)
  if (surplus.test(rest)) {
    // A bracket that is misplaced may be missing there, or have closed too early what goes on after it.
    const mayBeMisplaced = reader.repairs.has("missing_comma") ||
      Array.from(reader.closedBeforeMore).some((closer) => rest.includes(closer))
    return mayBeMisplaced
      ? { kind: "bracket_mismatch", offset: at, expected: theEnd }
      : found(reader, value, start, [["surplus_closers", at]])
  }
  const words = isStrict ? proseBehind(text, end, around) : undefined
  if (words !== undefined) return found(reader, value, start, [["prose", words]])
  return { kind: afterObject(rest), offset: at, expected: theEnd }
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
    : { kind: "array", offset: start, expected: oneObject }
}

// A JSON string that holds an object: what is inside has to be strict.
const unwrapped = (reader: Reader): Found | Fault => {
  const { at: start, text } = reader
  const inner = reader.string(text.charCodeAt(start))
  // What a backslash means between single quotes depends on who wrote them.
  if (text[start] === "'" && /\\(?!')/.test(text.slice(start, reader.at))) {
    return { kind: "invalid_escape", offset: text.indexOf("\\", start), expected: "double quotes" }
  }
  reader.blank()
  if (inner === undefined || reader.fault !== undefined) return reader.fault ?? noObject(start)
  return reader.at === text.length ? inside(reader, inner, start, start + 1, "double_encoded") : noObject(start)
}

// An object all of whose quotes are escaped reads as the inside of a string. A quote that is not would end it too early.
const unescaped = (reader: Reader): Found | Fault => {
  const { at: start, text } = reader
  const quoted = new Reader(`"${text.slice(start)}"`, 0)
  const inner = quoted.string(0x22)
  return inner === undefined || quoted.at < quoted.text.length
    ? { kind: "invalid_escape", offset: text.indexOf("\\", start), expected: "quotes that are not escaped" }
    : inside(reader, inner, start, start, "escaped_quotes")
}

/** @param from where the first unit of what is inside stands in the text around it */
const inside = (reader: Reader, inner: string, start: number, from: number, kind: Kind): Found | Fault => {
  const read = strictly(inner)
  if ("kind" in read) {
    return inner.trimStart().startsWith("{")
      ? { ...read, offset: offsetAround(reader.text, from, read.offset) }
      : noObject(start)
  }
  const { hasUnsafeInteger, value } = read
  return isObject(value)
    ? { ...found(reader, value, 0, [[kind, start]]), source: inner, hasUnsafeInteger }
    : noObject(start)
}

// Where a unit of what is inside stands in the text around it, in which it may be escaped. Behind the last one stands the closing quote.
const offsetAround = (text: string, from: number, units: number): number => {
  let at = from
  for (let unit = 0; unit < units; unit++) at += text[at] !== "\\" ? 1 : text[at + 1] === "u" ? 6 : 2
  return at
}

const noObject = (offset: number): Fault => ({ kind: "no_object", offset, expected: oneObject })

/** Is it an object, and neither an array nor `null`? */
export const isObject = (value: Schema.Json | undefined): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

// -----------------------------------------------------------------------------
// Words around the object
// -----------------------------------------------------------------------------

// What may be structure, markup or code is no prose, and neither is what cannot be seen.
const foreign =
  /["{}[\]<>=\\\u0000-\u0008\u000b\u000c\u000e-\u001f]|[\p{L}\p{N}_]\(|^[ \t]*[a-z_$][\w.$-]*[ \t]*:[ \t]*\S/mu
const elided = /\.{3}|…/
// Words that a language goes on with before or after a value.
const joiningBefore = /(?:^|\s)(?:and|await|else|false|if|in|new|none|not|null|or|return|true|typeof|yield)[ \t]*$/
const joiningAfter =
  /^(?:and|as|else|false|for|if|in|instanceof|is (?:not|none|true|false)|none|not|null|or|true|unless|AND|OR|IF|FOR|None|True|False)\b/

// Emphasis may touch the object, and no name that is emphasized.
const besideBefore = /(?:[\s:：]|(?:^|[\s:：])[*_`]+)$/
const unfinished = /(?:[([,+\-/&|%$@#^~]|[^\p{L}]\?|(?:^|[^*])\*)$/u
const worded = /[\p{L}\p{Extended_Pictographic}`]|^\s*\d+[.)]\s*$/u
// One word alone may be the function that the object goes to, or the key that it belongs to. Keys begin in lower case, and labels as a rule do not.
const named = /(?:^|\n)[ \t]*(?:-[ \t]*)?([\p{Ll}_$][\p{L}\p{N}.$_-]*)(?:[ \t]*:\s*|[ \t]+)$/u
const namesOfAll = new Set(["arguments", "args", "parameters", "params", "input", "json"])

const besideAfter = /^(?:\s|$|[.!?;`*_]+(?:\s|$))/
const wordedAfter = /^(?:[\p{L}\p{Extended_Pictographic}`*_(—–]|\d+[.)]\s)/u

const isProse = (text: string): boolean => !foreign.test(text) && count(text, "(") === count(text, ")")

const isProseBefore = (text: string): boolean => {
  const name = named.exec(text)?.[1]
  return isProse(text) && worded.test(text) && besideBefore.test(text) && !unfinished.test(text.trimEnd()) &&
    !joiningBefore.test(text) && (name === undefined || namesOfAll.has(name))
}

const isProseAfter = (text: string): boolean => {
  const words = text.replace(/^[.!?;`*_]+/, "").trimStart()
  return isProse(text) && !elided.test(text) && besideAfter.test(text) && !joiningAfter.test(words) &&
    (words === "" || wordedAfter.test(words))
}

/** Where the words begin behind an object, if that is what stands there. Behind template tokens they may touch these. */
const proseBehind = (text: string, end: number, around: Around): number | undefined => {
  const behind: Around = { from: end, to: text.length, repairs: [] }
  while (peelStart(text, behind)) continue
  const [token] = behind.repairs
  if (!isProseAfter(token === undefined ? text.slice(end) : ` ${text.slice(behind.from)}`)) return undefined
  if (token !== undefined) passed(around, ...token)
  return behind.from
}

const count = (text: string, part: string): number => text.split(part).length - 1

const afterProse = (reader: Reader, around: Around): Found | Fault => {
  const { text } = reader
  const start = text.indexOf("{", around.from)
  if (reader.repairs.size > 0 || !isProseBefore(text.slice(around.from, start))) return noObject(reader.at)
  const inside = new Reader(text, start)
  const value = inside.value()
  if (inside.fault !== undefined) return inside.fault
  const rest = text.slice(inside.at)
  if (rest.includes("{")) return { kind: "several_objects", offset: inside.at, expected: theEnd }
  return isObject(value) && inside.repairs.size === 0 &&
      (rest.trim() === "" || proseBehind(text, inside.at, around) !== undefined)
    ? found(inside, value, start, [["prose", reader.at]])
    : noObject(reader.at)
}
