/**
 * The events of a run, as they happen: the elements of `agent.stream`.
 *
 *     TurnStarted ─ TextDelta … ModelRetried … ModelReplied ─ CallStarted ─ events of the call ─ CallEnded ─ TurnStarted …
 *
 * The events of a call are defined in `CallEvent`. In a run, each of them also has its call and the number of
 * its attempt. Every event has its time. {@link schema} encodes an event to plain JSON, and decodes it again.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import * as Stream from "effect/Stream"
import {
  type Failed,
  RunPostponed as RunPostponedFailure,
  RunSuspended as RunSuspendedFailure
} from "./AgentFailure.ts"
import * as Answer from "./Answer.ts"
import * as CallEvent from "./CallEvent.ts"
import type { ClientEvent } from "./ClientEvent.ts"
import {
  callOf,
  endingOf,
  messageOf,
  permits,
  runFailedEvent,
  shortCode,
  shortName,
  stepOf,
  turnOf
} from "./internal/agent/clientFields.ts"
import { inRun, inTurn, step } from "./internal/agent/eventPlace.ts"
import { withoutSecrets } from "./internal/agent/runFailure.ts"
import { assignFields } from "./internal/value/assignFields.ts"
import { namedStruct } from "./internal/value/namedStruct.ts"
import { Limit } from "./Limits.ts"
import { ModelFailure, Reply } from "./Model.ts"
import { ToolCall } from "./ToolCall.ts"
import { schema as ToolOutcome } from "./ToolOutcome.ts"

const ofStep = { ...inTurn, ...step }

const position = {
  ...inTurn,
  /** The 1-based position of the call in its turn. */
  index: Schema.Int,
  call: ToolCall
}

const ofCall = { ...position, ...step }

/**
 * The place of an event of a call in its run.
 *
 * @category models
 * @since 0.1.0
 */
export class InCall extends namedStruct<InCall>()({
  ...position,
  /**
   * The 1-based number of the current attempt, counted over the tool and the sources of its fallbacks; 0 before the
   * first attempt.
   */
  attempt: Schema.Int
}) {}

/**
 * A turn begins: the model is asked.
 *
 * @category models
 * @since 0.1.0
 */
export class TurnStarted extends namedStruct<TurnStarted>()({ _tag: Schema.tag("TurnStarted"), ...ofStep }) {}

/**
 * A piece of the model's text. If the agent has an `output` with secrets, there are none.
 *
 * @category models
 * @since 0.1.0
 */
export class TextDelta
  extends namedStruct<TextDelta>()({ _tag: Schema.tag("TextDelta"), ...inTurn, text: Schema.String })
{}

/**
 * A piece of the model's reasoning. Emitted if the run asks for it (`deltas`), and if no tool of the agent has secrets.
 *
 * @category models
 * @since 0.1.0
 */
export class ReasoningDelta
  extends namedStruct<ReasoningDelta>()({ _tag: Schema.tag("ReasoningDelta"), ...inTurn, text: Schema.String })
{}

/**
 * A piece of the arguments of a call, as the model writes them. Emitted if the run asks for it (`deltas`), and if the tool has
 * no secrets. The call may still be refused.
 *
 * @category models
 * @since 0.1.0
 */
export class ArgumentsDelta extends namedStruct<ArgumentsDelta>()({
  _tag: Schema.tag("ArgumentsDelta"),
  ...inTurn,
  /** The 1-based position of the call in its turn. */
  index: Schema.Int,
  tool: Schema.String,
  text: Schema.String
}) {}

/**
 * The part of a typed answer that the model has written so far, for display alone: keys may be missing, and the whole answer
 * may still be refused. The typed value comes in `RunEnded`. Emitted if the agent has an `output`, each time the text has
 * grown by some percent.
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
 * The model failed, and is asked again after the `wait`. Discard the text of this turn so far.
 *
 * The event also follows a `ModelReplied` whose reply is not an answer, with the code `call_as_text`, `plan`, `empty_reply` or
 * `invalid_answer`.
 * The model is then asked in the next turn. Discard that text, too.
 *
 * @category models
 * @since 0.1.0
 */
export class ModelRetried extends namedStruct<ModelRetried>()({
  _tag: Schema.tag("ModelRetried"),
  ...inTurn,
  /** How many times the model has been asked in this turn so far: at least 1. */
  attempt: Schema.Int,
  failure: ModelFailure.schema,
  wait: Schema.DurationFromMillis
}) {}

/**
 * The model replied.
 *
 * @category models
 * @since 0.1.0
 */
