import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import type { FieldIssue } from "../../ToolFailure.ts"
import { kind } from "../value/text.ts"
import { attempt, silence } from "../value/untrusted.ts"
import * as Coercion from "./coercion.ts"

/**
 * Returns a function that lists why a value is not of the schema's type, field by field and without
 * quoting the value. For a value of that type, the function returns `undefined`.
 */
export const issuesBy = (schema: Schema.Constraint): (value: unknown) => ReadonlyArray<FieldIssue> | undefined => {
  const decode = SchemaParser.decodeUnknownResult(Schema.toType(schema), { errors: "all" })
  return (value) => {
    const decoded = attempt(() => decode(value))
    if (decoded !== undefined && Result.isSuccess(decoded)) return undefined
    // Nothing awaits a promise that was given in place of a value, so its rejection is silenced.
    // Reading a value may throw.
    return attempt(() => {
      for (const member of [value, ...Object.values(value ?? {})]) silence(member)
      return decoded === undefined ? [] : Coercion.fieldIssues(decoded.failure, value, kind)
    }) ?? []
  }
}
