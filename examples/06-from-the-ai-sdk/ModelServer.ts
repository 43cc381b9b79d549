/**
 * A model on the loopback interface that streams Chat Completions, so that a provider's package talks to it as to any other:
 *
 *     createOpenAI({ apiKey: "none", baseURL: `${server.url}/v1` }).chat("stand-in")
 */
import type { Model, Transcript } from "@fallible/core"
import { listen, type Loopback } from "./Loopback.ts"

export const start = (reply: (messages: ReadonlyArray<Transcript.Message>) => Model.Reply): Promise<Loopback> =>
  listen((_, body, response) => {
    const { messages }: { readonly messages: ReadonlyArray<Sent> } = JSON.parse(body)
    response.writeHead(200, { "content-type": "text/event-stream" })
    for (const choice of choicesOf(reply(read(messages)))) {
      response.write(`data: ${JSON.stringify({ id: "reply", model: "stand-in", created: 0, choices: [choice] })}\n\n`)
    }
    response.end("data: [DONE]\n\n")
  })

const choicesOf = ({ calls, text }: Model.Reply) => {
  const tool_calls = calls.map(({ arguments: args, id, name }, index) => ({
    index,
    id,
    type: "function",
    function: { name, arguments: args }
  }))
  return [
    { index: 0, delta: { role: "assistant", ...(text === "" ? {} : { content: text }), tool_calls } },
    { index: 0, delta: {}, finish_reason: calls.length === 0 ? "stop" : "tool_calls" }
  ]
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
