import { entriesOf } from "../json.ts"
import { deepest } from "../options.ts"

/** True if two JSON values are equal. The order of keys does not matter. */
export const isEqual = (first: unknown, second: unknown): boolean =>
  first === second ||
  typeof first === "object" && first !== null && typeof second === "object" && second !== null &&
    canonical(first) === canonical(second)

/** Returns a string that is the same for equal JSON values. All parts that are nested too deeply count as equal. */
export const canonical = (value: unknown, depth = 0): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value === 0 ? 0 : value) ?? "undefined"
  if ("toJSON" in value && typeof value.toJSON === "function") return `#${String(value.toJSON())}`
  if (depth > deepest) return "#"
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join()}]`
  const members = entriesOf(value).map(([key, member]) => `${JSON.stringify(key)}:${canonical(member, depth + 1)}`)
  return `{${members.toSorted(byText).join()}}`
}

const byText = (one: string, other: string): number => one < other ? -1 : 1
