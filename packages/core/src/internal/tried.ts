import { ToolUnavailable } from "../ToolFailure.ts"

/** The sources that a failure has behind it: those that it lists, or the one that it came from, with how it failed. */
export const tried = (failure: ToolUnavailable, name: string): ReadonlyArray<string> =>
  failure.tried ?? [`${name} (${failure.code})`]

/**
 * What is left when every source has failed: the last failure, but what is known of the ones before still holds: that
 * another time is worth it, that something may have been done.
 */
export const exhausted = (
  first: ToolUnavailable,
  last: ToolUnavailable,
  tried: ReadonlyArray<string>
): ToolUnavailable => {
  const { cause, outcome, retryAfter = first.retryAfter, ...told } = last
  return new ToolUnavailable({
    ...told,
    transient: first.transient || last.transient,
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...together(first.outcome, outcome),
    tried,
    cause
  })
}

type Outcome = ToolUnavailable["outcome"]

// One that may have acted is enough, and one of which nobody says that it did not.
const together = (one: Outcome, other: Outcome): Pick<ToolUnavailable, "outcome"> => {
  if (one === "unknown" || other === "unknown") return { outcome: "unknown" }
  return one === "not_executed" && other === "not_executed" ? { outcome: "not_executed" } : {}
}
