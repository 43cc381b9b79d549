/**
 * Whether a call took effect.
 *
 * A call's certainty is decided when the tool's handler ends. A policy cannot change it by mapping or catching
 * a failure, by retrying, or by answering from another source. For a tool that acts (has side effects), the
 * certainty depends on how the handler ends:
 *
 * | the handler ends with                                                                  | certainty      | may the handler run again in this call? |
 * | -------------------------------------------------------------------------------------- | -------------- | --------------------------------------- |
 * | a value, `PartialData`, a failure with `outcome: "executed"`                           | `executed`     | never                                   |
 * | `outcome: "not_executed"`, a `SchemaMismatch` of the arguments, a question to the user | `not_executed` | yes                                     |
 * | a refusal: `SemanticGarbage`, a permanent `ToolUnavailable`; both without an `outcome` | `not_executed` | no                                      |
 * | `outcome: "unknown"`, a transient failure without an `outcome`, an unreadable result   | `unknown`      | no                                      |
 * | a defect, a promise, an interruption; or its attempt was abandoned before it ended     | `unknown`      | no                                      |
 *
 * Failures of all four classes may have an `outcome`. It is the author's word, and says more than the class.
 *
 * After the handler has returned a value, the tool's definition may still reject the value, for example because
 * it is empty or breaks an invariant (`Tool.Contract`). The rejection does not change the certainty.
 *
 * `outcome: "not_executed"` is believed only if the handler's author wrote it. If it was derived from an error
 * or an HTTP status, it describes only one request. If it comes from a tool that the handler ran, it describes
 * only that inner tool. After an inner tool has failed with this outcome, even the handler's own `not_executed` is
 * not believed in that attempt, since the handler may have copied it. In all three cases the certainty is
 * `unknown`, unless the handler's own tool is declared `refusesFirst`.
 *
 * The last column applies to tools that are neither read-only nor idempotent. A call is in doubt (`unknown`) if
 * any part of it is, such as a tool that the handler ran, or the source of a fallback. The final answer of a check
 * (`Tool.reconcile`) clears the doubt about the attempts, but not the doubt about a fallback. For an idempotent
 * tool, a later success also clears the doubt about earlier attempts. Once a call is `executed`, it stays so.
 *
 * The library trusts two things that it cannot check. The first is a tool's declaration that it is read-only or
 * idempotent. The second is an answer from a policy, or from a fallback that is not a tool. The library cannot see
 * whether the code of a policy or a fallback has side effects. The effects of tools that policies and fixers run
 * for their own purposes do not count as effects of the called tool.
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
 * - `"not_executed"`: the call changed nothing. This includes every call that only reads.
 * - `"unknown"`: the call may have taken effect, fully or in part.
 *
 * @category models
 * @since 0.1.0
 */
export type Certainty = typeof Certainty.Type

/**
 * The schema of a {@link Doubt}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Doubt = Schema.Literals(["hard", "soft"])

/**
 * How strong the doubt about a call is, if its certainty is `unknown`.
 *
 * - `"hard"`: something was seen that may have acted, or nobody knows how the attempt ended: a request without an answer,
 *   a lost connection, a defect, an attempt that still runs.
 * - `"soft"`: the tool reads as if it had refused the call, but nothing proves it, and nothing was seen that acts.
 *
 * @category models
 * @since 0.1.0
 */
export type Doubt = typeof Doubt.Type

/**
 * Combines the certainties of two effects: if either is `unknown`, so is the result.
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
