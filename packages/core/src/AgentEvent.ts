/**
 * What happens in a run, as it happens: the elements of `agent.stream`.
 *
 *     TurnStarted ─ TextDelta … ModelRetried … ModelReplied ─ CallStarted ─ what happens in the call ─ CallEnded ─ TurnStarted …
 *
 * What happens in a call are the events of `CallEvent`, each with its call and its attempt. Every event has its time. {@link schema}
 * writes an event as plain JSON, and reads it back.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Tuple from "effect/Tuple"
import { Limit } from "./AgentBudget.ts"
import * as Answer from "./Answer.ts"
import * as CallEvent from "./CallEvent.ts"
import { ModelFailure, Reply } from "./Model.ts"
import { ToolCall } from "./ToolCall.ts"
import { schema as ToolOutcome } from "./ToolOutcome.ts"

const inRun = {
  /** The id of the run, as logs have it. */
  run: Schema.String,
  /** When it happened, in milliseconds of the `Clock`. */
  at: Schema.Finite
}

const inTurn = {
  ...inRun,
  /** The turn, from 1. */
  turn: Schema.Int
}

const step = {
  /** It did not happen now: a journal has given back what came of it. */
  replayed: Schema.optionalKey(Schema.Literal(true))
}

const ofStep = { ...inTurn, ...step }

const position = {
  ...inTurn,
  /** The position of the call in its turn, from 1. */
  index: Schema.Int,
  call: ToolCall
}

const ofCall = { ...position, ...step }

const inCall = {
  ...position,
  /** The attempt under way, from 1, counted over the tool and the sources of its fallbacks; 0 before the first. */
  attempt: Schema.Int
}

/** The model is asked. */
const TurnStarted = Schema.Struct({ _tag: Schema.tag("TurnStarted"), ...ofStep })

/** A piece of the model's text. */
const TextDelta = Schema.Struct({ _tag: Schema.tag("TextDelta"), ...inTurn, text: Schema.String })

/** The model failed and is asked again after the wait. The turn's text so far is void. */
const ModelRetried = Schema.Struct({
  _tag: Schema.tag("ModelRetried"),
  ...inTurn,
  /** How often it was asked in this turn, from 1. */
  attempt: Schema.Int,
  failure: ModelFailure.schema,
  wait: Schema.DurationFromMillis
})

/** The model replied. */
const ModelReplied = Schema.Struct({
  _tag: Schema.tag("ModelReplied"),
  ...ofStep,
  reply: Reply,
  elapsed: Schema.DurationFromMillis
})

/** A tool call begins. */
const CallStarted = Schema.Struct({ _tag: Schema.tag("CallStarted"), ...ofCall })

/** A tool call has its outcome. */
const CallEnded = Schema.Struct({
  _tag: Schema.tag("CallEnded"),
  ...ofCall,
  outcome: ToolOutcome,
  elapsed: Schema.DurationFromMillis
})

/** A limit of the run is used up, and the run ends. */
const LimitReached = Schema.Struct({ _tag: Schema.tag("LimitReached"), ...inTurn, limit: Limit })

/** The run has its answer: the last event. A run without one fails the stream. */
const RunEnded = Schema.Struct({ _tag: Schema.tag("RunEnded"), ...inRun, answer: Answer.schema })

/**
 * The schema of an {@link AgentEvent}: encodes to plain JSON.
 *
 * When to use: to send events over a wire, or to keep them. They hold what the model and the tools said; leave out what others must
 * not see.
 *
 * @example
 * ```ts
 * import { AgentEvent } from "@fallible/core"
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
  ModelRetried,
  ModelReplied,
  CallStarted,
  ...CallEvent.schema.mapMembers(Tuple.map(Schema.fieldsAssign(inCall))).members,
  CallEnded,
  LimitReached,
  RunEnded
])

/**
 * One event of a run.
 *
 * @category models
 * @since 0.1.0
 */
export type AgentEvent = typeof schema.Type
