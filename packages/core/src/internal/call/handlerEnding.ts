/*
 * How the handler of a tool that acts ended, and what that says about its effect. The table is in `Certainty`.
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

/** What the end of an execution says about its effect. */
export interface Ending {
  readonly certainty: Certainty
  /** Whether the tool refused the request. Then it did nothing, and would refuse it again. */
  readonly isRefusal: boolean
}

const executed: Ending = { certainty: "executed", isRefusal: false }
const nothing: Ending = { certainty: "not_executed", isRefusal: false }
const refusal: Ending = { certainty: "not_executed", isRefusal: true }
/** The end leaves open whether the execution took effect. */
export const open: Ending = { certainty: "unknown", isRefusal: false }

/** How to read the failure of an execution. */
export interface Reading {
  /** True if the failure rejects the tool's own arguments. */
  readonly isRejection: (failure: ToolFailure) => boolean
  /** True if the failure speaks for everything that the handler did. */
  readonly isBelieved: (failure: ToolFailure) => boolean
}

/** True if a failure rejects arguments, of this tool or of another one. */
export const isRejection = (failure: ToolFailure): failure is SchemaMismatch =>
  failure._tag === "SchemaMismatch" && failure.side === "arguments"

/** True if a failure says that nothing was done, so that the tool may run again. */
export const saysNothingDone = (failure: ToolFailure): boolean => isNotExecuted(failure) || isRejection(failure)

/**
 * Returns a failure for the code that ran the failed tool. If the failure says that nothing was done, or if the
 * tool acted, the result is a copy that is marked as foreign. The original may be a shared constant.
 *
 * @param done the effect of the failed tool
 */
export const ofAnother = <E extends ToolFailure>(failure: E, done: Done): E =>
  saysNothingDone(failure) || done.hasActed
    ? asForeign(withFields(failure, {}), done)
    : failure

/**
 * Returns the effect of other tools whose failures are in the end of an execution. Counts only failures that were
 * marked after the first `since` ones. See `doneBelow`.
 */
export const doneByOthers = (exit: Exit.Exit<unknown, unknown>, since: number): Done =>
  Exit.isSuccess(exit)
    ? nothingDone
    : exit.cause.reasons.reduce<Done>(
      (done, reason) => reason._tag === "Fail" ? and(done, doneBelow(reason.error, since)) : done,
      nothingDone
    )

/**
 * True if the author of the handler made the failure. A failure that was read off an error speaks for one request
 * only. The failure of another tool speaks for that tool only.
 */
export const isOwnWord = (failure: ToolFailure): boolean => !isGuess(failure) && !isForeign(failure)

export const endingOf = (exit: Exit.Exit<unknown, unknown>, reading: Reading): Ending => {
  // The promise may still fail.
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
      // A handler asks its question before it does anything.
      return isSuspension(reason.defect) ? nothing : open
    case "Interrupt":
      return open
  }
}

const isSuspension = isA(SuspendSignal)

const endingOfFailure = (failure: ToolFailure, { isBelieved, isRejection }: Reading): Ending => {
  // It answers the redirected request, not the first one.
  if (isRedirected(failure)) return open
  switch (failure._tag) {
    case "PartialData":
      return executed
    case "SemanticGarbage":
      return refusal
    case "SchemaMismatch":
      if (failure.side === "result") return open
      // A rejection by a tool inside says nothing about what the handler did before, so it allows no other run.
      return isRejection(failure) ? nothing : refusal
    case "ToolUnavailable":
      if (failure.outcome === "not_executed") return isBelieved(failure) ? nothing : open
      // A call refused as a repeat did nothing: its outcome is about an equal call before it.
      if (failure.outcome === "executed") return isRepeat(failure) ? open : executed
      return failure.outcome === undefined && isPermanent(failure) ? refusal : open
  }
}

// Untyped code may leave `transient` undefined.
const isPermanent = ({ transient }: { readonly transient?: boolean }): boolean => transient === false

/**
 * Returns a failure whose outcome is the certainty of the call, whatever a policy made of it. Only a
 * `ToolUnavailable` has an outcome.
 *
 * @param isRefusal whether the tool refused the request; then the outcome need not say that nothing was done
 */
export const asKnown = <E extends ToolFailure>(failure: E, { certainty, isRefusal }: Ending): E => {
  if (failure._tag !== "ToolUnavailable" || failure.outcome === certainty) return failure
  if (certainty === "not_executed" && (isRefusal || failure.outcome !== undefined)) return failure
  // The type is unchanged, which the compiler cannot see for a type parameter.
  return withOutcome(failure, certainty) as E
}

/** True if a cause has a partial answer in it. */
export const hasPart = ({ reasons }: Cause.Cause<ToolFailure>): boolean =>
  reasons.some((reason) => reason._tag === "Fail" && reason.error._tag === "PartialData")

/** Returns the same failure with another outcome. */
export const withOutcome = (failure: ToolUnavailable, outcome: Certainty): ToolUnavailable =>
  withShown(failure, "outcome", outcome)

/** True if a value is a complete instance of one of the four failure classes. */
export const isWhole = (failure: unknown): failure is ToolFailure =>
  attempted(() => isToolFailure(failure) && typeof failure.detail === "string" && typeof failure.code === "string") ===
    true
