/**
 * The events of one call: attempts, waits, handled failures, caveats and sources.
 *
 * A call notes each event once, when the event happens. Every report about the call is derived from these
 * events: its outcome (`ToolOutcome`), its report entries (`RunReport`), the events of an agent (`AgentEvent`), and
 * the assertions of a test.
 *
 *     handler, policies ── note(event) ─┬─ the record: attempts, waits, failures, caveats, source
 *                                       └─ an observer, if there is one: the event, its time, its attempt
 *
 * An *inner tool* is a tool that runs inside a call: the handler, a fallback, a policy or a fixer runs it. A
 * tool *acts* if it has side effects.
 *
 * Only an observer receives times and attempt numbers. An event does not contain the call's result, unless
 * the handler gives it out early ({@link ProgressMade}) or in other words ({@link ResultTold}). It quotes the
 * arguments only in notes about repairs, which the model reads, too. It never quotes a secret (`Schema.Redacted`,
 * `writeOnly`, or the format `password`). Details of failures and caveats contain whatever their authors wrote.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import { Certainty, Doubt } from "./Certainty.ts"
import { PolicyKind } from "./internal/call/policyKind.ts"
import { Effects } from "./internal/failure/effects.ts"
import { Evidence } from "./internal/failure/evidence.ts"
import { File } from "./internal/value/file.ts"
import { namedStruct } from "./internal/value/namedStruct.ts"
import { RunReport, Spent } from "./RunReport.ts"
import { Decided, Handled, Repair } from "./ToolOutcome.ts"
import { WireRequest } from "./WireRequest.ts"

export { Effects } from "./internal/failure/effects.ts"

/**
 * The origin of an answer, for example a cache that answered in place of the tool's usual service.
 *
 * @category models
 * @since 0.1.0
 */
export interface Source {
  readonly name: string
  /** How old the answer is. Absent if the answer is fresh. */
  readonly age?: Duration.Duration
}

const policy = {
  /** The kind of the policy. */
  by: PolicyKind,
  /** The name of the policy, if it is a custom one. */
  policy: Schema.optionalKey(Schema.String),
  /** The inner tool to which the policy belongs. Absent if the policy belongs to the called tool. */
  inside: Schema.optionalKey(Schema.String)
}

/**
 * The handler starts.
 *
 * @category models
 * @since 0.1.0
 */
export class AttemptStarted extends namedStruct<AttemptStarted>()({ _tag: Schema.tag("AttemptStarted") }) {}

/**
 * The handler has ended. For a read-only tool, this event is noted only if the call has an observer.
 *
 * @category models
 * @since 0.1.0
 */
export class AttemptEnded extends namedStruct<AttemptEnded>()({
  _tag: Schema.tag("AttemptEnded"),
  /**
   * How the handler ended: with a value, a failure, a defect or an interruption. If the handler asked the user a
   * question, `end` is `"died"`.
   */
  end: Schema.Literals(["succeeded", "failed", "died", "interrupted"]),
  /** The code of the failure, if the handler failed. */
  code: Schema.optionalKey(Schema.String),
  /** What the failure's evidence is, if the handler failed with one that has any. */
  evidence: Schema.optionalKey(Evidence),
  /** If the tool acts: what the attempt did, including everything that ran inside the handler. */
  effects: Schema.optionalKey(Effects),
  /** True if the tool refused the call, and would refuse it again. */
  refused: Schema.optionalKey(Schema.Literal(true)),
  /** If the effects are in doubt: how strong that doubt is. */
  doubt: Schema.optionalKey(Doubt),
  /** If the tool acts, and the attempt has no answer: the requests of the handler. */
  wire: Schema.optionalKey(Schema.Array(WireRequest)),
  /** True if the attempt ended after its caller had stopped waiting. */
  late: Schema.optionalKey(Schema.Literal(true)),
  /**
   * The inner tool whose handler ended. Absent for the called tool. An inner tool's attempt is reported only if it
   * ends late.
   */
  inside: Schema.optionalKey(Schema.String)
}) {}

