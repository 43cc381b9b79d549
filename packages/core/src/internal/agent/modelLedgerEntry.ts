import type { ModelEntry } from "../../Ledger.ts"
import type * as Model from "../../Model.ts"
import { cut, mostDetail } from "../value/text.ts"

/** Returns the ledger entries of the failures after which the model was asked again. */
export const retriedOf = (retried: ReadonlyArray<Model.ModelFailure>, turn: number): ReadonlyArray<ModelEntry> =>
  retried.length === 0 ? none : entriesOf(retried, turn, timesAsked(retried) + 1)

/** Returns the ledger entry of the failure with which a run ends. */
export const lastOf = ({ code, detail }: Model.ModelFailure, turn: number, attempts: number): ModelEntry => ({
  turn,
  tag: "ModelFailure",
  code,
  detail: cut(detail, mostDetail),
  attempts,
  ended: "run_failed"
})

const none: ReadonlyArray<never> = []

export const entriesOf = (retried: ReadonlyArray<Model.ModelFailure>, turn: number, attempts: number) =>
  retried.map((failure): ModelEntry => ({ ...lastOf(failure, turn, attempts), ended: "retry" }))

// Counts how often the model was asked. A client that retries states its attempts in its last failure. It may or may
// not have reported the earlier failures.
export const timesAsked = (failures: ReadonlyArray<Model.ModelFailure>): number =>
  failures.reduce((times, { attempts = 1 }) => Math.max(times + 1, attempts), 0)
