import * as Option from "effect/Option"

/** Parses JSON text. Returns none if the text is not JSON. */
export const parse: (text: string) => Option.Option<unknown> = Option.liftThrowable((text) => JSON.parse(text))
