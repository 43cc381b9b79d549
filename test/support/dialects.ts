/**
 * Writes values as models do: JSON with every deviation that the parser tolerates, and with text around it.
 */
import type { Json, JsonObject, TextRepairKind } from "@fallible/arguments"

const isContainer = (value: Json | undefined): value is ReadonlyArray<Json> | JsonObject =>
  typeof value === "object" && value !== null

/** A text for a value. */
export interface Written {
  readonly text: string
  /** The offset of the object: its opening bracket, or the quote before it. `end` is the offset after its close. */
  readonly start: number
  readonly end: number
  readonly kinds: ReadonlySet<TextRepairKind>
}

const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u
const reserved = new Set([
  "true",
  "false",
  "null",
  "True",
  "False",
  "None",
  "NaN",
  "Infinity",
  "undefined",
  "nan",
  "inf"
])
const comments = ["/* note */", "/**/", "// so it is\n", " # so it is\n", "/* a, b: [c] */"]
const words = ["Here you are: ", "I will call it with\n", "Arguments:\n\n"]
const lastWords = [" Done.", "\nThat is all", "\n\nIs it right?"]
const tokens = ["<tool_call>", "<|python_tag|>", "<s>\n", "<function_call> "]
const lastTokens = ["</tool_call>", "\n</tool_call>\n", "<|im_end|>", "</s>", "<|eot_id|><|end|>"]

/** Writes values, and records the deviations it uses. `choose(n)` returns the next choice, below `n`. */
export class Writer {
  readonly kinds = new Set<TextRepairKind>()
  readonly closedBeforeMore = new Set<string>()

  readonly choose: (n: number) => number
  readonly liberties: ReadonlySet<TextRepairKind>

  constructor(choose: (n: number) => number, liberties: ReadonlySet<TextRepairKind>) {
    this.choose = choose
    this.liberties = liberties
  }

  /** Decides whether to use a deviation here: one time in `n` if it is allowed. */
  takes(kind: TextRepairKind, n: number): boolean {
    if (!this.liberties.has(kind) || this.choose(n) !== 0) return false
    this.kinds.add(kind)
    return true
  }

  blank(): string {
    const space = ["", "", "", " ", "\n", "\t ", "\r\n"][this.choose(7)]!
    return this.takes("comment", 8) ? `${space}${comments[this.choose(comments.length)]}` : space
  }

  value(value: Json): string {
    if (typeof value === "string") return this.string(value)
    if (Array.isArray(value)) return this.container("[", "]", value, value.map((item) => this.value(item)))
    if (isContainer(value)) {
      const members = Object.entries(value).map(([key, item]) => this.member(key, item))
      const again = Object.entries(value)[0]
      if (again !== undefined && this.takes("duplicate_key", 3)) members.push(this.member(...again))
      return this.container("{", "}", Object.values(value), members)
    }
    if (typeof value !== "number" && this.takes("python_constant", 2)) {
      return value === null ? "None" : value ? "True" : "False"
    }
    return JSON.stringify(value)
  }

  private member(key: string, value: Json): string {
    const name = identifier.test(key) && !reserved.has(key) && this.takes("unquoted_key", 2) ? key : this.string(key)
    return `${name}${this.blank()}:${this.blank()}${this.value(value)}`
  }

