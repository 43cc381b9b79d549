/*
 * The requests of one attempt of a tool that acts, and what they prove. A request counts from its beginning: one whose
 * answer has not come yet may have acted.
 */
import type { WireRequest } from "../../WireRequest.ts"
import { both, type Effects } from "../failure/effects.ts"
import { Latest } from "../value/latest.ts"
import { cut } from "../value/text.ts"
import { type ActingRequests, byMethod } from "./actingRequests.ts"
import { reportsFetch } from "./runtime.ts"

/** The attempt that a record belongs to. */
export interface Attempt {
  /** The idempotency key of the call; `undefined` if the handler has not read it, so that it cannot have sent it. */
  readonly sentKey: string | undefined
  /** The time of the `Clock`, in milliseconds. */
  readonly now: number
  /** What the attempt has done so far. While it runs, that is not known. */
  readonly effects: Effects
  /** Hears of a request that began after the attempt had ended. */
  readonly hearLate: (request: WireRequest) => void
  /** True if it belongs to the call with this id, or to one that runs inside that call. */
  readonly isInside: (call: string) => boolean
  /** Hears of a request that left without the call's key. */
  readonly hearUnkeyed: (request: SeenRequest) => void
}

/**
 * What the requests of an attempt prove, if it has no answer:
 *
 * - `"acted"`: one of them may have acted. It was answered with a success or a server error, or not answered.
 * - `"blind"`: not all requests can be seen, for example because a database's connection was opened.
 * - `"refused"`: none has acted, and a service has refused one for good.
 * - `"unserved"`: none has acted. They did not leave, or a service was too busy.
 * - `"silent"`: no request that acts was seen.
 */
export type Verdict = "acted" | "blind" | "refused" | "unserved" | "silent"

let begun = 0

/** One request. What becomes of it is noted as it happens. */
export class SeenRequest {
  readonly method: string
  readonly at: number
  readonly isLate: boolean
  readonly url: () => string
  /** True once the request may have left this process. */
  sent = false
  status: number | undefined = undefined
  /** True once the request has failed without an answer. */
  hasFailed = false
  /** True if it does not act by the definition of its tool. */
  isPassive = false
  /** The place of the request among those of this process. */
  readonly number = ++begun
  /** True if it carries the key of the call. */
  isKeyed = false
  /** True if the context's `fetch` sends it, or the program has noted it: its end is noted, too. */
  isOwn = false

  constructor(method: string, url: () => string, at: number, isLate: boolean) {
    this.method = method
    this.url = url
    this.at = at
    this.isLate = isLate
  }

  /** Notes an answer. An interim one, such as 103, and what is no status say nothing. */
  answer(status: number): void {
    if (!Number.isInteger(status) || status < 200 || status > 599) return
    // A client may repeat a request under one note. What may have acted once stays so.
    const mayHaveActed = (this.status !== undefined || this.hasFailed) && endOf(this, false) === "acted"
    this.sent = true
    if (!mayHaveActed) this.status = status
  }

  /** @param wasSent whether the request may have left */
  fail(wasSent = this.sent): void {
    this.sent ||= wasSent
    if (this.status === undefined) this.hasFailed = true
  }

  /** Notes whether it carries the key of the call. */
  noteKey(attempt: Attempt, carries: (key: string) => boolean): void {
    const { sentKey } = attempt
    this.isKeyed = sentKey !== undefined && carries(sentKey)
    if (!this.isKeyed && !this.isPassive) attempt.hearUnkeyed(this)
  }

  /** True if it has no answer yet. */
  get isWaiting(): boolean {
    return this.status === undefined && !this.hasFailed
  }

