/**
 * A server before the played model's, which lets pass more: messages in parts, as OpenAI's API allows and LangChain and OpenAI Agents
 * send them, and calls of earlier turns whose arguments are not JSON, which not every server checks. The server of the tests is as
 * strict as the strictest.
 */
import * as Http from "node:http"
import { listening } from "../../test/support/http.ts"

export const lenientServer = (url: string) =>
  listening(Http.createServer(async (request, response) => {
    const chunks: Array<Uint8Array> = []
    for await (const chunk of request as AsyncIterable<Uint8Array>) chunks.push(chunk)
    const body = accepted(Buffer.concat(chunks).toString())
    const { method, url: path = "/" } = request
    const headers = { "content-type": "application/json", authorization: "Bearer none" }
    const forwarded = Http.request(new URL(path, url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
      answer.on("aborted", () => response.destroy())
    })
    forwarded.on("error", () => response.destroy())
    response.on("close", () => forwarded.destroy())
    forwarded.end(body)
  }))

// Only what is changed.
interface Call {
  readonly function: { readonly arguments: string }
}
interface Message {
  readonly role: string
  readonly content?: unknown
  readonly tool_calls?: ReadonlyArray<Call>
}

const accepted = (body: string): string => {
  const request = JSON.parse(body) as { readonly messages: ReadonlyArray<Message> }
  return JSON.stringify({ ...request, messages: request.messages.map(acceptedMessage) })
}

const acceptedMessage = (message: Message): Message => {
  const { content, role, tool_calls } = message
  return {
    ...message,
    ...(role !== "user" && Array.isArray(content) ? { content: textOf(content) } : {}),
    ...(tool_calls === undefined ? {} : { tool_calls: tool_calls.map(acceptedCall) })
  }
}

const textOf = (parts: ReadonlyArray<{ readonly text?: string }>) => parts.map(({ text = "" }) => text).join("")

const acceptedCall = (call: Call): Call => ({
  ...call,
  function: { ...call.function, arguments: isObject(call.function.arguments) ? call.function.arguments : "{}" }
})

const isObject = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
