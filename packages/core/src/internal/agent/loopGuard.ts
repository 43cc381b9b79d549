/*
 * The guard against loops at work: it folds the calls of each turn into a state. `LoopGuard` describes the steps.
 */
import type { LoopGuard, Step } from "../../LoopGuard.ts"
import type { ToolCall } from "../../ToolCall.ts"
import type { Completed, Failed } from "../../ToolOutcome.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { cut, oneLine } from "../value/text.ts"
import {
  isHopeless,
  isNewEffect,
  isRefused,
  isRepeatRefused,
  isSameCall,
  judge,
  type Judgement,
  type Observed,
  type Seen,
  type Subject,
  textOf
} from "./loopJudgement.ts"

/**
 * What a guard remembers of a run.
 */
export interface LoopState {
  /** The latest calls, oldest first. */
  readonly seen: ReadonlyArray<Seen>
  /** How far the guard has gone since the last progress, in the numbers of its {@link Options}. 0: nothing repeats. */
  readonly count: number
  /** The turn of the latest progress. */
  readonly progress: number
  /** The names of the tools that are withdrawn until there is progress. */
  readonly withdrawn: ReadonlyArray<string>
}

/**
 * What a guard says of a turn.
 */
export interface Verdict {
  readonly state: LoopState
  /** A sentence for the model on each call, in the order of the calls, or `undefined`. Empty if there are none. */
  readonly notes: ReadonlyArray<string | undefined>
  /** The furthest step of the turn. Absent if the guard took none. */
  readonly step?: Step
  /** The repeated calls of the turn, if there is a step. */
  readonly repeated: ReadonlyArray<Seen>
}

/**
 * The state of a guard before the first turn.
 */
export const noLoop: LoopState = { seen: [], count: 0, progress: 0, withdrawn: [] }

// -----------------------------------------------------------------------------
// Before a call
// -----------------------------------------------------------------------------

/**
 * Returns the failure with which a call is refused, or `undefined` if the call may run.
 *
 * @param tool the tool that the model calls
 */
export const refuseInLoop = (
  guard: LoopGuard,
  { count, seen, withdrawn }: LoopState,
  call: ToolCall,
  tool: Subject
): DispatchFailure.DispatchFailure | undefined => {
  if (withdrawn.length > 0 && withdrawn.includes(call.name)) return DispatchFailure.withdrawn(call.name)
  if ((count === 0 ? guard.warnAt : count + 1) < guard.refuseAt) return undefined
  const text = textOf(call)
  const before = seen.findLast((entry) => isSameCall(entry, call.name, text))
  return before === undefined || !isStuckNextTime(guard, before) || !hasResult(before.outcome) ||
      isNewEffect(before.outcome, tool)
    ? undefined
    : DispatchFailure.loopDetected()
}

// A failure is refused by what caused it, and only as long as the cause lasts.
const hasResult = (outcome: Completed | Failed): boolean =>
  outcome._tag === "Completed" || outcome.failure._tag === "PartialData"

// Another call that was made only once may have a new result by now.
const isStuckNextTime = ({ warnAt }: LoopGuard, { times }: Seen): boolean => times > 1 && times + 1 >= warnAt

// -----------------------------------------------------------------------------
// After a turn
// -----------------------------------------------------------------------------

/**
 * Folds the calls of a turn into the state, and returns what the guard says of them.
 *
 * @param turn the 1-based number of the turn
 */
export const judgeTurn = (
  guard: LoopGuard,
  state: LoopState,
  turn: number,
  calls: ReadonlyArray<Observed>
): Verdict => {
  const { progress, seen: before } = state
  const { warnAt, window } = guard
  // Makes room for one call. To copy one entry less is much faster than to shift the others later.
  const seen = before.length > window ? before.slice(1) : before.slice()
  const memory = { seen, window, turn, progress, warnAt }
  const judged = calls.map((observed) => judge(memory, observed))
  return judged.some(isNew) ? afterProgress(guard, seen, turn, judged) : withoutProgress(guard, state, seen, judged)
}

const isNew = ({ kind }: Judgement): boolean => kind === "new"

// Tells the model of repeated calls, but takes no further step. All steps begin anew.
const afterProgress = (
  guard: LoopGuard,
  seen: ReadonlyArray<Seen>,
  turn: number,
  judged: ReadonlyArray<Judgement>
): Verdict => {
  const notes = notesOf(guard, judged)
  const verdict = { state: { seen, count: 0, progress: turn, withdrawn: none }, notes, repeated: none }
  return notes.length === 0 ? verdict : { ...verdict, step: "warned", repeated: repeatedOf(guard, judged) }
}

const withoutProgress = (
  guard: LoopGuard,
  state: LoopState,
  seen: ReadonlyArray<Seen>,
  judged: ReadonlyArray<Judgement>
): Verdict => {
  const count = countOf(guard, state.count, judged)
  // Calls with other arguments have twice the time, and most of them are only told.
  const alike = judged.reduce(
    (max, one) => one.kind === "alike" && isHopeless(one.entry) ? Math.max(max, one.entry.alike) : max,
    0
  )
  const reached = Math.max(count, Math.floor(alike / 2))
  const own = repeatedOf(guard, judged)
  const partners = count >= guard.warnAt ? partnersOf(seen, own) : none
  const repeated = partners.length === 0 ? own : [...own, ...partners]
  const withdrawn = reached >= guard.withdrawAt ? namesOf(state.withdrawn, repeated) : state.withdrawn
  const notes = notesOf(guard, judged, partners.length > 0)
  const step = repeated.length === 0 ? undefined : stepOf(guard, reached, judged, notes)
  const verdict = { state: { ...state, seen, count, withdrawn }, notes, repeated: none }
  return step === undefined ? verdict : { ...verdict, step, repeated }
}

