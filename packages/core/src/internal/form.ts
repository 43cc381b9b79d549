/**
 * JSON Schemas as one reads them: references resolved, `allOf` in one piece, the members of a union side by side.
 *
 * What is laid flat serves to find what a value was meant to be; whether it fits is always decided
 * by the schema as it stands.
 */
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import { isList, isRecord, own, type Record, type Value } from "./written.ts"

type Node = JsonSchema.JsonSchema

/** Reads the schemas of one document. */
export interface Forms {
  /** The schema that a reference points to; `undefined` where there is none. */
  readonly resolve: (reference: string) => unknown
  /** Without `$ref` and `allOf`. */
  readonly flat: (schema: unknown) => Node
  /** The members of a union, flat, with what stands beside them; `undefined` where it is none. */
  readonly members: (schema: Node) => ReadonlyArray<Node> | undefined
  /** The one member that a value was probably meant for: by its literals, else by its kind. */
  readonly likely: (value: Value, members: ReadonlyArray<Node>) => Node | undefined
}

/** The one object of a union that shares the most keys with a record. */
export const nearest = (value: Record, members: ReadonlyArray<Node>): Node | undefined => {
  const shared = (member: Node) => {
    const keys = new Set(Object.keys(propertiesOf(member)))
    const known = Object.keys(value).filter((key) => keys.has(key)).length
    return known - requiredOf(member).filter((key) => !Object.hasOwn(value, key)).length
  }
  const [first, second] = members.filter((member) => allowsKind(member, value))
    .map((member) => ({ member, score: shared(member) }))
    .toSorted((one, other) => other.score - one.score)
  return first !== undefined && first.score > 0 && first.score > (second?.score ?? 0) ? first.member : undefined
}

/** The forms of a document: its definitions are inside. */
export const formsOf = (root: Node): Forms => {
  const resolve = (reference: string): unknown => pointed(root, reference)

  const flatten = (schema: unknown, depth: number): Node => {
    if (!Predicate.isObject(schema)) return schema === false ? { not: {} } : {}
    if (schema["$ref"] === undefined && schema["allOf"] === undefined) return schema
    if (depth > deepest) return {}
    const { $ref, allOf, ...rest } = schema
    const parts = [
      ...(typeof $ref === "string" ? [resolve($ref)] : []),
      ...(Array.isArray(allOf) ? allOf : [])
    ]
    return parts.reduce<Node>((all, part) => merge(all, flatten(part, depth + 1)), rest)
  }

  const flats = new Map<unknown, Node>()
  const flat = (schema: unknown): Node => remember(flats, schema, () => flatten(schema, 0))

  const unions = new Map<unknown, ReadonlyArray<Node> | undefined>()
  const members = (schema: Node): ReadonlyArray<Node> | undefined =>
    remember(unions, schema, () => {
      const { anyOf, oneOf, ...rest } = flat(schema)
      const alternatives = Array.isArray(anyOf) ? anyOf : oneOf
      if (Array.isArray(alternatives)) {
        return choicesTogether(alternatives.map((member: unknown) => flat(merge(rest, flat(member)))))
      }
      const type = rest["type"]
      return Array.isArray(type) && !isChoice(rest) ? type.map((type: unknown) => ({ ...rest, type })) : undefined
    })

  const likely = (value: Value, members: ReadonlyArray<Node>): Node | undefined => {
    const fitting = members.filter((member) => allowsKind(member, value))
    if (!isRecord(value) || fitting.length < 2) return fitting.length === 1 ? fitting[0] : undefined
    const matching = fitting.filter((member) => {
      const literals = literalsOf(member).filter(([key]) => Object.hasOwn(value, key))
      return literals.length > 0 && literals.every(([key, choices]) => choices.includes(own(value, key)))
    })
    return matching.length === 1 ? matching[0] : undefined
  }

  const literalsOf = (member: Node): ReadonlyArray<readonly [string, ReadonlyArray<unknown>]> =>
    Object.entries(propertiesOf(member)).flatMap(([key, property]) => {
      const choices = choicesOf(flat(property))
      return choices === undefined ? [] : [[key, choices]]
    })

  return { resolve, flat, members, likely }
}

/** The choices of a schema, where it has nothing but choices. */
export const choicesOf = (schema: Node): ReadonlyArray<unknown> | undefined =>
  Array.isArray(schema["enum"]) ? schema["enum"] : Object.hasOwn(schema, "const") ? [schema["const"]] : undefined