/**
 * A policy stopped waiting for an attempt, which may still be running.
 *
 * @category models
 * @since 0.1.0
 */
export class AttemptAbandoned extends namedStruct<AttemptAbandoned>()({
  _tag: Schema.tag("AttemptAbandoned"),
  ...policy,
  /** If the tool acts: the requests of the handler so far. */
  wire: Schema.optionalKey(Schema.Array(WireRequest))
}) {}

/**
 * The handler starts again to fetch the next page of the same answer.
 *
 * @category models
 * @since 0.1.0
 */
export class PageStarted extends namedStruct<PageStarted>()({ _tag: Schema.tag("PageStarted") }) {}

/**
 * Another tool starts, to answer in place of the called tool.
 *
 * @category models
 * @since 0.1.0
 */
export class SourceStarted
  extends namedStruct<SourceStarted>()({ _tag: Schema.tag("SourceStarted"), source: Schema.String })
{}

/**
 * The handler of an inner tool starts.
 *
 * @category models
 * @since 0.1.0
 */
export class InnerStarted
  extends namedStruct<InnerStarted>()({ _tag: Schema.tag("InnerStarted"), inside: Schema.String })
{}

const inner = {
  /** The name of the inner tool or source. */
  inside: Schema.String,
  /**
   * The part of the call that ran it:
   *
   * - `"handler"`: the handler.
   * - `"source"`: a fallback or a catch, which answers in place of the handler.
   * - `"policy"`: a policy or a fixer, for its own purposes. The effect does not count as the called tool's.
   */
  by: Schema.Literals(["handler", "source", "policy"])
}

/**
 * An inner tool or fallback source with possible side effects starts. Whether it takes effect is unknown until the
 * matching `InnerEnded`.
 *
 * @category models
 * @since 0.1.0
 */
export class InnerActs extends namedStruct<InnerActs>()({ _tag: Schema.tag("InnerActs"), ...inner }) {}

/**
 * An inner tool or fallback source with possible side effects has ended.
 *
 * @category models
 * @since 0.1.0
 */
export class InnerEnded extends namedStruct<InnerEnded>()({
  _tag: Schema.tag("InnerEnded"),
  ...inner,
  /** What the inner tool or source did. */
  effects: Effects,
  /**
   * True if the inner tool would act again when it is run again. A later attempt of the outer call then does
   * not clear the doubt about this run.
   */
  lasting: Schema.optionalKey(Schema.Literal(true)),
  /** True if the source answered in place of the called tool, and the library cannot tell whether the source acts. */
  answered: Schema.optionalKey(Schema.Literal(true)),
  /** True if the start of this inner tool or source was noted as `InnerActs`. */
  acts: Schema.optionalKey(Schema.Literal(true)),
  /** If the effects are in doubt: how strong that doubt is. */
  doubt: Schema.optionalKey(Doubt),
  /** If the effects are in doubt, or if this run continued one that was: the idempotency key of the inner tool. */
  key: Schema.optionalKey(Schema.String),
  /** If the effects are in doubt: the requests of the inner tool. */
  wire: Schema.optionalKey(Schema.Array(WireRequest))
}) {}

/**
 * The handler of an acting tool has sent a request after it had ended. What was known of the call is no longer true.
 *
 * @category models
 * @since 0.1.0
 */
export class LateRequest extends namedStruct<LateRequest>()({
  _tag: Schema.tag("LateRequest"),
  request: WireRequest,
  /** The inner tool whose handler sent it. Absent for the called tool. */
  inside: Schema.optionalKey(Schema.String)
}) {}

/**
 * A policy has ended with a failure that says that the policy's own code has acted, or may have acted.
 *
 * @category models
 * @since 0.1.0
 */
export class PolicyActed
  extends namedStruct<PolicyActed>()({ _tag: Schema.tag("PolicyActed"), ...policy, effects: Effects })
{}

