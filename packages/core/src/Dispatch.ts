/**
 * Runs one tool call, from the model's text to the call's outcome:
 *
 *     model text ─ resolve ─ parse ─ decode ─ admit ─── run under its policies ─ guard ─ outcome
 *                  Toolkit   Arguments        CallFacts Tool                     success schema
 *                            └──────── fixers: better arguments ──┘
 *
 * `resolve` finds the tool, `admit` decides whether the call may run, and asks for its approval (`Tool.approve`), and `guard`
 * encodes the result. Each stage passes its result to the next one, or ends with a failure. Only fixers (functions that correct rejected
 * arguments) loop back: the corrected arguments are decoded, admitted and run like a model's. A failure that no
 * fixer corrects goes straight to the outcome.
 *
 * Dispatch is total: its error channel is `never`, and every call gets exactly one outcome, unless it is
 * interrupted. The failure of one call does not affect the results of other calls.
 *
 * These are the failures that dispatch adds to a tool's own. They are instances of the same classes, so models, reports and
 * programs read one shape. `tool.run` never fails with one of them.
 *
 * | code                | class             | created when                                                                            |
 * | ------------------- | ----------------- | --------------------------------------------------------------------------------------- |
 * | `unknown_tool`      | `SchemaMismatch`  | the toolkit has no tool with the name in the call                                       |
 * | `invalid_json`      | `SchemaMismatch`  | the argument text is not a JSON object                                                  |
 * | `invalid_arguments` | `SchemaMismatch`  | the arguments do not fit the tool's parameters                                          |
 * | `invalid_result`    | `SchemaMismatch`  | the handler's value does not fit the tool's declared result                             |
 * | `defect`            | `ToolUnavailable` | the handler threw, died, or interrupted itself                                          |
 * | `not_run`           | `ToolUnavailable` | an earlier call of the same turn stopped the run, or asked the user; another session of the scope acts |
 * | `interrupted`       | `ToolUnavailable` | the run was interrupted while the call ran: only in what the run hands over (`RunHandle`) |
 * | `halted`            | `ToolUnavailable` | the journal of the run failed: only in what the run hands over (`RunHalted`)            |
 * | `disabled`          | `ToolUnavailable` | the tool is disabled (`ToolHealth`)                                                     |
 * | `call_limit`        | `ToolUnavailable` | the agent's limit on calls is used up                                                   |
 * | `no_identity`       | `SchemaMismatch`  | the arguments do not identify the intended effect                                       |
 * | `repeated_call`     | `SemanticGarbage` | the same call has failed too often in this run, or a non-idempotent tool has certainly refused it |
 * | `repeated_call`     | `ToolUnavailable` | the same call has failed too often, if the earlier call failed with `ToolUnavailable` or may have taken effect    |
 * | `already_done`      | `ToolUnavailable` | the same call has already succeeded, and must not be repeated                           |
 * | `in_doubt`          | `ToolUnavailable` | another call of the tool may have taken effect, and the tool cannot tell calls apart    |
 * | `not_approved`      | `ToolUnavailable` | a person denied the call, or an equal one of the same run, or the approval came too late |
 * | `loop_detected`     | `ToolUnavailable` | the run is stuck, and the same call would add nothing (`LoopGuard`)                     |
 *
 * Two calls are the same if they have the same intent: the effect that they are meant to have (`CallFacts`).
 *
 * Dispatch runs single calls and knows nothing about an agent's turns. The agent's loop, in turn, knows nothing
 * about the internals of tools.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { DispatchFailure } from "./internal/arguments/dispatchFailure.ts"
import { type CallOptions, performCall } from "./internal/dispatch/performCall.ts"
import type * as Tool from "./Tool.ts"
import type { ToolCall } from "./ToolCall.ts"
import type { Toolkit } from "./Toolkit.ts"
import type { ToolOutcome } from "./ToolOutcome.ts"

/**
 * The codes of the failures that dispatch adds to a tool's own.
 *
 * @category models
 * @since 0.1.0
 */
export type Code = DispatchFailure["code"]

export type { CallOptions } from "./internal/dispatch/performCall.ts"

/**
 * Runs one tool call and returns its outcome. The Effect never fails.
 *
 * @example
 * ```ts
 * import { Dispatch, Tool, Toolkit } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const toolkit = Toolkit.make(
 *   Tool.make("ping", { description: "Answers", success: Schema.String }, () => Effect.succeed("pong"))
 * )
 * const outcome = Effect.runSync(Dispatch.call(toolkit, { id: "1", name: "ping" }))
 * outcome._tag // => "Completed"
 * ```
 *
 * @category dispatch
 * @since 0.1.0
 */
export const call: <T extends Tool.Any>(
  toolkit: Toolkit<T>,
  call: ToolCall,
  options?: CallOptions
) => Effect.Effect<ToolOutcome, never, Tool.Requirements<T>> = performCall
