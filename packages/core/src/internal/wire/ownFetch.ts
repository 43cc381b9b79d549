/*
 * The `fetch` of a handler's context. It records its requests itself, so that they are seen on every runtime, over any
 * connection pool, and if a test has replaced the global `fetch`.
 */
import * as Context from "effect/Context"
import * as Predicate from "effect/Predicate"
import { attempt } from "../value/untrusted.ts"
import { byMethod } from "./actingRequests.ts"
import { carries } from "./owners.ts"
import { OwnRequest, within } from "./places.ts"
import { at } from "./runtime.ts"
import { provesUnsent } from "./unsent.ts"
import type { SeenRequest, WireRecord } from "./wireRecord.ts"
import { beginIn } from "./witness.ts"

/**
 * The type of the global `fetch`, as your program's libraries declare it.
 *
 * @category models
 * @since 0.1.0
 */
export type Fetch = typeof globalThis extends { readonly fetch: infer F extends (...args: never) => unknown } ? F
  : PlainFetch

/**
 * What every `fetch` can do: the type of the context's `fetch` in a program whose libraries declare none.
 *
 * @category models
 * @since 0.1.0
 */
export type PlainFetch = (
  url: string,
  init?: {
    readonly method?: string
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: string
    readonly signal?: AbortSignal
  }
) => Promise<{
  readonly ok: boolean
  readonly status: number
  readonly headers: { readonly get: (name: string) => string | null }
  readonly text: () => Promise<string>
  readonly json: () => Promise<unknown>
}>

/**
 * The `fetch` of a handler's context.
 *
 * @category models
 * @since 0.1.0
 */
export type CallFetch = Fetch & {
  /** The same, but each request that acts has the header `Idempotency-Key`, with the key of the call. */
  readonly withKey: Fetch
}

/** The `fetch` that the context's `fetch` calls. `undefined` for the global one. */
export const baseFetch: Context.Reference<Fetch | undefined> = Context.Reference<Fetch | undefined>(
  "@fallible/core/ToolCall/baseFetch",
  { defaultValue: () => undefined }
)

/** What a `fetch` belongs to. */
export interface FetchOf {
  readonly base: Fetch | undefined
  /** Absent for a tool that only reads. */
  readonly record: WireRecord | undefined
  readonly signal: unknown
  readonly key: string
}

/** Makes the `fetch` of a handler's context. */
export const ownFetch = (of: FetchOf): CallFetch =>
  asCallFetch(Object.assign(fetchWith(of, false), { withKey: fetchWith(of, true) }))

// The type depends on the program's libraries, which this package does not know.
const asCallFetch = (fetch: unknown): CallFetch => fetch as CallFetch

type Options = Readonly<Record<string, unknown>>

const fetchWith =
  ({ base, key, record, signal }: FetchOf, isKeyed: boolean) =>
  async (input: unknown, init?: Options): Promise<unknown> => {
    const fetch: unknown = base ?? at(globalThis, "fetch")
    if (!Predicate.isFunction(fetch)) throw new TypeError("This runtime has no fetch.")
    const method = textOf(at(init, "method") ?? at(input, "method"), "GET").toUpperCase()
    const options = {
      ...init,
      signal: joined(signal, at(init, "signal") ?? at(input, "signal")),
      ...(isKeyed && byMethod(method, () => "")
        ? { headers: withKey(at(init, "headers") ?? at(input, "headers"), key) }
        : {})
    }
    const send = (): Promise<unknown> => Promise.resolve(fetch(input, options))
    const requests = beginIn(record, method, () => urlOf(input))
    if (record === undefined || requests.length === 0) return await within(record, send)
    for (const request of requests) request.isKeyed = isKeyed
    const own = new OwnRequest(record, requests)
    try {
      const response = await within(own, send)
      noteEnd(own, options, input, (request) => request.answer(statusOf(response)))
      return response
    } catch (error) {
      noteEnd(own, options, input, (request) => request.fail(!provesUnsent(error)))
      throw error
    }
  }

// Notes a request that the runtime does not report.
const noteEnd = (own: OwnRequest, options: Options, input: unknown, end: (request: SeenRequest) => void): void => {
  if (own.isReported) return
  for (const request of own.requests) {
    request.noteKey(own.record.attempt, (key) => isKeyedBy(options, input, key))
    end(request)
  }
}

const textOf = (value: unknown, instead: string): string => typeof value === "string" ? value : instead

const urlOf = (input: unknown): string => textOf(input, textOf(at(input, "url") ?? at(input, "href"), ""))

// A redirect that was followed has been answered. Its end says nothing about the first request.
const statusOf = (response: unknown): number =>
  at(response, "redirected") === true ? 303 : Number(at(response, "status"))

interface Signals {
  readonly any?: (signals: ReadonlyArray<unknown>) => unknown
}

const joined = (ofCall: unknown, own: unknown): unknown => {
  if (own === undefined || own === null || ofCall === undefined) return own ?? ofCall
  const signals = at(globalThis, "AbortSignal") as Signals | undefined
  return signals?.any?.([own, ofCall]) ?? own
}

interface HeaderList {
  readonly has: (name: string) => boolean
  readonly set: (name: string, value: string) => void
}

const withKey = (headers: unknown, key: string): HeaderList => {
  const Headers = at(globalThis, "Headers") as new(init?: unknown) => HeaderList
  const all = new Headers(headers ?? undefined)
  if (!all.has("idempotency-key")) all.set("idempotency-key", key)
  return all
}

// True if a header of the request has the key of the call.
const isKeyedBy = (options: Options, input: unknown, key: string): boolean => {
  const Headers = at(globalThis, "Headers") as new(init?: unknown) => { readonly values: () => Iterable<string> }
  const headers = options["headers"] ?? at(input, "headers") ?? undefined
  return carries(attempt(() => Array.from(new Headers(headers).values())) ?? [], key)
}
