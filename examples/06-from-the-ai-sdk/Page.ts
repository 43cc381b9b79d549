/**
 * The customer at the page: the AI SDK's own `useChat`, without React. The customer agrees to whatever the page asks.
 */
import { Chat } from "@ai-sdk/react"
import type { AiSdk } from "@fallible/ai-sdk"
import { DefaultChatTransport, isToolUIPart } from "ai"

export type Route = (request: Request) => Promise<Response>

export interface Talk {
  /** What the page asked the customer to approve, in order. */
  readonly approvals: ReadonlyArray<string>
  /** What the customer reads, in order: what became of calls, and what the assistant says. */
  readonly reads: ReadonlyArray<string>
  /** The bodies of the requests, for a page that sends one twice. */
  readonly sent: ReadonlyArray<string>
}

/** Sends the customer's wish to a route, approves what it asks, and returns what the page has shown. */
export const talk = async (route: Route, wish: string, id = "chat-1"): Promise<Talk> => {
  const sent: Array<string> = []
  const approvals: Array<string> = []
  const chat = new Chat<AiSdk.UiMessage>({
    id,
    transport: new DefaultChatTransport({
      api: "http://localhost/api/chat",
      // A page would go over the network here.
      fetch: async (url, init) => {
        sent.push(typeof init?.body === "string" ? init.body : "")
        return route(new Request(url, init))
      }
    })
  })
  await chat.sendMessage({ text: wish })
  for (let asking = asked(chat.lastMessage); asking.length > 0; asking = asked(chat.lastMessage)) {
    for (const { about, approvalId } of asking) {
      approvals.push(about)
      await chat.addToolApprovalResponse({ id: approvalId, approved: true })
    }
    await chat.sendMessage()
  }
  const trouble = chat.error === undefined ? [] : [chat.error.message]
  return { approvals, reads: [...chat.messages.flatMap(readIn), ...trouble], sent }
}

const asked = (message: AiSdk.UiMessage | undefined) =>
  (message?.parts ?? []).flatMap((part) =>
    isToolUIPart(part) && part.state === "approval-requested"
      ? [{ approvalId: part.approval.id, about: `${part.type.replace("tool-", "")} ${JSON.stringify(part.input)}` }]
      : []
  )

// What became of a call says more than that it failed.
const readIn = ({ parts, role }: AiSdk.UiMessage): ReadonlyArray<string> => {
  if (role === "user") return []
  const explained = new Set(parts.flatMap((part) => part.type === "data-recovery" ? [part.data.toolCallId] : []))
  return parts.flatMap((part) => {
    if (part.type === "text") return part.text === "" ? [] : [part.text]
    if (part.type === "data-recovery") return [part.data.text]
    const isError = isToolUIPart(part) && part.state === "output-error" && !explained.has(part.toolCallId)
    return isError ? [part.errorText] : []
  })
}
