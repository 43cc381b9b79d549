/**
 * The assistant as a program of the AI SDK alone: a route for `useChat`, with tools, an approval, and a stored chat.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  isStepCount,
  streamText,
  toUIMessageStream,
  type UIMessage
} from "ai"
import type { ChatStore } from "./ChatStore.ts"
import { instructions, type TravelTools } from "./tools.ts"

export interface Options {
  readonly model: LanguageModelV4
  readonly tools: TravelTools
  readonly store: ChatStore
}

/** What `useChat` sends. */
export interface Asked<Message extends UIMessage = UIMessage> {
  readonly id: string
  readonly messages: Array<Message>
}

export const before = ({ model, store, tools }: Options) => async (request: Request): Promise<Response> => {
  const { id, messages }: Asked = JSON.parse(await request.text())
  const result = streamText({
    model,
    system: instructions,
    messages: await convertToModelMessages(messages),
    tools,
    stopWhen: isStepCount(20)
  })
  return createUIMessageStreamResponse({
    stream: toUIMessageStream({
      stream: result.stream,
      originalMessages: messages,
      onEnd: ({ messages }) => store.update(id, { messages })
    })
  })
}
