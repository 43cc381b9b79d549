/**
 * A JSON Schema in a simpler form: references are resolved, `allOf` is merged, and the members of a union are
 * listed.
 *
 * The simpler form is used only to find out which value was meant. The original schema alone decides whether
 * a value fits. Everything is computed once for each document, so a schema must not change after its first
 * use.
 */
import {
  define,
  distinct,
  entriesOf,
  hasKey,
  isArray,
  isNumber,
  isObject,
  isString,
  itemsIn,
  type JsonSchema,
  keysOf,
  type Path
} from "../json.ts"
import { getOrInsert, memoize, newMap, newSet } from "../memo.ts"
import { foldName, isList, isRecord, own, type Record, type Value } from "../value.ts"
import { isEqual } from "./equal.ts"
import { inPlace, isAnnotation } from "./keyword.ts"
import { type Pattern, patternOf } from "./pattern.ts"
import { referencesIn } from "./reference.ts"

/** The schemas of one document (a schema with its definitions), and their simpler forms. */
export interface Document {
  /** Returns the schema that a schema's `$ref` points to; `undefined` if there is none, or no `$ref`. */
  readonly resolve: (schema: JsonSchema) => unknown
  /** Returns the schemas beside a schema that apply to the same value: the target of its `$ref`, and its subschemas. */
  readonly beside: (schema: JsonSchema) => ReadonlyArray<JsonSchema>
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
}

/** A key that distinguishes the members of a union, and its literals. */
export interface Tag {
  readonly key: string
  readonly choices: ReadonlyArray<unknown>
}

/** Returns the document of a schema that contains its definitions. */
export const documentOf = memoize((root: JsonSchema): Document => {
  const targetOf = remember(referencesIn(root))
  const resolve = (schema: JsonSchema): unknown => isString(schema["$ref"]) ? targetOf(schema) : undefined
  const beside = (schema: JsonSchema) => [...inPlace(schema), resolve(schema)].filter(isObject)

  // The schemas that are being flattened. If one of them is met again inside itself, it adds nothing there.
  const flattening = newSet<unknown>()
  const flatten = remember((schema: JsonSchema): JsonSchema => {
    if (flattening.has(schema)) return {}
    flattening.add(schema)
    // Definitions are left out, because they do not restrict a value. With them, flattening a recursive
    // schema would give a new schema at each level.
    const { $defs: _, $ref, allOf, definitions: __, ...rest } = schema
    const parts = [...(isString($ref) ? [resolve(schema)] : []), ...itemsIn(allOf)]
    const all = merge(rest, ...parts.map(flat))
    flattening.delete(schema)
    return all
  })

  const flat = (schema: unknown): JsonSchema => {
    if (!isObject(schema)) return schema === false ? nothing : anything
    return schema["$ref"] === undefined && schema["allOf"] === undefined ? schema : flatten(schema)
  }

  const members = remember((schema: JsonSchema): ReadonlyArray<JsonSchema> | undefined => {
    const { $defs: _, anyOf, definitions: __, nullable, oneOf, ...rest } = flat(schema)
    const alternatives = isArray(anyOf) ? anyOf : oneOf
    const nullMember = nullable === true ? [{ type: "null" }] : []
    if (isArray(alternatives)) {
      return [...joinChoices(alternatives.map((member) => flat(merge(rest, flat(member))))), ...nullMember]
    }
    const type = rest["type"]
    if (isArray(type) && !isChoice(rest)) return [...type.map((type) => ({ ...rest, type })), ...nullMember]
    return nullMember.length > 0 && type !== "null" ? [rest, ...nullMember] : undefined
  })

  const likely = (value: Value, members: ReadonlyArray<JsonSchema>): JsonSchema | undefined => {
    const fitting = members.filter((member) => allowsKind(member, value))
    if (!isRecord(value) || fitting.length < 2) return onlyOne(fitting)
    const onlyMatch = (matches: (choice: unknown, written: unknown) => boolean) =>
      onlyOne(fitting.filter((member) => {
        const literals = literalsOf(member).filter(([key]) => hasKey(value, key))
        return literals.length > 0 &&
          literals.every(([key, choices]) => choices.some((choice) => matches(choice, own(value, key))))
      }))
    return onlyMatch((choice, written) => choice === written) ?? onlyMatch(isSpelledAlike)
  }

  const literalsOf = remember((member: JsonSchema) =>
    entriesOf(propertiesOf(member)).flatMap(([key, property]) => {
      const choices = choicesOf(flat(property))
      return choices ? [[key, choices] as const] : []
    })
  )

  const tag = remember((members: ReadonlyArray<JsonSchema>): Tag | undefined => {
    const objects = members.filter((member) => member["type"] === "object")
    if (objects.length < 2) return undefined
    for (const key of declaredBy(objects[0]!)) {
      const choices = objects.map((member) => choicesOf(flat(valueAt(propertiesOf(member), key))))
      if (choices.every((some) => some !== undefined)) return { key, choices: distinct(choices.flat()) }
    }
    return undefined
  })

  // Includes all members of a union, because the member that was meant is unknown here.
  const withMembers = (schema: JsonSchema) => [schema, ...(members(schema) ?? [])]

  const at = (path: Path): JsonSchema | undefined =>
    path.reduce<JsonSchema | undefined>((at, key) => {
      const inner = at && withMembers(at).map((form) => innerOf(form, key)).find(isObject)
      return inner && flat(inner)
    }, flat(root))

  const formsAt = (path: Path): ReadonlyArray<JsonSchema> => {
    const schema = at(path)
    return schema ? withMembers(schema) : []
  }

  return { resolve, beside, flat, members, likely, tag, at, formsAt }
})

