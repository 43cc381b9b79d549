/**
 * The account of a run: how many turns, calls and tokens; every failure of a call or of the model with how it ended, those
 * that were handled below the model and those that were retried among them; and every argument that had to be repaired.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Certainty } from "./Certainty.ts"
import { Handled, HandledBy } from "./internal/call/handledFailure.ts"
import { TextRepair, ValueRepair } from "./internal/call/repair.ts"
import { Severity } from "./ToolFailure.ts"

/** Where an agent has corrected the arguments of a call: the tool that was called, and that call's turn and position. */
const inside = Schema.optionalKey(Schema.String)

const call = {
  /** The turn and the position of the call in it, both from 1. */
  turn: Schema.Int,
  call: Schema.Int,
  tool: Schema.String,
  inside
}

/**
 * One failure of a call.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallEntry extends Schema.Schema.Type<typeof CallEntry> {}

/**
 * The schema of a {@link CallEntry}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CallEntry = Schema.Struct({
  ...call,
  tag: Handled.fields.tag,
  code: Schema.String,
  detail: Schema.String,
  /** Set by an escalation. */
  severity: Schema.optionalKey(Severity),
  /** How often the call was tried, over all sources: the handler, and the tools that its fallbacks asked. */
  attempts: Schema.Int,
  /** Whether the call has taken effect, as far as anybody knew at its end. */
  certainty: Certainty,
  /** What took care of it ({@link HandledBy}), or `"told"`: the model heard of it. */
  ended: Schema.Literals([...HandledBy.literals, "told"]),
  /** The name of the policy, where it is `"custom"`. */
  policy: Handled.fields.policy
})

/**
 * One failure of the model, as the agent and its provider saw it: one that it was asked again after, or the one that the run ended with.
 *
 * @category models
 * @since 0.1.0
 */
export interface ModelEntry extends Schema.Schema.Type<typeof ModelEntry> {}

/**
 * The schema of a {@link ModelEntry}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ModelEntry = Schema.Struct({
  /** The turn that the model was asked for, from 1. */
  turn: Schema.Int,
  inside,
  tag: Schema.Literal("ModelFailure"),
  /** As of a `ModelFailure`. */
  code: Schema.String,
  detail: Schema.String,
  /** How often the model was asked for this turn, over all; of an `empty_reply`, how many of them there were in a row. */
  attempts: Schema.Int,
  /** `"retry"`: the model was asked again. `"run_failed"`: the run ended with `ModelFailed`. */
  ended: Schema.Literals(["retry", "run_failed"])
})

/**
 * One failure of a run. Where the tag is `"ModelFailure"` it is the model's, and else a call's.
 *
 * @category models
 * @since 0.1.0
 */
export type Entry = CallEntry | ModelEntry

/**
 * The schema of an {@link Entry}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Entry = Schema.Union([CallEntry, ModelEntry])

/**
 * The schema of {@link Repaired}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Repaired = Schema.Union([
  Schema.Struct({ ...call, ...TextRepair.fields }),
  Schema.Struct({ ...call, ...ValueRepair.fields })
])

/**
 * One change that was made to the arguments of a call: to their text or to their values, told to the model or not.
 *
 * @category models
 * @since 0.1.0
 */
export type Repaired = typeof Repaired.Type

/**
 * The account of a run.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ledger extends Schema.Schema.Type<typeof Ledger> {}

/**
 * The schema of a {@link Ledger}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Ledger = Schema.Struct({
  /** Model replies, with those of agents that corrected arguments. */
  turns: Schema.Int,
  /** Tool calls that models made, with those of such agents. */
  calls: Schema.Int,
  inputTokens: Schema.Int,
  outputTokens: Schema.Int,
  /** Turn by turn, the model's first, then call by call; of a call in the order in which they were handled. */
  failures: Schema.Array(Entry),
  /** Turn by turn, and call by call. A model that often needs the same one has a prompt or a schema to be bettered. */
  repairs: Schema.Array(Repaired).pipe(Schema.withDecodingDefaultKey(Effect.succeed([])))
})

/**
 * Two accounts as one.
 *
 * @category combining
 * @since 0.1.0
 */
export const plus = (one: Ledger, other: Ledger): Ledger => ({
  turns: one.turns + other.turns,
  calls: one.calls + other.calls,
  inputTokens: one.inputTokens + other.inputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
  failures: [...one.failures, ...other.failures],
  repairs: [...one.repairs, ...other.repairs]
})
