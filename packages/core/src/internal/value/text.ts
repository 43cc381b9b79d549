/** Formats text for a model: bounded, and on one line. Shortened text says how much was cut. */
import { kind as kindOf } from "@fallible/arguments/internal"
import { isPromise } from "./untrusted.ts"

export { cut, excerpt, list, oneLine, utf8Length } from "@fallible/arguments/internal"

/** The longest detail of a failure in a report, in characters: a report may hold many failures. */
export const maxDetail = 1000

/** The most notes that one call keeps: a handler with a loop may add far more than anyone reads. */
const maxNotes = 20

/**
 * Returns the first {@link maxNotes} notes, and a line that says how many more there are.
 *
 * @param count the number of all notes; default: the length of `notes`
 */
export const firstNotes = (notes: ReadonlyArray<string>, count = notes.length): ReadonlyArray<string> =>
  count > maxNotes ? [...notes.slice(0, maxNotes), `… and ${count - maxNotes} more`] : notes.slice()

/**
 * Replaces characters that could control a terminal, or reorder its text, by spaces. The joiner inside an emoji stays.
 */
export const printable = (text: string): string => text.replace(/(?:(?!\u200d)[\p{Cc}\p{Cf}\u2028\u2029])+/gu, " ")

/** Names the kind of a value, without the value: "a string", "an array of 3". */
export const kind = (value: unknown): string => isPromise(value) ? "a promise, which must be awaited" : kindOf(value)

/** Describes the first of several issues: `text: expected string, got null`. */
export const firstIssue = (
  [first]: ReadonlyArray<
    { readonly path: ReadonlyArray<string | number>; readonly expected: string; readonly actual: string }
  >
): string =>
  first === undefined
    ? "it does not match its declaration"
    : `${first.path.join(".") || "as a whole"}: expected ${first.expected}, got ${first.actual}`
