import type { ModelEntry } from "../../Ledger.ts"
import type * as Model from "../../Model.ts"
import { cut, mostDetail } from "../value/text.ts"

/** For the ledger: the failures that the model was asked again after. */
export const retriedOf = (retried: ReadonlyArray<Model.ModelFailure>, turn: number): ReadonlyArray<ModelEntry> =>
  retried.length === 0 ? none : entriesOf(retried, turn, timesAsked(retried) + 1)

/** For the ledger: the failure that a run ends with. */
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

// Who asks again below says in its last failure how often; it may have told of those before, or not.
export const timesAsked = (failures: ReadonlyArray<Model.ModelFailure>): number =>
  failures.reduce((times, { attempts = 1 }) => Math.max(times + 1, attempts), 0)
