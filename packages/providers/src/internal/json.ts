import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"

/** The fields of an object, of any type. */
export type Fields = Readonly<Record<string, unknown>>

/** True if a JSON value is an object. */
export const isObject = (value: unknown): value is Schema.JsonObject => Predicate.isObject(value)

/** Treats fields as JSON. Their values were parsed from JSON, or assembled from parsed values. */
export const asJson = (fields: Fields): Schema.JsonObject => fields as Schema.JsonObject

/** Parses JSON text. Returns none if the text is not JSON. */
export const parse: (text: string) => Option.Option<unknown> = Option.liftThrowable((text) => JSON.parse(text))

/** True for the JSON text of an object that can also be written: it is not nested too deeply. */
export const isObjectText = (text: string): boolean =>
  Option.exists(parse(text), (value) => isObject(value) && Option.isSome(write(value)))

/** Writes a value as JSON text. Returns none if the value is nested too deeply. */
export const write: (value: unknown) => Option.Option<string> = Option.liftThrowable((value) => JSON.stringify(value))
