/**
 * The errors of an Effect decoder, field by field, as findings that `@fallible/arguments` merges with its own.
 *
 * An Effect schema expresses some checks more exactly than JSON Schema can: a length in UTF-16 units, a
 * pattern with flags. These are reported as the matching JSON Schema keywords. Effect's formatter walks an
 * issue and returns only texts, so each text is a fact in JSON.
 */
import type { Finding, JsonSchema } from "@fallible/arguments"
import * as Predicate from "effect/Predicate"
import * as SchemaIssue from "effect/SchemaIssue"
import { cut, oneLine } from "../value/text.ts"
import { attempted } from "../value/untrusted.ts"

/** A finding without its path. */
type Fact = Omit<Finding, "path">

/** Returns everything that a decoder reports about a value. */
export const findingsOf = (issue: SchemaIssue.Issue): ReadonlyArray<Finding> =>
  format(issue).issues.map(({ message, path = [] }) => ({ path: path.map(toKey), ...factIn(message) }))

// Effect reports some faults of unions in its own words, which are not JSON.
const factIn = (text: string): Fact =>
  attempted((): Fact => JSON.parse(text)) ?? { kind: "check", expected: plain(text) }

// Effect's wording of its own checks. The JSON Schema says the same, and also names the type. Effect does not
// mark whether it or the author worded a failed transformation, so the wording has to decide.
const effectWording = /^(?:an? (?:value|string|integer|finite|array|object|32-bit|base64|GUID|ASCII)\b|number$)/

// Effect's JSON form of a number also allows these texts. A model need not know that.
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
  return leaf._tag === "InvalidValue" ? check(words) : check(words, false)
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
  // Any other issue is reported at its own path.
  return issue._tag === "InvalidValue" ? check(typeof expected === "string" ? expected : "a valid value") : undefined
}

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (leaf) => JSON.stringify(factOfLeaf(leaf)),
  checkHook: (failed) => {
    const fact = factOfCheck(failed)
    return fact === undefined ? undefined : JSON.stringify(fact)
  }
})

// The JSON Schema keywords of Effect's own checks, recognized by their wording. A length applies to texts and
// to arrays.
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
