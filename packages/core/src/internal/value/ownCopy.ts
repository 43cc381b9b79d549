import * as Predicate from "effect/Predicate"
import { attempt } from "./untrusted.ts"

/**
 * Copies a value for a library that may change what it is given. An instance of a class is not copied, and neither is what is
 * nested too deeply.
 */
export const ownCopy = (value: unknown): unknown => {
  const known = new Map<unknown, unknown>()
  const copy = (part: unknown): unknown => {
    if (!Array.isArray(part) && !isPlain(part)) return part
    if (known.has(part)) return known.get(part)
    const made: { [key: string]: unknown } | Array<unknown> = Array.isArray(part) ? [] : {}
    known.set(part, made)
    for (const [key, inner] of Object.entries(part)) {
      Object.defineProperty(made, key, { value: copy(inner), configurable: true, enumerable: true, writable: true })
    }
    return made
  }
  return attempt(() => copy(value)) ?? value
}

/** True for an object that is no instance of a class, and no array. */
export const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  Predicate.isObject(value) && Object.getPrototypeOf(value) === Object.prototype
