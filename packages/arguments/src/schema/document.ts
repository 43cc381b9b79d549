/**
 * A JSON Schema as one reads it: references resolved, `allOf` in one piece, the members of a union side by side.
 *
 * What is laid flat serves to find what a value was meant to be; whether it fits is always decided
 * by the schema as it stands. All of it is made once for each document, so a schema must not be changed after it was used.
 */
import { isObject, type JsonSchema, type Path } from "../json.ts"
import { memoized } from "../memo.ts"
import { folded, isList, isRecord, own, type Record, type Value } from "../value.ts"
import { isEqual } from "./equal.ts"
import { schemasIn } from "./keyword.ts"
import { type Pattern, patternOf } from "./pattern.ts"
import { referencesIn } from "./reference.ts"

/** Reads the schemas of one document. */
export interface Document {
  /** The schema that a `$ref` points to; `undefined` where there is none. */
  readonly resolve: (schema: JsonSchema) => unknown
  /** Without `$ref` and `allOf`. */
  readonly flat: (schema: unknown) => JsonSchema
  /** The members of a union, flat, with what stands beside them; `undefined` where it is none. */
  readonly members: (schema: JsonSchema) => ReadonlyArray<JsonSchema> | undefined
  /** The one member that a value was probably meant for: by its literals, else by its kind. */
  readonly likely: (value: Value, members: ReadonlyArray<JsonSchema>) => JsonSchema | undefined
  /** The key by whose literals the objects of a union are told apart, and these literals. */
  readonly tag: (members: ReadonlyArray<JsonSchema>) => Tag | undefined
  /** What the schema says at a path; `undefined` where it says nothing. */
  readonly at: (path: Path) => JsonSchema | undefined
  /** All forms at a path: the schema, and the members of its union. */
  readonly formsAt: (path: Path) => ReadonlyArray<JsonSchema>
  /** Does a path of the document lead through a union? */
  readonly isInUnion: (path: Path) => boolean
  /** Is what stands at a path, a part of it, or what it is a part of, a secret: never to be quoted? */
  readonly isSecretAt: (path: Path) => boolean
  /** How many schemas there are in it. */
  readonly size: number
}

/** What tells the members of a union apart. */
export interface Tag {
  readonly key: string
  readonly choices: ReadonlyArray<unknown>
}

const sizeOf = (root: JsonSchema): number => {
  const seen = new Set([root])
  for (const schema of seen) for (const [, inner] of schemasIn(schema)) if (isObject(inner)) seen.add(inner)
  return seen.size
}

