import * as Redacted from "effect/Redacted"
import { attempted } from "./untrusted.ts"

/**
 * A value as text that is the same for equal values, whatever the order of their keys: JSON, and for what JSON cannot say
 * something of its own. `undefined` where it cannot be told what a value holds: what is redacted, instances of classes that do not
 * say how they are written, and what contains itself.
 */
export const canonical = (value: unknown): string | undefined => attempted(() => marked(value))

/** The same for somebody who reads it: nothing is marked as what it is beyond JSON. */
export const readable = (value: unknown): string | undefined => attempted(() => plain(value))

// Only ever thrown to these two, at any depth.
const opaque = new Error("opaque")

/** @param mark stands before what is more than JSON, so that it is never taken for JSON */
const writtenWith = (mark: string) => {
  const written = (value: unknown): string => {
    if (typeof value === "object" && value !== null) return writtenObject(value)
    if (typeof value === "bigint") return `${value}n`
    // The same text as JSON's, and one for each of those that it cannot say.
    if (typeof value === "number") return value === 0 ? "0" : `${value}`
    if (typeof value === "function" || typeof value === "symbol") throw opaque
    return JSON.stringify(value) ?? "undefined"
  }
  const writtenObject = (value: object): string => {
    if (Array.isArray(value)) return list(value.map(written))
    // Neither has an order that counts.
    if (value instanceof Set) return `${mark}${list(Array.from(value, written).toSorted())}`
    if (value instanceof Map) return `${mark}${list(Array.from(value, (entry) => list(entry.map(written))).toSorted())}`
    if (Redacted.isRedacted(value)) throw opaque
    if ("toJSON" in value && typeof value.toJSON === "function") return `${mark}${written(value.toJSON())}`
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && prototype !== null) throw opaque
    const fields = Object.entries(value).filter(([, field]) => field !== undefined)
    if (fields.length > 1) fields.sort(byKey)
    return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${written(field)}`).join()}}`
  }
  return written
}

const list = (items: ReadonlyArray<string>): string => `[${items.join()}]`

const byKey = ([a]: [string, unknown], [b]: [string, unknown]): number => a < b ? -1 : 1

const marked = writtenWith("#")
const plain = writtenWith("")
