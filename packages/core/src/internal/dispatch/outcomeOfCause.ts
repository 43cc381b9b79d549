import { describe } from "@fallible/errors"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Certainty } from "../../Certainty.ts"
import type * as Tool from "../../Tool.ts"
import { isToolFailure, PartialData, type SchemaMismatch, type ToolFailure } from "../../ToolFailure.ts"
import type { Failed, Stage, ToolOutcome } from "../../ToolOutcome.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { fullyKnown, toldAtLast } from "../call/known.ts"
import { failedOutcome, stoppedOutcome, suspendedOutcome } from "../call/outcome.ts"
import { heedPromise } from "../call/runUserCode.ts"
import type { Scope } from "../call/scope.ts"
import { defectsOf, signalIn } from "../failure/controlSignal.ts"
import { certaintyOf } from "../failure/effects.ts"
import { isInferred } from "../failure/evidence.ts"
import { withoutInternals } from "../failure/withoutInternals.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { guard } from "../result/resultGuard.ts"
import { isTooDeep } from "../value/plainJson.ts"
import { attempt } from "../value/untrusted.ts"

/**
 * Returns the outcome of a call that ended with a cause. This is the only place where a cause becomes an outcome.
 *
 * @param text the text of the call's arguments
 */
export const outcomeOfCause = (
  cause: Cause.Cause<unknown>,
  stage: Stage,
  tool: Tool.Any,
  record: Scope,
  text: string | undefined
): Effect.Effect<ToolOutcome> => {
  const [reason] = cause.reasons
  if (cause.reasons.length === 1 && reason !== undefined && Cause.isFailReason(reason) && isToolFailure(reason.error)) {
    const { error } = reason
    // The library's own words quote only the call.
    return settle(
      stage === "run" ? withoutInternals(error, record.correction?.text ?? text) : error,
      stage,
      tool,
      record
    )
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

// The outcome and its failure agree about what is known of the call.
const failed = (failure: Failed["failure"], stage: Stage, record: Scope, unread?: Certainty): Failed => {
  const told = toldAtLast(failure, record, stage === "admit")
  return failedOutcome(record, told.failure, stage, unread ?? told.certainty)
}

/** Returns the outcome of a call that was interrupted. What it did so far is known as after any other failure. */
export const interruptedOutcome = ({ name }: Tool.Any, stage: Stage, record: Scope): Failed =>
  failed(DispatchFailure.interrupted(name), stage, record)

/** Returns the outcome that a running call would have if nothing more were known of it. */
export const openOutcome = ({ name }: Tool.Any, stage: Stage, record: Scope): Failed =>
  failedOutcome(record, fullyKnown(DispatchFailure.interrupted(name), record), stage)

// Handles a call whose handler threw, died, interrupted itself, or failed with something other than a `ToolFailure`.
const broken = (
  cause: Cause.Cause<unknown>,
  stage: Stage,
  tool: Tool.Any,
  record: Scope
): Effect.Effect<ToolOutcome> => {
  for (const defect of defectsOf(cause)) heedPromise(`The tool '${tool.name}'`, defect)
  const certainty = certaintyAt(stage, record)
  const outcome = certainty === "not_executed" ? undefined : certainty
  const failure = DispatchFailure.defect({ tool: tool.name, outcome, cause })
  return Effect.as(
    reportDefect(`The tool ${tool.name} failed with an internal error`, cause),
    failed(failure, stage, record, certainty)
  )
}

// A handler that has returned did its work, whatever it returned.
const certaintyAt = (stage: Stage, record: Scope): Certainty =>
  stage === "guard" ? certaintyOf(record.effects(true)) : record.certainty

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
  Effect.andThen(reportDefect(`The tool ${name} failed with ${unrecognizedText(error)}`, Cause.fail(error)), outcome)

const unrecognizedText = (error: unknown): string => {
  const name = attempt(() => error instanceof Error ? error.constructor.name : "") ?? ""
  if (name === "" || name === "Error") return "an error of an unknown kind"
  const { withheldFor } = describe(error)
  return withheldFor === undefined
    ? `an error of the class ${name}, which is not recognized and not listed in 'tell'`
    : `an error of the class ${name}, which is not recognized. Its message is withheld, because it has a field '${withheldFor}'`
}

const mismatched = (failure: SchemaMismatch, stage: Stage, record: Scope): Failed => {
  if (stage === "guard") return failed(failure, stage, record, certaintyAt(stage, record))
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
  Effect.suspend(() => guard(tool, failure.data, Effect.succeed)).pipe(
    Effect.match({
      onSuccess: ({ json, notes }) => {
        const { detail, next, ...rest } = failure
        const nextField = next === undefined || isTooDeep(next) || !isJsonObject(next) ? {} : { next }
        const noted = [detail, ...notes.map((note) => `${note}.`)].join(" ")
        const partial = new PartialData({ ...rest, ...nextField, detail: noted, data: json, cause: failure.cause })
        return failed(partial, stage, record)
      },
      onFailure: (invalid) => mismatched(invalid, "guard", record)
    }),
    Effect.catchCause((cause) => broken(cause, "guard", tool, record))
  )

const isJsonObject = Schema.is(Schema.JsonObject)
