/**
 * The smallest parts of JSON as models write it: strings, numbers, words, white space and comments.
 *
 * It keeps where it has got to, what it repaired on the way, and the first thing that it could not read.
 */
import type * as Schema from "effect/Schema"
import type { TextFault } from "../ToolFailure.ts"
import type { TextRepair } from "../ToolOutcome.ts"

/** What can be the matter with a text: `Arguments` says what each means. */
export type FaultKind = TextFault["kind"]

/** The first thing that cannot be read. */
export interface Fault {
  readonly kind: FaultKind
  /** In UTF-16 units from the start of the text. */
  readonly offset: number
  /** What would have been right there. */
  readonly expected: string
}

/** What can be repaired inside of a value. */
export type RepairKind = Exclude<TextRepair["kind"], Around>

/** What is repaired about the whole text. */
type Around =
  | "byte_order_mark"
  | "code_fence"
  | "double_encoded"
  | "escaped_quotes"
  | "no_arguments"
  | "prose"
  | "surplus_closers"
  | "template_token"

/** What a value was, as far as it matters to what may follow it. */
type Shape = "string" | "number" | "word" | "container"

const [tab, lineFeed, carriageReturn, space, doubleQuote, hash, singleQuote] = [9, 10, 13, 32, 0x22, 0x23, 0x27]
const [asterisk, comma, slash, closeBracket, closeBrace] = [0x2a, 0x2c, 0x2f, 0x5d, 0x7d]
const [openSingle, openDouble] = [0x2018, 0x201c]

/** A quote, and what ends the string that it begins. */
const closers: Readonly<Record<number, string>> = {
  [doubleQuote]: "\"",
  [singleQuote]: "'",
  [openSingle]: "’",
  [openDouble]: "”"
}

