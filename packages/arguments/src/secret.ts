/** Decides which parts of a value are secret: never quoted, and never shown. */
import {
  entriesOf,
  isArray,
  isContainer,
  isNumber,
  isObject,
  type JsonSchema,
  keysOf,
  partAt,
  type Path
} from "./json.ts"
import { memoize, newMap } from "./memo.ts"
import type { Options } from "./options.ts"
import { asSchema, type Changes, copied } from "./schema/copied.ts"
import { documentOf, innerOf, propertiesOf } from "./schema/document.ts"
import { allSchemas } from "./schema/keyword.ts"
import { reachable } from "./schema/reachable.ts"
import { foldName } from "./value.ts"

/**
 * Returns a test for paths whose value is secret, contains a secret, or is part of one. The schema and the
 * option `secrets` declare which values are secret.
 */
export const secretsOf = (schema: JsonSchema, { secrets = [] }: Pick<Options, "secrets">): (path: Path) => boolean => {
  if (!mayHoldSecrets(schema, { secrets })) return never
  const { at } = documentOf(schema)
  return (path) =>
    isSecretAt(schema, path) ||
    secrets.some((secret) =>
      secret.slice(0, path.length).every((key, index) => key === "*" || isSpelledAs(String(key), String(path[index])))
    ) ||
    // The value at an undeclared path may be a secret under another name.
    secrets.length > 0 && path.length > 0 && keysOf(schema).length > 0 && !at(path)
}

const never = () => false

/** True if the schema or the option `secrets` declares a secret. Then no part of an unreadable text is quoted. */
export const mayHoldSecrets = (schema: JsonSchema, { secrets = [] }: Pick<Options, "secrets">): boolean =>
  secrets.length > 0 || hasSecrets(schema)

// A key in a different spelling may be renamed to the declared key, so its value is just as secret.
const isSpelledAs = (key: string, written: string): boolean => key === written || foldName(key) === foldName(written)

const isSecretAt = (schema: JsonSchema, path: Path): boolean => {
  if (!hasSecrets(schema)) return false
  const { holds, inside, isSecret, isTuple, whole } = secrecyOf(schema)
  let nodes = whole
  for (const key of path) {
    if (isSecret(nodes) || isNumber(key) && isTuple(nodes)) return true
    const next = inside(nodes, key)
    // The value at an undeclared path may be any part of its container, so the container decides.
    if (next.size === 0) break
    nodes = next
  }
  return holds(nodes)
}

/** True if any part of a schema is marked as secret: as `writeOnly`, or with the format `password`. */
export const hasSecrets: (schema: object) => boolean = memoize((root) => holdsMark(root, (part) => Object.values(part)))

/** Returns the keys, at any depth, whose values are secret or hold a secret. */
export const secretKeysIn = (root: JsonSchema): ReadonlySet<string> => {
  if (!hasSecrets(root)) return new Set()
  const { holds } = secrecyOf(root)
  return new Set(propertiesIn(root).flatMap(([key, property]) => holds(new Set([property])) ? [key] : []))
}

/**
 * Returns a copy of a JSON Schema in which a key is secret if it is so in another one of the same value, before or after a
 * validation. If that one marks what is at no key, or at a key that is nowhere else, the whole value is secret.
 */
export const withSecretsOf = (schema: JsonSchema, other: object): JsonSchema => {
  if (!hasSecrets(other)) return schema
  const root: JsonSchema = { ...other }
  const { resolve } = documentOf(root)
  // Whatever is at the same key: an item, a member of a union, or what a reference leads to.
  const isSecret = (first: JsonSchema): boolean =>
    holdsMark(first, (part) => {
      const { $defs: _, definitions: __, properties: ___, ...rest }: JsonSchema = { ...part }
      return [...Object.values(rest), resolve(rest)]
    })
  const keys = new Set(propertiesIn(root).flatMap(([key, property]) => isSecret(property) ? [key] : []))
  const own = propertiesIn(schema).filter(([key]) => keys.has(key))
  const isElsewhere = isSecret(root) || Array.from(keys).some((key) => !own.some(([ownKey]) => ownKey === key))
  const changes: Changes = newMap()
  for (const part of isElsewhere ? [schema] : own.map(([, property]) => property)) {
    changes.set(part, { writeOnly: true })
  }
  return asSchema(copied(schema, changes))
}

