import { ToolUnavailable } from "../../ToolFailure.ts"
import { withFields } from "./failureClass.ts"

/**
 * Returns the sources that a failure lists as tried. If the failure has no list, returns the given name with
 * the failure's code, and with the number of attempts if there were several.
 */
export const sourcesTried = (failure: ToolUnavailable, name: string, attempts: number): ReadonlyArray<string> =>
  failure.tried ?? [`${name} (${failure.code}${attempts > 1 ? `, ${attempts} attempts` : ""})`]

/**
 * Returns the failure to report when every source has failed: the last one. It is transient if either failure
 * is transient. Its scope is `"arguments"` if either failure has that scope. It has no `outcome`, since the
 * call itself records what all sources did.
 */
export const failExhausted = (
  first: ToolUnavailable,
  last: ToolUnavailable,
  tried: ReadonlyArray<string>
): ToolUnavailable => {
  const { cause, outcome: _, retryAfter = first.retryAfter, ...fields } = last
  const failure = new ToolUnavailable({
    ...fields,
    transient: first.transient || last.transient,
    ...(first.scope === "arguments" ? { scope: first.scope } : {}),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    tried,
    cause
  })
  lastFailures.set(failure, lastFailure(last))
  return failure
}

/** Returns the failure of the last source alone, for a failure made by {@link failExhausted}. */
export const lastFailure = (failure: ToolUnavailable): ToolUnavailable => lastFailures.get(failure) ?? failure

/** Returns a copy of a failure with another hint, which still knows the failure of its last source. */
export const withHint = (failure: ToolUnavailable, hint: string): ToolUnavailable => {
  const copy = withFields(failure, { hint })
  lastFailures.set(copy, lastFailure(failure))
  return copy
}

const lastFailures = new WeakMap<ToolUnavailable, ToolUnavailable>()
