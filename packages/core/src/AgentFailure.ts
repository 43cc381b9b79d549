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
 * {@link schema} brings each through a store, a wire and a log, and back to its class. What a run ended with, answer or
 * failure, is JSON by `Schema.toCodecJson(Schema.Exit(Answer.schema, AgentFailure.schema, Schema.Defect()))`.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Limit } from "./AgentBudget.ts"
import * as CallFacts from "./CallFacts.ts"
import { codec, Failure } from "./internal/failure/failureClass.ts"
import { versioned } from "./internal/value/versioned.ts"
import { Ledger } from "./Ledger.ts"
import { ModelFailure, Reply } from "./Model.ts"
import { FieldIssue } from "./ToolFailure.ts"
import * as ToolOutcome from "./ToolOutcome.ts"
import * as Transcript from "./Transcript.ts"

interface RunFields {
  /** One line: why the run ended. */
  readonly detail: string
  /** Everything that was said, valid for every provider. */
  readonly transcript: Transcript.Transcript
  /** Turns, calls, tokens and failures so far. */
  readonly ledger: Ledger
  /** What was called, and what came of it. Give it to the run that goes on from the `transcript`. */
  readonly facts: CallFacts.CallFacts
}

/** What every one of them encodes to, with `Own` beside it. */
type EncodedRun<Tag extends string, Own> = Own & {
  readonly _tag: Tag
  readonly version: number
  readonly detail: string
  readonly transcript: typeof Transcript.schema.Encoded
  readonly ledger: typeof Ledger.Encoded
  readonly facts: CallFacts.Encoded
}

const stored = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  versioned("the failure of a run", 4, {
    detail: Schema.String,
    transcript: Transcript.schema,
    ledger: Ledger,
    facts: CallFacts.schema,
    ...fields
  })

const ModelFailedFields = stored({ _tag: Schema.tag("ModelFailed"), failure: ModelFailure.schema })

/**
 * The model did not answer: the last failure, after its retries.
 *
 * @category failures
 * @since 0.1.0
 */
export class ModelFailed extends Failure<RunFields & { readonly failure: ModelFailure; readonly cause?: unknown }> {
  readonly _tag = "ModelFailed"

  /** Its schema: encodes to plain JSON with a version, without the `cause`. */
  static readonly schema: Schema.Codec<
    ModelFailed,
    EncodedRun<"ModelFailed", { readonly failure: typeof ModelFailure.schema.Encoded }>
  > = codec(
    ModelFailedFields,
    () => ModelFailed
  )
}

const LimitReachedFields = stored({ _tag: Schema.tag("LimitReached"), limit: Limit })

/**
 * A limit of the agent was used up before the model gave an answer.
 *
 * @category failures
 * @since 0.1.0
 */
export class LimitReached extends Failure<RunFields & { readonly limit: Limit }> {
  readonly _tag = "LimitReached"

  /** Its schema: encodes to plain JSON with a version, without the `cause`. */
  static readonly schema: Schema.Codec<LimitReached, EncodedRun<"LimitReached", { readonly limit: Limit }>> = codec(
    LimitReachedFields,
    () => LimitReached
  )
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
  version: Schema.Literal(4),
  runId: Schema.String,
  turn: Schema.Int,
  /** What was said before the turn that waits. */
  transcript: Transcript.schema,
  ledger: Ledger,
  reply: Reply,
  /** What has come of the reply's calls; those that wait are `Suspended`. */
  outcomes: Schema.Array(ToolOutcome.schema),
  /** What was called so far, so that a resumed run repeats nothing that must not be repeated. */
  facts: CallFacts.schema,
  /** How much of its time the run has used. The time in which it waits for its user does not count. */
  used: Schema.DurationFromMillis
}).check(
  Schema.makeFilter(({ outcomes, reply }) =>
    outcomes.length === reply.calls.length && outcomes.some(({ _tag }) => _tag === "Suspended")
      ? undefined
      : "a suspension with an outcome for each call, one of them suspended"
  )
)

const RunSuspendedFields = stored({
  _tag: Schema.tag("RunSuspended"),
  question: Schema.String,
  suspension: Suspension
})

/**
 * A tool asked the user (`ToolCall.ask`), and the run waits for the reply. Store what the run needs to go on, and decode it
 * before `agent.resume`:
 *
 *     JSON.stringify(yield* Schema.encodeEffect(AgentFailure.Suspension)(failure.suspension))
 *     yield* Schema.decodeUnknownEffect(AgentFailure.Suspension)(JSON.parse(stored))
 *
 * `JSON.stringify(failure.suspension)` alone is not decodable. The {@link schema} of the whole failure has the suspension in it, too.
 *
 * @category failures
 * @since 0.1.0
 */
export class RunSuspended extends Failure<RunFields & { readonly question: string; readonly suspension: Suspension }> {
  readonly _tag = "RunSuspended"

  /** Its schema: encodes to plain JSON with a version, without the `cause`. */
  static readonly schema: Schema.Codec<
    RunSuspended,
    EncodedRun<"RunSuspended", {
      readonly question: string
      readonly suspension: typeof Suspension.Encoded
    }>
  > = codec(
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
export class RunStopped extends Failure<RunFields & { readonly reason: string }> {
  readonly _tag = "RunStopped"

  /** Its schema: encodes to plain JSON with a version, without the `cause`. */
  static readonly schema: Schema.Codec<RunStopped, EncodedRun<"RunStopped", { readonly reason: string }>> = codec(
    RunStoppedFields,
    () => RunStopped
  )
}

const RunRefusedFields = stored({ _tag: Schema.tag("RunRefused"), issues: Schema.Array(FieldIssue) })

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

  /** Its schema: encodes to plain JSON with a version, without the `cause`. */
  static readonly schema: Schema.Codec<
    RunRefused,
    EncodedRun<"RunRefused", { readonly issues: ReadonlyArray<FieldIssue> }>
  > = codec(
    RunRefusedFields,
    () => RunRefused
  )
}

/**
 * How a run ends without an answer.
 *
 * @category models
 * @since 0.1.0
 */
export type AgentFailure = ModelFailed | LimitReached | RunSuspended | RunStopped | RunRefused

/**
 * The schema of an {@link AgentFailure}: encodes to plain JSON with a version, without the `cause`, and decodes to the same class.
 *
 * When to use: wherever a failure leaves the process. What `JSON.stringify` makes of a failure that is not encoded, no schema decodes.
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
export const schema: Schema.Codec<AgentFailure, Encoded> = Schema.Union([
  ModelFailed.schema,
  LimitReached.schema,
  RunSuspended.schema,
  RunStopped.schema,
  RunRefused.schema
])

/**
 * What an {@link AgentFailure} encodes to.
 *
 * @category models
 * @since 0.1.0
 */
export type Encoded =
  | typeof ModelFailed.schema.Encoded
  | typeof LimitReached.schema.Encoded
  | typeof RunSuspended.schema.Encoded
  | typeof RunStopped.schema.Encoded
  | typeof RunRefused.schema.Encoded
