/*
 * Watches the requests of handlers. Node reports the requests of `fetch`, undici, `node:http` and `node:http2` on its
 * diagnostics channels, and an `AsyncLocalStorage` says which attempt each belongs to. Both come from
 * `process.getBuiltinModule`, so that this package imports nothing of Node's. Where they are missing, nothing is seen, and
 * only the `fetch` of a handler's context records its requests.
 */
import * as Predicate from "effect/Predicate"
import { attempted } from "../value/untrusted.ts"
import { byMethod } from "./actingRequests.ts"
import { at, globalAt, reportsFetch } from "./runtime.ts"
import { claim, endedWith, mayHaveQueued, open, type SeenRequest, WireRecord } from "./wireRecord.ts"

/**
 * What the running code belongs to: an attempt, a fiber that may become one, or one request of the context's `fetch`. `null`
 * for code whose requests say nothing about an attempt, such as a request to a model.
 */
type Place = WireRecord | Slot | OwnRequest | null

/** The place of a fiber that is started before its attempt begins. */
export class Slot {
  record: WireRecord | undefined = undefined
  /** The attempt around the fiber. */
  readonly outer = recordHere()
}

/** A request that is already noted. The first request that Node reports inside is the same one. */
export class OwnRequest {
  readonly record: WireRecord
  readonly requests: ReadonlyArray<SeenRequest>
  /** True once Node has reported the request. */
  isReported = false

