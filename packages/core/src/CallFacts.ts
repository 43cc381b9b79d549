/**
 * What has been called in a run, and what came of it: one fold over the calls, which decides what may be repeated.
 *
 * Calls are the same when they mean the same effect: their tools' `identity`, or else all their arguments, however they are written. What a
 * model is not told otherwise it repeats, so:
 *
 * | the same call before                                        | the next one                                                    |
 * | ----------------------------------------------------------- | --------------------------------------------------------------- |
 * | succeeded in this run                                       | is another effect, with another key; refused if `repeats: false` |
 * | succeeded in an earlier run of the scope                    | `already_done`, unless `repeats: true`, or `"idempotent"`       |
 * | may have taken effect, and the tool is `"non_idempotent"`   | `repeated_call`                                                 |
 * | may have taken effect, and it is `"idempotent_by_key"`      | runs again, with the same key and the first arguments           |
 * | was refused by a `"non_idempotent"` tool                    | `repeated_call` with the same arguments                         |
 * | has failed three times (`failureLimit`)                     | `repeated_call`                                                 |
 *
 * Why a limit of failures? Retrying is the business of a tool's own policies, which know whether it is safe and how long to wait; by the time
 * the model hears of a failure, the same call is unlikely to do any better.
 *
 * An **idempotency key** is made of the scope, the tool, the identity and a number. The number grows with each success, and where a call
 * that has certainly done nothing is made again with other arguments, or in a later run.
 *
 * The **scope** is the run, or what the caller names: a conversation, an order. Facts travel with it, from `Answer.facts` to
 * `RunOptions.facts`. They hold digests, and no arguments but those of a call that may have to be sent again.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { Certainty, join } from "./Certainty.ts"
import * as DispatchFailure from "./DispatchFailure.ts"
import { failedExecutions } from "./internal/bounds.ts"
import type { Admission, Intended } from "./internal/intended.ts"
import { named } from "./internal/key.ts"
import { cut, mostDetail } from "./internal/text.ts"
import { versioned } from "./internal/versioned.ts"
import type * as Tool from "./Tool.ts"
import type { ToolCall } from "./ToolCall.ts"
import { isNotExecuted, type ToolFailure, ToolUnavailable } from "./ToolFailure.ts"
import { executions as executionsOf, Handled, type ToolOutcome } from "./ToolOutcome.ts"

// -----------------------------------------------------------------------------
// Models
// -----------------------------------------------------------------------------

/**
 * What is known of a call that has failed.
 *
 * @category models
 * @since 0.1.0
 */
export interface FailedCall extends Schema.Schema.Type<typeof FailedCall> {}

/**
 * The schema of a {@link FailedCall}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FailedCall = Schema.Struct({
  /** The run of the scope in which it was called first. */
  run: Schema.Int,
  /** How often the handler ran, over all calls. */
  executions: Schema.Int,
  /** Has any of them taken effect? */
  certainty: Certainty,
  /** The digest of the arguments that it was called with first. */
  arguments: Schema.String,
  /** These arguments, where the service must be sent the same again. */
  text: Schema.optionalKey(Schema.String),
  /** The digest of the arguments that the tool refused last. */
  refused: Schema.optionalKey(Schema.String),
  /** The last failure. */
  code: Schema.String,
  detail: Schema.String,
  hint: Schema.optionalKey(Schema.String),
  tag: Handled.fields.tag
})

/**
 * What is known of an effect that calls have meant.
 *
 * @category models
 * @since 0.1.0
 */
export interface Fact extends Schema.Schema.Type<typeof Fact> {}

/**
 * The schema of a {@link Fact}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Fact = Schema.Struct({
  /** The run of the scope in which it was first meant, from 0, and the number of the next key since then, from 1. */
  run: Schema.Int,
  number: Schema.Int,
  /** For which run of the scope it has last been done, and what that answered. Absent: never. */
  done: Schema.optionalKey(Schema.Struct({ run: Schema.Int, answer: Schema.optionalKey(Schema.String) })),
  /** What has failed since then. */
  failed: Schema.optionalKey(FailedCall)
})

/**
 * What has been called.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallFacts {
  /** What keys are made of, beside the call; absent before the first run. */
  readonly scope?: string
  /** How many runs of the scope there were before. */
  readonly run: number
  /** What is known, by the digest of what was meant. */
  readonly intents: HashMap.HashMap<string, Fact>
  /** How many calls have failed. */
  readonly failures: number
  /** The tool that was called last, and how often in a row. */
  readonly last: string
  readonly inARow: number
}

