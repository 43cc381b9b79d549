/**
 * Text for a model's eyes is bounded and on one line: what is cut says how much was cut.
 */
import { kind as kindOf } from "@fallible/arguments/sentence"
import { isPromise } from "./untrusted.ts"

export { cut, excerpt, list, oneLine, utf8Length } from "@fallible/arguments/sentence"

/** How much of a failure's detail is kept for a ledger, which may be large. */
export const mostDetail = 1000

/** How many notes of one call are kept: a handler in a loop may note what nobody reads. */
export const mostNotes = 20

/** The first of so many notes, and how many there are besides. */
export const firstNotes = (notes: ReadonlyArray<string>, count = notes.length): ReadonlyArray<string> =>
  count > mostNotes ? [...notes.slice(0, mostNotes), `… and ${count - mostNotes} more`] : notes.slice()

/** What sort of value it is, without the value: "a string", "an array of 3". */
export const kind = (value: unknown): string => isPromise(value) ? "a promise, which has to be awaited" : kindOf(value)

/** What is wrong with the first field of several: `text: expected string, got null`. */
export const firstIssue = (
  [first]: ReadonlyArray<
    { readonly path: ReadonlyArray<string | number>; readonly expected: string; readonly actual: string }
  >
): string =>
  first === undefined
    ? "it is not what is declared"
    : `${first.path.join(".") || "as a whole"}: expected ${first.expected}, got ${first.actual}`
