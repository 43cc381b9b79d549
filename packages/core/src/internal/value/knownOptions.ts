import { unknownOption } from "@fallible/arguments/sentence"

/** The names of all options of a record. The type makes the list complete. */
export type Names<Options> = Readonly<Record<keyof Options, true>>

/**
 * Throws if a record has an option that does not exist: plain JavaScript, a spread and a variable get past the
 * compiler, and an option that is ignored silently changes nothing.
 *
 * @param owner the owner of the options, at the beginning of a sentence: "Tool 'pay'"
 */
export const demandKnown = <Options>(owner: string, options: object, names: Names<Options>): void => {
  const problem = unknownOption(owner, options, Object.keys(names))
  if (problem !== undefined) throw new TypeError(problem)
}