export class ModelReplied extends namedStruct<ModelReplied>()({
  _tag: Schema.tag("ModelReplied"),
  ...ofStep,
  reply: Reply,
  elapsed: Schema.DurationFromMillis
}) {}

/**
 * A tool call begins.
 *
 * @category models
 * @since 0.1.0
 */
export class CallStarted extends namedStruct<CallStarted>()({
  _tag: Schema.tag("CallStarted"),
  ...ofCall,
  /** True if the client runs the tool (`Tool.client`), once it is asked to. */
  client: Schema.optionalKey(Schema.Literal(true))
}) {}

/**
 * A tool call ended with its outcome.
 *
 * @category models
 * @since 0.1.0
 */
export class CallEnded extends namedStruct<CallEnded>()({
  _tag: Schema.tag("CallEnded"),
  ...ofCall,
  outcome: ToolOutcome,
  elapsed: Schema.DurationFromMillis
}) {}

/**
 * The run repeats calls that add nothing, and the guard took a step (`LoopGuard`).
 *
 * @category models
 * @since 0.1.0
 */
export class LoopNoticed extends namedStruct<LoopNoticed>()({
  _tag: Schema.tag("LoopNoticed"),
  ...inTurn,
  step: Schema.Literals(["warned", "refused", "withdrawn", "ended"]),
  /** The names of the tools that are called again and again. */
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

// The transcript of an answer in memory is whole, because the conversation continues from it. An encoded event is masked.
const ShownAnswer: typeof Answer.schema = Answer.schema.pipe(
  Schema.decodeTo(
    Schema.toType(Answer.schema),
    SchemaTransformation.transform({
      decode: (answer) => answer,
      encode: Answer.shown
    })
  )
)

/**
 * The run has its answer. This is the last event. If a run fails, the stream fails instead.
 *
 * To store a conversation, encode its `answer` by `Answer.schema`. In an encoded event, the transcript has no secrets.
 *
 * @category models
 * @since 0.1.0
 */
export class RunEnded
  extends namedStruct<RunEnded>()({ _tag: Schema.tag("RunEnded"), ...inRun, answer: ShownAnswer })
{}

// What an encoded event has of a run that waits, it cannot be resumed from.
const ShownSuspended: typeof RunSuspendedFailure.schema = RunSuspendedFailure.schema.pipe(
  Schema.decodeTo(
    Schema.toType(RunSuspendedFailure.schema),
    SchemaTransformation.transform({
      decode: (waiting) => waiting,
      encode: withoutSecrets
    })
  )
)

/**
 * The run waits for replies to its questions: `waiting.suspension.questions`. This is the last event.
 *
 * To store the run, encode `waiting.suspension` by `AgentFailure.Suspension`. An encoded event has no secrets, so the run cannot
 * be resumed from it.
 *
 * @category models
 * @since 0.1.0
 */
export class RunSuspended
  extends namedStruct<RunSuspended>()({ _tag: Schema.tag("RunSuspended"), ...inRun, waiting: ShownSuspended })
{}

/**
 * The run waits until its model can be asked again. This is the last event.
 *
 * @category models
 * @since 0.1.0
 */
export class RunPostponed extends namedStruct<RunPostponed>()({
  _tag: Schema.tag("RunPostponed"),
  ...inRun,
  waiting: RunPostponedFailure.schema
}) {}

/**
 * The schema of an {@link AgentEvent}. It encodes to plain JSON.
 *
 * When to use: to store events, or to send them to a process that you trust. Events contain the system prompt, the
 * output of the tools, and addresses of servers. They have `"<redacted>"` in place of each secret in the arguments of a
 * call. For a browser, use {@link forClients}.
 *
 * @example
 * ```ts
 * import * as AgentEvent from "@fallible/core/AgentEvent"
 * import { Schema } from "effect"
 *
 * const event: AgentEvent.AgentEvent = { _tag: "TextDelta", run: "run-1", at: 0, turn: 1, text: "Hi" }
 * JSON.stringify(Schema.encodeSync(AgentEvent.schema)(event))
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
  assignFields(CallEvent.schema, InCall),
  CallEnded,
  LoopNoticed,
  LimitReached,
  RunEnded,
  RunSuspended,
  RunPostponed
])

/**
 * One event of a run. `A` is the type of the agent's answers.
 *
 * @category models
 * @since 0.1.0
 */
export type AgentEvent<A extends Answer.Fields = Answer.Answer> =
  | TurnStarted
  | TextDelta
  | ReasoningDelta
  | ArgumentsDelta
  | AnswerPreview
  | ModelRetried
  | ModelReplied
  | CallStarted
  | (CallEvent.CallEvent & InCall)
  | CallEnded
  | LoopNoticed
  | LimitReached
  | (RunEnded & { readonly answer: A })
  | RunSuspended
  | RunPostponed

/**
 * The last event of a run that has not failed: its answer, or what it waits for.
 *
 * @category models
 * @since 0.1.0
 */
export type Last<A extends Answer.Fields = Answer.Answer> = Extract<
  AgentEvent<A>,
  { readonly _tag: "RunEnded" | "RunSuspended" | "RunPostponed" }
>

/**
 * Returns true for the last event of a run that has not failed.
 *
 * When to use: to store how a streamed run ended. `event.answer` of a `RunEnded`, and `event.waiting` of the two others, carry
 * the transcript and the facts.
 *
 * @example
 * ```ts
 * import * as AgentEvent from "@fallible/core/AgentEvent"
 *
 * AgentEvent.isLast({ _tag: "TextDelta", run: "run-1", at: 0, turn: 1, text: "Hi" }) // => false
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const isLast = <A extends Answer.Fields>(event: AgentEvent<A>): event is Last<A> =>
  event._tag === "RunEnded" || event._tag === "RunSuspended" || event._tag === "RunPostponed"

/**
 * What clients may see of the calls of a run, besides their progress.
 *
 * @category models
 * @since 0.1.0
 */
export interface ForClients {
  /**
   * The tools whose arguments clients may see, with `"<redacted>"` in place of secrets (`ToolCall.shown`). `true`: all tools.
   * Default: none.
   */
  readonly arguments?: boolean | ReadonlyArray<string>
  /**
   * The tools whose results clients may see: values, notes, and the details of failures, which may quote a service or
   * name its address. A result includes what inner tools said in it. `true`: all tools. Default: none.
   */
  readonly results?: boolean | ReadonlyArray<string>
  /** Whether clients may see the model's reasoning, if the run asks for it (`deltas`). Default: `false`. */
  readonly reasoning?: boolean
}

/**
 * Turns the events of a run into the events that its clients may see. If the run fails, the last event is
 * `RunFailed`, and the stream ends without a failure.
 *
 * When to use: to stream a run to a browser, or to any program outside your own servers. Encode the events with
 * `ClientEvent.schema`.
 *
 * Clients see the model's text, which tool is called, how each call ended and whether it took effect, the classes and
 * codes of failures, and a question to the user. They never see the system prompt, the transcript, or a provider's own fields.
 *
 * @param options whether clients also see the arguments and the results of tools
 * @example
 * ```ts
 * import { Agent, Model, Toolkit } from "@fallible/core"
 * import * as AgentEvent from "@fallible/core/AgentEvent"
 * import { Effect, Stream } from "effect"
 *
 * const model = Model.layer({ respond: () => Effect.succeed({ text: "Hello!", calls: [] }) })
 * const agent = Agent.make({ instructions: "Keep the password 'swordfish'.", toolkit: Toolkit.empty })
 *
 * const events = agent.stream("Hi").pipe(AgentEvent.forClients(), Stream.provide(model))
 * const seen = Effect.runSync(Stream.runCollect(events))
 * seen.map(({ _tag }) => _tag) // => ["TurnStarted", "TextDelta", "ModelReplied", "RunEnded"]
 * JSON.stringify(seen).includes("swordfish") // => false
 * ```
 *
 * @category clients
 * @since 0.1.0
 */
export const forClients: {
  (options?: ForClients): <R>(
    events: Stream.Stream<AgentEvent, Failed, R>
  ) => Stream.Stream<ClientEvent, never, R>
  <R>(
    events: Stream.Stream<AgentEvent, Failed, R>,
    options?: ForClients
  ): Stream.Stream<ClientEvent, never, R>
} = dual((args) => Stream.isStream(args[0]), <R>(
  events: Stream.Stream<AgentEvent, Failed, R>,
  options: ForClients = {}
): Stream.Stream<ClientEvent, never, R> =>
  Stream.suspend(() => {
    let run: string | undefined
    return events.pipe(
      Stream.map((event) => {
        run = event.run
        return clientEvent(event, options)
      }),
      Stream.filter(Predicate.isNotUndefined),
      Stream.catch((failure) => Stream.fromEffect(runFailedEvent(failure, run)))
    )
  }))

// Returns what a client sees of an event, if anything. Each field is chosen here, so none is passed on by accident.
const clientEvent = (event: AgentEvent, allowed: ForClients): ClientEvent | undefined => {
  switch (event._tag) {
    case "TurnStarted":
      return { _tag: event._tag, ...turnOf(event), ...stepOf(event) }
    case "TextDelta":
      return { _tag: event._tag, ...turnOf(event), text: event.text }
    case "ReasoningDelta":
      return allowed.reasoning === true
        ? { _tag: event._tag, ...turnOf(event), text: event.text }
        : undefined
    case "ArgumentsDelta": {
      const { index, text, tool } = event
      return permits(allowed.arguments, tool)
        ? { _tag: event._tag, ...turnOf(event), index, tool: shortName(tool), text }
        : undefined
    }
    case "AnswerPreview":
      return { _tag: event._tag, ...turnOf(event), soFar: event.soFar }
    case "ModelRetried": {
      const { attempt, failure, wait } = event
      return { _tag: event._tag, ...turnOf(event), attempt, code: shortCode(failure.code), wait }
    }
    case "ModelReplied": {
      const { elapsed, reply: { calls, files, sources, text } } = event
      return {
        _tag: event._tag,
        ...turnOf(event),
        ...stepOf(event),
        text,
        calls: calls.length,
        elapsed,
        ...(sources === undefined ? {} : { sources }),
        ...(files === undefined ? {} : { files })
      }
    }
    case "CallStarted": {
      const shown = event.call.arguments !== undefined && permits(allowed.arguments, event.call.name)
      return {
        _tag: event._tag,
        ...callOf(event),
        ...stepOf(event),
        ...(event.client === undefined ? {} : { client: event.client }),
        ...(shown ? { arguments: event.call.arguments } : {})
      }
    }
    case "FailureHandled": {
      const { attempt, by, call, code, detail, inside = call.name, retry, tag: error } = event
      return {
        _tag: event._tag,
        ...callOf(event),
        error,
        code: shortCode(code),
        attempt,
        by,
        ...(retry?.wait === undefined ? {} : { wait: retry.wait }),
        ...(permits(allowed.results, inside) ? { detail } : {})
      }
    }
    case "ProgressMade": {
      return permits(allowed.results, event.call.name)
        ? { _tag: event._tag, ...callOf(event), value: event.value }
        : undefined
    }
    case "CallEnded": {
      const { elapsed, outcome } = event
      return {
        _tag: event._tag,
        ...callOf(event),
        ...stepOf(event),
        ...endingOf(outcome, permits(allowed.results, event.call.name)),
        attempts: outcome.attempts,
        elapsed
      }
    }
    case "LoopNoticed":
      return { _tag: event._tag, ...turnOf(event), step: event.step, tools: event.tools.map(shortName) }
    case "LimitReached":
      return { _tag: event._tag, ...turnOf(event), limit: event.limit }
    case "RunEnded": {
      const { at, answer: { concluded, looksLike, shown, text, truncated }, run } = event
      return {
        _tag: event._tag,
        run,
        at,
        text: shown ?? text,
        truncated,
        ...(concluded === undefined ? {} : { concluded }),
        ...(looksLike === undefined ? {} : { looksLike })
      }
    }
    case "RunSuspended": {
      const { at, run, waiting: { suspension } } = event
      return { _tag: event._tag, run, at, suspension: suspension.id, questions: suspension.questions }
    }
    case "RunPostponed": {
      const { at, run, waiting } = event
      return { _tag: event._tag, run, at, message: messageOf(waiting), retryAfter: waiting.retryAfter }
    }
    // The inside of a call, which is the server's own matter.
    case "AnswerDiscarded":
    case "ArgumentsCorrected":
    case "AgentSpent":
    case "ArgumentsRepaired":
    case "AttemptAbandoned":
    case "AttemptEnded":
    case "AttemptStarted":
    case "CallDecided":
    case "CallJoined":
    case "CallRefused":
    case "CallRepeated":
    case "CaveatAdded":
    case "FileAttached":
    case "CircuitChanged":
    case "DoubtSettled":
    case "FixerAsked":
    case "FixerSpent":
    case "InnerActs":
    case "InnerEnded":
    case "InnerStarted":
    case "LateRequest":
    case "PolicyActed":
    case "ResultTold":
    case "OutcomeSettled":
    case "PageStarted":
    case "RetryRefused":
    case "SourceNamed":
    case "SourceStarted":
    case "WaitEnded":
    case "WaitStarted":
      return undefined
  }
}
