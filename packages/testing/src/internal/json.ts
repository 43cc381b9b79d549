import * as Option from "effect/Option"

/** A JSON text's value; nothing, when it is none. */
export const parse: (text: string) => Option.Option<unknown> = Option.liftThrowable((text) => JSON.parse(text))
