/** Chats of the AI SDK with an agent: the client's own code, and the ways to serve it. */
import { AiSdk } from "@fallible/ai-sdk"
import type { Model } from "@fallible/core"
import type { Suspension } from "@fallible/core/AgentFailure"
import * as CallFacts from "@fallible/core/CallFacts"
import {
  AbstractChat,
  type ChatInit,
  type ChatState,
  type ChatStatus,
  DefaultChatTransport,
  type HttpChatTransportInitOptions,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls
} from "ai"
import { Effect, type Layer, type Scope, Stream } from "effect"
import { Hono } from "hono"
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import type { Chatting } from "./uiScenarios.ts"

// -----------------------------------------------------------------------------
// The client
// -----------------------------------------------------------------------------

class State implements ChatState<AiSdk.UiMessage> {
  #status: ChatStatus = "ready"
  #messages: Array<AiSdk.UiMessage> = []
  error: Error | undefined
  readonly #watchers = new Set<() => void>()

  get status() {
    return this.#status
  }
  set status(status) {
    this.#status = status
    this.#changed()
  }
  get messages() {
    return this.#messages
  }
  set messages(messages) {
    this.#messages = messages
    this.#changed()
  }

  pushMessage = (message: AiSdk.UiMessage) => {
    this.messages = [...this.#messages, message]
  }
  popMessage = () => {
    this.messages = this.#messages.slice(0, -1)
  }
  replaceMessage = (index: number, message: AiSdk.UiMessage) => {
    this.messages = this.#messages.with(index, this.snapshot(message))
  }
  snapshot = <T>(value: T): T => structuredClone(value)

  #changed() {
    for (const watcher of this.#watchers) watcher()
  }

  until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const watcher = () => {
        if (!holds()) return
        this.#watchers.delete(watcher)
        resolve()
      }
      this.#watchers.add(watcher)
      watcher()
    })
  }
}

/** A chat without React. */
export class Chat extends AbstractChat<AiSdk.UiMessage> {
  readonly #state: State

  constructor(
    { transport, ...init }: Omit<ChatInit<AiSdk.UiMessage>, "transport"> & { readonly transport: Transport }
  ) {
    const state = new State()
    super({
      ...init,
      state,
      transport: new DefaultChatTransport(transport),
      sendAutomaticallyWhen: (options) =>
        lastAssistantMessageIsCompleteWithApprovalResponses(options) ||
        lastAssistantMessageIsCompleteWithToolCalls(options)
    })
    this.#state = state
  }

  /** Waits until something holds of the last message. */
  until(holds: (message: AiSdk.UiMessage | undefined) => boolean): Promise<void> {
    return this.#state.until(() => holds(this.lastMessage))
  }

  /** Waits until the last message has a text, and its stream has ended. */
  answered(): Promise<void> {
    return this.until((message) =>
      this.status !== "streaming" && this.status !== "submitted" && message?.role === "assistant" &&
      message.parts.at(-1)?.type === "text"
    )
  }
}

export type Transport = HttpChatTransportInitOptions<AiSdk.UiMessage>

// -----------------------------------------------------------------------------
// The server
// -----------------------------------------------------------------------------

interface Asked {
  readonly id: string
  readonly messages: Array<AiSdk.UiMessage>
  /** Whether the stream is kept for another page. */
  readonly keep?: boolean
}

export type Handler = (request: Request) => Promise<Response>

/** A route as a program writes it. It keeps what each chat waits with, and the stream that each chat is sent. */
export const routeOf = (agent: Chatting, model: Layer.Layer<Model.Model>): Handler => {
  const waiting = new Map<string, Suspension>()
  const streams = new Map<string, ReadableStream<Uint8Array>>()

  const post = async (request: Request): Promise<Response> => {
    const { id, keep = false, messages }: Asked = JSON.parse(await request.text())
    const suspension = waiting.get(id)
    const replies = suspension === undefined ? [] : AiSdk.repliesTo(suspension, messages)
    const { question, transcript } = AiSdk.fromUiMessages(messages)
    if (replies.length === 0 && question === undefined) return new Response("Nothing to do.", { status: 400 })
    const run = suspension !== undefined && replies.length > 0
      ? agent.resumeStream(suspension, replies)
      : agent.stream(question ?? "", { transcript, facts: CallFacts.empty })
    const kept = Stream.tap(run, (event) =>
      Effect.sync(() => {
        if (event._tag === "RunSuspended") waiting.set(id, event.waiting.suspension)
      }))
    const response = await Effect.runPromise(
      AiSdk.response(Stream.provide(kept, model), { originalMessages: messages })
    )
    if (!keep || response.body === null) return response
    const [sent, stored] = response.body.tee()
    streams.set(id, stored)
    return new Response(sent, response)
  }

  const get = async (request: Request): Promise<Response> => {
    const id = /\/([^/]+)\/stream$/.exec(new URL(request.url).pathname)?.[1] ?? ""
    const stored = streams.get(id)
    streams.delete(id)
    return stored === undefined ? new Response(null, { status: 204 }) : new Response(stored)
  }

  return (request) => request.method === "GET" ? get(request) : post(request)
}

/** The ways to serve a route. Each returns the transport of its clients. */
export const servings: Readonly<Record<string, (route: Handler) => Effect.Effect<Transport, never, Scope.Scope>>> = {
  "node:http": (route) => Effect.map(listening(route), (url) => ({ api: `${url}/api/chat` })),
  "a function of Request": (route) =>
    Effect.succeed({
      api: "http://localhost/api/chat",
      fetch: async (input, init) => route(new Request(input, init))
    }),
  "Hono": (route) => {
    const app = new Hono()
    app.post("/api/chat", ({ req }) => route(req.raw))
    app.get("/api/chat/:id/stream", ({ req }) => route(req.raw))
    return Effect.map(listening(async (request) => app.fetch(request)), (url) => ({ api: `${url}/api/chat` }))
  }
}

const listening = (route: Handler): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer((request, response) => void answer(route, request, response))
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      return server
    }),
    (server) =>
      Effect.promise(async () => {
        server.closeAllConnections()
        server.close()
        await once(server, "close")
      })
  ).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`))

const answer = async (route: Handler, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const body = request.method === "POST" ? Buffer.concat(await request.toArray()) : undefined
  const url = `http://${request.headers.host}${request.url}`
  const answered = await route(
    new Request(url, { method: request.method ?? "GET", ...(body === undefined ? {} : { body }) })
  )
  response.writeHead(answered.status, Object.fromEntries(answered.headers))
  if (answered.body === null) return void response.end()
  // Ends the body if the client goes away.
  await pipeline(Readable.fromWeb(answered.body), response).catch(() => undefined)
}
