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
import * as Schema from "effect/Schema"
import * as Tuple from "effect/Tuple"
import { Limit } from "./AgentBudget.ts"
import * as Answer from "./Answer.ts"
import * as CallEvent from "./CallEvent.ts"
import { ModelFailure, Reply } from "./Model.ts"
import { ToolCall } from "./ToolCall.ts"
import { schema as ToolOutcome } from "./ToolOutcome.ts"

const inRun = {
  /** The id of the run. Log lines contain the same id. */
  run: Schema.String,
  /** When the event happened, in milliseconds of the `Clock`. */
  at: Schema.Finite
}

const inTurn = {
  ...inRun,
  /** The 1-based number of the turn. */
  turn: Schema.Int
}

const step = {
  /** Set if the step did not run now, because a journal returned its recorded result. */
  replayed: Schema.optionalKey(Schema.Literal(true))
}

const ofStep = { ...inTurn, ...step }

const position = {
  ...inTurn,
  /** The 1-based position of the call in its turn. */
  index: Schema.Int,
  call: ToolCall
}

const ofCall = { ...position, ...step }

const inCall = {
  ...position,
  /**
   * The 1-based number of the current attempt, counted over the tool and the sources of its fallbacks; 0 before the
   * first attempt.
   */
  attempt: Schema.Int
}

/** A turn begins: the model is asked. */
const TurnStarted = Schema.Struct({ _tag: Schema.tag("TurnStarted"), ...ofStep })

/** A piece of the model's text. */
const TextDelta = Schema.Struct({ _tag: Schema.tag("TextDelta"), ...inTurn, text: Schema.String })

/** The model failed, and is asked again after the `wait`. Discard the text of this turn so far. */
const ModelRetried = Schema.Struct({
  _tag: Schema.tag("ModelRetried"),
  ...inTurn,
  /** How many times the model has been asked in this turn so far: at least 1. */
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

/** A tool call ended with its outcome. */
const CallEnded = Schema.Struct({
  _tag: Schema.tag("CallEnded"),
  ...ofCall,
  outcome: ToolOutcome,
  elapsed: Schema.DurationFromMillis
})

/** The run repeats calls that add nothing, and the guard took a step (`LoopGuard`). */
const LoopNoticed = Schema.Struct({
  _tag: Schema.tag("LoopNoticed"),
  ...inTurn,
  step: Schema.Literals(["told", "refused", "withdrawn", "ended"]),
  /** The names of the tools that are called again and again. */
  tools: Schema.Array(Schema.String)
})

/** A limit of the run is used up. The run ends, or is concluded. */
const LimitHit = Schema.Struct({ _tag: Schema.tag("LimitReached"), ...inTurn, limit: Limit })

/** The run has its answer. This is the last event. If a run ends without an answer, the stream fails instead. */
const RunEnded = Schema.Struct({ _tag: Schema.tag("RunEnded"), ...inRun, answer: Answer.schema })

/**
 * The schema of an {@link AgentEvent}. It encodes to plain JSON.
 *
 * When to use: to send events over a network, or to store them. Events contain the output of the model and of
 * the tools, so remove what their readers must not see.
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
  LoopNoticed,
  LimitHit,
  RunEnded
])

/**
 * One event of a run.
 *
 * @category models
 * @since 0.1.0
 */
export type AgentEvent = typeof schema.Type
