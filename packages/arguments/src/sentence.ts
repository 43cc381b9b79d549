/**
 * Formats values for sentences: on one line, short, and with a count of what is left out. The messages of
 * this package are made with these functions. Use them for messages that appear together with those. `demandKnown` says
 * which option of a record does not exist.
 */
export { demandKnown, type Names, unknownOption } from "./knownOptions.ts"
export { cut, excerpt, kind, list, oneLine, utf8Length } from "./text/excerpt.ts"