/** The document of a schema, which has its definitions inside. */
export const documentOf = memoized((root: JsonSchema): Document => {
  const targetOf = referencesIn(root)
  const targets = new Map<JsonSchema, unknown>()
  const resolve = (schema: JsonSchema): unknown => remember(targets, schema, () => targetOf(schema))

  // A schema that is a part of itself adds nothing to itself.
  const open = new Set<unknown>()
  const flatten = (schema: unknown): JsonSchema => {
    if (!isObject(schema)) return schema === false ? { not: {} } : {}
    if (schema["$ref"] === undefined && schema["allOf"] === undefined) return schema
    if (open.has(schema)) return {}
    open.add(schema)
    // Definitions say nothing of a value, and would make another schema of what refers to itself at each turn.
    const { $defs: _, $ref, allOf, definitions: __, ...rest } = schema
    const parts = [
      ...(typeof $ref === "string" ? [resolve(schema)] : []),
      ...(Array.isArray(allOf) ? allOf : [])
    ]
    const all = parts.reduce<JsonSchema>((all, part) => merge(all, flat(part)), rest)
    open.delete(schema)
    return all
  }

  const flats = new Map<unknown, JsonSchema>()
  const flat = (schema: unknown): JsonSchema => remember(flats, schema, () => flatten(schema))

  const unions = new Map<unknown, ReadonlyArray<JsonSchema> | undefined>()
  const members = (schema: JsonSchema): ReadonlyArray<JsonSchema> | undefined =>
    remember(unions, schema, () => {
      const { $defs: _, anyOf, definitions: __, nullable, oneOf, ...rest } = flat(schema)
      const alternatives: unknown = Array.isArray(anyOf) ? anyOf : oneOf
      const ofNull = nullable === true ? [{ type: "null" }] : []
      if (Array.isArray(alternatives)) {
        return [
          ...choicesTogether(alternatives.map((member: unknown) => flat(merge(rest, flat(member))))),
          ...ofNull
        ]
      }
      const type = rest["type"]
      if (Array.isArray(type) && !isChoice(rest)) {
        return [...type.map((type: unknown) => ({ ...rest, type })), ...ofNull]
      }
      return ofNull.length > 0 && type !== "null" ? [rest, ...ofNull] : undefined
    })

  const likely = (value: Value, members: ReadonlyArray<JsonSchema>): JsonSchema | undefined => {
    const fitting = members.filter((member) => allowsKind(member, value))
    if (!isRecord(value) || fitting.length < 2) return fitting.length === 1 ? fitting[0] : undefined
    const matching = (isMeant: (choice: unknown, written: unknown) => boolean) => {
      const found = fitting.filter((member) => {
        const literals = literalsOf(member).filter(([key]) => Object.hasOwn(value, key))
        return literals.length > 0 &&
          literals.every(([key, choices]) => choices.some((choice) => isMeant(choice, own(value, key))))
      })
      return found.length === 1 ? found[0] : undefined
    }
    return matching((choice, written) => choice === written) ?? matching(isSpelledAlike)
  }

  type Literals = ReadonlyArray<readonly [string, ReadonlyArray<unknown>]>
  const literals = new Map<JsonSchema, Literals>()
  const literalsOf = (member: JsonSchema): Literals =>
    remember(literals, member, () =>
      Object.entries(propertiesOf(member)).flatMap(([key, property]) => {
        const choices = choicesOf(flat(property))
        return choices === undefined ? [] : [[key, choices]]
      }))

  const tags = new Map<ReadonlyArray<JsonSchema>, Tag | undefined>()
  const tag = (members: ReadonlyArray<JsonSchema>): Tag | undefined => remember(tags, members, () => tagOf(members))

  const tagOf = (members: ReadonlyArray<JsonSchema>): Tag | undefined => {
    const objects = members.filter((member) => member["type"] === "object")
    const [first] = objects
    if (first === undefined || objects.length < 2) return undefined
    for (const key of Object.keys(propertiesOf(first))) {
      const choices = objects.map((member) => choicesOf(flat(valueAt(propertiesOf(member), key))))
      if (choices.every((some) => some !== undefined)) return { key, choices: Array.from(new Set(choices.flat())) }
    }
    return undefined
  }

  // A schema and the members of its union, and of theirs. Those of one that refers to itself are other ones at each turn.
  const forms = (schema: unknown, found = new Set<JsonSchema>(), depth = 0): ReadonlySet<JsonSchema> => {
    const node = flat(schema)
    if (!found.has(node) && depth < mostTurns) {
      found.add(node)
      for (const member of members(node) ?? []) forms(member, found, depth + 1)
    }
    return found
  }

  // Of a union, its members too: which one was meant is not known here.
  const withMembers = (schema: JsonSchema) => [schema, ...(members(schema) ?? [])]

  const at = (path: Path): JsonSchema | undefined =>
    path.reduce<JsonSchema | undefined>((at, key) => {
      const inner = at === undefined ? undefined : withMembers(at).map((form) => innerOf(form, key)).find(isObject)
      return inner === undefined ? undefined : flat(inner)
    }, flat(root))

  const formsAt = (path: Path): ReadonlyArray<JsonSchema> => {
    const schema = at(path)
    return schema === undefined ? [] : withMembers(schema)
  }

  // All forms at each step of a path, as far as they are said.
  const along = (path: Path): ReadonlyArray<ReadonlyArray<JsonSchema>> => {
    const steps: Array<ReadonlyArray<JsonSchema>> = [Array.from(forms(root))]
    for (const key of path) {
      const next = new Set<JsonSchema>()
      for (const node of steps.at(-1)!) {
        const schema = innerOf(node, key)
        if (isObject(schema)) forms(schema, next)
      }
      if (next.size === 0) break
      steps.push(Array.from(next))
    }
    return steps
  }

  const isInUnion = (path: Path): boolean => along(path).slice(0, path.length).some((nodes) => nodes.length > 1)

  const isSecretAt = (path: Path): boolean => {
    if (!hasSecrets(root)) return false
    let nodes: ReadonlySet<JsonSchema> = lookedAt(root)
    for (const key of path) {
      if (Array.from(nodes).some(isSecret)) return true
      const next = new Set<JsonSchema>()
      for (const node of nodes) lookedAt(innerOf(node, key), next)
      // What stands where nothing is declared may be any part of what surrounds it.
      if (next.size === 0) break
      nodes = next
    }
    return holdsSecret(nodes)
  }

  // All schemas that may have a say in a value at the same place, also those that only some values meet.
  const lookedAt = (schema: unknown, found = new Set<JsonSchema>()): Set<JsonSchema> => {
    const queue = new Set([schema])
    for (const next of queue) {
      if (!isObject(next)) continue
      found.add(next)
      const { $ref, allOf, anyOf, dependencies, dependentSchemas, else: otherwise, if: condition, not, oneOf, then } =
        next
      const lists = [allOf, anyOf, oneOf].flatMap((list: unknown) => Array.isArray(list) ? list : [])
      const byKey = [dependencies, dependentSchemas].flatMap((of) => isObject(of) ? Object.values(of) : [])
      const target = typeof $ref === "string" ? [resolve(next)] : []
      for (const part of [...target, ...lists, ...byKey, condition, then, otherwise, not]) queue.add(part)
    }
    return found
  }

  // Is there a secret in what these schemas say, or in what they refer to?
  const holdsSecret = (nodes: Iterable<object>): boolean => {
    const queue = new Set<object>(nodes)
    for (const node of queue) {
      if (isObject(node) && isSecret(node)) return true
      for (const [key, part] of Object.entries(node)) {
        if (typeof part === "object" && part !== null && key !== "$defs" && key !== "definitions") queue.add(part)
      }
      const target = isObject(node) && typeof node["$ref"] === "string" ? resolve(node) : undefined
      if (typeof target === "object" && target !== null) queue.add(target)
    }
    return false
  }

  return { resolve, flat, members, likely, tag, at, formsAt, isInUnion, isSecretAt, size: sizeOf(root) }
})

