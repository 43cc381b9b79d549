/**
 * Formats values for sentences: on one line, short, and with a count of what is left out. This package uses
 * it for its messages. Use it for messages that are joined to them.
 */
export { cut, excerpt, kind, list, oneLine, utf8Length } from "./text/excerpt.ts"
