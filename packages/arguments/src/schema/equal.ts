/** Are two JSON values equal? The order of keys does not count. */
export const isEqual = (first: unknown, second: unknown): boolean =>
  first === second ||
  typeof first === "object" && first !== null && typeof second === "object" && second !== null &&
    canonical(first) === canonical(second)

/** A JSON value as a text that is the same for equal values. */
export const canonical = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value === 0 ? 0 : value) ?? "undefined"
  if ("toJSON" in value && typeof value.toJSON === "function") return `#${String(value.toJSON())}`
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`)
  return `{${members.toSorted(byText).join()}}`
}

const byText = (one: string, other: string): number => one < other ? -1 : 1
