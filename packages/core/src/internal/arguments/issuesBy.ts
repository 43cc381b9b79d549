import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import * as Coercion from "../../Coercion.ts"
import type { FieldIssue } from "../../ToolFailure.ts"
import { kind } from "../value/text.ts"
import { attempted, silence } from "../value/untrusted.ts"

/** Says of values what keeps them from being of a type, field by field and without the values; `undefined` if nothing does. */
export const issuesBy = (schema: Schema.Constraint): (value: unknown) => ReadonlyArray<FieldIssue> | undefined => {
  const decode = SchemaParser.decodeUnknownResult(Schema.toType(schema), { errors: "all" })
  return (value) => {
    const decoded = attempted(() => decode(value))
    if (decoded !== undefined && Result.isSuccess(decoded)) return undefined
    // Nobody awaits a promise that stands in place of a value. Some values cannot even be looked at.
    return attempted(() => {
      for (const member of [value, ...Object.values(value ?? {})]) silence(member)
      return decoded === undefined ? [] : Coercion.fieldIssues(decoded.failure, value, kind)
    }) ?? []
  }
}
