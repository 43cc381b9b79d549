import * as Context from "effect/Context"

/** The idempotency key that a program sets for a tool that it runs without an agent. */
export const standaloneKey: Context.Reference<string | undefined> = Context.Reference<string | undefined>(
  "@fallible/core/ToolCall/key",
  {
    defaultValue: () => undefined
  }
)
