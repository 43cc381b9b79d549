/** Values that a JSON Schema allows, made from the schema. */
import type { Json, JsonSchema } from "@fallible/arguments"
import { fits, partAt } from "@fallible/arguments/internal"
import * as fc from "fast-check"

/** Returns some values that fit a schema. There may be fewer than asked for: what does not fit is left out. */
export const fittingValues = (schema: JsonSchema, count: number, seed = 7): ReadonlyArray<Json> =>
  fc.sample(valuesOf(schema), { numRuns: count, seed }).filter((value) => fits(value, schema))

/** Makes values from a schema. Nearly all of them fit: rules that are combined in rare ways are passed over. */
export const valuesOf = (root: JsonSchema): fc.Arbitrary<Json> => {
  const made = (schema: unknown, depth: number): fc.Arbitrary<Json> => {
    // What refers to itself has no end.
    if (!isSchema(schema) || depth > 2 * deepest) return scalar
    const { $ref, allOf, anyOf, const: only, enum: choices, oneOf, ...rest } = schema
    if (typeof $ref === "string") return made(merged(targetOf(root, $ref), rest), depth + 0.5)
    if (Array.isArray(allOf)) {
      return made(allOf.reduce<JsonSchema>((all, part) => merged(all, resolved(part)), rest), depth + 0.5)
    }
    if (only !== undefined) return fc.constant(asJson(only))
    if (Array.isArray(choices)) return fc.constantFrom(...choices.map(asJson))
    const members = Array.isArray(anyOf) ? anyOf : oneOf
    if (Array.isArray(members)) {
      return fc.oneof(...shallow(members, depth).map((member) => made(merged(resolved(member), rest), depth + 1)))
    }
    const { type } = schema
    const types: ReadonlyArray<unknown> = type === undefined ? [impliedType(schema)] : [type].flat()
    const ofTypes = types.map((type) => ofType(type, schema, depth))
    return schema["nullable"] === true ? fc.oneof(fc.constant(null), ...ofTypes) : fc.oneof(...ofTypes)
  }

  const resolved = (schema: unknown): JsonSchema =>
    isSchema(schema) && typeof schema["$ref"] === "string"
      ? targetOf(root, schema["$ref"])
      : isSchema(schema)
      ? schema
      : {}

  const ofType = (type: unknown, schema: JsonSchema, depth: number): fc.Arbitrary<Json> => {
    if (type === "null") return fc.constant(null)
    if (type === "boolean") return fc.boolean()
    if (type === "string") return textOf(schema)
    if (type === "integer" || type === "number") return numberOf(type, schema)
    if (type === "array") return listOf(schema, depth)
    return type === "object" ? objectOf(schema, depth) : scalar
  }

  const listOf = (schema: JsonSchema, depth: number): fc.Arbitrary<Json> => {
    const { items = true, maxItems = 3, minItems = 0, prefixItems = [], uniqueItems } = schema
    const first = Array.isArray(items) ? items : prefixItems
    const heads = fc.tuple(...(Array.isArray(first) ? first : []).map((item) => made(item, depth + 1)))
    if (items === false || Array.isArray(items) || depth > deepest && Number(minItems) === 0) return heads
    const limits = {
      minLength: Math.max(0, Number(minItems) - lengthOf(first)),
      maxLength: Math.max(
        Number(minItems) - lengthOf(first),
        depth > deepest ? 0 : Math.min(Number(maxItems) - lengthOf(first), Number(minItems) + 2)
      )
    }
    const item = made(items, depth + 1)
    const tail = uniqueItems === true
      ? fc.uniqueArray(item, { ...limits, selector: JSON.stringify })
      : fc.array(item, limits)
    return fc.tuple(heads, tail).map(([head, tail]) => [...head, ...tail])
  }

  const objectOf = (schema: JsonSchema, depth: number): fc.Arbitrary<Json> => {
    const { additionalProperties, minProperties = 0, patternProperties, properties = {}, propertyNames } = schema
    const required: ReadonlyArray<unknown> = Array.isArray(schema["required"]) ? schema["required"] : []
    const own = Object.entries(isSchema(properties) ? properties : {}).filter(([key, of]) =>
      of !== false && (required.includes(key) || depth <= deepest)
    )
    const undeclared = required.filter((key) => !own.some(([other]) => other === key))
    const extra = isSchema(additionalProperties) || additionalProperties === true
      ? additionalProperties
      : isSchema(patternProperties)
      ? Object.values(patternProperties)[0]
      : undefined
    const names = isSchema(patternProperties) && !isSchema(additionalProperties)
      ? matching(String(Object.keys(patternProperties)[0]))
      : isSchema(propertyNames)
      ? made({ type: "string", ...propertyNames }, depth).map(String)
      : fc.constantFrom("first", "second", "other key")
    const most = depth > deepest ? Number(minProperties) : Math.max(2, Number(minProperties))
    const extras = extra === undefined
      ? fc.constant({})
      : fc.dictionary(names, made(extra, depth + 1), {
        minKeys: Math.max(0, Number(minProperties) - own.length),
        maxKeys: most
      })
    return fc.tuple(
      extras,
      fc.record(Object.fromEntries(own.map(([key, of]) => [key, made(of, depth + 1)])), {
        requiredKeys: own.map(([key]) => key).filter((key) => required.includes(key) || Number(minProperties) > 0)
      }),
      fc.record(Object.fromEntries(undeclared.map((key) => [String(key), scalar])))
    ).map((parts) => Object.assign({}, ...parts))
  }

  return made(root, 0)
}

