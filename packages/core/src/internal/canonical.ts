/**
 * A value as text that is the same for equal values, whatever the order of their keys: JSON, and for what JSON cannot say
 * something of its own. A value that contains itself overflows the stack.
 */
export const canonical = (value: unknown): string => {
  if (typeof value === "bigint") return `${value}n`
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined"
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (value instanceof Map || value instanceof Set) return canonical(Array.from(value))
  if ("toJSON" in value && typeof value.toJSON === "function") return canonical(value.toJSON())
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  if (fields.length > 1) fields.sort(byKey)
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`).join()}}`
}

const byKey = ([a]: [string, unknown], [b]: [string, unknown]): number => a < b ? -1 : 1