/**
 * What {@link CallFacts} encode to.
 *
 * @category models
 * @since 0.1.0
 */
export interface Encoded {
  readonly version: number
  readonly scope?: string
  readonly run: number
  readonly intents: ReadonlyArray<readonly [string, typeof Fact.Encoded]>
  readonly failures: number
  readonly last: string
  readonly inARow: number
}

/**
 * The schema of {@link CallFacts}: encodes to plain JSON with a version. Decoding any other version fails, and says which it found.
 *
 * @category schemas
 * @since 0.1.0
 */
export const schema: Schema.Codec<CallFacts, Encoded> = versioned("the facts of calls", 1, {
  scope: Schema.optionalKey(Schema.String),
  run: Schema.Int,
  intents: Schema.Array(Schema.Tuple([Schema.String, Fact])).pipe(
    Schema.decodeTo(
      Schema.HashMap(Schema.String, Schema.toType(Fact)),
      SchemaTransformation.transform({
        decode: (entries) => HashMap.fromIterable(entries),
        encode: (intents) => Array.from(intents)
      })
    )
  ),
  failures: Schema.Int,
  last: Schema.String,
  inARow: Schema.Int
})

/**
 * Nothing has been called: the facts of the first run of a scope.
 *
 * @category constructors
 * @since 0.1.0
 */
export const empty: CallFacts = { run: 0, intents: HashMap.empty(), failures: 0, last: "", inARow: 0 }

// -----------------------------------------------------------------------------
// Folding
// -----------------------------------------------------------------------------

/**
 * A run begins. What has failed in earlier ones counts no more, unless it may have taken effect.
 *
 * @param scope the scope of the run
 * @category folding
 * @since 0.1.0
 */
export const beginning = (facts: CallFacts, scope: string): CallFacts => ({
  ...empty,
  scope,
  run: facts.scope === undefined ? 0 : facts.run + 1,
  intents: HashMap.filterMap(facts.intents, kept)
})

const kept = ({ failed, ...fact }: Fact): Result.Result<Fact, void> => {
  if (failed !== undefined && failed.certainty !== "not_executed") {
    return Result.succeed({ ...fact, failed: { ...failed, executions: 1 } })
  }
  // A service may have kept what it refused.
  const number = failed === undefined ? fact.number : fact.number + 1
  return fact.done === undefined ? Result.failVoid : Result.succeed({ ...fact, number })
}

/**
 * The model makes a call.
 *
 * @category folding
 * @since 0.1.0
 */
export const called = (facts: CallFacts, { name }: ToolCall): CallFacts => ({
  ...facts,
  last: name,
  inARow: facts.last === name ? facts.inARow + 1 : 1
})

/**
 * A call has its outcome.
 *
 * @param tool the tool that was called
 * @category folding
 * @since 0.1.0
 */
export const ended = (
  facts: CallFacts,
  outcome: ToolOutcome,
  tool: Pick<Tool.Any, "sideEffect">
): CallFacts => {
  const { intent } = outcome
  if (intent === undefined || wasNotRun(outcome)) return facts
  const before = factOf(facts, intent.id)
  const fact = inTurn(before, intent.arguments)
  const failure = failureOf(outcome)
  if (failure !== undefined) {
    const failed = { run: fact.failed?.run ?? facts.run, ...after(fact.failed, failure, outcome, tool) }
    return {
      ...facts,
      failures: facts.failures + 1,
      intents: HashMap.set(facts.intents, intent.id, { ...fact, failed })
    }
  }
  if (tool.sideEffect === "none" || outcome.certainty !== "executed") return facts
  // What was in doubt since an earlier run has been done in that one.
  const run = fact.failed?.run ?? facts.run
  const done = outcome._tag === "Completed" ? { run, answer: cut(JSON.stringify(outcome.value), 300) } : { run }
  return { ...facts, intents: HashMap.set(facts.intents, intent.id, { run: fact.run, number: fact.number + 1, done }) }
}

// What is forgotten, since it did nothing, has another key in another run.
const factOf = ({ intents, run }: CallFacts, id: string): Fact =>
  Option.getOrElse(HashMap.get(intents, id), () => ({ run, number: 1 }))

// What has certainly done nothing, and is called with other arguments, has the next number: a service may have kept what it refused.
const inTurn = (fact: Fact, args: string): Fact => {
  const { failed, number } = fact
  return failed === undefined || failed.certainty !== "not_executed" || failed.arguments === args
    ? fact
    : { ...fact, number: number + 1, failed: { ...failed, arguments: args } }
}