// -----------------------------------------------------------------------------
// Keywords
// -----------------------------------------------------------------------------

/** The choices of a schema, where it has nothing but choices. */
export const choicesOf = (schema: JsonSchema): ReadonlyArray<unknown> | undefined => {
  if (Object.hasOwn(schema, "const")) return constantOf(schema)
  return Array.isArray(schema["enum"]) ? schema["enum"] : undefined
}

const constantOf = memoized(({ const: only, enum: choices }: JsonSchema): ReadonlyArray<unknown> =>
  Array.isArray(choices) ? choices.filter((choice) => isEqual(choice, only)) : [only]
)

/** The declared properties of an object. */
export const propertiesOf = (schema: JsonSchema): JsonSchema => {
  const properties = schema["properties"]
  return isObject(properties) ? properties : nothing
}

const nothing = {}
const none: ReadonlyArray<never> = []

/** The keys that an object must have. */
export const requiredOf = (schema: JsonSchema): ReadonlyArray<string> =>
  Array.isArray(schema["required"]) ? schema["required"] : none

/** Must an object have a key? */
export const isRequired = (key: string, schema: JsonSchema): boolean => {
  const required = requiredOf(schema)
  if (required.length < 8) return required.includes(key)
  return requiredKeys(required).has(key)
}

const requiredKeys = memoized((required: ReadonlyArray<string>): ReadonlySet<string> => new Set(required))

/** The schema of an array's item. */
export const itemOf = (schema: JsonSchema, index: number): unknown => {
  const { items, prefixItems = Array.isArray(items) ? items : undefined } = schema
  if (Array.isArray(prefixItems) && index < prefixItems.length) return prefixItems[index]
  return Array.isArray(items) ? schema["additionalItems"] : items
}

/** The schema of a key that is no declared property; `undefined` where nothing is said of it. */
export const extraOf = (schema: JsonSchema, key: string): unknown => {
  const matching = patternsFor(schema, key)
  if (matching.length === 1) return matching[0]
  return matching.length > 1 ? { allOf: matching } : schema["additionalProperties"] ?? schema["unevaluatedProperties"]
}

