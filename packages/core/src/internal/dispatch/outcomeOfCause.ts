import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type Certainty, join } from "../../Certainty.ts"
import * as Defect from "../../Defect.ts"
import * as DispatchFailure from "../../DispatchFailure.ts"
import type * as Tool from "../../Tool.ts"
import {
  isOutcomeUnknown,
  isToolFailure,
  PartialData,
  type SchemaMismatch,
  type ToolFailure,
  ToolUnavailable
} from "../../ToolFailure.ts"
import type { Failed, Stage, ToolOutcome } from "../../ToolOutcome.ts"
import { unknown } from "../anyError/describeError.ts"
import { isGuess } from "../anyError/provenance.ts"
import type { CallFrame } from "../call/callFrame.ts"
import { withOutcome } from "../call/handlerEnding.ts"
import { failedOutcome, stoppedOutcome, suspendedOutcome } from "../call/outcome.ts"
import { heed } from "../call/runUserCode.ts"
import { defectsOf, signalIn } from "../failure/controlSignal.ts"
import { isRepeat } from "../failure/policyRefusal.ts"
import { guard } from "../result/resultGuard.ts"
import { isTooDeep } from "../value/plainJson.ts"

/** Returns the outcome of a call that ended with a cause. This is the only place where a cause becomes an outcome. */
export const outcomeOfCause = (
  cause: Cause.Cause<unknown>,
  stage: Stage,
  tool: Tool.Any,
  record: CallFrame
): Effect.Effect<ToolOutcome> => {
  // A signal (a stop or a question to the user) takes precedence over the failures of finalizers.
  const signal = signalIn(defectsOf(cause))
  switch (signal?._tag) {
    case "StopSignal":
      return Effect.succeed(stoppedOutcome(record, signal.reason))
    case "SuspendSignal":
      return Effect.succeed(suspendedOutcome(record, signal))
    case "RejectionSignal":
    case undefined:
      break
  }

  const [reason] = cause.reasons
  if (cause.reasons.length === 1 && reason !== undefined && Cause.isFailReason(reason) && isToolFailure(reason.error)) {
    return settle(reason.error, stage, tool, record)
  }
  return broken(cause, stage, tool, record)
}

// Handles a call whose handler threw, died, interrupted itself, or failed with something other than a `ToolFailure`.
const broken = (
  cause: Cause.Cause<unknown>,
  stage: Stage,
  tool: Tool.Any,
  record: CallFrame
): Effect.Effect<ToolOutcome> => {
  for (const defect of defectsOf(cause)) heed(`The tool '${tool.name}'`, defect)
  const certainty = stage === "guard" ? certaintyOfUnreadable(record) : record.certainty
  const outcome = certainty === "not_executed" ? undefined : certainty
  const failure = DispatchFailure.defect({ tool: tool.name, outcome, cause })
  return Effect.as(
    Defect.report(`The tool ${tool.name} failed with an internal error`, cause),
    failedOutcome(record, failure, stage, certainty)
  )
}

const settle = (
  failure: ToolFailure,
  stage: Stage,
  tool: Tool.Any,
  record: CallFrame
): Effect.Effect<ToolOutcome> => {
  switch (failure._tag) {
    case "PartialData":
      return partial(failure, stage, tool, record)
    case "SchemaMismatch":
      return Effect.succeed(mismatched(failure, stage, record))
    case "SemanticGarbage":
      return Effect.succeed(failedOutcome(record, failure, stage))
    case "ToolUnavailable": {
      const outcome = Effect.succeed(unavailable(failure, stage, tool, record))
      return failure.code === "failed" && isGuess(failure) ? reportUnknown(failure.cause, tool, outcome) : outcome
    }
  }
}

// Reports an unrecognized error. Only the tool's author knows what it means.
const reportUnknown = (error: unknown, { name }: Tool.Any, outcome: Effect.Effect<Failed>) =>
  Effect.andThen(Defect.report(`The tool ${name} failed with ${unknown(error)}`, Cause.fail(error)), outcome)

// Returns the certainty after an unreadable answer. If the tool acts, it is unknown whether it did its work.
const certaintyOfUnreadable = ({ acts, certaintyOfAnswer }: CallFrame): Certainty =>
  acts && certaintyOfAnswer === "executed" ? "unknown" : certaintyOfAnswer

const mismatched = (failure: SchemaMismatch, stage: Stage, record: CallFrame): Failed => {
  if (stage === "guard") return failedOutcome(record, failure, stage, certaintyOfUnreadable(record))
  if (stage !== "decode" || failure.side === "result") return failedOutcome(record, failure, stage)
  return failedOutcome(record, failure, failure.code === "invalid_json" ? "parse" : stage)
}

// Makes the failure's `outcome` agree with the certainty of the call. If the outcome of a non-idempotent tool is
// unknown, the failure becomes permanent, because the tool must not run again.
const unavailable = (failure: ToolUnavailable, stage: Stage, { sideEffect }: Tool.Any, record: CallFrame): Failed => {
  const settled = record.known(failure)
  const isUnknown = isOutcomeUnknown(settled)
  if (record.certainty === "not_executed" && sideEffect === "none") {
    // A read-only tool did nothing, whatever its handler says.
    return failedOutcome(record, isUnknown ? withOutcome(settled, "not_executed") : settled, stage)
  }
  const final = isUnknown && sideEffect === "non_idempotent" && !keepsCode(settled)
    ? new ToolUnavailable({ ...settled, code: "outcome_unknown", transient: false, cause: settled.cause })
    : settled
  const { outcome } = final
  if (outcome === undefined) return failedOutcome(record, final, stage)
  // An earlier call with the same intent took effect, not this one. With `unknown`, the effect is not counted twice.
  const isOfEarlier = stage === "admit" && outcome === "executed" && record.certainty === "not_executed"
  const certainty = isOfEarlier ? "unknown" : join(record.certainty, outcome)
  // `withOutcome` makes `outcome` enumerable, so that every copy of the failure keeps it.
  return failedOutcome(
    record,
    Object.keys(final).includes("outcome") ? final : withOutcome(final, outcome),
    stage,
    certainty
  )
}

const keepsCode = (failure: ToolUnavailable): boolean => failure.code === "defect" || isRepeat(failure)

// The data of a `PartialData` failure is a result, too: it is checked and encoded as JSON.
const partial = (
  failure: PartialData,
  stage: Stage,
  tool: Tool.Any,
  record: CallFrame
): Effect.Effect<ToolOutcome> =>
  Effect.suspend(() => guard(tool, failure.data)).pipe(
    Effect.match({
      onSuccess: (data) => {
        const { next, ...rest } = failure
        const nextField = next === undefined || isTooDeep(next) || !isJsonObject(next) ? {} : { next }
        return failedOutcome(record, new PartialData({ ...rest, ...nextField, data, cause: failure.cause }), stage)
      },
      onFailure: (invalid) => mismatched(invalid, "guard", record)
    }),
    Effect.catchCause((cause) => broken(cause, "guard", tool, record))
  )

const isJsonObject = Schema.is(Schema.JsonObject)
