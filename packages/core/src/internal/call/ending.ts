/*
 * What an execution did, by the way in which the handler ended. The table is in `Certainty`.
 */
import { errorsIn } from "@fallible/errors"
import type * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import { isToolFailure, type SchemaMismatch, type ToolFailure } from "../../ToolFailure.ts"
import { isConflict } from "../failure/conflict.ts"
import { SuspendSignal } from "../failure/controlSignal.ts"
import { both, type Effects, isInDoubt } from "../failure/effects.ts"
import { type Evidence, evidenceOf, isInferred } from "../failure/evidence.ts"
import { isRepeat } from "../failure/policyRefusal.ts"
import { attempt, isA, isPromise } from "../value/untrusted.ts"
import type { Verdict } from "../wire/wireRecord.ts"
import { endOf } from "./toolEnds.ts"

/** What an execution did, as its end shows. */
export interface Ending {
  readonly effects: Effects
  /** Whether the tool refused the request. If so, it did nothing, and would refuse the same request again. */
  readonly isRefusal: boolean
  /** Whether it is in doubt only because a refusal is not proved: nothing was seen that acts. */
  readonly isSoft: boolean
}

const done: Ending = { effects: "done", isRefusal: false, isSoft: false }
const nothing: Ending = { effects: "none", isRefusal: false, isSoft: false }
const refusal: Ending = { effects: "none", isRefusal: true, isSoft: false }
const inDoubt: Ending = { effects: "maybe", isRefusal: false, isSoft: false }
const unproved: Ending = { effects: "maybe", isRefusal: false, isSoft: true }

/** How to read the failure of an execution. */
export interface Reading {
  /**
   * Which failures are believed if they say that nothing was done: those that the handler's author wrote; also those of
   * other tools; or none, because the handler may quote another tool.
   */
  readonly believes: "author" | "tools" | "none"
  /** True if the tool refuses before it acts. Then a real refusal proves that nothing was done. */
  readonly refusesFirst: boolean
  /** What the requests of the handler prove. */
  readonly wire: Verdict
  /** True if nothing but requests acts, and all would have been seen. */
  readonly isSilenceProof: boolean
  /** True if a rejection of arguments may quote a tool that the handler ran. */
  readonly hasRejected: boolean
  /** True if a service may have refused the key because it knows the key already. */
  readonly isSentAgain: boolean
  /** How many tools had ended when the execution started (`endsSoFar`). */
  readonly since: number
}

/** How to read the end of code whose requests nobody watches: that of a fallback. */
export const readingOfFallback: Omit<Reading, "since"> = {
  believes: "tools",
  refusesFirst: false,
  wire: "silent",
  isSilenceProof: false,
  hasRejected: false,
  isSentAgain: false
}

/**
 * Reads how an execution ended: all that its end shows, and what the tools did whose failures are in it.
 *
 * @param sole the failure of the exit, if it has nothing else
 */
export const endingOf = (exit: Exit.Exit<unknown, unknown>, reading: Reading, sole?: ToolFailure): Ending => {
  if (sole !== undefined && isPlain(sole)) return endingOfFailure(sole, reading)
  // A handler that returned a promise has not really ended: the promise may still fail.
  if (Exit.isSuccess(exit)) return isPromise(exit.value) ? inDoubt : done
  const { reasons } = exit.cause
  const ofTools = effectsOfTools(exit, reading.since)
  const [first] = reasons
  if (first === undefined) return inDoubt
  const ending = endingOfReason(first, reading)
  if (reasons.length === 1 && ofTools === "none") return ending
  return reasons.slice(1).reduce((one, reason) => {
    const other = endingOfReason(reason, reading)
    return {
      effects: both(one.effects, other.effects),
      isRefusal: one.isRefusal || other.isRefusal,
      isSoft: isSoftOrSure(one) && isSoftOrSure(other)
    }
  }, { ...ending, effects: both(ending.effects, ofTools), isSoft: ending.isSoft && ofTools === "none" })
}

const isSoftOrSure = ({ effects, isSoft }: Ending): boolean => isSoft || !isInDoubt(effects)

const endingOfReason = (reason: Cause.Reason<unknown>, reading: Reading): Ending => {
  // A handler that asks the user a question does so before it acts, unless a request says otherwise.
  if (reason._tag !== "Fail") {
    return reason._tag === "Die" && isSuspension(reason.defect) && reading.wire !== "acted" ? nothing : inDoubt
  }
  const { error } = reason
  return isWhole(error) ? endingOfFailure(error, reading) : inDoubt
}

const isSuspension = isA(SuspendSignal)

