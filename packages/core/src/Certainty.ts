/**
 * Whether a call took effect.
 *
 * The call learns this when its handler ends. No policy changes it: not by mapping a failure, catching it,
 * retrying, or answering from another source. For a tool that acts, the end of the handler decides:
 *
 * | the handler ends with                                                                     | certainty      | may it run again in this call? |
 * | ----------------------------------------------------------------------------------------- | -------------- | ------------------------------ |
 * | a value, `PartialData`                                                                    | `executed`     | never                          |
 * | `outcome: "not_executed"`, a `SchemaMismatch` of its arguments, a question to the user    | `not_executed` | yes                            |
 * | a refusal: `SemanticGarbage`, a permanent `ToolUnavailable` without an `outcome`          | `not_executed` | no                             |
 * | `outcome: "unknown"`, a transient failure without an `outcome`, an unreadable result      | `unknown`      | no                             |
 * | a defect, a promise, an interruption, or not at all, because the attempt was abandoned    | `unknown`      | no                             |
 *
 * Afterwards, the tool's definition may reject the value (`Tool.Contract`: it is empty, it breaks an
 * invariant). That does not change the certainty.
 *
 * `outcome: "not_executed"` counts only if the handler's author wrote it. Derived from an error or an HTTP
 * status, it describes one request. From a tool that runs inside, it describes that tool. In both cases the
 * certainty is `unknown`, unless the tool is declared `refusesFirst`. Once a tool inside has failed this
 * way in an attempt, the same outcome from the handler counts as a copy.
 *
 * The last column applies to tools that are neither read-only nor idempotent. Doubt about one part of a
 * call is doubt about the call: about a tool that the handler ran, or about the source of a fallback. The
 * final answer of a check (`Tool.reconcile`) clears the doubt about the attempts, but not about a fallback.
 * For an idempotent tool, a later success clears it, too. Nothing reverts `executed`.
 *
 * The library cannot check two things, and trusts them. First, that a tool does not act if it is declared
 * read-only, and is idempotent if it is declared so. Second, the answer of a policy, or of a fallback that
 * is not a tool: either may act on its own. Tools that policies and fixers run for their own purposes do not
 * count as effects of the tool.
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
 * The certainty of a call.
 *
 * - `"executed"`: the call took effect.
 * - `"not_executed"`: the call changed nothing, like any call that only reads.
 * - `"unknown"`: the call may have taken effect, fully or in part.
 *
 * @category models
 * @since 0.1.0
 */
export type Certainty = typeof Certainty.Type

/**
 * Combines the certainty of two effects: doubt about one is doubt about both.
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
