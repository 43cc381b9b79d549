/**
 * The tokens of JSON, in the standard form or as models write them: strings, numbers, words, white space
 * and comments.
 *
 * Everything that the lexer accepts beyond JSON is a repair; in strict mode, it is a fault. The lexer keeps
 * its position, its repairs, and the first fault.
 */
import type { Expected, Fault, FaultKind } from "./fault.ts"

/** The kinds of repairs inside a JSON value. */
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

/** How the text is read. */
export interface Mode {
  /**
   * Whether the text must be JSON that `JSON.parse` accepts (default: `false`). Repairs are then faults, and
   * keys may repeat.
   */
  readonly isStrict?: boolean
  /** The deepest nesting of objects and arrays that is read. */
  readonly depth: number
}

/** The expectation that strict mode reports in place of each repair. */
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

// These expectations guess what a model meant. A service always means JSON, so strict mode does not report them.
const isGuess = (expected: Expected): boolean =>
  expected === "computed" || expected === "number" || expected === "text_in_quotes" || expected === "value_or_no_key"

/** The kind of the last value, which decides what may follow that value. */
type Shape = "string" | "number" | "word" | "container"

const [tab, lineFeed, carriageReturn, space, doubleQuote, hash, singleQuote] = [9, 10, 13, 32, 0x22, 0x23, 0x27]
const [asterisk, comma, slash, closeBracket, closeBrace] = [0x2a, 0x2c, 0x2f, 0x5d, 0x7d]
const [openSingle, openDouble] = [0x2018, 0x201c]

/** The closing quote of each opening quote. */
const closers: Readonly<Record<number, string>> = {
  [doubleQuote]: "\"",
  [singleQuote]: "'",
  [openSingle]: "’",
  [openDouble]: "”"
}

