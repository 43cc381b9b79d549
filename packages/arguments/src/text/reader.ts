/**
 * Reads JSON, or JSON as models write it, in one pass.
 *
 * Beyond JSON, the reader accepts only notations with a single reading. Examples are a trailing comma, a
 * comment, single quotes, Python's constants, and a key without quotes. Each of these is a repair. Everything
 * else is a fault, and reading ends at the first fault.
 *
 * The reader never backtracks, so its time is linear in the length of the text. `Scanner.limit` limits its
 * recursion.
 *
 * After a fault, everything that was read before it is kept: an incomplete container has its complete parts.
 */
import { type Json, partAt, type Path } from "../json.ts"
import { getOrInsert, newMap } from "../memo.ts"
import { deepest } from "../options.ts"
import { excerpt } from "./excerpt.ts"
import { isContainer, isFaithful, isPrototypeKey, parseOrUndefined } from "./faithful.ts"
import { type Fault, faultAt, type FaultKind } from "./fault.ts"
import {
  anyQuote,
  ellipsis,
  identifier,
  isReserved,
  isStringNext,
  operator,
  readScalar,
  readString,
  skipBlank
} from "./lexer.ts"
import { type Container, fail, match, type NumberTokens, repaired, type Scanner, scannerOf, sees } from "./scanner.ts"

