import { explain, type Issue, type JsonSchema, type Misfit, type Origin } from "@fallible/arguments"
import type * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import type { FieldIssue } from "../../ToolFailure.ts"
import { findingsOf } from "./findings.ts"

/**
 * Everything that is wrong with a value: what does not fit the JSON Schema that a model is shown, and what the decoder alone knows (a brand, a
 * filter, a transformation). One issue for each field, at most twenty; `undefined` where there is none.
 */
export const misfitOf = (
  issue: SchemaIssue.Issue | undefined,
  value: Schema.Json,
  schema: JsonSchema,
  how: Origin & { readonly written?: Origin & { readonly value: Schema.Json } }
): Misfit | undefined => explain(value, schema, { ...how, findings: issue === undefined ? [] : findingsOf(issue) })

/**
 * An issue as failures have it.
 */
export const toFieldIssue = ({ actual, advice, expected, path }: Issue): FieldIssue => ({
  path,
  expected,
  actual,
  ...(advice === undefined ? {} : { advice })
})
