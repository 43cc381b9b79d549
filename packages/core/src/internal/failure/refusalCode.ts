import { ToolUnavailable } from "../../ToolFailure.ts"

const codes = ["bulkhead_full", "throttled", "limiter_unavailable", "circuit_open", "breaker_unavailable"] as const

/** One of our own policies lets the call wait, or another one, and runs nothing. It says nothing of the service. */
export const refusal = (
  fields: {
    readonly code: typeof codes[number]
    readonly detail: string
    readonly retryAfter?: ToolUnavailable["retryAfter"] & {}
    readonly cause?: unknown
  }
): ToolUnavailable => new ToolUnavailable({ ...fields, transient: true, outcome: "not_executed" })

export const isRefusal = ({ code }: { readonly code: string }): boolean => codes.some((refusal) => refusal === code)

/** Was a call refused because an equal one had been made before? What that did is not this call's. */
export const isRepeat = ({ code }: { readonly code: string }): boolean =>
  code === "repeated_call" || code === "already_done"

/** Is a permanent failure about the arguments alone? Then the tool works, and other arguments may succeed. */
export const isAboutArguments = ({ scope, transient }: Pick<ToolUnavailable, "scope" | "transient">): boolean =>
  !transient && scope === "arguments"

/** Does a failure say nothing against the tool? An error of an unknown kind may be its fault, whatever it is about. */
export const isBlameless = (failure: Pick<ToolUnavailable, "code" | "scope" | "transient">): boolean =>
  isAboutArguments(failure) && failure.code !== "failed"
