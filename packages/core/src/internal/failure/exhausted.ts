import { ToolUnavailable } from "../../ToolFailure.ts"

/** The sources that a failure has behind it: those that it lists, or the one that it came from, with how it failed. */
export const sourcesTried = (failure: ToolUnavailable, name: string): ReadonlyArray<string> =>
  failure.tried ?? [`${name} (${failure.code})`]

/**
 * What is left when every source has failed: the last failure. It is transient if any of them is, and other arguments may succeed if they may
 * with any of them. What was done in all of them the call knows.
 */
export const exhausted = (
  first: ToolUnavailable,
  last: ToolUnavailable,
  tried: ReadonlyArray<string>
): ToolUnavailable => {
  const { cause, outcome: _, retryAfter = first.retryAfter, ...told } = last
  return new ToolUnavailable({
    ...told,
    transient: first.transient || last.transient,
    ...(first.scope === "arguments" ? { scope: first.scope } : {}),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    tried,
    cause
  })
}