const none: ReadonlyArray<never> = []

const countOf = (guard: LoopGuard, before: number, judged: ReadonlyArray<Judgement>): number => {
  const isCounted = judged.some((judgement) =>
    isRepeatRefused(judgement) || before > 0 && isRefused(judgement) ||
    judgement.kind === "repeat" && judgement.entry.times >= guard.warnAt &&
      !isCountedByFacts(judgement.entry.outcome)
  )
  if (!isCounted) return before
  return before === 0 ? guard.warnAt : before + 1
}

// `CallFacts` refuses such a call after as many failed executions as its tool permits.
const isCountedByFacts = (outcome: Completed | Failed): boolean =>
  outcome._tag === "Failed" && outcome.attempts > 0 && outcome.failure._tag !== "PartialData"

const stepOf = (
  { endAt, withdrawAt }: LoopGuard,
  reached: number,
  judged: ReadonlyArray<Judgement>,
  notes: ReadonlyArray<string | undefined>
): Step | undefined => {
  if (reached >= endAt) return "ended"
  if (reached >= withdrawAt) return "withdrawn"
  if (judged.some(isRefused)) return "refused"
  return notes.length === 0 ? undefined : "warned"
}

// The calls that the steps are about: those that the model is told of, or that were refused.
const repeatedOf = ({ warnAt }: LoopGuard, judged: ReadonlyArray<Judgement>): ReadonlyArray<Seen> =>
  judged.flatMap((judgement) => {
    if (judgement.kind === "ignored") return []
    const { entry, kind } = judgement
    const times = kind === "alike" ? entry.alike : entry.times
    return judgement.isRefused || times >= warnAt ? [entry] : []
  })

// The calls that a run makes in turn with a repeated call, in the turns just before.
const partnersOf = (seen: ReadonlyArray<Seen>, repeated: ReadonlyArray<Seen>): ReadonlyArray<Seen> =>
  seen.filter(({ times, turn }) =>
    times > 1 && repeated.some((entry) => entry.times > 1 && turn < entry.turn && entry.turn - turn <= maxAlternating)
  )

/** How many turns apart the calls of an oscillation may be: three calls in turn. */
const maxAlternating = 2

const namesOf = (names: ReadonlyArray<string>, repeated: ReadonlyArray<Seen>): ReadonlyArray<string> =>
  Array.from(new Set([...names, ...repeated.map(({ tool }) => tool)]))

// -----------------------------------------------------------------------------
// Words
// -----------------------------------------------------------------------------

const notesOf = (
  guard: LoopGuard,
  judged: ReadonlyArray<Judgement>,
  isOscillating = false
): Verdict["notes"] => {
  // Most turns need no notes.
  const { warnAt } = guard
  if (!judged.some((one) => one.kind !== "ignored" && (one.entry.times >= warnAt || one.entry.alike >= warnAt))) {
    return none
  }
  const notes = judged.map((judgement) => noteOf(guard, judgement, isOscillating))
  return notes.some((note) => note !== undefined) ? notes : none
}

const noteOf = ({ warnAt }: LoopGuard, judgement: Judgement, isOscillating: boolean): string | undefined => {
  if (judgement.kind === "ignored" || judgement.isRefused) return undefined
  const { entry, kind, observed: { call, tool } } = judgement
  const { outcome } = entry
  if (kind === "alike") return entry.alike < warnAt ? undefined : alikeText(call.name, entry)
  if (entry.times < warnAt) return undefined
  if (outcome._tag === "Failed") {
    return `This call has now failed ${entry.times} times in the same way.`
  }
  if (isNewEffect(outcome, tool)) {
    return `This call has now succeeded ${entry.times} times with the same result. Repeat it only if you mean to do the same once more.`
  }
  const also = isOscillating ? " You are alternating between calls that add nothing new." : ""
  return `You already have this result: the same call has returned it ${entry.times} times.${also} Do not repeat the call. Use the result, or do something else.`
}

const alikeText = (name: string, { alike, outcome }: Seen): string => {
  const calls = `Calls of ${cut(oneLine(name), 80)} in the last ${alike} turns`
  return outcome._tag === "Failed"
    ? `${calls} failed in the same way, with different arguments each time. Use another tool, ask the user, or answer with what you know.`
    : `${calls} returned the same result, with different arguments each time. More such calls may add nothing.`
}

/**
 * Describes the calls that a run repeated, for people.
 */
export const describeLoop = (repeated: ReadonlyArray<Seen>): string => {
  const byTool = new Map<string, number>()
  for (const { alike, times, tool } of repeated) {
    byTool.set(tool, Math.max(byTool.get(tool) ?? 0, times, alike))
  }
  const calls = Array.from(byTool, ([tool, times]) => `${cut(oneLine(tool), 80)} (${times} times)`)
  const more = calls.length - maxNamed
  const named = `${calls.slice(0, maxNamed).join(", ")}${more > 0 ? ` and ${more} more` : ""}`
  return `The model was stuck in a loop: it repeated ${named}, and nothing changed.`
}

const maxNamed = 5
