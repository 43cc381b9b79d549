/** Reads streams of UI messages as the AI SDK reads them, in tests. */
import { AiSdk } from "@fallible/ai-sdk"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import type { Failed } from "@fallible/core/AgentFailure"
import {
  asSchema,
  convertToModelMessages,
  isToolUIPart,
  parseJsonEventStream,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
  uiMessageChunkSchema,
  validateUIMessages
} from "ai"
import { Effect, Stream } from "effect"

/** The chunks of a run. Each is one that the AI SDK knows. */
export const chunksOf = <R>(
  run: Stream.Stream<AgentEvent.AgentEvent, Failed, R>,
  options: AiSdk.UiOptions = {}
): Effect.Effect<ReadonlyArray<AiSdk.UiChunk>, never, R> =>
  Effect.tap(Stream.runCollect(AiSdk.uiMessageStream(run, options)), (chunks) => Effect.promise(() => known(chunks)))

const known = async (chunks: ReadonlyArray<AiSdk.UiChunk>): Promise<void> => {
  const { validate } = asSchema(uiMessageChunkSchema)
  for (const chunk of chunks) {
    // As it is read from the wire.
    const sent: unknown = JSON.parse(JSON.stringify(chunk))
    const result = await validate?.(sent)
    if (result?.success !== true) throw new Error(`The AI SDK does not know ${JSON.stringify(chunk)}.`)
  }
}

export interface Read {
  readonly message: AiSdk.UiMessage
  readonly errors: ReadonlyArray<string>
}

/** The message that a page has after these chunks. */
export const messageOf = async (
  chunks: Iterable<UIMessageChunk>,
  continued?: AiSdk.UiMessage
): Promise<Read> => {
  const errors: Array<string> = []
  let message: AiSdk.UiMessage = continued ?? { id: "", role: "assistant", parts: [] }
  const states = readUIMessageStream<AiSdk.UiMessage>({
    stream: streamOf(chunks),
    onError: (error) => errors.push(String(error)),
    ...(continued === undefined ? {} : { message: structuredClone(continued) })
  })
  for await (const state of states) message = state
  return { message, errors }
}

const streamOf = (chunks: Iterable<UIMessageChunk>): ReadableStream<UIMessageChunk> =>
  new ReadableStream({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(structuredClone(chunk))
      controller.close()
    }
  })

/** The chunks in a body, as a transport reads them. A body that is cut off has those that are whole. */
export const chunksIn = async (body: Uint8Array): Promise<ReadonlyArray<UIMessageChunk>> => {
  const chunks: Array<UIMessageChunk> = []
  const stream = new Blob([body.slice()]).stream()
  const reader = parseJsonEventStream({ stream, schema: uiMessageChunkSchema }).getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    if (!next.value.success) throw next.value.error
    chunks.push(next.value.value)
  }
  return chunks
}

/** Demands that the AI SDK takes a message back, and makes a prompt of it. */
export const demandAccepted = async (message: UIMessage): Promise<void> => {
  const sent: unknown = JSON.parse(JSON.stringify(message))
  const messages = await validateUIMessages({ messages: [sent] })
  await convertToModelMessages(messages)
}

export const textsOf = ({ parts }: UIMessage): ReadonlyArray<string> =>
  parts.flatMap((part) => part.type === "text" ? [part.text] : [])

export const toolsOf = ({ parts }: UIMessage) => parts.filter(isToolUIPart)

export const recoveriesOf = ({ parts }: AiSdk.UiMessage): ReadonlyArray<AiSdk.Recovery> =>
  parts.flatMap((part) => part.type === "data-recovery" ? [part.data] : [])

/** Demands what holds for every message that was sent whole. */
export const demandWhole = async (message: UIMessage): Promise<void> => {
  await demandAccepted(message)
  for (const part of message.parts) {
    if ("state" in part && (part.state === "streaming" || part.state === "input-streaming")) {
      throw new Error(`Still streaming: ${JSON.stringify(part)}`)
    }
  }
  const ids = toolsOf(message).map(({ toolCallId }) => toolCallId)
  if (new Set(ids).size !== ids.length) throw new Error(`Two parts of one call: ${ids.join(", ")}`)
}

/** The body of a response with these chunks. */
export const bodyOf = (chunks: ReadonlyArray<UIMessageChunk>): Uint8Array =>
  new TextEncoder().encode(
    [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"].map((data) => `data: ${data}\n\n`).join("")
  )
