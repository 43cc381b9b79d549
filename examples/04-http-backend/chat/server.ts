/** What the page asks the server, beside what `useChat` asks. */
import type { Message } from "./message.ts"

/** How far the server's clock is ahead of this computer's, in milliseconds. */
let ahead = 0

export const now = (): number => Date.now() + ahead

/** `fetch`, which also reads the server's clock, and notices if nothing comes any more. */
export const fetching = async (url: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
  const response = await answered(url, init)
  const time = response.headers.get("server-time")
  if (time !== null) ahead = Number(time) - Date.now()
  const { body, headers, status } = response
  // Chromium has a body even for 204 (nothing to resume), for which no `Response` takes one.
  return body === null || status === 204 ? response : new Response(body.pipeThrough(heard()), { headers, status })
}

/** The server answers at once, and says something every 15 seconds. A connection that is silent for much longer is lost. */
const longestSilence = 40_000

const silent = () => new TypeError("The network is silent.")

/** Sends a request. A browser may send it over a connection that it has kept, and that is lost. */
const answered = async (url: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(silent()), longestSilence)
  try {
    return await fetch(url, { ...init, signal: AbortSignal.any([silence.signal, init.signal ?? silence.signal]) })
  } finally {
    clearTimeout(timer)
  }
}

/** Passes a body on. Ends it like a lost connection if it is silent for too long. */
const heard = (): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> => {
  let timer: ReturnType<typeof setTimeout>
  const wait = (stream: TransformStreamDefaultController) => {
    clearTimeout(timer)
    timer = setTimeout(() => stream.error(silent()), longestSilence)
  }
  return new TransformStream({
    start: wait,
    transform: (bytes, stream) => {
      wait(stream)
      stream.enqueue(bytes)
    },
    flush: () => clearTimeout(timer)
  })
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

/** Browsers have no code for a lost connection. These are the words by which `useChat` knows it, too. */
export const isLost = (error: Error | undefined): boolean =>
  error instanceof TypeError && /fetch|network|^load failed$/i.test(error.message)

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
