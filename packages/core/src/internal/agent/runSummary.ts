/*
 * How an answer or a failure of a run is shown to people: short, and without its transcript and its facts.
 * `JSON.stringify`, in contrast, gives all of it, in the form that the schema decodes.
 */
import * as Ledger from "../../Ledger.ts"
import { cut } from "../value/text.ts"

/** How many failures are listed. `Ledger.table` lists all. */
const mostFailures = 10

const mostCharacters = 2000

/** Returns a heading, a text and the ledger below it. Control characters in the text become spaces. */
export const summary = (heading: string, text: string, ledger: Ledger.Ledger): string =>
  [
    heading,
    ...cut(text, mostCharacters).split(/\r\n|[\n\u2028\u2029]/).map((line) =>
      `  ${line.replace(/\p{Cc}+/gu, " ")}`.trimEnd()
    ),
    "",
    Ledger.table(ledger, mostFailures)
  ].join("\n")
