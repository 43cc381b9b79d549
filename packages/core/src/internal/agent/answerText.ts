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
import { cut, list, maxDetail, oneLine } from "../value/text.ts"
import { faultOf, finalAnswerName, type Given, giving, notGiven, type Output } from "./finalAnswer.ts"
import { renderOutcome } from "./messages.ts"
import type { Run, State } from "./runState.ts"
import { type Called, runCalls } from "./turnCalls.ts"
import { answeringReply, saysNothing } from "./writtenAnswer.ts"

/** An answer, as the model gave it. */
export interface AsGiven {
  readonly reply: Reply
  /** The reply with the call that gives the answer, or that stands for its text. */
  readonly asCall: Reply
  readonly call: ToolCall
}

/** An answer, and what became of its call. */
export interface Answered extends AsGiven, Called {
  readonly given: Given
}

/** Runs the call of an answer. */
export const answeredBy = <E, R>(calls: Effect.Effect<Called, E, R>, answer: AsGiven): Effect.Effect<Answered, E, R> =>
  Effect.map(giving(calls), (called) => ({ ...called, ...answer }))

/** Checks a text as the answer of a run. Nobody sees the call: the model made none. */
export const checkText = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  reply: Reply,
  output: Output
): Effect.Effect<Answered, never, Tool.Requirements<T>> => {
  const asCall = answerOf(run, output, reply)
  const answer = { reply, asCall, call: asCall.calls[0] }
  const refused = (failure: SchemaMismatch) =>
    Effect.succeed({ facts: state.facts, outcomes: [refusedUnread(failure)], given: notGiven, ...answer })
  // A number that was cut off is another number.
  if (reply.truncated === true) return refused(DispatchFailure.answerCutOff(reply.text.length))
  if (saysNothing(output, reply.text)) return refused(DispatchFailure.answeredNothing())
  // If the run is interrupted here, its check may have acted.
  run.tracker?.calls(state, asCall)
  return answeredBy(runCalls({ ...run, watch: undefined }, state, asCall), answer)
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
export const invalidAnswer = (failure: ToolFailure): ModelFailure =>
  new ModelFailure({ code: "invalid_answer", detail: `The answer is not valid: ${faultOf(failure)}`, transient: true })

/** Returns what the model is told of a text that is not the answer. */
export const correctionOf = <T extends Tool.Any>(run: Run<T>, call: ToolCall, outcome: ToolOutcome.Failed): string => {
  if (!run.isStructured) {
    const why = renderOutcome(run, outcome, call, [])
    return `Your last reply is not the final answer. To give it, call ${finalAnswerName}.\n${why}`
  }
  // A rendering gives advice on calls.
  const { failure } = outcome
  const { _tag, hint } = failure
  const alternatives = _tag !== "SchemaMismatch" && "alternatives" in failure ? failure.alternatives : []
  const advice = [
    ...(hint === undefined || _tag === "SchemaMismatch" ? [] : [cut(oneLine(hint), maxDetail)]),
    ...(alternatives.length === 0 ? [] : [`Valid choices: ${list(alternatives)}.`])
  ]
  return `Your last reply is not a valid answer: ${
    [cut(faultOf(failure), maxDetail), ...advice].join(" ")
  }\nReply with the corrected answer alone, as JSON.`
}
