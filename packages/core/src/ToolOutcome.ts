/**
 * The outcome of one call: exactly one of `Completed`, `Failed`, `Suspended`, `Stopped`.
 *
 * An outcome is plain data: its value, or the data of its `PartialData`, is already encoded with the tool's
 * success schema. Outcomes are meant for models, journals, reports and logs, not for typed code.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Certainty, Doubt } from "./Certainty.ts"
import { Repair } from "./internal/call/argumentRepair.ts"
import { Handled } from "./internal/call/handledFailure.ts"
import { Effects } from "./internal/failure/effects.ts"
import { File } from "./internal/value/file.ts"
import { namedStruct } from "./internal/value/namedStruct.ts"
import { Question } from "./Question.ts"
import { RunReport, Spent } from "./RunReport.ts"
import * as ToolFailure from "./ToolFailure.ts"
import { WireRequest } from "./WireRequest.ts"

/**
 * The stage of dispatch in which a call failed. `Dispatch` describes the stages.
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
 * How a call was approved or denied.
 *
 * @category models
 * @since 0.1.0
 */
export class Decided extends namedStruct<Decided>()({
  approved: Schema.Boolean,
  /** The digest of the arguments that were decided on: those that were shown, or the ones that a person edited. */
  digest: Schema.String,
  /** Who decided. Absent if it is not known. */
  by: Schema.optionalKey(Schema.String),
  /** True if a person changed the arguments. */
  edited: Schema.optionalKey(Schema.Literal(true)),
  /** Why the call was denied. */
  reason: Schema.optionalKey(Schema.String)
}) {}

/**
 * The user's reply to a question, together with the question and the call that asked it.
 *
 * @category models
 * @since 0.1.0
 */
export class Reply extends namedStruct<Reply>()({
  /** The id of the call that asked: the model's call, or a call inside it. */
  id: Schema.String,
  question: Schema.String,
  reply: Schema.String,
  /** The id of the question, if the run was suspended with it. */
  to: Schema.optionalKey(Schema.String),
  /** Who replied. Absent if it is not known. */
  by: Schema.optionalKey(Schema.String),
  /** The decision, if the question was one for approval. */
  decided: Schema.optionalKey(Decided)
}) {}

export { Repair, TextRepair, ValueRepair } from "./internal/call/argumentRepair.ts"
export { Handled, HandledBy } from "./internal/call/handledFailure.ts"

/**
 * The effect that a call was meant to have.
 *
 * @category models
 * @since 0.1.0
 */
export class Intent extends namedStruct<Intent>()({
  /** A digest of the tool and of the arguments that identify the effect. Calls with the same intent share it. */
  id: Schema.String,
  /** A digest of the tool and of all arguments. */
  arguments: Schema.String,
  /** A 1-based number from which the idempotency key is derived (`CallFacts`). Absent for a read-only tool. */
  number: Schema.optionalKey(Schema.Int),
  /** The idempotency key. Absent if nothing in the call has read it. */
  key: Schema.optionalKey(Schema.String),
  /** True if something inside the call acted, or may have acted, and a repeated call would make it act again. */
  lasting: Schema.optionalKey(Schema.Literal(true)),
  /**
   * All arguments as JSON. Kept if a repeated call must send the service exactly the same arguments, because both
   * calls share one key. Never contains secrets.
   */
  text: Schema.optionalKey(Schema.String),
  /** When the effect happened, in milliseconds since 1970. Present if the agent asks whether to do it again. */
  at: Schema.optionalKey(Schema.Finite),
  /** A digest of the model's text, if a fixer corrected the arguments. */
  written: Schema.optionalKey(Schema.String)
}) {}

/**
 * How a doubt about an earlier call was settled.
 *
 * @category models
 * @since 0.1.0
 */
export class Settlement extends namedStruct<Settlement>()({
  /** The id of the intent of the call that was in doubt. */
  id: Schema.String,
  /** Whether that call took effect. */
  certainty: Schema.Literals(["executed", "not_executed"]),
  /** Who says so: `"check:…"` with the name of the tool that found out, `"reconcile"`, `"person"`, or a program's word. */
  by: Schema.String,
  /** What was found, as JSON text. */
  answer: Schema.optionalKey(Schema.String)
}) {}

