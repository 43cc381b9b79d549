import * as Cause from "effect/Cause"
import type { SchemaMismatch } from "../../ToolFailure.ts"
import { isA } from "../value/untrusted.ts"
import { Failure } from "./failureClass.ts"

/**
 * How a handler, or a policy, leaves without failing. A tool's error channel holds the four failures alone, so a
 * question, a hard stop and a rejection that may be mended travel as defects; no policy looks at defects.
 */
export class SuspendSignal
  extends Failure<{ readonly detail: string; readonly question: string; readonly id: string }>
{
  readonly _tag = "SuspendSignal"

  constructor(question: string, id: string) {
    super({ question, id, detail: `A tool asked the user, and no agent is there to pass it on: ${question}` })
  }
}

export class StopSignal extends Failure<{ readonly detail: string; readonly reason: string }> {
  readonly _tag = "StopSignal"

  constructor(reason: string) {
    super({ reason, detail: `A tool stopped the run: ${reason}` })
  }
}

/** A handler has rejected its arguments, and a fixer may have better ones. */
export class RejectionSignal
  extends Failure<{ readonly detail: string; readonly failure: SchemaMismatch; readonly params: unknown }>
{
  readonly _tag = "RejectionSignal"

  constructor(failure: SchemaMismatch, params: unknown) {
    super({ failure, params, detail: failure.detail })
  }
}

export type Signal = StopSignal | SuspendSignal | RejectionSignal

/** What an Effect died of. */
export const defectsOf = (cause: Cause.Cause<unknown>): ReadonlyArray<unknown> =>
  cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect)

/** The signal that counts: a stop goes before a question, and a question before a rejection. */
export const signalIn = (defects: ReadonlyArray<unknown>): Signal | undefined =>
  defects.find(isA(StopSignal)) ?? defects.find(isA(SuspendSignal)) ?? defects.find(isA(RejectionSignal))
