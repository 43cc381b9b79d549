/**
 * What has been called in a run, and what came of it: one fold over the calls, which budgets read.
 *
 * Why a budget per call? A model that is not told otherwise repeats what failed. Retrying is the business of a tool's own
 * policies, which know whether it is safe and how long to wait; by the time the model hears of a failure, the same call with
 * the same arguments is unlikely to do any better. So after three failed executions in a run it is refused without being run; and
 * after the first one, where the tool is neither read-only nor idempotent, and refused, or may have taken effect. An answer that leaves that
 * in doubt counts like a failure.
 *
 * Calls are the same when their arguments come to the same parameters, whatever the order of keys and the white space. Only failures are
 * kept, so that a run in which nothing fails pays nothing.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import * as Arguments from "./Arguments.ts"
import { Certainty, join } from "./Certainty.ts"
import * as DispatchFailure from "./DispatchFailure.ts"
import { failedExecutions } from "./internal/bounds.ts"
import { canonical } from "./internal/canonical.ts"
import { cut, mostDetail } from "./internal/text.ts"
import type { SideEffect } from "./SideEffect.ts"
import type * as Tool from "./Tool.ts"
import type { ToolCall } from "./ToolCall.ts"
import { isNotExecuted, type ToolFailure, ToolUnavailable } from "./ToolFailure.ts"
import { executions as executionsOf, Handled, type ToolOutcome } from "./ToolOutcome.ts"

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
  /** How often the handler ran, over all calls. */
  executions: Schema.Int,
  /** Has any of them taken effect? */
  certainty: Certainty,
  /** Did the tool refuse what it was asked? */
  refused: Schema.Boolean,
  /** The last failure. */
  code: Schema.String,
  detail: Schema.String,
  hint: Schema.optionalKey(Schema.String),
  tag: Handled.fields.tag
})

/**
 * What has been called in a run.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallFacts extends Schema.Schema.Type<typeof schema> {}

/**
 * The schema of {@link CallFacts}: they survive a suspension.
 *
 * @category schemas
 * @since 0.1.0
 */
export const schema = Schema.Struct({
  /** What has failed, by tool and arguments. */
  failed: Schema.Array(Schema.Tuple([Schema.String, FailedCall])).pipe(
    Schema.decodeTo(
      Schema.HashMap(Schema.String, Schema.toType(FailedCall)),
      SchemaTransformation.transform({
        decode: (entries) => HashMap.fromIterable(entries),
        encode: (failed) => Array.from(failed)
      })
    )
  ),
  /** The tool that was called last, and how often in a row. */
  last: Schema.String,
  inARow: Schema.Int
})

/**
 * Nothing has been called.
 *
 * @category constructors
 * @since 0.1.0
 */
export const empty: CallFacts = { failed: HashMap.empty(), last: "", inARow: 0 }

/**
 * The model makes a call.
 *
 * @category folding
 * @since 0.1.0
 */
export const called = ({ failed, inARow, last }: CallFacts, { name }: ToolCall): CallFacts => ({
  failed,
  last: name,
  inARow: last === name ? inARow + 1 : 1
})

/**
 * A call has its outcome.
 *
 * @param used what it was run with, if it was; where that is not known, the outcome may know its text
 * @category folding
 * @since 0.1.0
 */
export const ended = (
  facts: CallFacts,
  call: ToolCall,
  outcome: ToolOutcome,
  used: Used | undefined
): CallFacts => {
  const failure = failureOf(outcome)
  if (failure === undefined || wasNotRun(outcome)) return facts
  const ran = executionsOf(outcome)
  const key = used === undefined && isWithheld(outcome)
    ? ofAll(call)
    : keyOf(call, used ?? { params: undefined, text: outcome.arguments })
  const { certainty, executions, refused } = Option.getOrElse(HashMap.get(facts.failed, key), () => none)
  const { _tag: tag, code, detail } = failure
  const known = join(certainty, outcome.certainty)
  // What to do next was said of this call alone: it is void where an earlier one may have taken effect.
  const hint = known === outcome.certainty ? failure.hint : undefined
  return {
    ...facts,
    failed: HashMap.set(facts.failed, key, {
      executions: executions + ran,
      certainty: known,
      refused: refused || !isNotExecuted(failure),
      code,
      detail: cut(detail, mostDetail),
      ...(hint === undefined ? {} : { hint: cut(hint, mostDetail) }),
      tag
    })
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

const none = { executions: 0, certainty: "not_executed", refused: false } as const

// What a call was corrected to is left out of its outcome where it holds a secret: a journal cannot tell it from any other.
const isWithheld = ({ arguments: text, repairs = [] }: ToolOutcome): boolean =>
  text === undefined && repairs.some(({ kind }) => kind === "fixed")

const ofAll = ({ name }: ToolCall): string => `${name} *`

/**
 * The arguments that a call is run with.
 *
 * @category models
 * @since 0.1.0
 */
export interface Used {
  readonly params: unknown
  /** Their text, where it is not the model's own. */
  readonly text?: string | undefined
}

/**
 * Why a call is not to be run again, if so.
 *
 * @category budgets
 * @since 0.1.0
 */
export const refusal = (
  facts: CallFacts,
  call: ToolCall,
  { sideEffect }: Pick<Tool.Any, "sideEffect">,
  used: Used
): DispatchFailure.DispatchFailure | undefined => {
  if (HashMap.isEmpty(facts.failed)) return undefined
  const known = (key: string) => Option.getOrUndefined(HashMap.get(facts.failed, key))
  const earlier = known(keyOf(call, used)) ?? known(asWritten(call, used)) ?? known(ofAll(call))
  if (earlier === undefined) return undefined
  const mayRun = earlier.executions < failedExecutions && mayRunAgain(sideEffect, earlier)
  return mayRun ? undefined : DispatchFailure.retryBudgetExceeded(earlier)
}

const mayRunAgain = (sideEffect: SideEffect, { certainty, refused }: FailedCall): boolean => {
  switch (sideEffect) {
    case "none":
      return certainty === "not_executed"
    case "idempotent":
      return true
    case "non_idempotent":
      return certainty === "not_executed" && !refused
  }
}

const keyOf = (call: ToolCall, used: Used): string =>
  (used.params === undefined ? undefined : keyWith(call, canonical(used.params))) ?? asWritten(call, used)

// A journal gives back an outcome without any decoding, and what some parameters hold cannot be told.
const asWritten = (call: ToolCall, { text = call.arguments }: Used): string =>
  Result.match(Arguments.parse(text), {
    onSuccess: ({ value }) => keyWith(call, canonical(value)),
    onFailure: () => undefined
  }) ?? `${call.name} ${text}`

const keyWith = ({ name }: ToolCall, args: string | undefined) => args === undefined ? undefined : `${name} ${args}`
