/** The defaults of a JSON Schema, filled in. */
import {
  asJson,
  define,
  entriesOf,
  hasKey,
  isArray,
  isJsonObject,
  isObject,
  type Json,
  type JsonSchema
} from "../json.ts"
import { type Document, documentOf, innerOf, propertiesOf } from "./document.ts"

/**
 * Fills in the declared defaults of keys that a value leaves out. A `default` is only a promise: whether it is kept, the
 * validator decides. In a union, the defaults are those of the member that is probably meant. Returns the same reference if
 * nothing is left out.
 */
export const withDefaults = (value: Json, schema: JsonSchema): Json => filled(value, schema, documentOf(schema))

const filled = (value: Json, schema: unknown, document: Document): Json => {
  const whole = document.flat(schema)
  const members = document.members(whole)
  const flat = members === undefined ? whole : document.likely(value, members)
  if (flat === undefined) return value
  if (isArray(value)) {
    const items = value.map((item, index) => filled(item, innerOf(flat, index), document))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  if (!isJsonObject(value)) return value
  const record: { [key: string]: Json } = {}
  let isSame = true
  for (const [key, part] of entriesOf(value)) {
    const inner = filled(part, innerOf(flat, key), document)
    isSame &&= inner === part
    define(record, key, inner)
  }
  for (const [key, property] of entriesOf(propertiesOf(flat))) {
    const { default: byDefault } = document.flat(property)
    if (hasKey(value, key) || byDefault === undefined || !isObject(property)) continue
    isSame = false
    define(record, key, asJson(byDefault))
  }
  return isSame ? value : record
}
