/*
 * The guard against loops at work: it folds the calls of each turn into a state. `LoopGuard` describes the steps.
 */
import * as Duration from "effect/Duration"
import type { LoopGuard, Step } from "../../LoopGuard.ts"
import type { ToolCall } from "../../ToolCall.ts"
import type { Completed, Failed } from "../../ToolOutcome.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { soonOf } from "../failure/soon.ts"
import { hasNothing } from "../result/emptiness.ts"
import { durationText } from "../value/durationText.ts"
import { cut, oneLine } from "../value/text.ts"
import { attempt } from "../value/untrusted.ts"
import { mayVary } from "../value/varyingTool.ts"
import {
  isHopeless,
  isNewEffect,
  isRefused,
  isRepeatRefused,
  isSameCall,
  judge,
  type Judged,
  type Judgement,
  maxLooks,
  mayChange,
  type Observed,
  type Seen,
  type Subject,
  textOf,
  type Time
} from "./loopJudgement.ts"

/**
 * What a guard remembers of a run.
 */
export interface LoopState {
  /** The latest calls, oldest first. */
  readonly seen: ReadonlyArray<Seen>
  /**
   * How far the guard has gone since the last progress, in the numbers of its {@link Options}. 0: nothing repeats. A call that
   * comes back after several turns counts for a part, so that a round of calls counts once.
   */
  readonly count: number
  /** The turn of the latest progress. */
  readonly progress: number
  /** The names of the tools that are withdrawn until there is progress. */
  readonly withdrawn: ReadonlyArray<string>
  /** The latest turn in which a call was repeated whose result may change with time. `-Infinity`: none. */
  readonly waiting: number
  /** The latest turn in which a call may have changed something. 0: none. */
  readonly effect: number
  /** True once a call has been seen that may have to wait when it is repeated. In most runs, there is none. */
  readonly mayWait: boolean
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
export const noLoop: LoopState = {
  seen: [],
  count: 0,
  progress: 0,
  withdrawn: [],
  waiting: -Infinity,
  effect: 0,
  mayWait: false
}

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
  if ((count === 0 ? guard.warnAt : Math.floor(count) + 1) < guard.refuseAt) return undefined
  const text = textOf(call)
  const before = seen.findLast((entry) => isSameCall(entry, call.name, text))
  return before === undefined || !isStuckNextTime(guard, before) || !hasResult(before.outcome) ||
      isNewEffect(before.outcome, tool) || before.times < maxLooks && mayChange(before.outcome, tool)
    ? undefined
    : DispatchFailure.loopDetected()
}

// A failure is refused by what caused it, and only as long as the cause lasts.
const hasResult = (outcome: Completed | Failed): boolean =>
  outcome._tag === "Completed" || outcome.failure._tag === "PartialData"

// Another call that was made only once may have a new result by now.
const isStuckNextTime = ({ warnAt }: LoopGuard, { times }: Seen): boolean => times > 1 && times + 1 >= warnAt

/**
 * Returns how long to wait before a call that repeats one whose result may change with time, in milliseconds; 0 if it need
 * not wait. The wait grows with each repetition.
 *
 * - The result says that something is under way, and was the same twice.
 * - The result is empty, although the run has changed something before: an index may lag.
 * - The call failed, and the failure asks to wait.
 */
export const waitInLoop = (
  { effect, mayWait, seen }: LoopState,
  call: ToolCall,
  tool: Subject,
  time: Time
): number => {
  if (!mayWait || tool.sideEffect !== "none" || tool.poll !== undefined) return 0
  const text = textOf(call)
  let at = seen.length - 1
  while (at >= 0 && (seen[at]!.arguments !== text || seen[at]!.tool !== call.name)) at--
  if (at < 0) return 0
  const { outcome, since = 0, times } = seen[at]!
  // A policy that refuses a call at once, such as a circuit breaker, knows itself when it may run again.
  if (outcome._tag === "Failed") {
    const wait = outcome.attempts === 0 ? 0 : soonOf(outcome.failure) ?? 0
    return Math.max(0, wait - (time.used - since))
  }
  if (effect > 0 && isEmpty({ call, outcome, tool })) return growing(times)
  return times > 1 && mayChange(outcome, tool) ? growing(times - 1) : 0
}

const growing = (times: number): number => Math.min(firstWait * 1.5 ** (times - 1), longestWait)

