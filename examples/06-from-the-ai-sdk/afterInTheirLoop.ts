/**
 * The assistant with the tools of Fallible in the loop of the AI SDK: `streamText` and all around it stay.
 */
import { AiSdk } from "@fallible/ai-sdk"
import * as CallFacts from "@fallible/core/CallFacts"
import { convertToModelMessages, createUIMessageStreamResponse, isStepCount, streamText, toUIMessageStream } from "ai"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import type { Asked, Options } from "./before.ts"
import { travelToolkit } from "./toolkit.ts"
import { instructions } from "./tools.ts"

export const afterInTheirLoop = ({ model, store, tools }: Options, services: Layer.Layer<never> = Layer.empty) => {
  const toolkit = travelToolkit(tools)
  const { runPromise } = ManagedRuntime.make(services)
  return async (request: Request): Promise<Response> => {
    const { id, messages }: Asked = JSON.parse(await request.text())
    const { facts } = store.load(id)
    const ours = AiSdk.tools(toolkit, {
      scope: id,
      facts: facts === undefined ? CallFacts.empty : Schema.decodeUnknownSync(CallFacts.schema)(facts),
      runPromise
    })
    const result = streamText({
      model,
      system: instructions,
      messages: await convertToModelMessages(messages),
      tools: ours,
      repairToolCall: AiSdk.repairToolCall(toolkit),
      stopWhen: isStepCount(20),
      // At once, for a page may leave before the end.
      onToolExecutionEnd: () => store.update(id, { facts: Schema.encodeSync(CallFacts.schema)(AiSdk.factsOf(ours)) })
    })
    return createUIMessageStreamResponse({
      stream: toUIMessageStream({
        stream: result.stream,
        originalMessages: messages,
        onError: AiSdk.errorText,
        onEnd: ({ messages }) => store.update(id, { messages })
      })
    })
  }
}
