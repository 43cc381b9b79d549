/*
 * How the handler of a tool that acts ended, and what that says of its effect. `Certainty` has the table.
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
import { asForeign, doneBelow, isForeign, isGuess, isRedirected } from "../error/guess.ts"
import { and, type Done, nothing as nothingDone } from "../failure/done.ts"
import { withFields, withShown } from "../failure/failureClass.ts"
import { isRepeat } from "../failure/refusalCode.ts"
import { SuspendSignal } from "../failure/signal.ts"
import { attempted, isA, isPromise } from "../value/untrusted.ts"

/** What the end of an execution says of its effect. */
export interface Ending {
  readonly certainty: Certainty
  /** Did the tool refuse what it was asked? Then it has done nothing, and would refuse it again. */
  readonly isRefusal: boolean
}

const executed: Ending = { certainty: "executed", isRefusal: false }
const nothing: Ending = { certainty: "not_executed", isRefusal: false }
const refusal: Ending = { certainty: "not_executed", isRefusal: true }
/** It leaves open whether anything was done. */
export const open: Ending = { certainty: "unknown", isRefusal: false }

/** How a failure is read. */
export interface Reading {
  /** Does it reject the tool's own arguments? */
  readonly isRejection: (failure: ToolFailure) => boolean
  /** Does it speak of all that the handler did? */
  readonly isBelieved: (failure: ToolFailure) => boolean
}

/** Does it reject arguments, whosever they are? */
export const isRejection = (failure: ToolFailure): failure is SchemaMismatch =>
  failure._tag === "SchemaMismatch" && failure.side === "arguments"

/** Does it say that nothing was done, so that the tool may be run again? */
export const saysNothingDone = (failure: ToolFailure): boolean => isNotExecuted(failure) || isRejection(failure)

/**
 * A failure that leaves the tool that has ended with it, for whoever ran that tool. A copy: it may be a constant that many share.
 *
 * @param done what the tool did
 */
export const ofAnother = <E extends ToolFailure>(failure: E, done: Done): E =>
  saysNothingDone(failure) || done.hasActed
    ? asForeign(withFields(failure, {}), done)
    : failure

/** What other tools did that have ended so, as far as nobody else knows of it. See `doneBelow`. */
export const doneByOthers = (exit: Exit.Exit<unknown, unknown>, since: number): Done =>
  Exit.isSuccess(exit)
    ? nothingDone
    : exit.cause.reasons.reduce<Done>(
      (done, reason) => reason._tag === "Fail" ? and(done, doneBelow(reason.error, since)) : done,
      nothingDone
    )

/** Was it made by the author of what failed? One that was read off an error speaks of one request, and one of another tool of that tool. */
export const isOwnWord = (failure: ToolFailure): boolean => !isGuess(failure) && !isForeign(failure)

export const endingOf = (exit: Exit.Exit<unknown, unknown>, reading: Reading): Ending => {
  // What is still to come may fail.
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
      // A question is asked before anything is done.
      return isSuspension(reason.defect) ? nothing : open
    case "Interrupt":
      return open
  }
}

const isSuspension = isA(SuspendSignal)

const endingOfFailure = (failure: ToolFailure, { isBelieved, isRejection }: Reading): Ending => {
  // It answers another request than the first.
  if (isRedirected(failure)) return open
  switch (failure._tag) {
    case "PartialData":
      return executed
    case "SemanticGarbage":
      return refusal
    case "SchemaMismatch":
      if (failure.side === "result") return open
      // What a tool inside rejects, says nothing of what the handler did before.
      return isRejection(failure) ? nothing : refusal
    case "ToolUnavailable":
      if (failure.outcome === "not_executed") return isBelieved(failure) ? nothing : open
      // What was refused as a repeat has done nothing: an equal call before it has.
      if (failure.outcome === "executed") return isRepeat(failure) ? open : executed
      return failure.outcome === undefined && isPermanent(failure) ? refusal : open
  }
}

// Without types, one may say nothing of it.
const isPermanent = ({ transient }: { readonly transient?: boolean }): boolean => transient === false

/**
 * A failure, with what the call knows of its effect, whatever a policy made of it. Only a `ToolUnavailable` can say so.
 *
 * @param isRefusal a refusal says nothing of its outcome, and needs not
 */
export const asKnown = <E extends ToolFailure>(failure: E, { certainty, isRefusal }: Ending): E => {
  if (failure._tag !== "ToolUnavailable" || failure.outcome === certainty) return failure
  if (certainty === "not_executed" && (isRefusal || failure.outcome !== undefined)) return failure
  // What it is made of stays what it was, which the compiler does not see of a type parameter.
  return withOutcome(failure, certainty) as E
}

/** Is there a part of an answer in it? */
export const hasPart = ({ reasons }: Cause.Cause<ToolFailure>): boolean =>
  reasons.some((reason) => reason._tag === "Fail" && reason.error._tag === "PartialData")

/** The same failure, with the outcome that the call knows. */
export const withOutcome = (failure: ToolUnavailable, outcome: Certainty): ToolUnavailable =>
  withShown(failure, "outcome", outcome)

/** Is it one of the four, as its class makes it? */
export const isWhole = (failure: unknown): failure is ToolFailure =>
  attempted(() => isToolFailure(failure) && typeof failure.detail === "string" && typeof failure.code === "string") ===
    true
