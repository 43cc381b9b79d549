/** The failures of a run that its model was told of. */
import type { Answer } from "@fallible/core"

export const codesOf = ({ ledger }: Answer.Answer) =>
  ledger.failures.flatMap(({ code, ended }) => ended === "told" ? [code] : [])

export const certaintiesOf = ({ ledger }: Answer.Answer) =>
  ledger.failures.flatMap((entry) => "certainty" in entry && entry.ended === "told" ? [entry.certainty] : [])
