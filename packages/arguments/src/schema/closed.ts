/**
 * Closes the objects that the author of a JSON Schema left open: an object that declares its keys, and says nothing about
 * others, gets `additionalProperties: false`.
 *
 * Closing must not refuse what the author means to allow. So an object stays open if other schemas describe the same value, as
 * the members of an `allOf` do (each declares only a part of the keys), or if it demands keys that it does not declare. Nor
 * must it allow what the author refuses, so members of a `oneOf` stay open if one value may fit several of them.
 */
import { distinct, entriesOf, isArray, isNumber, isObject, itemsIn, type JsonSchema, keysOf } from "../json.ts"
import { newMap } from "../memo.ts"
import { asSchema, type Changes, copied } from "./copied.ts"
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
import { usable } from "./inspect.ts"
import { inPlace, isAnnotation, isShared } from "./keyword.ts"
import { reachable } from "./reachable.ts"

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

const mostHops = 16
