/*
 * Judges whether a tool that acts (has side effects) took effect, from the way in which its handler
 * ended. The table is in `Certainty`.
 */
import type * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import { type Certainty, join } from "../../Certainty.ts"
import {
  isNotExecuted,
  isToolFailure,
  type SchemaMismatch,
  type ToolFailure,
  type ToolUnavailable
} from "../../ToolFailure.ts"
import { asForeign, doneBelow, isForeign, isGuess, isRedirected } from "../anyError/provenance.ts"
import { SuspendSignal } from "../failure/controlSignal.ts"
import { and, type Done, nothing as nothingDone } from "../failure/effectsDone.ts"
import { withFields, withShown } from "../failure/failureClass.ts"
import { isRepeat } from "../failure/policyRefusal.ts"
import { attempted, isA, isPromise } from "../value/untrusted.ts"

/** The effect of an execution, judged by how the execution ended. */
export interface Ending {
  readonly certainty: Certainty
  /** Whether the tool refused the request. If so, it did nothing, and would refuse the same request again. */
  readonly isRefusal: boolean
}

const executed: Ending = { certainty: "executed", isRefusal: false }
const nothing: Ending = { certainty: "not_executed", isRefusal: false }
const refusal: Ending = { certainty: "not_executed", isRefusal: true }
/** The ending of an execution that may or may not have taken effect. */
export const open: Ending = { certainty: "unknown", isRefusal: false }

/** How to read the failure of an execution. */
export interface Reading {
  /** True if the failure rejects the tool's own arguments. */
  readonly isRejection: (failure: ToolFailure) => boolean
  /** True if what the failure says is true of everything that the handler did. */
  readonly isBelieved: (failure: ToolFailure) => boolean
}

/** True if a failure rejects arguments, whether this tool's or another tool's. */
export const isRejection = (failure: ToolFailure): failure is SchemaMismatch =>
  failure._tag === "SchemaMismatch" && failure.side === "arguments"

/** True if a failure says that nothing was done, so that the tool may run again. */
export const saysNothingDone = (failure: ToolFailure): boolean => isNotExecuted(failure) || isRejection(failure)

/**
 * Converts a failure for the code that ran the failed tool. If the failure says that nothing was
 * done, or if the tool acted, returns a copy that is marked as foreign (as another tool's failure).
 * Only a copy is marked, because the original may be a shared constant.
 *
 * @param done the effects of the failed tool
 */
export const ofAnother = <E extends ToolFailure>(failure: E, done: Done): E =>
  saysNothingDone(failure) || done.hasActed
    ? asForeign(withFields(failure, {}), done)
    : failure

/**
 * Returns the combined effects of those inner tools whose failures are in the exit of an execution.
 *
 * @param since how many failures had been marked when the execution started; these are ignored (see `doneBelow`)
 */
export const doneByOthers = (exit: Exit.Exit<unknown, unknown>, since: number): Done =>
  Exit.isSuccess(exit)
    ? nothingDone
    : exit.cause.reasons.reduce<Done>(
      (done, reason) => reason._tag === "Fail" ? and(done, doneBelow(reason.error, since)) : done,
      nothingDone
    )

/**
 * True if the handler's own code made the failure. A failure that was inferred from an error
 * describes one request only. A failure of another tool describes only that tool.
 */
export const isOwnWord = (failure: ToolFailure): boolean => !isGuess(failure) && !isForeign(failure)

export const endingOf = (exit: Exit.Exit<unknown, unknown>, reading: Reading): Ending => {
  // A handler that returned a promise has not really ended: the promise may still fail.
  if (Exit.isSuccess(exit)) return isPromise(exit.value) ? open : executed
  const [first = open, ...others] = exit.cause.reasons.map((reason) => endingOfReason(reason, reading))
  return others.reduce((one, other) => ({
    certainty: join(one.certainty, other.certainty),
    isRefusal: one.isRefusal || other.isRefusal
  }), first)
}

const endingOfReason = (reason: Cause.Reason<unknown>, reading: Reading): Ending => {
  switch (reason._tag) {
    case "Fail":
      return isWhole(reason.error) ? endingOfFailure(reason.error, reading) : open
    case "Die":
      // A handler that asks the user a question does so before it acts.
      return isSuspension(reason.defect) ? nothing : open
    case "Interrupt":
      return open
  }
}

const isSuspension = isA(SuspendSignal)

const endingOfFailure = (failure: ToolFailure, { isBelieved, isRejection }: Reading): Ending => {
  // The failure is about the redirected request, not about the original one.
  if (isRedirected(failure)) return open
  switch (failure._tag) {
    case "PartialData":
      return executed
    case "SemanticGarbage":
      return refusal
    case "SchemaMismatch":
      if (failure.side === "result") return open
      // A rejection by an inner tool says nothing about what the handler did before, so it counts as
      // a refusal: the handler may not run again.
      return isRejection(failure) ? nothing : refusal
    case "ToolUnavailable":
      if (failure.outcome === "not_executed") return isBelieved(failure) ? nothing : open
      // A call that was refused as a repetition did nothing. Its outcome describes the earlier, identical call.
      if (failure.outcome === "executed") return isRepeat(failure) ? open : executed
      return failure.outcome === undefined && isPermanent(failure) ? refusal : open
  }
}

// Untyped code may leave `transient` undefined.
const isPermanent = ({ transient }: { readonly transient?: boolean }): boolean => transient === false

/**
 * Returns the failure with its `outcome` set to the certainty of the call, even if a policy has
 * changed that outcome. Only a `ToolUnavailable` has an outcome; other failures are returned
 * unchanged. If the call certainly did nothing, an outcome that the failure already has is kept.
 *
 * @param isRefusal whether the tool refused the request; if so, an `outcome` of `"not_executed"` is not added
 */
export const asKnown = <E extends ToolFailure>(failure: E, { certainty, isRefusal }: Ending): E => {
  if (failure._tag !== "ToolUnavailable" || failure.outcome === certainty) return failure
  if (certainty === "not_executed" && (isRefusal || failure.outcome !== undefined)) return failure
  // The type is unchanged, which the compiler cannot see for a type parameter.
  return withOutcome(failure, certainty) as E
}

/** True if a cause contains a partial answer (a `PartialData` failure). */
export const hasPart = ({ reasons }: Cause.Cause<ToolFailure>): boolean =>
  reasons.some((reason) => reason._tag === "Fail" && reason.error._tag === "PartialData")

/** Returns a copy of the failure with a different outcome. */
export const withOutcome = (failure: ToolUnavailable, outcome: Certainty): ToolUnavailable =>
  withShown(failure, "outcome", outcome)

/** True if a value is a complete instance of one of the four failure classes. */
export const isWhole = (failure: unknown): failure is ToolFailure =>
  attempted(() => isToolFailure(failure) && typeof failure.detail === "string" && typeof failure.code === "string") ===
    true
