/*
 * What a customer reads of a call that failed in the AI SDK's loop.
 */
import { brokenText, failureText, recoveredText } from "../ui/sentences.ts"
import { CallFailed } from "./callFailed.ts"

/**
 * Says to a customer what became of a call that failed: whether it was done. It names no tool, no service and no error.
 *
 * When to use: as `onError` of `toUIMessageStream`, beside {@link tools}. Without it, a page shows what the model reads.
 *
 * @param error what a tool has thrown, or what else went wrong
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
 * AiSdk.errorText(error) // => "It did not work."
 * ```
 *
 * @category tools
 * @since 0.1.0
 */
export const errorText = (error: unknown): string => {
  if (!(error instanceof CallFailed)) return isRefusedCall(error) ? refused : brokenText
  const { outcome } = error
  const { attempts, certainty } = outcome
  if (outcome._tag === "Stopped") return failureText({ certainty, outcome: "stopped" })
  const { _tag, code } = outcome.failure
  // Of a tool that is unavailable, a customer would think that what it books is taken.
  if (code === "not_run") return otherRequest
  return code === "already_done"
    ? recoveredText({ status: "completed", code, attempts })
    : failureText({ certainty, outcome: "failed", error: _tag })
}

// Another request of the scope acts. What it does is not known here.
const otherRequest = "Another request is still at work, and may be doing this."

const refused = failureText({ certainty: "not_executed", outcome: "failed" })

// The AI SDK has refused a call, and its model reads why.
const isRefusedCall = (error: unknown): boolean =>
  error instanceof Error && (error.name === "AI_InvalidToolInputError" || error.name === "AI_NoSuchToolError")
