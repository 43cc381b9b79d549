/*
 * The requests of this process, as Node reports them on its diagnostics channels: those of `fetch`, undici, `node:http` and
 * `node:http2`. What is not a request of HTTP, such as a database's socket or a child process, blinds the attempt.
 */
import { attempt } from "../value/untrusted.ts"
import { type Execution, noteGoingOn, queueCheck, toldBy } from "./outOfQueue.ts"
import { Begun, blindAll, ownersOf } from "./owners.ts"
import { carryBy, here, OwnRequest, type Place, recordOf, type Storage } from "./places.ts"
import { afterThisStep, at, globalAt } from "./runtime.ts"
import { provesUnsent } from "./unsent.ts"
import { claim, type HttpSocket, mayHaveQueued, open, type SeenRequest, type WireRecord } from "./wireRecord.ts"

interface Channels {
  readonly subscribe: (channel: string, hear: (message: unknown) => void) => void
}

/** Subscribes to the channels. Returns false if the runtime has none. */
export const subscribe = (): boolean => {
  const hooks = builtin<Execution & { readonly AsyncLocalStorage: new() => Storage }>("node:async_hooks")
  const channels = builtin<Channels>("node:diagnostics_channel")
  if (hooks === undefined || channels === undefined) return false
  for (const [channel, hear] of listeners) {
    channels.subscribe(channel, (message) => {
      // Code around an attempt may have none open, and then nothing is of interest.
      const place = here()
      if (place === undefined && open.size === 0 && !mayHaveQueued()) return
      try {
        hear(asMessage(message), place)
      } catch {
        // What cannot be read may be anything.
        recordOf(place)?.blind()
        blindAll()
      }
    })
  }
  for (const [channel, hear] of sequels) {
    channels.subscribe(channel, (message) => {
      const { request = asMessage(message).stream } = asMessage(message)
      const requests = request?.[seen]
      if (requests === undefined) return
      attempt(() => {
        for (const one of requests) hear(one, asMessage(message))
      })
    })
  }
  for (const channel of turns) channels.subscribe(channel, noteGoingOn)
  carryBy(new hooks.AsyncLocalStorage())
  toldBy(hooks)
  return true
}

// The types of Node's modules are not part of this package.
const builtin = <Module>(name: string): Module | undefined => {
  const process = globalAt("process")
  const get = at(process, "getBuiltinModule")
  return typeof get === "function" ? get.call(process, name) as Module | undefined : undefined
}

/** The parts of Node's messages that are read here. No message has all of them. */
interface Message {
  readonly request?: Request
  readonly response?: { readonly statusCode?: number; readonly status?: number }
  readonly socket?: HttpSocket
  readonly stream?: Noted
  readonly headers?: string | Readonly<Record<string, unknown>>
  readonly error?: unknown
}

interface Request extends Noted {
  readonly method?: string
  readonly origin?: string | URL
  readonly path?: string
  readonly protocol?: string
  readonly upgrade?: unknown
  readonly headers?: unknown
  readonly socket?: Socket | null
  readonly getHeaders?: () => Readonly<Record<string, unknown>>
  readonly getHeader?: (name: string) => unknown
  readonly once?: (event: string, listener: (socket: Socket) => void) => unknown
}

interface URL {
  readonly toString: () => string
}

interface Socket extends HttpSocket {
  readonly connecting?: boolean
  readonly encrypted?: boolean
  readonly secureConnecting?: boolean
  readonly once: (event: string, listener: () => void) => unknown
}

// Node's messages have no types.
const asMessage = (message: unknown): Message => message as Message

/** A request of Node's, with what is noted of it: one for each record. A property is much cheaper than a `WeakMap`. */
interface Noted {
  [seen]?: ReadonlyArray<SeenRequest>
}

const seen = Symbol("@fallible/core/seen")

/** True in the step in which undici opens a connection: the next socket carries HTTP. */
let isConnecting = false

/** True in the step in which undici sends a request over HTTP/2: the next stream is that request, noted already. */
let isSendingStream = false

type Hear = (message: Message, here: Place | undefined) => void

