import { canonical } from "../value/canonical.ts"
import { attempt } from "../value/untrusted.ts"

/**
 * Writes the arguments of a call as text that is the same whatever their spaces and the order of their keys. Empty text
 * and `null` mean no arguments. Returns `undefined` if the text is not JSON.
 */
export const canonicalArguments = (text: string): string | undefined =>
  attempt(() => canonical(text.trim() === "" ? {} : JSON.parse(text) ?? {}))
