import type * as Model from "../../Model.ts"
import type { ModelEntry } from "../../RunReport.ts"
import { cut, maxDetail } from "../value/text.ts"

/** Returns the report entries for the failures after which the model was asked again. */
export const retriedOf = (retried: ReadonlyArray<Model.ModelFailure>, turn: number): ReadonlyArray<ModelEntry> =>
  retried.length === 0 ? none : entriesOf(retried, turn, timesAsked(retried) + 1)

/** Returns the report entry for the failure with which a run ends. */
export const lastOf = (
  { code, detail, model, usage }: Model.ModelFailure,
  turn: number,
  attempts: number
): ModelEntry => ({
  turn,
  tag: "ModelFailure",
  code,
  detail: cut(detail, maxDetail),
  attempts,
  handling: "run_failed",
  ...(model === undefined ? {} : { model }),
  ...(usage === undefined ? {} : { usage })
})

const none: ReadonlyArray<never> = []

export const entriesOf = (retried: ReadonlyArray<Model.ModelFailure>, turn: number, attempts: number) =>
  retried.map((failure): ModelEntry => ({ ...lastOf(failure, turn, attempts), handling: "retry" }))

// Counts how many times the model was asked. If a provider retries on its own, its last failure has the number of its
// attempts. The earlier failures of that provider may or may not be in the list.
export const timesAsked = (failures: ReadonlyArray<Model.ModelFailure>): number =>
  failures.reduce((times, { attempts = 1 }) => Math.max(times + 1, attempts), 0)
