/**
 * The facts of a scope (one run, or several): a record of its calls and their outcomes. The record is a fold over
 * them, and decides which calls may be repeated.
 *
 * Two calls count as the same if they have the same intent: the effect that they are meant to have. The
 * tool's `identity` function derives the intent from the arguments. Without an `identity`, all arguments are
 * compared, regardless of how they are written. A text that a fixer has corrected before is the same call, too, whatever
 * the fixer makes of it now.
 *
 * A tool is **identified** if its arguments say which effect is intended, however the model words the rest: it has an
 * `identity` function, or `identity: "all"` and no free text among its parameters.
 *
 * Models repeat calls unless they are told not to. So the earlier call decides what happens to the next call. A
 * code such as `repeated_call` means that the next call is refused with this code:
 *
 * | the earlier call                         | the same call, `"non_idempotent"`                                                            | the same call, `"idempotent_by_key"`           | another call of the tool                  |
 * | ---------------------------------------- | -------------------------------------------------------------------------------------------- | ---------------------------------------------- | ----------------------------------------- |
 * | is in hard doubt                         | `repeated_call`; with `Tool.reconcile`, only the check runs, with the first call's arguments | runs: the same key, the first call's arguments | `in_doubt`, unless the tool is identified |
 * | is in soft doubt                         | the same                                                                                     | the same                                       | runs                                      |
 * | may have been any call: arguments lost   | `in_doubt`                                                                                   | `in_doubt`                                     | `in_doubt`                                |
 * | succeeded in this run                    | runs under a new key; `already_done` if `repeats: false`                                     | the same                                       | runs                                      |
 * | succeeded in an earlier run of the scope | `already_done`, unless `repeats: true`                                                       | the same                                       | runs                                      |
 * | was settled as executed                  | `already_done`, unless `repeats: true`                                                       | the same                                       | runs                                      |
 * | was settled as not executed              | runs under the same key                                                                      | the same                                       | runs                                      |
 * | was certainly refused                    | `repeated_call` if the arguments are the same                                                | runs; with other arguments, under a new key    | runs                                      |
 * | failed in `failureLimit` executions      | `repeated_call`                                                                              | the same                                       | runs                                      |
 *
 * A call whose own `Tool.reconcile` finds its effect at once has succeeded. If a later call finds it, that call has not run:
 * the earlier one was settled as executed.
 *
 * An `"idempotent"` tool is held back only by its `failureLimit` and by `repeats: false`. Within one turn, equal calls are
 * joined before this table applies (`joins`). A call that was denied (`Tool.approve`) is not asked about again in the same
 * run, and refused (`not_approved`). With `onDone: "ask"`, a call that was done in an earlier run is asked about.
 *
 * Repeated failures are cut off here because retrying is the job of a tool's own policies. The policies know
 * whether a retry is safe, and how long to wait. Once the model sees a failure, the same call is unlikely to
 * succeed.
 *
 * A doubt is settled by `Tool.reconcile`, by a check whose tool `settles`, by a person (`onDoubt: "ask"`), or by a program:
 * {@link inDoubt} and {@link settle}. No reply of the model settles it. If a person says that the earlier call took effect,
 * another call that the doubt held back is refused once more (`in_doubt`): the model may have meant the same, and has not
 * read that yet.
 *
 * An **idempotency key** is 32 hexadecimal digits: 128 bits of a SHA-256 digest of the scope, the tool's name, the intent,
 * and a number. The number says which effect of this intent it is: the first, the second. It grows with each success, so
 * that the next call gets a new key. A call that was certainly refused also gets a new key if it is repeated with other
 * arguments, after a suspension, or in a later run. After anything else, the number stays: a lost answer, an error's
 * sentence, a service that was busy or not reached. A run whose process ended has no facts, so a later run makes the
 * same keys. To repeat such an effect on purpose, begin a new scope.
 *
 * Services refuse a known key with a different body. So while a call is in doubt, its first arguments are sent again, even
 * if the new call has others with the same identity, and the model is told so. Arguments with a secret are not stored. The
 * model must then send exactly the same ones; a call with others is refused.
 *
 * **A key that may have been sent before.** A 409 or 422 may mean that the service knows the key already. After a lost
 * answer in the same call, it leaves the call in doubt. In a run that may have run before, it depends on the run:
 *
 * - In a run with an `id`, and in the first run of a named `scope`, each 409 or 422 puts the call in doubt. Also after a
 *   resume. A queue may deliver the job of such a run twice. Then only a refusal of the keyed request itself gives the next
 *   call a new key, since a gateway's refusal says nothing about the first delivery. If no request was seen, the handler's
 *   own `refuse` counts: so call it only after the service's answer to a request with the key. Before that, fail with a
 *   transient `ToolUnavailable`.
 * - Any other run that continues with facts, or that is resumed, is rarely started twice. There, a 409 or 422 puts the call
 *   in doubt only if the tool has an `identity` function. With `"all"`, the call counts as refused, but keeps its key in
 *   later runs: a run whose client has left may still hold it.
 *
 * So a service should answer bad arguments with 400 instead of 422. If it answers 422, the `identity` must contain every
 * argument that the model may correct. If a 409 always means that nothing was done ("the room is taken"), the handler calls
 * `refuse`. The second delivery of a job does not know which arguments were corrected in the first, so the service must
 * store refused requests under their keys, too. Or pass the facts of the first delivery to the second.
 *
 * The **scope** is the run, or a name given by the caller, such as a conversation id or an order id. Each run
 * of a scope receives the facts of the run before it: `Answer.facts` becomes `RunOptions.facts`. Facts contain
 * digests, the first 300 characters of answers, and failure details. They also contain the arguments of calls in doubt:
 * whole, if they may have to be sent to a service again. So store facts as carefully as the transcript.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as HashMap from "effect/HashMap"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { Certainty, type Doubt as Strength } from "./Certainty.ts"
import { factOf } from "./internal/dispatch/callFact.ts"
import { namedStruct } from "./internal/value/namedStruct.ts"
import { cut, excerpt } from "./internal/value/text.ts"
import { withVersion } from "./internal/value/versioned.ts"
import { Handled, Settlement } from "./ToolOutcome.ts"

// -----------------------------------------------------------------------------
// Models
// -----------------------------------------------------------------------------

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))

/**
 * The record of the failed calls with one intent.
 *
 * @category models
 * @since 0.1.0
 */
