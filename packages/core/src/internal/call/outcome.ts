/*
 * Makes the outcome of a call as a value: how the call ended, and the record of the call.
 */
import * as Duration from "effect/Duration"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import type { Certainty } from "../../Certainty.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import type { Completed, Failed, Stage, Stopped, Suspended, ToolOutcome } from "../../ToolOutcome.ts"
import type { SuspendSignal } from "../failure/controlSignal.ts"
import { certaintyOf } from "../failure/effects.ts"
import { firstNotes } from "../value/text.ts"
import type { CallState } from "./callState.ts"
import { isLasting } from "./done.ts"
import type { Scope, Subject } from "./scope.ts"

export const completedOutcome = (call: Scope, value: Schema.Json): Completed => {
  const { files, source, told } = call.state
  const certainty = certaintyOf(call.effects(true))
  const outcome = {
    _tag: "Completed",
    value,
    ...(told === undefined ? {} : { told }),
    caveats: caveats(call, certainty),
    ...account(call, certainty, true)
  } as const
  if (files.length === 0) return source === undefined ? outcome : { ...outcome, source }
  return { ...outcome, files: files.toArray(), ...(source === undefined ? {} : { source }) }
}

/** @param certainty whether the call took effect; default: the certainty of `call` */
export const failedOutcome = (
  call: Scope,
  failure: Failed["failure"],
  stage: Stage,
  certainty: Certainty = call.certainty
): Failed => ({
  _tag: "Failed",
  failure,
  stage,
  // A refused call has done nothing: the doubt is about an earlier call.
  ...(certainty === "unknown" && stage !== "admit" ? { doubt: "hard" } as const : {}),
  ...account(call, certainty)
})

export const suspendedOutcome = (call: Scope, { asks, id, question }: SuspendSignal): Suspended => {
  const { correction, live: { replies }, state, tool } = call
  const effects = call.effects(false)
  return {
    _tag: "Suspended",
    question,
    id,
    // Each reply makes the number of the next question.
    asks: { id: `${call.id}/question/${replies.length + 1}`, tool: tool.name, text: question, ...asks },
    replies,
    ...(effects === "none" ? {} : { effects }),
    ...(isLasting(state.done) || state.done.wasLasting ? { lasting: true } : {}),
    ...account(call, call.certainty),
    // The resumed call needs the corrected arguments, even if they contain secrets that must not be shown.
    ...(correction === undefined ? {} : { arguments: correction.text })
  }
}

export const stoppedOutcome = (call: Scope, reason: string): Stopped => ({
  _tag: "Stopped",
  reason,
  ...account(call, call.certainty)
})

/** True if the call took effect, or was refused because an earlier, identical call took effect. */
export const hasActed = ({ certainty, failure, stage }: Failed): boolean =>
  certainty === "executed" || stage === "admit" && failure._tag === "ToolUnavailable" && failure.outcome === "executed"

/** Whether the effect of the call has happened, by this call or by an earlier one that it repeats. */
export const happened = (outcome: ToolOutcome): Certainty =>
  outcome._tag === "Failed" && hasActed(outcome) ? "executed" : outcome.certainty

const none: ReadonlyArray<never> = []

/** Returns the exit of a tool's run together with the record of the call, for the program that ran the tool. */
export const accountOf = <A, E extends ToolFailure>(scope: Scope, exit: Exit.Exit<A, E>) => {
  const { state } = scope
  const certainty = certaintyOf(scope.effects(Exit.isSuccess(exit)))
  const account = {
    exit,
    ...shownEffort(scope, certainty, Exit.isSuccess(exit)),
    executions: state.executions,
    caveats: Exit.isSuccess(exit) ? caveats(scope, certainty) : none
  }
  if (Exit.isFailure(exit)) return account
  const answer = state.files.length === 0 ? account : { ...account, files: state.files.toArray() }
  return state.source === undefined ? answer : { ...answer, source: state.source }
}

// If the call has no answer or is in doubt, also what its requests show.
const shownEffort = (call: Scope, certainty: Certainty, hasAnswer: boolean) => {
  const { wire } = call.state
  const effort = effortOf(call.state, certainty)
  if (certainty !== "unknown" && (hasAnswer || wire.length === 0)) return effort
  const doubt = certainty === "unknown" ? call.doubt(call.effects(hasAnswer)) : undefined
  return { ...effort, ...(doubt === undefined ? {} : { doubt }), ...(wire.length === 0 ? {} : { wire }) }
}

const effortOf = ({ attempts, fixing, handled, spent, waited }: CallState, certainty: Certainty) => {
  const effort = {
    certainty,
    attempts,
    waited: waited === 0 ? Duration.zero : Duration.millis(waited),
    handled: handled.length === 0 ? none : handled.toArray()
  }
  return fixing === undefined && spent === undefined ? effort : {
    ...effort,
    ...(fixing === undefined ? {} : { fixing }),
    ...(spent === undefined ? {} : { spent })
  }
}

const account = (call: Scope, certainty: Certainty, hasAnswer = false) => {
  const { attempts, decided, executions, repairs } = call.state
  const effort = shownEffort(call, certainty, hasAnswer)
  const known = decided === undefined ? effort : { ...effort, decided }
  const counted = executions === attempts ? known : { ...known, executions }
  const correction = call.correction
  if (correction !== undefined && !correction.isSecret) return { ...counted, repairs, arguments: correction.text }
  return repairs.length === 0 ? counted : { ...counted, repairs }
}

/**
 * Returns the caveats on an answer, in this order: doubt about the effect, notes on repaired
 * arguments, the source if it is a fallback or if its age is known, and the caveats noted during the call.
 */
const caveats = ({ state, tool }: Scope, certainty: Certainty): ReadonlyArray<string> => {
  const otherNotes = notes(state)
  const doubt = doubtOf(tool, certainty)
  return state.repairs.length === 0 && doubt === undefined
    ? otherNotes
    : [...(doubt === undefined ? [] : [doubt]), ...state.repairs.flatMap(({ note }) => note ?? []), ...otherNotes]
}

/**
 * Returns the caveat about the tool's effect that an answer needs: that the effect is unknown, or
 * that the tool itself did nothing. Returns `undefined` if the answer needs no such caveat.
 */
export const doubtOf = ({ name, sideEffect }: Subject, certainty: Certainty): string | undefined => {
  if (certainty === "unknown") {
    return `${name} may have taken effect anyway. Do not repeat it until you have checked.`
  }
  return certainty === "not_executed" && sideEffect !== "none"
    ? `${name} itself did nothing: this answer comes from another source.`
    : undefined
}

const notes = ({ caveats, instead, source }: CallState): ReadonlyArray<string> => {
  const texts = caveats.length === 0 ? none : firstNotes(caveats.toArray())
  if (source === undefined || source.age === undefined && instead === undefined) return texts
  const isDown = instead === "down"
  const note = source.age === undefined
    ? `from ${source.name}${isDown ? "; the usual source is unavailable" : ""}`
    : `from ${source.name}, ${age(source.age)} old${isDown ? "; the live service is unavailable" : ""}`
  return [note, ...texts]
}

// The largest unit is enough: "3h", not "3h 12m 4s".
const age = (duration: Duration.Duration): string =>
  Duration.isLessThan(duration, Duration.seconds(1)) ? "less than 1s" : Duration.format(duration).split(" ")[0]!
