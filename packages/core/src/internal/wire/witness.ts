/*
 * Watches the requests of handlers. Node reports the requests of `fetch`, undici, `node:http` and `node:http2` on its
 * diagnostics channels, and an `AsyncLocalStorage` says which attempt each belongs to. Both come from
 * `process.getBuiltinModule`, so that this package imports nothing of Node's. Where they are missing, nothing is seen, and
 * only the `fetch` of a handler's context records its requests.
 */
import * as Predicate from "effect/Predicate"
import { attempted } from "../value/untrusted.ts"
import { claim, open, type SeenRequest, WireRecord } from "./wireRecord.ts"

/**
 * What the running code belongs to: an attempt, a fiber that may become one, or one request of the context's `fetch`. `null`
 * for code whose requests say nothing about an attempt, such as a request to a model.
 */
type Place = WireRecord | Slot | OwnRequest | null

/** The place of a fiber that is started before its attempt begins. */
export class Slot {
  record: WireRecord | undefined = undefined
}

/** A request that is already noted. The first request that Node reports inside is the same one. */
export class OwnRequest {
  readonly record: WireRecord
  readonly request: SeenRequest
  /** True once Node has reported the request. */
  isReported = false

  constructor(record: WireRecord, request: SeenRequest) {
    this.record = record
    this.request = request
  }
}

interface Storage {
  readonly run: <A>(place: Place, run: () => A) => A
  readonly getStore: () => Place | undefined
}

let storage: Storage | undefined | "missing" = undefined

const installed = (): Storage | undefined => {
  storage ??= attempted(install) ?? "missing"
  return storage === "missing" ? undefined : storage
}

/** Makes the record of an attempt the one that requests are noted in. */
export const watch = (record: WireRecord): void => {
  if (installed() !== undefined) open.add(record)
}

/** Runs code, whose requests are then noted in the record. */
export const within = <A>(place: Place | undefined, run: () => A): A =>
  place === undefined || storage === undefined || storage === "missing" ? run() : storage.run(place, run)

/** Runs code whose requests say nothing about the attempt that it belongs to. */
export const unwatched = <A>(run: () => A): A => isInside() ? within(null, run) : run()

/** True if requests can be attributed to the code that sends them. */
export const isWatching = (): boolean => installed() !== undefined

/** True if the running code belongs to an attempt whose requests are watched. */
export const isInside = (): boolean => recordHere() !== undefined

/** Returns the record of the attempt that the running code belongs to, if the runtime can tell. */
export const recordHere = (): WireRecord | undefined => recordOf(place())

const place = (): Place | undefined =>
  storage === undefined || storage === "missing" ? undefined : storage.getStore() ?? undefined

const recordOf = (place: Place | undefined): WireRecord | undefined =>
  place instanceof WireRecord || place == null ? place ?? undefined : place.record

/**
 * True if silence can be heard: Node reports each request of this process. Bun, Deno and others have the same channels,
 * but do not report those of `fetch`; nor does Node those of a `fetch` that a test has replaced.
 */
export const hearsSilence = (): boolean => installed() !== undefined && isNode() && isNodesFetch() && !isMocked()

const isNode = (): boolean => {
  const versions = at(globalAt("process"), "versions")
  return at(versions, "node") !== undefined && at(versions, "bun") === undefined &&
    at(versions, "deno") === undefined && globalAt("WebSocketPair") === undefined
}

// A mock, an instrumented `fetch` and that of another library have another source.
const isNodesFetch = (): boolean => /internal\/deps\/undici/.test(String(globalAt("fetch")))

const isMocked = (): boolean =>
  ["undici.globalDispatcher.1", "undici.globalDispatcher.2"].some((name) =>
    at(at(Reflect.get(globalThis, Symbol.for(name)), "constructor"), "name") === "MockAgent"
  )

const globalAt = (key: string): unknown => at(globalThis, key)

const at = (value: unknown, key: string): unknown =>
  attempted(() => Predicate.hasProperty(value, key) ? value[key] : undefined)

// -----------------------------------------------------------------------------
// Node's channels
// -----------------------------------------------------------------------------

interface Channels {
  readonly subscribe: (channel: string, hear: (message: unknown) => void) => void
}

