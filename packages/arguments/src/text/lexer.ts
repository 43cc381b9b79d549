/**
 * The tokens of JSON, as the grammar has them or as models write them: strings, numbers, words, white space and comments.
 *
 * What it accepts beyond JSON is a repair, and a repair is a fault where the text has to be strict JSON: one lexer, two modes.
 * It keeps where it has got to, what it repaired on the way, and the first thing that it could not read.
 */
import type { Expected, Fault, FaultKind } from "./fault.ts"

/** What can be repaired inside a value. */
export type RepairKind =
  | "comment"
  | "control_character"
  | "duplicate_key"
  | "missing_comma"
  | "python_constant"
  | "single_quotes"
  | "smart_quotes"
  | "trailing_comma"
  | "unquoted_key"

/** How a text is read. */
export interface Mode {
  /** Is it to be JSON as `JSON.parse` takes it? A repair is a fault then, and keys may repeat. */
  readonly isStrict?: boolean
  /** The deepest nesting of objects and arrays that is read. */
  readonly depth: number
}

/** What strict JSON expects in place of what a repair accepts. */
const strictly: { readonly [K in RepairKind]: Expected } = {
  comment: "no_comment",
  control_character: "control_escape",
  duplicate_key: "key_once",
  missing_comma: "comma_or_closer",
  python_constant: "constant",
  single_quotes: "double_quotes",
  smart_quotes: "double_quotes",
  trailing_comma: "no_trailing_comma",
  unquoted_key: "key"
}

// What a model meant is guessed at; a service meant nothing but JSON.
const isGuess = (expected: Expected): boolean =>
  expected === "computed" || expected === "number" || expected === "text_in_quotes" || expected === "value_or_no_key"

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
const keyed = /[\p{L}\p{N}_$][ \t]*:(?!\/\/)/u
const blanks = /\s/
const arithmetic = /^[\s~+\-*/%(),]*(?:\.?\d[\w.]*[\s~+\-*/%(),]+)*(?:\.?\d[\w.]*)?$/
const hex = /[0-9a-fA-F]{4}/y
const cutHex = /[0-9a-fA-F]{0,3}$/y