/** Half a second, half as much more each time, at most ten seconds: ten calls wait for about half a minute in all. */
const [firstWait, longestWait] = [500, 10_000]

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
  calls: ReadonlyArray<Observed>,
  time: Time
): Verdict => {
  const { progress, seen: before } = state
  const { warnAt, window } = guard
  // Makes room for one call. To copy one entry less is much faster than to shift the others later.
  const seen = before.length > window ? before.slice(1) : before.slice()
  const memory = { seen, window, turn, time, progress, warnAt, isNew: false, waits: false, acts: false }
  const judged = calls.map((observed) => judge(memory, observed))
  const waiting = memory.waits ? turn : state.waiting
  const effect = memory.acts ? turn : state.effect
  const mayWait = state.mayWait || memory.waits || asksToWait(calls, isRecent(state.effect, turn))
  const seeing = { time, warnAt, progress: memory.isNew ? turn : progress, hasActed: isRecent(state.effect, turn) }
  // Written out: an object that is spread from another one takes longer.
  return memory.isNew
    ? afterProgress(
      guard,
      { seen, count: 0, progress: turn, withdrawn: none, waiting, effect, mayWait },
      judged,
      seeing
    )
    : withoutProgress(guard, { ...state, seen, waiting, effect, mayWait }, turn, judged, seeing)
}

// After some turns, what the run has changed is visible.
const isRecent = (effect: number, turn: number): boolean => effect > 0 && turn - effect <= maxRound

// An empty result may be another one once the effects of the run are visible.
const asksToWait = (calls: ReadonlyArray<Observed>, hasActed: boolean): boolean => {
  for (const observed of calls) {
    const { outcome } = observed
    if (outcome._tag === "Failed" ? soonOf(outcome.failure) !== undefined : hasActed && isEmpty(observed)) return true
  }
  return false
}

// Tells the model of repeated calls, but takes no further step. All steps begin anew.
const afterProgress = (
  guard: LoopGuard,
  state: LoopState,
  judged: ReadonlyArray<Judgement>,
  seeing: Seeing
): Verdict => {
  const notes = notesOf(judged, seeing)
  // What the model reads of an empty result is no step.
  const repeated = notes.length === 0 ? none : repeatedOf(guard, judged)
  return repeated.length === 0 ? { state, notes, repeated } : { state, notes, step: "warned", repeated }
}

const withoutProgress = (
  guard: LoopGuard,
  state: LoopState,
  turn: number,
  judged: ReadonlyArray<Judgement>,
  seeing: Seeing
): Verdict => {
  // While a run waits for something, the calls between its looks are no loop.
  const count = turn - state.waiting < maxRound ? state.count : countOf(guard, state.count, judged)
  // Calls with other arguments have at least twelve turns, and most of them are only told.
  const alike = judged.reduce(
    (max, one) => one.kind === "alike" && isHopeless(one.entry) ? Math.max(max, one.entry.alike) : max,
    0
  )
  const reached = Math.max(Math.floor(count), Math.floor(alike * guard.endAt / Math.max(minAlike, guard.endAt)))
  const own = repeatedOf(guard, judged)
  const partners = count >= guard.warnAt ? partnersOf(state.seen, own) : none
  const repeated = partners.length === 0 ? own : [...own, ...partners]
  const withdrawn = reached >= guard.withdrawAt ? namesOf(state.withdrawn, repeated) : state.withdrawn
  const notes = notesOf(judged, seeing, partners.length > 0)
  const step = repeated.length === 0 ? undefined : stepOf(guard, reached, judged, notes)
  const verdict = { state: { ...state, count, withdrawn }, notes, repeated: none }
  return step === undefined ? verdict : { ...verdict, step, repeated }
}

const none: ReadonlyArray<never> = []

const countOf = (guard: LoopGuard, before: number, judged: ReadonlyArray<Judgement>): number => {
  const steps = judged.flatMap((judgement) => {
    if (judgement.kind === "ignored") return []
    if (isRepeatRefused(judgement) || before > 0 && isRefused(judgement)) return [stepOfRefusal(guard, judgement)]
    const isCounted = judgement.kind === "repeat" && judgement.entry.times >= guard.warnAt &&
      !isCountedByFacts(judgement.entry.outcome)
    // Each effect of a cycle changes the world, so it is told long before it counts.
    return isCounted ? [(judgement.entry.sets && judgement.gap > 1 ? 0.5 : 1) / judgement.gap] : []
  })
  if (steps.length === 0) return before
  return before === 0 ? guard.warnAt : before + Math.max(...steps)
}

