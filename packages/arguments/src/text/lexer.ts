/**
 * The tokens of JSON, in the standard form or as models write them: strings, numbers, words, white space
 * and comments. Everything that is accepted beyond JSON is a repair.
 */
import { cutOff, fail, match, repaired, type RepairKind, type Scanner, sees } from "./scanner.ts"

// Between tokens, comparing codes is measurably faster than comparing characters.
const tab = 0x09
const lineFeed = 0x0a
const carriageReturn = 0x0d
const space = 0x20
const hash = 0x23
const slash = 0x2f

/** What belongs to an opening quote. */
type Quotes = readonly [
  closer: string,
  /** A character that is not plain: the closing quote, a backslash, or a control character. */
  special: RegExp,
  /** The same, if control characters are plain. */
  specialInRaw: RegExp,
  repair?: RepairKind,
  /** The text up to a quote that should have been escaped. */
  unescaped?: RegExp
]

const quotesOf: { readonly [opener: string]: Quotes } = {
  "\"": ["\"", /["\\\0-\x1f]/g, /["\\]/g],
  "'": ["'", /['\\\0-\x1f]/g, /['\\]/g, "single_quotes"],
  "‘": ["’", /[’\\\0-\x1f]/g, /[’\\]/g, "smart_quotes", /[^’]*?['‘](?<!\\.)/y],
  "“": ["”", /[”\\\0-\x1f]/g, /[”\\]/g, "smart_quotes", /[^”]*?["“](?<!\\.)/y]
}

const numberStart = /-|\.?\d|\.$/y
const number = /-?(?:(?:0|[1-9]\d*)(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?/y
const unfinishedNumber = /-?(?:(?:0|[1-9]\d*)?(?:\.|(?:\.\d+)?[eE][+-]?))?$/y
const leadingPoint = /^-?\./
const numberLike = /[-+.]?[\d.]/y
const afterNumber = /[\p{ID_Continue}$.+*%^-]|\/(?![/*])/uy
const digitLike = /[\p{ID_Continue}.]/uy
const plainNumber = /^-?[\d.]+$/
export const identifier = /[\p{ID_Start}$_][\p{ID_Continue}$]*/uy
const word = /[\p{ID_Start}$_][\p{ID_Continue}$.-]*/uy
const cutWord = /^(?:tr?|tru|fa?|fals?|nu?|nul)$/
export const ellipsis = /\.{3}|…/y
export const operator = /[-+*/%^&|<>=!~?(]/y
export const anyQuote = /["'‘’“”]/y
const separator = /[,}\]]/y
const lineEnd = /[\n\r]/g
// A comment with these characters is unclear: quotes may belong to a string, and these line breaks end a
// comment only in some languages.
const unclear = /["'‘’“”\u2028\u2029]/
const keyLike = /[\p{L}\p{N}_$][ \t]*:(?!\/\/)/u
const itemLike = /^[^\s#!]/
const arithmetic = /^[\s~+\-*/%(),]*(?:\.?\d[\w.]*[\s~+\-*/%(),]+)*(?:\.?\d[\w.]*)?$/
const unicodeEscape = /u[\da-fA-F]{4}/y
const cutEscape = /(?:u[\da-fA-F]{0,3})?$/y

const constants: ReadonlyMap<string, boolean | null> = new Map([
  ["true", true],
  ["false", false],
  ["null", null],
  // Python's words, and those of SQL and YAML.
  ["True", true],
  ["False", false],
  ["None", null],
  ["TRUE", true],
  ["FALSE", false],
  ["NULL", null]
])
const capital = /^[A-Z]/
const nonFinite = /^(?:NaN|nan|inf|[Ii]nfinity)$/

/** True for words that are values in some language. They are never read as unquoted keys. */
export const isReserved = (name: string): boolean => constants.has(name) || nonFinite.test(name) || name === "undefined"

const escapes: { readonly [letter: string]: string } = {
  "\"": "\"",
  "\\": "\\",
  "/": "/",
  "'": "'",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t"
}

/** Reads a string, a number or a word. */
export const readScalar = (scanner: Scanner): string | number | boolean | null | undefined =>
  isStringNext(scanner) ? readString(scanner) : sees(scanner, numberStart) ? readNumber(scanner) : readWord(scanner)

// -----------------------------------------------------------------------------
// Words and numbers
// -----------------------------------------------------------------------------

const readWord = (scanner: Scanner): boolean | null | undefined => {
  const { at, text } = scanner
  const name = match(scanner, word)
  if (name === undefined) return failWithoutValue(scanner)
  // A word at the end of the text may be incomplete.
  if (scanner.at === text.length && (scanner.depth > 0 || cutWord.test(name))) return cutOff(scanner, "rest_of_word")
  const value = constants.get(name)
  if (value !== undefined) {
    if (capital.test(name)) repaired(scanner, "python_constant", at)
    return value
  }
  if (nonFinite.test(name)) return fail(scanner, "invalid_number", at, "number")
  if (name === "undefined") return fail(scanner, "missing_value", at, "value_or_no_key")
  return sees(scanner, operator) || sees(scanner, anyQuote)
    ? fail(scanner, "expression", at, "computed")
    : fail(scanner, "bareword", at, "text_in_quotes")
}

const failWithoutValue = (scanner: Scanner): undefined => {
  const { at } = scanner
  if (sees(scanner, ellipsis)) return fail(scanner, "ellipsis", at, "nothing_left_out")
  if (sees(scanner, separator)) return fail(scanner, "missing_value", at, "value")
  if (sees(scanner, numberLike)) return fail(scanner, "invalid_number", at, "number")
  if (sees(scanner, operator)) return fail(scanner, "expression", at, "computed")
  return fail(scanner, "unexpected_character", at, "value")
}

const readNumber = (scanner: Scanner): number | undefined => {
  const { at, text } = scanner
  const token = match(scanner, number)
  if (token === undefined || sees(scanner, afterNumber)) {
    const isNumber = token === undefined || sees(scanner, digitLike)
    scanner.at = at
    return sees(scanner, unfinishedNumber)
      ? cutOff(scanner, "rest_of_number")
      : isNumber
      ? fail(scanner, "invalid_number", at, "number")
      : fail(scanner, "expression", at, "computed")
  }
  if (scanner.at === text.length && scanner.depth > 0) return cutOff(scanner, "rest_of_number")
  const value = Number(token)
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER && plainNumber.test(token)) scanner.hasUnsafeInteger = true
  if (leadingPoint.test(token)) repaired(scanner, "leading_point", at)
  return value
}

// -----------------------------------------------------------------------------
// Strings
// -----------------------------------------------------------------------------

/** True if a string begins here. */
export const isStringNext = ({ at, text }: Scanner): boolean => {
  const first = text[at]
  return first === "\"" || first === "'" || first === "“" || first === "‘"
}

/** Reads the string that begins here, and returns it without its quotes. */
export const readString = (scanner: Scanner): string | undefined => {
  const { text } = scanner
  const [closer, special, specialInRaw, repair, unescaped] = quotesOf[text.charAt(scanner.at)]!
  if (repair !== undefined) repaired(scanner, repair, scanner.at)
  scanner.at++
  if (unescaped !== undefined && sees(scanner, unescaped)) {
    return fail(scanner, "unescaped_quote", unescaped.lastIndex - 1, "quote", closer)
  }
  let value = ""
  let pattern = special
  for (;;) {
    const { at } = scanner
    pattern.lastIndex = at
    if (!pattern.test(text)) return cutOff(scanner, "closing_quote", closer)
    const end = pattern.lastIndex - 1
    scanner.at = end + 1
    value += text.slice(at, end)
    const character = text[end]
    if (character === closer) return value
    if (character === "\\") {
      const escaped = readEscape(scanner, closer)
      if (escaped === undefined) return undefined
      value += escaped
    } else {
      repaired(scanner, "control_character", end)
      value += character
      pattern = specialInRaw
    }
  }
}

/** Returns the character that an escape stands for. The backslash has been read. */
const readEscape = (scanner: Scanner, closer: string): string | undefined => {
  const at = scanner.at - 1
  const code = match(scanner, unicodeEscape)
  if (code !== undefined) return String.fromCharCode(Number.parseInt(code.slice(1), 16))
  if (sees(scanner, cutEscape)) return cutOff(scanner, "rest_of_escape")
  const letter = scanner.text[scanner.at++]!
  // Every language that knows `\'` reads an apostrophe. Inside single quotes, languages disagree on `\/`, so it is
  // not accepted there.
  if (letter === "'" && closer !== "'") repaired(scanner, "escaped_apostrophe", at)
  const character = letter === "/" && closer === "'" ? undefined : escapes[letter]
  return character ?? fail(scanner, "invalid_escape", at, "escape")
}

// -----------------------------------------------------------------------------
// White space and comments
// -----------------------------------------------------------------------------

/** True for the code of JSON's white space. */
export const isSpace = (unit: number): boolean =>
  unit === space || unit === lineFeed || unit === carriageReturn || unit === tab

/**
 * Skips white space and comments.
 *
 * @param isValueNext whether a value comes next (default: `false`)
 * @param isAfterNumber whether a number is directly before (default: `false`)
 */
export const skipBlank = (scanner: Scanner, isValueNext = false, isAfterNumber = false): void => {
  for (;;) {
    const unit = scanner.text.charCodeAt(scanner.at)
    if (isSpace(unit)) scanner.at++
    else if (unit !== slash && unit !== hash || !skipComment(scanner, isValueNext, isAfterNumber)) return
  }
}

/** Skips a comment, if there is one: from `//` or `#` to the end of the line, or a block comment. */
const skipComment = (scanner: Scanner, isValueNext: boolean, isAfterNumber: boolean): boolean => {
  const { at, depth, text } = scanner
  const isHash = text[at] === "#"
  const isLine = isHash || text[at + 1] === "/"
  if (!isLine && text[at + 1] !== "*") return false
  const end = isLine ? endOfLine(text, at) : text.indexOf("*/", at + 2)
  const inside = text.slice(isHash ? at + 1 : at + 2, end)
  // `1500#00` may be one value.
  const isAttached = isHash && text.charAt(at - 1).trim() !== ""
  if (end === -1) cutOff(scanner, "end_of_comment")
  // In some languages, `7 // 2` is a division; in others, it is 7 with a comment.
  else if (isAfterNumber && isLine && !isHash && arithmetic.test(inside)) fail(scanner, "expression", at, "computed")
  else if (unclear.test(inside)) fail(scanner, "unclear_comment", at, "no_comment")
  else if (isAttached && depth > 0) fail(scanner, "unclear_comment", at, "no_hash")
  else if (isAttached) return false
  else {
    repaired(scanner, "comment", at)
    scanner.at = isLine ? end : end + 2
    // The comment may be meant as a key and its value, or as an item: `[1, #2, #3`.
    if (isLine && keyLike.test(inside) || isValueNext && isHash && itemLike.test(inside)) {
      fail(scanner, "unclear_comment", at, "no_comment")
    }
  }
  return true
}

const endOfLine = (text: string, at: number): number => {
  lineEnd.lastIndex = at
  return lineEnd.test(text) ? lineEnd.lastIndex - 1 : text.length
}
