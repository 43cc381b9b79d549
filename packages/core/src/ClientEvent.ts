/**
 * The events of a run that a client may see, such as a browser: no system prompt, no transcript, none of the
 * provider's own fields.
 *
 *     TurnStarted ─ TextDelta … ModelReplied ─ CallStarted ─ FailureHandled … CallEnded ─ TurnStarted … RunEnded
 *                                                                                                     ├ RunSuspended, RunPostponed
 *                                                                                                     └ RunFailed
 *
 * An `AgentEvent` is for the server: it has the transcript, the failures of the model and every result. Make
 * client events with `AgentEvent.forClients`. An event's fields are chosen one by one here, so a field that
 * `AgentEvent` gains later stays on the server.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Concluded, LooksLike } from "./Answer.ts"
import { Certainty } from "./Certainty.ts"
import { inRun, inTurn, step } from "./internal/agent/eventPlace.ts"
import { File } from "./internal/value/file.ts"
import { namedStruct } from "./internal/value/namedStruct.ts"
import { Limit } from "./Limits.ts"
import { Source } from "./Model.ts"
import { Question } from "./Question.ts"
import { Handled } from "./ToolOutcome.ts"

const ofCall = {
  ...inTurn,
  /** The 1-based position of the call in its turn. `turn` and `index` identify the call in its run. */
  index: Schema.Int,
  tool: Schema.String
}

const ofFailure = {
  /** The class of the failure. */
  error: Handled.fields.tag,
  code: Handled.fields.code
}

/**
 * A turn begins: the model is asked.
 *
 * @category models
 * @since 0.1.0
 */
export class TurnStarted extends namedStruct<TurnStarted>()({ _tag: Schema.tag("TurnStarted"), ...inTurn, ...step }) {}

/**
 * A piece of the model's text.
 *
 * @category models
 * @since 0.1.0
 */
export class TextDelta
  extends namedStruct<TextDelta>()({ _tag: Schema.tag("TextDelta"), ...inTurn, text: Schema.String })
{}

/**
 * A piece of the model's reasoning. Present only if asked for.
 *
 * @category models
 * @since 0.1.0
 */
export class ReasoningDelta
  extends namedStruct<ReasoningDelta>()({ _tag: Schema.tag("ReasoningDelta"), ...inTurn, text: Schema.String })
{}

/**
 * A piece of the arguments of a call, as the model writes them. Present only if asked for.
 *
 * @category models
 * @since 0.1.0
 */
export class ArgumentsDelta extends namedStruct<ArgumentsDelta>()({
  _tag: Schema.tag("ArgumentsDelta"),
  ...ofCall,
  text: Schema.String
}) {}

/**
 * The part of a typed answer that the model has written so far, for display alone. The whole answer is the `text` of
 * `RunEnded`, as JSON.
 *
 * @category models
 * @since 0.1.0
 */
export class AnswerPreview extends namedStruct<AnswerPreview>()({
  _tag: Schema.tag("AnswerPreview"),
  ...inTurn,
  soFar: Schema.Json
}) {}

/**
 * The model failed, and is asked again after the `wait`, in milliseconds. Discard the text of this turn so far.
 *
 * The event also follows a `ModelReplied` whose text is not an answer, with the code `call_as_text`, `plan`, `empty_reply`
 * or `invalid_answer`.
 *
 * @category models
 * @since 0.1.0
 */
export class ModelRetried extends namedStruct<ModelRetried>()({
  _tag: Schema.tag("ModelRetried"),
  ...inTurn,
  attempt: Schema.Int,
  code: Schema.String,
  wait: Schema.DurationFromMillis
}) {}

/**
 * The model replied. `text` is its whole text of this turn, and `calls` is the number of its calls.
 *
 * @category models
 * @since 0.1.0
 */
