import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type Certainty, join } from "../../Certainty.ts"
import * as Defect from "../../Defect.ts"
import * as DispatchFailure from "../../DispatchFailure.ts"
import type * as Tool from "../../Tool.ts"
import {
  isToolFailure,
  PartialData,
  type SchemaMismatch,
  type ToolFailure,
  type ToolUnavailable
} from "../../ToolFailure.ts"
import type { Failed, Stage, ToolOutcome } from "../../ToolOutcome.ts"
import { unknown } from "../anyError/describeError.ts"
import { statusBelow } from "../anyError/recognize.ts"
import { knownIn, ofTool, telling } from "../call/known.ts"
import { failedOutcome, stoppedOutcome, suspendedOutcome } from "../call/outcome.ts"
import { heed } from "../call/runUserCode.ts"
import type { Scope } from "../call/scope.ts"
import { defectsOf, signalIn } from "../failure/controlSignal.ts"
import { certaintyOf, type Effects } from "../failure/effects.ts"
import { evidenceOf, isInferred } from "../failure/evidence.ts"
import { withFields } from "../failure/failureClass.ts"
import { isRepeat } from "../failure/policyRefusal.ts"
import { guard } from "../result/resultGuard.ts"
import { isTooDeep } from "../value/plainJson.ts"
import { attempted } from "../value/untrusted.ts"

/** Returns the outcome of a call that ended with a cause. This is the only place where a cause becomes an outcome. */
export const outcomeOfCause = (
  cause: Cause.Cause<unknown>,
  stage: Stage,
  tool: Tool.Any,
  record: Scope
): Effect.Effect<ToolOutcome> => {
  const [reason] = cause.reasons
  if (cause.reasons.length === 1 && reason !== undefined && Cause.isFailReason(reason) && isToolFailure(reason.error)) {
    return settle(reason.error, stage, tool, record)
  }
  // A signal (a stop or a question to the user) takes precedence over the failures of finalizers.
  const signal = signalIn(defectsOf(cause))
  switch (signal?._tag) {
    case "StopSignal":
      return Effect.succeed(stoppedOutcome(record, signal.reason))
    case "SuspendSignal":
      return Effect.succeed(suspendedOutcome(record, signal))
    case undefined:
      return broken(cause, stage, tool, record)
  }
}

/**
 * Makes the outcome and its failure agree about what is known of the call. The failure also says which call it has left: if
 * the code around the call fails with it, too, it says nothing about that code.
 *
 * @param unread the certainty, if the answer of the call could not be read
 */
const failed = (failure: Failed["failure"], stage: Stage, record: Scope, unread?: Certainty): Failed => {
  const effects = record.effects(false)
  const told = certaintyOf(effects)
  const known = asFinal(knownIn(failure, record, effects), record, effects)
  const { outcome } = known
  // An earlier call with the same intent took effect, not this one. With `unknown`, the effect is not counted twice.
  const isOfEarlier = stage === "admit" && outcome === "executed" && effects === "none"
  const certainty = isOfEarlier ? "unknown" : outcome === undefined || outcome === told ? told : join(told, outcome)
  return failedOutcome(record, ofTool(withStatus(known, record), record.id, effects), stage, unread ?? certainty)
}

// A read-only tool did nothing, whatever its handler says. If the outcome of a non-idempotent tool is unknown, the failure
// becomes permanent, because the tool must not run again.
const asFinal = (failure: Failed["failure"], { tool: { sideEffect } }: Scope, effects: Effects): Failed["failure"] => {
  if (failure.outcome !== "unknown") return failure
  if (effects === "none" && sideEffect === "none") return telling(failure, { outcome: "not_executed" })
  return failure._tag !== "ToolUnavailable" || sideEffect !== "non_idempotent" || failure.code === "defect" ||
      isRepeat(failure)
    ? failure
    : withFields<ToolUnavailable>(failure, { code: "outcome_unknown", transient: false })
}

// A status may mean that the service knows the key already. Facts need it, also those of a replayed run, where the cause
// is lost.
const withStatus = (failure: Failed["failure"], { tool: { sideEffect } }: Scope): Failed["failure"] => {
  if (sideEffect !== "idempotent_by_key" || failure.cause === undefined) return failure
  const status = attempted(() => statusBelow(failure))
  return status === undefined ? failure : telling(failure, { evidence: { ...evidenceOf(failure), status } })
}

// Handles a call whose handler threw, died, interrupted itself, or failed with something other than a `ToolFailure`.
const broken = (
  cause: Cause.Cause<unknown>,
  stage: Stage,
  tool: Tool.Any,
  record: Scope
): Effect.Effect<ToolOutcome> => {
  for (const defect of defectsOf(cause)) heed(`The tool '${tool.name}'`, defect)
  const certainty = stage === "guard" ? certaintyOfUnreadable(record) : record.certainty
  const outcome = certainty === "not_executed" ? undefined : certainty
  const failure = DispatchFailure.defect({ tool: tool.name, outcome, cause })
  return Effect.as(
    Defect.report(`The tool ${tool.name} failed with an internal error`, cause),
    failed(failure, stage, record, certainty)
  )
}

const settle = (
  failure: ToolFailure,
  stage: Stage,
  tool: Tool.Any,
  record: Scope
): Effect.Effect<ToolOutcome> => {
  switch (failure._tag) {
    case "PartialData":
      return partial(failure, stage, tool, record)
    case "SchemaMismatch":
      return Effect.succeed(mismatched(failure, stage, record))
    case "SemanticGarbage":
      return Effect.succeed(failed(failure, stage, record))
    case "ToolUnavailable": {
      const outcome = Effect.succeed(failed(failure, stage, record))
      return failure.code === "failed" && isInferred(failure) ? reportUnknown(failure.cause, tool, outcome) : outcome
    }
  }
}

// Reports an unrecognized error. Only the tool's author knows what it means.
const reportUnknown = (error: unknown, { name }: Tool.Any, outcome: Effect.Effect<Failed>) =>
  Effect.andThen(Defect.report(`The tool ${name} failed with ${unknown(error)}`, Cause.fail(error)), outcome)

// Returns the certainty after an unreadable answer. If the tool acts, it is unknown whether it did its work.
const certaintyOfUnreadable = (record: Scope): Certainty => {
  const effects = record.effects(true)
  return record.acts && effects === "done" ? "unknown" : certaintyOf(effects)
}

const mismatched = (failure: SchemaMismatch, stage: Stage, record: Scope): Failed => {
  if (stage === "guard") return failed(failure, stage, record, certaintyOfUnreadable(record))
  const isUnread = stage === "decode" && failure.side === "arguments" && failure.code === "invalid_json"
  return failed(failure, isUnread ? "parse" : stage, record)
}

// The data of a `PartialData` failure is a result, too: it is checked and encoded as JSON.
const partial = (
  failure: PartialData,
  stage: Stage,
  tool: Tool.Any,
  record: Scope
): Effect.Effect<ToolOutcome> =>
  Effect.suspend(() => guard(tool, failure.data)).pipe(
    Effect.match({
      onSuccess: (data) => {
        const { next, ...rest } = failure
        const nextField = next === undefined || isTooDeep(next) || !isJsonObject(next) ? {} : { next }
        return failed(new PartialData({ ...rest, ...nextField, data, cause: failure.cause }), stage, record)
      },
      onFailure: (invalid) => mismatched(invalid, "guard", record)
    }),
    Effect.catchCause((cause) => broken(cause, "guard", tool, record))
  )

const isJsonObject = Schema.is(Schema.JsonObject)