const mayFollowKey = /[\s:/#=,}\]]|$/y
const blockComments = /\/\*[^]*?\*\//g
const beginsWithComma = /["'‘’“”][ \t\r\n]*,/y
const keyStart = /["'‘“\p{ID_Start}$_]/uy
const itemStart = /["'‘“\p{ID_Start}$_\d{]/uy

/** Reads one value. After a fault, it returns the complete part of the value, or `undefined`. */
export const readValue = (scanner: Scanner): Json | undefined => {
  const { at, text } = scanner
  const first = text[at]
  if (first === "{") return readObject(scanner)
  if (first === "[") return readArray(scanner)
  const value = readScalar(scanner)
  return value === Infinity || value === -Infinity ? fail(scanner, "invalid_number", at, "finite") : value
}

const readObject = (scanner: Scanner): Record<string, Json> => {
  const holder: Record<string, Json> = {}
  if (!enter(scanner, "}")) return holder
  for (;;) {
    const keyAt = scanner.at
    const key = readKey(scanner)
    if (key === undefined) return holder
    skipColon(scanner)
    const valueAt = scanner.at
    const value = readValue(scanner)
    if (value !== undefined) setMember(scanner, holder, key, value, keyAt, valueAt)
    if (!hasNext(scanner, "}", value)) return holder
  }
}

const readArray = (scanner: Scanner): Array<Json> => {
  const holder: Array<Json> = []
  if (!enter(scanner, "]")) return holder
  for (;;) {
    const valueAt = scanner.at
    const value = readValue(scanner)
    if (value !== undefined) {
      rememberToken(scanner, holder, holder.length, value, valueAt)
      holder.push(value)
    }
    if (!hasNext(scanner, "]", value)) return holder
  }
}

/** Enters a container. Returns whether it has any content. If not, its closing bracket is also read. */
export const enter = (scanner: Scanner, closer: string): boolean => {
  const { at, depth, limit } = scanner
  if (depth === limit) fail(scanner, "too_deep", at, "levels", String(limit))
  else {
    scanner.depth++
    scanner.at++
    skipBlank(scanner, closer === "]")
  }
  return scanner.fault === undefined && !leaves(scanner, closer)
}

/** Moves past the closing bracket of a container, if it is next. Returns whether it is. */
const leaves = (scanner: Scanner, closer: string): boolean => {
  const isClosed = scanner.text[scanner.at] === closer
  if (isClosed) {
    scanner.at++
    scanner.depth--
  }
  return isClosed
}

/** Moves on from a value in a container. Returns whether another value follows. If not, the container was left. */
export const hasNext = (scanner: Scanner, closer: string, last: Json | undefined): boolean => {
  const { at: end, text } = scanner
  skipBlank(scanner, false, typeof last === "number")
  if (leaves(scanner, closer)) return false
  const { at } = scanner
  if (text[at] === ",") {
    scanner.at++
    skipBlank(scanner, closer === "]")
    if (leaves(scanner, closer)) {
      repaired(scanner, "trailing_comma", at)
      return false
    }
  } else acceptMissingComma(scanner, closer, last, end)
  if (isContainer(last)) scanner.closedBeforeMore.add(text[end - 1]!)
  return scanner.fault === undefined
}

const setMember = (
  scanner: Scanner,
  holder: Record<string, Json>,
  key: string,
  value: Json,
  keyAt: number,
  valueAt: number
): void => {
  if (isPrototypeKey(key, value)) return fail(scanner, "prototype_key", keyAt, "another_key", excerpt(key))
  if (Object.hasOwn(holder, key)) {
    const { fault, tokens } = scanner
    const earlier = tokenIn(tokens, holder, key)
    const token = typeof value === "number" ? scanner.text.slice(valueAt, scanner.at) : undefined
    // Two spellings may stand for the same number, as long as no digits were lost.
    const isNumber = typeof value === "number" && Object.is(holder[key], value) &&
      Number.isSafeInteger(Math.trunc(value))
    if (fault === undefined && !isNumber && !(token === earlier && isSame(tokens, holder[key], value))) {
      return fail(scanner, "duplicate_key", keyAt, "key_once", excerpt(key))
    }
    repaired(scanner, "duplicate_key", keyAt)
    if (token !== earlier) return storeToken(tokens, holder, key, "")
  }
  rememberToken(scanner, holder, key, value, valueAt)
  holder[key] = value
}

const rememberToken = (
  { at, text, tokens }: Scanner,
  holder: Container,
  key: string | number,
  value: Json,
  from: number
): void => {
  if (typeof value !== "number") return
  const token = text.slice(from, at)
  if (token !== String(value)) storeToken(tokens, holder, key, token)
}

const storeToken = (tokens: NumberTokens, holder: Container, key: string | number, token: string): void => {
  getOrInsert(tokens, holder, newMap<string | number, string>).set(key, token)
}

/**
 * True if two values are the same. Equal numbers must also have the same spelling, because the spelling may
 * matter.
 */
const isSame = (tokens: NumberTokens, a: Json | undefined, b: Json | undefined): boolean => {
  if (!isContainer(a) || !isContainer(b)) return a === b
  const keys = Object.keys(a)
  return Array.isArray(a) === Array.isArray(b) && keys.length === Object.keys(b).length && keys.every((name) => {
    const key = Array.isArray(a) ? Number(name) : name
    return Object.hasOwn(b, name) && tokenIn(tokens, a, key) === tokenIn(tokens, b, key) &&
      isSame(tokens, Reflect.get(a, name), Reflect.get(b, name))
  })
}

// -----------------------------------------------------------------------------
// Keys and colons
// -----------------------------------------------------------------------------

export const readKey = (scanner: Scanner): string | undefined => {
  if (isStringNext(scanner)) return readString(scanner)
  const { at } = scanner
  const name = match(scanner, identifier)
  if (name === undefined || isReserved(name)) return failWithoutKey(scanner, at)
  repaired(scanner, "unquoted_key", at)
  if (sees(scanner, mayFollowKey)) return name
  return sees(scanner, anyQuote)
    ? fail(scanner, "unescaped_quote", at, "key")
    : fail(scanner, "unquoted_key", scanner.at, "key")
}

const failWithoutKey = (scanner: Scanner, at: number): undefined => {
  const first = scanner.text[at]
  if (sees(scanner, ellipsis)) return fail(scanner, "ellipsis", at, "nothing_left_out")
  if (first === ",") return fail(scanner, "missing_value", at, "member")
  if (first === "]") return fail(scanner, "bracket_mismatch", at, "closer", "}")
  const isStructure = first === "{" || first === "[" || first === ":"
  return fail(scanner, isStructure ? "unexpected_character" : "unquoted_key", at, "key")
}

export const skipColon = (scanner: Scanner): void => {
  const { at: end, text } = scanner
  skipBlank(scanner)
  const { at } = scanner
  if (text[at] === ":") {
    scanner.at++
    skipBlank(scanner, true)
  } else {
    // If a letter follows directly, the quote before it did not end the key.
    const isInText = at === end && sees(scanner, identifier)
    fail(scanner, isInText || sees(scanner, anyQuote) ? "unescaped_quote" : "missing_colon", at, "colon")
  }
}

// -----------------------------------------------------------------------------
// A value without a comma after it
// -----------------------------------------------------------------------------

const acceptMissingComma = (scanner: Scanner, closer: string, last: Json | undefined, end: number): void => {
  const { at, text } = scanner
  const first = text[at]
  const isQuote = sees(scanner, anyQuote)
  const failed = (kind: FaultKind): void => fail(scanner, kind, at, "comma_or_closer", closer)
  if (sees(scanner, ellipsis)) return fail(scanner, "ellipsis", at, "nothing_left_out")
  if (first === "}" || first === "]") return failed("bracket_mismatch")
  if (typeof last === "string") {
    return failed(first === "+" ? "concatenation" : isQuote && at > end ? "missing_comma" : "unescaped_quote")
  }
  // In `5"`, the quote means inches. A quote before a comma may end a string that lacks its opening quote.
  if (isQuote && typeof last === "number" && at === end || sees(scanner, beginsWithComma)) {
    return failed("unescaped_quote")
  }
  // On one line, `1 234` may be one number, `[7] [0]` an access to an item, and two words one string. So in
  // an array, a comma may be missing only at a line break.
  const isStart = closer === "}"
    ? sees(scanner, keyStart)
    : text.slice(end, at).replace(blockComments, "").includes("\n") &&
      (sees(scanner, itemStart) || first === "[" && isContainer(last))
  if (!isStart) return failed(sees(scanner, operator) ? "expression" : "missing_comma")
  repaired(scanner, "missing_comma", end)
}

const tokenIn = (tokens: NumberTokens, holder: object, key: string | number): string | undefined => {
  const value: unknown = Object.hasOwn(holder, key) ? Reflect.get(holder, key) : undefined
  return typeof value === "number" ? tokens.get(holder)?.get(key) ?? String(value) : undefined
}

/**
 * Returns a function that finds the source text of a number by its path. That function reads the text on its
 * first call.
 */
export const numbersOf = (text: string, start: number): (path: Path) => string | undefined => {
  let cached: { readonly root: Json | undefined; readonly tokens: NumberTokens } | undefined
  return (path) => {
    cached ??= readTokens(text, start)
    const holder = partAt(cached.root, path.slice(0, -1))
    const key = path.at(-1)
    return typeof holder === "object" && holder !== null && key !== undefined
      ? tokenIn(cached.tokens, holder, key)
      : undefined
  }
}

// The text was already read once within its own depth limit, so the largest limit is safe.
const readTokens = (text: string, start: number) => {
  const scanner = scannerOf(text, start, deepest)
  return { root: readRoot(scanner), tokens: scanner.tokens }
}

/** Reads the first value of a text, after white space and comments. */
export const readRoot = (scanner: Scanner): Json | undefined => {
  skipBlank(scanner)
  return readValue(scanner)
}

/** Reads strict JSON that has exactly one reading. Returns a fault for any other text. */
export const plainly = (
  text: string,
  { depth }: { readonly depth: number }
): { readonly value: Json; readonly hasUnsafeInteger: boolean } | Fault => {
  // A fast path that nearly always succeeds. If it does not, the error of `JSON.parse` is not used.
  const parsed = parseOrUndefined(text)
  if (parsed !== undefined && isFaithful(parsed, text, depth)) return { value: parsed, hasUnsafeInteger: false }
  const scanner = scannerOf(text, 0, depth)
  const value = readRoot(scanner)
  skipBlank(scanner)
  const { at, fault, hasUnsafeInteger, repairs } = scanner
  if (fault !== undefined) return fault
  const [offset = at] = repairs.values()
  return value === undefined || offset < text.length
    ? faultAt("unexpected_character", offset, "plain_json")
    : { value, hasUnsafeInteger }
}
