import * as Option from "effect/Option"

/** Parses JSON text. Returns none if the text is not JSON. */
export const parse: (text: string) => Option.Option<unknown> = Option.liftThrowable((text) => JSON.parse(text))

/** Returns a text that is JSON unchanged, and any other text as a JSON string. */
export const jsonOf = (text: string): string => Option.isSome(parse(text)) ? text : JSON.stringify(text)
