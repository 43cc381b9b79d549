/**
 * Typed tool failures, recovery policies, and a recursive agent loop, on Effect.
 *
 * Each module is one noun. Start with `ToolFailure`, `Tool`, `Toolkit` and `Agent`. Then read `Policy`,
 * `RetryPolicy` and `Fixer` for recovery, `Guard` for the results of tools, and `Dispatch` and `Rendering`
 * for the text that a model sees.
 *
 * @since 0.1.0
 */
export * as Agent from "./Agent.ts"
export * as AgentEvent from "./AgentEvent.ts"
export * as AgentFailure from "./AgentFailure.ts"
export * as Answer from "./Answer.ts"
export * as Arguments from "./Arguments.ts"
export * as Availability from "./Availability.ts"
export * as CallEvent from "./CallEvent.ts"
export * as CallFacts from "./CallFacts.ts"
export * as Certainty from "./Certainty.ts"
export * as ClientEvent from "./ClientEvent.ts"
export * as Deadline from "./Deadline.ts"
export * as Dispatch from "./Dispatch.ts"
export * as Explanation from "./Explanation.ts"
export * as Fixer from "./Fixer.ts"
export * as Guard from "./Guard.ts"
export * as Journal from "./Journal.ts"
export * as Ledger from "./Ledger.ts"
export * as Limits from "./Limits.ts"
export * as LoopGuard from "./LoopGuard.ts"
export * as Model from "./Model.ts"
export * as ModelRecovery from "./ModelRecovery.ts"
export * as Observer from "./Observer.ts"
export * as Policy from "./Policy.ts"
export * as Rendering from "./Rendering.ts"
export * as ResultSize from "./ResultSize.ts"
export * as RetryBudget from "./RetryBudget.ts"
export * as RetryPolicy from "./RetryPolicy.ts"
export * as SideEffect from "./SideEffect.ts"
export * as Suggestion from "./Suggestion.ts"
export * as Tool from "./Tool.ts"
export * as ToolCall from "./ToolCall.ts"
export * as ToolFailure from "./ToolFailure.ts"
export * as ToolHealth from "./ToolHealth.ts"
export * as Toolkit from "./Toolkit.ts"
export * as ToolOutcome from "./ToolOutcome.ts"
export * as Transcript from "./Transcript.ts"
export * as WireRequest from "./WireRequest.ts"

// Failures are constructed too often to be written with a prefix.
export { ModelFailure } from "./Model.ts"
export { PartialData, SchemaMismatch, SemanticGarbage, ToolUnavailable } from "./ToolFailure.ts"
