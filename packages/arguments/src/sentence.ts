/**
 * How values are put into sentences: on one line, short, and with a count of what is left out. The messages of this package are made so, and those of a program
 * that joins its own to them should be.
 */
export { cut, excerpt, kind, list, oneLine, utf8Length } from "./text/excerpt.ts"
