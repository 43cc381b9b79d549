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

/** True for an object or an array. */
export const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null

/** True for an object that is neither an array nor `null`. */
export const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  isContainer(value) && !isArray(value)

/** True for an array of anything. */
export const isArray = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value)

export const isString = (value: unknown): value is string => typeof value === "string"

export const isBoolean = (value: unknown): value is boolean => typeof value === "boolean"

export const isNumber = (value: unknown): value is number => typeof value === "number"

/** Returns an array itself, and no items for anything else. */
export const itemsIn = (value: unknown): ReadonlyArray<unknown> => isArray(value) ? value : none

const none: ReadonlyArray<never> = []

/** Returns each of these values once, in the order in which they first appear. */
export const distinct = <A>(values: Iterable<A>): ReadonlyArray<A> => Array.from(new Set(values))

/** True if an object or an array has its own value for a key. */
export const hasKey = (container: object, key: string | number): boolean => Object.hasOwn(container, key)

/** Returns the own keys of an object. */
export const keysOf = (of: object): ReadonlyArray<string> => Object.keys(of)

/** Returns the own keys of an object, each with its value. */
export const entriesOf = <A>(
  of: { readonly [key: string]: A } | object
): ReadonlyArray<readonly [key: string, value: A]> => Object.entries(of)

/** Returns the part of a value at a path of own keys; `undefined` if there is no such part. */
export const partAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((at, key) => isContainer(at) && hasKey(at, key) ? Reflect.get(at, key) : undefined, value)

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
