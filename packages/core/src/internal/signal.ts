import * as Cause from "effect/Cause"
import type { ToolFailure } from "../ToolFailure.ts"
import { Failure } from "./failure.ts"
import { isA } from "./stranger.ts"

/**
 * How a handler, or a policy, leaves without failing. A tool's error channel holds the four failures alone, so a
 * question, a hard stop and a refusal travel as defects that dispatch knows; no policy looks at defects.
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

/** A call that was under way already is not to be run with the arguments that it has now. */
export class RefusalSignal extends Failure<{ readonly detail: string; readonly failure: ToolFailure }> {
  readonly _tag = "RefusalSignal"

  constructor(failure: ToolFailure) {
    super({ failure, detail: failure.detail })
  }
}

export type Signal = StopSignal | SuspendSignal | RefusalSignal

/** What an Effect died of. */
export const defectsOf = (cause: Cause.Cause<unknown>): ReadonlyArray<unknown> =>
  cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect)

/** The signal that counts: a stop goes before a question, and a question before a refusal. */
export const signalIn = (defects: ReadonlyArray<unknown>): Signal | undefined =>
  defects.find(isA(StopSignal)) ?? defects.find(isA(SuspendSignal)) ?? defects.find(isA(RefusalSignal))
