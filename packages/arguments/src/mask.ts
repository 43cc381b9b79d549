/** Values and argument texts as they may be shown: with a mask in place of each secret. */
import { fits } from "./fit.ts"
import { isJsonObject, isObject, type Json, type JsonSchema, type Path } from "./json.ts"
import { read } from "./read.ts"
import { describes } from "./schema/described.ts"
import { usable } from "./schema/inspect.ts"
import { type Applicable, hasSecrets, secrecyOf } from "./secret.ts"

/** What is shown in place of a secret. */
export const mask = "<redacted>"

/**
 * Returns a value with `"<redacted>"` in place of each secret that the schema declares: by `writeOnly`, or by the format
 * `password`. Nothing is changed in place. If the schema declares no secret, returns the value itself.
 *
 * When to use: before a value is logged, stored as an event, or shown to a person.
 *
 * If the value does not fit the schema, a secret may be in the wrong place. So a key that the schema does not declare is
 * masked in an object that may hold a secret, and so is any value in place of such an object.
 *
 * @example
 * ```ts
 * import { masked } from "@fallible/arguments"
 *
 * const schema = { type: "object", properties: { user: { type: "string" }, pin: { type: "string", writeOnly: true } } }
 *
 * masked({ user: "ada", pin: "1234" }, schema) // => { user: "ada", pin: "<redacted>" }
 * masked({ user: "ada", PIN: 1234 }, schema) // => { user: "ada", PIN: "<redacted>" }
 * ```
 *
 * @param value any JSON value, as `JSON.parse` returns it
 * @param schema the JSON Schema of the value, including its definitions
 * @param isFit whether the value is known to fit the schema; by default, this is checked
 */
export const masked = (value: Json, from: object, isFit?: boolean): Json => {
  if (!hasSecrets(from)) return value
  const schema = usable(from)
  const { holds, inside, isSecret, isTuple, whole } = secrecyOf(schema)
  const isExact = isFit ?? fits(value, schema)
  const hide = (value: Json, nodes: Applicable): Json => {
    if (nodes.size === 0 || isSecret(nodes) || !isExact && isTuple(nodes)) return mask
    if (!holds(nodes)) return value
    if (Array.isArray(value)) return value.map((item: Json, index) => hide(item, inside(nodes, index)))
    if (isObject(value)) {
      return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, hide(part, inside(nodes, key))]))
    }
    return isExact || value === null ? value : mask
  }
  return hide(value, whole)
}

/**
 * Returns a model's argument text as it may be shown: as JSON, with `"<redacted>"` in place of each secret ({@link masked}).
 * A text that cannot be read is masked as a whole. If the schema declares no secret, returns the text itself.
 *
 * When to use: before an argument text is logged, stored as an event, or shown to a person.
 *
 * @example
 * ```ts
 * import { maskedText } from "@fallible/arguments"
 *
 * const schema = { type: "object", properties: { user: { type: "string" }, pin: { type: "string", writeOnly: true } } }
 *
 * maskedText('{"user":"ada","pin":"1234"}', schema) // => '{"user":"ada","pin":"<redacted>"}'
 * maskedText('{"user":"ada","pin":"12', schema) // => "<redacted>"
 * ```
 *
 * @param text what the model wrote
 * @param schema the JSON Schema of the arguments, including its definitions
 */
export const maskedText = (text: string, schema: object): string => {
  if (!hasSecrets(schema)) return text
  const readable = read(text, { prose: true })
  return readable.ok ? JSON.stringify(masked(readable.value, schema)) : mask
}

/**
 * Returns the parts of a value that its schema declares, with `"<redacted>"` in place of secrets ({@link masked}).
 *
 * When to use: to show a value that does not fit its schema. It may have any shape, and may hold what nobody was meant to
 * see.
 *
 * @example
 * ```ts
 * import { declaredParts } from "@fallible/arguments/internal"
 *
 * const schema = { type: "object", properties: { id: { type: "string" }, pin: { type: "string", writeOnly: true } } }
 * declaredParts({ id: 7, pin: "1234", hash: "x" }, schema) // => { id: 7, pin: "<redacted>" }
 * ```
 */
export const declaredParts = (value: Json, schema: JsonSchema): Json => {
  const declared = (value: Json, path: Path): Json => {
    if (typeof value !== "object" || value === null) return value
    if (!isJsonObject(value)) {
      return value.map((item, index) => describes(schema, [...path, index]) ? declared(item, [...path, index]) : null)
    }
    const fields = Object.entries(value).filter(([key]) => describes(schema, [...path, key]))
    return Object.fromEntries(fields.map(([key, field]) => [key, declared(field, [...path, key])]))
  }
  return masked(declared(value, []), schema)
}