const after = (
  before: FailedCall | undefined,
  failure: ToolFailure,
  outcome: ToolOutcome,
  { sideEffect }: Pick<Tool.Any, "sideEffect">
): Omit<FailedCall, "run"> => {
  const { certainty: last, intent } = outcome
  const { _tag: tag, code, detail } = failure
  // Under one key, it has come to what the last one came to.
  const certainty = before === undefined || sideEffect === "idempotent_by_key" ? last : join(before.certainty, last)
  // What to do next was said of this call alone: it is void where an earlier one may have taken effect.
  const hint = certainty === last ? failure.hint : undefined
  const isRefused = last === "not_executed" && !isNotExecuted(failure)
  const refused = isRefused ? intent?.arguments : before?.refused
  const text = certainty === "not_executed" ? undefined : before?.text ?? intent?.text
  return {
    executions: (before?.executions ?? 0) + executionsOf(outcome),
    certainty,
    arguments: before?.arguments ?? intent?.arguments ?? "",
    ...(text === undefined ? {} : { text }),
    ...(refused === undefined ? {} : { refused }),
    code,
    detail: cut(detail, mostDetail),
    ...(hint === undefined ? {} : { hint: cut(hint, mostDetail) }),
    tag
  }
}

// A page of many is no failure to be repeated: it went well. An answer that leaves it in doubt whether the tool has taken effect did not.
const failureOf = (outcome: ToolOutcome): ToolFailure | undefined => {
  if (outcome._tag === "Failed") {
    return outcome.failure._tag === "PartialData" && outcome.certainty !== "unknown" ? undefined : outcome.failure
  }
  if (outcome._tag !== "Completed" || outcome.certainty !== "unknown") return undefined
  const [detail = "It may have taken effect."] = outcome.caveats
  return new ToolUnavailable({ code: "outcome_unknown", detail, transient: false, outcome: "unknown" })
}

const wasNotRun = (outcome: ToolOutcome): boolean =>
  outcome._tag === "Failed" && outcome.stage === "admit" ||
  outcome.attempts === 0 && outcome.certainty === "not_executed"

// -----------------------------------------------------------------------------
// Admission
// -----------------------------------------------------------------------------

/**
 * Why a call is not to be run, or what it is run with.
 *
 * When to use: in a loop of your own, as the `admit` of `Dispatch.call`. An agent's loop does it.
 *
 * @category admission
 * @since 0.1.0
 */
export const admission = (
  facts: CallFacts,
  tool: Tool.Any,
  call: Intended
): Admission => {
  const { failureLimit = failedExecutions, name, repeats, sideEffect } = tool
  if (sideEffect === "none" && facts.failures === 0 && tool.identity === undefined) return {}
  if (call.isEmpty) return { refusal: DispatchFailure.noIdentity(name) }
  const before = factOf(facts, call.id)
  const { done, failed, number, run } = inTurn(before, call.arguments)
  const isInDoubt = failed !== undefined && failed.certainty !== "not_executed"
  const isChanged = before.failed?.arguments !== call.arguments
  const refusal = failed === undefined ? undefined : DispatchFailure.repeatedCall({ ...failed, isChanged })
  if (failed !== undefined && (failed.executions >= failureLimit || !mayRunAgain(tool, failed, call))) {
    return { refusal }
  }
  const isDone = done !== undefined && !isInDoubt &&
    (repeats === undefined ? done.run < facts.run && sideEffect !== "idempotent" : !repeats)
  if (isDone) return { refusal: DispatchFailure.alreadyDone(done.answer) }
  if (sideEffect === "none") return {}
  return {
    key: call.isFit ? () => named("key", facts.scope ?? "", call.id, run, number) : undefined,
    // Its key has been sent, if it is that of the call before.
    ...(refusal !== undefined && failed !== undefined && number === before.number && sideEffect === "idempotent_by_key"
      ? { repeated: { certainty: failed.certainty, text: failed.text, isChanged, refusal } }
      : {})
  }
}

const mayRunAgain = (
  { sideEffect }: Tool.Any,
  { arguments: first, certainty, refused, text }: FailedCall,
  call: Intended
) => {
  switch (sideEffect) {
    case "none":
      return certainty === "not_executed"
    case "idempotent":
      return true
    case "idempotent_by_key":
      // Under one key, a service is sent the same arguments.
      return certainty === "not_executed" || first === call.arguments || text !== undefined
    case "non_idempotent":
      return certainty === "not_executed" && refused !== call.arguments
  }
}
