/** Reads the failures that a run reported to its model. */
import type * as Answer from "@fallible/core/Answer"

export const codesOf = ({ report }: Answer.Answer) =>
  report.failures.flatMap(({ code, handling }) => handling === "told" ? [code] : [])

export const certaintiesOf = ({ report }: Answer.Answer) =>
  report.failures.flatMap((entry) => "certainty" in entry && entry.handling === "told" ? [entry.certainty] : [])
