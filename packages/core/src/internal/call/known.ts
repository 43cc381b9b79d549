/*
 * What a failure says once the library knows what the tool did: whether the call took effect, even if a policy has changed
 * that, and which tool ended with the failure.
 */
import { statusIn } from "@fallible/errors"
import { type Certainty, join } from "../../Certainty.ts"
import type { ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import type { Failed } from "../../ToolOutcome.ts"
import { certaintyOf, type Effects } from "../failure/effects.ts"
import { evidenceOf, isDerived, isInferred, type Telling } from "../failure/evidence.ts"
import { withFields } from "../failure/failureClass.ts"
import { isRepeat } from "../failure/policyRefusal.ts"
import { attempt } from "../value/untrusted.ts"
import { isInside } from "../wire/places.ts"
import { saysNothingDone } from "./ending.ts"
import type { Scope } from "./scope.ts"
import { noteToolEnd } from "./toolEnds.ts"

/**
 * Returns the failure with the `outcome` that is known to be true. A failure other than a `ToolUnavailable` only has an
 * outcome if its author wrote one. If the tool certainly did nothing, an outcome that the failure already has is kept.
 *
 * @param isRefusal whether the tool refused the request; if so, an `outcome` of `"not_executed"` is not added
 */
export const asKnown = <E extends ToolFailure>(failure: E, certainty: Certainty, isRefusal: boolean): E => {
  const { _tag, outcome } = failure
  // A service that has not served a request has refused nothing, although the error may read so.
  const isUnserved = certainty === "not_executed" && !isRefusal && outcome === undefined && isDerived(failure)
  if (outcome === certainty || outcome === undefined && _tag !== "ToolUnavailable" && !isUnserved) return failure
  // What an error suggests does not hold against what is known.
  if (certainty === "not_executed" && outcome === "unknown" && isInferred(failure)) {
    const evidence = evidenceOf(failure)
    return telling(failure, {
      outcome: certainty,
      ...(isRefusal ? { evidence: { ...evidence, refused: true } } : {})
    })
  }
  return certainty === "not_executed" && (isRefusal || outcome !== undefined)
    ? failure
    : telling(failure, { outcome: certainty })
}

/**
 * Converts a failure for the code that ran the tool. If the failure says that nothing was done, or if the tool acted, it
 * also says which tool that is: nothing of that is true of the handler that may fail with it.
 */
export const failureLeaving = <E extends ToolFailure>(failure: E, scope: Scope): E => {
  const effects = scope.effects(false)
  return ofTool(knownIn(failure, scope, effects), scope, effects)
}

/** Returns the failure of a call with the `outcome` that is known of that call. */
const knownIn = <E extends ToolFailure>(failure: E, scope: Scope, effects: Effects): E =>
  asKnown(failure, certaintyOf(effects), effects === "none" && (!scope.acts || scope.record.state.done.isRefused))

/**
 * Returns the failure with the name of the call that ended with it, and what that call did. A failure is left as it is if
 * that call did nothing, or if the failure says itself that the call is in doubt.
 */
const ofTool = <E extends ToolFailure>(failure: E, { around, id }: Scope, effects: Effects): E => {
  // The refusal of a tool that a handler runs would otherwise read as that handler's own.
  const isInner = around !== undefined || isInside()
  const isSaid = effects === "none" || effects === "maybe" && saysDoubt(failure)
  if (isSaid && !saysNothingDone(failure) && !(isInner && failure._tag === "SemanticGarbage")) return failure
  noteToolEnd(id)
  return telling(failure, { evidence: { ...evidenceOf(failure), tool: { id, effects } } })
}

const saysDoubt = (failure: ToolFailure): boolean =>
  failure.outcome === "unknown" || failure._tag === "SchemaMismatch" && failure.side === "result"

// The type is unchanged, which the compiler cannot see for a type parameter.
const telling = <E extends ToolFailure>(failure: E, fields: Telling): E => withFields<ToolFailure>(failure, fields) as E

type Failure = Failed["failure"]

/**
 * Returns a failure with all that is known of its call. A read-only tool did nothing, whatever its handler says. If the
 * outcome of a non-idempotent tool is unknown, the failure becomes permanent, because the tool must not run again.
 *
 * @param isRefused true if the call was refused before it ran: then the failure may be about an earlier call, in which a
 * read-only tool ran another tool that acts
 */
export const fullyKnown = <F extends Failure>(
  failure: F,
  scope: Scope,
  effects = scope.effects(false),
  isRefused = false
): F | ToolUnavailable => {
  const { tool: { sideEffect } } = scope
  const known = knownIn(failure, scope, effects)
  if (known.outcome !== "unknown") return known
  if (effects === "none" && sideEffect === "none" && !isRefused) return telling(known, { outcome: "not_executed" })
  // A refusal that is not proved keeps its words: they say why the tool may have refused.
  return known._tag !== "ToolUnavailable" || sideEffect !== "non_idempotent" || known.code === "defect" ||
      isRepeat(known) || scope.doubt(effects) === "soft"
    ? known
    : withFields<ToolUnavailable>(known, { code: "outcome_unknown", transient: false })
}

// -----------------------------------------------------------------------------
// The end of a dispatched call
// -----------------------------------------------------------------------------

/**
 * Returns the failure of a dispatched call as the model is told it, and the certainty that goes with it. The failure also
 * says which call it has left: if the code around the call fails with it, too, it says nothing about that code.
 *
 * @param isRefused true if the call was refused before it ran
 */
export const toldAtLast = (
  failure: Failure,
  scope: Scope,
  isRefused: boolean
): { readonly failure: Failure; readonly certainty: Certainty } => {
  const effects = scope.effects(false)
  const told = certaintyOf(effects)
  const known = fullyKnown(failure, scope, effects, isRefused)
  const { outcome } = known
  // An earlier call with the same intent took effect, not this one. With `unknown`, the effect is not counted twice.
  const isOfEarlier = isRefused && outcome === "executed" && effects === "none"
  return {
    failure: ofTool(withStatus(known, scope), scope, effects),
    certainty: isOfEarlier ? "unknown" : outcome === undefined || outcome === told ? told : join(told, outcome)
  }
}

// A status may mean that the service knows the key already. Facts need it, also those of a replayed run, where the cause
// is lost.
const withStatus = (failure: Failure, { tool: { sideEffect } }: Scope): Failure => {
  if (sideEffect !== "idempotent_by_key" || failure.cause === undefined) return failure
  const status = attempt(() => statusIn(failure))
  return status === undefined ? failure : telling(failure, { evidence: { ...evidenceOf(failure), status } })
}
