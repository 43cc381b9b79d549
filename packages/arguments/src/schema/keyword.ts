/**
 * The keywords of JSON Schema: which are checked, what they contain, and where they have subschemas.
 *
 * These are the keywords of draft 2020-12, and equivalent keywords of other dialects. From draft 7 and older
 * come `definitions`, `dependencies`, a list as `items`, and `additionalItems`. From OpenAPI 3.0 come
 * `nullable` and a boolean `exclusiveMinimum`.
 */
import { isObject, type JsonSchema, type Path } from "../json.ts"

/** The kinds of content that keywords have. */
type Content =
  | "anything"
  | "boolean"
  | "bound"
  | "count"
  | "dependencies"
  | "list"
  | "lists"
  | "names"
  | "number"
  | "positive"
  | "reference"
  | "schema"
  | "schema or list"
  | "schemas"
  | "schemas by name"
  | "text"
  | "types"

/**
 * The keywords that are checked, each with its kind of content. A schema is refused if a keyword has any
 * other content.
 */
export const checkedKeywords: ReadonlyMap<string, Content> = new Map<string, Content>([
  ["$defs", "schemas by name"],
  ["$ref", "reference"],
  ["additionalItems", "schema"],
  ["additionalProperties", "schema"],
  ["allOf", "schemas"],
  ["anyOf", "schemas"],
  ["const", "anything"],
  ["contains", "schema"],
  ["definitions", "schemas by name"],
  ["dependencies", "dependencies"],
  ["dependentRequired", "lists"],
  ["dependentSchemas", "schemas by name"],
  ["else", "schema"],
  ["enum", "list"],
  ["exclusiveMaximum", "bound"],
  ["exclusiveMinimum", "bound"],
  ["format", "text"],
  ["if", "schema"],
  ["items", "schema or list"],
  ["maxContains", "count"],
  ["maxItems", "count"],
  ["maxLength", "count"],
  ["maxProperties", "count"],
  ["maximum", "number"],
  ["minContains", "count"],
  ["minItems", "count"],
  ["minLength", "count"],
  ["minProperties", "count"],
  ["minimum", "number"],
  ["multipleOf", "positive"],
  ["not", "schema"],
  ["nullable", "boolean"],
  ["oneOf", "schemas"],
  ["pattern", "text"],
  ["patternProperties", "schemas by name"],
  ["prefixItems", "schemas"],
  ["properties", "schemas by name"],
  ["propertyNames", "schema"],
  ["required", "names"],
  ["then", "schema"],
  ["type", "types"],
  ["unevaluatedItems", "schema"],
  ["unevaluatedProperties", "schema"],
  ["uniqueItems", "boolean"]
])

/** True if a keyword does not restrict values. */
export const isAnnotation = (keyword: string): boolean => annotations.has(keyword) || keyword.startsWith("x-")

const annotations: ReadonlySet<string> = new Set([
  "$anchor",
  "$comment",
  "$dynamicAnchor",
  "$id",
  "$schema",
  // From OpenAPI. References into `components` are followed, and their targets are checked.
  "components",
  "default",
  "deprecated",
  "description",
  "example",
  "examples",
  "id",
  "readOnly",
  "title",
  "writeOnly"
])

const types = new Set(["array", "boolean", "integer", "null", "number", "object", "string"])

const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0
const isNames = (value: unknown): boolean => Array.isArray(value) && value.every((name) => typeof name === "string")
const isSchema = (value: unknown): boolean => typeof value === "boolean" || isObject(value)
const isType = (value: unknown): boolean => typeof value === "string" && types.has(value)
const isMapOf = (is: (value: unknown) => boolean) => (value: unknown): boolean =>
  isObject(value) && Object.values(value).every(is)
const isListOf = (is: (value: unknown) => boolean) => (value: unknown): boolean =>
  Array.isArray(value) && value.every(is)

/** Each kind of content, in words. */
export const contents: { readonly [C in Content]: string } = {
  anything: "anything",
  boolean: "true or false",
  bound: "a number, true or false",
  count: "a whole number from 0",
  dependencies: "schemas or lists of keys, by key",
  list: "a list",
  lists: "lists of keys, by key",
  names: "a list of keys",
  number: "a number",
  positive: "a number greater than 0",
  reference: "a text",
  schema: "a schema",
  "schema or list": "a schema, or a list of schemas",
  schemas: "a list of schemas",
  "schemas by name": "schemas by name",
  text: "a text",
  types: `one of ${Array.from(types).join(", ")}, or a list of these`
}

/** A test for each kind of content. */
export const isOf: { readonly [C in Content]: (value: unknown) => boolean } = {
  anything: () => true,
  boolean: (value) => typeof value === "boolean",
  bound: (value) => typeof value === "boolean" || typeof value === "number",
  count: isCount,
  dependencies: isMapOf((value) => isSchema(value) || isNames(value)),
  list: Array.isArray,
  lists: isMapOf(isNames),
  names: isNames,
  number: (value) => typeof value === "number",
  positive: (value) => typeof value === "number" && value > 0,
  reference: (value) => typeof value === "string",
  schema: isSchema,
  "schema or list": (value) => isSchema(value) || isListOf(isSchema)(value),
  schemas: isListOf(isSchema),
  "schemas by name": isMapOf(isSchema),
  text: (value) => typeof value === "string",
  types: (value) => isType(value) || isListOf(isType)(value)
}

/** Returns the subschemas of a schema, each with its path. */
export const schemasIn = (schema: JsonSchema): ReadonlyArray<readonly [path: Path, schema: unknown]> => {
  const inners: Array<readonly [Path, unknown]> = []
  for (const [keyword, value] of Object.entries(schema)) {
    const content = checkedKeywords.get(keyword) ?? ""
    if (content === "schema" || content === "schema or list" && !Array.isArray(value)) inners.push([[keyword], value])
    else if (content.startsWith("schema") || content === "dependencies") {
      for (const [key, inner] of Object.entries(value ?? {})) {
        inners.push([[keyword, Array.isArray(value) ? Number(key) : key], inner])
      }
    }
  }
  return inners.filter(([, inner]) => isObject(inner))
}
