import * as Schema from "effect/Schema"
import { PolicyKind } from "./policyKind.ts"

/**
 * What handled a failure: the kind of a policy, or what came of a fix.
 *
 * | by            | it means                                                            |
 * | ------------- | ------------------------------------------------------------------- |
 * | `"retry"`     | the call was tried again                                            |
 * | `"reconcile"` | a check found out what became of the call, or failed itself         |
 * | `"paginate"`  | a page could not be fetched: the result is what was there before it |
 * | `"catch"`     | the handler of a `Tool.catchTag` was asked                          |
 * | `"fallback"`  | another source was asked; also by a catch of `ToolUnavailable`      |
 * | `"fix"`       | a fixer corrected the arguments                                     |
 * | `"answered"`  | a fixer answered with a value in place of the tool                  |
 * | `"escalated"` | a fixer put the failure in its own words                            |
 * | `"stopped"`   | a fixer stopped the run                                             |
 * | `"ignored"`   | a fixer failed itself, or its arguments were refused                |
 * | `"custom"`    | a policy of your own, named by `policy`                             |
 *
 * The other kinds come from policies of your own that are of a kind of this library's (`Policy.make`).
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
 * A failure that a policy took care of, so that the model never heard of it.
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
  /** The name of a policy of your own. */
  policy: Schema.optionalKey(Schema.String)
})
