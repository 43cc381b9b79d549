/**
 * The errors of an Effect decoder, field by field, as findings. `@fallible/arguments` merges them
 * with its own findings.
 *
 * An Effect schema expresses some checks more exactly than JSON Schema can: a length in UTF-16 units,
 * a pattern with flags. These checks are reported as the corresponding JSON Schema keywords. Effect's
 * formatter walks an issue and can return only strings, so each string is a {@link Fact} as JSON.
 */
import type { JsonSchema } from "@fallible/arguments"
import type { Finding } from "@fallible/arguments/internal"
import * as Predicate from "effect/Predicate"
import * as SchemaIssue from "effect/SchemaIssue"
import { cut, oneLine } from "../value/text.ts"
import { attempt } from "../value/untrusted.ts"
import { ofLibrary } from "./standardSchema.ts"

/** A finding without its path. */
type Fact = Omit<Finding, "path">

/** Returns everything that a decoder reports about a value. */
export const findingsOf = (issue: SchemaIssue.Issue): ReadonlyArray<Finding> =>
  format(issue).issues.map(({ message, path = [] }) => ({ path: path.map(toKey), ...factIn(message) }))

// For some faults of unions, Effect uses its own text, which is not JSON.
const factIn = (text: string): Fact => attempt((): Fact => JSON.parse(text)) ?? { kind: "check", expected: plain(text) }

// Matches the text of Effect's own checks. The JSON Schema says the same, and also names the type.
// For a failed transformation, Effect does not mark whether the text is its own or the schema
// author's, so the wording has to decide.
const effectWording = /^(?:an? (?:value|string|integer|finite|array|object|32-bit|base64|GUID|ASCII)\b|number$)/

// Effect's JSON form of a number also allows these strings. A model does not need to know them.
const nonFinite = /(?:number \| )?"Infinity" \| "-Infinity" \| "NaN"/

// An author's message may have any length, and may quote the value.
const plain = (words: string): string => oneLine(cut(words.replace(/^Expected /, "").replace(nonFinite, "number"), 300))

const check = (words: string, isAuthors = !effectWording.test(plain(words))): Fact => ({
  kind: "check",
  expected: plain(words),
  isAuthors
})

const factOfLeaf = (leaf: SchemaIssue.Leaf): Fact => {
  if (leaf._tag === "MissingKey" || leaf._tag === "UnexpectedKey") return { kind: "key", expected: "" }
  const words = SchemaIssue.defaultLeafHook(leaf)
  if (leaf._tag === "InvalidType") return { kind: "type", expected: plain(words) }
  if (leaf._tag !== "InvalidValue") return check(words, false)
  return leaf.annotations?.[ofLibrary] === true ? { kind: "validator", expected: plain(words) } : check(words)
}

const factOfCheck = (failed: SchemaIssue.Filter): Fact | undefined => {
  const { filter: { annotations = {} }, issue } = failed
  const ownText = SchemaIssue.defaultCheckHook(failed)
  if (ownText !== undefined) return check(ownText)
  const keywords = keywordsOf(annotations)
  if (keywords !== undefined) return { kind: "check", expected: "", keywords }
  const { expected } = issue._tag === "InvalidValue" && issue.annotations?.expected !== undefined
    ? issue.annotations
    : annotations
  // An issue of any other kind is reported separately, at its own path.
  return issue._tag === "InvalidValue" ? check(typeof expected === "string" ? expected : "a valid value") : undefined
}

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (leaf) => JSON.stringify(factOfLeaf(leaf)),
  checkHook: (failed) => {
    const fact = factOfCheck(failed)
    return fact === undefined ? undefined : JSON.stringify(fact)
  }
})

// Returns the JSON Schema keywords of one of Effect's own checks, which is recognized by its wording.
// A length may apply to a string or to an array, so the keywords for both are returned.
const keywordsOf = (
  { expected, representation }: { readonly [key: string]: unknown }
): JsonSchema | undefined => {
  const payload = Predicate.hasProperty(representation, "payload") ? representation.payload : undefined
  if (typeof expected !== "string" || !Predicate.isObject(payload)) return undefined
  const { maxLength, maximum = maxLength, minLength, minimum = minLength, source } = payload
  if (expected.startsWith("a value with a length")) {
    return { minLength: minimum, maxLength: maximum, minItems: minimum, maxItems: maximum }
  }
  return expected === `a string matching the RegExp ${String(source)}` ? { pattern: source } : undefined
}

const toKey = (segment: PropertyKey | { readonly key: PropertyKey }): string | number => {
  const key = typeof segment === "object" ? segment.key : segment
  return typeof key === "number" ? key : String(key)
}
