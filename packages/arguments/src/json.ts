/**
 * JSON as values, and the places in them.
 */

/** Any value that JSON can write. */
export type Json = null | boolean | number | string | JsonArray | JsonObject

/** An array of JSON. */
export type JsonArray = ReadonlyArray<Json>

/** An object of JSON. */
export interface JsonObject {
  readonly [key: string]: Json
}

/** Where in a value: keys and indices, from the root. */
export type Path = ReadonlyArray<string | number>

/** A JSON Schema that is an object; `true` and `false` are schemas, too. */
export interface JsonSchema {
  readonly [keyword: string]: unknown
}

/** Is it an object, and neither an array nor `null`? */
export const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The part of a value at a path, as far as it has one of its own. */
export const partAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (at, key) => typeof at === "object" && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined,
    value
  )

/** The same of what is known to be JSON. */
export const isJsonObject = (value: Json | undefined): value is JsonObject => isObject(value)

/** A value of which nothing is known. One that is not JSON has no type, so it is refused where it stands. */
export const asJson = (value: unknown) => value as Json

/** Sets an own key, which may be called `__proto__`: then it is defined, and never assigned. */
export const define = <A>(record: { [key: string]: A }, key: string, value: A): void => {
  if (key !== "__proto__") record[key] = value
  else Object.defineProperty(record, key, { value, configurable: true, enumerable: true, writable: true })
}
