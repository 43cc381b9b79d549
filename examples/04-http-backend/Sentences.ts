/**
 * What the page with `useChat` tells a customer: what a recovery meant, and what is not known of a call. In the words of this
 * shop, because those of the package have to fit any tool.
 */
import type { AiSdk } from "@fallible/ai-sdk"
import { getToolName, isToolUIPart, type UIMessage, type UIMessageChunk } from "ai"

export const stopped = "This was stopped."
export const died = "The server failed. Ask again later."

const isNotKnown = "It is not known whether this was refunded. Nothing is repeated until it is known."

/** Returns what a recovery meant to the customer; `undefined` if the words of the package do. */
export const recovery = (recovery: AiSdk.Recovery): string | undefined =>
  recovery.tool === "refund_order" ? ofRefund(recovery) : ofLookUp(recovery)

const ofRefund = ({ by, certainty, code, status }: AiSdk.Recovery): string => {
  if (code === "already_done") return "This order was refunded before, so nothing was refunded again."
  switch (status) {
    case "running":
      return by === "reconcile"
        ? "The shop did not answer, so we look up whether it has refunded this."
        : "The shop did not answer, so we ask it again."
    case "completed":
      // A call may also complete in doubt, or without a refund: another source may answer in place of the shop.
      if (certainty === "unknown") return isNotKnown
      if (certainty === "not_executed") return "Nothing was refunded."
      if (by === "joined") return "This refund was asked for twice. It was made once."
      return by === "reconcile"
        ? "The shop did not answer, so we looked the refund up instead of asking for it again. It was made once."
        : "The shop failed before it refunded anything, so we asked it again. It was refunded once."
    case "failed":
      if (certainty === "unknown") return isNotKnown
      return certainty === "executed" ? "It was refunded, but the receipt is missing." : "Nothing was refunded."
  }
}

const ofLookUp = ({ by, status }: AiSdk.Recovery): string | undefined => {
  if (status === "running") return "The shop did not answer, so we ask it again."
  if (status === "failed") return "The shop does not answer. Ask again later."
  if (by === "fallback") return "The shop does not answer, so this is what it told us last."
  return by === "retry" ? "The shop failed at first, so we asked it again, and it answered." : undefined
}

/** Returns what a failure meant to the customer. Whatever may have had an effect has a recovery, too. */
export const failure = ({ certainty, tool }: AiSdk.UiFailure): string =>
  tool !== "refund_order"
    ? "This could not be found out."
    : certainty === "unknown"
    ? isNotKnown
    : "Nothing was refunded."

/** A sentence in place of an answer. It is a part of the message. */
export const notice = (text: string): UIMessageChunk => ({ type: "data-notice", id: "notice", data: { text } })

/** The end of a message whose run did not come to its end: what is known of its calls, and why. */
export const brokenOff = (message: UIMessage | undefined, why: string): ReadonlyArray<UIMessageChunk> => [
  ...(message?.parts ?? []).flatMap((part): ReadonlyArray<UIMessageChunk> => {
    if (!isToolUIPart(part) || part.state.startsWith("output-")) return []
    const { toolCallId } = part
    const isDecided = part.state !== "approval-requested" && part.approval?.approved !== false
    if (!isDecided || getToolName(part) !== "refund_order") {
      return [{ type: "tool-output-error", toolCallId, errorText: "This was not done." }]
    }
    const doubt: AiSdk.Recovery = {
      toolCallId,
      tool: "refund_order",
      status: "failed",
      attempts: 1,
      certainty: "unknown",
      text: isNotKnown
    }
    return [
      { type: "tool-output-error", toolCallId, errorText: isNotKnown },
      { type: "data-recovery", id: toolCallId, data: doubt }
    ]
  }),
  notice(why),
  { type: "abort", reason: why },
  { type: "finish", finishReason: "other" }
]
