/**
 * JSON Schemas as one reads them: references resolved, `allOf` in one piece, the members of a union side by side.
 *
 * What is laid flat serves to find what a value was meant to be; whether it fits is always decided
 * by the schema as it stands.
 */
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import { folded, isList, isRecord, own, type Path, type Record, type Value } from "./written.ts"

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
  /** The key by whose literals the objects of a union are told apart, and these literals. */
  readonly tag: (members: ReadonlyArray<Node>) => Tag | undefined
  /** Does a path of the document lead through a union? */
  readonly isInUnion: (path: Path) => boolean
  /** Is what stands at a path, a part of it, or what it is a part of, a secret: never to be quoted? */
  readonly isSecretAt: (path: Path) => boolean
}

/** What tells the members of a union apart. */
export interface Tag {
  readonly key: string
  readonly choices: ReadonlyArray<unknown>
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
    if (depth > mostReferences) return {}
    // Definitions say nothing of a value, and would make another schema of what refers to itself at each turn.
    const { $defs: _, $ref, allOf, definitions: __, ...rest } = schema
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
      const { $defs: _, anyOf, definitions: __, oneOf, ...rest } = flat(schema)
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
  const literals = new Map<Node, Literals>()
  const literalsOf = (member: Node): Literals =>
    remember(literals, member, () =>
      Object.entries(propertiesOf(member)).flatMap(([key, property]) => {
        const choices = choicesOf(flat(property))
        return choices === undefined ? [] : [[key, choices]]
      }))

  const tags = new Map<ReadonlyArray<Node>, Tag | undefined>()
  const tag = (members: ReadonlyArray<Node>): Tag | undefined => remember(tags, members, () => tagOf(members))

  const tagOf = (members: ReadonlyArray<Node>): Tag | undefined => {
    const objects = members.filter((member) => member["type"] === "object")
    const [first] = objects
    if (first === undefined || objects.length < 2) return undefined
    for (const key of Object.keys(propertiesOf(first))) {
      const choices = objects.map((member) => choicesOf(flat(at(propertiesOf(member), key))))
      if (choices.every(Predicate.isNotUndefined)) return { key, choices: Array.from(new Set(choices.flat())) }
    }
    return undefined
  }

  // A schema and the members of its union, and of theirs.
  const forms = (schema: unknown, found = new Set<Node>()): ReadonlySet<Node> => {
    const node = flat(schema)
    if (!found.has(node)) {
      found.add(node)
      for (const member of members(node) ?? []) forms(member, found)
    }
    return found
  }

  // All forms at each step of a path, as far as they are said.
  const along = (path: Path): ReadonlyArray<ReadonlyArray<Node>> => {
    const steps: Array<ReadonlyArray<Node>> = [Array.from(forms(root))]
    for (const key of path) {
      const next = new Set<Node>()
      for (const node of steps.at(-1)!) {
        const schema = innerOf(node, key)
        if (Predicate.isObject(schema)) forms(schema, next)
      }
      if (next.size === 0) break
      steps.push(Array.from(next))
    }
    return steps
  }

  const isInUnion = (path: Path): boolean => along(path).slice(0, path.length).some((nodes) => nodes.length > 1)

  const isSecretAt = (path: Path): boolean => {
    if (!hasSecrets()) return false
    const steps = along(path)
    // What stands where nothing is declared may be any part of what surrounds it.
    return steps.some((nodes) => nodes.some(isSecret)) || steps.at(-1)!.some((node) => holdsSecret(node, new Set()))
  }

  const holdsSecret = (schema: unknown, seen: Set<unknown>): boolean => {
    if (!Predicate.isObject(schema) || seen.has(schema)) return false
    seen.add(schema)
    return Array.from(forms(schema)).some((node) =>
      isSecret(node) || partsOf(node).some((part) => holdsSecret(part, seen))
    )
  }

  let known: boolean | undefined
  const hasSecrets = () => known ??= mentionsSecret(root)

  return { resolve, flat, members, likely, tag, isInUnion, isSecretAt }
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

/** The schema of a part: an array's item, or what stands under a key. */
export const innerOf = (schema: Node, key: string | number): unknown => {
  if (typeof key === "number") return itemOf(schema, key)
  const properties = propertiesOf(schema)
  return Object.hasOwn(properties, key) ? properties[key] : extraOf(schema, key)
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

// As `Schema.Redacted` is shown, or as schemas from elsewhere say it.
const isSecret = ({ format, writeOnly }: Node): boolean => writeOnly === true || format === "password"

/** Is anything in it a secret? */
export const mentionsSecret = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.some(mentionsSecret)
    : Predicate.isObject(value) && (isSecret(value) || Object.values(value).some(mentionsSecret))

const partsOf = (node: Node): ReadonlyArray<unknown> => {
  const { additionalItems, additionalProperties, items, patternProperties, prefixItems } = node
  const lists = [items, prefixItems].flatMap((part: unknown) => Array.isArray(part) ? part : [part])
  const keys = [propertiesOf(node), patternProperties].flatMap((part) =>
    Predicate.isObject(part) ? Object.values(part) : []
  )
  return [additionalItems, additionalProperties, ...lists, ...keys]
}

const isSpelledAlike = (choice: unknown, written: unknown): boolean =>
  typeof choice === "string" && typeof written === "string" && written.length <= longestChoice &&
  folded(choice) === folded(written)

/** A longer text is no choice. */
export const longestChoice = 1000

const patterns = new Map<string, RegExp | undefined>()

// In a row: one that refers to itself has no end.
const mostReferences = 32

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