/**
 * A check (`Tool.reconcile`) has given its final answer on what the attempts so far did.
 *
 * @category models
 * @since 0.1.0
 */
export class OutcomeSettled extends namedStruct<OutcomeSettled>()({
  _tag: Schema.tag("OutcomeSettled"),
  effects: Effects,
  /** True if the effect that was found is that of an earlier call, so that this one did not run. */
  earlier: Schema.optionalKey(Schema.Literal(true))
}) {}

/**
 * A policy or a fixer handled a failure: for example, the tool is retried, or a fallback answers.
 *
 * @category models
 * @since 0.1.0
 */
export class FailureHandled extends namedStruct<FailureHandled>()({
  _tag: Schema.tag("FailureHandled"),
  ...Handled.fields,
  /** The outcome that the failure itself states. The certainty of the call may differ. */
  outcome: Schema.optionalKey(Certainty),
  evidence: Schema.optionalKey(Evidence),
  /** Present if the failure was permanent, but applies only to the arguments: the tool itself works. */
  scope: Schema.optionalKey(Schema.Literal("arguments")),
  /** The inner tool that failed. Absent if the called tool failed. */
  inside: Schema.optionalKey(Schema.String),
  /** For a retry, as far as known: its 1-based number, the maximum number of retries, and the wait before it. */
  retry: Schema.optionalKey(Schema.Struct({
    number: Schema.optionalKey(Schema.Int),
    limit: Schema.optionalKey(Schema.Int),
    wait: Schema.optionalKey(Schema.DurationFromMillis)
  }))
}) {}

/**
 * A retryable failure is not retried.
 *
 * @category models
 * @since 0.1.0
 */
export class RetryRefused extends namedStruct<RetryRefused>()({
  _tag: Schema.tag("RetryRefused"),
  ...policy,
  code: Schema.String,
  /**
   * The reason:
   *
   * - `"schedule"`: the schedule is exhausted.
   * - `"deadline"`: the wait before the retry would end after the deadline.
   * - `"retry_budget"`: the retry budget is used up.
   * - `"policy"`: the policy has another reason.
   * - `"may_have_acted"`: an earlier attempt may have taken effect, so another attempt could act twice.
   * - `"still_running"`: the tool acts, and an earlier attempt is still running.
   * - `"refused"`: the tool acts, and has refused the call.
   */
  why: Schema.Literals([
    "schedule",
    "deadline",
    "retry_budget",
    "policy",
    "may_have_acted",
    "still_running",
    "refused"
  ])
}) {}

/**
 * A call or an attempt is refused before it runs: a limit is reached, a circuit is open, or it could act twice.
 *
 * @category models
 * @since 0.1.0
 */
export class CallRefused extends namedStruct<CallRefused>()({
  _tag: Schema.tag("CallRefused"),
  /**
   * The kind of the policy that refuses. Absent if the agent's run refuses the call, or if the call itself refuses
   * another attempt.
   */
  by: Schema.optionalKey(PolicyKind),
  policy: Schema.optionalKey(Schema.String),
  inside: Schema.optionalKey(Schema.String),
  code: Schema.String
}) {}

/**
 * The call repeats an earlier one under the same key. `effects` is what the earlier call did.
 *
 * @category models
 * @since 0.1.0
 */
export class CallRepeated extends namedStruct<CallRepeated>()({
  _tag: Schema.tag("CallRepeated"),
  effects: Effects,
  doubt: Schema.optionalKey(Doubt),
  /** True if something that the earlier call did would be done again if the call ran again. */
  lasting: Schema.optionalKey(Schema.Literal(true))
}) {}

/**
 * An equal call of the same turn ran in place of this one, which shares its outcome.
 *
 * @category models
 * @since 0.1.0
 */
export class CallJoined extends namedStruct<CallJoined>()({ _tag: Schema.tag("CallJoined") }) {}

/**
 * The call was approved or denied (`Tool.approve`).
 *
 * @category models
 * @since 0.1.0
 */
