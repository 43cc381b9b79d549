/**
 * A JSON Schema from elsewhere as the schema of a tool's arguments.
 *
 * Model providers demand the type `object` at the root. So a `$ref` there is replaced by its target, and the type is added if
 * it is missing. A value that is not an object, or a union, is put in a field.
 */
import { define, entriesOf, hasKey, isArray, isObject, isString, type JsonSchema, keysOf } from "../json.ts"
import { memoize, newMap } from "../memo.ts"
import { asSchema, type Changes, copied } from "./copied.ts"
import { type Document, documentOf } from "./document.ts"
import { isEqual } from "./equal.ts"
import { usable } from "./inspect.ts"
import { allSchemas, isAnnotation, isShared, schemasIn, words } from "./keyword.ts"
import { reachable } from "./reachable.ts"
import { keysIn } from "./reference.ts"

/**
 * Returns a copy of a JSON Schema, as the schema of a tool's arguments: its root is an object, and has no `$ref`.
 *
 * When to use: last, when nothing is put around the schema any more. Only arguments are always an object.
 */
export const toolSchema = (schema: object): JsonSchema => {
  const whole = asSchema(copied(usable(schema)))
  return asSchema(copied(asObject(withoutReference(whole, documentOf(whole)))))
}

/**
 * Returns the schema of an object with a single key, whose value is of the given schema. References are changed so that they
 * lead to the same places.
 *
 * When to use: for arguments whose schema is not that of an object, or is a union, which model providers refuse.
 */
export const schemaInField = (field: string, schema: object): JsonSchema => {
  const whole = asSchema(copied(usable(schema)))
  const outer: { [keyword: string]: unknown } = {}
  let inner = whole
  // References in a schema with an `$id` are relative to that schema, wherever it stands.
  if (!isString(whole["$id"])) {
    inner = asSchema(copied(whole, movedReferences(whole, field)))
    const rest: { [keyword: string]: unknown } = {}
    for (const [keyword, value] of entriesOf(inner)) define(isShared(keyword) ? outer : rest, keyword, value)
    inner = rest
  }
  const properties: { [key: string]: unknown } = {}
  define(properties, field, inner)
  return { ...outer, type: "object", properties, required: [field], additionalProperties: false }
}

/**
 * True if two JSON Schemas, of the values before and after a validation, describe the same values but for defaults: then the
 * validation transforms nothing.
 */
export const describesSame = (before: object, after: object): boolean =>
  isEqual(withoutAnnotations(before), withoutAnnotations(after))

/**
 * Returns a copy of a JSON Schema without what it says about lengths, ranges, patterns and formats. A library may judge these
 * more kindly than its JSON Schema says: a pattern may ignore case, and a text may be trimmed before its length counts.
 */
export const withoutBounds: (schema: JsonSchema) => JsonSchema = memoize((schema) => {
  const changes: Changes = newMap()
  for (const inner of allSchemas(schema)) changes.set(inner, unbounded)
  return asSchema(copied(schema, changes))
})

const unbounded = Object.fromEntries(
  words(
    "exclusiveMaximum exclusiveMinimum format maximum maxItems maxLength maxProperties minimum minItems minLength minProperties multipleOf pattern uniqueItems"
  ).map((keyword) => [keyword, undefined])
)

// After a validation, a default is filled in, and some libraries have left out other keys. A description says nothing of values.
const withoutAnnotations = (schema: object): unknown => {
  const changes: Changes = newMap()
  for (const inner of allSchemas(asSchema(schema))) {
    const { additionalProperties = false } = inner
    changes.set(inner, {
      ...Object.fromEntries(keysOf(inner).filter(isNote).map((keyword) => [keyword, undefined])),
      required: undefined,
      additionalProperties: additionalProperties === false ? undefined : additionalProperties
    })
  }
  return copied(schema, changes)
}

const isNote = (keyword: string): boolean => isAnnotation(keyword) && !keyword.startsWith("$")

// -----------------------------------------------------------------------------
// The root
// -----------------------------------------------------------------------------

/** Replaces the `$ref` of a root by its target, if nothing beside it says something else about the value. */
const withoutReference = (whole: JsonSchema, { resolve }: Document): JsonSchema => {
  let root = whole
  for (let hops = 0; hops < mostHops; hops++) {
    const next = resolve(root)
    const { $ref: _, ...beside } = root
    if (!isObject(next) || isString(next["$id"])) break
    if (keysOf(beside).some((keyword) => hasKey(next, keyword) && !isAnnotation(keyword) && !isShared(keyword))) break
    root = { ...next, ...beside }
  }
  return root
}

const mostHops = 16

// Arguments are always an object, so nothing else needs to be allowed.
const asObject = (root: JsonSchema): JsonSchema => {
  const { type } = root
  if (type === undefined ? !isSchemaOfKeys(root) : !isArray(type) || !type.includes("object")) return root
  return { ...root, type: "object" }
}

const isSchemaOfKeys = (schema: JsonSchema): boolean =>
  keysOf(schema).every((keyword) => isAnnotation(keyword) || isShared(keyword) || aboutKeys.has(keyword))

const aboutKeys: ReadonlySet<string> = new Set([
  "additionalProperties",
  "dependentRequired",
  "maxProperties",
  "minProperties",
  "patternProperties",
  "properties",
  "propertyNames",
  "required"
])

// -----------------------------------------------------------------------------
// References
// -----------------------------------------------------------------------------

/** Returns the new references of a schema that becomes a field of an object. */
const movedReferences = (root: JsonSchema, field: string): Changes => {
  const changes: Changes = newMap()
  const at = `#/properties/${encodeURIComponent(field.replaceAll("~", "~0").replaceAll("/", "~1"))}`
  const own = reachable(
    [root],
    (schema) => schemasIn(schema).map(([, inner]) => inner).filter(({ $id }) => !isString($id))
  )
  for (const schema of own) {
    const { $ref } = schema
    if (!isString($ref) || $ref !== "#" && !$ref.startsWith("#/") || isShared(keysIn($ref)[0] ?? "")) continue
    changes.set(schema, { $ref: `${at}${$ref.slice(1)}` })
  }
  return changes
}