const effort = {
  /** Whether the call took effect. */
  certainty: Certainty,
  /** How strong the doubt is. Present if `certainty` is `unknown` because of this call. */
  doubt: Schema.optionalKey(Doubt),
  /**
   * If the tool acts: the requests of the attempts that have no answer, at most 20. They show why the certainty is what it
   * is. Absent if none was seen.
   */
  wire: Schema.optionalKey(Schema.Array(WireRequest)),
  /** The effect that the call was meant to have. Absent for most read-only calls, and for unreadable arguments. */
  intent: Schema.optionalKey(Intent),
  /** True if an equal call of the same turn ran in place of this one, which shares its outcome. */
  joined: Schema.optionalKey(Schema.Literal(true)),
  /** The doubts about earlier calls that this call has settled. Absent if there were none. */
  settled: Schema.optionalKey(Schema.Array(Settlement)),
  /** How the call was approved or denied. Absent if it did not have to be. */
  decided: Schema.optionalKey(Decided),
  /** The changes to the model's arguments, including changes that the model is not shown. Absent if there were none. */
  repairs: Schema.optionalKey(Schema.Array(Repair)),
  /**
   * The text of the arguments that were used in place of the model's arguments: corrected arguments, or those of an
   * earlier call. Absent if the model's arguments were used, or if the text contains a secret. A `Suspended` call
   * keeps the text even with a secret, because the call continues with these arguments. An agent's event masks it.
   */
  arguments: Schema.optionalKey(Schema.String),
  /**
   * How many times the handler ran, plus the runs of other tools by the call's fallbacks. It is 0 if none of them
   * ran. A handler that asks its user runs again after the reply, and that counts, too.
   */
  attempts: Schema.Int,
  /** How many times the handler itself ran. Absent if equal to `attempts`. */
  executions: Schema.optionalKey(Schema.Int),
  /** How long policies waited in all: before a retry, for a permit, for their turn. Concurrent waits are added up. */
  waited: Schema.DurationFromMillis,
  /** The failures that policies and fixers handled, in order. */
  handled: Schema.Array(Handled),
  /** The report of the agents that corrected the call's arguments. Absent if no agent did. */
  fixing: Schema.optionalKey(RunReport),
  /** The tokens and the failures of the agents that the handler ran. Absent if there were none. */
  spent: Schema.optionalKey(Spent)
}

/**
 * The call succeeded.
 *
 * @category models
 * @since 0.1.0
 */
export class Completed extends namedStruct<Completed>()({
  _tag: Schema.tag("Completed"),
  value: Schema.Json,
  /** What the model reads in place of the value (`ToolCall.tell`). Absent if it reads the value. */
  told: Schema.optionalKey(Schema.Json),
  /** Notes for the model about the value, one sentence each. */
  caveats: Schema.Array(Schema.String),
  /** The files beside the value (`ToolCall.attach`). Absent if there are none. */
  files: Schema.optionalKey(Schema.Array(File)),
  /** Where the value came from. Absent if this was not reported. */
  source: Schema.optionalKey(Schema.Struct({
    name: Schema.String,
    age: Schema.optionalKey(Schema.DurationFromString)
  })),
  ...effort
}) {}

/**
 * The call failed, in the tool or in another stage of dispatch.
 *
 * @category models
 * @since 0.1.0
 */
export class Failed extends namedStruct<Failed>()({
  _tag: Schema.tag("Failed"),
  failure: ToolFailure.schema(Schema.Json),
  stage: Stage,
  ...effort
}) {}

/**
 * The call waits for the reply to a question.
 *
 * @category models
 * @since 0.1.0
 */
export class Suspended extends namedStruct<Suspended>()({
  _tag: Schema.tag("Suspended"),
  question: Schema.String,
  /** The name of the call that asks: this call, or a call inside it. */
  id: Schema.String,
  /** The question as data. */
  asks: Question,
  /** What the digest of the question is made with if the arguments have a secret, so that nobody can guess the secret from it. */
  salt: Schema.optionalKey(Schema.String),
  /** The questions of this call that the user has already answered, in order. */
  replies: Schema.Array(Reply),
  /** What the call had done when it asked. Absent if it had done nothing. */
  effects: Schema.optionalKey(Effects),
  /** True if something inside the call acted, or may have acted, and would act again when the call is resumed. */
  lasting: Schema.optionalKey(Schema.Literal(true)),
  ...effort
}) {}

/**
 * The call ended the whole run with `ToolCall.stop`.
 *
 * @category models
 * @since 0.1.0
 */
export class Stopped extends namedStruct<Stopped>()({
  _tag: Schema.tag("Stopped"),
  reason: Schema.String,
  ...effort
}) {}

/**
 * The outcome of one call.
 *
 * @category models
 * @since 0.1.0
 */
export type ToolOutcome = Completed | Failed | Suspended | Stopped

/**
 * Returns how many times the handler of a call ran. Tools that the call's fallbacks ran are not counted.
 *
 * When to use: to find out how often the tool itself has already run, before you repeat a call.
 *
 * @category accounts
 * @since 0.1.0
 */
export const executions = ({ attempts, executions = attempts }: ToolOutcome): number => executions

/**
 * The schema of a {@link ToolOutcome}. It encodes to plain JSON.
 *
 * @category schemas
 * @since 0.1.0
 */
export const schema = Schema.Union([Completed, Failed, Suspended, Stopped])
