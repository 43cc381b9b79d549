/*
 * Whether a failure asks to wait for a moment, so that a tool that only reads may be read again.
 */
import * as Duration from "effect/Duration"

/** The fields of a failure that tell. */
type Asking =
  | { readonly _tag: "ToolUnavailable"; readonly transient: boolean; readonly retryAfter?: Duration.Duration }
  | { readonly _tag: "SchemaMismatch" | "PartialData" | "SemanticGarbage" }

/** The longest wait that counts as a moment, in milliseconds. */
const longest = 30_000

/** Returns how long a failure asks to wait, in milliseconds, if that is a moment; `undefined` if it does not ask. */
export const soonOf = (failure: Asking): number | undefined => {
  if (failure._tag !== "ToolUnavailable" || !failure.transient || failure.retryAfter === undefined) return undefined
  const millis = Duration.toMillis(failure.retryAfter)
  return millis <= longest ? millis : undefined
}
