/** What the page asks the server, beside what `useChat` asks. */
import type { Message } from "./message.ts"

/** How far the server's clock is ahead of this computer's, in milliseconds. */
let ahead = 0

export const now = (): number => Date.now() + ahead

/** `fetch`, which also reads the server's clock. */
export const fetching = async (url: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
  const response = await fetch(url, init)
  const time = response.headers.get("server-time")
  if (time !== null) ahead = Number(time) - Date.now()
  return response
}

/** A response that is an error. */
export class Refused extends Error {
  readonly code: string

  constructor({ code, detail }: { readonly code: string; readonly detail: string }) {
    super(detail)
    this.code = code
  }
}

/** Reads a problem of the server. Whatever else it is, this is a sentence for a customer. */
export const refusal = (body: string): Refused => {
  try {
    const { code, detail }: { readonly code?: unknown; readonly detail?: unknown } = JSON.parse(body)
    if (typeof code === "string" && typeof detail === "string") return new Refused({ code, detail })
  } catch {
    // It is no JSON.
  }
  return new Refused({ code: "unknown", detail: "The server failed. Ask again later." })
}

/** A lost connection is a `TypeError` in every browser. */
export const isLost = (error: Error | undefined): boolean => error instanceof TypeError

const ask = async (path: string, method: "GET" | "POST"): Promise<string> => {
  const response = await fetching(path, { method })
  const body = await response.text()
  if (!response.ok) throw refusal(body)
  return body
}

/** Begins a conversation, and returns its id. */
export const begin = async (): Promise<string> => {
  const { id }: { readonly id: string } = JSON.parse(await ask("/api/chats", "POST"))
  return id
}

export const messagesOf = async (id: string): Promise<Array<Message>> => {
  const { messages }: { readonly messages: Array<Message> } = JSON.parse(await ask(`/api/chat/${id}/messages`, "GET"))
  return messages
}

export const stop = (id: string): Promise<string> => ask(`/api/chat/${id}/stop`, "POST")
