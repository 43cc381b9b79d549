/** Copies of JSON Schemas, with changes. Cycles, and what JSON cannot write, are refused by name. */
import { define, entriesOf, isArray, isContainer, isString, type JsonSchema } from "../json.ts"
import { newMap } from "../memo.ts"
import { pathOf, type Place, placeIn } from "../value.ts"
import { SchemaRefused } from "./inspect.ts"

/** Keywords that replace or join those of a schema in its copy. */
export type Changes = Map<object, JsonSchema>

/** Copies what JSON can write of a schema. */
export const copied = (schema: unknown, changes: Changes = newMap()): unknown => {
  let parts = 0
  const outer = new Set<unknown>()
  const copy = (value: unknown, place: Place | undefined): unknown => {
    if (!isContainer(value)) {
      if (isWritten(value)) return value
      throw refused(place, `JSON cannot write a ${typeof value}`)
    }
    if (outer.has(value)) throw refused(place, "it contains itself: use $defs and $ref")
    if (++parts > maxParts || outer.size > maxLevels) throw refused(place, "it is too large, or nested too deeply")
    outer.add(value)
    const made = isArray(value)
      ? value.map((item, index) => copy(item, placeIn(place, index)) ?? null)
      : copyKeys(value, place)
    outer.delete(value)
    return made
  }
  const copyKeys = (value: object, place: Place | undefined) => {
    const record: { [key: string]: unknown } = {}
    const change = changes.get(value)
    for (const [key, part] of entriesOf(change === undefined ? value : { ...value, ...change })) {
      if (part !== undefined) define(record, key, copy(part, placeIn(place, key)))
    }
    return record
  }
  return copy(schema, undefined)
}

const isWritten = (value: unknown): boolean =>
  value === null || value === undefined || typeof value === "boolean" || isString(value) || Number.isFinite(value)

const maxParts = 1_000_000
const maxLevels = 2_000

const refused = (place: Place | undefined, why: string): SchemaRefused => {
  const path = pathOf(place)
  return new SchemaRefused([{ path, keyword: String(path.at(-1) ?? ""), why }])
}

/** The copy of an object is an object. */
export const asSchema = (copy: unknown) => copy as JsonSchema
