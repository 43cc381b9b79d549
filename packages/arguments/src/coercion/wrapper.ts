/** Wrappers: keys that models put around the arguments, or around an object inside them. */
import type { Record } from "../value.ts"

/** The keys that may be wrappers. */
export const wrappers: ReadonlySet<string> = new Set([
  "arguments",
  "args",
  "parameters",
  "params",
  "input",
  "properties"
])

/** Returns the only key of an object, if it may be a wrapper. */
export const wrapperOf = (value: Record): string | undefined => {
  for (const key of wrappers) if (Object.hasOwn(value, key)) return Object.keys(value).length === 1 ? key : undefined
  return undefined
}
