import * as Redacted from "effect/Redacted"

/**
 * A value as text that is the same for equal values, whatever the order of their keys: JSON, and for what JSON cannot say
 * something of its own. `undefined` where it cannot be told what a value holds: what is redacted, instances of classes that do not
 * say how they are written, and what contains itself.
 */
export const canonical = (value: unknown): string | undefined => {
  try {
    return written(value)
  } catch {
    return undefined
  }
}

// Only ever thrown to `canonical`, at any depth.
const opaque = new Error("opaque")

const written = (value: unknown): string => {
  if (typeof value === "bigint") return `${value}n`
  if (typeof value === "function") throw opaque
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined"
  if (Array.isArray(value)) return `[${value.map(written).join()}]`
  if (value instanceof Map || value instanceof Set) return written(Array.from(value))
  if (Redacted.isRedacted(value)) throw opaque
  if ("toJSON" in value && typeof value.toJSON === "function") return written(value.toJSON())
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw opaque
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  if (fields.length > 1) fields.sort(byKey)
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${written(field)}`).join()}}`
}

const byKey = ([a]: [string, unknown], [b]: [string, unknown]): number => a < b ? -1 : 1
