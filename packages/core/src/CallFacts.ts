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
 * | has run and failed as often as the tool's `failureLimit`    | `repeated_call`                                                 |
 *
 * Why a limit of failures? Retrying is the business of a tool's own policies, which know whether it is safe and how long to wait; by the time
 * the model hears of a failure, the same call is unlikely to do any better.
 *
 * An **idempotency key** is made of the scope, the tool, the identity and a number. The number grows with each success, and where a call
 * that has certainly done nothing is made again with other arguments, or in a later run.
 *
 * The **scope** is the run, or what the caller names: a conversation, an order. Facts travel with it, from `Answer.facts` to
 * `RunOptions.facts`. They hold digests, shortened answers, details of failures, and the arguments of a call that may have to be sent again.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { Certainty, join } from "./Certainty.ts"
import { factOf } from "./internal/dispatch/fact.ts"
import { cut, mostDetail } from "./internal/value/text.ts"
import { versioned } from "./internal/value/versioned.ts"
import type * as Tool from "./Tool.ts"
import type { ToolCall } from "./ToolCall.ts"
import { isNotExecuted, SchemaMismatch, type ToolFailure, ToolUnavailable } from "./ToolFailure.ts"
import { executions as executionsOf, type Failed, Handled, type Intent, type ToolOutcome } from "./ToolOutcome.ts"

// -----------------------------------------------------------------------------
// Models
// -----------------------------------------------------------------------------

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))

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
  run: Count,
  /** How often the handler ran, over all calls. */
  executions: Count,
  /** Has any of them taken effect? */
  certainty: Certainty,
  /** The digest of the arguments that it was called with first. */
  arguments: Schema.String,
  /** These arguments, where the service must be sent the same again. */
  text: Schema.optionalKey(Schema.String),
  /** The digest of the arguments that the tool refused last. */
  refused: Schema.optionalKey(Schema.String),
  /** Something inside of it would act again. */
  lasting: Schema.optionalKey(Schema.Literal(true)),
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
  run: Count,
  number: Count,
  /** For which run of the scope it has last been done, and what that answered. Absent: never. */
  done: Schema.optionalKey(Schema.Struct({ run: Count, answer: Schema.optionalKey(Schema.String) })),
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
  /** May this run have begun before, so that its keys have been sent? */
  readonly mayHaveRun: Likelihood
  /** What is known, by the digest of what was meant. */
  readonly intents: HashMap.HashMap<string, Fact>
  /** How many calls have failed. */
  readonly failures: number
  /** The tool that was called last, and how often in a row. */
  readonly last: string
  readonly inARow: number
}

/**
 * May a run have begun before? `"likely"` where its caller gave it a name, and `"unlikely"` where it goes on with what is stored.
 *
 * @category models
 * @since 0.1.0
 */
export type Likelihood = "no" | "unlikely" | "likely"

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
  readonly mayHaveRun: Likelihood
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
  run: Count,
  mayHaveRun: Schema.Literals(["no", "unlikely", "likely"]),
  intents: Schema.Array(Schema.Tuple([Schema.String, Fact])).pipe(
    Schema.decodeTo(
      Schema.HashMap(Schema.String, Schema.toType(Fact)),
      SchemaTransformation.transform({
        decode: (entries) => HashMap.fromIterable(entries),
        encode: (intents) => Array.from(intents)
      })
    )
  ),
  failures: Count,
  last: Schema.String,
  inARow: Count
})

/**
 * Nothing has been called: the facts of the first run of a scope.
 *
 * @category constructors
 * @since 0.1.0
 */
export const empty: CallFacts = {
  run: 0,
  mayHaveRun: "no",
  intents: HashMap.empty(),
  failures: 0,
  last: "",
  inARow: 0
}

// -----------------------------------------------------------------------------
// Folding
// -----------------------------------------------------------------------------

/**
 * A run begins. What has failed in earlier ones counts no more, unless it may have taken effect.
 *
 * @param scope the scope of the run
 * @param mayHaveRun may it have begun before, as a job that a queue delivers again? Default: `"no"`; with facts of an earlier run, `"unlikely"`
 * @category folding
 * @since 0.1.0
 */
export const beginning = (facts: CallFacts, scope: string, mayHaveRun: Likelihood = "no"): CallFacts => {
  const intents = HashMap.filterMap(facts.intents, kept)
  const isFirst = facts.scope === undefined && HashMap.isEmpty(facts.intents)
  return {
    ...empty,
    scope,
    run: isFirst ? 0 : facts.run + 1,
    mayHaveRun: isFirst || mayHaveRun === "likely" ? mayHaveRun : "unlikely",
    intents,
    failures: HashMap.some(intents, ({ failed }) => failed !== undefined) ? 1 : 0
  }
}

