/** What a customer reads of a call of a tool. */
import type { AiSdk } from "@fallible/ai-sdk"
import { type DynamicToolUIPart, getToolName, isToolUIPart, type ToolUIPart } from "ai"
import type { Message, Part } from "./message.ts"

export type CallPart = ToolUIPart | DynamicToolUIPart

export interface Call {
  readonly part: CallPart
  readonly recovery: AiSdk.Recovery | undefined
}

/** A colour, by what is known of the effect. An end without an effect is no alarm. */
export type Tone = "done" | "unknown" | "quiet"

export const recoveryOf = (parts: ReadonlyArray<Part>, id: string): AiSdk.Recovery | undefined =>
  parts.flatMap((part) => part.type === "data-recovery" && part.data.toolCallId === id ? [part.data] : [])[0]

/** Returns a field of the arguments of a call, if it is a text. */
const fieldOf = ({ input }: CallPart, name: string): string => {
  const value = Object.entries(typeof input === "object" && input !== null ? input : {}).find(([key]) => key === name)
  return typeof value?.[1] === "string" ? value[1] : ""
}

/** What a call is about. */
export const titleOf = (part: CallPart): string => {
  switch (getToolName(part)) {
    case "refund_order":
      return `Refund of order ${fieldOf(part, "order")}`
    case "find_order":
      return `Look at order ${fieldOf(part, "order")}`
    case "track_parcel":
      return `Look for parcel ${fieldOf(part, "parcel")}`
    default:
      return getToolName(part)
  }
}

/** How far a call is, or how it ended, if no recovery says it. */
const stateOf = (part: CallPart): string => {
  switch (part.state) {
    case "approval-requested":
      return "It waits for your decision."
    case "approval-responded":
      return part.approval.approved ? "You approved it." : "You denied it."
    case "output-denied":
      return part.approval.reason === undefined
        ? "Nothing was done: it was not approved."
        : `Nothing was done: it was not approved. The reason: ${part.approval.reason}`
    case "output-available":
      return part.preliminary === true ? "It is under way." : "Done."
    case "output-error":
      return part.errorText
    case "input-streaming":
    case "input-available":
      return "It is under way."
  }
}

/** What a call came to, in one sentence. */
export const meaningOf = ({ part, recovery }: Call): string => recovery?.text ?? stateOf(part)

export const toneOf = ({ part, recovery }: Call): Tone => {
  if (recovery?.certainty === "unknown") return "unknown"
  return part.state === "output-available" && recovery?.code !== "already_done" ? "done" : "quiet"
}

/** What a screen reader is told last: of the last part of a message that says something. */
export const progressOf = (message: Message | undefined): string => {
  const parts = message?.role === "assistant" ? message.parts : []
  const last = parts.findLast((part) =>
    isToolUIPart(part) || part.type === "data-recovery" || part.type === "data-notice"
  )
  if (last === undefined) return ""
  if (last.type === "data-notice") return last.data.text
  const call = last.type === "data-recovery"
    ? parts.find((part) => isToolUIPart(part) && part.toolCallId === last.id)
    : last
  if (call === undefined || !isToolUIPart(call)) return ""
  return `${titleOf(call)}: ${meaningOf({ part: call, recovery: recoveryOf(parts, call.toolCallId) })}`
}