/** The declared properties of an object. */
export const propertiesOf = (schema: Node): Node => {
  const properties = schema["properties"]
  return Predicate.isObject(properties) ? properties : {}
}

/** The keys that an object must have. */
export const requiredOf = (schema: Node): ReadonlyArray<string> =>
  Array.isArray(schema["required"]) ? schema["required"].filter(Predicate.isString) : []

/** The schema of an array's item. */
export const itemOf = (schema: Node, index: number): unknown => {
  const { items, prefixItems = Array.isArray(items) ? items : undefined } = schema
  if (Array.isArray(prefixItems) && index < prefixItems.length) return prefixItems[index]
  return Array.isArray(items) ? schema["additionalItems"] : items
}

/** The schema of a key that is no declared property; `undefined` where nothing is said of it. */
export const extraOf = (schema: Node, key: string): unknown => {
  const patterns = schema["patternProperties"]
  if (Predicate.isObject(patterns)) {
    const matching = Object.keys(patterns).filter((pattern) => patternOf(pattern)?.test(key) === true)
    if (matching.length === 1) return patterns[matching[0]!]
    if (matching.length > 1) return { allOf: matching.map((pattern) => patterns[pattern]) }
  }
  return schema["additionalProperties"]
}

/** A pattern of JSON Schema; `undefined` for one that no engine can read: it constrains nothing. */
export const patternOf = (pattern: string): RegExp | undefined =>
  remember(patterns, pattern, () => {
    try {
      return new RegExp(pattern, "u")
    } catch {
      return undefined
    }
  })

/** The own value at a key of a schema. */
export const at = (node: unknown, key: string): unknown =>
  Predicate.isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined

/** May a value of this kind fit at all? */
export const allowsKind = (schema: Node, value: Value): boolean => {
  const choices = choicesOf(schema)
  if (choices !== undefined) return choices.some((choice) => typeof choice === typeof value)
  const { type } = schema
  return type === undefined || (Array.isArray(type) ? type : [type]).some((type) => isKind(type, value))
}

const isKind = (type: unknown, value: Value): boolean =>
  type === "array"
    ? isList(value)
    : type === "object"
    ? isRecord(value)
    : type === "null"
    ? value === null
    : type === "integer"
    ? typeof value === "number"
    : typeof value === type

const patterns = new Map<string, RegExp | undefined>()

const deepest = 32

const remember = <K, V>(memory: Map<K, V>, key: K, make: () => V): V => {
  const known = memory.get(key)
  if (known !== undefined || memory.has(key)) return known!
  const made = make()
  if (memory.size > 10_000) memory.clear()
  memory.set(key, made)
  return made
}

// A JSON pointer into the document, as `#/$defs/Place`; `#` is the document itself.
const pointed = (root: Node, reference: string): unknown => {
  if (!reference.startsWith("#")) return undefined
  return reference.split("/").slice(1).reduce<unknown>(
    (node, token) => Array.isArray(node) ? node[Number(token)] : at(node, unescapeToken(token)),
    root
  )
}

const unescapeToken = (token: string): string => {
  const plain = token.replaceAll("~1", "/").replaceAll("~0", "~")
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}

const isChoice = (schema: Node): boolean => choicesOf(schema) !== undefined

// The literals of a union are one enum: which of them a text means is one question.
const choicesTogether = (members: ReadonlyArray<Node>): ReadonlyArray<Node> => {
  const literals = members.filter(isChoice)
  if (literals.length < 2) return members
  const choices = { enum: literals.flatMap((member) => choicesOf(member)!) }
  return [choices, ...members.filter((member) => !isChoice(member))]
}

// Both at once: properties and required keys add up, of the rest the first has its say.
const merge = (first: Node, second: Node): Node => {
  if (Object.keys(first).length === 0) return second
  const properties = both(propertiesOf(first), propertiesOf(second))
  const required = new Set([...requiredOf(first), ...requiredOf(second)])
  return {
    ...second,
    ...first,
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.size === 0 ? {} : { required: Array.from(required) })
  }
}

const both = (first: Node, second: Node): Node =>
  Object.fromEntries([
    ...Object.entries(second),
    ...Object.entries(first).map(([key, schema]) => [
      key,
      Object.hasOwn(second, key) && second[key] !== schema ? { allOf: [schema, second[key]] } : schema
    ])
  ])
