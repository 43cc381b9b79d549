/* What a program sets for tools that it runs without an agent. */
import * as Context from "effect/Context"

/** The idempotency key of the tool. */
export const standaloneKey: Context.Reference<string | undefined> = Context.Reference<string | undefined>(
  "@fallible/core/ToolCall/key",
  {
    defaultValue: () => undefined
  }
)

/** Replies to the questions of the tool. */
export const standaloneReply: Context.Reference<(question: string) => string | undefined> = Context.Reference<
  (question: string) => string | undefined
>("@fallible/core/ToolCall/reply", {
  defaultValue: () => () => undefined
})
