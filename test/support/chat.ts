/** A browser's side of a chat with the backend of example 4: what `useChat` sends and gets. */
import { assert } from "@effect/vitest"
import { Model } from "@fallible/core"
import * as Planner from "@fallible/examples/04-http-backend/Planner"
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai"
import { Effect, Layer, Stream } from "effect"
import { fetched, post } from "./backend.ts"

/** Writes its first word, and the rest when it may. */
export const writing = (mayGoOn: Effect.Effect<void>) =>
  Layer.succeed(Model.Model, {
    respond: () => Effect.never,
    stream: ({ transcript }) => {
      const reply = Planner.reply({ messages: Array.from(transcript) })
      const replied = Stream.succeed({ _tag: "Replied" as const, reply })
      if (reply.text === "") return replied
      const [first = ""] = reply.text.split(" ")
      return Stream.concat(
        Stream.succeed({ _tag: "TextDelta" as const, text: first }),
        Stream.unwrap(Effect.as(mayGoOn, replied))
      )
    }
  })

let count = 0

export const userMessage = (text: string): UIMessage => ({
  id: `m${++count}`,
  role: "user",
  parts: [{ type: "text", text }]
})

/** What a customer decides on all approvals of a message. */
export interface Decision {
  readonly approved: boolean
  readonly reason?: string
}

export const decided = (message: UIMessage, decision: Decision): UIMessage => ({
  ...message,
  parts: message.parts.map((part) =>
    "approval" in part && part.state === "approval-requested"
      ? { ...part, state: "approval-responded", approval: { ...part.approval, ...decision } }
      : part
  )
})

/** The ids of the approvals that a message asks for. */
export const approvalsIn = (message: UIMessage | undefined): ReadonlyArray<string> =>
  message?.parts.flatMap((part) =>
    "approval" in part && part.state === "approval-requested" ? [part.approval.id] : []
  ) ?? []

/** The chunks in the text of a stream. */
export const chunksIn = (text: string): ReadonlyArray<UIMessageChunk> =>
  text.split("\n\n").flatMap((event) => {
    const data = event.replace(/^data: /, "")
    return data.startsWith("{") ? [JSON.parse(data)] : []
  })

/** The message that some chunks make up. */
export const messageOf = (chunks: ReadonlyArray<UIMessageChunk>, message?: UIMessage): Effect.Effect<UIMessage> =>
  Effect.promise(async () => {
    const stream = ReadableStream.from(structuredClone(chunks))
    let last: UIMessage | undefined
    for await (const read of readUIMessageStream({ stream, ...(message === undefined ? {} : { message }) })) last = read
    // As it is after a reload: without the fields that are undefined.
    return JSON.parse(JSON.stringify(last ?? assert.fail("there is no message")))
  })

/** What a customer reads of a message: its texts, and the sentences of its data parts. */
export const told = (message: UIMessage | undefined): ReadonlyArray<string> =>
  message?.parts.flatMap((part) => {
    if (part.type === "text") return [part.text]
    return "data" in part && typeof part.data === "object" && part.data !== null && "text" in part.data
      ? [String(part.data.text)]
      : []
  }) ?? []

/** Begins a conversation. */
export const chatting = ({ url }: { readonly url: string }) =>
  Effect.gen(function*() {
    const { body: { id = "" }, status } = yield* post(`${url}/api/chats`, {})
    assert.strictEqual(status, 201)
    const api = `${url}/api/chat`
    const messages = Effect.map(
      fetched(`${api}/${id}/messages`),
      ({ body: { messages = [] } }) => messages
    )
    const asking = (fields: object): RequestInit => ({
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ id, trigger: "submit-message", messages: [], ...fields })
    })
    /** Sends a body, and returns the chunks of its answer. */
    const send = (fields: object) =>
      Effect.promise(async (signal) => {
        const response = await fetch(api, { ...asking(fields), signal })
        assert.strictEqual(response.status, 200)
        return chunksIn(await response.text())
      })
    const deciding = (decision: Decision, fields: object = {}) =>
      Effect.map(messages, (all) => ({ messages: all.slice(-1).map((last) => decided(last, decision)), ...fields }))
    return {
      id,
      messages,
      last: Effect.map(messages, (all) => all.at(-1)),
      send,
      ask: (text: string) => send({ messages: [userMessage(text)] }),
      again: send({ trigger: "regenerate-message" }),
      decide: (decision: Decision, fields?: object) => Effect.flatMap(deciding(decision, fields), send),
      deciding,
      /** Sends a body that is refused, and returns the problem. */
      refused: (fields: object) => fetched(api, asking(fields)),
      /** Begins to read the answer that is being written, and returns how to read it to its end; nothing if there is none. */
      resume: Effect.promise(async () => {
        const response = await fetch(`${api}/${id}/stream`)
        if (response.status === 204) return undefined
        assert.strictEqual(response.status, 200)
        return Effect.promise(async () => chunksIn(await response.text()))
      }),
      stop: Effect.map(fetched(`${api}/${id}/stop`, { method: "POST" }), ({ status }) => status)
    }
  })