/** Returns all properties that a JSON Schema declares, at any depth. */
const propertiesIn = (root: JsonSchema): ReadonlyArray<readonly [key: string, property: JsonSchema]> =>
  Array.from(allSchemas(root)).flatMap((schema) =>
    entriesOf(propertiesOf(schema)).flatMap(([key, property]) => isObject(property) ? [[key, property] as const] : [])
  )

// True if one of these objects and arrays is marked, beginning with the first.
const holdsMark = (first: object, partsOf: (of: object) => ReadonlyArray<unknown>): boolean =>
  Array.from(reachable([first], (of) => partsOf(of).filter(isContainer))).some((part) =>
    isObject(part) && isMarked(part)
  )

// Core turns `Redacted` into `writeOnly`. Schemas from elsewhere use either form.
const isMarked = ({ format, writeOnly }: JsonSchema): boolean => writeOnly === true || format === "password"

/**
 * True if the words of a library about a part of a value may be told. They are not if that part is a secret itself, or if they
 * quote a secret from anywhere.
 */
export const mayTell = (words: string, path: Path, value: unknown, isSecret: (path: Path) => boolean): boolean =>
  // An object with a secret in it is no secret itself.
  (!isSecret(path) || isContainer(partAt(value, path))) && !quotesSecret(words, value, isSecret)

/** True if a text quotes a secret of a value, or six characters of one, in whatever case, and however it is escaped. */
export const quotesSecret = (text: string, value: unknown, isSecret: (path: Path) => boolean): boolean => {
  const words = plainly(text)
  const quotes = (part: unknown, path: Path): boolean =>
    isContainer(part)
      ? entriesOf(part).some(([key, inner]) => quotes(inner, [...path, isArray(part) ? Number(key) : key]))
      : part !== "" && isSecret(path) && (text.includes(String(part)) || share(words, plainly(String(part))))
  return quotes(value, [])
}

// Line breaks are shown as spaces, and quotes and backslashes may be escaped.
const plainly = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "")

const share = (words: string, secret: string): boolean => {
  if (secret.length < telling) return secret !== "" && words.includes(secret)
  const [short, long] = words.length < secret.length ? [words, secret] : [secret, words]
  for (let at = 0; at + telling <= short.length; at++) if (long.includes(short.slice(at, at + telling))) return true
  return false
}

/** So many characters of a secret tell something of it. */
const telling = 6

/** All schemas of a document that may apply to one part of a value, including conditional ones. */
export type Applicable = ReadonlySet<JsonSchema>

/** What the schemas of a document say about secrets. */
export interface Secrecy {
  /** The schemas for the whole value. */
  readonly whole: Applicable
  /** Returns the schemas for a part of a value. There are none if the part is not declared. */
  readonly inside: (nodes: Applicable, key: string | number) => Applicable
  /** True if the value itself is secret. */
  readonly isSecret: (nodes: Applicable) => boolean
  /** True if the value is a tuple with a secret. In a list that does not fit, any item may be that secret. */
  readonly isTuple: (nodes: Applicable) => boolean
  /** True if the value is secret, or if a part of it may be. */
  readonly holds: (nodes: Applicable) => boolean
}

const someOf = (test: (node: JsonSchema) => boolean) => (nodes: Applicable): boolean => Array.from(nodes).some(test)

/** Returns what a schema says about secrets. */
export const secrecyOf = memoize((root: JsonSchema): Secrecy => {
  const { beside, resolve } = documentOf(root)

  // True if a schema, or a schema that it refers to, declares a secret.
  const holdsIn = memoize((schema: object): boolean =>
    holdsMark(schema, (node) => {
      const parts = entriesOf(node).filter(([key]) => key !== "$defs" && key !== "definitions")
      return [...parts.map(([, part]) => part), isObject(node) ? resolve(node) : undefined]
    })
  )

  // A text of JSON with a secret in it is shown whole or not at all.
  const isSecretText = ({ contentSchema }: JsonSchema): boolean => isObject(contentSchema) && holdsIn(contentSchema)

  return {
    whole: reachable([root], beside),
    inside: (nodes, key) => reachable(Array.from(nodes, (node) => innerOf(node, key)).filter(isObject), beside),
    isSecret: someOf((node) => isMarked(node) || isSecretText(node)),
    isTuple: someOf((node) => (isArray(node["prefixItems"]) || isArray(node["items"])) && holdsIn(node)),
    holds: someOf(holdsIn)
  }
})
