/**
 * What a decoder of Effect's says of a value, field by field, as findings that `@fallible/arguments` joins to its own.
 *
 * A schema of Effect's knows some checks more exactly than JSON Schema can say them: a length in UTF-16 units, a pattern with flags.
 * These are put as the keywords that they would be. Effect's formatter walks an issue and hands on nothing but texts, so each text is a fact in JSON.
 */
import type { Finding, JsonSchema } from "@fallible/arguments"
import * as Predicate from "effect/Predicate"
import * as SchemaIssue from "effect/SchemaIssue"
import { cut, oneLine } from "../value/text.ts"
import { attempted } from "../value/untrusted.ts"

/** A finding without its place. */
type Fact = Omit<Finding, "path">

/** All that a decoder says of a value. */
export const findingsOf = (issue: SchemaIssue.Issue): ReadonlyArray<Finding> =>
  format(issue).issues.map(({ message, path = [] }) => ({ path: path.map(toKey), ...factIn(message) }))

// What Effect says of a union by itself comes as it is.
const factIn = (text: string): Fact =>
  attempted((): Fact => JSON.parse(text)) ?? { kind: "check", expected: plain(text) }

// How Effect words its own checks; the JSON Schema says the same with the type before it. Whose words a failed transformation has, Effect does not say.
const ofEffect = /^(?:an? (?:value|string|integer|finite|array|object|32-bit|base64|GUID|ASCII)\b|number$)/

// Effect's JSON form of a number allows these texts, too; nobody needs to be told.
const nonFinite = /(?:number \| )?"Infinity" \| "-Infinity" \| "NaN"/

// An author's words may be of any length, and have the value in them.
const plain = (words: string): string => oneLine(cut(words.replace(/^Expected /, "").replace(nonFinite, "number"), 300))

const check = (words: string, isAuthors = !ofEffect.test(plain(words))): Fact => ({
  kind: "check",
  expected: plain(words),
  isAuthors
})

const ofLeaf = (leaf: SchemaIssue.Leaf): Fact => {
  if (leaf._tag === "MissingKey" || leaf._tag === "UnexpectedKey") return { kind: "key", expected: "" }
  const words = SchemaIssue.defaultLeafHook(leaf)
  if (leaf._tag === "InvalidType") return { kind: "type", expected: plain(words) }
  return leaf._tag === "InvalidValue" ? check(words) : check(words, false)
}

const ofCheck = (failed: SchemaIssue.Filter): Fact | undefined => {
  const { filter: { annotations = {} }, issue } = failed
  const own = SchemaIssue.defaultCheckHook(failed)
  if (own !== undefined) return check(own)
  const keywords = keywordsOf(annotations)
  if (keywords !== undefined) return { kind: "check", expected: "", keywords }
  const { expected } = issue._tag === "InvalidValue" && issue.annotations?.expected !== undefined
    ? issue.annotations
    : annotations
  // What is not a value is told where it is.
  return issue._tag === "InvalidValue" ? check(typeof expected === "string" ? expected : "a valid value") : undefined
}

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (leaf) => JSON.stringify(ofLeaf(leaf)),
  checkHook: (failed) => {
    const fact = ofCheck(failed)
    return fact === undefined ? undefined : JSON.stringify(fact)
  }
})

// Of Effect's own checks, in its own words: a length says both what it counts and how many.
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
