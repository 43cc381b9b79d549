import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"

/** The fields of an object, whatever they are. */
export type Fields = Readonly<Record<string, unknown>>

/** Is a JSON value an object? */
export const isObject = (value: unknown): value is Schema.JsonObject => Predicate.isObject(value)

/** What was parsed from JSON, and put together from nothing else, is JSON. */
export const asJson = (fields: Fields): Schema.JsonObject => fields as Schema.JsonObject
