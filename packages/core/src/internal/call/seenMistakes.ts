/*
 * What was seen of a tool while it ran, for `Tool.explain`. A tool is known by the token of its handler.
 */
import type { WireRequest } from "../../WireRequest.ts"

/** What was seen of a tool. */
interface Seen {
  /** A request that left without the key of its call. */
  readonly unkeyed?: WireRequest
  /** True if a call was in doubt. */
  readonly isDoubted?: true
}

const seen = new WeakMap<object, Seen>()

/** Returns what was seen of a tool. */
export const seenOf = (token: object): Seen => seen.get(token) ?? {}

/** Notes a request that left without the key of its call. */
export const noteUnkeyed = (token: object, unkeyed: WireRequest): void =>
  void seen.set(token, { ...seenOf(token), unkeyed })

/** Notes that a call of the tool was in doubt. Returns true for the first. */
export const noteDoubted = (token: object): boolean => {
  const before = seenOf(token)
  if (before.isDoubted !== true) seen.set(token, { ...before, isDoubted: true })
  return before.isDoubted !== true
}
