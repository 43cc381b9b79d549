/** The defaults of a JSON Schema, left out of a value. */
import { define, entriesOf, hasKey, isArray, isJsonObject, type Json, type JsonSchema, keysOf } from "../json.ts"
import { declares, type Document, documentOf, innerOf, propertiesOf, requiredOf, valueAt } from "./document.ts"
import { isEqual } from "./equal.ts"

/**
 * Leaves out the keys of a value that have their declared default. A `default` is only a promise: whether it is kept, the
 * validator decides. In a union, the defaults are those of the member that is probably meant. Returns the same reference if
 * nothing is left out.
 */
export const withoutDefaults = (value: Json, schema: JsonSchema): Json => bare(value, schema, documentOf(schema))

const bare = (value: Json, schema: unknown, document: Document): Json => {
  const whole = document.flat(schema)
  const members = document.members(whole)
  const flat = members === undefined ? whole : document.likely(value, members) ?? onlyWithKeys(value, members)
  if (flat === undefined) return value
  if (isArray(value)) {
    const items = value.map((item, index) => bare(item, innerOf(flat, index), document))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  if (!isJsonObject(value)) return value
  const record: { [key: string]: Json } = {}
  let isSame = true
  for (const [key, part] of entriesOf(value)) {
    const { default: byDefault } = document.flat(valueAt(propertiesOf(flat), key))
    const isDefault = byDefault !== undefined && isEqual(byDefault, part)
    const inner = bare(part, innerOf(flat, key), document)
    isSame &&= !isDefault && inner === part
    if (!isDefault) define(record, key, inner)
  }
  return isSame ? value : record
}

/** Returns the only member of a union that has the keys of a value; `undefined` if there is none, or several. */
const onlyWithKeys = (value: Json, members: ReadonlyArray<JsonSchema>): JsonSchema | undefined => {
  if (!isJsonObject(value)) return undefined
  const [first, ...others] = members.filter((member) =>
    keysOf(value).every((key) => declares(member, key)) && requiredOf(member).every((key) => hasKey(value, key))
  )
  return others.length === 0 ? first : undefined
}
