/**
 * A value as text that is the same for equal values, whatever the order of their keys. What JSON cannot say is said in a way of
 * its own; a value that contains itself throws.
 */
export const canonical = (value: unknown): string => JSON.stringify(value, sorted) ?? "undefined"

const sorted = (_: string, value: unknown): unknown => {
  if (typeof value === "bigint") return `${value}n`
  if (value instanceof Map || value instanceof Set) return Array.from(value)
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value
  // Own properties, `__proto__` among them, which an assignment would take for something else.
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => a < b ? -1 : 1))
}
