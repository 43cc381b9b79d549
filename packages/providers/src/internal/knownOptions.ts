import { unknownOption } from "@fallible/arguments/sentence"
import type { Settings } from "../Settings.ts"

/** The names of all options of a provider. The type makes the list complete. */
export type Names<Options> = Readonly<Record<keyof Options, true>>

export const settings: Names<Settings> = { timeout: true, streamTimeout: true, retry: true }

/** Throws if a provider has no such option. A misspelled address would send the conversation to another server. */
export const demandKnown = <Options>(owner: string, options: object, names: Names<Options>): void => {
  const problem = unknownOption(owner, options, Object.keys(names))
  if (problem !== undefined) throw new TypeError(problem)
}
