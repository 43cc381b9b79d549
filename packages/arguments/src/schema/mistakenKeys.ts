/**
 * Mistaken keys: undeclared keys of an object that stand for declared ones.
 *
 * An open object allows any key, so `{"dry_run":true}` fits a schema that declares an optional `dryRun`. The tool would not
 * see the key, and would act. So a key that is another spelling of an absent declared key counts as mistaken, and so does
 * a wrapper around declared keys. The schema alone says that such a value fits.
 */
import { distinct, hasKey, isObject, isString, type JsonSchema, keysOf } from "../json.ts"
import { memoize } from "../memo.ts"
import { deepest } from "../options.ts"
import { plainly } from "../text/reader.ts"
import {
  foldName,
  groupBy,
  isList,
  isRecord,
  keysIn,
  loosely,
  partIn,
  type Place,
  placeIn,
  type Record,
  type Value
} from "../value.ts"
import { declaredBy, declares, documentOf, innerOf, propertiesOf } from "./document.ts"
import { schemasIn } from "./keyword.ts"
import { reachable } from "./reachable.ts"

/** The keys that may be wrappers. */
const wrappers: ReadonlySet<string> = new Set(["arguments", "args", "parameters", "params", "input", "properties"])

/** True if a key may be a wrapper, in any case. */
export const isWrapper = (key: string): boolean => wrappers.has(key.toLowerCase())

// What a wrapper holds: an object, its JSON text, or a list of one.
const contentOf = (value: Value): Value | undefined => {
  const content = isList(value) && value.length === 1 ? value[0] : value
  return objectIn(content, deepest)
}

/**
 * Parses a string that looks like a JSON object (`undefined` if it is not strict JSON). Returns any other value as it is.
 */
export const objectIn = (value: Value | undefined, depth: number): Value | undefined => {
  if (!isString(value) || !/^\s*\{/.test(value)) return value
  const parsed = plainly(value, { depth })
  return "kind" in parsed ? undefined : parsed.value
}

const looseSpellings = memoize((properties: JsonSchema) => groupBy(keysOf(properties), loosely))

/** Returns the key of an object with a single key, if that key may be a wrapper; otherwise `undefined`. */
export const wrapperOf = (value: Record): string | undefined => {
  for (const key of wrappers) if (hasKey(value, key)) return keysOf(value).length === 1 ? key : undefined
  return undefined
}

/** An undeclared key that stands for a declared one. */
export interface MistakenKey {
  readonly place: Place
  readonly parent: Record
  readonly value: Value
  /** The keys that the object declares. */
  readonly declared: ReadonlyArray<string>
}

/** The longest key that is compared with others, in UTF-16 code units. */
export const longestKey = 200

/** Groups the declared keys of an object by their spelling without case and separators. */
export const spellingsOf = memoize((properties: JsonSchema) => groupBy(keysOf(properties), foldName))

/**
 * Returns a test for values in which a key may be mistaken. It looks at no more than the keys, and at the names that the
 * whole document declares, so it is cheap, and false for nearly all values.
 */
export const suspicionOf: (root: JsonSchema) => (value: Value) => boolean = memoize((root) => {
  const { resolve } = documentOf(root)
  const schemas = reachable(
    [root],
    (schema) => [...schemasIn(schema).map(([, inner]) => inner), resolve(schema)].filter(isObject)
  )
  // An object that allows no other keys than the declared ones has no mistaken keys.
  const isOpen = (schema: JsonSchema) => schema["additionalProperties"] !== false && declaredBy(schema).length > 0
  const names = Array.from(schemas).some(isOpen) ? Array.from(schemas, declaredBy).flat() : []
  const spellings = groupBy(distinct(names), loosely)
  const isSuspicious = (value: Value): boolean => {
    if (isList(value)) return value.some(isSuspicious)
    return isRecord(value) &&
      keysOf(value).some((key) => isWrapper(key) || isRespelt(key, value, spellings) || isSuspicious(value[key]!))
  }
  return (value) => spellings.size > 0 && isSuspicious(value)
})

/**
 * Finds the mistaken keys of a value that fits a schema.
 *
 * @param partsFor returns the schemas beside a schema that the same value fits: the target of its `$ref`, the members of
 * its unions, and so on
 * @param limit the most keys to find
 */
export const mistakenKeys = (
  value: Value,
  schema: unknown,
  partsFor: (value: Value & object, schema: JsonSchema) => ReadonlyArray<JsonSchema>,
  limit: number
): ReadonlyArray<MistakenKey> => {
  const found: Array<MistakenKey> = []
  const walk = (value: Value, schemas: ReadonlyArray<unknown>, place: Place | undefined): void => {
    if (!isList(value) && !isRecord(value)) return
    const nodes = Array.from(reachable(schemas.filter(isObject), (schema) => partsFor(value, schema)))
    if (nodes.length === 0) return
    if (isRecord(value)) inspect(value, nodes, place)
    for (const key of keysIn(value)) {
      if (found.length >= limit) return
      walk(partIn(value, key), nodes.map((node) => innerOf(node, key)), placeIn(place, key))
    }
  }
  const inspect = (value: Record, nodes: ReadonlyArray<JsonSchema>, place: Place | undefined): void => {
    const isDeclared = (key: string) => nodes.some((node) => declares(node, key))
    const undeclared = keysOf(value).filter((key) => !isDeclared(key))
    if (undeclared.length === 0) return
    const isAbsent = (key: string) => nodes.some((node) => isRespelt(key, value, looseSpellings(propertiesOf(node))))
    for (const key of undeclared) {
      const content = isWrapper(key) ? contentOf(value[key]!) : undefined
      const isMistaken = isAbsent(key) ||
        isRecord(content) &&
          keysOf(content).some((inner) => isDeclared(inner) && !hasKey(value, inner) || isAbsent(inner))
      if (!isMistaken || found.length >= limit) continue
      const declared = distinct(nodes.flatMap(declaredBy))
      found.push({ place: placeIn(place, key), parent: value, value: value[key]!, declared })
    }
  }
  walk(value, [schema], undefined)
  return found
}

/** True if a key is another spelling of a declared key that the object lacks. */
const isRespelt = (key: string, value: Record, spellings: ReadonlyMap<string, ReadonlyArray<string>>): boolean =>
  key.length <= longestKey && loosely(key) !== "" &&
  spellings.get(loosely(key))?.some((name) => name !== key && !hasKey(value, name)) === true
