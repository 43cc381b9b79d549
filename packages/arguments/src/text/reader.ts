/**
 * Reads JSON, or JSON as models write it, in one pass.
 *
 * Beyond JSON, the reader accepts only notations with a single reading. Examples are a trailing comma, a
 * comment, single quotes, Python's constants, and a key without quotes. Each of these is a repair. Everything
 * else is a fault, and reading ends at the first fault.
 *
 * The reader never backtracks, so its time is linear in the length of the text. `Mode.depth` limits its
 * recursion.
 *
 * After a fault, everything that was read before it is kept: an incomplete container has its complete parts.
 */
import { define, type Json, type Path } from "../json.ts"
import { deepest } from "../options.ts"
import { excerpt } from "./excerpt.ts"
import { isFaithful, isPrototypeKey, parseOrUndefined } from "./faithful.ts"
import type { Expected, Fault, FaultKind } from "./fault.ts"
import { identifier, isQuote, Lexer, type Mode, operator, quotes, reservedWords } from "./lexer.ts"

type Container = Array<Json> | Record<string, Json>

/** The source texts of numbers, by container and key. */
export type NumberTokens = Map<object, Map<string | number, string>>

const [plus, comma, minus, colon] = [0x2b, 0x2c, 0x2d, 0x3a]
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d]

