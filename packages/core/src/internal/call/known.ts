/*
 * What a failure says once the library knows what the tool did: whether the call took effect, even if a policy has changed
 * that, and which tool ended with the failure.
 */
import type { Certainty } from "../../Certainty.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import { certaintyOf, type Effects } from "../failure/effects.ts"
import { evidenceOf, type Telling } from "../failure/evidence.ts"
import { withFields } from "../failure/failureClass.ts"
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
  if (outcome === certainty || outcome === undefined && _tag !== "ToolUnavailable") return failure
  return certainty === "not_executed" && (isRefusal || outcome !== undefined)
    ? failure
    : telling(failure, { outcome: certainty })
}

/**
 * Converts a failure for the code that ran the tool. If the failure says that nothing was done, or if the tool acted, it
 * also says which tool that is: nothing of that is true of the handler that may fail with it.
 */
export const leaving = <E extends ToolFailure>(failure: E, scope: Scope): E => {
  const effects = scope.effects(false)
  return ofTool(knownIn(failure, scope, effects), scope.id, effects)
}

/** Returns the failure of a call with the `outcome` that is known of that call. */
export const knownIn = <E extends ToolFailure>(failure: E, scope: Scope, effects: Effects): E =>
  asKnown(failure, certaintyOf(effects), effects === "none" && (!scope.acts || scope.record.state.isRefused))

/**
 * Returns the failure with the name of the call that ended with it, and what that call did. A failure is left as it is if
 * that call did nothing, or if the failure says itself that the call is in doubt.
 */
export const ofTool = <E extends ToolFailure>(failure: E, id: string, effects: Effects): E => {
  const isSaid = effects === "none" || effects === "maybe" && saysDoubt(failure)
  if (isSaid && !saysNothingDone(failure)) return failure
  noteToolEnd(id)
  return telling(failure, { evidence: { ...evidenceOf(failure), tool: { id, effects } } })
}

const saysDoubt = (failure: ToolFailure): boolean =>
  failure.outcome === "unknown" || failure._tag === "SchemaMismatch" && failure.side === "result"

/** Returns a copy of the failure that says something else about what was done. */
export const telling = <E extends ToolFailure>(failure: E, fields: Telling): E =>
  // The type is unchanged, which the compiler cannot see for a type parameter.
  withFields<ToolFailure>(failure, fields) as E
