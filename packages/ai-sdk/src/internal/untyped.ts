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

/** Returns a value as the JSON that it is written as; `undefined` if it cannot be written. */
export const jsonOf = (value: unknown): Schema.Json | undefined =>
  value === undefined ? undefined : Option.getOrUndefined(copied(value))

const copied = Option.liftThrowable((value: unknown): Schema.Json => JSON.parse(JSON.stringify(value)))

/** Returns the fields whose values are not absent. */
export const present = (fields: { readonly [key: string]: Schema.Json | undefined }): Schema.JsonObject =>
  Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, Schema.Json] => field[1] !== undefined)
  )

/** Returns a value as text, for people to read. */
export const written = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return "a value that cannot be written"
  }
}