  private container(opener: string, closer: string, values: ReadonlyArray<Json>, parts: ReadonlyArray<string>): string {
    const inside = parts.map((part, index) => {
      const value = values[index]
      const isLast = index === parts.length - 1
      const text = isLast ? this.trailing(part) : part
      // With a surplus closer, a container that closes before a comma might have closed too early.
      if (isContainer(value) && !(isLast && text === part)) this.closedBeforeMore.add(Array.isArray(value) ? "]" : "}")
      if (isLast) return text
      const next = parts[index + 1]!
      const mayLackComma = typeof value !== "string" && !/^-|^["'“]\s*,/.test(next) &&
        (!next.startsWith("[") || isContainer(value))
      return mayLackComma && this.takes("missing_comma", 6)
        ? `${part}\n${this.blank()}`
        : `${part}${this.blank()},${this.blank()}`
    })
    return `${opener}${this.blank()}${inside.join("")}${this.blank()}${closer}`
  }

  private trailing(last: string): string {
    return this.takes("trailing_comma", 3) ? `${last}${this.blank()},` : last
  }

  private string(value: string): string {
    if (!/["“”\\\p{Cc}]/u.test(value) && this.takes("smart_quotes", 5)) return `“${value}”`
    if (this.takes("single_quotes", 3)) return `'${this.escaped(value, "'")}'`
    return `"${this.escaped(value, "\"")}"`
  }

  private escaped(value: string, quote: string): string {
    return Array.from(value, (char) => {
      if (char === quote || char === "\\") return `\\${char}`
      if (/[\0-\x1f]/.test(char)) return this.takes("control_character", 2) ? char : JSON.stringify(char).slice(1, -1)
      if (char === "/" && quote === "\"" && this.choose(4) === 0) return "\\/"
      return this.choose(12) === 0
        ? char.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
        : char
    }).join("")
  }
}

const pick = <A>(choose: (n: number) => number, all: ReadonlyArray<A>): A => all[choose(all.length)]!

/** The deviations that are possible inside a value. */
export const inside: ReadonlyArray<TextRepairKind> = [
  "comment",
  "control_character",
  "duplicate_key",
  "missing_comma",
  "python_constant",
  "single_quotes",
  "smart_quotes",
  "trailing_comma",
  "unquoted_key"
]

/** Writes an object with the allowed deviations inside it, or in one of the shapes with deviations around it. */
export const write = (
  value: JsonObject,
  choose: (n: number) => number,
  allowed: ReadonlyArray<TextRepairKind>
): Written => {
  const shape = choose(8)
  const liberties = new Set(shape < 3 ? [] : allowed)
  const writer = new Writer(choose, liberties)
  const written = writer.value(value)
  const kinds = writer.kinds
  let [before, object, after] = ["", written, ""]
  if (shape === 0) {
    kinds.add("prose")
    before = pick(choose, ["", ...words])
    after = pick(choose, before === "" ? lastWords : ["", ...lastWords])
  } else if (shape === 1) {
    kinds.add("double_encoded")
    object = JSON.stringify(written)
  } else if (shape === 2 && Object.keys(value).length > 0) {
    kinds.add("escaped_quotes")
    object = JSON.stringify(JSON.stringify(value)).slice(1, -1)
  } else if (shape === 3 && !kinds.has("missing_comma")) {
    after = ["}", "]", "}\n]}"].find((some) =>
      !Array.from(writer.closedBeforeMore).some((closer) =>
        some.includes(closer)
      )
    ) ?? ""
    if (after !== "") kinds.add("surplus_closers")
  }
  if (shape > 0 && choose(3) === 0) {
    kinds.add("code_fence")
    before = `${pick(choose, ["```json\n", "```\n", "````json5\n", "```json "])}${before}`
    after = `${after}\n${/^`+/.exec(before)?.[0]}`
  }
  if (choose(4) === 0) {
    kinds.add("template_token")
    if (choose(2) === 0) before = `${pick(choose, tokens)}${before}`
    else after = `${after}${pick(choose, lastTokens)}`
  }
  if (choose(5) === 0) {
    kinds.add("byte_order_mark")
    before = `\ufeff${before}`
  }
  return {
    text: `${before}${object}${after}`,
    start: before.length,
    end: before.length + object.length,
    kinds
  }
}

/** Mulberry32: a small generator, equal on every machine. Returns the next number below `below`. */
export const randomly = (seed: number) => {
  let state = seed | 0
  return (below: number): number => {
    state = state + 0x6d2b79f5 | 0
    let mixed = Math.imul(state ^ state >>> 15, 1 | state)
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed
    return ((mixed ^ mixed >>> 14) >>> 0) % below
  }
}

/** Pieces of syntax that a reader might misinterpret inside a string. */
const pieces = [
  ..."\"'\\{}[]:,#“”‘’ 0ab".split(""),
  ..."\n\t\r\0\u007f\u00a0\u2028\ufeff\ud800é".split(""),
  "://",
  "//",
  "/*",
  "*/",
  "```",
  "```json\n",
  "<|im_end|>",
  "<tool_call>",
  "</tool_call>",
  "it's",
  "null",
  "None",
  "...",
  "漢字",
  "😀",
  "-1",
  "\\u003a",
  "{\"a\":1}"
]
const names = ["a", "b", "city", "unit", "$ref", "_id", "größe", "x_1", "constructor", "toString", "true", "NaN"]

/** Makes a random object whose strings and keys contain pieces of syntax. */
export const anyObject = (choose: (n: number) => number): JsonObject => {
  const text = () => Array.from({ length: choose(5) }, () => pick(choose, pieces)).join("")
  const number = () =>
    [choose(1500), -choose(9), (choose(2e6) - 1e6) / 64, choose(2 ** 31) * 4e6, choose(90) / 1e9][choose(5)]! + 0
  const value = (depth: number): Json => {
    const kind = choose(depth > 2 ? 7 : 10)
    if (kind < 3) return text()
    if (kind < 5) return number()
    if (kind < 7) return pick<Json>(choose, [true, false, null])
    return kind === 7 ? Array.from({ length: choose(4) }, () => value(depth + 1)) : object(depth + 1)
  }
  const key = () => choose(3) === 0 ? text() : pick(choose, names)
  const object = (depth: number): JsonObject =>
    Object.fromEntries(
      Array.from({ length: choose(4) }, () => [key(), value(depth)] as const).filter(([key]) => key !== "__proto__")
    )
  return object(0)
}
