/**
 * Strict JSON (RFC 8259). Finds the first fault in text that `JSON.parse` refuses, and the source texts of
 * values in text that it accepts.
 *
 * `JSON.parse` decides whether text is JSON. Its errors differ between engines and often lack the place, so
 * the tolerant reader's functions find the place. Here, each of their repairs is a fault.
 */
import type { Json, Path } from "../json.ts"
import { type Expected, type Fault, faultAt, type FaultKind } from "./fault.ts"
import { isStringNext, readScalar, readString, skipBlank } from "./lexer.ts"
import { enter, hasNext, readKey, skipColon } from "./reader.ts"
import { match, type RepairKind, type Scanner, scannerOf } from "./scanner.ts"

/** A fault, with the path of the value that was being read, or was just read. */
export interface PlacedFault extends Fault {
  readonly path: Path
}

// The depth is far beyond any practical text, and still safe for the stack.
const limit = 1000

/** Returns the first fault in the text; `undefined` if the text is JSON. */
export const strictFault = (text: string): PlacedFault | undefined => {
  const scanner = scannerOf(text, 0, limit)
  const path: Array<string | number> = []
  skipBlank(scanner)
  if (!isFaulty(scanner)) readStrictly(scanner, path)
  if (!isFaulty(scanner)) {
    path.length = 0
    skipBlank(scanner)
  }
  const { at } = scanner
  const fault = faultOf(scanner, path)
  if (fault !== undefined) return { ...fault, path }
  return at === text.length ? undefined : { ...faultAt("unexpected_character", at, "end"), path: [] }
}

/**
 * Reads one value, and keeps the path of the value that is being read, or was just read. As in `JSON.parse`,
 * keys may repeat, no key is special, and no number is too large. Containers are returned without their
 * content.
 */
const readStrictly = (scanner: Scanner, path: Array<string | number>): Json | undefined => {
  const { at, depth, text } = scanner
  const first = text[at]
  if (first === "{") {
    if (!enter(scanner, "}")) return {}
    for (;;) {
      path.length = depth
      const key = readKey(scanner)
      if (key === undefined || isFaulty(scanner)) return {}
      path.push(key)
      skipColon(scanner)
      if (isFaulty(scanner) || !hasNextStrictly(scanner, "}", path)) return {}
    }
  }
  if (first === "[") {
    if (!enter(scanner, "]") || isFaulty(scanner)) return []
    for (let index = 0;; index++) {
      path.length = depth
      // If the text ends before the array's first item, the path leads to the array itself.
      if (index > 0 || scanner.at < text.length) path.push(index)
      if (!hasNextStrictly(scanner, "]", path)) return []
    }
  }
  return readScalar(scanner)
}

/** Reads one value in a container. Returns whether another value follows. */
const hasNextStrictly = (scanner: Scanner, closer: string, path: Array<string | number>): boolean => {
  const { depth } = scanner
  const value = readStrictly(scanner, path)
  if (isFaulty(scanner)) return false
  path.length = depth
  return hasNext(scanner, closer, value) && !isFaulty(scanner)
}

const isFaulty = ({ fault, repairs }: Scanner): boolean => fault !== undefined || repairs.size > 0

// The reading stops soon after the first repair, so a fault that is found until then comes later in the text.
const faultOf = ({ at, fault, repairs }: Scanner, path: Path): Fault | undefined => {
  const [repair] = repairs
  if (repair === undefined) {
    return fault !== undefined && guesses.has(fault.expected) ? { ...fault, expected: "value" } : fault
  }
  const [kind, offset] = repair
  return kind === "missing_comma"
    ? faultAt("missing_comma", at, "comma_or_closer", typeof path.at(-1) === "number" ? "]" : "}")
    : faultAt(faultKinds[kind] ?? "unexpected_character", offset, expectations[kind])
}

// These expectations guess what a model meant. A service always means JSON, so they are not reported.
const guesses: ReadonlySet<Expected> = new Set(["computed", "number", "text_in_quotes", "value_or_no_key"])

/** The expectation that is reported in place of each repair. */
const expectations: { readonly [K in RepairKind]: Expected } = {
  comment: "no_comment",
  control_character: "control_escape",
  duplicate_key: "key_once",
  escaped_apostrophe: "escape",
  leading_point: "value",
  missing_comma: "comma_or_closer",
  python_constant: "constant",
  single_quotes: "double_quotes",
  smart_quotes: "double_quotes",
  trailing_comma: "no_trailing_comma",
  unquoted_key: "key"
}

const faultKinds: { readonly [K in RepairKind]?: FaultKind } = {
  escaped_apostrophe: "invalid_escape",
  leading_point: "invalid_number",
  unquoted_key: "unquoted_key"
}

/** A value as it was written. */
export interface Source {
  readonly path: Path
  readonly text: string
}

/**
 * Returns the source texts of the values at all paths that match a form, in the order of the text. In the
 * form, `"*"` stands for any key or index.
 */
export const sourcesIn = (text: string, form: Path): ReadonlyArray<Source> => {
  const scanner = scannerOf(text, 0, limit)
  const sources: Array<Source> = []

  /** Follows the form of a path, and skips all other values, however deep they are. */
  const follow = ([step, ...rest]: Path, path: Path): void => {
    const { at } = scanner
    const opener = text[at]
    if (step === undefined || opener !== "{" && opener !== "[") {
      skipValue(scanner)
      if (step === undefined) sources.push({ path, text: text.slice(at, scanner.at) })
      return
    }
    const isObject = opener === "{"
    scanner.at++
    for (let index = 0; !isClosed(scanner); index++) {
      const key = isObject ? readString(scanner) : index
      if (key === undefined) return
      if (isObject) isClosed(scanner)
      if (step === key || step === "*") follow(rest, [...path, key])
      else skipValue(scanner)
    }
  }

  skipBlank(scanner)
  follow(form, [])
  return sources
}

// Skips the separators between values. Returns whether the container ends here.
const isClosed = (scanner: Scanner): boolean => {
  match(scanner, /[\s,:]*/y)
  return match(scanner, /[}\]]|$/y) !== undefined
}

const skipValue = (scanner: Scanner): void => {
  let open = 0
  do {
    if (isStringNext(scanner)) readString(scanner)
    else if (match(scanner, /[{[]/y) !== undefined) open++
    else if (match(scanner, /[}\]]/y) !== undefined) open--
    else if (match(scanner, /[\s,:]+|[^\s,:{}[\]"]+/y) === undefined) return
  } while (open > 0)
}
