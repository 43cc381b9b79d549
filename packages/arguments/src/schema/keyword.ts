/**
 * The keywords of JSON Schema: which are checked, what stands in them, and where schemas stand inside of schemas.
 *
 * Those of draft 2020-12, and those of other dialects that say the same in another way: `definitions`, `dependencies`, a list as `items` and
 * `additionalItems` (draft 7 and older), `nullable` and a boolean `exclusiveMinimum` (OpenAPI 3.0).
 */
import { isObject, type JsonSchema, type Path } from "../json.ts"

/** What stands in a keyword. */
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

/** The keywords that are checked. A schema in which one of them has another content is refused. */
export const checked: ReadonlyMap<string, Content> = new Map<string, Content>([
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

/** Does a keyword ask nothing of a value? */
export const isAnnotation = (keyword: string): boolean => annotations.has(keyword) || keyword.startsWith("x-")

const annotations: ReadonlySet<string> = new Set([
  "$anchor",
  "$comment",
  "$dynamicAnchor",
  "$id",
  "$schema",
  // Of OpenAPI; what references reach in it is looked at.
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
const isBy = (is: (value: unknown) => boolean) => (value: unknown): boolean =>
  isObject(value) && Object.values(value).every(is)
const isEach = (is: (value: unknown) => boolean) => (value: unknown): boolean => Array.isArray(value) && value.every(is)

/** What stands in a keyword, in words. */
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

/** Is it what stands in such a keyword? */
export const isOf: { readonly [C in Content]: (value: unknown) => boolean } = {
  anything: () => true,
  boolean: (value) => typeof value === "boolean",
  bound: (value) => typeof value === "boolean" || typeof value === "number",
  count: isCount,
  dependencies: isBy((value) => isSchema(value) || isNames(value)),
  list: Array.isArray,
  lists: isBy(isNames),
  names: isNames,
  number: (value) => typeof value === "number",
  positive: (value) => typeof value === "number" && value > 0,
  reference: (value) => typeof value === "string",
  schema: isSchema,
  "schema or list": (value) => isSchema(value) || isEach(isSchema)(value),
  schemas: isEach(isSchema),
  "schemas by name": isBy(isSchema),
  text: (value) => typeof value === "string",
  types: (value) => isType(value) || isEach(isType)(value)
}

/** The schemas inside of a schema, each with its path from there. */
export const schemasIn = (schema: JsonSchema): ReadonlyArray<readonly [path: Path, schema: unknown]> => {
  const found: Array<readonly [Path, unknown]> = []
  for (const [keyword, value] of Object.entries(schema)) {
    const content = checked.get(keyword) ?? ""
    if (content === "schema" || content === "schema or list" && !Array.isArray(value)) found.push([[keyword], value])
    else if (content.startsWith("schema") || content === "dependencies") {
      for (const [key, inner] of Object.entries(value ?? {})) {
        found.push([[keyword, Array.isArray(value) ? Number(key) : key], inner])
      }
    }
  }
  return found.filter(([, inner]) => isObject(inner))
}