export class FailedCall extends namedStruct<FailedCall>()({
  /** The name of the tool that was called. */
  tool: Schema.String,
  /** The index (0-based), within the scope, of the run that first made this call. */
  run: Count,
  /** How many times the handler ran, over all calls with this intent. Reset to 1 when a later run begins. */
  executions: Count,
  /** Whether any of these executions took effect. */
  certainty: Certainty,
  /** Present if the doubt is only a refusal that is not proved. */
  doubt: Schema.optionalKey(Schema.Literal("soft")),
  /** The digest of the arguments of the first call under the current idempotency key; empty after a suspension. */
  arguments: Schema.String,
  /**
   * The same arguments as text, kept if the call is in doubt: whole, if a repetition must send the service exactly the same
   * arguments; otherwise cut, for whoever settles the doubt.
   */
  text: Schema.optionalKey(Schema.String),
  /** The digest of the arguments that the tool last refused. */
  refused: Schema.optionalKey(Schema.String),
  /** Set if repeating the call would make something inside it act again. */
  lasting: Schema.optionalKey(Schema.Literal(true)),
  /** The code of the last failure. `detail`, `hint` and `tag` belong to the same failure. */
  code: Schema.String,
  detail: Schema.String,
  hint: Schema.optionalKey(Schema.String),
  tag: Handled.fields.tag
}) {}

/**
 * The record of one intent: the effect that one or more calls were meant to have.
 *
 * @category models
 * @since 0.1.0
 */
