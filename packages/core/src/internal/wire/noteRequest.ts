/*
 * Requests that a program notes itself: those of drivers, of clients with their own connections, and of stubs in tests.
 */
import { carries, valuesOf } from "./owners.ts"
import { here, OwnRequest, recordHere } from "./places.ts"
import type { WireRecord } from "./wireRecord.ts"
import { beginIn } from "./witness.ts"

/**
 * A request that a handler sends.
 *
 * @category models
 * @since 0.1.0
 */
export interface NoteOptions {
  readonly method: string
  /** The address. Its query is not kept. */
  readonly url: string
  /** The status of the answer, if it is known already. */
  readonly status?: number
  /** The headers. They show whether the request carries the key of the call. */
  readonly headers?: Readonly<Record<string, string>>
  /** `false` if the request certainly did not leave, for example because the connection was refused. */
  readonly sent?: boolean
}

/**
 * A request that was noted. Until its end is told, it may have acted.
 *
 * @category models
 * @since 0.1.0
 */
export interface NotedRequest {
  /** Tells the status of its answer. */
  readonly answered: (status: number) => void
  /** Tells that it failed without an answer. `sent: false` if it certainly did not leave. Default: it may have left. */
  readonly failed: (options?: { readonly sent?: boolean }) => void
}

/**
 * Notes a request.
 *
 * @param record the record of the attempt
 */
export const noteRequest = (
  { headers, method, sent, status, url }: NoteOptions,
  record: WireRecord | undefined
): NotedRequest => {
  const own = ownHere(method.toUpperCase(), url)
  const requests = own?.requests ?? beginIn(record, method.toUpperCase(), () => url)
  const hasKey = (key: string) => carries(valuesOf(headers), key)
  const key = record?.attempt.sentKey ?? recordHere()?.attempt.sentKey
  for (const request of requests) {
    // A request without headers, such as a driver's, cannot show a key.
    if (own !== undefined && headers !== undefined) request.noteKey(own.record.attempt, hasKey)
    else if (key !== undefined && hasKey(key)) request.isKeyed = true
  }
  const failed: NotedRequest["failed"] = ({ sent = true } = {}) => requests.forEach((request) => request.fail(sent))
  const answered: NotedRequest["answered"] = (status) => requests.forEach((request) => request.answer(status))
  if (status !== undefined) answered(status)
  else if (sent === false) failed({ sent: false })
  return { answered, failed }
}

// The context's `fetch` has noted the request already, if it calls a stub that notes it, too.
const ownHere = (method: string, url: string): OwnRequest | undefined => {
  const place = here()
  if (!(place instanceof OwnRequest) || place.isReported) return undefined
  if (!place.requests.every((request) => request.method === method && request.url() === url)) return undefined
  place.isReported = true
  return place
}