const deepest = 3

const scalar: fc.Arbitrary<Json> = fc.oneof(fc.constantFrom("a", "some text"), fc.integer(), fc.boolean())

const textOf = ({ format, maxLength, minLength = 0, pattern }: JsonSchema): fc.Arbitrary<Json> => {
  const sample = samples[String(format)]
  if (sample !== undefined) return fc.constantFrom(...sample)
  if (typeof pattern === "string") return matching(pattern)
  const least = Number(minLength)
  return fc.string({ minLength: least, maxLength: Math.max(least, Math.min(Number(maxLength ?? 20), least + 20)) })
}

const samples: Readonly<Record<string, ReadonlyArray<string>>> = {
  date: ["2024-02-29"],
  "date-time": ["2024-01-01T10:00:00Z"],
  email: ["a@example.org"],
  ipv4: ["127.0.0.1"],
  time: ["10:00:00Z"],
  uri: ["https://example.org/a"],
  url: ["https://example.org/a"],
  uuid: ["123e4567-e89b-42d3-a456-426614174000"]
}

const matching = (pattern: string): fc.Arbitrary<string> =>
  fc.stringMatching(new RegExp(pattern, "u")).map((text) => text.slice(0, 200))

const numberOf = (type: string, schema: JsonSchema): fc.Arbitrary<Json> => {
  const { exclusiveMaximum, exclusiveMinimum, maximum, minimum, multipleOf } = schema
  const isWhole = type === "integer"
  const step = typeof multipleOf === "number" ? multipleOf : isWhole ? 1 : 0.5
  const lowest = Math.max(...[minimum, exclusiveMinimum, -10_000].filter(isNumber))
  const least = typeof exclusiveMinimum === "number" ? lowest + step / 2 : lowest
  const greatest = Math.min(...[maximum, exclusiveMaximum, Math.max(10_000, lowest + 100 * step)].filter(isNumber))
  const most = typeof exclusiveMaximum === "number" ? greatest - step / 2 : greatest
  const [from, to] = [Math.ceil(least / step), Math.floor(most / step)]
  // Between near bounds there may be no multiple of a step.
  return from <= to ? fc.integer({ min: from, max: to }).map((times) => times * step) : fc.constant((least + most) / 2)
}

const isNumber = (value: unknown): value is number => typeof value === "number"

const impliedType = (schema: JsonSchema): string =>
  ["properties", "required", "additionalProperties"].some((key) => key in schema)
    ? "object"
    : "items" in schema || "prefixItems" in schema
    ? "array"
    : "minimum" in schema || "maximum" in schema
    ? "number"
    : "string"

/** Members that end a recursion come first where it is deep. */
const shallow = (members: ReadonlyArray<unknown>, depth: number): ReadonlyArray<unknown> => {
  if (depth <= deepest) return members
  const flat = members.filter((member) => isSchema(member) && !("$ref" in member) && !("items" in member))
  return flat.length > 0 ? flat : members
}

const merged = (one: JsonSchema, other: JsonSchema): JsonSchema => ({
  ...one,
  ...other,
  ...("properties" in one && "properties" in other
    ? { properties: { ...Object(one["properties"]), ...Object(other["properties"]) } }
    : {}),
  ...("required" in one && "required" in other
    ? { required: [one["required"], other["required"]].flat() }
    : {})
})

const targetOf = (root: JsonSchema, reference: string): JsonSchema => {
  const target = partAt(
    root,
    reference.split("/").slice(1).map((key) => decodeURIComponent(key).replaceAll("~1", "/").replaceAll("~0", "~"))
  )
  return isSchema(target) ? target : {}
}

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const lengthOf = (value: unknown): number => Array.isArray(value) ? value.length : 0

// A schema is JSON, and so are its choices.
const asJson = (value: unknown) => value as Json
