/**
 * Repairs values that drifted from an Effect schema but have only one reading, and explains values that
 * have none.
 *
 * `@fallible/arguments` does both, for JSON Schema. This module supplies the JSON Schema that a model sees
 * for an Effect schema, and the issues of Effect's decoder. The `RULES.md` of that package lists all
 * drifts, and which of them the model is told.
 *
 * @since 0.1.0
 */
import { coerce as coerceJson, explain } from "@fallible/arguments"
import type * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import { findingsOf } from "./internal/arguments/decoderFindings.ts"
import { toFieldIssue } from "./internal/arguments/fieldIssue.ts"
import { schemaOf } from "./internal/arguments/jsonSchema.ts"
import { excerpt } from "./internal/value/text.ts"
import type { FieldIssue } from "./ToolFailure.ts"
import type { ValueRepair } from "./ToolOutcome.ts"

/**
 * How a value was written, as far as its source text is known.
 *
 * @category models
 * @since 0.1.0
 */
export interface Origin {
  /**
   * Returns the source text of the number at a path (keys and indices), if known: `"1.10"`,
   * `"12345678901234567890"`. Default: numbers count as written the way JavaScript writes them.
   */
  readonly numberAt?: (path: FieldIssue["path"]) => string | undefined
}

/**
 * A coerced value, and the repairs that were made.
 *
 * @category models
 * @since 0.1.0
 */
export interface Coerced {
  readonly value: Schema.Json
  /**
   * At most twenty repairs with a note, and twenty without. The last note counts the omitted ones. If
   * the items of an array need the same repair in the same field, only the first repair has a note. It counts
   * the others.
   */
  readonly repairs: ReadonlyArray<ValueRepair>
  /** True if the value fits the JSON Schema that a model sees. */
  readonly fits: boolean
}

/**
 * Undoes every drift of a value that has exactly one reading.
 *
 * When to use: after a value failed to decode, before you decode it again.
 *
 * Parts that fit are never touched. Parts without a single reading stay as they are. Nothing is changed in
 * place: if nothing was undone, the result has the same reference.
 *
 * @example
 * ```ts
 * import { Coercion } from "@fallible/core"
 * import { Schema } from "effect"
 *
 * const parameters = Schema.Struct({ userId: Schema.Int })
 *
 * Coercion.coerce({ userId: "7" }, parameters).value // => { userId: 7 }
 * Coercion.coerce({ user_id: 7 }, parameters).repairs[0]?.note // => "'userId' was written as 'user_id'"
 * Coercion.coerce({ userId: "7 or 8" }, parameters).fits // => false
 * ```
 *
 * @param value any JSON value
 * @param parameters the schema that describes the value
 * @param origin how the value was written; default: as JavaScript would write it
 * @category coercion
 * @since 0.1.0
 */
export const coerce = (value: Schema.Json, parameters: Schema.Constraint, origin: Origin = {}): Coerced =>
  coerceJson(value, schemaOf(parameters), origin)

/**
 * Converts the issue of a decoder into one issue for each field, at most twenty.
 *
 * When to use: for a value that was not written by a model, such as a tool's result.
 *
 * @param issue why the value did not decode (decode with `errors: "all"`)
 * @param value the value that did not decode
 * @param show turns an actual value into text; default: an excerpt of it
 * @category issues
 * @since 0.1.0
 */
export const fieldIssues = (
  issue: SchemaIssue.Issue,
  value: unknown,
  show: (value: unknown) => string = excerpt
): ReadonlyArray<FieldIssue> =>
  explain(asJson(value), undefined, { findings: findingsOf(issue), show })?.issues.map(toFieldIssue) ?? []

// Without a schema, `explain` reads only those parts of the value that the findings point to.
const asJson = (value: unknown) => value as Schema.Json
