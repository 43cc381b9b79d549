/** Reads values that a provider returned. Their types are declared, but nothing checks them at run time. */
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"

/** The fields of an object, of any type. */
export type Fields = Readonly<Record<string, unknown>>

export const fieldsOf = (value: unknown): Fields => Predicate.isObject(value) ? value : {}

/** Returns a field that is an object; `undefined` if it is not. */
export const objectAt = (value: unknown, key: string): Fields | undefined => {
  const field = fieldsOf(value)[key]
  return Predicate.isObject(field) ? field : undefined
}

/** Returns a field that is a string; `undefined` if it is not. */
export const textAt = (value: unknown, key: string): string | undefined => {
  const field = fieldsOf(value)[key]
  return typeof field === "string" ? field : undefined
}

/** Returns the field `stream` if it is a stream that can be read. */
export const streamIn = (value: unknown): ReadableStream<unknown> | undefined => {
  const { stream } = fieldsOf(value)
  return isStream(stream) && !stream.locked ? stream : undefined
}

// It may be of another realm, or of a polyfill.
const isStream = (value: unknown): value is ReadableStream<unknown> => {
  const { cancel, getReader } = fieldsOf(value)
  return typeof getReader === "function" && typeof cancel === "function"
}

/** Handles the rejection of a promise that was returned instead of an answer. Without a handler, the rejection could end the process. */
export const silence = (value: unknown): void => {
  if (value instanceof Promise) void Promise.prototype.then.call(value, undefined, () => {})
}

/** Returns a value as the JSON that it is written as; `undefined` if it cannot be written. */
export const jsonOf = (value: unknown): Schema.Json | undefined =>
  value === undefined ? undefined : Option.getOrUndefined(asJson(value))

const asJson = Option.liftThrowable((value: unknown): Schema.Json => JSON.parse(JSON.stringify(value)))

/** Returns a copy of plain objects and lists, down to a depth that only arguments reach. Other values stay as they are. */
export const copyOf = <A>(value: A): A => copied(value, 0, false) as A

/** Like {@link copyOf}, but nobody can change the copy. */
export const frozenCopyOf = <A>(value: A): A => copied(value, 0, true) as A

/** True if a value is still as it was when it was copied ({@link copyOf}). */
export const isStill = (value: unknown, copy: unknown): boolean => {
  if (Object.is(value, copy)) return true
  if (!Predicate.isObjectOrArray(value) || !Predicate.isObjectOrArray(copy)) return false
  if (Array.isArray(value) !== Array.isArray(copy)) return false
  const [now, then] = [Object.entries(value), Object.entries(copy)]
  return now.length === then.length &&
    now.every(([key, member]) => Object.hasOwn(copy, key) && isStill(member, Reflect.get(copy, key)))
}

/** True if {@link copyOf} has copied all parts of a value, so that nobody else has them. */
export const isData = (copy: unknown, depth = 0): boolean => {
  if (typeof copy !== "object" || copy === null) return typeof copy !== "function"
  const members = depth > 100 ? undefined : Array.isArray(copy) ? copy : isPlain(copy) ? Object.values(copy) : undefined
  return members?.every((member) => isData(member, depth + 1)) === true
}

const copied = (value: unknown, depth: number, isFrozen: boolean): unknown => {
  if (typeof value !== "object" || value === null || depth > 100) return value
  const copy = copyAt(value, depth + 1, isFrozen)
  return isFrozen && copy !== value ? Object.freeze(copy) : copy
}

const copyAt = (value: object, depth: number, isFrozen: boolean): object => {
  if (Array.isArray(value)) return value.map((member) => copied(member, depth, isFrozen))
  if (!isPlain(value)) return value
  const copy: Record<string, unknown> = { ...value }
  for (const key in copy) if (typeof copy[key] === "object") copy[key] = copied(copy[key], depth, isFrozen)
  return copy
}

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Returns what a JSON text says; `undefined` if it is none. */
export const parsed = (text: string): unknown => Option.getOrUndefined(fromJson(text))

const fromJson = Option.liftThrowable((text: string): unknown => JSON.parse(text))

/** Returns a value as a text to quote, whatever it is. */
export const written = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return "a value that cannot be written"
  }
}

/** Returns the fields whose values are not absent. */
export const present = (fields: { readonly [key: string]: Schema.Json | undefined }): Schema.JsonObject =>
  Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, Schema.Json] => field[1] !== undefined)
  )
