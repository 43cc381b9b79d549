import { isOutcomeUnknown, type SchemaMismatch, type ToolFailure, ToolUnavailable } from "../ToolFailure.ts"
import { withFields } from "./failure.ts"

/** The same failure, with what is known now of whether the call has acted. */
export const withOutcome = (failure: ToolUnavailable, outcome: "not_executed" | "unknown"): ToolUnavailable =>
  withFields(failure, { outcome })

/** Of what acts: a passing failure that says nothing of its outcome may have come after the act. */
export const isUncertain = ({ outcome, transient }: ToolUnavailable): boolean =>
  outcome === "unknown" || outcome === undefined && transient

/** An answer that nobody can read is lost: of what acts, nobody knows what it did. */
export const isUnreadable = (failure: ToolFailure): failure is SchemaMismatch =>
  failure._tag === "SchemaMismatch" && failure.side === "result"

/** Of what acts, nobody knows whether it did. */
export const isLost = (failure: ToolFailure): boolean => isOutcomeUnknown(failure) || isUnreadable(failure)

const refusals = ["bulkhead_full", "throttled", "limiter_unavailable", "circuit_open", "breaker_unavailable"] as const

/** One of our own policies lets the call wait, or another one, and runs nothing. It says nothing of the service. */
export const refusal = (
  fields: {
    readonly code: typeof refusals[number]
    readonly detail: string
    readonly retryAfter?: ToolUnavailable["retryAfter"] & {}
    readonly cause?: unknown
  }
): ToolUnavailable => new ToolUnavailable({ ...fields, transient: true, outcome: "not_executed" })

export const isRefusal = ({ code }: ToolUnavailable): boolean => refusals.some((refusal) => refusal === code)