export class ModelReplied extends namedStruct<ModelReplied>()({
  _tag: Schema.tag("ModelReplied"),
  ...inTurn,
  ...step,
  text: Schema.String,
  calls: Schema.Int,
  elapsed: Schema.DurationFromMillis,
  /** What the text cites. Absent if it cites nothing. */
  sources: Schema.optionalKey(Schema.Array(Source)),
  /** The files that the model made, such as pictures. Absent if there are none. */
  files: Schema.optionalKey(Schema.Array(File))
}) {}

/**
 * A call begins.
 *
 * @category models
 * @since 0.1.0
 */
export class CallStarted extends namedStruct<CallStarted>()({
  _tag: Schema.tag("CallStarted"),
  ...ofCall,
  ...step,
  /** True if the client runs the tool, once it is asked to (`RunSuspended`). */
  client: Schema.optionalKey(Schema.Literal(true)),
  /** The arguments as the model wrote them, with `"<redacted>"` in place of secrets. Present only if asked for. */
  arguments: Schema.optionalKey(Schema.String)
}) {}

/**
 * A failure inside a call was handled: the call is retried, or another source answers.
 *
 * @category models
 * @since 0.1.0
 */
export class FailureHandled extends namedStruct<FailureHandled>()({
  _tag: Schema.tag("FailureHandled"),
  ...ofCall,
  ...ofFailure,
  attempt: Schema.Int,
  /** How the failure was handled: `"retry"`, `"fallback"`, and others (`ToolOutcome.HandledBy`). */
  by: Handled.fields.by,
  /** The wait before a retry, in milliseconds. */
  wait: Schema.optionalKey(Schema.DurationFromMillis),
  /** What was wrong. Present only if the results of the tool are asked for. */
  detail: Schema.optionalKey(Schema.String)
}) {}

/**
 * A call has a result before its end. Present only if the results of the tool are asked for.
 *
 * @category models
 * @since 0.1.0
 */
export class ProgressMade
  extends namedStruct<ProgressMade>()({ _tag: Schema.tag("ProgressMade"), ...ofCall, value: Schema.Json })
{}

/**
 * A call ended.
 *
 * @category models
 * @since 0.1.0
 */
export class CallEnded extends namedStruct<CallEnded>()({
  _tag: Schema.tag("CallEnded"),
  ...ofCall,
  ...step,
  outcome: Schema.Literals(["completed", "failed", "suspended", "stopped"]),
  /**
   * Whether the effect of the call has happened, by this call or by an earlier one that it repeats. If it is `unknown`, tell
   * the user that it may have.
   */
  certainty: Certainty,
  /** True if an equal call of the same turn ran in place of this one, which shares its outcome. Nothing was done twice. */
  joined: Schema.optionalKey(Schema.Literal(true)),
  /** How many times the tool and its fallbacks ran. */
  attempts: Schema.Int,
  elapsed: Schema.DurationFromMillis,
  /** The class and the code of the failure, if the call failed. */
  error: Schema.optionalKey(ofFailure.error),
  code: Schema.optionalKey(ofFailure.code),
  /** The result of a completed call. Present only if asked for, as are `detail` and `notes`. */
  value: Schema.optionalKey(Schema.Json),
  /** The files beside the result. */
  files: Schema.optionalKey(Schema.Array(File)),
  /** What was wrong, if the call failed. */
  detail: Schema.optionalKey(Schema.String),
  /** Notes on the result, one sentence each: for example that it is from a cache. */
  notes: Schema.optionalKey(Schema.Array(Schema.String))
}) {}

/**
 * The run repeats calls that add nothing, and the loop guard took a step.
 *
 * @category models
 * @since 0.1.0
 */
export class LoopNoticed extends namedStruct<LoopNoticed>()({
  _tag: Schema.tag("LoopNoticed"),
  ...inTurn,
  step: Schema.Literals(["warned", "refused", "withdrawn", "ended"]),
  tools: Schema.Array(Schema.String)
}) {}

/**
 * A limit of the run is used up. The run ends, or is concluded.
 *
 * @category models
 * @since 0.1.0
 */
export class LimitReached
  extends namedStruct<LimitReached>()({ _tag: Schema.tag("LimitReached"), ...inTurn, limit: Limit })
{}

