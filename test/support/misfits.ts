import { explain, type Explaining, type Json, type JsonSchema } from "@fallible/arguments"

/** Returns the issues of a value without their kinds: path, expectation with advice, and actual value. */
export const misfits = (value: Json, schema: JsonSchema, origin?: Explaining) =>
  explain(value, schema, origin)?.issues.map(({ actual, advice, expected, path }) => ({
    path,
    expected: advice === undefined ? expected : `${expected}. ${advice}`,
    actual
  })) ?? []