const kept = ({ failed, ...fact }: Fact): Result.Result<Fact, void> => {
  if (failed !== undefined && failed.certainty !== "not_executed") {
    return Result.succeed({ ...fact, failed: { ...failed, executions: 1 } })
  }
  // A service may have kept what it refused.
  const number = failed === undefined ? fact.number : fact.number + 1
  return fact.done === undefined ? Result.failVoid : Result.succeed({ ...fact, number })
}

/**
 * A run is resumed, and may have been before: its user may answer twice.
 *
 * @category folding
 * @since 0.1.0
 */
export const resuming = (facts: CallFacts): CallFacts =>
  facts.mayHaveRun === "no" ? { ...facts, mayHaveRun: "unlikely" } : facts

/**
 * A call that was suspended goes on, with the number of its key.
 *
 * @category folding
 * @since 0.1.0
 */
export const numbered = (facts: CallFacts, intent: Intent | undefined): CallFacts => {
  if (intent?.number === undefined) return facts
  const fact = { ...factOf(facts, intent.id), number: intent.number }
  return { ...facts, intents: HashMap.set(facts.intents, intent.id, fact) }
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
  // It ran, and did nothing; and then what a fixer had made of its arguments was refused.
  if (outcome._tag === "Failed" && outcome.stage === "admit") return ended(facts, asRejected(outcome), tool)
  const before: Fact = factOf(facts, intent.id)
  const { number = before.number } = intent
  const failure = failureOf(outcome)
  if (failure !== undefined) {
    const failed = after(facts.run, { ...before, number }, before.number, intent, failure, outcome)
    const fact = { ...before, number, failed }
    return { ...facts, failures: facts.failures + 1, intents: HashMap.set(facts.intents, intent.id, fact) }
  }
  if (tool.sideEffect === "none" || outcome.certainty !== "executed") return facts
  // What was in doubt since an earlier run has been done in that one.
  const run = before.failed?.run ?? facts.run
  const done = outcome._tag === "Completed" ? { run, answer: cut(JSON.stringify(outcome.value), 300) } : { run }
  return { ...facts, intents: HashMap.set(facts.intents, intent.id, { run: before.run, number: number + 1, done }) }
}

const after = (
  run: number,
  { failed, number }: Fact,
  numberBefore: number,
  intent: Intent,
  failure: ToolFailure,
  outcome: ToolOutcome
): FailedCall => {
  const { certainty: last } = outcome
  const { _tag: tag, code, detail } = failure
  const certainty = join(failed?.certainty ?? "not_executed", last)
  // What to do next was said of this call alone: it is void where an earlier one may have taken effect.
  const hint = certainty === last ? failure.hint : undefined
  const isRefused = last === "not_executed" && !isNotExecuted(failure)
  const refused = isRefused ? intent.arguments : failed?.refused
  // Under another number, nothing has been sent before.
  const first = number === numberBefore ? failed : undefined
  const text = certainty === "not_executed" ? undefined : first?.text ?? intent.text
  return {
    run: failed?.run ?? run,
    executions: (failed?.executions ?? 0) + executionsOf(outcome),
    certainty,
    arguments: first?.arguments ?? intent.arguments,
    ...(text === undefined ? {} : { text }),
    ...(refused === undefined ? {} : { refused }),
    ...(intent.lasting === true ? { lasting: true } : {}),
    code,
    detail: cut(detail, mostDetail),
    ...(hint === undefined ? {} : { hint: cut(hint, mostDetail) }),
    tag
  }
}

// A page of many is no failure to be repeated: it went well. What leaves it in doubt whether the tool has taken effect did not.
const failureOf = (outcome: ToolOutcome): ToolFailure | undefined => {
  if (outcome._tag === "Failed") {
    return outcome.failure._tag === "PartialData" && outcome.certainty !== "unknown" ? undefined : outcome.failure
  }
  if (outcome.certainty !== "unknown") return undefined
  const [detail = "It may have taken effect."] = outcome._tag === "Completed" ? outcome.caveats : []
  return new ToolUnavailable({ code: "outcome_unknown", detail, transient: false, outcome: "unknown" })
}

const wasNotRun = (outcome: ToolOutcome): boolean =>
  outcome.attempts === 0 &&
  (outcome.certainty === "not_executed" || outcome._tag === "Failed" && outcome.stage === "admit")

const asRejected = (outcome: Failed): Failed => {
  const { code, detail } = outcome.handled.at(-1) ?? outcome.failure
  const failure = new SchemaMismatch({ side: "arguments", code, detail })
  return { ...outcome, failure, stage: "run", certainty: "not_executed" }
}
