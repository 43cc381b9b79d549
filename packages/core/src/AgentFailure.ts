/**
 * The failures of a run that ends without an answer. Each failure carries the transcript (all messages), the
 * report (the counts and failures) and the facts (what the calls did), so that no result of the run is lost.
 *
 * | failure        | it means                                           | what to do                                         |
 * | -------------- | -------------------------------------------------- | -------------------------------------------------- |
 * | `ModelFailed`  | the model did not answer, even after retries       | try later; continue from the `transcript`          |
 * | `RunPostponed` | the model asked to wait, and retries did not help  | `agent.resume(failure.postponement)`, at its time  |
 * | `LimitReached` | a limit of the agent was used up                   | raise the limit, or continue from the `transcript` |
 * | `LoopDetected` | the model repeated calls that add nothing          | simplify the question, or give it better tools     |
 * | `RunSuspended` | a call asks its user, or for an approval           | `agent.resume(failure.suspension, replies)`        |
 * | `RunStopped`   | a tool stopped the run                             | read the `reason`                                  |
 * | `OutputRefused` | the model gave no answer that fits the `output`   | read the `issues`; continue from the `transcript`  |
 * | `RunHalted`    | the journal or the `keep` of the run failed        | repair it, and run again with it                   |
 * | `RunRefused`   | an input of the run is invalid                     | read the `detail`; decode stored data before use   |
 *
 * `console.log` and Effect's loggers for text show a failure in short: its detail, and its report as a table. A logger
 * that writes JSON writes all of it, with the system prompt: give it `String(failure)` instead. `JSON.stringify` gives
 * `"<redacted>"` in place of secrets, so a call that has one can only be resumed from what the schema has encoded.
 *
 * {@link schema} encodes a failure for a store, a network or a log, and decodes it to the same class. It also decodes the
 * version before, and so do {@link Suspension} and {@link Postponement}: a run that waits can outlast an update. To encode
 * the whole `Exit` of a run, use
 * `Schema.toCodecJson(Schema.Exit(Answer.schema, AgentFailure.schema, Schema.Defect()))`.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as CallFacts from "./CallFacts.ts"
import { questionsIn } from "./internal/agent/openQuestions.ts"
import { RunFailure } from "./internal/agent/runFailure.ts"
import { sameAsBefore, suspensionBefore } from "./internal/agent/storedBefore.ts"
import { codec } from "./internal/failure/failureClass.ts"
import { isSame } from "./internal/value/canonical.ts"
import { namedStruct, storedStruct } from "./internal/value/namedStruct.ts"
import { withVersion } from "./internal/value/versioned.ts"
import { Limit } from "./Limits.ts"
import { ModelFailure, Reply } from "./Model.ts"
import { Question } from "./Question.ts"
import { RunReport } from "./RunReport.ts"
import { FieldIssue } from "./ToolFailure.ts"
import * as ToolOutcome from "./ToolOutcome.ts"
import * as Transcript from "./Transcript.ts"

interface RunFields {
  /** One line: why the run ended. */
  readonly detail: string
  /** All messages so far, in a form that every provider accepts. */
  readonly transcript: Transcript.Transcript
  /** Turns, calls, tokens and failures so far. */
  readonly report: RunReport
  /** The facts of the calls so far. Pass these facts to the run that continues from the `transcript`. */
  readonly facts: CallFacts.CallFacts
}

const stored = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  withVersion("the failure of a run", 8, {
    detail: Schema.String,
    transcript: Transcript.schema,
    report: RunReport,
    facts: CallFacts.schema,
    ...fields
  }, sameAsBefore)

const ModelFailedFields = stored({ _tag: Schema.tag("ModelFailed"), failure: ModelFailure.schema })

/**
 * The model did not answer. `failure` is the model's last failure, after any retries.
 *
 * @category failures
 * @since 0.1.0
 */
export class ModelFailed extends RunFailure<RunFields & { readonly failure: ModelFailure; readonly cause?: unknown }> {
  readonly _tag = "ModelFailed"

  /** The schema of this failure. It encodes to plain JSON with a version number, without the `cause`. */
  static readonly schema: Schema.Codec<ModelFailed, Schema.JsonObject> = codec(
    ModelFailedFields,
    () => ModelFailed
  )
}