export class CallDecided extends namedStruct<CallDecided>()({ _tag: Schema.tag("CallDecided"), ...Decided.fields }) {}

/**
 * This call has settled the doubt about an earlier one: as a check, or by the user's word.
 *
 * @category models
 * @since 0.1.0
 */
export class DoubtSettled extends namedStruct<DoubtSettled>()({
  _tag: Schema.tag("DoubtSettled"),
  /** The tool whose call was in doubt. */
  about: Schema.String,
  /** Whether that call took effect. */
  certainty: Schema.Literals(["executed", "not_executed"]),
  /** Who says so: `"check:…"` with the name of the tool that found out, `"reconcile"`, or `"person"`. */
  by: Schema.String
}) {}

/**
 * A breaker's circuit has changed its state.
 *
 * @category models
 * @since 0.1.0
 */
export class CircuitChanged extends namedStruct<CircuitChanged>()({
  _tag: Schema.tag("CircuitChanged"),
  /** The circuit's name. */
  circuit: Schema.String,
  from: Schema.Literals(["closed", "open", "half_open"]),
  to: Schema.Literals(["closed", "open", "half_open"])
}) {}

/**
 * A policy starts to wait.
 *
 * @category models
 * @since 0.1.0
 */
export class WaitStarted extends namedStruct<WaitStarted>()({
  _tag: Schema.tag("WaitStarted"),
  ...policy,
  /** How long the policy is going to wait. Absent if unknown. */
  wait: Schema.optionalKey(Schema.DurationFromMillis)
}) {}

/**
 * A policy has finished waiting, possibly earlier than planned. If a custom policy does not report its waits,
 * the time during which none of its inner runs is in progress counts as a wait. Such a wait has no
 * `WaitStarted`.
 *
 * @category models
 * @since 0.1.0
 */
export class WaitEnded
  extends namedStruct<WaitEnded>()({ _tag: Schema.tag("WaitEnded"), ...policy, wait: Schema.DurationFromMillis })
{}

/**
 * A caveat about the answer was added for the model.
 *
 * @category models
 * @since 0.1.0
 */
export class CaveatAdded extends namedStruct<CaveatAdded>()({ _tag: Schema.tag("CaveatAdded"), text: Schema.String }) {}

/**
 * A file was attached to the answer.
 *
 * @category models
 * @since 0.1.0
 */
export class FileAttached extends namedStruct<FileAttached>()({ _tag: Schema.tag("FileAttached"), file: File }) {}

/**
 * What the model reads in place of the result was given (`ToolCall.tell`).
 *
 * @category models
 * @since 0.1.0
 */
export class ResultTold extends namedStruct<ResultTold>()({ _tag: Schema.tag("ResultTold"), value: Schema.Json }) {}

/**
 * The handler has reported a result before its end (`ToolCall.progress`).
 *
 * @category models
 * @since 0.1.0
 */
export class ProgressMade
  extends namedStruct<ProgressMade>()({ _tag: Schema.tag("ProgressMade"), value: Schema.Json })
{}

/**
 * The source of the answer was reported.
 *
 * @category models
 * @since 0.1.0
 */
export class SourceNamed extends namedStruct<SourceNamed>()({
  _tag: Schema.tag("SourceNamed"),
  name: Schema.String,
  age: Schema.optionalKey(Schema.DurationFromString)
}) {}

/**
 * Another answer will follow. The caveats, the files, the source and the told result of the previous answer no longer apply.
 *
 * @category models
 * @since 0.1.0
 */
export class AnswerDiscarded extends namedStruct<AnswerDiscarded>()({ _tag: Schema.tag("AnswerDiscarded") }) {}

/**
 * A fixer (`Tool.fix`) is asked about a failure.
 *
 * @category models
 * @since 0.1.0
 */
