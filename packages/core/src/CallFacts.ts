/**
 * The record of the calls of a run and their outcomes. It is a fold over the calls, and decides which of
 * them may be repeated.
 *
 * Two calls are the same if they have the same intent. The tool's `identity` of their arguments decides
 * that, or else all arguments, however they are written. Models repeat calls unless they are told not to,
 * so:
 *
 * | the earlier call                                            | the next call with the same intent                               |
 * | ----------------------------------------------------------- | ---------------------------------------------------------------- |
 * | succeeded in this run                                       | is a new effect with a new key; refused if `repeats: false`      |
 * | succeeded in an earlier run of the scope                    | `already_done`, unless `repeats: true` or `"idempotent"`         |
 * | may have taken effect, and the tool is `"non_idempotent"`   | `repeated_call`                                                  |
 * | may have taken effect, and it is `"idempotent_by_key"`      | runs again, with the same key and the first arguments            |
 * | was refused by a `"non_idempotent"` tool                    | `repeated_call` if the arguments are the same                    |
 * | ran and failed as often as the tool's `failureLimit`        | `repeated_call`                                                  |
 *
 * Failures are limited because retrying is up to a tool's own policies. They know whether a retry is safe,
 * and how long to wait. Once the model is told of a failure, the same call is unlikely to succeed.
 *
 * An **idempotency key** is derived from the scope, the tool, the identity and a number. The number grows
 * with each success. It also grows when a call that certainly did nothing is repeated with other arguments,
 * or in a later run.
 *
 * The **scope** is the run, or a name given by the caller, for example of a conversation or an order. The
 * runs of a scope pass their facts on, from `Answer.facts` to `RunOptions.facts`. Facts hold digests,
 * shortened answers, failure details, and the arguments of calls that may have to be sent again.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { Certainty, join } from "./Certainty.ts"
import { factOf } from "./internal/dispatch/callFact.ts"
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
 * The record of a failed call.
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
  /** The run of the scope in which it was first called, from 0. */
  run: Count,
  /** How many times the handler ran, over all calls. */
  executions: Count,
  /** Whether any of these executions took effect. */
  certainty: Certainty,
  /** The digest of the arguments of the first call. */
  arguments: Schema.String,
  /** The arguments of the first call, if the service must be sent the same again. */
  text: Schema.optionalKey(Schema.String),
  /** The digest of the arguments that the tool last refused. */
  refused: Schema.optionalKey(Schema.String),
  /** Something inside the call would act again. */
  lasting: Schema.optionalKey(Schema.Literal(true)),
  /** The code of the last failure. `detail`, `hint` and `tag` are from the same failure. */
  code: Schema.String,
  detail: Schema.String,
  hint: Schema.optionalKey(Schema.String),
  tag: Handled.fields.tag
})

/**
 * The record of one intent: the effect that one or more calls were meant to have.
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
  /** The run of the scope in which the effect was first intended, from 0. */
  run: Count,
  /** The number of its next idempotency key, from 1. */
  number: Count,
  /** The last success: its run of the scope, and its shortened answer as JSON. Absent if there was none. */
  done: Schema.optionalKey(Schema.Struct({ run: Count, answer: Schema.optionalKey(Schema.String) })),
  /** The failures since the last success. */
  failed: Schema.optionalKey(FailedCall)
})

/**
 * The facts of the calls of a scope.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallFacts {
  /** The scope. Idempotency keys are derived from it. Absent before the first run. */
  readonly scope?: string
  /** The number of earlier runs of the scope. */
  readonly run: number
  /** Whether this run may have started before, so that its keys may already have been sent. */
  readonly mayHaveRun: Likelihood
  /** The facts, by the digest of the intent. */
  readonly intents: HashMap.HashMap<string, Fact>
  /** The number of failed calls. */
  readonly failures: number
  /** The name of the last called tool. `inARow` counts its consecutive calls. */
  readonly last: string
  readonly inARow: number
}

/**
 * How likely it is that a run has started before. It is `"likely"` if the caller gave the run a name, and
 * `"unlikely"` if the run continues from stored data.
 *
 * @category models
 * @since 0.1.0
 */
export type Likelihood = "no" | "unlikely" | "likely"

/**
 * The encoded form of {@link CallFacts}.
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
 * The schema of {@link CallFacts}. It encodes to plain JSON with a version. Decoding another version fails
 * with a message that names the version.
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
 * Facts without any call, for the first run of a scope.
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
 * Returns the facts at the start of a run. Failures of earlier runs no longer count, unless the call may
 * have taken effect.
 *
 * @param scope the scope of the run
 * @param mayHaveRun whether the run may have started before, for example as a job that a queue delivers
 * twice; default: `"no"`. With facts of an earlier run it is at least `"unlikely"`
 * @category folding
 * @since 0.1.0
 */
export const beginning = (facts: CallFacts, scope: string, mayHaveRun: Likelihood = "no"): CallFacts => {
  const intents = HashMap.filterMap(facts.intents, carryOver)
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

const carryOver = ({ failed, ...fact }: Fact): Result.Result<Fact, void> => {
  if (failed !== undefined && failed.certainty !== "not_executed") {
    return Result.succeed({ ...fact, failed: { ...failed, executions: 1 } })
  }
  // The service may have stored a refused request under its key, so the next call gets a new one.
  const number = failed === undefined ? fact.number : fact.number + 1
  return fact.done === undefined ? Result.failVoid : Result.succeed({ ...fact, number })
}

/**
 * Returns the facts of a resumed run. It may have been resumed before, because its user may answer twice.
 *
 * @category folding
 * @since 0.1.0
 */
export const resuming = (facts: CallFacts): CallFacts =>
  facts.mayHaveRun === "no" ? { ...facts, mayHaveRun: "unlikely" } : facts

/**
 * Restores the key number of a suspended call that continues.
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
 * Records a call that the model makes.
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
 * Records the outcome of a call.
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
  // The call ran and did nothing. Then its corrected arguments were refused.
  if (outcome._tag === "Failed" && outcome.stage === "admit") return ended(facts, asRejected(outcome), tool)
  const before: Fact = factOf(facts, intent.id)
  const { number = before.number } = intent
  const failure = failureOf(outcome)
  if (failure !== undefined) {
    const failed = failedCallOf(facts.run, { ...before, number }, before.number, intent, failure, outcome)
    const fact = { ...before, number, failed }
    return { ...facts, failures: facts.failures + 1, intents: HashMap.set(facts.intents, intent.id, fact) }
  }
  if (tool.sideEffect === "none" || outcome.certainty !== "executed") return facts
  // An effect that was in doubt since an earlier run counts as done in that run.
  const run = before.failed?.run ?? facts.run
  const done = outcome._tag === "Completed" ? { run, answer: cut(JSON.stringify(outcome.value), 300) } : { run }
  return { ...facts, intents: HashMap.set(facts.intents, intent.id, { run: before.run, number: number + 1, done }) }
}

const failedCallOf = (
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
  // The hint is about this call only. It does not apply if an earlier call may have taken effect.
  const hint = certainty === last ? failure.hint : undefined
  const isRefused = last === "not_executed" && !isNotExecuted(failure)
  const refused = isRefused ? intent.arguments : failed?.refused
  // Under a new number, nothing has been sent yet.
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

// Partial data does not count as a failure, unless the call is in doubt. Any other outcome in doubt counts as one.
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
