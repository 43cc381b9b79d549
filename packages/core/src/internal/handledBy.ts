/** What takes care of a failure: noted through `ToolCall`, and told by `ToolOutcome`, which stands above it. */
export const handledBy = [
  "retry",
  "reconcile",
  "complete",
  "catch",
  "fallback",
  "fix",
  "escalated",
  "stopped",
  "ignored",
  "custom"
] as const

export type HandledBy = typeof handledBy[number]