const install = (): Storage | undefined => {
  const hooks = builtin<{ readonly AsyncLocalStorage: new() => Storage }>("node:async_hooks")
  const channels = builtin<Channels>("node:diagnostics_channel")
  if (hooks === undefined || channels === undefined) return undefined
  for (const [channel, hear] of listeners) {
    channels.subscribe(channel, (message) => {
      // Code around an attempt may have none open, and then nothing is of interest.
      const here = place()
      if (here !== undefined || open.size > 0) attempted(() => hear(asMessage(message), here))
    })
  }
  for (const [channel, hear] of sequels) {
    channels.subscribe(channel, (message) => {
      const { request = asMessage(message).stream } = asMessage(message)
      const requests = request === undefined ? undefined : seen.get(request)
      if (requests !== undefined) attempted(() => requests.forEach((one) => hear(one, asMessage(message))))
    })
  }
  return new hooks.AsyncLocalStorage()
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
  readonly socket?: object
  readonly stream?: object
  readonly headers?: Readonly<Record<string, unknown>>
}

interface Request {
  readonly method?: string
  readonly origin?: string | URL
  readonly path?: string
  readonly protocol?: string
  readonly upgrade?: unknown
  readonly headers?: unknown
  readonly socket?: object | null
  readonly getHeaders?: () => Readonly<Record<string, unknown>>
  readonly getHeader?: (name: string) => unknown
  readonly once?: (event: string, listener: (socket: Socket) => void) => unknown
}

interface URL {
  readonly toString: () => string
}

interface Socket {
  readonly connecting?: boolean
  readonly encrypted?: boolean
  readonly secureConnecting?: boolean
  readonly once: (event: string, listener: () => void) => unknown
}

// Node's messages have no types.
const asMessage = (message: unknown): Message => message as Message

/** The requests that are noted for a request of Node's: one for each record. */
const seen = new WeakMap<object, ReadonlyArray<SeenRequest>>()

/** True while undici opens a connection: the next socket carries HTTP. */
let isConnecting = false

type Hear = (message: Message, here: Place | undefined) => void

