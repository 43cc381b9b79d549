/**
 * How a run ends without an answer. Every one carries the transcript and the ledger of the run, so
 * that nothing that was found out is lost.
 *
 * | failure        | it means                                           | what to do                                     |
 * | -------------- | -------------------------------------------------- | ---------------------------------------------- |
 * | `ModelFailed`  | the model did not answer, retries included         | try later; go on from the `transcript`         |
 * | `LimitReached` | a limit of the agent was used up                   | raise it; or go on from the `transcript`       |
 * | `RunSuspended` | a tool asked the user                              | `agent.resume(failure.suspension, reply)`      |
 * | `RunStopped`   | a tool stopped the run                             | read the reason                                |
 * | `RunRefused`   | the run was given what is not of its type          | read the detail; decode what was stored        |
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { Limit } from "./AgentBudget.ts"
import * as CallFacts from "./CallFacts.ts"
import { Failure } from "./internal/failure.ts"
import { Ledger } from "./Ledger.ts"
import { type ModelFailure, Reply } from "./Model.ts"
import type { FieldIssue } from "./ToolFailure.ts"
import * as ToolOutcome from "./ToolOutcome.ts"
import * as Transcript from "./Transcript.ts"

interface RunFields {
  /** One line: why the run ended. */
  readonly detail: string
  /** Everything that was said, valid for every provider. */
  readonly transcript: Transcript.Transcript
  /** Turns, calls, tokens and failures so far. */
  readonly ledger: Ledger
}

/**
 * The model did not answer: the last failure, after its retries.
 *
 * @category failures
 * @since 0.1.0
 */
export class ModelFailed extends Failure<RunFields & { readonly failure: ModelFailure; readonly cause?: unknown }> {
  readonly _tag = "ModelFailed"
}

/**
 * A limit of the agent was used up before the model gave an answer.
 *
 * @category failures
 * @since 0.1.0
 */
export class LimitReached extends Failure<RunFields & { readonly limit: Limit }> {
  readonly _tag = "LimitReached"
}

/**
 * A run that waits for its user, as plain data: encode it, store it, resume it in another process.
 *
 * @category models
 * @since 0.1.0
 */
export interface Suspension extends Schema.Schema.Type<typeof Suspension> {}

/**
 * The schema of a {@link Suspension}: encodes to plain JSON, with a version.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Suspension = Schema.Struct({
  version: Schema.Literal(1),
  runId: Schema.String,
  turn: Schema.Int,
  /** What was said before the turn that waits. */
  transcript: Transcript.schema,
  ledger: Ledger,
  reply: Reply,
  /** What has come of the reply's calls; those that wait are `Suspended`. */
  outcomes: Schema.Array(ToolOutcome.schema),
  /** What has failed so far, so that its budgets hold after a resume. */
  facts: Schema.optionalKey(CallFacts.schema)
}).check(
  Schema.makeFilter(({ outcomes, reply }) =>
    outcomes.length === reply.calls.length && outcomes.some(({ _tag }) => _tag === "Suspended")
      ? undefined
      : "a suspension with an outcome for each call, one of them suspended"
  )
)

/**
 * A tool asked the user (`ToolCall.ask`), and the run waits for the reply. Store it with
 * `Schema.encodeEffect(AgentFailure.Suspension)(failure.suspension)`, and go on with `agent.resume`.
 *
 * @category failures
 * @since 0.1.0
 */
export class RunSuspended extends Failure<RunFields & { readonly question: string; readonly suspension: Suspension }> {
  readonly _tag = "RunSuspended"
}

/**
 * A tool stopped the run (`ToolCall.stop`).
 *
 * @category failures
 * @since 0.1.0
 */
export class RunStopped extends Failure<RunFields & { readonly reason: string }> {
  readonly _tag = "RunStopped"
}

/**
 * The run was given a question, a transcript, a suspension or a reply that is not of its type. Nothing has run.
 *
 * What comes from a store has to be decoded: `Schema.decodeUnknownEffect(AgentFailure.Suspension)(JSON.parse(stored))`.
 *
 * @category failures
 * @since 0.1.0
 */
export class RunRefused extends Failure<RunFields & { readonly issues: ReadonlyArray<FieldIssue> }> {
  readonly _tag = "RunRefused"
}

/**
 * How a run ends without an answer.
 *
 * @category models
 * @since 0.1.0
 */
export type AgentFailure = ModelFailed | LimitReached | RunSuspended | RunStopped | RunRefused