// Nothing can change for a call that what is known refuses. So its third time withdraws the tool.
const stepOfRefusal = ({ warnAt, withdrawAt }: LoopGuard, { observed: { outcome } }: Judged): number =>
  outcome._tag === "Failed" && outcome.failure.code === "loop_detected" ? 1 : Math.max(1, (withdrawAt - warnAt) / 2)

// `CallFacts` refuses such a call after as many failed executions as its tool permits.
const isCountedByFacts = (outcome: Completed | Failed): boolean =>
  outcome._tag === "Failed" && outcome.attempts > 0 && outcome.failure._tag !== "PartialData" &&
  soonOf(outcome.failure) === undefined

/** How many turns calls with other arguments have before they end a run. */
const minAlike = 12

/** How many turns a round of calls may have that looks once whether something has changed. */
const maxRound = 4

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

/** What the notes on a turn depend on, beside its calls. */
interface Seeing {
  readonly time: Time
  readonly warnAt: number
  /** The turn of the latest progress, this one included. */
  readonly progress: number
  /** True if the run has changed something in the turns just before. */
  readonly hasActed: boolean
}

const notesOf = (judged: ReadonlyArray<Judgement>, seeing: Seeing, isOscillating = false): Verdict["notes"] => {
  // Most turns need no notes.
  const { hasActed, warnAt } = seeing
  if (
    !judged.some((one) =>
      one.kind !== "ignored" &&
      (one.entry.times >= warnAt || one.entry.alike >= warnAt || hasActed && isEmpty(one.observed))
    )
  ) {
    return none
  }
  const notes = judged.map((judgement) => noteOf(judgement, seeing, isOscillating))
  return notes.some((note) => note !== undefined) ? notes : none
}

// True if a tool that only reads has found nothing.
const isEmpty = ({ outcome, tool }: Observed): boolean =>
  outcome._tag === "Completed" && tool?.sideEffect === "none" && outcome.files === undefined &&
  attempt(() => hasNothing(outcome.value)) === true

const noteOf = (
  judgement: Judgement,
  { hasActed, progress, time, warnAt }: Seeing,
  isOscillating: boolean
): string | undefined => {
  if (judgement.kind === "ignored" || judgement.isRefused) return undefined
  const { entry, kind, observed: { call, tool } } = judgement
  const { outcome } = entry
  if (hasActed && entry.times < warnAt && isEmpty(judgement.observed)) return lagging
  if (kind === "alike") return entry.alike < warnAt ? undefined : alikeText(call.name, entry)
  if (entry.times < warnAt) return undefined
  if (outcome._tag === "Failed") {
    return `This call has now failed ${entry.times} times in the same way.`
  }
  if (tool !== undefined && tool.sideEffect !== "none") {
    return `This call has now succeeded ${entry.times} times with the same result. Repeat it only if you mean to do the same once more.`
  }
  const age = entry.since === undefined ? 0 : time.used - entry.since
  const unchanged = age < 1000 ? "" : `, unchanged for ${durationText(Duration.seconds(Math.floor(age / 1000)))}`
  const known = `You already have this result${unchanged}: the same call has returned it ${entry.times} times.`
  if (kind === "waiting") return `${known} It may still change, so the next call waits a moment first.`
  const also = isOscillating ? " You are alternating between calls that add nothing new." : ""
  // It may be the throw of a coin, or a look whether something has happened.
  const isMeant = entry.turn - judgement.gap < progress ||
    entry.times < warnAt + patience && mayVary(call.name, tool?.description)
  return isMeant
    ? `${known}${also} Use it, or call again if time or chance may change it.`
    : `${known}${also} Do not repeat the call. Use the result, or do something else.`
}

const lagging =
  "If this should show what the run has just changed, it may not be visible yet: the same call waits a moment and reads again."

/** How many more times a tool whose result may vary may give the same one before the model is told to stop. */
const patience = 5

const alikeText = (name: string, { alike, outcome }: Seen): string => {
  const calls = `Calls of ${cut(oneLine(name), 80)} in the last ${alike} turns`
  return outcome._tag === "Failed"
    ? `${calls} failed in the same way, with different arguments each time. If you have no better arguments, use another tool, ask the user, or answer with what you know.`
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
