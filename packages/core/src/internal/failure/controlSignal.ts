import * as Cause from "effect/Cause"
import type { Question } from "../../Question.ts"
import { isA } from "../value/untrusted.ts"
import { Failure } from "./failureClass.ts"

/**
 * A question to the user, which suspends the call.
 *
 * A *signal* ends a handler or a policy without a failure. A tool's error channel has only the four classes
 * of failures. So a question and a stop travel as defects, which no policy handles.
 */
export class SuspendSignal
  extends Failure<{ readonly detail: string; readonly question: string; readonly id: string; readonly asks: Asked }>
{
  readonly _tag = "SuspendSignal"

  /** @param id the name of the call that asks */
  constructor(question: string, id: string, asks: Asked = { kind: "reply" }) {
    const detail = `A tool asked the user, but it runs without an agent: give a reply (ToolCall.withReply). ${question}`
    super({ question, id, detail, asks })
  }
}

/** What is asked, beside the words of the question. */
export type Asked = Omit<Question, "id" | "tool" | "text">

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
