/*
 * Watches the requests of handlers: which attempt each belongs to (`places`, `owners`), and what becomes of it
 * (`channels`). `process.getBuiltinModule` gives what that needs, so this package imports nothing of Node's. Where it is
 * missing, nothing is seen, and only the `fetch` of a handler's context records its requests.
 */
import { attempt } from "../value/untrusted.ts"
import { byMethod } from "./actingRequests.ts"
import { subscribe } from "./channels.ts"
import { recordHere } from "./places.ts"
import { at, globalAt, reportsFetch } from "./runtime.ts"
import { open, patterned, type SeenRequest, type WireRecord } from "./wireRecord.ts"

let isSubscribed: boolean | undefined = undefined

/** True if requests can be attributed to the code that sends them. Begins to watch the requests of this process. */
export const isWatching = (): boolean => isSubscribed ??= attempt(subscribe) === true

/** Watches an attempt from now on. */
export const watch = (record: WireRecord): void => {
  if (!isWatching()) return
  open.add(record)
  if (record.acting !== byMethod) patterned.add(record)
}

/**
 * Notes a request that is known from elsewhere: in its record, and in that of the running code. A client may have been made
 * in one call, and be used in another.
 */
export const beginIn = (
  record: WireRecord | undefined,
  method: string,
  url: () => string
): ReadonlyArray<SeenRequest> => {
  const here = recordHere()
  const requests: Array<SeenRequest> = []
  for (const one of here === record ? [record] : [record, here]) {
    const request = one?.begin({ method, url })
    if (request === undefined) continue
    request.isOwn = true
    requests.push(request)
  }
  return requests
}

/**
 * True if silence can be heard: all requests of this process are reported, also those of `fetch`, which nobody has
 * replaced.
 */
export const hearsSilence = (): boolean => isWatching() && reportsFetch() && isNodesFetch() && !isMocked()

// A mock, an instrumented `fetch` and that of another library have another source.
const isNodesFetch = (): boolean => /internal\/deps\/undici/.test(String(globalAt("fetch")))

// Version 8 of undici has a second place for the dispatcher, and wraps it for the first one.
const isMocked = (): boolean =>
  ["undici.globalDispatcher.1", "undici.globalDispatcher.2"].some((name) =>
    at(at(Reflect.get(globalThis, Symbol.for(name)), "constructor"), "name") === "MockAgent"
  )