const specialDouble = /["\\\u0000-\u001f]/g
const specialSingle = /['\\\u0000-\u001f]/g
const specialCurly = /[\u2019\u201d\\\u0000-\u001f]/g

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

export class Lexer {
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
  /** Is it a value that is to come next? */
  protected isValueNext = false
  protected shape: Shape = "container"
  protected readonly mode: Mode

  constructor(text: string, at: number, mode: Mode) {
    this.text = text
    this.at = at
    this.mode = mode
  }

  /** Passes over white space, and over comments inside a value. */
  blank(afterNumber = false): void {
    for (;;) {
      const unit = this.text.charCodeAt(this.at)
      if (unit === space || unit === lineFeed || unit === carriageReturn || unit === tab) this.at++
      else if (this.depth === 0 || unit !== slash && unit !== hash || !this.comment(unit, afterNumber)) return
    }
  }

  // ---------------------------------------------------------------------------
  // Words and numbers
  // ---------------------------------------------------------------------------

  protected word(): boolean | null | undefined {
    const { at } = this
    const name = this.match(word)
    if (name === undefined) {
      this.failed(...this.noValue(at))
      return undefined
    }
    this.shape = "word"
    // What ends with the text may go on after it.
    if (this.at === this.text.length && (this.depth > 0 || cutWord.test(name))) {
      this.failed("cut_off", this.at, "rest_of_word")
      return undefined
    }
    const value = words.get(name)
    if (value !== undefined) return value
    const python = pythonWords.get(name)
    if (python !== undefined) {
      this.repaired("python_constant", at)
      return python
    }
    if (nonFinite.has(name)) this.failed("invalid_number", at, "number")
    else if (name === "undefined") this.failed("missing_value", at, "value_or_no_key")
    else if (this.sees(operator) || this.isQuoteHere()) this.failed("expression", at, "computed")
    else this.failed("bareword", at, "text_in_quotes")
    return undefined
  }

  private noValue(at: number): [FaultKind, number, Expected] {
    const unit = this.text.charCodeAt(at)
    if (this.isElided()) return ["ellipsis", at, "nothing_left_out"]
    if (unit === comma || unit === closeBrace || unit === closeBracket) return ["missing_value", at, "value"]
    if (this.sees(numberLike)) return ["invalid_number", at, "number"]
    if (this.sees(operator)) return ["expression", at, "computed"]
    return ["unexpected_character", at, "value"]
  }

  protected number(): number | undefined {
    const { at, text } = this
    this.shape = "number"
    const token = this.match(number)
    if (token === undefined || this.sees(afterNumber)) {
      const isWhole = token === undefined || this.sees(digitLike)
      this.at = at
      if (this.sees(unfinishedNumber)) this.failed("cut_off", text.length, "rest_of_number")
      else this.failed(isWhole ? "invalid_number" : "expression", at, isWhole ? "number" : "computed")
      return undefined
    }
    if (this.at === text.length && this.depth > 0) {
      this.failed("cut_off", this.at, "rest_of_number")
      return undefined
    }
    const value = Number(token)
    if (!Number.isFinite(value) && this.mode.isStrict !== true) {
      this.failed("invalid_number", at, "finite")
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
        this.failed("unescaped_quote", start + inner, "quote", closer)
        return undefined
      }
    }
    if (plain.includes("\\")) return this.escaped(start, closer)
    const raw = plain.search(control)
    if (raw !== -1) this.repaired("control_character", start + raw)
    if (end === -1) {
      this.failed("cut_off", text.length, "closing_quote", closer)
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
        this.failed("cut_off", text.length, "closing_quote", closer)
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
        this.failed("cut_off", text.length, "rest_of_escape")
        return undefined
      }
    }
    if (letter === undefined) {
      this.failed("cut_off", text.length, "rest_of_escape")
      return undefined
    }
    // In single quotes, a single quote is escaped as in the languages that have them, which do not agree on a slash.
    const own = closer === "'" ? singleEscapes : escapes
    const read = Object.hasOwn(own, letter) ? own[letter] : undefined
    if (read === undefined) this.failed("invalid_escape", at, "escape")
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
      if (afterNumber && unit === slash && arithmetic.test(inside)) {
        return this.failed("expression", at, "computed")
      }
      // A key and its value may have been meant, or an item: `[1, #2, #3`.
      const isUnclear = keyed.test(inside) || this.isValueNext && unit === hash && /^[^\s#!]/.test(inside)
      return this.commented(at, end, inside) &&
        (!isUnclear || this.failed("unclear_comment", at, "no_comment"))
    }
    if (text.charCodeAt(at + 1) !== asterisk) return false
    const end = text.indexOf("*/", at + 2)
    if (end === -1) return this.failed("cut_off", text.length, "end_of_comment")
    return this.commented(at, end + 2, text.slice(at + 2, end))
  }

  private commented(from: number, to: number, inside: string): boolean {
    if (unclear.test(inside)) return this.failed("unclear_comment", from, "no_comment")
    // 1500#00 may be one value.
    if (this.text.charCodeAt(from) === hash && from > 0 && !blanks.test(this.text.charAt(from - 1))) {
      return this.failed("unclear_comment", from, "no_hash")
    }
    this.repaired("comment", from)
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

  /** Strict JSON has no repairs. */
  protected repaired(kind: RepairKind, offset: number): void {
    if (this.mode.isStrict === true) this.failed("unexpected_character", offset, strictly[kind])
    else if (!this.repairs.has(kind)) this.repairs.set(kind, offset)
  }

  /** The first fault counts. Where the text has ended, it is that. */
  protected failed(kind: FaultKind, offset: number, expected: Expected, of?: string): false {
    if (this.fault !== undefined) return false
    const told = this.mode.isStrict === true && isGuess(expected) ? "value" : expected
    this.fault = offset >= this.text.length && kind !== "cut_off"
      ? { kind: "cut_off", offset: this.text.length, expected: told, of }
      : { kind, offset, expected: told, of }
    return false
  }
}
