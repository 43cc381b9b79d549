/**
 * Values that drifted from a schema of Effect's: what they can only have meant, and what to say of those that
 * mean nothing.
 *
 * Both are the work of `@fallible/arguments`, which knows JSON Schema. Here are the JSON Schema that a model is shown of a schema of Effect's, and what
 * Effect's decoder says. Which drifts there are, and which of them the model is told of, is in that package's `RULES.md`.
 *
 * @since 0.1.0
 */
import { coerce as undone, explain } from "@fallible/arguments"
import type * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import { toFieldIssue } from "./internal/arguments/fieldIssue.ts"
import { findingsOf } from "./internal/arguments/findings.ts"
import { schemaOf } from "./internal/arguments/jsonSchema.ts"
import { excerpt } from "./internal/value/text.ts"
import type { FieldIssue } from "./ToolFailure.ts"
import type { ValueRepair } from "./ToolOutcome.ts"

/**
 * How a value came about, as far as its text is known.
 *
 * @category models
 * @since 0.1.0
 */
export interface Origin {
  /**
   * The source text of a number at a path (keys and indices), where it is known: `"1.10"`,
   * `"12345678901234567890"`. Without it a number is taken to have been written as JavaScript writes it.
   */
  readonly numberAt?: (path: FieldIssue["path"]) => string | undefined
}

/**
 * A value as far as its drifts could be undone, and which these were.
 *
 * @category models
 * @since 0.1.0
 */
export interface Coerced {
  readonly value: Schema.Json
  /**
   * At most twenty with a note, the last of which counts those that are left out, and twenty without. Of one kind in the same field of an array's items, only the first has a
   * note: it counts the others.
   */
  readonly repairs: ReadonlyArray<ValueRepair>
  /** Does it fit the JSON Schema that a model is shown? */
  readonly fits: boolean
}

/**
 * The value with every drift undone that has exactly one reading.
 *
 * When to use: after a value did not decode, and before it is decoded once more.
 *
 * What fits is never touched, and what has no single reading stays as it is. Changes nothing in place: where nothing
 * was undone, the value is the same reference.
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
 * @param value any JSON
 * @param parameters the schema that describes it
 * @param origin how the value was written; default: as JavaScript would write it
 * @category coercion
 * @since 0.1.0
 */
export const coerce = (value: Schema.Json, parameters: Schema.Constraint, origin: Origin = {}): Coerced =>
  undone(value, schemaOf(parameters), origin)

/**
 * What a decoder says of a value: one issue for each field, at most twenty, for a thousand would teach no more.
 *
 * When to use: for a value that no model wrote, such as a tool's result.
 *
 * @param issue why the value did not decode (decode with `errors: "all"`)
 * @param value the value that did not
 * @param show how a value that came is put; default: an excerpt of it
 * @category issues
 * @since 0.1.0
 */
export const fieldIssues = (
  issue: SchemaIssue.Issue,
  value: unknown,
  show: (value: unknown) => string = excerpt
): ReadonlyArray<FieldIssue> =>
  explain(asJson(value), undefined, { findings: findingsOf(issue), show })?.issues.map(toFieldIssue) ?? []

// Without a schema nothing of a value is looked at but what the findings lead to.
const asJson = (value: unknown) => value as Schema.Json
