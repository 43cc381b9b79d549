import * as Effect from "effect/Effect"
import * as Availability from "../../Availability.ts"
import type * as Tool from "../../Tool.ts"
import type * as Toolkit from "../../Toolkit.ts"
import type { Completed, Failed, ToolOutcome } from "../../ToolOutcome.ts"
import { hasActed } from "../call/outcome.ts"
import { withFields } from "../failure/failureClass.ts"

// Adds advice to a failed call: how to call again, or which other tool to call. Only the toolkit knows the
// other tools.
export const adviseOnFailure = (
  outcome: ToolOutcome,
  tool: Tool.Any,
  toolkit: Toolkit.Toolkit
): Effect.Effect<ToolOutcome> => {
  if (outcome._tag !== "Failed") return Effect.succeed(outcome)
  const { certainty, failure } = outcome
  // An effect must not be repeated with another tool.
  if (hasActed(outcome) || needsNoOther.has(failure.code)) return Effect.succeed(outcome)
  const less = wasTooMuch(outcome) ? askingForLess(tool) : undefined
  const isUnknown = certainty === "unknown"
  const others = failure._tag !== "ToolUnavailable" && !isUnknown
    ? Effect.succeed([])
    : availableOf(!isUnknown ? tool.instead : tool.check === undefined ? [] : [tool.check], toolkit)
  return Effect.mapEager(others, (names) => {
    const other = isUnknown ? `${names.join()} to find out` : `${names.join(" or ")} instead`
    const ways = [...(less === undefined ? [] : [less]), ...(names.length === 0 ? [] : [other])]
    if (ways.length === 0) return outcome
    const withAdvice = withHint(outcome, `Call ${ways.join(", or call ")}.`)
    return less === undefined || failure._tag !== "ToolUnavailable"
      ? withAdvice
      : { ...withAdvice, failure: withFields<Failed["failure"]>(withAdvice.failure, { scope: "arguments" }) }
  })
}

/**
 * A run without calls left cannot call another tool. A stuck run already has the result. What a person has denied must not be
 * done by another tool.
 */
const needsNoOther: ReadonlySet<string> = new Set(["call_limit", "loop_detected", "not_approved"])

// True if the answer was cut off or came too late, and the call certainly did nothing.
const wasTooMuch = ({ attempts, certainty, failure }: Failed): boolean =>
  certainty === "not_executed" && attempts > 0 &&
  (failure._tag === "ToolUnavailable" && failure.code === "timeout" ||
    failure._tag === "SchemaMismatch" && failure.code === "truncated")

// Returns advice to ask for less. Only for read-only tools: an acting tool would do something else with a
// smaller size.
export const askingForLess = ({ sideEffect, size }: Tool.Any): string | undefined =>
  size === undefined || sideEffect !== "none" ? undefined : `it again with a smaller '${size}'`

// Adds advice to an answer that leaves open whether the tool took effect.
export const adviseOnDoubtfulAnswer = (
  outcome: Completed,
  { check = "" }: Tool.Any,
  toolkit: Toolkit.Toolkit
): Effect.Effect<ToolOutcome> =>
  Effect.map(availableOf([check], toolkit), ([name]) => {
    const [doubt = "", ...others] = outcome.caveats
    return name === undefined ? outcome : { ...outcome, caveats: [`${doubt} Call ${name} to find out.`, ...others] }
  })

/** Keeps the names of tools that are in the toolkit and available now. */
export const availableOf = (
  names: ReadonlyArray<string>,
  toolkit: Toolkit.Toolkit
): Effect.Effect<ReadonlyArray<string>> => {
  const tools = names.flatMap((name) => toolkit.tools.get(name) ?? [])
  if (tools.length === 0) return Effect.succeed([])
  return Effect.map(
    Availability.lookup,
    (availabilityOf) => tools.filter((tool) => availabilityOf(tool)._tag === "Available").map(({ name }) => name)
  )
}

const withHint = (outcome: Failed, advice: string): Failed => {
  const { failure } = outcome
  // The failure of a repeated call may carry the hint of the earlier failure, which already has the advice.
  if (failure.hint?.includes(advice) === true) return outcome
  const hint = failure.hint === undefined ? advice : `${failure.hint} ${advice}`
  // `withFields` keeps the class and the cause.
  return { ...outcome, failure: withFields(failure, { hint }) }
}

/** Returns the note on a result that looks like the beginning of JSON. */
export const cutOffNote = (tool: Tool.Any): string => {
  const less = askingForLess(tool)
  const note = "This text looks like JSON that was cut off."
  return less === undefined ? note : `${note} If you need it whole, call ${less}.`
}
