import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Tool from "../../Tool.ts"
import type { LastError, ToolHealth } from "../../ToolHealth.ts"
import type { Completed, Failed, ToolOutcome } from "../../ToolOutcome.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import type { Scope } from "../call/scope.ts"
import { isBlameless, isRefusal } from "../failure/policyRefusal.ts"
import { reportDefect } from "../fiber/reportDefect.ts"

export const disabledRefusal = ({ name }: Tool.Any, health: ToolHealth["Service"] | undefined) => {
  const status = health?.statusUnsafe(name)
  return status?._tag === "Disabled" ? DispatchFailure.disabled(name, status.reason) : undefined
}

// Counts a call in the tool's health. Only a call that reached the tool says anything about the tool.
export const countInHealth = (
  outcome: ToolOutcome,
  { name }: Tool.Any,
  { state }: Scope,
  health: ToolHealth["Service"],
  fiber: Fiber.Fiber<unknown, unknown>
): Effect.Effect<void> => {
  if (state.executions === 0 || (outcome._tag !== "Completed" && outcome._tag !== "Failed")) return Effect.void
  return Effect.catchCause(
    Effect.sync(() => {
      const fault = faultOf(outcome, state)
      if (fault === undefined) return health.called(name)
      const { code, detail, tag } = fault
      health.called(name, { tag, code, detail, at: fiber.getRef(Clock.Clock).currentTimeMillisUnsafe() })
    }),
    (cause) => reportDefect("ToolHealth could not record a call", cause)
  )
}

// Returns the error for which the tool is to blame, if any. A request for something that does not exist is not the
// tool's mistake. The refusal of a policy says nothing about the tool. In that case, the fault of an earlier attempt
// counts.
const faultOf = (outcome: Completed | Failed, { fault, fellBack }: Scope["state"]): Fault | undefined => {
  if (fellBack) return fault
  if (outcome._tag === "Completed" || outcome.stage === "admit") return undefined
  const { failure } = outcome
  const { _tag: tag, code, detail } = failure
  switch (tag) {
    case "PartialData":
    case "SemanticGarbage":
      return undefined
    case "SchemaMismatch":
      return failure.side === "result" ? { tag, code, detail } : undefined
    case "ToolUnavailable":
      if (isRefusal(failure)) return fault
      return isBlameless(failure) ? undefined : { tag, code, detail }
  }
}

type Fault = Pick<LastError, "tag" | "code" | "detail">
