/** Reads the failures that a run reported to its model. */
import type * as Answer from "@fallible/core/Answer"

export const codesOf = ({ ledger }: Answer.Answer) =>
  ledger.failures.flatMap(({ code, handling }) => handling === "told" ? [code] : [])

export const certaintiesOf = ({ ledger }: Answer.Answer) =>
  ledger.failures.flatMap((entry) => "certainty" in entry && entry.handling === "told" ? [entry.certainty] : [])
