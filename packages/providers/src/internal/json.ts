import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"

/** The fields of an object, whatever they are. */
export type Fields = Readonly<Record<string, unknown>>

/** Is a JSON value an object? */
export const isObject = (value: unknown): value is Schema.JsonObject => Predicate.isObject(value)

/** What was parsed from JSON, and put together from nothing else, is JSON. */
export const asJson = (fields: Fields): Schema.JsonObject => fields as Schema.JsonObject

/** A JSON text's value; nothing, when it is none. */
export const parse: (text: string) => Option.Option<unknown> = Option.liftThrowable((text) => JSON.parse(text))

/** Is it the text of an object, and of one that can be written again? What is nested too deeply cannot. */
export const isObjectText = (text: string): boolean =>
  Option.exists(parse(text), (value) => isObject(value) && Option.isSome(write(value)))

/** The text of a JSON value; nothing, when it is nested too deeply to be written. */
export const write: (value: unknown) => Option.Option<string> = Option.liftThrowable((value) => JSON.stringify(value))
