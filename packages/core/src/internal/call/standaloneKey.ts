import * as Context from "effect/Context"

/** The key that a program gives to a tool that it runs by itself. */
export const standaloneKey: Context.Reference<string | undefined> = Context.Reference<string | undefined>(
  "@fallible/core/ToolCall/key",
  {
    defaultValue: () => undefined
  }
)