// The table of `Certainty`, in its order.
const endingOfFailure = (failure: ToolFailure, reading: Reading): Ending => {
  const { outcome } = failure
  const evidence = evidenceOf(failure)
  const isWord = outcome !== undefined && !isInferred(failure, evidence)
  if (isWord) {
    // A call that was refused as a repetition did nothing. Its outcome describes the earlier, identical call.
    if (outcome !== "not_executed") return outcome === "executed" && !isRepeat(failure) ? done : inDoubt
    if (isBelieved(evidence, reading)) return evidence?.refused === true ? refusal : nothing
  }
  if (failure._tag === "PartialData") return done
  const { isSentAgain, isSilenceProof, refusesFirst, wire } = reading
  // A conflict may be about an earlier request with the same key.
  if (wire === "acted" || isSentAgain && isConflict(failure)) return inDoubt
  const isByHand = evidence?.inferred === undefined && (reading.believes === "tools" || evidence?.tool === undefined)
  const isRejecting = isRejection(failure)
  if (isByHand && !isWord && (isRejecting || failure._tag === "SemanticGarbage")) {
    // A rejection that may quote an inner tool's says nothing about what the handler did before, so it counts as a
    // refusal: the handler may not run again.
    return isRejecting && isOwnRejection(evidence, reading) ? nothing : refusal
  }
  const isRefusing = readsAsRefusal(failure, evidence)
  if (refusesFirst && isReal(failure, evidence)) return isRefusing ? refusal : nothing
  if (wire === "refused") return refusal
  if (wire === "unserved") return nothing
  if (isSilenceProof) return isRefusing ? refusal : nothing
  return isRefusing && wire === "silent" ? unproved : inDoubt
}

/** True if a failure reads as a refusal: it is not transient, and does not say that anything may have been done. */
const readsAsRefusal = (failure: ToolFailure, evidence: Evidence | undefined): boolean => {
  if (evidence?.inferred?.redirected === true || failure.outcome === "unknown") return false
  return failure._tag === "ToolUnavailable" ? isPermanent(failure) : !isOfResult(failure)
}

// Untyped code may leave `transient` undefined.
const isPermanent = ({ transient }: { readonly transient?: boolean }): boolean => transient === false

// What a service or an author has refused, and not only a sentence.
const isReal = (failure: ToolFailure, evidence: Evidence | undefined): boolean =>
  evidence?.inferred?.redirected !== true && evidence?.inferred?.worded !== true &&
  (failure.outcome === "not_executed" || readsAsRefusal(failure, evidence))

const isOfResult = (failure: ToolFailure): boolean => failure._tag === "SchemaMismatch" && failure.side === "result"

// What a failure says is believed if it is true of everything that the handler did.
const isBelieved = (evidence: Evidence | undefined, { believes, refusesFirst }: Reading): boolean =>
  refusesFirst || believes === "tools" || believes === "author" && evidence?.tool === undefined

// Only a rejection that comes from the handler itself allows a further run with other arguments.
const isOwnRejection = (evidence: Evidence | undefined, reading: Reading): boolean =>
  reading.believes === "tools" || isBelieved(evidence, reading) && !reading.hasRejected

/**
 * Returns what those tools did that ended with an error of the exit, or with an error inside it.
 *
 * @param since how many tools had ended when the code began that ended so. A program may keep an error of an earlier call,
 * and throw it again: that says nothing about this call
 */
export const effectsOfTools = (exit: Exit.Failure<unknown, unknown>, since: number): Effects => {
  let effects: Effects = "none"
  for (const reason of exit.cause.reasons) {
    if (reason._tag !== "Fail") continue
    for (const one of errorsIn(reason.error)) {
      const tool = evidenceOf(one)?.tool
      if (tool !== undefined) effects = both(effects, effectsSince(tool, since))
    }
  }
  return effects
}

// A tool whose end is not known here may have ended in another process, in this call or before it.
const effectsSince = ({ effects, id }: { readonly id: string; readonly effects: Effects }, since: number): Effects => {
  const end = endOf(id)
  if (end === undefined) return effects === "none" ? effects : "maybe"
  return end > since ? effects : "none"
}

// Most failures have nothing inside.
const isPlain = (failure: ToolFailure): boolean => !insides.some((key) => key in failure)

const insides = ["evidence", "cause", "error", "failure", "errors", "reasons"]

/** True if a failure rejects arguments, whether this tool's or another tool's. */
export const isRejection = (failure: ToolFailure): failure is SchemaMismatch =>
  failure._tag === "SchemaMismatch" && failure.side === "arguments"

/** True if a failure says that nothing was done, so that the tool may run again. */
export const saysNothingDone = (failure: ToolFailure): boolean =>
  failure.outcome === "not_executed" || isRejection(failure)

/** True if a cause contains a partial answer (a `PartialData` failure). */
export const hasPart = ({ reasons }: Cause.Cause<ToolFailure>): boolean =>
  reasons.some((reason) => reason._tag === "Fail" && reason.error._tag === "PartialData")

/** True if a value is a complete instance of one of the four failure classes. */
export const isWhole = (failure: unknown): failure is ToolFailure =>
  attempt(() => isToolFailure(failure) && typeof failure.detail === "string" && typeof failure.code === "string") ===
    true
