/**
 * Repairs a value that deviates from an Effect schema but can be read in only one way. Explains what is wrong
 * with any other value that does not fit.
 *
 * The package `@fallible/arguments` does both for a JSON Schema. This module supplies that JSON Schema, which is
 * also the one that the model sees, and the issues of Effect's decoder. The `RULES.md` of that package lists all
 * kinds of deviations (*drifts*), and says which of them are reported to the model.
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
 * How a value was written, as far as this is known.
 *
 * @category models
 * @since 0.1.0
 */
export interface Origin {
  /**
   * Returns the source text of the number at a path (keys and indices), if known: `"1.10"`,
   * `"12345678901234567890"`. By default, each number is taken to be written as JavaScript would write it.
   */
  readonly numberAt?: (path: FieldIssue["path"]) => string | undefined
}

/**
 * A coerced value, and the repairs that were made to it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Coerced {
  readonly value: Schema.Json
  /**
   * At most twenty repairs with a note, and twenty without. If repairs are omitted, the last note says how many.
   * Items of an array often need the same repair in the same field. Then only the first of these repairs has a
   * note, which says how many others there are.
   */
  readonly repairs: ReadonlyArray<ValueRepair>
  /** True if the coerced value fits the JSON Schema that a model sees. */
  readonly fits: boolean
}

/**
 * Repairs the parts of a value that do not fit a schema but can be read in only one way.
 *
 * When to use: after a value has failed to decode, before you decode it again.
 *
 * All other parts stay as they are, whether or not they fit. The given value is never modified: a repaired value
 * is a copy. If nothing needs repair, the result contains the given value itself.
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
 * @param parameters the schema that the value should fit
 * @param origin how the value was written; default: as JavaScript would write it
 * @category coercion
 * @since 0.1.0
 */
export const coerce = (value: Schema.Json, parameters: Schema.Constraint, origin: Origin = {}): Coerced =>
  coerceJson(value, schemaOf(parameters), origin)

/**
 * Converts the issue of a decoder into one issue for each invalid field, at most twenty.
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