export class Fact extends namedStruct<Fact>()({
  /** The number that the next idempotency key of this intent is derived from. The first key has the number 1. */
  number: Count,
  /** The last success: the index of its run, and its shortened answer as JSON. Absent if no call succeeded. */
  done: Schema.optionalKey(Schema.Struct({
    run: Count,
    answer: Schema.optionalKey(Schema.String),
    /** When, in milliseconds since 1970. Present if the agent asks whether to do it again (`onDone`). */
    at: Schema.optionalKey(Schema.Finite)
  })),
  /** The failed calls since the last success. Absent if there were none. */
  failed: Schema.optionalKey(FailedCall),
  /** How the last doubt was settled, and by whom. Absent if there was none, and after another success or failure. */
  settled: Schema.optionalKey(Schema.Struct({ certainty: Settlement.fields.certainty, by: Schema.String })),
  /** Present if a call was denied: the index of its run, and why. */
  denied: Schema.optionalKey(Schema.Struct({ run: Count, reason: Schema.optionalKey(Schema.String) })),
  /** The digests of texts of arguments that a fixer corrected to this intent, the latest last. */
  written: Schema.optionalKey(Schema.Array(Schema.String))
}) {}

/**
 * The facts of the calls of a scope.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallFacts {
  /** The scope, from which idempotency keys are derived. Absent before the first run. */
  readonly scope?: string
  /** The index (0-based) of the current run within the scope, which counts the runs that this process knows of, too. */
  readonly run: number
  /** Whether this run may have started before, so that its keys may already have been sent. */
  readonly mayHaveRun: Likelihood
  /** Set if this run was suspended or postponed. It may be resumed, also after a later run has begun. */
  readonly paused?: true
  /** The facts, keyed by the digest of the intent. */
  readonly intents: HashMap.HashMap<string, Fact>
  /** The number of failed calls in this run, plus 1 if a call of an earlier run is in doubt. */
  readonly failures: number
}

/**
 * How likely it is that a run was started before. The value is `"likely"` if the caller gave the run an
 * id, and `"unlikely"` if the run continues from stored data.
 *
 * @category models
 * @since 0.1.0
 */
export type Likelihood = "no" | "unlikely" | "likely"

/**
 * The schema of {@link CallFacts}. It encodes to plain JSON with a version number, and decodes the version before, too.
 * Decoding data of any other version fails, and the message names that version.
 *
 * @category schemas
 * @since 0.1.0
 */
export const schema: Schema.Codec<CallFacts, Schema.JsonObject> = withVersion("the facts of calls", 4, {
  scope: Schema.optionalKey(Schema.String),
  run: Count,
  mayHaveRun: Schema.Literals(["no", "unlikely", "likely"]),
  paused: Schema.optionalKey(Schema.Literal(true)),
  intents: Schema.Array(Schema.Tuple([Schema.String, Fact])).pipe(
    Schema.decodeTo(
      Schema.HashMap(Schema.String, Schema.toType(Fact)),
      SchemaTransformation.transform({
        decode: (entries) => HashMap.fromIterable(entries),
        encode: (intents) => Array.from(intents)
      })
    )
  ),
  failures: Count
}, (stored) => stored)

/**
 * Facts that contain no calls, for the first run of a scope.
 *
 * @category constructors
 * @since 0.1.0
 */
export const empty: CallFacts = {
  run: 0,
  mayHaveRun: "no",
  intents: HashMap.empty(),
  failures: 0
}

// -----------------------------------------------------------------------------
// Doubts
// -----------------------------------------------------------------------------

/**
 * A call that may have taken effect. Nobody knows yet whether it has.
 *
 * @category models
 * @since 0.1.0
 */
export interface Doubt extends Pick<FailedCall, "tool" | "run" | "code" | "detail"> {
  /** The id of the intent, by which the doubt is settled. */
  readonly id: string
  /** A hard doubt closes a tool without an identity. A soft one is a refusal that is not proved. */
  readonly strength: Strength
  /**
   * The arguments of the call, as text: at most 1,000 characters, and long texts in them are cut. Absent if they hold a
   * secret, or were lost with the process of the call.
   */
  readonly arguments?: string
}

