import type * as CallSession from "@fallible/core/CallSession"

/**
 * What the `execute` of a tool throws if its call has no result. Its message is what the model reads: what went wrong, and what to
 * do next. `outcome` says the same to programs.
 *
 * When to use: in `onToolExecutionEnd` or in a `tool-error` part, to tell failures apart.
 *
 * @example
 * ```ts
 * import { AiSdk } from "@fallible/ai-sdk"
 * import { Tool, Toolkit, ToolCall } from "@fallible/core"
 * import { Schema } from "effect"
 *
 * const book = Tool.make("book", { description: "Books", success: Schema.String }, () => ToolCall.refuse("It is full."))
 * const { book: theirs } = AiSdk.tools(Toolkit.make(book))
 * const run = async () => theirs.execute?.({}, { toolCallId: "1", messages: [], context: {} })
 * const error = await run().catch((error: unknown) => error)
 * error instanceof AiSdk.CallFailed && error.outcome.certainty // => "not_executed"
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class CallFailed extends Error {
  override readonly name = "CallFailed"
  /** How the call ended. */
  readonly outcome: Exclude<CallSession.Outcome, { readonly _tag: "Completed" }>

  constructor(message: string, outcome: CallFailed["outcome"]) {
    super(message)
    this.outcome = outcome
  }

  // The AI SDK writes an error for its model by this.
  override toString(): string {
    return this.message
  }
}
