import { type ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"

const codes = ["bulkhead_full", "throttled", "limiter_unavailable", "circuit_open", "breaker_unavailable"] as const

/**
 * Returns the refusal by which a policy of this library declines to run a call. Nothing was run, so a refusal
 * says nothing about the service.
 */
export const refusal = (
  fields: {
    readonly code: typeof codes[number]
    readonly detail: string
    readonly retryAfter?: ToolUnavailable["retryAfter"] & {}
    readonly cause?: unknown
  }
): ToolUnavailable => new ToolUnavailable({ ...fields, transient: true, outcome: "not_executed" })

export const isRefusal = ({ code }: { readonly code: string }): boolean => codes.some((refusal) => refusal === code)

/**
 * True if a call was refused because of an earlier call. The earlier call's effect is not an effect of this call.
 */
export const isRepeat = ({ code }: { readonly code: string }): boolean =>
  code === "repeated_call" || code === "already_done" || code === "in_doubt"

/** True if a permanent failure concerns the arguments alone: the tool works, and other arguments may succeed. */
export const isAboutArguments = ({ scope, transient }: Pick<ToolUnavailable, "scope" | "transient">): boolean =>
  !transient && scope === "arguments"

/** True if a failure says nothing against the tool. An unrecognized error (`"failed"`) may be the tool's mistake. */
export const isBlameless = (failure: Pick<ToolUnavailable, "code" | "scope" | "transient">): boolean =>
  isAboutArguments(failure) && failure.code !== "failed"

/** True if a failure says that the service is down. It was not up, only to refuse this call. */
export const isDown = (failure: ToolFailure): failure is ToolUnavailable =>
  failure._tag === "ToolUnavailable" && !isAboutArguments(failure) && failure.code !== "permission_denied"
