/**
 * A JSON Schema from elsewhere as the schema of a tool's arguments: a closed object, with all that its author wrote.
 *
 * Three things change. A `$ref` at the root is replaced by its target, because model providers demand the type `object` there.
 * The type is added if it is missing. And an object that declares its keys, and says nothing about others, is closed: it gets
 * `additionalProperties: false`.
 *
 * Closing must not refuse what the author means to allow. So an object stays open if other schemas describe the same value, as
 * the members of an `allOf` do (each declares only a part of the keys), or if it demands keys that it does not declare. Nor
 * must it allow what the author refuses, so members of a `oneOf` stay open if one value may fit several of them.
 */
import {
  define,
  distinct,
  entriesOf,
  hasKey,
  isArray,
  isContainer,
  isNumber,
  isObject,
  isString,
  itemsIn,
  type JsonSchema,
  keysOf
} from "../json.ts"
import { memoize, newMap } from "../memo.ts"
import { pathOf, type Place, placeIn } from "../value.ts"
import {
  choicesOf,
  declaredBy,
  declares,
  type Document,
  documentOf,
  propertiesOf,
  requiredOf,
  valueAt
} from "./document.ts"
import { isEqual } from "./equal.ts"
import { SchemaRefused, usable } from "./inspect.ts"
import { allSchemas, inPlace, isAnnotation, schemasIn, words } from "./keyword.ts"
import { reachable } from "./reachable.ts"
import { keysIn } from "./reference.ts"

/**
 * Returns a copy of a JSON Schema in which objects that were left open are closed. Throws a `SchemaRefused` for a schema that
 * cannot be used, or that JSON cannot write.
 *
 * @param isOpen whether they stay open
 */
export const closedSchema = (schema: object, isOpen = false): JsonSchema => {
  const whole = asSchema(copied(usable(schema)))
  const changes: Changes = newMap()
  if (!isOpen) {
    for (const inner of closable(whole, documentOf(whole))) changes.set(inner, { additionalProperties: false })
  }
  return changes.size === 0 ? whole : asSchema(copied(whole, changes))
}

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
    for (const [keyword, value] of entriesOf(inner)) define(shared.includes(keyword) ? outer : rest, keyword, value)
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
  isEqual(withoutDefaults(before), withoutDefaults(after))

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

// After a validation, a default is filled in, and some libraries have left out other keys.
const withoutDefaults = (schema: object): unknown => {
  const changes: Changes = newMap()
  for (const inner of allSchemas(asSchema(schema))) {
    const { additionalProperties = false } = inner
    changes.set(inner, {
      default: undefined,
      required: undefined,
      additionalProperties: additionalProperties === false ? undefined : additionalProperties
    })
  }
  return copied(schema, changes)
}

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
// Closing objects
// -----------------------------------------------------------------------------

/**
 * Returns the schemas of objects that were left open, and that alone describe their values.
 *
 * @param overlapping schemas whose `oneOf` has members that may fit the same value. They stay open: if one of them were
 * closed, and so refused a value, another one would be the only one that fits, and a value that fits several would be accepted
 */
