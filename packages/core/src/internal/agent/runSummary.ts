/*
 * How an answer or a failure of a run is shown to people: short, and without its transcript and its facts.
 * `JSON.stringify`, in contrast, gives all of it, in the form that the schema decodes.
 */
import * as RunReport from "../../RunReport.ts"
import { cut, printable } from "../value/text.ts"

/** How many failures are listed. `RunReport.table` lists all. */
const maxFailures = 10

const maxLines = 40
const maxCharacters = 2000

/** Returns a heading, a text and the report below it. Characters that could control a terminal become spaces. */
export const summary = (heading: string, text: string, report: RunReport.RunReport): string => {
  const lines = cut(text, maxCharacters).split(/\r\n|[\n\u2028\u2029]/)
  const left = lines.length - maxLines
  return [
    heading,
    ...lines.slice(0, maxLines).map((line) => `  ${printable(line)}`.trimEnd()),
    ...(left > 0 ? [`  … and ${left} more lines`] : []),
    "",
    RunReport.table(report, maxFailures)
  ].join("\n")
}
