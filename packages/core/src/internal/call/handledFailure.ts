import * as Schema from "effect/Schema"
import { PolicyKind } from "./policyKind.ts"

/**
 * What handled a failure: the kind of a policy, or the result of a fix.
 *
 * | by            | it means                                                            |
 * | ------------- | ------------------------------------------------------------------- |
 * | `"retry"`     | the call was tried again                                            |
 * | `"reconcile"` | a check found out whether the call took effect, or failed itself    |
 * | `"paginate"`  | a page could not be fetched: the result has only the earlier pages   |
 * | `"catch"`     | the handler of a `Tool.catchTag` took over                          |
 * | `"fallback"`  | another source took over; catching `ToolUnavailable` counts as this |
 * | `"fix"`       | a fixer corrected the arguments                                     |
 * | `"answered"`  | a fixer answered with a value in place of the tool                  |
 * | `"escalated"` | a fixer rewrote the failure in its own words                        |
 * | `"stopped"`   | a fixer stopped the run                                             |
 * | `"ignored"`   | a fixer itself failed, or its correction was refused                |
 * | `"custom"`    | a custom policy, named by `policy`                                  |
 *
 * Any other kind comes from a policy of your own that declares that kind (`Policy.make`).
 *
 * @category models
 * @since 0.1.0
 */
export type HandledBy = typeof HandledBy.Type

/**
 * The schema of a {@link HandledBy}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const HandledBy = Schema.Literals([
  ...PolicyKind.literals,
  "fix",
  "answered",
  "escalated",
  "stopped",
  "ignored"
])

/**
 * A failure that a policy or a fixer handled. The model does not see it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Handled extends Schema.Schema.Type<typeof Handled> {}

/**
 * The schema of a {@link Handled}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Handled = Schema.Struct({
  tag: Schema.Literals(["SchemaMismatch", "PartialData", "SemanticGarbage", "ToolUnavailable"]),
  code: Schema.String,
  detail: Schema.String,
  by: HandledBy,
  /** The name of a custom policy. */
  policy: Schema.optionalKey(Schema.String)
})
