/**
 * The keywords of JSON Schema: which are checked, what they contain, and where they have subschemas.
 *
 * These are the keywords of draft 2020-12, and equivalent keywords of other dialects. From draft 7 and older
 * come `definitions`, `dependencies`, a list as `items`, and `additionalItems`. From OpenAPI 3.0 come
 * `nullable` and a boolean `exclusiveMinimum`.
 */
import {
  entriesOf,
  isArray,
  isBoolean,
  isContainer,
  isNumber,
  isObject,
  isString,
  itemsIn,
  type JsonSchema,
  keysOf,
  type Path
} from "../json.ts"
import { memoize } from "../memo.ts"
import { reachable } from "./reachable.ts"

/** A kind of content that keywords have. */
interface Content {
  /** The kind, in words. */
  readonly expected: string
  readonly isOf: Test
  /** Where the content has subschemas: it is a schema itself, or its parts are. */
  readonly holds: "schema" | "schemas" | undefined
}

type Test = (value: unknown) => boolean

/** Splits a text at its spaces. */
export const words = (text: string): ReadonlyArray<string> => text.split(" ")

const types = words("array boolean integer null number object string")

export const isSchema: Test = (value) => isBoolean(value) || isObject(value)
const isType: Test = (value) => isString(value) && types.includes(value)
const isMapOf = (is: Test): Test => (value) => isObject(value) && Object.values(value).every(is)
const isListOf = (is: Test): Test => (value) => isArray(value) && value.every(is)
const isOneOf = (...tests: ReadonlyArray<Test>): Test => (value) => tests.some((is) => is(value))

const isNames = isListOf(isString)
const isSchemas = isListOf(isSchema)

/** The keywords that are checked, by their kind of content. */
const contents: ReadonlyArray<
  readonly [expected: string, isOf: Test, keywords: string, holds?: Content["holds"]]
> = [
  ["anything", () => true, "const"],
  ["true or false", isBoolean, "nullable uniqueItems"],
  ["a text", isString, "$ref format pattern"],
  ["a number", isNumber, "maximum minimum"],
  ["a number, true or false", isOneOf(isBoolean, isNumber), "exclusiveMaximum exclusiveMinimum"],
  ["a number greater than 0", (value) => isNumber(value) && value > 0, "multipleOf"],
  [
    "a whole number from 0",
    (value) => Number.isInteger(value) && Number(value) >= 0,
    "maxContains maxItems maxLength maxProperties minContains minItems minLength minProperties"
  ],
  [`one of ${types.join(", ")}, or a list of these`, isOneOf(isType, isListOf(isType)), "type"],
  ["a list", isArray, "enum"],
  ["a list of keys", isNames, "required"],
  ["lists of keys, by key", isMapOf(isNames), "dependentRequired"],
  ["schemas or lists of keys, by key", isMapOf(isOneOf(isSchema, isNames)), "dependencies", "schemas"],
  [
    "schemas by name",
    isMapOf(isSchema),
    "$defs definitions dependentSchemas patternProperties properties",
    "schemas"
  ],
  ["a list of schemas", isSchemas, "allOf anyOf oneOf prefixItems", "schemas"],
  ["a schema, or a list of schemas", isOneOf(isSchema, isSchemas), "items", "schema"],
  [
    "a schema",
    isSchema,
    "additionalItems additionalProperties contains else if not propertyNames then unevaluatedItems unevaluatedProperties",
    "schema"
  ]
]

/**
 * The keywords that are checked, each with its kind of content. A schema is refused if a keyword has any
 * other content.
 */
export const checkedKeywords: ReadonlyMap<string, Content> = new Map(
  contents.flatMap(([expected, isOf, keywords, holds]) =>
    words(keywords).map((keyword) => [keyword, { expected, isOf, holds }] as const)
  )
)

/** True if a keyword does not restrict values. */
export const isAnnotation = (keyword: string): boolean => annotations.has(keyword) || keyword.startsWith("x-")

const annotations: ReadonlySet<string> = new Set(
  [
    "contentEncoding contentMediaType contentSchema discriminator externalDocs propertyOrdering xml",
    "$anchor $comment $dynamicAnchor $id $schema",
    // From OpenAPI. References into `components` are followed, and their targets are checked.
    "components",
    "default deprecated description example examples id readOnly title writeOnly"
  ].flatMap(words)
)

/** Returns the subschemas of a schema, each with its path. */
export const schemasIn = (schema: JsonSchema): ReadonlyArray<readonly [path: Path, schema: JsonSchema]> => {
  const inners: Array<readonly [Path, JsonSchema]> = []
  for (const keyword of keysOf(schema)) {
    const value = schema[keyword]
    const holds = isContainer(value) ? checkedKeywords.get(keyword)?.holds : undefined
    if (holds === "schema" && isObject(value)) inners.push([[keyword], value])
    else if (isContainer(value) && (holds === "schemas" || keyword === "items")) {
      for (const [key, inner] of entriesOf(value)) {
        if (isObject(inner)) inners.push([[keyword, isArray(value) ? Number(key) : key], inner])
      }
    }
  }
  return inners
}

/** Returns the subschemas of a schema that apply to the same value. */
export const inPlace = (schema: JsonSchema): ReadonlyArray<JsonSchema> => {
  const { allOf, anyOf, dependencies, dependentSchemas, else: otherwise, if: condition, not, oneOf, then } = schema
  return [
    ...[allOf, anyOf, oneOf].flatMap(itemsIn),
    ...[dependencies, dependentSchemas].flatMap((of) => isObject(of) ? Object.values(of) : []),
    condition,
    then,
    otherwise,
    not
  ].filter(isObject)
}

/** Returns all schemas of a document, each once. */
export const allSchemas: (root: JsonSchema) => ReadonlySet<JsonSchema> = memoize((root) =>
  reachable([root], (schema) => schemasIn(schema).map(([, inner]) => inner))
)

/** True for keywords that stay at the root of a document: references lead there, and `$schema` must stand there. */
export const isShared = (keyword: string): boolean => /^(?:\$defs|\$schema|components|definitions)$/.test(keyword)
