/*
 * Repairs of values, and issues of a decoder, for an Effect schema. `@fallible/arguments` does both for a JSON Schema: this
 * module supplies that JSON Schema, which is also the one that the model sees, and the issues of Effect's decoder.
 */
import type { Origin } from "@fallible/arguments"
import { coerce as coerceJson, type Coerced, explainWith } from "@fallible/arguments/internal"
import type * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import type { FieldIssue } from "../../ToolFailure.ts"
import { excerpt } from "../value/text.ts"
import { findingsOf } from "./decoderFindings.ts"
import { toFieldIssue } from "./fieldIssue.ts"
import { schemaOf } from "./jsonSchema.ts"

export type { Coerced } from "@fallible/arguments/internal"

/** Repairs the parts of a value that do not fit a schema but can be read in only one way. */
export const coerce = (value: Schema.Json, parameters: Schema.Constraint, origin: Origin = {}): Coerced =>
  coerceJson(value, schemaOf(parameters), origin)

/**
 * Converts the issue of a decoder into one issue for each invalid field, at most twenty.
 *
 * @param issue why the value did not decode (decode with `errors: "all"`)
 * @param show turns an actual value into text; default: an excerpt of it
 */
export const fieldIssues = (
  issue: SchemaIssue.Issue,
  value: unknown,
  show: (value: unknown) => string = excerpt
): ReadonlyArray<FieldIssue> =>
  explainWith(asJson(value), undefined, findingsOf(issue), { show })?.issues.map(toFieldIssue) ?? []

// Without a schema, `explainWith` reads only those parts of the value that the findings point to.
const asJson = (value: unknown) => value as Schema.Json
