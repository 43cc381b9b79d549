/**
 * A JSON Schema in a simpler form: references are resolved, `allOf` is merged, and the members of a union are
 * listed.
 *
 * The simpler form is used only to find out which value was meant. The original schema alone decides whether
 * a value fits. Everything is computed once for each document, so a schema must not change after its first
 * use.
 */
import { isObject, type JsonSchema, type Path } from "../json.ts"
import { memoize } from "../memo.ts"
import { foldName, isList, isRecord, own, type Record, type Value } from "../value.ts"
import { isEqual } from "./equal.ts"
import { schemasIn } from "./keyword.ts"
import { type Pattern, patternOf } from "./pattern.ts"
import { referencesIn } from "./reference.ts"

/** The schemas of one document (a schema with its definitions), and their simpler forms. */
export interface Document {
  /** Returns the schema that a schema's `$ref` points to; `undefined` if there is no such schema. */
  readonly resolve: (schema: JsonSchema) => unknown
  /** Returns the flat form of a schema: without `$ref` and `allOf`. */
  readonly flat: (schema: unknown) => JsonSchema
  /**
   * Returns the members of a union, each flat, and merged with the keywords beside the union; `undefined` if
   * the schema is not a union.
   */
  readonly members: (schema: JsonSchema) => ReadonlyArray<JsonSchema> | undefined
  /**
   * Returns the member of a union that a value was probably meant for, judged by its type and its literals;
   * `undefined` if that is unclear.
   */
  readonly likely: (value: Value, members: ReadonlyArray<JsonSchema>) => JsonSchema | undefined
  /**
   * Returns the key whose literals distinguish the objects of a union, and these literals; `undefined` if
   * there is no such key.
   */
  readonly tag: (members: ReadonlyArray<JsonSchema>) => Tag | undefined
  /** Returns the flat schema at a path; `undefined` if the document says nothing about the path. */
  readonly at: (path: Path) => JsonSchema | undefined
  /** Returns all forms at a path: the schema, and its members if it is a union. */
  readonly formsAt: (path: Path) => ReadonlyArray<JsonSchema>
  /** True if some form of the schema describes the value at a path, or allows any value at a place on the way. */
  readonly declares: (path: Path) => boolean
  /** True if a path of the document leads through a union. */
  readonly isInUnion: (path: Path) => boolean
  /** The number of schemas in the document. */
  readonly size: number
}

/** A key that distinguishes the members of a union, and its literals. */
export interface Tag {
  readonly key: string
  readonly choices: ReadonlyArray<unknown>
}

const sizeOf = (root: JsonSchema): number => {
  const seen = new Set([root])
  for (const schema of seen) for (const [, inner] of schemasIn(schema)) if (isObject(inner)) seen.add(inner)
  return seen.size
}

