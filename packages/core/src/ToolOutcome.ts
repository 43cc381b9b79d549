/**
 * What came of one call: exactly one of `Completed`, `Failed`, `Suspended`, `Stopped`.
 *
 * An outcome is plain data. Its value, and the data of a partial failure, are already encoded
 * by the tool's success schema, since from here on an outcome is read by a model, a journal, a
 * ledger and a log, and no longer by typed code.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Certainty } from "./Certainty.ts"
import { Handled } from "./internal/call/handledFailure.ts"
import { Repair } from "./internal/call/repair.ts"
import { Ledger } from "./Ledger.ts"
import * as ToolFailure from "./ToolFailure.ts"

/**
 * Where on its way a call ended: see `Dispatch` for the way.
 *
 * @category models
 * @since 0.1.0
 */
export type Stage = typeof Stage.Type

/**
 * The schema of a {@link Stage}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Stage = Schema.Literals(["resolve", "parse", "decode", "admit", "run", "guard"])

/**
 * A question to the user, who asked it, and the answer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reply extends Schema.Schema.Type<typeof Reply> {}

/**
 * The schema of a {@link Reply}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Reply = Schema.Struct({
  /** The name of the call that asked: the model's, or one inside of it. */
  id: Schema.String,
  question: Schema.String,
  reply: Schema.String
})

export { Handled, HandledBy } from "./internal/call/handledFailure.ts"
export { Repair, TextRepair, ValueRepair } from "./internal/call/repair.ts"

/**
 * The schema of an {@link Intent}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Intent = Schema.Struct({
  /** A digest of the tool and of what identifies the effect: the same for each call that means it. */
  id: Schema.String,
  /** The same of all arguments. */
  arguments: Schema.String,
  /** The number that its key is made with, from 1; absent of a tool that only reads. */
  number: Schema.optionalKey(Schema.Int),
  /** Its idempotency key, if anything in it asked for it. */
  key: Schema.optionalKey(Schema.String),
  /** Something inside of it has acted, or may have, and would act again. */
  lasting: Schema.optionalKey(Schema.Literal(true)),
  /** All arguments as JSON, where a service that goes by keys may have to be sent the same again. Secrets are never kept. */
  text: Schema.optionalKey(Schema.String)
})

/**
 * What a call was meant to do.
 *
 * @category models
 * @since 0.1.0
 */
export interface Intent extends Schema.Schema.Type<typeof Intent> {}

const effort = {
  /** Has the call taken effect, as far as anybody knows? */
  certainty: Certainty,
  /** What the call was meant to do. Absent: nobody asked, as of most calls that read, or its arguments could not be read. */
  intent: Schema.optionalKey(Intent),
  /** What was changed about the model's arguments so that they could be read, told to it or not. Absent: nothing. */
  repairs: Schema.optionalKey(Schema.Array(Repair)),
  /** The text of the arguments that were used, where a fixer has corrected the model's. Absent: they were not, or hold a secret. */
  arguments: Schema.optionalKey(Schema.String),
  /** How often the handler ran, and the tools that its fallbacks asked; 0 when the call never reached them. */
  attempts: Schema.Int,
  /** How often the handler ran, where that is another number: what a repetition of the call would repeat. */
  executions: Schema.optionalKey(Schema.Int),
  /** How long policies waited: before another attempt, for a permit, for their turn. Waits at the same time add up. */
  waited: Schema.DurationFromMillis,
  /** What policies took care of, in order. */
  handled: Schema.Array(Handled),
  /** What the agents used and failed with that corrected its arguments. Absent: there were none. */
  fixing: Schema.optionalKey(Ledger)
}

/**
 * The schema of a {@link Completed}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Completed = Schema.Struct({
  _tag: Schema.tag("Completed"),
  value: Schema.Json,
  /** What the model is told about the value, one sentence each. */
  caveats: Schema.Array(Schema.String),
  /** Where the value came from, when the tool said so. */
  source: Schema.optionalKey(Schema.Struct({
    name: Schema.String,
    age: Schema.optionalKey(Schema.DurationFromString)
  })),
  ...effort
})

/**
 * The call succeeded.
 *
 * @category models
 * @since 0.1.0
 */
export interface Completed extends Schema.Schema.Type<typeof Completed> {}

/**
 * The schema of a {@link Failed}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Failed = Schema.Struct({
  _tag: Schema.tag("Failed"),
  failure: ToolFailure.schema(Schema.Json),
  stage: Stage,
  ...effort
})

/**
 * The call failed, in the tool or on the way to it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Failed extends Schema.Schema.Type<typeof Failed> {}

/**
 * The schema of a {@link Suspended}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Suspended = Schema.Struct({
  _tag: Schema.tag("Suspended"),
  question: Schema.String,
  /** The name of the call that asks: this one, or one inside of it. */
  id: Schema.String,
  /** The questions of this call that the user has answered already, in order. */
  replies: Schema.Array(Reply),
  ...effort
})

/**
 * The call waits for the user: `ToolCall.ask`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Suspended extends Schema.Schema.Type<typeof Suspended> {}

/**
 * The schema of a {@link Stopped}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Stopped = Schema.Struct({
  _tag: Schema.tag("Stopped"),
  reason: Schema.String,
  ...effort
})

/**
 * The call ended the whole run: `ToolCall.stop`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Stopped extends Schema.Schema.Type<typeof Stopped> {}

/**
 * What came of one call.
 *
 * @category models
 * @since 0.1.0
 */
export type ToolOutcome = Completed | Failed | Suspended | Stopped

/**
 * How often the handler of a call ran, without the tools that its fallbacks asked.
 *
 * When to use: to tell what a repetition of the call would repeat.
 *
 * @category accounts
 * @since 0.1.0
 */
export const executions = ({ attempts, executions = attempts }: ToolOutcome): number => executions

/**
 * The schema of a {@link ToolOutcome}: encodes to plain JSON.
 *
 * @category schemas
 * @since 0.1.0
 */
export const schema = Schema.Union([Completed, Failed, Suspended, Stopped])