const closable = (
  root: JsonSchema,
  document: Document,
  overlapping: ReadonlySet<JsonSchema> = new Set()
): ReadonlySet<JsonSchema> => {
  // Whether a schema describes only a part of a value. If it does so anywhere, it stays open everywhere.
  const isPart = newMap<JsonSchema, boolean>()
  const queue: Array<readonly [schema: unknown, isPart: boolean]> = [[root, false]]
  for (const [schema, isPartHere] of queue) {
    if (!isObject(schema) || isPart.get(schema) === true || isPart.get(schema) === isPartHere) continue
    isPart.set(schema, isPartHere)
    const asPart = (inner: unknown) => queue.push([inner, true])
    const { additionalProperties, anyOf, contains, oneOf, patternProperties, properties } = schema
    inPlace({ ...schema, anyOf: undefined, oneOf: undefined }).forEach(asPart)
    asPart(contains)
    const isShared = isPartHere || describesKeys({ ...schema, anyOf: undefined, oneOf: undefined }) ||
      anyOf !== undefined && oneOf !== undefined || overlapping.has(schema)
    for (const member of [anyOf, oneOf].flatMap(itemsIn)) queue.push([member, isShared])
    queue.push([document.resolve(schema), isPartHere || !isReference(schema)])
    const isDoubled = properties !== undefined && patternProperties !== undefined || contains !== undefined
    for (const inner of [properties, patternProperties].flatMap(partsOf)) queue.push([inner, isPartHere || isDoubled])
    for (const inner of [additionalProperties, schema["unevaluatedProperties"]]) queue.push([inner, isPartHere])
    for (const keyword of ["items", "prefixItems", "additionalItems", "unevaluatedItems"]) {
      const inner = schema[keyword]
      for (const item of isArray(inner) ? inner : [inner]) queue.push([item, isPartHere || isDoubled])
    }
  }
  const closed = new Set(
    Array.from(isPart).flatMap(([schema, isPart]) =>
      !isPart && isLeftOpen(schema) && (declaredBy(schema).length > 0 || schema === root) &&
        Array.from(reachable(document.beside(schema), document.beside)).every((part) => addsNoKey(part, schema))
        ? [schema]
        : []
    )
  )
  const found = Array.from(isPart).flatMap(([schema, isPart]) =>
    !isPart && !overlapping.has(schema) && mayOverlap(itemsIn(schema["oneOf"]), document, closed) ? [schema] : []
  )
  return found.length === 0 ? closed : closable(root, document, new Set([...overlapping, ...found]))
}

/** True if a value that fits one of these members might also fit another one that is not closed yet. */
const mayOverlap = (members: ReadonlyArray<unknown>, document: Document, closed: ReadonlySet<JsonSchema>): boolean => {
  const all = members.map((member) => ({ flat: document.flat(member), target: targetOf(member, document) }))
  return all.some((one) =>
    all.some((other) =>
      one !== other && !haveOtherTypes(one.flat, other.flat) &&
      !([one, other].some(({ flat }) => flat["type"] === "object") &&
        (haveOtherLiterals(one.flat, other.flat, document) ||
          (one.target["additionalProperties"] === false || closed.has(one.target)) &&
            requiredOf(other.flat).some((key) => !declares(one.target, key))))
    )
  )
}

const targetOf = (member: unknown, { resolve }: Document): JsonSchema => {
  let target = isObject(member) ? member : {}
  for (let hops = 0; hops < mostHops && isReference(target); hops++) {
    const next = resolve(target)
    if (!isObject(next)) break
    target = next
  }
  return target
}

const haveOtherTypes = (one: JsonSchema, other: JsonSchema): boolean => {
  const types = typesOf(other)
  return typesOf(one)?.every((type) => types?.includes(type) === false) === true
}

// Returns the types of a schema's values; `undefined` if it does not name them. A whole number is a number.
const typesOf = ({ nullable, type }: JsonSchema): ReadonlyArray<unknown> | undefined =>
  type === undefined || nullable === true
    ? undefined
    : [type].flat().map((type: unknown) => type === "integer" ? "number" : type)

/** True if a key that one of two objects must have has literals that the other one excludes. */
const haveOtherLiterals = (one: JsonSchema, other: JsonSchema, { flat }: Document): boolean =>
  distinct([...requiredOf(one), ...requiredOf(other)]).some((key) => {
    const [choices, others] = [one, other].map((schema) => choicesOf(flat(valueAt(propertiesOf(schema), key))))
    return choices !== undefined && others !== undefined &&
      !choices.some((choice) => others.some((otherChoice) => isEqual(choice, otherChoice)))
  })

const partsOf = (of: unknown): ReadonlyArray<unknown> => isObject(of) ? Object.values(of) : []

