/**
 * What to say of values that do not fit.
 *
 * No drift is coerced yet: a value that does not decode is refused, field by field, with what
 * was expected and what came. "Expected" is what the JSON Schema says that the model was shown.
 *
 * @since 0.1.0
 */
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import * as SchemaIssue from "effect/SchemaIssue"
import { describeAt, isUnionAt, keysAt } from "./internal/jsonSchema.ts"
import { excerpt } from "./internal/text.ts"
import * as Suggestion from "./Suggestion.ts"
import type { FieldIssue } from "./ToolFailure.ts"

/**
 * Everything that is wrong with a value: one entry per field, at most twenty, for a thousand
 * would teach no more.
 *
 * @param issue why the value did not decode (decode with `errors: "all"`)
 * @param input the value that did not
 * @param options `schema`: the JSON Schema that describes the value. `show`: how a value that came is
 * put; default: an excerpt of it
 * @category issues
 * @since 0.1.0
 */
export const fieldIssues = (
  issue: SchemaIssue.Issue,
  input: unknown,
  options: {
    readonly schema?: JsonSchema.JsonSchema
    readonly show?: (value: unknown) => string
  } = {}
): ReadonlyArray<FieldIssue> => {
  const { schema = {}, show = excerpt } = options
  const byField = new Map<string, { readonly path: FieldIssue["path"]; readonly expected: Set<string> }>()
  for (const { message, path = [] } of format(issue).issues) {
    const keys = path.map(toKey)
    const id = JSON.stringify(keys)
    const field = byField.get(id) ?? { path: keys, expected: new Set() }
    field.expected.add(expectation(message, keys, input, schema))
    if (byField.size < 20) byField.set(id, field)
  }
  return Array.from(byField.values(), ({ expected, path }) => ({
    path,
    expected: Array.from(expected).join(" or "),
    actual: show(valueAt(input, path))
  }))
}

/**
 * The issues of an object of which no key was expected.
 *
 * @category issues
 * @since 0.1.0
 */
export const unexpectedKeys = (input: object): ReadonlyArray<FieldIssue> =>
  Object.entries(input).slice(0, 20).map(([key, value]) => ({
    path: [key],
    expected: noSuchKey,
    actual: excerpt(value)
  }))

/**
 * The keys that could have been meant by the unknown one at the end of a path: nearest first, and
 * those that the object already has last.
 *
 * @category issues
 * @since 0.1.0
 */
export const meantKeys = (
  schema: JsonSchema.JsonSchema,
  input: unknown,
  path: ReadonlyArray<string | number>
): ReadonlyArray<string> => {
  const parent = valueAt(input, path.slice(0, -1))
  const isUsed = (key: string) => Predicate.isObject(parent) && Object.hasOwn(parent, key)
  const keys = Suggestion.nearest(String(path.at(-1)), keysAt(schema, path.slice(0, -1)))
  return [...keys.filter((key) => !isUsed(key)), ...keys.filter(isUsed)]
}

/**
 * The part of a value at a path, as far as it has one of its own.
 *
 * @category issues
 * @since 0.1.0
 */
export const valueAt = (value: unknown, path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>(
    (at, key) => Predicate.isObjectKeyword(at) && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined,
    value
  )

/**
 * What is expected of a key that should not be there; a nearer name may follow.
 *
 * @category issues
 * @since 0.1.0
 */
export const noSuchKey = "no such key"

// Effect's JSON form of a number allows these texts, too; nobody needs to be told.
const nonFinite = /(?:number \| )?"Infinity" \| "-Infinity" \| "NaN"/

const missingKey = "Missing key"
const excessKey = "Expected no excess property"

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (leaf) =>
    leaf._tag === "MissingKey"
      ? missingKey
      : leaf._tag === "UnexpectedKey"
      ? excessKey
      : SchemaIssue.defaultLeafHook(leaf)
})

const expectation = (
  message: string,
  path: FieldIssue["path"],
  input: unknown,
  schema: JsonSchema.JsonSchema
): string => {
  if (message === excessKey) return unknownKey(path, input, schema)
  if (message === missingKey) return describeAt(schema, path) ?? "a value"
  // Of a union the decoder names the members that came nearest, the schema all.
  const all = isUnionAt(schema, path) ? describeAt(schema, path) : undefined
  return all ?? message.replace(/^Expected /, "").replace(nonFinite, "number")
}

const unknownKey = (path: FieldIssue["path"], input: unknown, schema: JsonSchema.JsonSchema): string => {
  const [meant] = meantKeys(schema, input, path)
  return meant !== undefined && meant === Suggestion.didYouMean(String(path.at(-1)), [meant])
    ? `${noSuchKey}; did you mean '${meant}'?`
    : noSuchKey
}

const toKey = (segment: PropertyKey | { readonly key: PropertyKey }): string | number => {
  const key = typeof segment === "object" ? segment.key : segment
  return typeof key === "number" ? key : String(key)
}
