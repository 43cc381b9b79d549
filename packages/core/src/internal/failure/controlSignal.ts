import * as Cause from "effect/Cause"
import { isA } from "../value/untrusted.ts"
import { Failure } from "./failureClass.ts"

/**
 * A question to the user, which suspends the call.
 *
 * A *signal* ends a handler or a policy without a failure. A tool's error channel has only the four classes
 * of failures. So a question and a stop travel as defects, which no policy handles.
 */
export class SuspendSignal
  extends Failure<{ readonly detail: string; readonly question: string; readonly id: string }>
{
  readonly _tag = "SuspendSignal"

  constructor(question: string, id: string) {
    const detail = `A tool asked the user, but it runs without an agent: give a reply (ToolCall.withReply). ${question}`
    super({ question, id, detail })
  }
}

/** A stop, which ends the run. */
export class StopSignal extends Failure<{ readonly detail: string; readonly reason: string }> {
  readonly _tag = "StopSignal"

  constructor(reason: string) {
    super({ reason, detail: `A tool stopped the run: ${reason}` })
  }
}

export type Signal = StopSignal | SuspendSignal

/** Returns the defects in a cause. */
export const defectsOf = (cause: Cause.Cause<unknown>): ReadonlyArray<unknown> =>
  cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect)

/** Returns the most important signal: a stop takes precedence over a question. */
export const signalIn = (defects: ReadonlyArray<unknown>): Signal | undefined =>
  defects.find(isA(StopSignal)) ?? defects.find(isA(SuspendSignal))
