/*
 * The stream of a message as server-sent events.
 *
 *     data: {"type":"start","messageId":"…"}
 *
 *     data: [DONE]
 */
import type { AgentEvent } from "@fallible/core/AgentEvent"
import type { Failed } from "@fallible/core/AgentFailure"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { UiChunk, UiOptions } from "./types.ts"
import { uiMessageStream } from "./uiMessageStream.ts"

/**
 * What a page sees of a run, and the headers of the response.
 *
 * @category options
 * @since 0.1.0
 */
export interface ResponseOptions extends UiOptions {
  /** Headers beside those of the stream, or in place of them. Default: none. */
  readonly headers?: Headers | Readonly<Record<string, string>>
}

export const response = <R>(
  run: Stream.Stream<AgentEvent, Failed, R>,
  { headers, ...options }: ResponseOptions = {}
): Effect.Effect<Response, never, R> => {
  const body = encoded(uiMessageStream(run, options))
  return Effect.map(
    Effect.context<R>(),
    (context: Context.Context<R>) =>
      new Response(Stream.toReadableStreamWith(body, context), { headers: headersWith(headers) })
  )
}

const encoded = <R>(chunks: Stream.Stream<UiChunk, never, R>): Stream.Stream<Uint8Array, never, R> =>
  chunks.pipe(
    Stream.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`),
    Stream.concat(Stream.succeed("data: [DONE]\n\n")),
    Stream.merge(keepAlive, { haltStrategy: "left" }),
    Stream.encodeText
  )

// Proxies close a connection on which nothing happens.
const keepAlive = Stream.tick("15 seconds").pipe(Stream.drop(1), Stream.map(() => ": keep-alive\n\n"))

const headersWith = (own: ResponseOptions["headers"]): Headers => {
  const headers = new Headers(streamHeaders)
  new Headers(own).forEach((value, name) => headers.set(name, value))
  return headers
}

// Those of the AI SDK.
const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  connection: "keep-alive",
  "x-vercel-ai-ui-message-stream": "v1",
  "x-accel-buffering": "no"
}
