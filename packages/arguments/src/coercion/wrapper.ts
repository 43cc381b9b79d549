/** Wrappers: surplus keys that models put around the arguments, or around an object in them: `{"arguments": {…}}`. */
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

/** Returns the key of an object with a single key, if that key may be a wrapper; otherwise `undefined`. */
export const wrapperOf = (value: Record): string | undefined => {
  for (const key of wrappers) if (Object.hasOwn(value, key)) return Object.keys(value).length === 1 ? key : undefined
  return undefined
}
