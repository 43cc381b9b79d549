import type { Issue, JsonSchema, Misfit, Origin } from "@fallible/arguments"
import { explainWith } from "@fallible/arguments/internal"
import type * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import type { FieldIssue } from "../../ToolFailure.ts"
import { findingsOf } from "./decoderFindings.ts"

/**
 * Returns everything that is wrong with a value. This includes every place where the value does not
 * fit the JSON Schema that a model sees. It also includes faults that only the decoder finds (in a
 * brand, a filter or a transformation). There is one issue for each field, and at most twenty in all.
 * Returns `undefined` if nothing is wrong.
 */
export const misfitOf = (
  issue: SchemaIssue.Issue | undefined,
  value: Schema.Json,
  schema: JsonSchema,
  how: Origin & { readonly written?: Origin & { readonly value: Schema.Json } }
): Misfit | undefined => explainWith(value, schema, issue === undefined ? [] : findingsOf(issue), how)

/**
 * Converts an issue to the form that failures carry.
 */
export const toFieldIssue = ({ actual, advice, expected, path }: Issue): FieldIssue => ({
  path,
  expected,
  actual,
  ...(advice === undefined ? {} : { advice })
})