const onlyOne = <A>(members: ReadonlyArray<A>) => members.length === 1 ? members[0] : undefined

// -----------------------------------------------------------------------------
// Keywords
// -----------------------------------------------------------------------------

/** Returns the choices of a schema that has an `enum` or a `const`. */
export const choicesOf = (schema: JsonSchema): ReadonlyArray<unknown> | undefined => {
  if (hasKey(schema, "const")) return constantOf(schema)
  const choices = schema["enum"]
  return isArray(choices) ? choices : undefined
}

const constantOf = memoize(({ const: only, enum: choices }: JsonSchema): ReadonlyArray<unknown> =>
  isArray(choices) ? choices.filter((choice) => isEqual(choice, only)) : [only]
)

/** Returns the declared properties of an object. */
export const propertiesOf = (schema: JsonSchema): JsonSchema => {
  const properties = schema["properties"]
  return isObject(properties) ? properties : noProperties
}

/** Returns the keys that an object declares. */
export const declaredBy = (schema: JsonSchema): ReadonlyArray<string> => keysOf(propertiesOf(schema))

/** True if a schema declares a key, by its name or by a pattern. */
export const declares = (schema: JsonSchema, key: string): boolean =>
  hasKey(propertiesOf(schema), key) || patternsFor(schema, key).length > 0

const noProperties = {}
const anything = {}
const nothing = { not: {} }
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
  const { additionalItems, items, prefixItems = items } = schema
  return isArray(prefixItems) && index < prefixItems.length
    ? prefixItems[index]
    : isArray(items)
    ? additionalItems
    : items
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
    pattern ? (pattern.test(key) ? [inner] : none) : [true]
  )
}

const compiledPatterns = memoize((patterns: JsonSchema): ReadonlyArray<readonly [Pattern | undefined, unknown]> =>
  entriesOf(patterns).map(([source, inner]) => [patternOf(source), inner])
)

/** Returns the schema of a part of a value: an item of an array, or the value of a key. */
export const innerOf = (schema: JsonSchema, key: string | number): unknown => {
  if (isNumber(key)) return itemOf(schema, key) ?? schema["unevaluatedItems"]
  const properties = propertiesOf(schema)
  return hasKey(properties, key) ? properties[key] : extraOf(schema, key)
}

/** Returns the own value of a key in a schema. */
export const valueAt = (node: unknown, key: string): unknown =>
  isObject(node) && hasKey(node, key) ? node[key] : undefined

/** True if the schema allows values of the same type as this value. */
export const allowsKind = (schema: JsonSchema, value: Value): boolean => {
  const choices = choicesOf(schema)
  if (choices) return choices.some((choice) => typeof choice === typeof value)
  const { type } = schema
  return type === undefined || (isArray(type) ? type : [type]).some((type) => isKind(type, value))
}

