import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import * as Coercion from "../../Coercion.ts"
import type { FieldIssue } from "../../ToolFailure.ts"
import { kind } from "../value/text.ts"
import { attempted, silence } from "../value/untrusted.ts"

/**
 * Makes a function that lists why a value is not of a type, field by field and without quoting the value. The
 * function returns `undefined` for a value of the type.
 */
export const issuesBy = (schema: Schema.Constraint): (value: unknown) => ReadonlyArray<FieldIssue> | undefined => {
  const decode = SchemaParser.decodeUnknownResult(Schema.toType(schema), { errors: "all" })
  return (value) => {
    const decoded = attempted(() => decode(value))
    if (decoded !== undefined && Result.isSuccess(decoded)) return undefined
    // A promise in place of a value is not awaited, so its rejection is silenced. Reading a value may throw.
    return attempted(() => {
      for (const member of [value, ...Object.values(value ?? {})]) silence(member)
      return decoded === undefined ? [] : Coercion.fieldIssues(decoded.failure, value, kind)
    }) ?? []
  }
}