/**
 * The run has its answer. This is the last event.
 *
 * @category models
 * @since 0.1.0
 */
export class RunEnded extends namedStruct<RunEnded>()({
  _tag: Schema.tag("RunEnded"),
  ...inRun,
  text: Schema.String,
  /** True if the text was cut off at the maximum number of tokens in a reply. */
  truncated: Schema.Boolean,
  /** Present if the run could not finish: the limit that was reached, or `"loop"`. */
  concluded: Schema.optionalKey(Concluded),
  /** Present if the text looks like a tool call, or only says what the model would do next: do not present it as done. */
  looksLike: Schema.optionalKey(LooksLike)
}) {}

/**
 * The run waits for replies to its questions. This is the last event. The server resumes the run with the replies
 * (`Question.Reply`).
 *
 * @category models
 * @since 0.1.0
 */
export class RunSuspended extends namedStruct<RunSuspended>()({
  _tag: Schema.tag("RunSuspended"),
  ...inRun,
  /** The id of the suspension. It is no secret: check who replies. */
  suspension: Schema.String,
  /** The open questions. They show the arguments of their calls, without secrets, whatever else clients may see. */
  questions: Schema.Array(Question)
}) {}

/**
 * The model asked to wait. This is the last event.
 *
 * @category models
 * @since 0.1.0
 */
export class RunPostponed extends namedStruct<RunPostponed>()({
  _tag: Schema.tag("RunPostponed"),
  ...inRun,
  /** One sentence for the user. */
  message: Schema.String,
  /** When the run can be resumed, in milliseconds from now. */
  retryAfter: Schema.DurationFromMillis
}) {}

/**
 * The run failed. This is the last event.
 *
 * @category models
 * @since 0.1.0
 */
export class RunFailed extends namedStruct<RunFailed>()({
  _tag: Schema.tag("RunFailed"),
  /** Absent if the run failed before its first event. */
  run: Schema.optionalKey(inRun.run),
  at: inRun.at,
  /** The tag of the `AgentFailure`. */
  failure: Schema.Literals([
    "ModelFailed",
    "LimitReached",
    "LoopDetected",
    "RunStopped",
    "OutputRefused",
    "RunHalted",
    "RunRefused"
  ]),
  /** One or two sentences for the user. */
  message: Schema.String
}) {}

/**
 * The schema of a {@link ClientEvent}. It encodes to plain JSON.
 *
 * When to use: to encode events for a client on the server, and to decode them in a client that has this package.
 *
 * @example
 * ```ts
 * import * as ClientEvent from "@fallible/core/ClientEvent"
 * import { Schema } from "effect"
 *
 * const event: ClientEvent.ClientEvent = { _tag: "TextDelta", run: "run-1", at: 0, turn: 1, text: "Hi" }
 * JSON.stringify(Schema.encodeSync(ClientEvent.schema)(event))
 * // => '{"_tag":"TextDelta","run":"run-1","at":0,"turn":1,"text":"Hi"}'
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const schema = Schema.Union([
  TurnStarted,
  TextDelta,
  ReasoningDelta,
  ArgumentsDelta,
  AnswerPreview,
  ModelRetried,
  ModelReplied,
  CallStarted,
  FailureHandled,
  ProgressMade,
  CallEnded,
  LoopNoticed,
  LimitReached,
  RunEnded,
  RunSuspended,
  RunPostponed,
  RunFailed
])

/**
 * One event of a run, as a client sees it.
 *
 * @category models
 * @since 0.1.0
 */
export type ClientEvent =
  | TurnStarted
  | TextDelta
  | ReasoningDelta
  | ArgumentsDelta
  | AnswerPreview
  | ModelRetried
  | ModelReplied
  | CallStarted
  | FailureHandled
  | ProgressMade
  | CallEnded
  | LoopNoticed
  | LimitReached
  | RunEnded
  | RunSuspended
  | RunPostponed
  | RunFailed
