import * as Effect from "effect/Effect"
import * as Availability from "../../Availability.ts"
import type * as Tool from "../../Tool.ts"
import type * as Toolkit from "../../Toolkit.ts"
import type { Completed, Failed, ToolOutcome } from "../../ToolOutcome.ts"
import { hasActed } from "../call/outcome.ts"
import { withFields } from "../failure/failureClass.ts"

// A failure's own tool does not know what else the toolkit has.
export const advised = (outcome: ToolOutcome, tool: Tool.Any, toolkit: Toolkit.Toolkit): Effect.Effect<ToolOutcome> => {
  if (outcome._tag !== "Failed") return Effect.succeed(outcome)
  const { certainty, failure } = outcome
  // What is done is not done elsewhere again, and a run that may call no more calls no other tool.
  if (hasActed(outcome) || failure.code === "call_limit") return Effect.succeed(outcome)
  const less = wasTooMuch(outcome) ? askingForLess(tool) : undefined
  const isUnknown = certainty === "unknown"
  const others = failure._tag !== "ToolUnavailable" && !isUnknown
    ? Effect.succeed([])
    : callable(isUnknown ? [tool.check ?? ""] : tool.instead, toolkit)
  return Effect.map(others, (names) => {
    const other = isUnknown ? `${names.join()} to find out` : `${names.join(" or ")} instead`
    const ways = [...(less === undefined ? [] : [less]), ...(names.length === 0 ? [] : [other])]
    if (ways.length === 0) return outcome
    const told = hinted(outcome, `Call ${ways.join(", or call ")}.`)
    return less === undefined || failure._tag !== "ToolUnavailable"
      ? told
      : { ...told, failure: withFields<Failed["failure"]>(told.failure, { scope: "arguments" }) }
  })
}

// Cut off, or not there in time, and nothing was done.
const wasTooMuch = ({ attempts, certainty, failure }: Failed): boolean =>
  certainty === "not_executed" && attempts > 0 &&
  (failure._tag === "ToolUnavailable" && failure.code === "timeout" ||
    failure._tag === "SchemaMismatch" && failure.code === "truncated")

// With less, what acts would do something else.
export const askingForLess = ({ sideEffect, size }: Tool.Any): string | undefined =>
  size === undefined || sideEffect !== "none" ? undefined : `it again with a smaller '${size}'`

// An answer that leaves it open whether the tool has taken effect.
export const doubted = (
  outcome: Completed,
  { check = "" }: Tool.Any,
  toolkit: Toolkit.Toolkit
): Effect.Effect<ToolOutcome> =>
  Effect.map(callable([check], toolkit), ([name]) => {
    const [doubt = "", ...others] = outcome.caveats
    return name === undefined ? outcome : { ...outcome, caveats: [`${doubt} Call ${name} to find out.`, ...others] }
  })

// Whom to ask what became of a call, or what serves instead, as far as it may be called.
const callable = (
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

const hinted = (outcome: Failed, advice: string): Failed => {
  const { failure } = outcome
  // What was refused because it had failed before may say it already.
  if (failure.hint?.includes(advice) === true) return outcome
  const hint = failure.hint === undefined ? advice : `${failure.hint} ${advice}`
  // A copy with its class and its cause.
  return { ...outcome, failure: withFields(failure, { hint }) }
}

/** What is said of a text that looks like the beginning of some JSON. */
export const cutOffNote = (tool: Tool.Any): string => {
  const less = askingForLess(tool)
  const told = "This text looks like JSON that was cut off."
  return less === undefined ? told : `${told} If you need it whole, call ${less}.`
}
