import type { Json, JsonSchema } from "@fallible/arguments"
import { explain, type Explaining } from "@fallible/arguments/internal"

/** Returns the issues of a value without their kinds: path, expectation with advice, and actual value. */
export const misfits = (value: Json, schema: JsonSchema, origin?: Explaining) =>
  explain(value, schema, origin)?.issues.map(({ actual, advice, expected, path }) => ({
    path,
    expected: advice === undefined ? expected : `${expected}. ${advice}`,
    actual
  })) ?? []