/**
 * Lists the calls that are in doubt, in no particular order.
 *
 * When to use: after a run, to show a person what has to be settled; before a run, to settle it by a program.
 *
 * @example
 * ```ts
 * import { Agent, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
 * import * as CallFacts from "@fallible/core/CallFacts"
 * import { ScriptedModel } from "@fallible/testing"
 * import { Effect, Result, Schema } from "effect"
 *
 * const pay = Tool.make("pay", {
 *   description: "Pays an order",
 *   parameters: Schema.Struct({ order: Schema.String, note: Schema.String }),
 *   success: Schema.String,
 *   identity: ({ order }) => order
 * }, () => Effect.fail(new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true })))
 *
 * const model = ScriptedModel.layer([
 *   ScriptedModel.call("pay", { order: "7", note: "lunch" }),
 *   ScriptedModel.text("I do not know whether it was paid.")
 * ])
 * const { facts } = await Effect.runPromise(
 *   Agent.make({ toolkit: Toolkit.make(pay) }).run("Pay 7.").pipe(Effect.provide(model))
 * )
 *
 * const [doubt] = CallFacts.inDoubt(facts)
 * doubt?.tool // => "pay"
 * doubt?.arguments // => "{\"order\":\"7\",\"note\":\"lunch\"}"
 *
 * const settled = Result.getOrThrow(CallFacts.settle(facts, doubt!.id, { certainty: "executed", by: "Ada" }))
 * CallFacts.inDoubt(settled) // => []
 * ```
 *
 * @category doubts
 * @since 0.1.0
 */
export const inDoubt = (facts: CallFacts): ReadonlyArray<Doubt> =>
  Array.from(facts.intents).flatMap(([id, { failed }]) => {
    if (failed?.certainty !== "unknown") return []
    const { code, detail, doubt: strength = "hard", run, text, tool } = failed
    return { id, tool, run, strength, code, detail, ...(text === undefined ? {} : { arguments: text }) }
  })

/**
 * There is no such doubt: its call is not known, or the doubt has been settled already.
 *
 * @category failures
 * @since 0.1.0
 */
export class NotInDoubt extends Data.TaggedError("NotInDoubt")<{ readonly id: string }> {
  override get message(): string {
    return `No call with the id '${cut(this.id, 60)}' is in doubt. CallFacts.inDoubt lists the calls that are.`
  }
}

/**
 * Settles a doubt: from then on, the facts say whether the call took effect, and who says so.
 *
 * When to use: in a program that has found out what became of a call, or in which an operator says so. Pass the new facts
 * to the next run.
 *
 * If the call took effect, an equal call gets `already_done`, unless the tool has `repeats: true`. If it did not, the tool
 * runs again, and an equal call has the same idempotency key. So a service that has acted after all does not act twice.
 *
 * Fails with {@link NotInDoubt} if the call is not in doubt.
 *
 * @param id the `id` of a {@link Doubt}
 * @param settlement `certainty`: what became of the call; `by`: who says so; `answer`: what the model is told of an effect,
 * as text, at most 300 characters of it; default: nothing
 * @category doubts
 * @since 0.1.0
 */
export const settle = (
  facts: CallFacts,
  id: string,
  settlement: Omit<Settlement, "id">
): Result.Result<CallFacts, NotInDoubt> => {
  const { answer, by, certainty } = settlement
  if (certainty !== "executed" && certainty !== "not_executed") {
    throw new TypeError(`A doubt is settled as "executed" or "not_executed"; got ${excerpt(certainty)}.`)
  }
  if (typeof by !== "string" || by.trim() === "") {
    throw new TypeError(`A settlement needs 'by', the name of who settles the doubt; got ${excerpt(by)}.`)
  }
  const { failed }: Fact = factOf(facts, id)
  return failed?.certainty === "unknown"
    ? Result.succeed(withSettlement(facts, { id, certainty, by, ...(answer === undefined ? {} : { answer }) }))
    : Result.fail(new NotInDoubt({ id }))
}

// A doubt can be settled once: the first word holds.
const withSettlement = (facts: CallFacts, { answer, by, certainty, id }: Settlement): CallFacts => {
  const { failed, number, ...rest }: Fact = factOf(facts, id)
  if (failed?.certainty !== "unknown") return facts
  const done = { run: failed.run, ...(answer === undefined ? {} : { answer: cut(answer, 300) }) }
  // If nothing was done, the key stays: should the service have acted after all, it does not act again.
  const fact = certainty === "executed" ? { ...rest, number: number + 1, done } : { ...rest, number }
  return { ...facts, intents: HashMap.set(facts.intents, id, { ...fact, settled: { certainty, by } }) }
}