// How many answers did not fit the agent's `output`, or did not pass its check. Absent if none.
const refused = Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)))

/**
 * A run that waits until its model can be asked again, as plain data. It can be encoded, stored, and resumed in another
 * process.
 *
 * It encodes to plain JSON with a version number.
 *
 * @category models
 * @since 0.1.0
 */
export class Postponement extends storedStruct<Postponement>()({
  version: Schema.Literal(8),
  runId: Schema.String,
  /** The 1-based number of the turn in which the model was asked. */
  turn: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
  /** How many times this request was postponed: at least 1. */
  postponed: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
  /** When to resume the run, in milliseconds since 1970. */
  until: Schema.Finite,
  transcript: Transcript.schema,
  report: RunReport,
  /** The facts of the calls so far. The resumed run uses these facts so as not to repeat effects. */
  facts: CallFacts.schema,
  /** How long the run has taken so far. */
  used: Schema.DurationFromMillis,
  refused
}, sameAsBefore) {}

const RunPostponedFields = stored({
  _tag: Schema.tag("RunPostponed"),
  failure: ModelFailure.schema,
  retryAfter: Schema.DurationFromMillis,
  postponement: Postponement
})

/**
 * The model asked to wait (`Retry-After`), and the retries of the agent and the provider were not enough, or do not wait
 * that long. Resume the run when the time has come: `agent.resume(failure.postponement)`.
 *
 * @category failures
 * @since 0.1.0
 */
export class RunPostponed extends RunFailure<
  RunFields & {
    readonly failure: ModelFailure
    /** How long the model asked to wait. */
    readonly retryAfter: Duration.Duration
    readonly postponement: Postponement
    readonly cause?: unknown
  }
> {
  readonly _tag = "RunPostponed"

  /** The schema of this failure. It encodes to plain JSON with a version number, without the `cause`. */
  static readonly schema: Schema.Codec<RunPostponed, Schema.JsonObject> = codec(
    RunPostponedFields,
    () => RunPostponed
  )
}

const LimitReachedFields = stored({ _tag: Schema.tag("LimitReached"), limit: Limit })

/**
 * A limit of the agent was used up before the model gave an answer.
 *
 * @category failures
 * @since 0.1.0
 */
export class LimitReached extends RunFailure<RunFields & { readonly limit: Limit }> {
  readonly _tag = "LimitReached"

  /** The schema of this failure. It encodes to plain JSON with a version number, without the `cause`. */
  static readonly schema: Schema.Codec<LimitReached, Schema.JsonObject> = codec(
    LimitReachedFields,
    () => LimitReached
  )
}

/**
 * A call that a stuck run repeated.
 *
 * @category models
 * @since 0.1.0
 */
export class RepeatedCall extends namedStruct<RepeatedCall>()({
  tool: Schema.String,
  /** The text of the arguments, with `"<redacted>"` in place of secrets. */
  arguments: Schema.String,
  /** In how many turns the call, or a similar one of the same tool, had the same outcome. */
  times: Schema.Int
}) {}

const LoopDetectedFields = stored({ _tag: Schema.tag("LoopDetected"), calls: Schema.Array(RepeatedCall) })

/**
 * The model was stuck: it repeated calls that add nothing, although it was told, and was refused (`LoopGuard`).
 *
 * @category failures
 * @since 0.1.0
 */
export class LoopDetected extends RunFailure<RunFields & { readonly calls: ReadonlyArray<RepeatedCall> }> {
  readonly _tag = "LoopDetected"

  /** The schema of this failure. It encodes to plain JSON with a version number, without the `cause`. */
  static readonly schema: Schema.Codec<LoopDetected, Schema.JsonObject> = codec(
    LoopDetectedFields,
    () => LoopDetected
  )
}

/**
 * A run that waits for replies to its questions, as plain data. It can be encoded, stored, and resumed in another process.
 *
 * It encodes to plain JSON with a version number, and decodes the version before, too. It holds the transcript with the
 * instructions, and the arguments of its calls with their secrets. So store it as carefully as those. If it leaves the server,
 * sign it (`SignedSuspension`), or let only its `id` leave.
 *
 * @category models
 * @since 0.1.0
 */