/** True if the character begins a string. */
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
// A comment with these characters is unclear: quotes may belong to a string, and these line breaks end a
// comment only in some languages.
const unclear = /["'\u2018\u2019\u201c\u201d\u2028\u2029]/
const keyLike = /[\p{L}\p{N}_$][ \t]*:(?!\/\/)/u
const whiteSpace = /\s/
const arithmetic = /^[\s~+\-*/%(),]*(?:\.?\d[\w.]*[\s~+\-*/%(),]+)*(?:\.?\d[\w.]*)?$/
const hex = /[0-9a-fA-F]{4}/y
const cutHex = /[0-9a-fA-F]{0,3}$/y

const specialDouble = /["\\\u0000-\u001f]/g
const specialSingle = /['\\\u0000-\u001f]/g
const specialCurly = /[\u2019\u201d\\\u0000-\u001f]/g

const words: ReadonlyMap<string, boolean | null> = new Map([["true", true], ["false", false], ["null", null]])
const pythonWords: ReadonlyMap<string, boolean | null> = new Map([["True", true], ["False", false], ["None", null]])
const nonFinite = new Set(["NaN", "Infinity", "nan", "inf", "infinity", "-Infinity"])
/** Words that are values in some language. They are never read as unquoted keys. */
export const reservedWords = new Set([...words.keys(), ...pythonWords.keys(), ...nonFinite, "undefined"])

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
  /** The current position. */
  at: number
  fault: Fault | undefined = undefined
  /** The kinds of repairs so far, each with the offset of its first repair. */
  readonly repairs = new Map<RepairKind, number>()
  /** Whether the text so far has an integer that a JavaScript number cannot hold. */
  hasUnsafeInteger = false
  /** The number of objects and arrays around the current position. */
  protected depth = 0
  /** Whether a value comes next. */
  protected isValueNext = false
  protected shape: Shape = "container"
  protected readonly mode: Mode

  constructor(text: string, at: number, mode: Mode) {
    this.text = text
    this.at = at
    this.mode = mode
  }

  /** Skips white space. Inside a container, skips comments, too. */
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
    // A word at the end of the text may be incomplete.
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

  /** Reads the string that begins here, and returns it without its quotes. */
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
    if (plain.includes("\\")) return this.stringWithEscapes(start, closer)
    const raw = plain.search(control)
    if (raw !== -1) this.repaired("control_character", start + raw)
    if (end === -1) {
      this.failed("cut_off", text.length, "closing_quote", closer)
      return undefined
    }
    this.at = end + 1
    return plain
  }

  private stringWithEscapes(start: number, closer: string): string | undefined {
    const { text } = this
    const parts: Array<string> = []
    let from = start
    const special = closer === "\"" ? specialDouble : closer === "'" ? specialSingle : specialCurly
    for (;;) {
      special.lastIndex = from
      const match = special.exec(text)
      if (match === null) {
        this.failed("cut_off", text.length, "closing_quote", closer)
        return undefined
      }
      const at = match.index
      parts.push(text.slice(from, at))
      const char = match[0]
      if (char === closer) {
        this.at = at + 1
        return parts.join("")
      }
      if (char === "\\") {
        const character = this.escape(at, closer)
        if (character === undefined) return undefined
        parts.push(character)
        from = this.at
      } else {
        // A control character, or a closing quote of a different kind.
        if (char < " ") this.repaired("control_character", at)
        parts.push(char)
        from = at + 1
      }
    }
  }

  /** Returns the character that an escape stands for, and moves past the escape. */
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
    // Inside single quotes, `\'` is accepted, as in languages with single-quoted strings. These languages
    // disagree on `\/`, so it is not accepted there.
    const allowed = closer === "'" ? singleEscapes : escapes
    const character = Object.hasOwn(allowed, letter) ? allowed[letter] : undefined
    if (character === undefined) this.failed("invalid_escape", at, "escape")
    return character
  }

  // ---------------------------------------------------------------------------
  // Comments
  // ---------------------------------------------------------------------------

  /** Skips a comment, if there is one: from `//` or `#` to the end of the line, or a block comment. */
  private comment(unit: number, afterNumber: boolean): boolean {
    const { at, text } = this
    if (unit === hash || text.charCodeAt(at + 1) === slash) {
      lineEnd.lastIndex = at
      const end = lineEnd.exec(text)?.index ?? text.length
      const inside = text.slice(unit === hash ? at + 1 : at + 2, end)
      // In some languages, `7 // 2` is a division; in others, it is 7 with a comment.
      if (afterNumber && unit === slash && arithmetic.test(inside)) {
        return this.failed("expression", at, "computed")
      }
      // The comment may be meant as a key and its value, or as an item: `[1, #2, #3`.
      const isUnclear = keyLike.test(inside) || this.isValueNext && unit === hash && /^[^\s#!]/.test(inside)
      return this.acceptComment(at, end, inside) &&
        (!isUnclear || this.failed("unclear_comment", at, "no_comment"))
    }
    if (text.charCodeAt(at + 1) !== asterisk) return false
    const end = text.indexOf("*/", at + 2)
    if (end === -1) return this.failed("cut_off", text.length, "end_of_comment")
    return this.acceptComment(at, end + 2, text.slice(at + 2, end))
  }

  private acceptComment(from: number, to: number, inside: string): boolean {
    if (unclear.test(inside)) return this.failed("unclear_comment", from, "no_comment")
    // `1500#00` may be one value.
    if (this.text.charCodeAt(from) === hash && from > 0 && !whiteSpace.test(this.text.charAt(from - 1))) {
      return this.failed("unclear_comment", from, "no_hash")
    }
    this.repaired("comment", from)
    this.at = to
    return true
  }

  // ---------------------------------------------------------------------------
  // Shared
  // ---------------------------------------------------------------------------

  /** Reads the text that a sticky pattern matches here. */
  protected match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const token = pattern.exec(this.text)?.[0]
    if (token !== undefined) this.at = pattern.lastIndex
    return token
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

  /** Records a repair; in strict mode, a fault. */
  protected repaired(kind: RepairKind, offset: number): void {
    if (this.mode.isStrict === true) this.failed("unexpected_character", offset, strictly[kind])
    else if (!this.repairs.has(kind)) this.repairs.set(kind, offset)
  }

  /** Records a fault, unless there already is one. At the end of the text, every fault is `cut_off`. */
  protected failed(kind: FaultKind, offset: number, expected: Expected, of?: string): false {
    if (this.fault !== undefined) return false
    const reported = this.mode.isStrict === true && isGuess(expected) ? "value" : expected
    this.fault = offset >= this.text.length && kind !== "cut_off"
      ? { kind: "cut_off", offset: this.text.length, expected: reported, of }
      : { kind, offset, expected: reported, of }
    return false
  }
}
