/*
 * What an execution did, by the way in which the handler ended. The table is in `Certainty`.
 */
import type * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import { isToolFailure, type SchemaMismatch, type ToolFailure } from "../../ToolFailure.ts"
import { withBelow } from "../anyError/readError.ts"
import { isConflict } from "../anyError/recognize.ts"
import { SuspendSignal } from "../failure/controlSignal.ts"
import { both, type Effects } from "../failure/effects.ts"
import { type Evidence, evidenceOf, isInferred } from "../failure/evidence.ts"
import { isRepeat } from "../failure/policyRefusal.ts"
import { attempted, isA, isPromise } from "../value/untrusted.ts"
import { endOf } from "./toolEnds.ts"

/** What an execution did, as its end shows. */
export interface Ending {
  readonly effects: Effects
  /** Whether the tool refused the request. If so, it did nothing, and would refuse the same request again. */
  readonly isRefusal: boolean
}

const done: Ending = { effects: "done", isRefusal: false }
const nothing: Ending = { effects: "none", isRefusal: false }
const refusal: Ending = { effects: "none", isRefusal: true }
const inDoubt: Ending = { effects: "maybe", isRefusal: false }

/** How to read the failure of an execution. */
export interface Reading {
  /**
   * Which failures are believed if they say that nothing was done: those that the handler's author wrote; also those of
   * other tools; all, because the tool refuses first; or none, because the handler may quote another tool.
   */
  readonly believes: "author" | "tools" | "all" | "none"
  /** True if a rejection of arguments may quote a tool that the handler ran. */
  readonly hasRejected: boolean
  /** True if a service may have refused the key because it knows the key already. */
  readonly isSentAgain: boolean
  /** How many tools had ended when the execution started (`endsSoFar`). */
  readonly since: number
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
  return reasons.slice(1).reduce(({ effects, isRefusal }, reason) => {
    const ending = endingOfReason(reason, reading)
    return { effects: both(effects, ending.effects), isRefusal: isRefusal || ending.isRefusal }
  }, { ...ending, effects: both(ending.effects, ofTools) })
}

const endingOfReason = (reason: Cause.Reason<unknown>, reading: Reading): Ending => {
  // A handler that asks the user a question does so before it acts.
  if (reason._tag !== "Fail") return reason._tag === "Die" && isSuspension(reason.defect) ? nothing : inDoubt
  const { error } = reason
  return isWhole(error) ? endingOfFailure(error, reading) : inDoubt
}

const isSuspension = isA(SuspendSignal)

const endingOfFailure = (failure: ToolFailure, reading: Reading): Ending => {
  const { outcome } = failure
  const evidence = evidenceOf(failure)
  if (evidence?.inferred?.redirected === true || reading.isSentAgain && isConflict(failure)) return inDoubt
  if (outcome !== undefined && (failure._tag === "ToolUnavailable" || !isInferred(failure, evidence))) {
    if (outcome === "not_executed") return isBelieved(failure, evidence, reading) ? nothing : inDoubt
    // A call that was refused as a repetition did nothing. Its outcome describes the earlier, identical call.
    return outcome === "executed" && !isRepeat(failure) ? done : inDoubt
  }
  switch (failure._tag) {
    case "PartialData":
      return done
    case "SemanticGarbage":
      return refusal
    case "SchemaMismatch":
      if (failure.side === "result") return inDoubt
      // A rejection by an inner tool says nothing about what the handler did before, so it counts as
      // a refusal: the handler may not run again.
      return isOwnRejection(failure, evidence, reading) ? nothing : refusal
    case "ToolUnavailable":
      return isPermanent(failure) ? refusal : inDoubt
  }
}

// Untyped code may leave `transient` undefined.
const isPermanent = ({ transient }: { readonly transient?: boolean }): boolean => transient === false

// What a failure says is believed if it is true of everything that the handler did.
const isBelieved = (failure: ToolFailure, evidence: Evidence | undefined, { believes }: Reading): boolean =>
  believes === "all" ||
  believes !== "none" && !isInferred(failure, evidence) && (believes === "tools" || evidence?.tool === undefined)

// Only a rejection that comes from the handler itself allows a further run with other arguments.
const isOwnRejection = (failure: ToolFailure, evidence: Evidence | undefined, reading: Reading): boolean =>
  reading.believes === "tools" ||
  isBelieved(failure, evidence, reading) && evidence?.tool === undefined && !reading.hasRejected

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
    for (const one of withBelow(reason.error)) {
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
  attempted(() => isToolFailure(failure) && typeof failure.detail === "string" && typeof failure.code === "string") ===
    true
