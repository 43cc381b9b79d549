/*
 * What a call came to, as a value: its end, and the account of what happened on the way to it.
 */
import * as Duration from "effect/Duration"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import type { Certainty } from "../../Certainty.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import type { Completed, Failed, Stage, Stopped, Suspended } from "../../ToolOutcome.ts"
import { firstNotes } from "../value/text.ts"
import type { CallFrame } from "./callFrame.ts"
import type { CallState } from "./callState.ts"
import type { Frame, Subject } from "./frame.ts"

export const completedOutcome = (call: CallFrame, value: Schema.Json): Completed => {
  const { certaintyOfAnswer, state } = call
  const outcome = {
    _tag: "Completed",
    value,
    caveats: caveats(call, certaintyOfAnswer),
    ...account(call, certaintyOfAnswer)
  } as const
  return state.source === undefined ? outcome : { ...outcome, source: state.source }
}

/** @param certainty by default what the call knows */
export const failedOutcome = (
  call: CallFrame,
  failure: Failed["failure"],
  stage: Stage,
  certainty: Certainty = call.certainty
): Failed => ({
  _tag: "Failed",
  failure,
  stage,
  ...account(call, certainty)
})

export const suspendedOutcome = (
  call: CallFrame,
  { id, question }: { readonly id: string; readonly question: string }
): Suspended => {
  const outcome = { _tag: "Suspended", question, id, replies: call.replies, ...account(call, call.certainty) } as const
  // What goes on, goes on with these: also with what must not be shown.
  const used = call.correction
  return used === undefined ? outcome : { ...outcome, arguments: used.text }
}

export const stoppedOutcome = (call: CallFrame, reason: string): Stopped => ({
  _tag: "Stopped",
  reason,
  ...account(call, call.certainty)
})

/** Has it taken effect, or an equal call before it, because of which it was refused? */
export const hasActed = ({ certainty, failure, stage }: Failed): boolean =>
  certainty === "executed" || stage === "admit" && failure._tag === "ToolUnavailable" && failure.outcome === "executed"

const none: ReadonlyArray<never> = []

/** What a run of a tool came to that has ended so, for a program that called it. */
export const accountOf = <A, E extends ToolFailure>(frame: Frame, exit: Exit.Exit<A, E>) => {
  const { state } = frame
  const certainty = Exit.isSuccess(exit) ? frame.certaintyOfAnswer : frame.certainty
  const account = {
    exit,
    ...effortOf(state, certainty),
    executions: state.executions,
    caveats: Exit.isSuccess(exit) ? caveats(frame, certainty) : none
  }
  return state.source === undefined || Exit.isFailure(exit) ? account : { ...account, source: state.source }
}

const effortOf = ({ attempts, fixing, handled, waited }: CallState, certainty: Certainty) => {
  const effort = {
    certainty,
    attempts,
    waited: waited === 0 ? Duration.zero : Duration.millis(waited),
    handled: handled.length === 0 ? none : handled.toArray()
  }
  return fixing === undefined ? effort : { ...effort, fixing }
}

const account = (call: CallFrame, certainty: Certainty) => {
  const { attempts, executions, repairs } = call.state
  const effort = effortOf(call.state, certainty)
  const counted = executions === attempts ? effort : { ...effort, executions }
  const used = call.correction
  if (used !== undefined && !used.isSecret) return { ...counted, repairs, arguments: used.text }
  return repairs.length === 0 ? counted : { ...counted, repairs }
}

/**
 * What is said of the answer: first whether the tool took effect, where that is not what an answer seems to say; then what was changed about
 * the question, and its source, when it has an age.
 */
const caveats = ({ state, tool }: Frame, certainty: Certainty): ReadonlyArray<string> => {
  const noted = notes(state)
  const doubt = doubtOf(tool, certainty)
  return state.repairs.length === 0 && doubt === undefined
    ? noted
    : [...(doubt === undefined ? [] : [doubt]), ...state.repairs.flatMap(({ note }) => note ?? []), ...noted]
}

/** What is said of an answer where the tool did not take effect, as far as anybody knows. */
export const doubtOf = ({ name, sideEffect }: Subject, certainty: Certainty): string | undefined => {
  if (certainty === "unknown") {
    return `${name} may have taken effect all the same. Do not do it again before you have found out.`
  }
  return certainty === "not_executed" && sideEffect !== "none"
    ? `${name} itself has done nothing: this answer comes from elsewhere.`
    : undefined
}

const notes = ({ caveats, handled, source }: CallState): ReadonlyArray<string> => {
  const noted = caveats.length === 0 ? none : firstNotes(caveats.toArray())
  if (source?.age === undefined) return noted
  const isDown = handled.toArray().some(({ by, tag }) =>
    tag === "ToolUnavailable" && by !== "retry" && by !== "ignored"
  )
  const reason = isDown ? "; the live service is unavailable" : ""
  return [`from ${source.name}, ${age(source.age)} old${reason}`, ...noted]
}

// The largest unit says enough: "3h", not "3h 12m 4s".
const age = (duration: Duration.Duration): string =>
  Duration.isLessThan(duration, Duration.seconds(1)) ? "less than 1s" : Duration.format(duration).split(" ")[0]!