export class Suspension extends storedStruct<Suspension>()(
  {
    version: Schema.Literal(8),
    /**
     * Names this suspension. A run that is replayed has the same one. It is no secret: who knows it may not be the one who may
     * reply.
     */
    id: Schema.String,
    runId: Schema.String,
    turn: Schema.Int,
    /** The open questions of the turn, in the order of its calls. */
    questions: Schema.Array(Question),
    /** The names of the tools that the rest of the turn needs. The agent that resumes the run must have them. */
    needs: Schema.Array(Schema.String),
    /** Until when the run can be resumed, in milliseconds since 1970. Absent if there is no limit. */
    expires: Schema.optionalKey(Schema.Finite),
    /** The messages before the suspended turn. */
    transcript: Transcript.schema,
    report: RunReport,
    reply: Reply,
    /** The outcomes of the calls in the model's `reply`. A call that waits for a reply is `Suspended`. */
    outcomes: Schema.Array(ToolOutcome.schema),
    /** The facts of the calls so far. The resumed run uses these facts so as not to repeat effects. */
    facts: CallFacts.schema,
    /** How long the run has taken so far, without the time that it spent waiting for its user. */
    used: Schema.DurationFromMillis,
    refused
  },
  suspensionBefore,
  Schema.makeFilter(({ outcomes, questions, reply }) => {
    const open = outcomes.length === reply.calls.length ? questionsIn(outcomes) : []
    if (open.length === 0) return "a suspension with an outcome for each call, one of them with an open question"
    return isSame(open, questions)
      ? undefined
      : { path: ["questions"], issue: "the open questions of the outcomes" }
  })
) {}

const RunSuspendedFields = stored({
  _tag: Schema.tag("RunSuspended"),
  question: Schema.String,
  suspension: Suspension
})

/**
 * A call asks (`ToolCall.ask`, `Tool.approve`), and the run waits for the reply. All open questions are in
 * `suspension.questions`; `question` is the text of the first one. Encode the suspension to store it, and decode it before
 * `agent.resume`:
 *
 *     JSON.stringify(yield* Schema.encodeEffect(AgentFailure.Suspension)(failure.suspension))
 *     yield* Schema.decodeUnknownEffect(AgentFailure.Suspension)(JSON.parse(stored))
 *
 * The output of `JSON.stringify(failure.suspension)` cannot be decoded, because the suspension was not encoded.
 * The {@link schema} of the whole failure also encodes the suspension.
 *
 * @category failures
 * @since 0.1.0
 */
export class RunSuspended
  extends RunFailure<RunFields & { readonly question: string; readonly suspension: Suspension }>
{
  readonly _tag = "RunSuspended"

  /** The schema of this failure. It encodes to plain JSON with a version number, without the `cause`. */
  static readonly schema: Schema.Codec<RunSuspended, Schema.JsonObject> = codec(
    RunSuspendedFields,
    () => RunSuspended
  )
}

const RunStoppedFields = stored({ _tag: Schema.tag("RunStopped"), reason: Schema.String })

/**
 * A tool stopped the run (`ToolCall.stop`).
 *
 * @category failures
 * @since 0.1.0
 */
export class RunStopped extends RunFailure<RunFields & { readonly reason: string }> {
  readonly _tag = "RunStopped"

  /** The schema of this failure. It encodes to plain JSON with a version number, without the `cause`. */
  static readonly schema: Schema.Codec<RunStopped, Schema.JsonObject> = codec(
    RunStoppedFields,
    () => RunStopped
  )
}

const OutputRefusedFields = stored({
  _tag: Schema.tag("OutputRefused"),
  text: Schema.String,
  issues: Schema.Array(FieldIssue)
})

/**
 * The model gave no answer that fits the agent's `output` and passes its check, although it was told twice what is wrong. Or
 * the check itself failed with an internal error: the model cannot mend that, and is not told.
 *
 * @category failures
 * @since 0.1.0
 */
export class OutputRefused extends RunFailure<
  RunFields & {
    /** The model's last answer, as it was written, but with `"<redacted>"` in place of secrets. */
    readonly text: string
    /** What is wrong with it, field by field. Empty if its check refused it, or if nothing of it could be read. */
    readonly issues: ReadonlyArray<FieldIssue>
  }
