/**
 * Reads JSON as models write it, in one pass.
 *
 * What it accepts beyond JSON is what has one reading, and each such place is a repair: a
 * trailing comma, a comment, single quotes, Python's constants, a key without quotes. Everything else is a fault, the first of
 * which ends the reading. It never looks back and never tries twice, so that its time is linear in the text, whatever the
 * text; and it recurses no deeper than {@link maxDepth}.
 *
 * What was read before a fault is kept: a container that is not complete has what is complete in it.
 */
import type * as Schema from "effect/Schema"
import { type Fault, type FaultKind, identifier, isQuote, operator, quotes, reserved, Scanner } from "./jsonScanner.ts"
import { excerpt } from "./text.ts"

/** The deepest nesting of objects and arrays that is read. */
export const maxDepth = 128

type Container = Array<Schema.Json> | Record<string, Schema.Json>

/** The source texts of numbers, by what holds them. */
export type NumberTokens = Map<object, Map<string | number, string>>

const [plus, comma, minus, colon] = [0x2b, 0x2c, 0x2d, 0x3a]
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d]

const digit = /\d/y
const blockComments = /\/\*[^]*?\*\//g
const beginsWithComma = /["'\u2018\u2019\u201c\u201d][ \t\r\n]*,/y
const mayFollowKey = /[\s:/#=,}\]]/
const aKey = "a key in double quotes"

export class Reader extends Scanner {
  /** The closers after which there was more: one that comes too early looks like one too many at the end. */
  readonly closedBeforeMore = new Set<string>()
  /** The source texts of numbers that JavaScript would write in another way. */
  readonly tokens: NumberTokens = new Map()

  /** One value. On a fault it is what was complete of it, or `undefined`. */
  value(): Schema.Json | undefined {
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

  private object(): Record<string, Schema.Json> {
    const holder: Record<string, Schema.Json> = {}
    if (!this.enter(closeBrace)) return this.leave(holder)
    do {
      const keyAt = this.at
      const key = this.key()
      if (key === undefined || !this.colon()) return holder
      const valueAt = this.at
      const value = this.value()
      if (value !== undefined) this.set(holder, key, value, keyAt, valueAt)
    } while (this.more(closeBrace))
    return this.leave(holder)
  }

  private array(): Array<Schema.Json> {
    const holder: Array<Schema.Json> = []
    if (!this.enter(closeBracket)) return this.leave(holder)
    do {
      const valueAt = this.at
      const value = this.value()
      if (value !== undefined) {
        this.remember(holder, holder.length, value, valueAt)
        holder.push(value)
      }
    } while (this.more(closeBracket))
    return this.leave(holder)
  }

  /** Into a container: is there something in it? */
  private enter(closer: number): boolean {
    if (this.depth === maxDepth) return this.failed("too_deep", this.at, `at most ${maxDepth} levels of nesting`)
    this.depth++
    this.at++
    this.blank()
    return this.fault === undefined && this.text.charCodeAt(this.at) !== closer
  }

  /** Out of a container: over its closer, if it has been read to its end. */
  private leave<C extends Container>(holder: C): C {
    if (this.fault === undefined) {
      this.at++
      this.depth--
      this.shape = "container"
    }
    return holder
  }

  /** After a value: does another one follow? Stands before it then, else before the closer. */
  private more(closer: number): boolean {
    if (this.fault !== undefined) return false
    const end = this.at
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
    holder: Record<string, Schema.Json>,
    key: string,
    value: Schema.Json,
    keyAt: number,
    valueAt: number
  ): void {
    if (isPrototypeKey(key, value)) {
      this.failed("prototype_key", keyAt, `another key than ${excerpt(key)}`)
      return
    }
    if (Object.hasOwn(holder, key)) {
      const earlier = this.tokenOf(holder, key)
      const token = typeof value === "number" ? this.text.slice(valueAt, this.at) : undefined
      // A number that is written in two ways is one number still, as long as no digits were lost.
      const isNumber = typeof value === "number" && Object.is(holder[key], value) &&
        Number.isSafeInteger(Math.trunc(value))
      if (this.fault === undefined && !isNumber && !this.isSame(holder[key], value, earlier, token)) {
        this.failed("duplicate_key", keyAt, `${excerpt(key)} once`)
        return
      }
      this.repaired("duplicate_key", keyAt)
      if (token !== earlier) {
        this.keep(holder, key, "")
        return
      }
    }
    this.remember(holder, key, value, valueAt)
    holder[key] = value
  }

  private remember(holder: Container, key: string | number, value: Schema.Json, from: number): void {
    if (typeof value !== "number") return
    const token = this.text.slice(from, this.at)
    if (token !== String(value)) this.keep(holder, key, token)
  }

  private keep(holder: Container, key: string | number, token: string): void {
    const tokens = this.tokens.get(holder) ?? new Map<string | number, string>()
    this.tokens.set(holder, tokens.set(key, token))
  }

  private tokenOf(holder: object, key: string | number): string | undefined {
    return tokenIn(this.tokens, holder, key)
  }

  /** Do two values say the same? Numbers that are equal may be written in two ways, and the way they are written may count. */
  private isSame(
    a: Schema.Json | undefined,
    b: Schema.Json | undefined,
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
    if (name === undefined || reserved.has(name)) {
      this.failed(...this.noKey(unit, at))
      return undefined
    }
    const next = text[this.at]
    if (next !== undefined && !mayFollowKey.test(next)) {
      const isQuoted = quotes.test(next)
      this.failed(isQuoted ? "unescaped_quote" : "unquoted_key", isQuoted ? at : this.at, aKey)
      return undefined
    }
    this.repaired("unquoted_key", at)
    return name
  }

  private noKey(unit: number, at: number): [FaultKind, number, string] {
    if (this.isElided()) return ["ellipsis", at, "all members, none left out"]
    if (unit === comma) return ["missing_value", at, "a key and its value"]
    if (unit === closeBracket) return ["bracket_mismatch", at, "'}'"]
    if (unit === openBrace || unit === openBracket || unit === colon) return ["unexpected_character", at, aKey]
    return ["unquoted_key", at, aKey]
  }

  private colon(): boolean {
    const end = this.at
    this.blank()
    if (this.fault !== undefined) return false
    if (this.text.charCodeAt(this.at) !== colon) {
      // A letter right behind a quote: that one did not end the key.
      const isInText = this.at === end && this.sees(identifier)
      return this.failed(isInText || this.isQuoteHere() ? "unescaped_quote" : "missing_colon", this.at, "':'")
    }
    this.at++
    this.blank()
    return this.fault === undefined
  }

  // ---------------------------------------------------------------------------
  // After a value that no comma follows
  // ---------------------------------------------------------------------------

  private withoutComma(closer: number, end: number): boolean {
    const { at } = this
    const unit = this.text.charCodeAt(at)
    const orCloser = `',' or '${String.fromCharCode(closer)}'`
    if (this.isElided()) return this.failed("ellipsis", at, "all values, none left out")
    if (unit === closeBrace || unit === closeBracket) return this.failed("bracket_mismatch", at, orCloser)
    if (this.shape === "string") {
      const kind = unit === plus
        ? "concatenation"
        : this.isQuoteHere() && at > end
        ? "missing_comma"
        : "unescaped_quote"
      return this.failed(kind, at, orCloser)
    }
    // 5" are inches. What begins with a comma may be what stands between two texts, one of which lost its quote.
    const isStray = this.isQuoteHere() && (this.shape === "number" && at === end || this.sees(beginsWithComma))
    if (isStray) return this.failed("unescaped_quote", at, orCloser)
    // On one line, 1 234 may be one number, [7] [0] an element, and two words one text.
    const isOnNewLine = this.text.slice(end, at).replace(blockComments, "").includes("\n")
    const isStart = closer === closeBrace
      ? isQuote(unit) || this.sees(identifier)
      : isOnNewLine && (isQuote(unit) || unit === openBrace || this.sees(identifier) || this.sees(digit) ||
        unit === openBracket && this.shape === "container")
    if (!isStart) return this.failed(this.sees(operator) ? "expression" : "missing_comma", at, orCloser)
    this.repaired("missing_comma", end)
    return true
  }
}

/** Keys that reach an object's prototype when somebody copies them: refused, wherever they are. */
export const isPrototypeKey = (key: string, value: Schema.Json): boolean =>
  key === "__proto__" ||
  key === "constructor" && typeof value === "object" && value !== null && Object.hasOwn(value, "prototype")

const tokenIn = (tokens: NumberTokens, holder: object, key: string | number): string | undefined => {
  const value: unknown = Object.hasOwn(holder, key) ? Reflect.get(holder, key) : undefined
  return typeof value === "number" ? tokens.get(holder)?.get(key) ?? String(value) : undefined
}

/** The source text of each number of a value, by its path; read when it is first asked for. */
export const numbersOf = (
  text: string,
  start: number
): (path: ReadonlyArray<string | number>) => string | undefined => {
  let read: { readonly root: Schema.Json | undefined; readonly tokens: NumberTokens } | undefined
  return (path) => {
    read ??= readTokens(text, start)
    let at: unknown = read.root
    for (const key of path.slice(0, -1)) {
      at = typeof at === "object" && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined
    }
    const key = path.at(-1)
    return typeof at === "object" && at !== null && key !== undefined ? tokenIn(read.tokens, at, key) : undefined
  }
}

const readTokens = (text: string, start: number) => {
  const reader = new Reader(text, start)
  reader.blank()
  return { root: reader.value(), tokens: reader.tokens }
}

/** What a text of strict JSON says, one value and nothing around it; or why it is none. */
export const strictly = (
  text: string
): { readonly value: Schema.Json; readonly hasUnsafeInteger: boolean } | Fault => {
  const reader = new Reader(text, 0)
  reader.blank()
  const value = reader.value()
  reader.blank()
  const { at, fault, hasUnsafeInteger, repairs } = reader
  if (fault !== undefined) return fault
  const [offset = at] = repairs.values()
  return value === undefined || offset < text.length
    ? { kind: "unexpected_character", offset, expected: "strict JSON" }
    : { value, hasUnsafeInteger }
}