export class FixerAsked extends namedStruct<FixerAsked>()({
  _tag: Schema.tag("FixerAsked"),
  /** The name of the fixer. */
  fixer: Schema.String,
  /** The code of the failure. */
  code: Schema.String,
  /** How many times this call has asked that fixer, including this time. */
  tries: Schema.Int
}) {}

/**
 * An agent that corrects the arguments has used turns, calls or tokens, or has had failures. The event contains only
 * what is new since the previous event of this kind.
 *
 * @category models
 * @since 0.1.0
 */
export class FixerSpent extends namedStruct<FixerSpent>()({ _tag: Schema.tag("FixerSpent"), ...RunReport.fields }) {}

/**
 * An agent that the handler runs has used tokens, or has had failures. The event contains only what is new since the
 * previous event of this kind.
 *
 * @category models
 * @since 0.1.0
 */
export class AgentSpent extends namedStruct<AgentSpent>()({ _tag: Schema.tag("AgentSpent"), ...Spent.fields }) {}

/**
 * The arguments were changed before the handler saw them.
 *
 * @category models
 * @since 0.1.0
 */
export class ArgumentsRepaired
  extends namedStruct<ArgumentsRepaired>()({ _tag: Schema.tag("ArgumentsRepaired"), repairs: Schema.Array(Repair) })
{}

/**
 * A fixer corrected the arguments. `repairs` are the fixer's changes. The notes of earlier repairs no longer apply.
 *
 * @category models
 * @since 0.1.0
 */
export class ArgumentsCorrected
  extends namedStruct<ArgumentsCorrected>()({ _tag: Schema.tag("ArgumentsCorrected"), repairs: Schema.Array(Repair) })
{}

/**
 * The schema of a {@link CallEvent}. It encodes to plain JSON.
 *
 * @category schemas
 * @since 0.1.0
 */
export const schema = Schema.Union([
  AttemptStarted,
  AttemptEnded,
  AttemptAbandoned,
  PageStarted,
  SourceStarted,
  InnerStarted,
  InnerActs,
  InnerEnded,
  LateRequest,
  PolicyActed,
  OutcomeSettled,
  FailureHandled,
  RetryRefused,
  CallRefused,
  CallRepeated,
  CallJoined,
  CallDecided,
  DoubtSettled,
  CircuitChanged,
  WaitStarted,
  WaitEnded,
  CaveatAdded,
  FileAttached,
  ResultTold,
  ProgressMade,
  SourceNamed,
  AnswerDiscarded,
  FixerAsked,
  FixerSpent,
  AgentSpent,
  ArgumentsRepaired,
  ArgumentsCorrected
])

/**
 * One event of a call.
 *
 * @category models
 * @since 0.1.0
 */
export type CallEvent =
  | AttemptStarted
  | AttemptEnded
  | AttemptAbandoned
  | PageStarted
  | SourceStarted
  | InnerStarted
  | InnerActs
  | InnerEnded
  | LateRequest
  | PolicyActed
  | OutcomeSettled
  | FailureHandled
  | RetryRefused
  | CallRefused
  | CallRepeated
  | CallJoined
  | CallDecided
  | DoubtSettled
  | CircuitChanged
  | WaitStarted
  | WaitEnded
  | CaveatAdded
  | FileAttached
  | ResultTold
  | ProgressMade
  | SourceNamed
  | AnswerDiscarded
  | FixerAsked
  | FixerSpent
  | AgentSpent
  | ArgumentsRepaired
  | ArgumentsCorrected

/**
 * An event as an observer receives it (`Observer`): with the called tool, the call, the time and the attempt.
 *
 * @category models
 * @since 0.1.0
 */
export type Watched = CallEvent & {
  /** The called tool. */
  readonly tool: string
  /** The name of the call. In an agent it is `run-…/turn/1/call/1`. */
  readonly id: string
  /** When the event happened, in milliseconds of the `Clock`. */
  readonly at: number
  /**
   * The 1-based number of the attempt; 0 before the first attempt. Attempts of the tool and of its fallbacks' sources
   * are counted together.
   */
  readonly attempt: number
}
