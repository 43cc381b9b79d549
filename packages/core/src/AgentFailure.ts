/**
 * The failures of a run that ends without an answer. Each carries the transcript, the ledger and the facts of
 * the run, so that no result of the run is lost.
 *
 * | failure        | it means                                           | what to do                                     |
 * | -------------- | -------------------------------------------------- | ---------------------------------------------- |
 * | `ModelFailed`  | the model did not answer, even after retries       | try later; continue from the `transcript`      |
 * | `LimitReached` | a limit of the agent was used up                   | raise it; or continue from the `transcript`    |
 * | `RunSuspended` | a tool asked the user                              | `agent.resume(failure.suspension, reply)`      |
 * | `RunStopped`   | a tool stopped the run                             | read the reason                                |
 * | `RunRefused`   | an input of the run is not of its type             | read the detail; decode stored data            |
 *
 * {@link schema} encodes each failure for a store, a wire or a log, and decodes it to its class. To encode
 * the whole exit of a run, use
 * `Schema.toCodecJson(Schema.Exit(Answer.schema, AgentFailure.schema, Schema.Defect()))`.
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
  /** All messages so far, valid for every provider. */
  readonly transcript: Transcript.Transcript
  /** Turns, calls, tokens and failures so far. */
  readonly ledger: Ledger
  /** The calls so far, and what they did. Pass them to the run that continues from the `transcript`. */
  readonly facts: CallFacts.CallFacts
}

/** The encoded form of each failure, with its `Own` fields. */
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
 * The model did not answer. Its `failure` is the last one, after any retries.
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
  /** The messages before the turn that waits. */
  transcript: Transcript.schema,
  ledger: Ledger,
  reply: Reply,
  /** The outcomes of the reply's calls. A call that waits is `Suspended`. */
  outcomes: Schema.Array(ToolOutcome.schema),
  /** The calls so far, so that the resumed run does not repeat their effects. */
  facts: CallFacts.schema,
  /** The time that the run has used. The time in which it waits for its user does not count. */
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
 * A tool asked the user (`ToolCall.ask`), and the run waits for the reply. Encode the suspension to store it,
 * and decode it before `agent.resume`:
 *
 *     JSON.stringify(yield* Schema.encodeEffect(AgentFailure.Suspension)(failure.suspension))
 *     yield* Schema.decodeUnknownEffect(AgentFailure.Suspension)(JSON.parse(stored))
 *
 * The output of `JSON.stringify(failure.suspension)` alone cannot be decoded. The {@link schema} of the whole
 * failure includes the suspension.
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
 * An input of the run is not of its type, such as the question, the transcript, the suspension or the reply.
 * Nothing has run.
 *
 * Stored data must be decoded: `Schema.decodeUnknownEffect(AgentFailure.Suspension)(JSON.parse(stored))`.
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
 * Any failure of a run.
 *
 * @category models
 * @since 0.1.0
 */
export type AgentFailure = ModelFailed | LimitReached | RunSuspended | RunStopped | RunRefused

/**
 * The schema of an {@link AgentFailure}: encodes to plain JSON with a version, without the `cause`, and
 * decodes to the same class.
 *
 * When to use: wherever a failure leaves the process. No schema decodes the output of `JSON.stringify` for a
 * failure that was not encoded.
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
 * The encoded form of an {@link AgentFailure}.
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
