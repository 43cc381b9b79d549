/**
 * The assistant as an agent of Fallible, for the same page: the loop is ours, and the stream is that of `useChat`.
 */
import { AiSdk } from "@fallible/ai-sdk"
import { Agent, Transcript } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import { Suspension } from "@fallible/core/AgentFailure"
import * as CallFacts from "@fallible/core/CallFacts"
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

/** What a chat has beside its messages. */
const Kept = Schema.Struct({
  facts: Schema.optionalKey(CallFacts.schema),
  transcript: Schema.optionalKey(Transcript.schema),
  suspension: Schema.optionalKey(Suspension)
})

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
    const { facts = CallFacts.empty, suspension, transcript } = Schema.decodeUnknownSync(Kept)(store.load(id))
    const keep = (kept: typeof Kept.Type) =>
      Effect.sync(() => store.update(id, { suspension: undefined, ...Schema.encodeSync(Kept)(kept) }))

    const replies = suspension === undefined ? [] : AiSdk.repliesTo(suspension, messages)
    const { question } = AiSdk.fromUiMessages(messages)
    if (replies.length === 0 && question === undefined) return new Response("Nothing to do.", { status: 409 })
    const run = suspension !== undefined && replies.length > 0
      ? agent.resumeStream(suspension, replies, { onInterrupt: keep })
      : agent.stream(question ?? "", {
        scope: id,
        facts,
        onInterrupt: keep,
        ...(transcript === undefined ? {} : { transcript })
      })
    const kept = run.pipe(
      Stream.tap((event) =>
        AgentEvent.isLast(event) ? keep(event._tag === "RunEnded" ? event.answer : event.waiting) : Effect.void
      ),
      // A refused run has done nothing, and another may be under way.
      Stream.tapError((failure) => failure._tag === "RunRefused" ? Effect.void : keep(failure))
    )
    const chunks = await runtime.runPromise(
      Stream.toReadableStreamEffect(AiSdk.uiMessageStream(kept, { originalMessages: messages, replies, recoveries }))
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
