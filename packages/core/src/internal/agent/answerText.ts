/*
 * A text in place of a call of `final_answer`. It is checked as such a call. If it is not the answer, the model is told why.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { ModelFailure, type Reply } from "../../Model.ts"
import type * as Tool from "../../Tool.ts"
import type { ToolCall } from "../../ToolCall.ts"
import type { SchemaMismatch, ToolFailure } from "../../ToolFailure.ts"
import type * as ToolOutcome from "../../ToolOutcome.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { oneLine } from "../value/text.ts"
import { finalAnswerName, type Given, giving, notGiven, type Output } from "./finalAnswer.ts"
import { renderOutcome } from "./messages.ts"
import type { Run, State } from "./runState.ts"
import { type Called, runCalls } from "./turnCalls.ts"
import { answeringReply, saysNothing } from "./writtenAnswer.ts"

/** A text as a call, and what became of the call. */
export interface AnsweredText extends Called {
  readonly given: Given
  readonly asCall: Reply
  readonly call: ToolCall
}

/** Checks a text as the answer of a run. Nobody sees the call: the model made none. */
export const checkText = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  reply: Reply,
  output: Output
): Effect.Effect<AnsweredText, never, Tool.Requirements<T>> => {
  const asCall = answerOf(run, output, reply)
  const [call] = asCall.calls
  const refused = (failure: SchemaMismatch) =>
    Effect.succeed({ facts: state.facts, outcomes: [refusedUnread(failure)], given: notGiven, asCall, call })
  // A number that was cut off is another number.
  if (reply.truncated === true) return refused(DispatchFailure.answerCutOff(reply.text.length))
  if (saysNothing(output, reply.text)) return refused(DispatchFailure.answeredNothing())
  // If the run is interrupted here, its check may have acted.
  run.tracker?.calls(state, asCall)
  return Effect.map(giving(runCalls({ ...run, watch: undefined }, state, asCall)), (called) => ({
    ...called,
    asCall,
    call
  }))
}

const answerOf = <T extends Tool.Any>({ masks }: Run<T>, output: Output, reply: Reply) => {
  const [call] = answeringReply(output, reply).calls
  const shown = call.arguments === undefined ? undefined : masks?.get(call.name)?.(call.arguments)
  const calls = [shown === undefined ? call : { ...call, shown }] as const
  return { text: "", calls }
}

const refusedUnread = (failure: SchemaMismatch): ToolOutcome.Failed => ({
  _tag: "Failed",
  failure,
  stage: "decode",
  certainty: "not_executed",
  attempts: 0,
  handled: [],
  waited: Duration.zero
})

/** What is wrong with a reply whose text is not the answer. */
export const invalidAnswer = ({ detail }: ToolFailure): ModelFailure =>
  new ModelFailure({ code: "invalid_answer", detail: `The answer is not valid: ${detail}`, transient: true })

/** Returns what the model is told of a text that is not the answer. */
export const correctionOf = <T extends Tool.Any>(run: Run<T>, call: ToolCall, outcome: ToolOutcome.Failed): string => {
  if (!run.isStructured) {
    const why = renderOutcome(run, outcome, call, [])
    return `Your last reply is not the final answer. To give it, call ${finalAnswerName}.\n${why}`
  }
  // The advice of a rendering is about calls.
  const { _tag, detail, hint } = outcome.failure
  const advice = hint === undefined || _tag === "SchemaMismatch" ? "" : ` ${oneLine(hint)}`
  return `Your last reply is not a valid answer: ${
    oneLine(detail)
  }${advice}\nReply with the corrected answer alone, as JSON.`
}