  constructor(record: WireRecord, requests: ReadonlyArray<SeenRequest>) {
    this.record = record
    this.requests = requests
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

/**
 * Notes a request that is known from elsewhere: in its record, and in that of the running code. A client may have been made
 * in one call, and be used in another.
 */
export const beginIn = (
  record: WireRecord | undefined,
  method: string,
  url: () => string
): ReadonlyArray<SeenRequest> =>
  Array.from(new Set([record, recordHere()])).flatMap((record) => {
    const request = record?.begin(method, url)
    if (request === undefined) return []
    request.isOwn = true
    return [request]
  })

/** True if the requests of the running code say nothing about the attempt that it belongs to. */
export const isUnwatched = (): boolean => storage !== undefined && storage !== "missing" && storage.getStore() === null

/** True if requests can be attributed to the code that sends them. */
export const isWatching = (): boolean => installed() !== undefined

/** True if the running code belongs to an attempt whose requests are watched. */
export const isInside = (): boolean => recordHere() !== undefined

/** Returns the record of the attempt that the running code belongs to, if the runtime can tell. */
export const recordHere = (): WireRecord | undefined => recordOf(place())

/** Returns the record of the attempt around the one that begins here, if the runtime can tell. */
export const recordAround = (): WireRecord | undefined => {
  const here = place()
  return here instanceof Slot ? here.outer : recordOf(here)
}

const place = (): Place | undefined =>
  storage === undefined || storage === "missing" ? undefined : storage.getStore() ?? undefined

const recordOf = (place: Place | undefined): WireRecord | undefined =>
  place === undefined || place === null
    ? undefined
    : place instanceof WireRecord
    ? place
    : place instanceof Slot
    ? place.record ?? place.outer
    : place.record

/**
 * True if silence can be heard: all requests of this process are reported, also those of `fetch`, which nobody has
 * replaced.
 */
export const hearsSilence = (): boolean => installed() !== undefined && reportsFetch() && isNodesFetch() && !isMocked()

// A mock, an instrumented `fetch` and that of another library have another source.
const isNodesFetch = (): boolean => /internal\/deps\/undici/.test(String(globalAt("fetch")))

// Version 8 of undici has a second place for the dispatcher, and wraps it for the first one.
const isMocked = (): boolean =>
  ["undici.globalDispatcher.1", "undici.globalDispatcher.2"].some((name) =>
    at(at(Reflect.get(globalThis, Symbol.for(name)), "constructor"), "name") === "MockAgent"
  )

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
      if (here === undefined && open.size === 0 && !mayHaveQueued()) return
      try {
        hear(asMessage(message), here)
      } catch {
        // What cannot be read may be anything.
        recordOf(here)?.blind()
        blindAll()
      }
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
  readonly headers?: string | Readonly<Record<string, unknown>>
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

/** True while undici sends a request over HTTP/2: the next stream is that request, which is noted already. */
let isSendingStream = false

// In the same step, the socket or the stream is made.
const afterThisStep = (run: () => void): void => void Promise.resolve().then(run)

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
      if (request === undefined || seen.has(request)) return
      if (here !== undefined) {
        if (isUpgrade(request.getHeader?.("upgrade"))) recordOf(here)?.blind()
        onSocket(request, claim)
      }
      const requests = begin(request, request.method ?? "GET", urlOfHttp(request), request.getHeaders?.(), here, no)
      for (const one of requests) onSocket(request, (socket) => onConnected(socket, () => void (one.sent = true)))
    }
  ]),
  ["http2.client.stream.created", ({ headers = {}, stream }, here) => {
    const isUndicis = isSendingStream
    isSendingStream = false
    if (stream === undefined || isUndicis || typeof headers === "string") return
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
  ["http2.client.stream.finish", (request, { headers = {} }) => {
    if (typeof headers !== "string") request.answer(Number(headers[":status"] ?? 0))
  }],
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
  const requests = ownersOf(headers, method.toUpperCase(), url, here, isForeign).flatMap((owner) => {
    if (owner instanceof OwnRequest && !owner.isReported) {
      owner.isReported = true
      return owner.requests
    }
    const record = recordOf(owner)
    const request = record?.begin(method.toUpperCase(), url)
    if (record === undefined || request === undefined) return []
    const { sentKey } = record.attempt
    request.isKeyed = sentKey !== undefined && carries(headers, sentKey)
    if (!request.isKeyed) record.attempt.hearUnkeyed(request)
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
  url: () => string,
  here: Place | undefined,
  isForeign: () => boolean
): ReadonlyArray<Place> => {
  const key = recordOf(here)?.attempt.sentKey
  const isOurs = here !== undefined && key !== undefined && carries(headers, key)
  // Most requests only read.
  if (!isOurs && !actsForAny(method, url, recordOf(here))) return here === undefined ? [] : [here]
  let named: Array<Place> = isOurs ? [here] : []
  let longest = isOurs ? key.length : 0
  for (const record of open) {
    const { sentKey } = record.attempt
    if (sentKey === undefined || sentKey === key || sentKey.length < longest || !carries(headers, sentKey)) continue
    if (sentKey.length > longest) named = []
    longest = sentKey.length
    named.push(record)
  }
  if (named.length === 0 && mayHaveQueued()) named.push(...valuesOf(headers).flatMap((value) => endedWith(value) ?? []))
  // What has another's key is not ours.
  if (named.length === 0) overshadow(method, url, recordOf(here))
  const isHere = here !== undefined && !named.some((owner) => recordOf(owner) === recordOf(here))
  if (named.length > 0) return isHere && !isForeign() ? [...named, here] : named
  if (!isForeign()) return isHere ? [here] : []
  blindFor(method, url())
  return []
}

const actsForAny = (method: string, url: () => string, sender: WireRecord | undefined): boolean => {
  if (sender?.acts(method, url) === true || byMethod(method, url) && mayHaveQueued()) return true
  for (const record of open) if (record.acts(method, url)) return true
  return false
}

const overshadow = (method: string, url: () => string, sender: WireRecord | undefined): void => {
  for (const record of open) if (record !== sender && record.acts(method, url)) record.isOvershadowed = true
}

const blindAll = (): void => {
  for (const record of open) record.blind()
}

// A request that may be anybody's blinds all, unless the context's `fetch` has sent it: that notes its answer itself.
const blindFor = (method: string, url: string): void => {
  const records = Array.from(open)
  const isNoted = records.some((record) => record.awaits(method, url))
  for (const record of records) if (!isNoted || !record.isOwnOnly) record.blind()
}

const carries = (headers: unknown, key: string): boolean => valuesOf(headers).some((value) => hasKey(value, key))

// Undici has headers as a list of names and values, or as one text; Node as an object.
const valuesOf = (headers: unknown): ReadonlyArray<string> => {
  if (typeof headers === "string") return headers.split("\r\n").map((line) => line.replace(/^[^:]*: /, ""))
  const values: ReadonlyArray<unknown> = Array.isArray(headers)
    ? headers
    : Predicate.isObject(headers)
    ? Object.values(headers)
    : []
  return values.filter((value) => typeof value === "string")
}

/** True if the value of a header is the key, or contains it. A short key may occur in a value by chance. */
export const hasKey = (value: unknown, key: string): boolean =>
  typeof value === "string" && (value === key || key.length >= 16 && holds(value, key))

// True for the key with something before or after it, such as "key-2": but not for "key2", which may be another call's.
const holds = (text: string, key: string): boolean => {
  for (let start = text.indexOf(key); start >= 0; start = text.indexOf(key, start + 1)) {
    if (!isWordLike(text[start - 1]) && !isWordLike(text[start + key.length])) return true
  }
  return false
}

const isWordLike = (character: string | undefined): boolean => character !== undefined && /[a-z\d]/i.test(character)

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

interface CallSite {
  readonly getFunctionName: () => string | null
}

interface StackTraces {
  prepareStackTrace?: ((error: unknown, sites: ReadonlyArray<CallSite>) => unknown) | undefined
  stackTraceLimit?: number
  readonly captureStackTrace?: (target: object) => void
}

// V8's functions are not part of ECMAScript.
const asStackTraces = (error: unknown): StackTraces => error as StackTraces

// A pool's listener, whose name a bundler may have dropped, dispatches the next request.
const isHeardEvent = (names: ReadonlyArray<string>, index: number): boolean =>
  names[index] === "dispatch" && names[index + 2] === "emit"

// True if the running code was called by a pool that takes a request out of its queue. From version 8, undici does that in
// the context of the code that made the request.
const isOutOfQueue = (): boolean => {
  const names = callers() ??
    Array.from(String(new Error().stack).matchAll(/ at (?:\S+\.)?(\S+)/g), ([, name]) => name ?? "")
  return names.some((name, index) => /^\[?onDrain\]?$/.test(name) || isHeardEvent(names, index)) &&
    !names.includes("runInAsyncScope")
}

// The names of the functions on the stack, which are cheaper to read than its text. A program may have frozen `Error`.
const callers = (): ReadonlyArray<string> | undefined => {
  const traces = asStackTraces(Error)
  const { prepareStackTrace, stackTraceLimit } = traces
  const target: { readonly stack?: unknown } = {}
  let names: ReadonlyArray<string> | undefined
  try {
    traces.prepareStackTrace = (_, sites) => {
      names = sites.map((site) => site.getFunctionName() ?? "")
    }
    traces.stackTraceLimit = 20
    traces.captureStackTrace?.(target)
    void target.stack
  } catch {
    names = undefined
  }
  attempted(() => {
    traces.prepareStackTrace = prepareStackTrace
    traces.stackTraceLimit = stackTraceLimit ?? 10
  })
  return names
}