> {
  readonly _tag = "OutputRefused"

  /** The schema of this failure. It encodes to plain JSON with a version number. */
  static readonly schema: Schema.Codec<OutputRefused, Schema.JsonObject> = codec(
    OutputRefusedFields,
    () => OutputRefused
  )
}

const RunHaltedFields = stored({ _tag: Schema.tag("RunHalted"), step: Schema.String })

/**
 * The journal of the run failed: it refused a step, or could not read its record (`Journal.JournalFailure`). Nothing of the
 * run began after that. Its acting calls without a result are in doubt in the `facts`: another process may have the journal
 * now, and run them.
 *
 * When the journal works again, run the same question with it: the run goes on from its records.
 *
 * @category failures
 * @since 0.1.0
 */
export class RunHalted extends RunFailure<
  RunFields & {
    /** The name of the step at which the journal failed; `"keep"` if what was done could not be stored. */
    readonly step: string
    /** The failure of the journal, for logs in this process. */
    readonly cause?: unknown
  }
> {
  readonly _tag = "RunHalted"

  /** The schema of this failure. It encodes to plain JSON with a version number, without the `cause`. */
  static readonly schema: Schema.Codec<RunHalted, Schema.JsonObject> = codec(
    RunHaltedFields,
    () => RunHalted
  )
}

const RunRefusedFields = stored({ _tag: Schema.tag("RunRefused"), issues: Schema.Array(FieldIssue) })

/**
 * An input of the run is invalid: for example its question, transcript, suspension or reply. Nothing has run.
 *
 * Decode stored data before use: `Schema.decodeUnknownEffect(AgentFailure.Suspension)(JSON.parse(stored))`.
 *
 * @category failures
 * @since 0.1.0
 */
export class RunRefused extends RunFailure<RunFields & { readonly issues: ReadonlyArray<FieldIssue> }> {
  readonly _tag = "RunRefused"

  /** The schema of this failure. It encodes to plain JSON with a version number, without the `cause`. */
  static readonly schema: Schema.Codec<RunRefused, Schema.JsonObject> = codec(
    RunRefusedFields,
    () => RunRefused
  )
}

/**
 * Any failure of a run.
 *
 * @category models
 * @since 0.1.0
 */
export type AgentFailure =
  | ModelFailed
  | RunPostponed
  | LimitReached
  | LoopDetected
  | RunSuspended
  | RunStopped
  | OutputRefused
  | RunHalted
  | RunRefused

/**
 * A failure of a run that does not wait: neither for replies nor for its model. A stream fails with these alone.
 *
 * @category models
 * @since 0.1.0
 */
export type Failed = Exclude<AgentFailure, RunSuspended | RunPostponed>

/**
 * The schema of an {@link AgentFailure}. It encodes to plain JSON with a version number, without the `cause`,
 * and decodes to the same class.
 *
 * When to use: wherever a failure leaves the process. `JSON.stringify(failure)` encodes the failure by this schema, but
 * without the secrets in the calls of its transcript.
 *
 * @example
 * ```ts
 * import { Agent, AgentFailure, Model, ModelFailure, Toolkit } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const refused = new ModelFailure({ code: "refused", detail: "The model will not answer.", transient: false })
 * const model = Model.layer({ respond: () => Effect.fail(refused) })
 * const run = Agent.make({ toolkit: Toolkit.empty }).run("Hi")
 *
 * const failure = Effect.runSync(Effect.flip(Effect.provide(run, model)))
 * const stored = JSON.stringify(Schema.encodeSync(AgentFailure.schema)(failure))
 * const decoded = Schema.decodeUnknownSync(AgentFailure.schema)(JSON.parse(stored))
 * decoded instanceof AgentFailure.ModelFailed // => true
 * decoded.message // => "The model will not answer."
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const schema: Schema.Codec<AgentFailure, Schema.JsonObject> = Schema.Union([
  ModelFailed.schema,
  RunPostponed.schema,
  LimitReached.schema,
  LoopDetected.schema,
  RunSuspended.schema,
  RunStopped.schema,
  OutputRefused.schema,
  RunHalted.schema,
  RunRefused.schema
])
