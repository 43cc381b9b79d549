import { keysOf } from "./json.ts"
import { didYouMean } from "./suggestion.ts"
import { cut, list, oneLine } from "./text/excerpt.ts"

/** The names of all options of a record. The type makes the list complete. */
export type Names<Options> = Readonly<Record<keyof Options, true>>

/**
 * Returns a sentence about the first option of a record that does not exist, or `undefined` if all exist.
 *
 * @param owner the owner of the options, at the beginning of a sentence: "Tool 'pay'"
 */
export const unknownOption = <Options>(owner: string, options: object, names: Names<Options>): string | undefined => {
  const known = keysOf(names)
  const unknown = keysOf(options).find((name) => !known.includes(name))
  if (unknown === undefined) return undefined
  const meant = didYouMean(unknown, known)
  const advice = meant === undefined
    ? `Its options are ${list(known, known.length)}.`
    : `Did you mean '${meant}'?`
  return `${owner} has no option '${cut(oneLine(unknown), 60)}'. ${advice}`
}

/**
 * Throws if a record has an option that does not exist: plain JavaScript, a spread and a variable get past the
 * compiler, and an option that is ignored silently changes nothing.
 *
 * @param owner the owner of the options, at the beginning of a sentence: "Tool 'pay'"
 */
export const demandKnown = <Options>(owner: string, options: object, names: Names<Options>): void => {
  const problem = unknownOption(owner, options, names)
  if (problem !== undefined) throw new TypeError(problem)
}
