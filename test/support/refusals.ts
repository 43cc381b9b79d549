import { coerce } from "@fallible/arguments/internal"
import * as Arguments from "@fallible/core/Arguments"
import { Result, Schema } from "effect"
import { misfitOf } from "../../packages/core/src/internal/arguments/fieldIssue.ts"
import { frozen } from "./coercing.ts"

/** Returns the issues of a value that a schema refuses after coercion: path, expectation, and actual value. */
export const refusals = <S extends Schema.Codec<unknown, unknown>>(
  parameters: S,
  value: Schema.Json,
  isCoerced = true
) => {
  const shown = Arguments.jsonSchema(parameters)
  const { value: coerced } = isCoerced ? coerce(frozen(value), shown) : { value }
  const decoded = Schema.decodeUnknownResult(Schema.toCodecJson(parameters), {
    errors: "all",
    onExcessProperty: "error"
  })(coerced)
  const issue = Result.isFailure(decoded) ? decoded.failure.issue : undefined
  const { issues = [] } = misfitOf(issue, coerced, shown, { written: { value } }) ?? {}
  return issues.map(({ actual, expected, path }): [string, string, string] => [path.join("."), expected, actual])
}
