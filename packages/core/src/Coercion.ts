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
import { excerpt } from "./internal/text.ts"
import * as Suggestion from "./Suggestion.ts"
import type { FieldIssue } from "./ToolFailure.ts"

/**
 * Everything that is wrong with a value: one entry per field, at most twenty, for a thousand
 * would teach no more.
 *
 * @param issue why the value did not decode (decode with `errors: "all"`)
 * @param input the value that did not
 * @param schema the JSON Schema that describes it
 * @category issues
 * @since 0.1.0
 */
export const fieldIssues = (
  issue: SchemaIssue.Issue,
  input: unknown,
  schema: JsonSchema.JsonSchema
): ReadonlyArray<FieldIssue> => {
  const byField = new Map<string, FieldIssue>()
  for (const { message, path = [] } of format(issue).issues) {
    const keys = path.map(toKey)
    const id = JSON.stringify(keys)
    const known = byField.get(id)
    const expected = message === missingKey
      ? describe(schemaAt(schema, keys)) ?? "a value"
      : message === excessKey
      ? unknownKey(keys, input, schema)
      : message.replace(/^Expected /, "")
    if (known === undefined) {
      if (byField.size === 20) break
      byField.set(id, { path: keys, expected, actual: excerpt(valueAt(input, keys)) })
    } else if (known.expected !== expected) {
      byField.set(id, { ...known, expected: `${known.expected} or ${expected}` })
    }
  }
  return Array.from(byField.values())
}

/**
 * The keys that an object may have at a path of a JSON Schema, or none where it is open or no object.
 *
 * @category schemas
 * @since 0.1.0
 */
export const expectedKeys = (
  schema: JsonSchema.JsonSchema,
  path: ReadonlyArray<string | number>
): ReadonlyArray<string> => {
  const properties = schemaAt(schema, path)?.["properties"]
  return Predicate.isObject(properties) ? Object.keys(properties) : []
}

/**
 * The keys that could have been meant by the unknown one at the end of a path: nearest first, and
 * those that the object already has last.
 *
 * @category schemas
 * @since 0.1.0
 */
export const meantKeys = (
  schema: JsonSchema.JsonSchema,
  input: unknown,
  path: ReadonlyArray<string | number>
): ReadonlyArray<string> => {
  const parent = valueAt(input, path.slice(0, -1))
  const isUsed = (key: string) => Predicate.isObject(parent) && Object.hasOwn(parent, key)
  const keys = Suggestion.nearest(String(path.at(-1)), expectedKeys(schema, path.slice(0, -1)))
  return [...keys.filter((key) => !isUsed(key)), ...keys.filter(isUsed)]
}

/**
 * The choices that a JSON Schema declares at a path, or none where it declares none.
 *
 * @category schemas
 * @since 0.1.0
 */
export const choices = (
  schema: JsonSchema.JsonSchema,
  path: ReadonlyArray<string | number>
): ReadonlyArray<string> => {
  const choices = schemaAt(schema, path)?.["enum"]
  return Array.isArray(choices) ? choices.map(String) : []
}

/**
 * What is expected of a key that should not be there; a nearer name may follow.
 *
 * @category issues
 * @since 0.1.0
 */
export const noSuchKey = "no such key"

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

const toKey = (segment: PropertyKey | { readonly key: PropertyKey }): string | number => {
  const key = typeof segment === "object" ? segment.key : segment
  return typeof key === "number" ? key : String(key)
}

const unknownKey = (
  path: ReadonlyArray<string | number>,
  input: unknown,
  schema: JsonSchema.JsonSchema
): string => {
  const [meant] = meantKeys(schema, input, path)
  return meant !== undefined && meant === Suggestion.didYouMean(String(path.at(-1)), [meant])
    ? `${noSuchKey}; did you mean '${meant}'?`
    : noSuchKey
}

const valueAt = (value: unknown, path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>(
    (at, key) => Predicate.isObjectKeyword(at) && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined,
    value
  )

// The part of a schema that describes the value at a path; `undefined` where it is not said plainly.
const schemaAt = (
  root: JsonSchema.JsonSchema,
  path: ReadonlyArray<string | number>
): JsonSchema.JsonSchema | undefined =>
  path.reduce<JsonSchema.JsonSchema | undefined>((at, key) => {
    if (at === undefined) return undefined
    const inner = typeof key === "number" ? at["items"] : child(at["properties"], key) ?? at["additionalProperties"]
    return resolve(root, inner)
  }, resolve(root, root))

const resolve = (root: JsonSchema.JsonSchema, schema: unknown): JsonSchema.JsonSchema | undefined => {
  if (!Predicate.isObject(schema)) return undefined
  const reference = schema["$ref"]
  if (typeof reference !== "string") return schema
  const target = child(root["$defs"], reference.replace(/^#\/\$defs\//, ""))
  return Predicate.isObject(target) ? target : undefined
}

const child = (parent: unknown, key: string): unknown =>
  Predicate.isObject(parent) && Object.hasOwn(parent, key) ? parent[key] : undefined

const describe = (schema: JsonSchema.JsonSchema | undefined): string | undefined => {
  if (schema === undefined) return undefined
  if (Array.isArray(schema["enum"])) return schema["enum"].map((choice) => JSON.stringify(choice)).join(" | ")
  if (Array.isArray(schema["anyOf"])) {
    const members = schema["anyOf"].map((member) => Predicate.isObject(member) ? describe(member) : undefined)
    return members.every(Predicate.isString) ? members.join(" | ") : undefined
  }
  return typeof schema["type"] === "string" ? schema["type"] : undefined
}
