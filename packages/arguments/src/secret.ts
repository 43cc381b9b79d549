/** Decides which parts of a value are secret: never quoted, and never shown. */
import { isObject, type JsonSchema, type Path } from "./json.ts"
import { memoize } from "./memo.ts"
import type { Options } from "./options.ts"
import { documentOf, innerOf } from "./schema/document.ts"
import { foldName } from "./value.ts"

/**
 * Returns a test for paths whose value is secret, contains a secret, or is part of one. The schema and the
 * option `secrets` declare which values are secret.
 */
export const secretsOf = (schema: JsonSchema, { secrets = [] }: Pick<Options, "secrets">): (path: Path) => boolean => {
  if (secrets.length === 0 && !hasSecrets(schema)) return () => false
  const { at } = documentOf(schema)
  return (path) =>
    isSecretAt(schema, path) ||
    secrets.some((secret) =>
      secret.slice(0, path.length).every((key, index) => key === "*" || isSpelledAs(String(key), String(path[index])))
    ) ||
    // The value at an undeclared path may be a secret under another name.
    secrets.length > 0 && path.length > 0 && Object.keys(schema).length > 0 && at(path) === undefined
}

// A key in a different spelling may be renamed to the declared key, so its value is just as secret.
const isSpelledAs = (key: string, written: string): boolean => key === written || foldName(key) === foldName(written)

const isSecretAt = (schema: JsonSchema, path: Path): boolean => {
  if (!hasSecrets(schema)) return false
  const { holds, inside, isSecret, isTuple, whole } = secrecyOf(schema)
  let nodes = whole
  for (const key of path) {
    if (isSecret(nodes) || typeof key === "number" && isTuple(nodes)) return true
    const next = inside(nodes, key)
    // The value at an undeclared path may be any part of its container, so the container decides.
    if (next.size === 0) break
    nodes = next
  }
  return holds(nodes)
}

/** True if any part of a schema is marked as secret: as `writeOnly`, or with the format `password`. */
export const hasSecrets: (schema: object) => boolean = memoize((root: object): boolean => {
  // A schema from elsewhere may be nested very deeply, and a schema that a program built may contain itself.
  // So there is no recursion, and each part is visited once.
  const seen = new Set<object>([root])
  for (const value of seen) {
    if (isObject(value) && isMarked(value)) return true
    const parts: ReadonlyArray<unknown> = Object.values(value)
    for (const part of parts) if (typeof part === "object" && part !== null) seen.add(part)
  }
  return false
})

// Core turns `Redacted` into `writeOnly`. Schemas from elsewhere use either form.
const isMarked = ({ format, writeOnly }: JsonSchema): boolean => writeOnly === true || format === "password"

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

/** Returns what a schema says about secrets. */
export const secrecyOf = memoize((root: JsonSchema): Secrecy => {
  const { resolve } = documentOf(root)

  const applicableTo = (schema: unknown, collected = new Set<JsonSchema>()): Set<JsonSchema> => {
    const queue = new Set([schema])
    for (const next of queue) {
      if (!isObject(next)) continue
      collected.add(next)
      const { $ref, allOf, anyOf, dependencies, dependentSchemas, else: otherwise, if: condition, not, oneOf, then } =
        next
      const lists = [allOf, anyOf, oneOf].flatMap((list: unknown) => Array.isArray(list) ? list : [])
      const byKey = [dependencies, dependentSchemas].flatMap((of) => isObject(of) ? Object.values(of) : [])
      const target = typeof $ref === "string" ? [resolve(next)] : []
      for (const part of [...target, ...lists, ...byKey, condition, then, otherwise, not]) queue.add(part)
    }
    return collected
  }

  // True if a schema, or a schema that it refers to, declares a secret.
  const holdsIn = memoize((schema: object): boolean => {
    const queue = new Set([schema])
    for (const node of queue) {
      if (isObject(node) && isMarked(node)) return true
      for (const [key, part] of Object.entries(node)) {
        if (typeof part === "object" && part !== null && key !== "$defs" && key !== "definitions") queue.add(part)
      }
      const target = isObject(node) && typeof node["$ref"] === "string" ? resolve(node) : undefined
      if (typeof target === "object" && target !== null) queue.add(target)
    }
    return false
  })

  // A text of JSON with a secret in it is shown whole or not at all.
  const isSecretText = ({ contentSchema }: JsonSchema): boolean => isObject(contentSchema) && holdsIn(contentSchema)

  return {
    whole: applicableTo(root),
    inside: (nodes, key) => {
      const parts = new Set<JsonSchema>()
      for (const node of nodes) applicableTo(innerOf(node, key), parts)
      return parts
    },
    isSecret: (nodes) => Array.from(nodes).some((node) => isMarked(node) || isSecretText(node)),
    isTuple: (nodes) =>
      Array.from(nodes).some((node) =>
        (Array.isArray(node["prefixItems"]) || Array.isArray(node["items"])) && holdsIn(node)
      ),
    holds: (nodes) => Array.from(nodes).some(holdsIn)
  }
})
