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
import type { CallFrame } from "../call/callFrame.ts"
import { withOutcome } from "../call/handlerEnding.ts"
import { failedOutcome, stoppedOutcome, suspendedOutcome } from "../call/outcome.ts"
import { heed } from "../call/userCode.ts"
import { unknown } from "../error/describe.ts"
import { isGuess } from "../error/guess.ts"
import { isRepeat } from "../failure/refusalCode.ts"
import { defectsOf, signalIn } from "../failure/signal.ts"
import { isTooDeep } from "../value/plainJson.ts"
import { guard } from "./resultGuard.ts"

/** The outcome of a call whose stages ended in this cause. There is no other place where a cause becomes an outcome. */
export const outcomeOfCause = (
  cause: Cause.Cause<unknown>,
  stage: Stage,
  tool: Tool.Any,
  record: CallFrame
): Effect.Effect<ToolOutcome> => {
  // A signal goes before what its finalizers may have done.
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

// Thrown, died, interrupted itself, or failed with what no tool may fail with.
const broken = (
  cause: Cause.Cause<unknown>,
  stage: Stage,
  tool: Tool.Any,
  record: CallFrame
): Effect.Effect<ToolOutcome> => {
  for (const defect of defectsOf(cause)) heed(`The tool '${tool.name}'`, defect)
  const certainty = stage === "guard" ? unread(record) : record.certainty
  const outcome = certainty === "not_executed" ? undefined : certainty
  const failure = DispatchFailure.defect({ tool: tool.name, outcome, cause })
  return Effect.as(
    Defect.report(`The tool ${tool.name} failed because of a fault of its own`, cause),
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
      const told = Effect.succeed(unavailable(failure, stage, tool, record))
      return failure.code === "failed" && isGuess(failure) ? reported(failure.cause, tool, told) : told
    }
  }
}

// Nobody knows what such an error means, but for whoever wrote the tool.
const reported = (error: unknown, { name }: Tool.Any, failedOutcome: Effect.Effect<Failed>) =>
  Effect.andThen(Defect.report(`The tool ${name} failed with ${unknown(error)}`, Cause.fail(error)), failedOutcome)

// The handler has answered, and nobody can read what: whether it did what was asked is open.
const unread = ({ acts, certaintyOfAnswer }: CallFrame): Certainty =>
  acts && certaintyOfAnswer === "executed" ? "unknown" : certaintyOfAnswer

const mismatched = (failure: SchemaMismatch, stage: Stage, record: CallFrame): Failed => {
  if (stage === "guard") return failedOutcome(record, failure, stage, unread(record))
  if (stage !== "decode" || failure.side === "result") return failedOutcome(record, failure, stage)
  return failedOutcome(record, failure, failure.code === "invalid_json" ? "parse" : stage)
}

// What is unknown of a tool depends on the tool: one that is not idempotent must not be tried again, now or later.
const unavailable = (failure: ToolUnavailable, stage: Stage, { sideEffect }: Tool.Any, record: CallFrame): Failed => {
  const known = record.known(failure)
  const isUnknown = isOutcomeUnknown(known)
  if (record.certainty === "not_executed" && sideEffect === "none") {
    // It has done nothing, whatever its handler thought.
    return failedOutcome(record, isUnknown ? withOutcome(known, "not_executed") : known, stage)
  }
  const told = isUnknown && sideEffect === "non_idempotent" && !keepsCode(known)
    ? new ToolUnavailable({ ...known, code: "outcome_unknown", transient: false, cause: known.cause })
    : known
  const { outcome } = told
  if (outcome === undefined) return failedOutcome(record, told, stage)
  // An earlier call with the same arguments has taken effect: whoever counts what was executed is not to count it twice.
  const isOfEarlier = stage === "admit" && outcome === "executed" && record.certainty === "not_executed"
  const certainty = isOfEarlier ? "unknown" : join(record.certainty, outcome)
  // What an outcome says is in every copy of it.
  return failedOutcome(
    record,
    Object.keys(told).includes("outcome") ? told : withOutcome(told, outcome),
    stage,
    certainty
  )
}

const keepsCode = (failure: ToolUnavailable): boolean => failure.code === "defect" || isRepeat(failure)

// The data of a partial failure is a result, too: it is guarded, and travels as JSON.
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
        const kept = next === undefined || isTooDeep(next) || !isJsonObject(next) ? {} : { next }
        return failedOutcome(record, new PartialData({ ...rest, ...kept, data, cause: failure.cause }), stage)
      },
      onFailure: (invalid) => mismatched(invalid, "guard", record)
    }),
    Effect.catchCause((cause) => broken(cause, "guard", tool, record))
  )

const isJsonObject = Schema.is(Schema.JsonObject)
