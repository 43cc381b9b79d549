/**
 * Whether a call has taken effect, as far as anybody knows.
 *
 * The call learns it where a handler ends, and no policy changes it: not by mapping a failure, catching it, trying again, or answering
 * from elsewhere. How the handler of a tool that acts ends says:
 *
 * | a handler ends with                                                                    | certainty      | may it run again in this call? |
 * | -------------------------------------------------------------------------------------- | -------------- | ------------------------------ |
 * | a value, `PartialData`                                                                 | `executed`     | never                          |
 * | `outcome: "not_executed"`, a `SchemaMismatch` of its arguments, a question to the user  | `not_executed` | yes                            |
 * | a refusal: `SemanticGarbage`, a permanent `ToolUnavailable` that says nothing else      | `not_executed` | no                             |
 * | `outcome: "unknown"`, a transient failure that says nothing else, an unreadable result | `unknown`      | no                             |
 * | a defect, a promise, an interruption; not at all, since nobody waits for it any more    | `unknown`      | no                             |
 *
 * What the tool's definition says of a value then (`Tool.Contract`: it is empty, it breaks an invariant) changes nothing about that.
 *
 * `outcome: "not_executed"` counts only if the handler's author wrote it. Read off an error or a status of HTTP, it speaks of one request; from
 * a tool inside, of that tool. Then the certainty is `unknown`, unless the tool is declared `refusesFirst`. Once a tool inside has said so in
 * an attempt, the handler's own word counts as a copy of it.
 *
 * "May it run again" is about a tool that is neither read-only nor idempotent. Doubt about one thing that was done in a call is doubt about
 * the call: of a tool that its handler ran, of the source of a fallback. The final answer of a check
 * (`Tool.reconcile`) clears it; of an idempotent tool a later success does, too. That something has taken effect, nothing denies.
 *
 * What stays believed: a handler that acts though its tool is declared read-only, or idempotent; and what a policy, or a fallback that is no
 * tool, does by itself and answers with. What policies and fixers run for themselves is no effect of the tool.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * The schema of a {@link Certainty}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Certainty = Schema.Literals(["executed", "not_executed", "unknown"])

/**
 * `"executed"`: the call has taken effect. `"not_executed"`: it has changed nothing, as a call that only reads. `"unknown"`: it may have taken
 * effect, or in part.
 *
 * @category models
 * @since 0.1.0
 */
export type Certainty = typeof Certainty.Type

/**
 * The certainty of two things that were done: doubt about one is doubt about both.
 *
 * @example
 * ```ts
 * import { Certainty } from "@fallible/core"
 *
 * Certainty.join("executed", "unknown") // => "unknown"
 * Certainty.join("executed", "not_executed") // => "executed"
 * ```
 *
 * @category combining
 * @since 0.1.0
 */
export const join = (one: Certainty, other: Certainty): Certainty => {
  if (one === "unknown" || other === "unknown") return "unknown"
  return one === "executed" ? one : other
}
