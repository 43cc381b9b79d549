import { explain, type Explaining, type Json, type JsonSchema } from "@fallible/arguments"

/** What does not fit, without its kinds: path, what is expected and advised, what came. */
export const misfits = (value: Json, schema: JsonSchema, origin?: Explaining) =>
  explain(value, schema, origin)?.issues.map(({ actual, advice, expected, path }) => ({
    path,
    expected: advice === undefined ? expected : `${expected}. ${advice}`,
    actual
  })) ?? []
