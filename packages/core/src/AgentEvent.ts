/**
 * What happens in a run, as it happens: the elements of `agent.stream`.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type { Answer } from "./Answer.ts"
import type { ModelFailure, Reply } from "./Model.ts"
import type { ToolCall } from "./ToolCall.ts"
import type { ToolFailure } from "./ToolFailure.ts"
import type { HandledBy, ToolOutcome } from "./ToolOutcome.ts"

/**
 * One event of a run. Turns, and calls within a turn, count from 1.
 *
 * @category models
 * @since 0.1.0
 */
export type AgentEvent =
  /** The model is asked. */
  | { readonly _tag: "TurnStarted"; readonly turn: number }
  /** A piece of the model's text. */
  | { readonly _tag: "TextDelta"; readonly turn: number; readonly text: string }
  /** The model failed and is asked again after the wait. The turn's text so far is void. */
  | {
    readonly _tag: "ModelRetried"
    readonly turn: number
    readonly failure: ModelFailure
    readonly wait: Duration.Duration
  }
  /** The model replied. */
  | {
    readonly _tag: "ModelReplied"
    readonly turn: number
    readonly reply: Reply
    readonly elapsed: Duration.Duration
  }
  /** A tool call begins. */
  | { readonly _tag: "CallStarted"; readonly turn: number; readonly index: number; readonly call: ToolCall }
  /** A policy took care of a failure: a retry, a fallback. */
  | {
    readonly _tag: "FailureHandled"
    readonly turn: number
    readonly index: number
    readonly call: ToolCall
    readonly failure: ToolFailure
    readonly by: HandledBy
    /** The name of the policy, where it is a custom one. */
    readonly policy?: string
    readonly attempt: number
  }
  /** A tool call has its outcome. */
  | {
    readonly _tag: "CallEnded"
    readonly turn: number
    readonly index: number
    readonly call: ToolCall
    readonly outcome: ToolOutcome
    readonly elapsed: Duration.Duration
  }
  /** The run has its answer: the last event. A run without one fails the stream. */
  | { readonly _tag: "RunEnded"; readonly answer: Answer }
