/**
 * A model on the loopback interface that streams Chat Completions, so that a provider's package talks to it as to any other:
 *
 *     createOpenAI({ apiKey: "none", baseURL: server.url }).chat("stand-in")
 */
import type { Model, Transcript } from "@fallible/core"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

export interface ModelServer {
  readonly url: string
  readonly close: () => Promise<void>
}

export const start = async (
  reply: (messages: ReadonlyArray<Transcript.Message>) => Model.Reply
): Promise<ModelServer> => {
  const server = createServer((request, response) =>
    void request.toArray().then((chunks) => {
      const { messages }: { readonly messages: ReadonlyArray<Sent> } = JSON.parse(Buffer.concat(chunks).toString())
      const { calls, text } = reply(read(messages))
      const tool_calls = calls.map(({ arguments: args, id, name }, index) => ({
        index,
        id,
        type: "function",
        function: { name, arguments: args }
      }))
      response.writeHead(200, { "content-type": "text/event-stream" })
      for (
        const choice of [
          { index: 0, delta: { role: "assistant", ...(text === "" ? {} : { content: text }), tool_calls } },
          { index: 0, delta: {}, finish_reason: calls.length === 0 ? "stop" : "tool_calls" }
        ]
      ) response.write(`data: ${JSON.stringify({ id: "reply", model: "stand-in", created: 0, choices: [choice] })}\n\n`)
      response.end("data: [DONE]\n\n")
    })
  )
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    // A server that listens on a port has an address of this type.
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    }
  }
}

/** A message as Chat Completions have it. */
interface Sent {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool"
  readonly content?: unknown
  readonly tool_call_id?: string
  readonly tool_calls?: ReadonlyArray<{ readonly id: string; readonly function: { readonly name: string } }>
}

// What the stand-in reads: the results of its calls. It knows its own part.
const read = (messages: ReadonlyArray<Sent>): ReadonlyArray<Transcript.Message> => {
  const names = new Map(
    messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ function: { name }, id }) => [id, name] as const))
  )
  return messages.flatMap(({ content, role, tool_call_id: callId = "" }): ReadonlyArray<Transcript.Message> => {
    const text = typeof content === "string" ? content : JSON.stringify(content ?? "")
    return role === "tool" ? [{ role, callId, name: names.get(callId) ?? "", text }] : []
  })
}
