import * as Schema from "effect/Schema"
import { namedStruct } from "../value/namedStruct.ts"
import { PolicyKind } from "./policyKind.ts"

/**
 * How a failure was handled: by which kind of policy, or by a fixer.
 *
 * | by            | it means                                                             |
 * | ------------- | -------------------------------------------------------------------- |
 * | `"retry"`     | the call was tried again                                             |
 * | `"reconcile"` | a check found out whether the call took effect, or the check failed  |
 * | `"paginate"`  | a page could not be fetched: the result has only the earlier pages   |
 * | `"catch"`     | the handler of a `Tool.catchTag` took over                           |
 * | `"fallback"`  | another source took over; catching `ToolUnavailable` counts as this  |
 * | `"fix"`       | a fixer corrected the arguments                                      |
 * | `"answered"`  | a fixer answered with a value in place of the tool                   |
 * | `"escalated"` | a fixer replaced the text of the failure with its own                |
 * | `"stopped"`   | a fixer stopped the run                                              |
 * | `"ignored"`   | a fixer failed, or its correction was refused                        |
 * | `"custom"`    | a custom policy handled the failure; `policy` has the policy's name  |
 *
 * Any other kind means that a custom policy of that kind (`Policy.make`) handled the failure.
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
 * A failure that a policy or a fixer handled. The model does not see such failures.
 *
 * @category models
 * @since 0.1.0
 */
export class Handled extends namedStruct<Handled>()({
  tag: Schema.Literals(["SchemaMismatch", "PartialData", "SemanticGarbage", "ToolUnavailable"]),
  code: Schema.String,
  detail: Schema.String,
  by: HandledBy,
  /** The name of the policy, if it is a custom one. */
  policy: Schema.optionalKey(Schema.String)
}) {}