  /** True if the context's `fetch` waits for its answer, and sends it to this address. */
  isAwaitedFrom(method: string, url: string): boolean {
    return this.isOwn && this.isWaiting && this.method === method &&
      this.url().replace(/#.*/, "") === url
  }

  /** The request as data. */
  get data(): WireRequest {
    const { at, isKeyed, isLate, isPassive, method, sent, status } = this
    return {
      method: cut(method, 20),
      url: cut(shownUrl(this.url()), 200),
      sent: sent || !this.hasFailed,
      ...(status === undefined ? {} : { status }),
      ...(isPassive ? { acts: false } : {}),
      ...(isKeyed ? { keyed: true } : {}),
      at,
      ...(isLate ? { late: true } : {})
    }
  }
}

// The path may hold a secret, such as the token of a bot.
const shownUrl = (url: string): string => {
  const [, origin = "", path = ""] = /^([a-z][a-z\d+.-]*:\/\/[^/?#]*)?([^?#]*)/i.exec(url) ?? []
  return `${origin.replace(/\/\/[^/]*@/, "//")}${withoutSecretParts(path)}`
}

/** The records of all attempts that have not ended. */
export const open = new Set<WireRecord>()

/** Attempts that did nothing, by the keys that they have sent. A pool or a queue may send a request later. */
const ended = new Latest<string, WeakRef<WireRecord>>(1_000)

/** Returns the ended attempt that has sent a key. */
export const endedWith = (key: string): WireRecord | undefined => ended.get(key)?.deref()

/** True if a request may still be on its way from a pool's queue. */
export const mayHaveQueued = (): boolean => ended.size > 0

/** Those of tools that name the requests that act. */
export const patterned = new Set<WireRecord>()

/** A request that begins. Its method is in upper case. */
interface Request {
  readonly method: string
  readonly url: () => string
}

export class WireRecord {
  #requests: Array<SeenRequest> | undefined = undefined
  readonly acting: ActingRequests
  readonly attempt: Attempt
  /**
   * True if a request of another attempt, or of none, acted for this tool meanwhile. A queue, a worker or a cache may have
   * sent it for this attempt, too.
   */
  isOvershadowed = false
  #sockets: Array<HttpSocket> | undefined = undefined
  #inner: Array<Attempt> | undefined = undefined
  /** Requests that do not act by the definition of the tool, although their method does more than read. */
  #others: Array<SeenRequest> | undefined = undefined
  #isBlind = false
  #isHeardLate = false
  isEnded = false

  /** @param acting which requests act */
  constructor(acting: ActingRequests, attempt: Attempt) {
    this.acting = acting
    this.attempt = attempt
  }

  /** Notes a request that begins. Returns `undefined` if it does not act. */
  begin({ method, url }: Request): SeenRequest | undefined {
    if (!this.acting(method, url)) {
      if (!this.isEnded && byMethod(method, url)) return this.#addOther(method, url)
      return undefined
    }
    const request = new SeenRequest(method, url, this.attempt.now, this.isEnded)
    if (!this.isEnded) (this.#requests ??= []).push(request)
    else if (!this.#isHeardLate) {
      // A timer or an exporter that the handler has started may send many.
      this.#isHeardLate = true
      this.attempt.hearLate(request.data)
    }
    return request
  }

  #addOther(method: string, url: () => string): SeenRequest {
    const other = new SeenRequest(method, url, this.attempt.now, false)
    other.isPassive = true
    const others = this.#others ??= []
    if (others.length < maxShown) others.push(other)
    return other
  }

  /** Notes that the handler does something that cannot be seen. */
  blind(): void {
    this.#isBlind = true
  }

  /** True if the context's `fetch` waits for an answer from there. */
  awaits(method: string, url: string): boolean {
    return this.#requests?.some((request) => request.isAwaitedFrom(method, url)) === true
  }

  /** True if requests were seen, and the context's `fetch` has sent them all. */
  get isOwnOnly(): boolean {
    return this.#requests?.every(({ isOwn }) => isOwn) === true
  }

  /** True if a request waits for its answer that acts for the tool of another attempt. */
  isWaitingFor(acting: ActingRequests): boolean {
    return this.#requests?.some((request) => request.isWaiting && acting(request.method, request.url)) === true
  }

  /** Notes a socket. Unless HTTP claims it, something else uses it, such as a database's driver. */
  addSocket(socket: HttpSocket): void {
    if (this.isEnded) return
    const sockets = this.#sockets ??= []
    sockets.push(socket)
  }

  /** Notes an attempt of a tool that the handler runs in a program of its own (`Effect.runPromise`). */
  addInner(attempt: Attempt): void {
    if (this.isEnded) return
    const inner = this.#inner ??= []
    inner.push(attempt)
  }

  /** What those tools have done. */
  get innerEffects(): Effects {
    return this.#inner?.reduce<Effects>((effects, attempt) => both(effects, attempt.effects), "none") ?? "none"
  }

  /** Ends the attempt. From now on, its requests are late. */
  end(): void {
    this.isEnded = true
    this.leave()
  }

  /** Remembers the ended attempt by its key. */
  remember(): void {
    const { sentKey } = this.attempt
    if (sentKey !== undefined) ended.set(sentKey, new WeakRef(this))
  }

  /** Forgets the earlier attempts with its key. Their call is done, so no request puts it in doubt any more. */
  forget(): void {
    const { sentKey } = ended.size === 0 ? {} : this.attempt
    if (sentKey !== undefined) ended.delete(sentKey)
  }

  /** Notes that nobody waits for the attempt any more, which may never end. */
  leave(): void {
    open.delete(this)
    if (this.acting !== byMethod) patterned.delete(this)
  }

  /** True if a request was seen that acts. */
  get isSpeaking(): boolean {
    return this.#requests !== undefined
  }

  /** True if there is something to show. */
  get hasData(): boolean {
    return this.#requests !== undefined || this.#others !== undefined
  }

  /**
   * Returns what the requests so far prove.
   *
   * @param isSentAgain whether the key may have been sent before: then a conflict may be about that earlier request
   * @param promisesOnly whether the tool promises that nothing but such requests acts
   */
  verdict(isSentAgain: boolean, promisesOnly: boolean): Verdict {
    let isRefused = false
    const requests = this.#requests ?? []
    for (const request of requests) {
      const end = endOf(request, isSentAgain)
      // A redirect leads to a request that may be none that the tool names.
      const isLost = isLeading(request) && (this.acting !== byMethod || request === requests.at(-1))
      if (end === "acted" || isLost) return "acted"
      isRefused ||= end === "refused"
    }
    if (this.#isBlind || this.#sockets?.some((socket) => socket[isClaimed] !== true) === true) return "blind"
    // Beside a request that was refused, another one may have acted that this runtime does not report.
    if (!reportsFetch() && !(promisesOnly && this.isOwnOnly)) return "silent"
    if (isRefused) return "refused"
    return this.isSpeaking ? "unserved" : "silent"
  }

  /** The first requests and the last, as data. */
  get data(): ReadonlyArray<WireRequest> {
    const requests = [...this.#requests ?? [], ...this.#others ?? []].toSorted((one, other) =>
      one.number - other.number
    )
    const shown = requests.length <= maxShown
      ? requests
      : [...requests.slice(0, maxShown / 2), ...requests.slice(-maxShown / 2)]
    return shown.map(({ data }) => data)
  }
}

/** How many requests of a call its events and its outcome have. */
export const maxShown = 20

const endOf = (
  { hasFailed, sent, status }: Pick<SeenRequest, "hasFailed" | "sent" | "status">,
  isSentAgain: boolean
): "acted" | "refused" | "unserved" => {
  if (status === undefined) return hasFailed && !sent ? "unserved" : "acted"
  if (status === 307 || status === 308 || unserved.has(status)) return "unserved"
  if (status < 400 || status === 408 || status >= 500) return "acted"
  return isSentAgain && (status === 409 || status === 422) ? "acted" : "refused"
}

/** True for the status of an answer that refuses a request for good, even if its key may have been sent before. */
export const isRefusal = (status: number): boolean =>
  endOf({ hasFailed: false, sent: true, status }, true) === "refused"

// These redirects lead to the same request at another place. If that was not noted, it may have acted.
const isLeading = ({ status }: SeenRequest): boolean => status === 307 || status === 308

/** Locked, too early, too many requests: the service has not served the request. */
const unserved: ReadonlySet<number> = new Set([423, 425, 429])

/** A socket. It is marked if it carries HTTP. */
export interface HttpSocket {
  [isClaimed]?: true
  /** The socket below one of TLS. */
  readonly _parent?: HttpSocket | null
}

const isClaimed = Symbol("@fallible/core/isClaimed")

/** Notes that a socket carries HTTP. */
export const claim = (socket: HttpSocket | null | undefined): void => {
  // A TLS socket may be on top of one that a proxy's agent has opened.
  for (let below = socket; below !== undefined && below !== null && below[isClaimed] !== true; below = below._parent) {
    below[isClaimed] = true
  }
}

/** Removes what looks like a secret from the path of an address: a long part of letters and digits, except a UUID. */
const withoutSecretParts = (path: string): string =>
  path.split("/").map((part) => secretPart.test(part) && !uuid.test(part) ? "<redacted>" : part).join("/")

const secretPart = /^(?=.*\d)(?=.*[a-z])[\w.~:+=%-]{24,}$/i
const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i