/** Returns the document of a schema that contains its definitions. */
export const documentOf = memoize((root: JsonSchema): Document => {
  const targetOf = referencesIn(root)
  const targets = new Map<JsonSchema, unknown>()
  const resolve = (schema: JsonSchema): unknown => getOrMake(targets, schema, () => targetOf(schema))

  // The schemas that are being flattened. If one of them is met again inside itself, it adds nothing there.
  const flattening = new Set<unknown>()
  const flatten = (schema: unknown): JsonSchema => {
    if (!isObject(schema)) return schema === false ? { not: {} } : {}
    if (schema["$ref"] === undefined && schema["allOf"] === undefined) return schema
    if (flattening.has(schema)) return {}
    flattening.add(schema)
    // Definitions are left out, because they do not restrict a value. With them, flattening a recursive
    // schema would give a new schema at each level.
    const { $defs: _, $ref, allOf, definitions: __, ...rest } = schema
    const parts = [
      ...(typeof $ref === "string" ? [resolve(schema)] : []),
      ...(Array.isArray(allOf) ? allOf : [])
    ]
    const all = parts.reduce<JsonSchema>((all, part) => merge(all, flat(part)), rest)
    flattening.delete(schema)
    return all
  }

  const flats = new Map<unknown, JsonSchema>()
  const flat = (schema: unknown): JsonSchema => getOrMake(flats, schema, () => flatten(schema))

  const unions = new Map<unknown, ReadonlyArray<JsonSchema> | undefined>()
  const members = (schema: JsonSchema): ReadonlyArray<JsonSchema> | undefined =>
    getOrMake(unions, schema, () => {
      const { $defs: _, anyOf, definitions: __, nullable, oneOf, ...rest } = flat(schema)
      const alternatives: unknown = Array.isArray(anyOf) ? anyOf : oneOf
      const nullMember = nullable === true ? [{ type: "null" }] : []
      if (Array.isArray(alternatives)) {
        return [
          ...joinChoices(alternatives.map((member: unknown) => flat(merge(rest, flat(member))))),
          ...nullMember
        ]
      }
      const type = rest["type"]
      if (Array.isArray(type) && !isChoice(rest)) {
        return [...type.map((type: unknown) => ({ ...rest, type })), ...nullMember]
      }
      return nullMember.length > 0 && type !== "null" ? [rest, ...nullMember] : undefined
    })

  const likely = (value: Value, members: ReadonlyArray<JsonSchema>): JsonSchema | undefined => {
    const fitting = members.filter((member) => allowsKind(member, value))
    if (!isRecord(value) || fitting.length < 2) return fitting.length === 1 ? fitting[0] : undefined
    const onlyMatch = (matches: (choice: unknown, written: unknown) => boolean) => {
      const matching = fitting.filter((member) => {
        const literals = literalsOf(member).filter(([key]) => Object.hasOwn(value, key))
        return literals.length > 0 &&
          literals.every(([key, choices]) => choices.some((choice) => matches(choice, own(value, key))))
      })
      return matching.length === 1 ? matching[0] : undefined
    }
    return onlyMatch((choice, written) => choice === written) ?? onlyMatch(isSpelledAlike)
  }

  type Literals = ReadonlyArray<readonly [string, ReadonlyArray<unknown>]>
  const literals = new Map<JsonSchema, Literals>()
  const literalsOf = (member: JsonSchema): Literals =>
    getOrMake(literals, member, () =>
      Object.entries(propertiesOf(member)).flatMap(([key, property]) => {
        const choices = choicesOf(flat(property))
        return choices === undefined ? [] : [[key, choices]]
      }))

  const tags = new Map<ReadonlyArray<JsonSchema>, Tag | undefined>()
  const tag = (members: ReadonlyArray<JsonSchema>): Tag | undefined => getOrMake(tags, members, () => tagOf(members))

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

  // Collects a schema and, if it is a union, its members and their own members. A recursive schema has new
  // members at each level, so the depth is limited.
  const forms = (schema: unknown, collected = new Set<JsonSchema>(), depth = 0): ReadonlySet<JsonSchema> => {
    const node = flat(schema)
    if (!collected.has(node) && depth < maxTurns) {
      collected.add(node)
      for (const member of members(node) ?? []) forms(member, collected, depth + 1)
    }
    return collected
  }

  // Includes all members of a union, because the member that was meant is unknown here.
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

  // Returns all forms at each step of a path, as far as the schema describes the path.
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

  const declares = (path: Path): boolean => {
    const steps = along(path)
    const key = path[steps.length - 1]
    return key === undefined || steps.at(-1)!.some((node) => isOpen(node, key))
  }

  const isInUnion = (path: Path): boolean => along(path).slice(0, path.length).some((nodes) => nodes.length > 1)

  return { resolve, flat, members, likely, tag, at, formsAt, declares, isInUnion, size: sizeOf(root) }
})

// -----------------------------------------------------------------------------
// Keywords
// -----------------------------------------------------------------------------

// True for a schema that says nothing of the parts of its values.
const isOpen = (schema: JsonSchema, key: string | number): boolean =>
  Object.keys(schema).every((keyword) => documenting.has(keyword) || keyword === "type") &&
  allowsKind(schema, typeof key === "number" ? [] : {})

const documenting: ReadonlySet<string> = new Set(["$defs", "definitions", "description", "examples", "title"])

/** Returns the choices of a schema that has an `enum` or a `const`. */
export const choicesOf = (schema: JsonSchema): ReadonlyArray<unknown> | undefined => {
  if (Object.hasOwn(schema, "const")) return constantOf(schema)
  return Array.isArray(schema["enum"]) ? schema["enum"] : undefined
}

const constantOf = memoize(({ const: only, enum: choices }: JsonSchema): ReadonlyArray<unknown> =>
  Array.isArray(choices) ? choices.filter((choice) => isEqual(choice, only)) : [only]
)

/** Returns the declared properties of an object. */
export const propertiesOf = (schema: JsonSchema): JsonSchema => {
  const properties = schema["properties"]
  return isObject(properties) ? properties : noProperties
}

const noProperties = {}
const none: ReadonlyArray<never> = []

/** Returns the keys that an object must have. */
export const requiredOf = (schema: JsonSchema): ReadonlyArray<string> =>
  Array.isArray(schema["required"]) ? schema["required"] : none

/** True if an object must have the key. */
export const isRequired = (key: string, schema: JsonSchema): boolean => {
  const required = requiredOf(schema)
  if (required.length < 8) return required.includes(key)
  return requiredKeys(required).has(key)
}

const requiredKeys = memoize((required: ReadonlyArray<string>): ReadonlySet<string> => new Set(required))

/** Returns the schema of an array's item. */
export const itemOf = (schema: JsonSchema, index: number): unknown => {
  const { items, prefixItems = Array.isArray(items) ? items : undefined } = schema
  if (Array.isArray(prefixItems) && index < prefixItems.length) return prefixItems[index]
  return Array.isArray(items) ? schema["additionalItems"] : items
}

