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
  /** True once operators were told what would settle the doubts of the tool. */
  readonly isAdvised?: true
}

const seen = new WeakMap<object, Seen>()

/** Returns what was seen of a tool. */
export const seenOf = (token: object): Seen => seen.get(token) ?? {}

const add = (token: object, more: Seen): void => void seen.set(token, { ...seenOf(token), ...more })

/** Notes a request that left without the key of its call. */
export const noteUnkeyed = (token: object, unkeyed: WireRequest): void => add(token, { unkeyed })

/** Notes that a call of the tool was in doubt. */
export const noteDoubted = (token: object): void => {
  if (seenOf(token).isDoubted !== true) add(token, { isDoubted: true })
}

/** Returns true once for each tool: for the first call in doubt. */
export const isFirstDoubt = (token: object): boolean => {
  if (seenOf(token).isAdvised === true) return false
  add(token, { isAdvised: true })
  return true
}

/** The tokens of tools whose definitions say nothing of what they do. A tool's fields have the defaults filled in. */
export const undeclared = new WeakSet<object>()
