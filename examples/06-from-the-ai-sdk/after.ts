/**
 * The assistant as an agent of Fallible, for the same page: the loop is ours, and the stream is that of `useChat`.
 */
import { AiSdk } from "@fallible/ai-sdk"
import { Agent } from "@fallible/core"
import * as Claims from "@fallible/core/Claims"
import { createUIMessageStream, createUIMessageStreamResponse } from "ai"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Asked, Options } from "./before.ts"
import { travelToolkit } from "./toolkit.ts"
import { instructions } from "./tools.ts"

/** What a customer reads of a charge that took more than one try. The package has words for all else. */
const recoveries = ({ by, status, tool }: AiSdk.Recovery): string | undefined =>
  tool === "chargeCard" && by === "retry" && status === "completed"
    ? "Your card is charged once. It took more than one try."
    : undefined

export const after = ({ model, store, tools }: Options, services: Layer.Layer<never> = Layer.empty) => {
  const agent = Agent.make({ toolkit: travelToolkit(tools), instructions })
  const runtime = ManagedRuntime.make(Layer.mergeAll(AiSdk.layer(model), Claims.layerMemory, services))
  return async (request: Request): Promise<Response> => {
    const { id, messages }: Asked<AiSdk.UiMessage> = JSON.parse(await request.text())
    const { chat } = store.load(id)
    const run = AiSdk.chatStream(agent, messages, {
      id,
      chat: chat === undefined ? undefined : Schema.decodeUnknownSync(AiSdk.Chat)(chat),
      keep: (chat) => Effect.sync(() => store.update(id, { chat: Schema.encodeSync(AiSdk.Chat)(chat) }))
    })
    const chunks = await runtime.runPromise(
      Stream.toReadableStreamEffect(AiSdk.uiMessageStream(run, { originalMessages: messages, recoveries }))
    )
    return createUIMessageStreamResponse({
      stream: createUIMessageStream({
        originalMessages: messages,
        execute: ({ writer }) => writer.merge(chunks),
        onEnd: ({ messages }) => store.update(id, { messages })
      })
    })
  }
}