/** What is done when something begins. */
const listeners: ReadonlyArray<readonly [channel: string, hear: Hear]> = [
  ["undici:request:create", ({ request }, here) => {
    if (request === undefined) return
    if (isUpgrade(request.upgrade)) recordOf(here)?.blind()
    const { headers, method = "GET" } = request
    begin(request, new Begun(method, urlOfUndici(request), headers, queueCheck(here)), here)
  }],
  ["undici:client:beforeConnect", () => {
    isConnecting = true
    afterThisStep(() => void (isConnecting = false))
  }],
  ["undici:client:connected", ({ socket }) => claim(socket)],
  ["undici:client:sendHeaders", ({ headers, socket }) => {
    claim(socket)
    if (typeof headers !== "string" || !/^:/m.test(headers)) return
    isSendingStream = true
    afterThisStep(() => void (isSendingStream = false))
  }],
  // Node 20 reports a request on the second of these channels only.
  ...["http.client.request.created", "http.client.request.start"].map((channel): readonly [string, Hear] => [
    channel,
    ({ request }, here) => {
      if (request === undefined || request[seen] !== undefined) return
      if (here !== undefined) {
        if (isUpgrade(request.getHeader?.("upgrade"))) recordOf(here)?.blind()
        onSocket(request, claim)
      }
      const { method = "GET" } = request
      for (const one of begin(request, new Begun(method, urlOfHttp(request), request.getHeaders?.()), here)) {
        onSocket(request, (socket) => onConnected(socket, () => void (one.sent = true)))
      }
    }
  ]),
  ["http2.client.stream.created", ({ headers = {}, stream }, here) => {
    const isUndicis = isSendingStream
    isSendingStream = false
    if (stream === undefined || isUndicis || typeof headers === "string") return
    const url = () => `${text(headers[":scheme"])}://${text(headers[":authority"])}${text(headers[":path"])}`
    const method = text(headers[":method"]) || "GET"
    for (const one of begin(stream, new Begun(method, url, headers), here)) one.sent = true
  }],
  ["net.client.socket", ({ socket }, here) => {
    if (isConnecting) {
      isConnecting = false
      claim(socket)
    } else if (socket !== undefined) recordOf(here)?.addSocket(socket)
  }],
  ["udp.socket", (_, here) => recordOf(here)?.blind()],
  ["child_process", (_, here) => recordOf(here)?.blind()],
  ["worker_threads", (_, here) => recordOf(here)?.blind()]
]

/** What becomes of a request that was noted. */
const sequels: ReadonlyArray<readonly [channel: string, hear: (request: SeenRequest, message: Message) => void]> = [
  ["undici:client:sendHeaders", (request) => void (request.sent = true)],
  ["undici:request:headers", (request, { response }) => request.answer(response?.statusCode ?? 0)],
  // Undici 6 does not report when it sends a request over HTTP/2.
  ["undici:request:error", (request, { error }) => request.fail(request.sent || !provesUnsent(error))],
  ["http.client.response.finish", (request, { response }) => request.answer(response?.statusCode ?? 0)],
  ["http.client.request.error", (request) => request.fail()],
  ["http2.client.stream.finish", (request, { headers = {} }) => {
    if (typeof headers !== "string") request.answer(Number(headers[":status"] ?? 0))
  }],
  ["http2.client.stream.error", (request) => request.fail()]
]

/** The events after which undici goes on with its queue in the same step. */
const turns: ReadonlyArray<string> = [
  "undici:client:connected",
  "undici:client:connectError",
  "undici:request:bodySent",
  "undici:request:trailers",
  "undici:request:error"
]

const text = (value: unknown): string => typeof value === "string" ? value : ""

const isUpgrade = (value: unknown): boolean => typeof value === "string" && value !== "" || value === true

const urlOfUndici = ({ origin, path = "" }: Request) => () =>
  /^[a-z]+:\/\//i.test(path) ? path : `${origin?.toString() ?? ""}${path}`

const urlOfHttp = (request: Request) => () => {
  const { path = "", protocol = "" } = request
  return /^[a-z]+:\/\//i.test(path) ? path : `${protocol}//${text(request.getHeader?.("host"))}${path}`
}

// Notes a request in the records of the attempts that it belongs to.
const begin = (raw: Noted, begun: Begun, here: Place | undefined): ReadonlyArray<SeenRequest> => {
  const requests: Array<SeenRequest> = []
  for (const owner of ownersOf(begun, here)) {
    if (owner instanceof OwnRequest && !owner.isReported) {
      owner.isReported = true
      for (const request of owner.requests) noteKey(request, owner.record, begun)
      requests.push(...owner.requests)
    } else {
      const request = beginOf(owner, begun)
      if (request !== undefined) requests.push(request)
    }
  }
  if (requests.length > 0 || here !== undefined) raw[seen] = requests
  return requests
}

const beginOf = (owner: Place, begun: Begun): SeenRequest | undefined => {
  const record = recordOf(owner)
  const request = record?.begin(begun)
  if (record === undefined || request === undefined) return undefined
  noteKey(request, record, begun)
  return request
}

const noteKey = (request: SeenRequest, { attempt }: WireRecord, begun: Begun): void =>
  request.noteKey(attempt, (key) => begun.carries(key))

const onSocket = (request: Request, hear: (socket: Socket) => void): void => {
  const { socket } = request
  if (socket !== undefined && socket !== null) hear(socket)
  else request.once?.("socket", hear)
}

// A TLS connection carries nothing before both sides have agreed on it.
const onConnected = (socket: Socket, hear: () => void): void => {
  if (socket.connecting !== true && socket.secureConnecting !== true) hear()
  else socket.once(socket.encrypted === true ? "secureConnect" : "connect", hear)
}
