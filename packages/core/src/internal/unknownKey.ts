/**
 * What is said of a key that an object may not have.
 */
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import * as Suggestion from "../Suggestion.ts"
import type { Conformance, UnknownKey } from "./conformance.ts"
import { strictly } from "./jsonReader.ts"
import { keysAt } from "./jsonSchema.ts"
import { isRecord, nameOf, partAt, type Path, type Value } from "./written.ts"

/** How all of it begins. */
export const noSuchKey = "no such key"

/** What to do about a key that an object may not have: send what is inside of it, or spell it as another. */
export const unknownKeyIn = ({ fits }: Conformance): UnknownKey => (record, key, keys, schema) => {
  const isMeant = (content: Value | undefined) =>
    isRecord(content) && Object.keys(content).length > 0 && fits(content, schema)
  const content = contentOf(record[key])
  if (isMeant(content)) return `${noSuchKey}; send what is inside of it`
  const inner = isRecord(content) ? Object.keys(content).find((inner) => isMeant(contentOf(content[inner]))) : undefined
  return inner === undefined
    ? noSuchKeyBut(nearestKey(key, keys, record))
    : `${noSuchKey}; send what is inside of its ${nameOf([inner])}`
}

// An object, or its strict JSON text.
const contentOf = (value: Value | undefined): Value | undefined => {
  if (typeof value !== "string" || !/^\s*\{/.test(value)) return value
  const read = strictly(value)
  return "kind" in read ? undefined : read.value
}

/** The same as far as the schema and the value as a whole tell. */
export const unknownKeyAt = (path: Path, input: unknown, schema: JsonSchema.JsonSchema): string =>
  noSuchKeyBut(nearestKey(String(path.at(-1)), keysAt(schema, path.slice(0, -1)), partAt(input, path.slice(0, -1))))

// The nearest of the keys that are free, if it is near enough; else of those that the object has.
const nearestKey = (written: string, keys: ReadonlyArray<string>, parent: unknown): string | undefined => {
  const [first] = meant(written, keys, parent)
  return first !== undefined && first === Suggestion.didYouMean(written, [first]) ? first : undefined
}

/** The keys that could have been meant by another: nearest first, and those that the object already has last. */
export const meant = (written: string, keys: ReadonlyArray<string>, parent: unknown): ReadonlyArray<string> => {
  const isUsed = (key: string) => Predicate.isObject(parent) && Object.hasOwn(parent, key)
  const near = Suggestion.nearest(written, keys)
  return [...near.filter((key) => !isUsed(key)), ...near.filter(isUsed)]
}

/** The same for the unknown key at the end of a path. */
export const meantAt = (schema: JsonSchema.JsonSchema, input: unknown, path: Path): ReadonlyArray<string> =>
  meant(String(path.at(-1)), keysAt(schema, path.slice(0, -1)), partAt(input, path.slice(0, -1)))

const noSuchKeyBut = (meant: string | undefined): string =>
  meant === undefined ? noSuchKey : `${noSuchKey}; did you mean '${meant}'?`
