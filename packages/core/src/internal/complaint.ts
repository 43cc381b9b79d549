/**
 * What a decoder says of a value, field by field, in the words of the JSON Schema where it says no more than that.
 *
 * A schema of Effect's knows some checks more exactly than JSON Schema can say them: a length in UTF-16 units, a pattern with flags.
 * These are put as the keywords that they would be.
 */
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import * as SchemaIssue from "effect/SchemaIssue"
import { ByPath } from "./byPath.ts"
import { describe } from "./expectation.ts"
import { formsOf } from "./form.ts"
import { describeAt, isUnionAt, schemaAt } from "./jsonSchema.ts"
import { cut, oneLine } from "./text.ts"
import { unknownKeyAt } from "./unknownKey.ts"
import { partAt, type Path } from "./written.ts"

/** What a decoder says of one field. */
export interface Complaint {
  readonly path: Path
  /** Nothing but a key too many or too few, or a value of another type. */
  readonly isOfKind: boolean
  /** In an author's own words, if there are any. */
  readonly authors: string | undefined
  /** A check that the decoder knows more exactly than the schema, in the schema's words. */
  readonly exact: () => string | undefined
  /** All that it says. */
  readonly expected: () => string
}

/** All that a decoder says of a value. */
export const complaintsOf = (
  issue: SchemaIssue.Issue,
  input: unknown,
  schema: JsonSchema.JsonSchema
): ReadonlyArray<Complaint> => {
  const { isSecretAt } = formsOf(schema)
  const fields: Array<{ readonly path: Path; readonly messages: Set<string> }> = []
  const byPath = new ByPath<Set<string>>()
  for (const { message, path: segments = [] } of format(issue).issues) {
    const path = segments.map(toKey)
    const known = byPath.get(path)
    if (known !== undefined) known.add(message)
    else {
      const messages = new Set([message])
      fields.push({ path, messages })
      byPath.set(path, messages)
    }
  }
  return fields.map(({ messages, path }) => {
    // Where a member of a union got as far as a check, the others have nothing to say.
    const checks = Array.from(messages).filter((message) => !isOfKind(message))
    const all = checks.length > 0 ? checks : Array.from(messages)
    const authors = all.filter(isAuthors)
    // No author's words quote a secret either.
    const told = (message: string) =>
      isSecretAt(path) && quotes(message, partAt(input, path))
        ? describeAt(schema, path) ?? "a valid value"
        : plain(message)
    const exact = () => exactly(all.filter(isExact), path, partAt(input, path), schema)
    const others = () =>
      all.filter((message) => !isExact(message)).map((message) =>
        message === excessKey
          ? unknownKeyAt(path, input, schema)
          : message === missingKey
          ? describeAt(schema, path) ?? "a value"
          // Of a union the decoder names the members that came nearest, the schema all.
          : isUnionAt(schema, path) && !isAuthors(message)
          ? describeAt(schema, path) ?? plain(message)
          : told(message)
      )
    return {
      path,
      isOfKind: all.every(isOfKind),
      authors: authors.length === 0 ? undefined : Array.from(new Set(authors.map(told))).join(" or "),
      exact,
      expected: () => Array.from(new Set([exact(), ...others()])).filter(Predicate.isNotUndefined).join(" or ")
    }
  })
}

const quotes = (words: string, value: unknown): boolean =>
  typeof value === "object" && value !== null
    ? Object.values(value).some((part) => quotes(words, part))
    : (typeof value === "string" || typeof value === "number") && value !== "" && words.includes(String(value))

const missingKey = "Missing key"
const excessKey = "Expected no excess property"

// Before a message, what it is of: the formatter knows, and hands on nothing but the text.
const ofType = "of type: "
const inWords = "in words: "
const keywords = "by keywords: "

// How Effect words its own checks; the JSON Schema says the same with the type before it.
const ofEffect = /^(?:an? (?:value|string|integer|finite|array|object|32-bit|base64|GUID|ASCII)\b|number$)/

// Effect's JSON form of a number allows these texts, too; nobody needs to be told.
const nonFinite = /(?:number \| )?"Infinity" \| "-Infinity" \| "NaN"/

// An author's words may be of any length, and have the value in them.
const plain = (message: string): string =>
  oneLine(
    cut(message.replace(ofType, "").replace(inWords, "").replace(/^Expected /, "").replace(nonFinite, "number"), 300)
  )

const isOfKind = (message: string): boolean =>
  message === missingKey || message === excessKey || message.startsWith(ofType)

const isExact = (message: string): boolean => message.startsWith(keywords)

const isAuthors = (message: string): boolean => message.startsWith(inWords) && !ofEffect.test(plain(message))

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (leaf) =>
    leaf._tag === "MissingKey"
      ? missingKey
      : leaf._tag === "UnexpectedKey"
      ? excessKey
      : leaf._tag === "InvalidType"
      ? `${ofType}${SchemaIssue.defaultLeafHook(leaf)}`
      : `${leaf._tag === "InvalidValue" ? inWords : ""}${SchemaIssue.defaultLeafHook(leaf)}`,
  checkHook: (failed) => {
    const { filter: { annotations = {} }, issue } = failed
    const own = SchemaIssue.defaultCheckHook(failed)
    if (own !== undefined) return `${inWords}${own}`
    const exact = keywordsOf(annotations)
    if (exact !== undefined) return `${keywords}${JSON.stringify(exact)}`
    const { expected } = issue._tag === "InvalidValue" && issue.annotations?.expected !== undefined
      ? issue.annotations
      : annotations
    // What is not a value is told where it is.
    return issue._tag === "InvalidValue"
      ? `${inWords}${typeof expected === "string" ? expected : "a valid value"}`
      : undefined
  }
})

// Of Effect's own checks, in its own words.
const keywordsOf = ({ expected, representation }: { readonly [key: string]: unknown }) => {
  const payload = Predicate.hasProperty(representation, "payload") ? representation.payload : undefined
  if (typeof expected !== "string" || !Predicate.isObject(payload)) return undefined
  const { maxLength, maximum = maxLength, minLength, minimum = minLength, source } = payload
  if (expected.startsWith("a value with a length")) return { minimum, maximum }
  return expected === `a string matching the RegExp ${String(source)}` ? { pattern: source } : undefined
}

// What the schema says at a place, with the keywords that the decoder knows better.
const exactly = (messages: ReadonlyArray<string>, path: Path, value: unknown, schema: JsonSchema.JsonSchema) => {
  if (messages.length === 0) return undefined
  const known: JsonSchema.JsonSchema = Object.assign(
    {},
    ...messages.map((message) => JSON.parse(message.slice(keywords.length)))
  )
  const { maximum, minimum, pattern } = known
  const what = Array.isArray(value) ? "Items" : "Length"
  const checks = Object.entries({ [`min${what}`]: minimum, [`max${what}`]: maximum, pattern })
    .filter(([, check]) => check !== undefined)
  const forms = formsOf(schema)
  const type = Array.isArray(value) ? "array" : "string"
  const shown = forms.flat(schemaAt(schema, path))
  const own = [shown, ...(forms.members(shown) ?? [])].find((member) => member["type"] === type)
  return describe({ ...own, type, ...Object.fromEntries(checks) }, forms)
}

const toKey = (segment: PropertyKey | { readonly key: PropertyKey }): string | number => {
  const key = typeof segment === "object" ? segment.key : segment
  return typeof key === "number" ? key : String(key)
}
