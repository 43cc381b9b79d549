/**
 * The ledger of a run: its turns, calls and tokens, its failures, and its repairs.
 *
 * It has every failure of a call or of the model, with how it ended. This includes failures that were
 * retried, or handled below the model. It also has every change to the arguments of a call.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Certainty } from "./Certainty.ts"
import { TextRepair, ValueRepair } from "./internal/call/argumentRepair.ts"
import { Handled, HandledBy } from "./internal/call/handledFailure.ts"
import { Severity } from "./ToolFailure.ts"

/**
 * The tool whose call was corrected, if the entry is from an agent that corrects arguments. The entry then has the turn
 * and the position of that call.
 */
const inside = Schema.optionalKey(Schema.String)

const call = {
  /** The turn, from 1. `call` is the position of the call in the turn, from 1. */
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
  /** How many times the call was tried, over all sources: the handler and the tools of its fallbacks. */
  attempts: Schema.Int,
  /** Whether the call took effect, as known at its end. */
  certainty: Certainty,
  /** How the failure was handled ({@link HandledBy}), or `"told"`: the model was told. */
  ended: Schema.Literals([...HandledBy.literals, "told"]),
  /** The name of the policy, if `ended` is `"custom"`. */
  policy: Handled.fields.policy
})

/**
 * One failure of the model, as the agent and its provider saw it. Either the model was asked again, or the
 * run ended.
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
  /** The turn in which the model was asked, from 1. */
  turn: Schema.Int,
  inside,
  tag: Schema.Literal("ModelFailure"),
  /** The code of the `ModelFailure`. */
  code: Schema.String,
  detail: Schema.String,
  /** How many times the model was asked in this turn. For an `empty_reply`, the number of empty replies in a row. */
  attempts: Schema.Int,
  /** `"retry"`: the model was asked again. `"run_failed"`: the run ended with `ModelFailed`. */
  ended: Schema.Literals(["retry", "run_failed"])
})

/**
 * One failure of a run. With the tag `"ModelFailure"` it is a failure of the model, otherwise of a call.
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
 * One change to the text or to the values of a call's arguments, whether or not the model was told.
 *
 * @category models
 * @since 0.1.0
 */
export type Repaired = typeof Repaired.Type

/**
 * The counts, the failures and the repairs of a run.
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
  /** Replies of the model, and of the models of agents that correct arguments. */
  turns: Schema.Int,
  /** Tool calls of the model, and of the models of agents that correct arguments. */
  calls: Schema.Int,
  inputTokens: Schema.Int,
  outputTokens: Schema.Int,
  /** Ordered by turn: first the failures of the model, then of each call, in the order in which they were handled. */
  failures: Schema.Array(Entry),
  /** Ordered by turn and by call. A repair that recurs often points to a prompt or a schema to improve. */
  repairs: Schema.Array(Repaired).pipe(Schema.withDecodingDefaultKey(Effect.succeed([])))
})

/**
 * Combines two ledgers into one.
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