const isKind = (type: unknown, value: Value): boolean =>
  type === "array"
    ? isList(value)
    : type === "object"
    ? isRecord(value)
    : type === "null"
    ? value === null
    : type === "integer"
    ? isNumber(value)
    : typeof value === type

/**
 * Returns the member of a union that is nearest to a record. A member scores one for each key that it shares
 * with the record, less one for each required key that the record lacks. Returns `undefined` if the best
 * score is not positive, or if several members have it.
 */
export const nearest = (value: Record, members: ReadonlyArray<JsonSchema>): JsonSchema | undefined => {
  const shared = (member: JsonSchema) => {
    const properties = propertiesOf(member)
    const sharedKeys = keysOf(value).filter((key) => hasKey(properties, key)).length
    return sharedKeys - requiredOf(member).filter((key) => !hasKey(value, key)).length
  }
  const [first, second] = members.filter((member) => allowsKind(member, value))
    .map((member) => ({ member, score: shared(member) }))
    .toSorted((one, other) => other.score - one.score)
  return first && first.score > 0 && first.score > (second?.score ?? 0) ? first.member : undefined
}

// -----------------------------------------------------------------------------
// Unions
// -----------------------------------------------------------------------------

const isSpelledAlike = (choice: unknown, written: unknown): boolean =>
  isString(choice) && isString(written) && written.length <= longestChoice &&
  foldName(choice) === foldName(written)

/** The longest string that is compared with choices, in UTF-16 code units. */
export const longestChoice = 1000

const isChoice = (schema: JsonSchema): boolean => choicesOf(schema) !== undefined

/** For a union of nothing but literals: how many of its members have each of them. */
export const literalsIn = memoize((members: ReadonlyArray<unknown>): { readonly counts?: Map<unknown, number> } => {
  const counts = newMap<unknown, number>()
  for (const member of members) {
    const choices = isObject(member) && keysOf(member).every(isOfLiteral) ? choicesOf(member) : undefined
    if (!choices) return {}
    for (const choice of new Set(choices)) counts.set(choice, (counts.get(choice) ?? 0) + 1)
  }
  return { counts }
})

const isOfLiteral = (keyword: string): boolean => keyword === "const" || keyword === "enum" || isAnnotation(keyword)

// Merges the literals of a union into one enum, so that a string is compared with all of them together.
const joinChoices = (members: ReadonlyArray<JsonSchema>): ReadonlyArray<JsonSchema> => {
  const literals = members.filter(isChoice)
  if (literals.length < 2) return members
  const choices = { enum: literals.flatMap((member) => choicesOf(member)!) }
  return [choices, ...members.filter((member) => !isChoice(member))]
}

// Merges schemas. Properties and required keys are combined. If several schemas have any other keyword, the
// first schema's value is used.
const merge = (...schemas: ReadonlyArray<JsonSchema>): JsonSchema => {
  const some = schemas.filter((schema) => keysOf(schema).length > 0)
  if (some.length < 2) return some[0] ?? anything
  const properties = newMap<string, Set<unknown>>()
  for (const schema of some) {
    for (const [key, property] of entriesOf(propertiesOf(schema))) {
      getOrInsert(properties, key, newSet).add(property)
    }
  }
  const merged: { [keyword: string]: unknown } = {}
  for (const schema of some) {
    for (const key of keysOf(schema)) if (!hasKey(merged, key)) define(merged, key, schema[key])
  }
  const required = distinct(some.flatMap(requiredOf))
  return {
    ...merged,
    ...(properties.size === 0 ? {} : {
      properties: Object.fromEntries(
        Array.from(properties, ([key, all]) => [key, all.size === 1 ? onlyOne([...all]) : { allOf: [...all] }])
      )
    }),
    ...(required.length === 0 ? {} : { required })
  }
}

// Returns a function that remembers its results. In contrast to `memoize`, it may return `undefined`, and its memory is
// limited: a recursive schema has new flat schemas at each level.
const remember = <K, V>(make: (key: K) => V): (key: K) => V => {
  const memory = newMap<K, V>()
  return (key) => {
    const stored = memory.get(key)
    if (stored !== undefined || memory.has(key)) return stored!
    const made = make(key)
    if (memory.size > 10_000) memory.clear()
    memory.set(key, made)
    return made
  }
}

/** The deepest nesting of unions that is followed. */
export const maxTurns = 8