/** Does it begin a string? */
export const isQuote = (unit: number): boolean =>
  unit === doubleQuote || unit === singleQuote || unit === openSingle || unit === openDouble

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const unfinishedNumber = /-?(?:(?:0|[1-9]\d*)(?:\.|(?:\.\d+)?[eE][+-]?))?$/y
const numberLike = /[-+.]?[\d.]/y
const afterNumber = /[\p{ID_Continue}$.+*%^-]|\/(?![/*])/uy
const digitLike = /[\p{ID_Continue}.]/uy
const wholeNumber = /^-?\d+$/
export const identifier = /[\p{ID_Start}$_][\p{ID_Continue}$]*/uy
const word = /[\p{ID_Start}$_][\p{ID_Continue}$.-]*/uy
const cutWord = /^(?:tr?|tru|fa?|fals?|nu?|nul)$/
const ellipsis = /\.{3}|…/y
export const operator = /[-+*/%^&|<>=!~?(]/y
const control = /[\u0000-\u001f]/
export const quotes = /["'\u2018\u2019\u201c\u201d]/
const lineEnd = /[\n\r]/g
// What may be a part of a string, and line breaks that end a comment to some and not to others.
const unclear = /["'\u2018\u2019\u201c\u201d\u2028\u2029]/
const blanks = /\s/
const arithmetic = /^[\s\d.+\-*/%(),]*$/
const hex = /[0-9a-fA-F]{4}/y
const cutHex = /[0-9a-fA-F]{0,3}$/y

const specialDouble = /["\\\u0000-\u001f]/g
const specialSingle = /['\\\u0000-\u001f]/g
const specialCurly = /[\u2019\u201d\\\u0000-\u001f]/g

const aNumber = "a number as JSON has them: 1000, -0.5, 1e3"

const words: ReadonlyMap<string, boolean | null> = new Map([["true", true], ["false", false], ["null", null]])
const pythonWords: ReadonlyMap<string, boolean | null> = new Map([["True", true], ["False", false], ["None", null]])
const nonFinite = new Set(["NaN", "Infinity", "nan", "inf", "infinity", "-Infinity"])
/** Words that are values to some reader, and so are no names of keys to all. */
export const reserved = new Set([...words.keys(), ...pythonWords.keys(), ...nonFinite, "undefined"])

const escapes: Readonly<Record<string, string>> = {
  "\"": "\"",
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t"
}
const { "/": _, ...shared } = escapes
const singleEscapes: Readonly<Record<string, string>> = { ...shared, "'": "'" }

export class Scanner {
  readonly text: string
  /** Where it has got to. */
  at: number
  fault: Fault | undefined = undefined
  /** What was repaired, with where the first of its kind was. */
  readonly repairs = new Map<RepairKind, number>()
  /** Was there a whole number that a JavaScript number cannot hold? */
  hasUnsafeInteger = false
  /** How many objects and arrays it is in. */
  protected depth = 0
  protected shape: Shape = "container"

  constructor(text: string, at: number) {
    this.text = text
    this.at = at
  }

  /** Passes over white space and comments. */
  blank(afterNumber = false): void {
    for (;;) {
      const unit = this.text.charCodeAt(this.at)
      if (unit === space || unit === lineFeed || unit === carriageReturn || unit === tab) this.at++
      else if (unit !== slash && unit !== hash || !this.comment(unit, afterNumber)) return
    }
  }

  // ---------------------------------------------------------------------------
  // Words and numbers
  // ---------------------------------------------------------------------------

  protected word(): Schema.Json | undefined {
    const { at } = this
    const name = this.match(word)
    if (name === undefined) {
      this.failed(...this.noValue(at))
      return undefined
    }
    this.shape = "word"
    // What ends with the text may go on after it.
    if (this.at === this.text.length && (this.depth > 0 || cutWord.test(name))) {
      this.failed("cut_off", this.at, "the rest of a word, or what comes after it")
      return undefined
    }
    const value = words.get(name)
    if (value !== undefined) return value
    const python = pythonWords.get(name)
    if (python !== undefined) {
      this.repaired("python_constant", at)
      return python
    }
    if (nonFinite.has(name)) this.failed("invalid_number", at, aNumber)
    else if (name === "undefined") this.failed("missing_value", at, "a value, or none of the key")
    else if (this.sees(operator) || this.isQuoteHere()) this.failed("expression", at, "a value, worked out")
    else this.failed("bareword", at, "a value; a text in double quotes")
    return undefined
  }

  private noValue(at: number): [FaultKind, number, string] {
    const unit = this.text.charCodeAt(at)
    if (this.isElided()) return ["ellipsis", at, "all values, none left out"]
    if (unit === comma || unit === closeBrace || unit === closeBracket) return ["missing_value", at, "a value"]
    if (this.sees(numberLike)) return ["invalid_number", at, aNumber]
    if (this.sees(operator)) return ["expression", at, "a value, worked out"]
    return ["unexpected_character", at, "a value"]
  }

  protected number(): number | undefined {
    const { at, text } = this
    this.shape = "number"
    const token = this.match(number)
    if (token === undefined || this.sees(afterNumber)) {
      const isWhole = token === undefined || this.sees(digitLike)
      this.at = at
      if (this.sees(unfinishedNumber)) this.failed("cut_off", text.length, "the rest of a number")
      else this.failed(isWhole ? "invalid_number" : "expression", at, isWhole ? aNumber : "a value, worked out")
      return undefined
    }
    if (this.at === text.length && this.depth > 0) {
      this.failed("cut_off", this.at, "the rest of a number, or what comes after it")
      return undefined
    }
    const value = Number(token)
    if (!Number.isFinite(value)) {
      this.failed("invalid_number", at, "a number below 1.8e308")
      return undefined
    }
    if (!Number.isSafeInteger(value) && wholeNumber.test(token)) this.hasUnsafeInteger = true
    return value
  }

  // ---------------------------------------------------------------------------
  // Strings
  // ---------------------------------------------------------------------------

  /** The string that begins here, without its quotes. */
  string(quote: number): string | undefined {
    const { text } = this
    const closer = closers[quote]!
    const start = this.at + 1
    const end = text.indexOf(closer, start)
    const plain = text.slice(start, end === -1 ? text.length : end)
    if (quote === singleQuote) this.repaired("single_quotes", this.at)
    if (quote === openSingle || quote === openDouble) {
      this.repaired("smart_quotes", this.at)
      const inner = plain.search(quote === openDouble ? /(?<!\\)["“]/ : /(?<!\\)['‘]/)
      if (inner !== -1) {
        this.failed("unescaped_quote", start + inner, `'${closer}'`)
        return undefined
      }
    }
    if (plain.includes("\\")) return this.escaped(start, closer)
    const raw = plain.search(control)
    if (raw !== -1) this.repaired("control_character", start + raw)
    if (end === -1) {
      this.failed("cut_off", text.length, `the closing '${closer}' of a string`)
      return undefined
    }
    this.at = end + 1
    return plain
  }

  private escaped(start: number, closer: string): string | undefined {
    const { text } = this
    const parts: Array<string> = []
    let from = start
    const special = closer === "\"" ? specialDouble : closer === "'" ? specialSingle : specialCurly
    for (;;) {
      special.lastIndex = from
      const found = special.exec(text)
      if (found === null) {
        this.failed("cut_off", text.length, `the closing '${closer}' of a string`)
        return undefined
      }
      const at = found.index
      parts.push(text.slice(from, at))
      const char = found[0]
      if (char === closer) {
        this.at = at + 1
        return parts.join("")
      }
      if (char === "\\") {
        const read = this.escape(at, closer)
        if (read === undefined) return undefined
        parts.push(read)
        from = this.at
      } else {
        // A control character, or another closing quote.
        if (char < " ") this.repaired("control_character", at)
        parts.push(char)
        from = at + 1
      }
    }
  }

  /** What an escape stands for; stands behind it then. */
  private escape(at: number, closer: string): string | undefined {
    const { text } = this
    const letter = text[at + 1]
    this.at = at + 2
    if (letter === "u") {
      const code = this.match(hex)
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16))
      if (this.sees(cutHex)) {
        this.failed("cut_off", text.length, "the rest of an escape")
        return undefined
      }
    }
    if (letter === undefined) {
      this.failed("cut_off", text.length, "the rest of an escape")
      return undefined
    }
    // In single quotes, a single quote is escaped as in the languages that have them, which do not agree on a slash.
    const own = closer === "'" ? singleEscapes : escapes
    const read = Object.hasOwn(own, letter) ? own[letter] : undefined
    if (read === undefined) this.failed("invalid_escape", at, "an escape of JSON; a backslash itself is written \\\\")
    return read
  }

  // ---------------------------------------------------------------------------
  // Comments
  // ---------------------------------------------------------------------------

  /** Passes over a comment, if this is one: `//` and `#` to the end of the line, or in between of `/*` and its end. */
  private comment(unit: number, afterNumber: boolean): boolean {
    const { at, text } = this
    if (unit === hash || text.charCodeAt(at + 1) === slash) {
      lineEnd.lastIndex = at
      const end = lineEnd.exec(text)?.index ?? text.length
      const inside = text.slice(unit === hash ? at + 1 : at + 2, end)
      // 7 // 2 is a division to some, and 7 with a comment to others.
      if (afterNumber && unit === slash && /\d/.test(inside) && arithmetic.test(inside)) {
        return this.failed("expression", at, "',' or a closer")
      }
      return this.commented(at, end, inside)
    }
    if (text.charCodeAt(at + 1) !== asterisk) return false
    const end = text.indexOf("*/", at + 2)
    if (end === -1) return this.failed("cut_off", text.length, "the end of a comment")
    return this.commented(at, end + 2, text.slice(at + 2, end))
  }

  private commented(from: number, to: number, inside: string): boolean {
    if (unclear.test(inside)) return this.failed("unclear_comment", from, "no comments")
    // Around the object, braces in a comment may be another one.
    if (this.depth === 0 && inside.includes("{")) return this.failed("several_objects", from, "one JSON object")
    // 1500#00 may be one value.
    if (this.text.charCodeAt(from) === hash && from > 0 && !blanks.test(this.text.charAt(from - 1))) {
      return this.failed("unclear_comment", from, "a value without a '#'")
    }
    // Around the object, it may be about the call and not about the values.
    this.repaired(this.depth === 0 && inside.trim() !== "" ? "remark" : "comment", from)
    this.at = to
    return true
  }

  // ---------------------------------------------------------------------------
  // Inside
  // ---------------------------------------------------------------------------

  /** Reads what a sticky pattern matches here. */
  protected match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)?.[0]
    if (found !== undefined) this.at = pattern.lastIndex
    return found
  }

  protected isQuoteHere(): boolean {
    return quotes.test(this.text.charAt(this.at))
  }

  protected isElided(): boolean {
    return this.sees(ellipsis)
  }

  protected sees(pattern: RegExp): boolean {
    pattern.lastIndex = this.at
    return pattern.test(this.text)
  }

  protected repaired(kind: RepairKind, offset: number): void {
    if (!this.repairs.has(kind)) this.repairs.set(kind, offset)
  }

  /** The first fault counts. Where the text has ended, it is that. */
  protected failed(kind: FaultKind, offset: number, expected: string): false {
    this.fault ??= offset >= this.text.length && kind !== "cut_off"
      ? { kind: "cut_off", offset: this.text.length, expected }
      : { kind, offset, expected }
    return false
  }
}
