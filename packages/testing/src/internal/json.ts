import * as Option from "effect/Option"

/** Parses a JSON text; none if it is not JSON. */
export const parse: (text: string) => Option.Option<unknown> = Option.liftThrowable((text) => JSON.parse(text))
