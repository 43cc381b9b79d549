import * as Equal from "effect/Equal"
import * as Redacted from "effect/Redacted"
import { attempt } from "./untrusted.ts"

/**
 * Writes a value as text that is the same for equal values, whatever the order of their keys. The text is
 * JSON, extended by forms for values that JSON lacks.
 *
 * Returns `undefined` if the content of a value is unknown: for redacted values, functions, symbols,
 * instances of classes without `toJSON`, and values that contain themselves.
 */
export const canonical = (value: unknown): string | undefined => attempt(() => writeMarked(value))

/**
 * Compares two values by equality and by canonical text, because neither test is enough alone. The decimals `1.0` and `1.00` are
 * equal, but have different texts. Two `URL` objects are never equal, but may have the same text.
 */
export const isSame = (one: unknown, other: unknown): boolean => Equal.equals(one, other) || isSameText(one, other)

/** True if two values have the same canonical text. */
export const isSameText = (one: unknown, other: unknown): boolean => {
  const text = canonical(one)
  return text !== undefined && text === canonical(other)
}

/** Writes a value like {@link canonical}, but for display: values that JSON lacks are written without a mark. */
export const readable = (value: unknown): string | undefined => attempt(() => writePlain(value))

// Thrown at any depth. Only the two functions above catch it.
const opaque = new Error("opaque")

/**
 * Makes a writer of values.
 *
 * @param mark the prefix of a value that JSON lacks, so that its text is never taken for JSON
 */
const writerWith = (mark: string) => {
  const write = (value: unknown): string => {
    if (typeof value === "object" && value !== null) return writeObject(value)
    if (typeof value === "bigint") return `${value}n`
    // Numbers are written as in JSON. NaN and the infinities, which JSON lacks, are written by their names.
    if (typeof value === "number") return value === 0 ? "0" : `${value}`
    if (typeof value === "function" || typeof value === "symbol") throw opaque
    return JSON.stringify(value) ?? "undefined"
  }
  const writeObject = (value: object): string => {
    if (Array.isArray(value)) return list(value.map(write))
    // The order of a Set or a Map does not matter.
    if (value instanceof Set) return `${mark}${list(Array.from(value, write).toSorted())}`
    if (value instanceof Map) return `${mark}${list(Array.from(value, (entry) => list(entry.map(write))).toSorted())}`
    if (Redacted.isRedacted(value)) throw opaque
    if ("toJSON" in value && typeof value.toJSON === "function") return `${mark}${write(value.toJSON())}`
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && prototype !== null) throw opaque
    const fields = Object.entries(value).filter(([, field]) => field !== undefined)
    if (fields.length > 1) fields.sort(byKey)
    return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${write(field)}`).join()}}`
  }
  return write
}

const list = (items: ReadonlyArray<string>): string => `[${items.join()}]`

const byKey = ([a]: [string, unknown], [b]: [string, unknown]): number => a < b ? -1 : 1

const writeMarked = writerWith("#")
const writePlain = writerWith("")