/** The schemas of the patterns that a key matches. What a pattern that is not checked matches is not known, so anything may stand there. */
export const patternsFor = (schema: JsonSchema, key: string): ReadonlyArray<unknown> => {
  const patterns = schema["patternProperties"]
  if (!isObject(patterns)) return none
  return compiled(patterns).flatMap(([pattern, inner]) =>
    pattern === undefined ? [true] : pattern.test(key) ? [inner] : none
  )
}

const compiled = memoized((patterns: JsonSchema): ReadonlyArray<readonly [Pattern | undefined, unknown]> =>
  Object.entries(patterns).map(([source, inner]) => [patternOf(source), inner])
)

/** The schema of a part: an array's item, or what stands under a key. */
export const innerOf = (schema: JsonSchema, key: string | number): unknown => {
  if (typeof key === "number") return itemOf(schema, key) ?? schema["unevaluatedItems"]
  const properties = propertiesOf(schema)
  return Object.hasOwn(properties, key) ? properties[key] : extraOf(schema, key)
}

/** The own value at a key of a schema. */
export const valueAt = (node: unknown, key: string): unknown =>
  isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined

/** May a value of this kind fit at all? */
export const allowsKind = (schema: JsonSchema, value: Value): boolean => {
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

/** The one object of a union that shares the most keys with a record. */
export const nearest = (value: Record, members: ReadonlyArray<JsonSchema>): JsonSchema | undefined => {
  const shared = (member: JsonSchema) => {
    const keys = new Set(Object.keys(propertiesOf(member)))
    const known = Object.keys(value).filter((key) => keys.has(key)).length
    return known - requiredOf(member).filter((key) => !Object.hasOwn(value, key)).length
  }
  const [first, second] = members.filter((member) => allowsKind(member, value))
    .map((member) => ({ member, score: shared(member) }))
    .toSorted((one, other) => other.score - one.score)
  return first !== undefined && first.score > 0 && first.score > (second?.score ?? 0) ? first.member : undefined
}

// -----------------------------------------------------------------------------
// Secrets
// -----------------------------------------------------------------------------

// As `Schema.Redacted` is shown, or as schemas from elsewhere say it.
const isSecret = ({ format, writeOnly }: JsonSchema): boolean => writeOnly === true || format === "password"

/** Is anything in a schema a secret: `writeOnly`, or of the format `password`? */
export const hasSecrets: (schema: object) => boolean = memoized((root: object): boolean => {
  // A schema from elsewhere may be as deep as it is large, and what a program makes may contain itself.
  const seen = new Set<object>([root])
  for (const value of seen) {
    if (isObject(value) && isSecret(value)) return true
    const parts: ReadonlyArray<unknown> = Object.values(value)
    for (const part of parts) if (typeof part === "object" && part !== null) seen.add(part)
  }
  return false
})

// -----------------------------------------------------------------------------
// Unions
// -----------------------------------------------------------------------------

const isSpelledAlike = (choice: unknown, written: unknown): boolean =>
  typeof choice === "string" && typeof written === "string" && written.length <= longestChoice &&
  folded(choice) === folded(written)

/** A longer text is no choice. */
export const longestChoice = 1000

const isChoice = (schema: JsonSchema): boolean => choicesOf(schema) !== undefined

// The literals of a union are one enum: which of them a text means is one question.
const choicesTogether = (members: ReadonlyArray<JsonSchema>): ReadonlyArray<JsonSchema> => {
  const literals = members.filter(isChoice)
  if (literals.length < 2) return members
  const choices = { enum: literals.flatMap((member) => choicesOf(member)!) }
  return [choices, ...members.filter((member) => !isChoice(member))]
}

// Both at once: properties and required keys add up, of the rest the first has its say.
const merge = (first: JsonSchema, second: JsonSchema): JsonSchema => {
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

const both = (first: JsonSchema, second: JsonSchema): JsonSchema =>
  Object.fromEntries([
    ...Object.entries(second),
    ...Object.entries(first).map(([key, schema]) => [
      key,
      Object.hasOwn(second, key) && second[key] !== schema ? { allOf: [schema, second[key]] } : schema
    ])
  ])

const remember = <K, V>(memory: Map<K, V>, key: K, make: () => V): V => {
  const known = memory.get(key)
  if (known !== undefined || memory.has(key)) return known!
  const made = make()
  if (memory.size > 10_000) memory.clear()
  memory.set(key, made)
  return made
}

/** So many unions may stand in one another. */
export const mostTurns = 8
