import { didYouMean } from "./suggestion.ts"
import { cut, oneLine } from "./text/excerpt.ts"

/**
 * Returns a sentence about the first option of a record that does not exist, or `undefined` if all exist.
 *
 * @param owner the owner of the options, at the beginning of a sentence: "Tool 'pay'"
 * @param known the names of all options
 */
export const unknownOption = (owner: string, options: object, known: ReadonlyArray<string>): string | undefined => {
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown === undefined) return undefined
  const meant = didYouMean(unknown, known)
  const advice = meant === undefined
    ? `Its options are ${known.map((name) => `'${name}'`).join(", ")}.`
    : `Did you mean '${meant}'?`
  return `${owner} has no option '${cut(oneLine(unknown), 60)}'. ${advice}`
}
