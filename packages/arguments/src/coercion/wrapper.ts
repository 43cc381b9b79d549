/**
 * A key that models put around the arguments, or around an object in them.
 */
import type { Record } from "../value.ts"

/** The keys that models put around the arguments. */
export const wrappers: ReadonlySet<string> = new Set([
  "arguments",
  "args",
  "parameters",
  "params",
  "input",
  "properties"
])

/** The key of an object that has no other one, if it may be a wrapper. */
export const wrapperOf = (value: Record): string | undefined => {
  for (const key of wrappers) if (Object.hasOwn(value, key)) return Object.keys(value).length === 1 ? key : undefined
  return undefined
}
