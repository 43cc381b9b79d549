/**
 * Typed tool failures, recovery policies, and a recursive agent loop, on Effect.
 *
 * Each module is one noun. Start with `ToolFailure`, `Tool`, `Toolkit` and `Agent`. Then read `Policy`,
 * `RetryPolicy` and `Fixer` for recovery, and `Guard` for the results of tools.
 *
 * The index has what most programs use. Every other module is a subpath: `import * as Rendering from
 * "@fallible/core/Rendering"`.
 *
 * | for                           | subpaths                                                                                          |
 * | ----------------------------- | ------------------------------------------------------------------------------------------------- |
 * | what a run returns and tells  | `Answer`, `RunReport`, `ToolOutcome`, `CallFacts`, `AgentEvent`, `CallEvent`, `ClientEvent`, `RunHandle` |
 * | runs that wait for people     | `Question`, `Approver`, `Claims`, `SignedSuspension`                                              |
 * | other loops than an agent's   | `CallSession`                                                                                      |
 * | options of an agent           | `Limits`, `LoopGuard`, `ResultSize`, `Rendering`, `ModelRecovery`, `Journal`                       |
 * | policies with services        | `CircuitBreaker`, `RateLimit`, `LastKnown`, `RetryBudget`, `Deadline`                              |
 * | tools                         | `Arguments`, `Parameters`, `Recover`, `HttpFailure`, `SideEffect`, `Certainty`, `WireRequest`, `Suggestion`      |
 * | models of your own            | `ModelAdapter`, `ModelProblem`                                                                     |
 * | operations                    | `ToolHealth`, `Availability`, `Explanation`                                                        |
 *
 * @since 0.1.0
 */
export * as Agent from "./Agent.ts"
export * as AgentFailure from "./AgentFailure.ts"
export * as Dispatch from "./Dispatch.ts"
export * as Fixer from "./Fixer.ts"
export * as Guard from "./Guard.ts"
export * as Model from "./Model.ts"
export * as Observer from "./Observer.ts"
export * as Policy from "./Policy.ts"
export * as RetryPolicy from "./RetryPolicy.ts"
export * as Tool from "./Tool.ts"
export * as ToolCall from "./ToolCall.ts"
export * as ToolFailure from "./ToolFailure.ts"
export * as Toolkit from "./Toolkit.ts"
export * as Transcript from "./Transcript.ts"

// Failures are constructed too often to be written with a prefix.
export { ModelFailure } from "./Model.ts"
export { PartialData, SchemaMismatch, SemanticGarbage, ToolUnavailable } from "./ToolFailure.ts"