/** Returns the schema for an undeclared key; `undefined` if the object's schema does not describe that key. */
export const extraOf = (schema: JsonSchema, key: string): unknown => {
  const matching = patternsFor(schema, key)
  if (matching.length === 1) return matching[0]
  return matching.length > 1 ? { allOf: matching } : schema["additionalProperties"] ?? schema["unevaluatedProperties"]
}

/**
 * Returns the schemas in `patternProperties` whose pattern matches a key. A pattern that cannot be compiled
 * counts as a match, and allows any value.
 */
export const patternsFor = (schema: JsonSchema, key: string): ReadonlyArray<unknown> => {
  const patterns = schema["patternProperties"]
  if (!isObject(patterns)) return none
  return compiledPatterns(patterns).flatMap(([pattern, inner]) =>
    pattern === undefined ? [true] : pattern.test(key) ? [inner] : none
  )
}

const compiledPatterns = memoize((patterns: JsonSchema): ReadonlyArray<readonly [Pattern | undefined, unknown]> =>
  Object.entries(patterns).map(([source, inner]) => [patternOf(source), inner])
)

/** Returns the schema of a part of a value: an item of an array, or the value of a key. */
export const innerOf = (schema: JsonSchema, key: string | number): unknown => {
  if (typeof key === "number") return itemOf(schema, key) ?? schema["unevaluatedItems"]
  const properties = propertiesOf(schema)
  return Object.hasOwn(properties, key) ? properties[key] : extraOf(schema, key)
}

/** Returns the own value of a key in a schema. */
export const valueAt = (node: unknown, key: string): unknown =>
  isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined

/** True if the schema allows values of the same type as this value. */
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

/**
 * Returns the member of a union that is nearest to a record. A member scores one for each key that it shares
 * with the record, less one for each required key that the record lacks. Returns `undefined` if the best
 * score is not positive, or if several members have it.
 */
export const nearest = (value: Record, members: ReadonlyArray<JsonSchema>): JsonSchema | undefined => {
  const shared = (member: JsonSchema) => {
    const keys = new Set(Object.keys(propertiesOf(member)))
    const sharedKeys = Object.keys(value).filter((key) => keys.has(key)).length
    return sharedKeys - requiredOf(member).filter((key) => !Object.hasOwn(value, key)).length
  }
  const [first, second] = members.filter((member) => allowsKind(member, value))
    .map((member) => ({ member, score: shared(member) }))
    .toSorted((one, other) => other.score - one.score)
  return first !== undefined && first.score > 0 && first.score > (second?.score ?? 0) ? first.member : undefined
}

// -----------------------------------------------------------------------------
// Unions
// -----------------------------------------------------------------------------

const isSpelledAlike = (choice: unknown, written: unknown): boolean =>
  typeof choice === "string" && typeof written === "string" && written.length <= longestChoice &&
  foldName(choice) === foldName(written)

/** The longest string that is compared with choices, in UTF-16 code units. */
export const longestChoice = 1000

const isChoice = (schema: JsonSchema): boolean => choicesOf(schema) !== undefined

// Merges the literals of a union into one enum, so that a string is compared with all of them together.
const joinChoices = (members: ReadonlyArray<JsonSchema>): ReadonlyArray<JsonSchema> => {
  const literals = members.filter(isChoice)
  if (literals.length < 2) return members
  const choices = { enum: literals.flatMap((member) => choicesOf(member)!) }
  return [choices, ...members.filter((member) => !isChoice(member))]
}

// Merges two schemas. Properties and required keys are combined. If both schemas have any other keyword, the
// first schema's value is used.
const merge = (first: JsonSchema, second: JsonSchema): JsonSchema => {
  if (Object.keys(first).length === 0) return second
  const properties = mergeProperties(propertiesOf(first), propertiesOf(second))
  const required = new Set([...requiredOf(first), ...requiredOf(second)])
  return {
    ...second,
    ...first,
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.size === 0 ? {} : { required: Array.from(required) })
  }
}

const mergeProperties = (first: JsonSchema, second: JsonSchema): JsonSchema =>
  Object.fromEntries([
    ...Object.entries(second),
    ...Object.entries(first).map(([key, schema]) => [
      key,
      Object.hasOwn(second, key) && second[key] !== schema ? { allOf: [schema, second[key]] } : schema
    ])
  ])

const getOrMake = <K, V>(memory: Map<K, V>, key: K, make: () => V): V => {
  const stored = memory.get(key)
  if (stored !== undefined || memory.has(key)) return stored!
  const made = make()
  if (memory.size > 10_000) memory.clear()
  memory.set(key, made)
  return made
}

/** The deepest nesting of unions that is followed. */
export const maxTurns = 8
