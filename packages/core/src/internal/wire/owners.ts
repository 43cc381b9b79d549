/*
 * Whose request it is: that of the code that sends it, of the attempt whose key it carries, or of nobody who can be told.
 */
import * as Predicate from "effect/Predicate"
import { byMethod } from "./actingRequests.ts"
import { no } from "./outOfQueue.ts"
import { type Place, recordOf } from "./places.ts"
import { endedWith, mayHaveQueued, open, patterned, type WireRecord } from "./wireRecord.ts"

/** A request that begins. */
export class Begun {
  /** In upper case. */
  readonly method: string
  readonly url: () => string
  readonly #headers: unknown
  /** True if it was in a queue, and begins in the context of another request. */
  readonly isOutOfQueue: () => boolean
  #values: ReadonlyArray<string> | undefined = undefined
  #carried: readonly [key: string, isCarried: boolean] | undefined = undefined

  constructor(method: string, url: () => string, headers: unknown, isOutOfQueue: () => boolean = no) {
    this.method = method.toUpperCase()
    this.url = url
    this.#headers = headers
    this.isOutOfQueue = isOutOfQueue
  }

  /** The values of its headers. */
  get values(): ReadonlyArray<string> {
    return this.#values ??= valuesOf(this.#headers)
  }

  /** True if a header has the key. */
  carries(key: string): boolean {
    if (this.#carried?.[0] !== key) this.#carried = [key, carries(this.values, key)]
    return this.#carried[1]
  }
}

/** Returns the places that a request belongs to. What may be anybody's blinds all attempts. */
export const ownersOf = (begun: Begun, here: Place | undefined): ReadonlyArray<Place> => {
  const sender = recordOf(here)
  const own = here === undefined ? [] : [here]
  // Most requests only read.
  if (!mayAct(begun, sender)) return own
  const values = begun.values
  const key = sender?.attempt.sentKey
  if (key !== undefined && values.includes(key)) return own
  // A key says whose request it is, whatever queue it was in. It may be named beside the sender's own.
  const named = isAlone(sender) ? [] : withKeys(new Set(values))
  if (named.length > 0) {
    const isSenders = sender === undefined || named.includes(sender) || begun.isOutOfQueue()
    return isSenders ? named : [...named, ...own]
  }
  // An attempt that has ended hears of what a pool sends for it now.
  const late = mayHaveQueued() ? values.flatMap((value) => endedWith(value) ?? []) : []
  if (late.length > 0) return late
  if (key !== undefined && begun.carries(key)) return own
  for (const record of patterned) if (record !== sender && acts(begun, record)) record.isOvershadowed = true
  if (!begun.isOutOfQueue()) return own
  blindFor(begun)
  return []
}

const isAlone = (sender: WireRecord | undefined): boolean =>
  open.size === 0 || open.size === 1 && sender !== undefined && open.has(sender)

const mayAct = (begun: Begun, sender: WireRecord | undefined): boolean =>
  byMethod(begun.method, begun.url) || sender !== undefined && acts(begun, sender) ||
  Array.from(patterned).some((record) => acts(begun, record))

const acts = ({ method, url }: Begun, { acting }: WireRecord): boolean => acting(method, url)

const withKeys = (values: ReadonlySet<string>): ReadonlyArray<WireRecord> => {
  const named: Array<WireRecord> = []
  for (const record of open) {
    const { sentKey } = record.attempt
    if (sentKey !== undefined && values.has(sentKey)) named.push(record)
  }
  return named
}

/** Notes that any attempt may have acted: what it did cannot be seen. */
export const blindAll = (): void => {
  for (const record of open) record.blind()
}

// A request that may be anybody's blinds all, unless the context's `fetch` has sent it: that notes its answer itself.
const blindFor = ({ method, url }: Begun): void => {
  const address = url()
  const records = Array.from(open)
  const isNoted = records.some((record) => record.awaits(method, address))
  for (const record of records) if (!isNoted || !record.isOwnOnly) record.blind()
}

// -----------------------------------------------------------------------------
// Keys in headers
// -----------------------------------------------------------------------------

/** True if one of the values is the key, or contains it. */
export const carries = (values: ReadonlyArray<string>, key: string): boolean =>
  values.some((value) => hasKey(value, key))

/** The values of headers. Undici has a list of names and values, or one text; Node an object. */
export const valuesOf = (headers: unknown): ReadonlyArray<string> => {
  if (typeof headers === "string") return headers.split("\r\n").map((line) => line.replace(/^[^:]*: /, ""))
  const values: ReadonlyArray<unknown> = Array.isArray(headers)
    ? headers
    : Predicate.isObject(headers)
    ? Object.values(headers)
    : []
  return values.filter((value) => typeof value === "string")
}

/** True if the value of a header is the key, or contains it. A short key may occur in a value by chance. */
const hasKey = (value: string, key: string): boolean => value === key || key.length >= 16 && holdsApart(value, key)

// True for the key with something before or after it, such as "key-2": but not for "key2", which may be another call's.
const holdsApart = (text: string, key: string): boolean => {
  for (let start = text.indexOf(key); start >= 0; start = text.indexOf(key, start + 1)) {
    if (!isWordLike(text[start - 1]) && !isWordLike(text[start + key.length])) return true
  }
  return false
}

const isWordLike = (character: string | undefined): boolean => character !== undefined && /[a-z\d]/i.test(character)
