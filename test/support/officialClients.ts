/** The official clients of the model servers that `FakeModelServer` plays. */
import Anthropic from "@anthropic-ai/sdk"
import { GoogleGenAI } from "@google/genai"
import { Effect } from "effect"
import OpenAI from "openai"

const apiKey = "key"

export const openAiClient = (url: string, key = apiKey) =>
  new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 })

export const anthropicClient = (url: string, key = apiKey) =>
  new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 })

export const geminiClient = (url: string, key = apiKey) =>
  new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } })

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

/** Sends a request without a client. */
export const post = (url: string, body: unknown, headers: Record<string, string> = {}): Effect.Effect<Answered> =>
  Effect.promise(async () => {
    const text = typeof body === "string" ? body : JSON.stringify(body)
    const response = await fetch(url, { method: "POST", body: text, headers })
    return { status: response.status, headers: response.headers, body: await response.text() }
  })

/** Collects the items of a stream. */
export const collected = async <A>(stream: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const items: Array<A> = []
  for await (const item of stream) items.push(item)
  return items
}