/** What is done when something begins. */
const listeners: ReadonlyArray<readonly [channel: string, hear: Hear]> = [
  ["undici:request:create", ({ request }, here) => {
    if (request === undefined) return
    if (isUpgrade(request.upgrade)) recordOf(here)?.blind()
    // A full pool creates a queued request in the context of the request that frees a connection.
    begin(request, request.method ?? "GET", urlOfUndici(request), request.headers, here, isOutOfQueue)
  }],
  ["undici:client:beforeConnect", () => {
    isConnecting = true
    // The socket is made in this same step.
    void Promise.resolve().then(() => {
      isConnecting = false
    })
  }],
  ["undici:client:connected", ({ socket }) => claim(socket)],
  ["undici:client:sendHeaders", ({ socket }) => claim(socket)],
  // Node 20 reports a request on the second of these channels only.
  ...["http.client.request.created", "http.client.request.start"].map((channel): readonly [string, Hear] => [
    channel,
    ({ request }, here) => {
      if (request === undefined || here === undefined && !hasKeyOfAny(request.getHeaders?.())) return
      if (seen.has(request)) return
      if (isUpgrade(request.getHeader?.("upgrade"))) recordOf(here)?.blind()
      onSocket(request, claim)
      const requests = begin(request, request.method ?? "GET", urlOfHttp(request), request.getHeaders?.(), here, no)
      for (const one of requests) onSocket(request, (socket) => onConnected(socket, () => void (one.sent = true)))
    }
  ]),
  ["http2.client.stream.created", ({ headers = {}, stream }, here) => {
    if (stream === undefined) return
    const url = () => `${text(headers[":scheme"])}://${text(headers[":authority"])}${text(headers[":path"])}`
    for (const one of begin(stream, text(headers[":method"]) || "GET", url, headers, here, no)) one.sent = true
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
  ["undici:request:error", (request) => request.fail()],
  ["http.client.response.finish", (request, { response }) => request.answer(response?.statusCode ?? 0)],
  ["http.client.request.error", (request) => request.fail()],
  ["http2.client.stream.finish", (request, { headers = {} }) => request.answer(Number(headers[":status"] ?? 0))],
  ["http2.client.stream.error", (request) => request.fail()]
]

const text = (value: unknown): string => typeof value === "string" ? value : ""

const no = (): boolean => false

const isUpgrade = (value: unknown): boolean => typeof value === "string" && value !== "" || value === true

const urlOfUndici = ({ origin, path = "" }: Request) => () =>
  /^[a-z]+:\/\//i.test(path) ? path : `${origin?.toString() ?? ""}${path}`

const urlOfHttp = (request: Request) => () => {
  const { path = "", protocol = "" } = request
  return /^[a-z]+:\/\//i.test(path) ? path : `${protocol}//${text(request.getHeader?.("host"))}${path}`
}

// -----------------------------------------------------------------------------
// Whose request it is
// -----------------------------------------------------------------------------

// Notes a request in the record of the attempt that it belongs to.
const begin = (
  raw: object,
  method: string,
  url: () => string,
  headers: unknown,
  here: Place | undefined,
  isForeign: () => boolean
): ReadonlyArray<SeenRequest> => {
  const requests = ownersOf(headers, method.toUpperCase(), here, isForeign).flatMap((owner) => {
    if (owner instanceof OwnRequest && !owner.isReported) {
      owner.isReported = true
      return [owner.request]
    }
    const record = recordOf(owner)
    const request = record?.begin(method.toUpperCase(), url)
    if (record === undefined || request === undefined) return []
    const { sentKey } = record.attempt
    if (sentKey === undefined || !carries(headers, sentKey)) record.attempt.hearUnkeyed(request)
    return [request]
  })
  if (requests.length > 0 || here !== undefined) seen.set(raw, requests)
  return requests
}

// A key in a header says whose request it is, whatever queue it was in; a longer key may contain a shorter one, and then
// the longer one is meant. Without a key, a request out of a queue may be anybody's.
const ownersOf = (
  headers: unknown,
  method: string,
  here: Place | undefined,
  isForeign: () => boolean
): ReadonlyArray<Place> => {
  const key = recordOf(here)?.attempt.sentKey
  const isOurs = here !== undefined && key !== undefined && carries(headers, key)
  if (!isOurs && isReading(method)) return here === undefined ? [] : [here]
  let named: Array<Place> = isOurs ? [here] : []
  let longest = isOurs ? key.length : 0
  for (const record of open) {
    const { sentKey } = record.attempt
    if (sentKey === undefined || sentKey === key || sentKey.length < longest || !carries(headers, sentKey)) continue
    if (sentKey.length > longest) named = []
    longest = sentKey.length
    named.push(record)
  }
  if (named.length > 0) return named
  if (isForeign()) {
    for (const record of open) record.blind()
    return []
  }
  return here === undefined ? [] : [here]
}

const isReading = (method: string): boolean => method === "GET" || method === "HEAD"

const hasKeyOfAny = (headers: unknown): boolean =>
  Array.from(open).some(({ attempt: { sentKey } }) => sentKey !== undefined && carries(headers, sentKey))

// Undici has headers as a list of names and values, or as one text; Node as an object.
const carries = (headers: unknown, key: string): boolean => {
  if (typeof headers === "string") {
    return headers.split("\r\n").some((line) => hasKey(line.replace(/^[^:]*: /, ""), key))
  }
  if (Array.isArray(headers)) return headers.some((value) => hasKey(value, key))
  return Predicate.isObject(headers) && Object.values(headers).some((value) => hasKey(value, key))
}

/** True if the value of a header is the key, or contains it. A short key may occur in a value by chance. */
export const hasKey = (value: unknown, key: string): boolean =>
  typeof value === "string" && (value === key || key.length >= 16 && value.includes(key))

const onSocket = (request: Request, hear: (socket: Socket) => void): void => {
  const { socket } = request
  if (socket !== undefined && socket !== null) hear(asSocket(socket))
  else request.once?.("socket", hear)
}

const asSocket = (socket: object): Socket => socket as Socket

// A TLS connection carries nothing before both sides have agreed on it.
const onConnected = (socket: Socket, hear: () => void): void => {
  if (socket.connecting !== true && socket.secureConnecting !== true) hear()
  else socket.once(socket.encrypted === true ? "secureConnect" : "connect", hear)
}

/** The error whose stack is read. */
interface Stack {
  readonly stack?: unknown
}

interface CallSite {
  readonly getFunctionName: () => string | null
}

interface StackTraces {
  prepareStackTrace?: ((error: unknown, sites: ReadonlyArray<CallSite>) => unknown) | undefined
  stackTraceLimit?: number
  readonly captureStackTrace?: (target: object) => void
}

// V8's functions are not part of ECMAScript.
const asStackTraces = (error: object): StackTraces => error as StackTraces

// True if the running code was called by a pool that takes a request out of its queue. From version 8, undici does that in
// the context of the code that made the request.
const isOutOfQueue = (): boolean => {
  const traces = asStackTraces(Error)
  const { prepareStackTrace, stackTraceLimit } = traces
  try {
    traces.prepareStackTrace = (_, sites) => sites.map((site) => site.getFunctionName() ?? "")
    traces.stackTraceLimit = 20
    const target: Stack = {}
    traces.captureStackTrace?.(target)
    const names: ReadonlyArray<unknown> = Array.isArray(target.stack) ? target.stack : []
    return names.some((name) => /drain/i.test(String(name))) && !names.includes("runInAsyncScope")
  } finally {
    traces.prepareStackTrace = prepareStackTrace
    traces.stackTraceLimit = stackTraceLimit ?? 10
  }
}
