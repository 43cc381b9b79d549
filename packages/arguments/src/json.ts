/** JSON values, and paths in them. */

/** Any value that JSON can express. */
export type Json = null | boolean | number | string | JsonArray | JsonObject

/** A JSON array. */
export type JsonArray = ReadonlyArray<Json>

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: Json
}

/** A place in a value: keys and indices from the root. */
export type Path = ReadonlyArray<string | number>

/** A JSON Schema in object form. (`true` and `false` are schemas, too.) */
export interface JsonSchema {
  readonly [keyword: string]: unknown
}

/** True for an object that is neither an array nor `null`. */
export const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Returns the part of a value at a path of own keys; `undefined` if there is no such part. */
export const partAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (at, key) => typeof at === "object" && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined,
    value
  )

/** True for a JSON object. The value must already be known to be JSON. */
export const isJsonObject = (value: Json | undefined): value is JsonObject => isObject(value)

/**
 * Treats an unknown value as JSON. A part that is not JSON has no JSON type, so later checks refuse it at its
 * place.
 */
export const asJson = (value: unknown) => value as Json

/** Sets an own key. The key `__proto__` is defined, because assigning it would change the object's prototype. */
export const define = <A>(record: { [key: string]: A }, key: string, value: A): void => {
  if (key !== "__proto__") record[key] = value
  else Object.defineProperty(record, key, { value, configurable: true, enumerable: true, writable: true })
}