const digit = /\d/y
const blockComments = /\/\*[^]*?\*\//g
const beginsWithComma = /["'\u2018\u2019\u201c\u201d][ \t\r\n]*,/y
const mayFollowKey = /[\s:/#=,}\]]/

export class Reader extends Lexer {
  /**
   * The closing brackets after which more values follow. If one of them came too early, the end of the text
   * seems to have a surplus bracket.
   */
  readonly closedBeforeMore = new Set<string>()
  /** The source texts of numbers that JavaScript would write differently. */
  readonly tokens: NumberTokens = new Map()
  /** The path of the value that is being read, or was just read. */
  readonly path: Array<string | number> = []

  /** Reads one value. After a fault, it returns the complete part of the value, or `undefined`. */
  value(): Json | undefined {
    const { at, text } = this
    const unit = text.charCodeAt(at)
    switch (unit) {
      case openBrace:
        return this.object()
      case openBracket:
        return this.array()
    }
    if (isQuote(unit)) {
      this.shape = "string"
      return this.string(unit)
    }
    if (unit === minus || unit >= 0x30 && unit <= 0x39) return this.number()
    return this.word()
  }

  private object(): Record<string, Json> {
    const holder: Record<string, Json> = {}
    if (!this.enter(closeBrace)) return this.leave(holder)
    do {
      const keyAt = this.at
      this.path.length = this.depth - 1
      const key = this.key()
      if (key === undefined || this.fault !== undefined) return holder
      this.path.push(key)
      if (!this.colon()) return holder
      const valueAt = this.at
      const value = this.value()
      if (value !== undefined) this.set(holder, key, value, keyAt, valueAt)
    } while (this.hasNext(closeBrace))
    return this.leave(holder)
  }

  private array(): Array<Json> {
    const holder: Array<Json> = []
    if (!this.enter(closeBracket)) return this.leave(holder)
    do {
      const valueAt = this.at
      this.path.length = this.depth - 1
      // If the text ends before the array's first item, the path leads to the array itself.
      if (holder.length > 0 || valueAt < this.text.length) this.path.push(holder.length)
      const value = this.value()
      if (value !== undefined) {
        this.rememberToken(holder, holder.length, value, valueAt)
        holder.push(value)
      }
    } while (this.hasNext(closeBracket))
    return this.leave(holder)
  }

  /** Enters a container. Returns whether it has any content. */
  private enter(closer: number): boolean {
    const { depth } = this.mode
    if (this.depth === depth) return this.failed("too_deep", this.at, "levels", String(depth))
    this.depth++
    this.at++
    this.isValueNext = closer === closeBracket
    this.blank()
    return this.fault === undefined && this.text.charCodeAt(this.at) !== closer
  }

  /** Moves past the closing bracket of a container, if the container was read to its end. */
  private leave<C extends Container>(holder: C): C {
    if (this.fault === undefined) {
      this.at++
      this.depth--
      this.path.length = this.depth
      this.shape = "container"
    }
    return holder
  }

  /** Moves on from a value. Returns true if another value follows, and false if the closing bracket does. */
  private hasNext(closer: number): boolean {
    if (this.fault !== undefined) return false
    const end = this.at
    this.isValueNext = false
    this.blank(this.shape === "number")
    if (this.fault !== undefined) return false
    const unit = this.text.charCodeAt(this.at)
    if (unit === closer) return false
    const last = this.shape
    if (unit !== comma) {
      if (last === "container") this.closedBeforeMore.add(this.text.charAt(end - 1))
      return this.withoutComma(closer, end)
    }
    const commaAt = this.at++
    this.isValueNext = closer === closeBracket
    this.blank()
    if (this.fault !== undefined) return false
    if (this.text.charCodeAt(this.at) === closer) {
      this.repaired("trailing_comma", commaAt)
      return false
    }
    if (last === "container") this.closedBeforeMore.add(this.text.charAt(end - 1))
    return true
  }

  private set(
    holder: Record<string, Json>,
    key: string,
    value: Json,
    keyAt: number,
    valueAt: number
  ): void {
    if (this.mode.isStrict === true) {
      // As in `JSON.parse`, the last value of a key is used, and no key is special.
      define(holder, key, value)
      return
    }
    if (isPrototypeKey(key, value)) {
      this.failed("prototype_key", keyAt, "another_key", excerpt(key))
      return
    }
    if (Object.hasOwn(holder, key)) {
      const earlier = this.tokenOf(holder, key)
      const token = typeof value === "number" ? this.text.slice(valueAt, this.at) : undefined
      // Two spellings may stand for the same number, as long as no digits were lost.
      const isNumber = typeof value === "number" && Object.is(holder[key], value) &&
        Number.isSafeInteger(Math.trunc(value))
      if (this.fault === undefined && !isNumber && !this.isSame(holder[key], value, earlier, token)) {
        this.failed("duplicate_key", keyAt, "key_once", excerpt(key))
        return
      }
      this.repaired("duplicate_key", keyAt)
      if (token !== earlier) {
        this.storeToken(holder, key, "")
        return
      }
    }
    this.rememberToken(holder, key, value, valueAt)
    holder[key] = value
  }

  private rememberToken(holder: Container, key: string | number, value: Json, from: number): void {
    if (typeof value !== "number") return
    const token = this.text.slice(from, this.at)
    if (token !== String(value)) this.storeToken(holder, key, token)
  }

  private storeToken(holder: Container, key: string | number, token: string): void {
    const tokens = this.tokens.get(holder) ?? new Map<string | number, string>()
    this.tokens.set(holder, tokens.set(key, token))
  }

  private tokenOf(holder: object, key: string | number): string | undefined {
    return tokenIn(this.tokens, holder, key)
  }

  /**
   * True if two values are the same. Equal numbers must also have the same spelling, because the spelling may
   * matter.
   */
  private isSame(
    a: Json | undefined,
    b: Json | undefined,
    tokenA?: string,
    tokenB?: string
  ): boolean {
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b && tokenA === tokenB
    const keys = Object.keys(a)
    return Array.isArray(a) === Array.isArray(b) && keys.length === Object.keys(b).length && keys.every((name) => {
      const key = Array.isArray(a) ? Number(name) : name
      return Object.hasOwn(b, name) &&
        this.isSame(Reflect.get(a, name), Reflect.get(b, name), this.tokenOf(a, key), this.tokenOf(b, key))
    })
  }

  // ---------------------------------------------------------------------------
  // Keys and colons
  // ---------------------------------------------------------------------------

  private key(): string | undefined {
    const { at, text } = this
    const unit = text.charCodeAt(at)
    if (isQuote(unit)) return this.string(unit)
    const name = this.match(identifier)
    if (name === undefined || reservedWords.has(name)) {
      this.failed(...this.noKey(unit, at))
      return undefined
    }
    if (this.mode.isStrict === true) {
      this.failed("unquoted_key", at, "key")
      return undefined
    }
    const next = text[this.at]
    if (next !== undefined && !mayFollowKey.test(next)) {
      const isQuoted = quotes.test(next)
      this.failed(isQuoted ? "unescaped_quote" : "unquoted_key", isQuoted ? at : this.at, "key")
      return undefined
    }
    this.repaired("unquoted_key", at)
    return name
  }

  private noKey(unit: number, at: number): [kind: FaultKind, offset: number, expected: Expected, of?: string] {
    if (this.isElided()) return ["ellipsis", at, "nothing_left_out"]
    if (unit === comma) return ["missing_value", at, "member"]
    if (unit === closeBracket) return ["bracket_mismatch", at, "closer", "}"]
    if (unit === openBrace || unit === openBracket || unit === colon) return ["unexpected_character", at, "key"]
    return ["unquoted_key", at, "key"]
  }

  private colon(): boolean {
    const end = this.at
    this.blank()
    if (this.fault !== undefined) return false
    if (this.text.charCodeAt(this.at) !== colon) {
      // If a letter follows directly, the quote before it did not end the key.
      const isInText = this.at === end && this.sees(identifier)
      return this.failed(isInText || this.isQuoteHere() ? "unescaped_quote" : "missing_colon", this.at, "colon")
    }
    this.at++
    this.isValueNext = true
    this.blank()
    return this.fault === undefined
  }

  // ---------------------------------------------------------------------------
  // A value without a comma after it
  // ---------------------------------------------------------------------------

  private withoutComma(closer: number, end: number): boolean {
    const { at } = this
    const unit = this.text.charCodeAt(at)
    const orCloser = ["comma_or_closer", String.fromCharCode(closer)] as const
    if (this.isElided()) return this.failed("ellipsis", at, "nothing_left_out")
    if (unit === closeBrace || unit === closeBracket) return this.failed("bracket_mismatch", at, ...orCloser)
    if (this.shape === "string") {
      const kind = unit === plus
        ? "concatenation"
        : this.isQuoteHere() && at > end
        ? "missing_comma"
        : "unescaped_quote"
      return this.failed(kind, at, ...orCloser)
    }
    // In `5"`, the quote means inches. A quote before a comma may end a string that lacks its opening quote.
    const isStray = this.isQuoteHere() && (this.shape === "number" && at === end || this.sees(beginsWithComma))
    if (isStray) return this.failed("unescaped_quote", at, ...orCloser)
    // On one line, `1 234` may be one number, `[7] [0]` an access to an item, and two words one string. So in
    // an array, a comma may be missing only at a line break.
    const isOnNewLine = this.text.slice(end, at).replace(blockComments, "").includes("\n")
    const isStart = closer === closeBrace
      ? isQuote(unit) || this.sees(identifier)
      : isOnNewLine && (isQuote(unit) || unit === openBrace || this.sees(identifier) || this.sees(digit) ||
        unit === openBracket && this.shape === "container")
    if (!isStart) return this.failed(this.sees(operator) ? "expression" : "missing_comma", at, ...orCloser)
    if (this.mode.isStrict === true) return this.failed("missing_comma", at, ...orCloser)
    this.repaired("missing_comma", end)
    return true
  }
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
    let at: unknown = cached.root
    for (const key of path.slice(0, -1)) {
      at = typeof at === "object" && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined
    }
    const key = path.at(-1)
    return typeof at === "object" && at !== null && key !== undefined ? tokenIn(cached.tokens, at, key) : undefined
  }
}

// The text was already read once within its own depth limit, so the largest limit is safe.
const readTokens = (text: string, start: number) => {
  const reader = new Reader(text, start, { depth: deepest })
  reader.blank()
  return { root: reader.value(), tokens: reader.tokens }
}

/** Reads strict JSON that has exactly one reading. Returns a fault for any other text. */
export const plainly = (
  text: string,
  mode: Mode
): { readonly value: Json; readonly hasUnsafeInteger: boolean } | Fault => {
  const faithful = parseFaithfully(text, mode.depth)
  if (faithful !== undefined) return { value: faithful, hasUnsafeInteger: false }
  const reader = new Reader(text, 0, mode)
  reader.blank()
  const value = reader.value()
  reader.blank()
  const { at, fault, hasUnsafeInteger, repairs } = reader
  if (fault !== undefined) return fault
  const [offset = at] = repairs.values()
  return value === undefined || offset < text.length
    ? { kind: "unexpected_character", offset, expected: "plain_json" }
    : { value, hasUnsafeInteger }
}

// A fast path that nearly always succeeds. If it does not, the error of `JSON.parse` is not used.
const parseFaithfully = (text: string, depth: number): Json | undefined => {
  const value = parseOrUndefined(text)
  return value !== undefined && isFaithful(value, text, depth) ? value : undefined
}