/** True if a schema is nothing but a reference. */
const isReference = (schema: JsonSchema): boolean =>
  keysOf(schema).every((keyword) =>
    keyword === "$ref" || keyword === "nullable" || isAnnotation(keyword) || isShared(keyword)
  )

/** True if a schema itself, or one beside it, describes the keys of an object. */
const describesKeys = (schema: JsonSchema): boolean =>
  isObject(schema["properties"]) || isObject(schema["patternProperties"]) ||
  schema["additionalProperties"] !== undefined || schema["unevaluatedProperties"] !== undefined ||
  schema["$ref"] !== undefined || inPlace(schema).length > 0

const isLeftOpen = (schema: JsonSchema): boolean => {
  const { additionalProperties, dependentRequired, minProperties, properties, type, unevaluatedProperties } = schema
  const demanded = [
    ...requiredOf(schema),
    ...entriesOf(Object(dependentRequired)).flatMap(([key, keys]) => [key, keys])
  ]
  return isObject(properties) && additionalProperties === undefined && unevaluatedProperties === undefined &&
    (type === undefined || [type].flat().includes("object")) &&
    demanded.flat().every((key) => declares(schema, String(key))) &&
    (!isNumber(minProperties) || minProperties <= declaredBy(schema).length)
}

/** True if a schema beside an object allows no key that the object does not declare. */
const addsNoKey = (part: JsonSchema, object: JsonSchema): boolean => {
  const { additionalProperties = false, patternProperties, unevaluatedProperties = false } = part
  return additionalProperties === false && unevaluatedProperties === false && patternProperties === undefined &&
    distinct([...declaredBy(part), ...requiredOf(part)]).every((key) => declares(object, key))
}

// -----------------------------------------------------------------------------
// References
// -----------------------------------------------------------------------------

/** Where references lead that need not change: these keywords stay at the root. `$schema` must stand there. */
const shared = ["$defs", "$schema", "components", "definitions"]

const isShared = (keyword: string): boolean => shared.includes(keyword)

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

// -----------------------------------------------------------------------------
// Copies
// -----------------------------------------------------------------------------

/** Keywords that replace or join those of a schema in its copy. */
type Changes = Map<object, JsonSchema>

/** Copies what JSON can write of a schema. */
const copied = (schema: unknown, changes: Changes = newMap()): unknown => {
  let parts = 0
  const outer = new Set<unknown>()
  const copy = (value: unknown, place: Place | undefined): unknown => {
    if (!isContainer(value)) {
      if (isWritten(value)) return value
      throw refused(place, `JSON cannot write a ${typeof value}`)
    }
    if (outer.has(value)) throw refused(place, "it contains itself: use $defs and $ref")
    if (++parts > maxParts || outer.size > maxLevels) throw refused(place, "it is too large, or nested too deeply")
    outer.add(value)
    const made = isArray(value)
      ? value.map((item, index) => copy(item, placeIn(place, index)) ?? null)
      : copyKeys(value, place)
    outer.delete(value)
    return made
  }
  const copyKeys = (value: object, place: Place | undefined) => {
    const record: { [key: string]: unknown } = {}
    const change = changes.get(value)
    for (const [key, part] of entriesOf(change === undefined ? value : { ...value, ...change })) {
      if (part !== undefined) define(record, key, copy(part, placeIn(place, key)))
    }
    return record
  }
  return copy(schema, undefined)
}

const isWritten = (value: unknown): boolean =>
  value === null || value === undefined || typeof value === "boolean" || isString(value) || Number.isFinite(value)

const maxParts = 1_000_000
const maxLevels = 2_000

const refused = (place: Place | undefined, why: string): SchemaRefused => {
  const path = pathOf(place)
  return new SchemaRefused([{ path, keyword: String(path.at(-1) ?? ""), why }])
}

const asSchema = (copy: unknown) => copy as JsonSchema
