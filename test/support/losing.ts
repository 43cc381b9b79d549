/** A tool whose answer is lost. */
import { Tool, ToolCall, ToolUnavailable } from "@fallible/core"
import { Effect, Schema } from "effect"

/** A payment whose first answer is lost, and what was sent. */
export const losing = () => {
  const keys: Array<string> = []
  const pay = Tool.make("pay", {
    description: "Pays",
    parameters: Schema.Struct({ order: Schema.String, note: Schema.optionalKey(Schema.String) }),
    success: Schema.String,
    identity: ({ order }) => order
  }, () =>
    Effect.flatMap(ToolCall.current, ({ idempotencyKey }) =>
      keys.push(idempotencyKey) === 1
        ? Effect.fail(new ToolUnavailable({ code: "connection", detail: "Lost.", transient: true, outcome: "unknown" }))
        : Effect.succeed("paid")))
  return { keys, pay }
}
