/**
 * Notices when a run is stuck: the model repeats calls that add nothing. The guard works on facts (the tool, its
 * arguments, its outcome), and never on the model's text.
 *
 * | what the guard sees                                    | steps                          |
 * | ------------------------------------------------------ | ------------------------------ |
 * | the same call with the same outcome                    | tell, refuse, withdraw, end    |
 * | two or more calls in turn, with the same outcomes      | tell, refuse, withdraw, end    |
 * | invalid calls, or failures of a tool that is down      | tell; much later withdraw, end |
 * | other same failures or results, with other arguments   | tell                           |
 *
 * First the model is told. Then the same call is refused without running. Then its tool is withdrawn: the model is
 * no longer offered it. At last the run ends with `LoopDetected`. By default these are the third, fourth, fifth and
 * sixth time ({@link Options}). A call with other arguments may be right, so it is never refused before its tool is
 * withdrawn, and the last two steps come after twice as many turns. A call that was made only once is not refused
 * either, because its result may be new by now.
 *
 * Progress resets all steps. A turn makes progress if one of its calls has a new result, or acts. So the guard never
 * stops a run that polls a result that changes, follows pages, or tries new arguments with new results. A
 * successful call of a tool that is not idempotent always counts as progress, because the repetition may be meant: the
 * model is told, and nothing else. If a repetition cannot be meant, declare `repeats: false`. A tool that is polled
 * (`poll`) waits instead, and is left alone.
 *
 * Failures of a tool that ran are left to `CallFacts`: it refuses the same call after as many failures as the tool
 * permits. Each such refusal then counts like the third time, the fourth time, and so on.
 *
 * The calls of one turn count once, because the model has not seen their results yet.
 *
 * Two results are the same if they differ only in volatile fields. These are the fields that a tool declares as
 * `volatile`, times of responses (`timestamp`, `generated_at`, `took_ms`), and ids of requests (`request_id`, as a text of
 * at least 6 characters). Under an ambiguous name, such as `at`, `time` or `updated_at`, and in a text, a time is volatile
 * if the other one is within an hour, and not both are on the minute.
 *
 * The idea comes from guards against loops in other agents (Gemini CLI, OpenHands). Those compare texts.
 *
 * @since 0.1.0
 */
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
} from "./internal/agent/loopJudgement.ts"
import * as DispatchFailure from "./internal/arguments/dispatchFailure.ts"
import { whole } from "./internal/value/numberOption.ts"
import { cut, oneLine } from "./internal/value/text.ts"
import type { ToolCall } from "./ToolCall.ts"
import type { Completed, Failed } from "./ToolOutcome.ts"

export type { Observed, Seen, Subject } from "./internal/agent/loopJudgement.ts"

// -----------------------------------------------------------------------------
// Models
// -----------------------------------------------------------------------------

/**
 * The thresholds of a guard. A threshold counts how often the same call has had the same outcome. The four steps
 * must not come in another order.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** The time at which the model is told. At least 2. Default: 3. */
  readonly tell?: number
  /** The time at which the call is refused. Default: one more than `tell`. */
  readonly refuse?: number
  /** The time at which the tool is withdrawn. Default: one more than `refuse`. */
  readonly withdraw?: number
  /** The time at which the run ends. Default: one more than `withdraw`. */
  readonly end?: number
  /** How many different calls the guard remembers. A loop over more calls is not noticed. Default: 12. */
  readonly window?: number
}

/**
 * A guard: {@link Options} with all values filled in.
 *
 * @category models
 * @since 0.1.0
 */
export type LoopGuard = Required<Options>

/**
 * Makes a guard. Throws if a threshold is not a whole number, or if the steps come in the wrong order.
 *
 * @example
 * ```ts
 * import * as LoopGuard from "@fallible/core/LoopGuard"
 *
 * LoopGuard.make({ tell: 5 }) // => { tell: 5, refuse: 6, withdraw: 7, end: 8, window: 12 }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): LoopGuard => {
  const tell = whole("A loop guard's 'tell'", options.tell ?? 3, 2)
  const refuse = whole("A loop guard's 'refuse'", options.refuse ?? tell + 1, tell)
  const withdraw = whole("A loop guard's 'withdraw'", options.withdraw ?? refuse + 1, refuse)
  const end = whole("A loop guard's 'end'", options.end ?? withdraw + 1, withdraw)
  return { tell, refuse, withdraw, end, window: whole("A loop guard's 'window'", options.window ?? 12, 4) }
}

/**
 * A step of a guard.
 *
 * @category models
 * @since 0.1.0
 */
export type Step = "told" | "refused" | "withdrawn" | "ended"

/**
 * What a guard remembers of a run.
 *
 * @category models
 * @since 0.1.0
 */
export interface State {
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
 *
 * @category models
 * @since 0.1.0
 */
export interface Verdict {
  readonly state: State
  /** A sentence for the model on each call, in the order of the calls, or `undefined`. Empty if there are none. */
  readonly notes: ReadonlyArray<string | undefined>
  /** The furthest step of the turn. Absent if the guard took none. */
  readonly step?: Step
  /** The repeated calls of the turn, if there is a step. */
  readonly repeated: ReadonlyArray<Seen>
}

/**
 * The state of a guard before the first turn.
 *
 * @category constructors
 * @since 0.1.0
 */
export const empty: State = { seen: [], count: 0, progress: 0, withdrawn: [] }

// -----------------------------------------------------------------------------
// Before a call
// -----------------------------------------------------------------------------

/**
 * Returns the failure with which a call is refused, or `undefined` if the call may run.
 *
 * @param tool the tool that the model calls
 * @category guarding
 * @since 0.1.0
 */
export const refusal = (
  guard: LoopGuard,
  { count, seen, withdrawn }: State,
  call: ToolCall,
  tool: Subject
): DispatchFailure.DispatchFailure | undefined => {
  if (withdrawn.length > 0 && withdrawn.includes(call.name)) return DispatchFailure.withdrawn(call.name)
  if ((count === 0 ? guard.tell : count + 1) < guard.refuse) return undefined
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
const isStuckNextTime = ({ tell }: LoopGuard, { times }: Seen): boolean => times > 1 && times + 1 >= tell

// -----------------------------------------------------------------------------
// After a turn
// -----------------------------------------------------------------------------

/**
 * Folds the calls of a turn into the state, and returns what the guard says of them.
 *
 * @param turn the 1-based number of the turn
 * @category guarding
 * @since 0.1.0
 */
export const after = (guard: LoopGuard, state: State, turn: number, calls: ReadonlyArray<Observed>): Verdict => {
  const { progress, seen: before } = state
  const { tell, window } = guard
  // Makes room for one call. To copy one entry less is much faster than to shift the others later.
  const seen = before.length > window ? before.slice(1) : before.slice()
  const memory = { seen, window, turn, progress, tell }
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
  return notes.length === 0 ? verdict : { ...verdict, step: "told", repeated: repeatedOf(guard, judged) }
}

const withoutProgress = (
  guard: LoopGuard,
  state: State,
  seen: ReadonlyArray<Seen>,
  judged: ReadonlyArray<Judgement>
): Verdict => {
  const count = countOf(guard, state.count, judged)
  // Calls with other arguments have twice the time, and most of them are only told.
  const alike = judged.reduce(
    (most, one) => one.kind === "alike" && isHopeless(one.entry) ? Math.max(most, one.entry.alike) : most,
    0
  )
  const reached = Math.max(count, Math.floor(alike / 2))
  const own = repeatedOf(guard, judged)
  const partners = count >= guard.tell ? partnersOf(seen, own) : none
  const repeated = partners.length === 0 ? own : [...own, ...partners]
  const withdrawn = reached >= guard.withdraw ? namesOf(state.withdrawn, repeated) : state.withdrawn
  const notes = notesOf(guard, judged, partners.length > 0)
  const step = repeated.length === 0 ? undefined : stepOf(guard, reached, judged, notes)
  const verdict = { state: { ...state, seen, count, withdrawn }, notes, repeated: none }
  return step === undefined ? verdict : { ...verdict, step, repeated }
}

const none: ReadonlyArray<never> = []

const countOf = (guard: LoopGuard, before: number, judged: ReadonlyArray<Judgement>): number => {
  const isCounted = judged.some((judgement) =>
    isRepeatRefused(judgement) || before > 0 && isRefused(judgement) ||
    judgement.kind === "repeat" && judgement.entry.times >= guard.tell && !isCountedByFacts(judgement.entry.outcome)
  )
  if (!isCounted) return before
  return before === 0 ? guard.tell : before + 1
}

// `CallFacts` refuses such a call after as many failed executions as its tool permits.
const isCountedByFacts = (outcome: Completed | Failed): boolean =>
  outcome._tag === "Failed" && outcome.attempts > 0 && outcome.failure._tag !== "PartialData"

const stepOf = (
  { end, withdraw }: LoopGuard,
  reached: number,
  judged: ReadonlyArray<Judgement>,
  notes: ReadonlyArray<string | undefined>
): Step | undefined => {
  if (reached >= end) return "ended"
  if (reached >= withdraw) return "withdrawn"
  if (judged.some(isRefused)) return "refused"
  return notes.length === 0 ? undefined : "told"
}

// The calls that the steps are about: those that the model is told of, or that were refused.
const repeatedOf = ({ tell }: LoopGuard, judged: ReadonlyArray<Judgement>): ReadonlyArray<Seen> =>
  judged.flatMap((judgement) => {
    if (judgement.kind === "ignored") return []
    const { entry, kind } = judgement
    const times = kind === "alike" ? entry.alike : entry.times
    return judgement.isRefused || times >= tell ? [entry] : []
  })

// The calls that a run makes in turn with a repeated call, in the turns just before.
const partnersOf = (seen: ReadonlyArray<Seen>, repeated: ReadonlyArray<Seen>): ReadonlyArray<Seen> =>
  seen.filter(({ times, turn }) =>
    times > 1 && repeated.some((entry) => entry.times > 1 && turn < entry.turn && entry.turn - turn <= mostAlternating)
  )

/** How many turns apart the calls of an oscillation may be: three calls in turn. */
const mostAlternating = 2

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
  const { tell } = guard
  if (!judged.some((one) => one.kind !== "ignored" && (one.entry.times >= tell || one.entry.alike >= tell))) return none
  const notes = judged.map((judgement) => noteOf(guard, judgement, isOscillating))
  return notes.some((note) => note !== undefined) ? notes : none
}

const noteOf = ({ tell }: LoopGuard, judgement: Judgement, isOscillating: boolean): string | undefined => {
  if (judgement.kind === "ignored" || judgement.isRefused) return undefined
  const { entry, kind, observed: { call, tool } } = judgement
  const { outcome } = entry
  if (kind === "alike") return entry.alike < tell ? undefined : alikeText(call.name, entry)
  if (entry.times < tell) return undefined
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
 *
 * @category guarding
 * @since 0.1.0
 */
export const describe = (repeated: ReadonlyArray<Seen>): string => {
  const byTool = new Map<string, number>()
  for (const { alike, times, tool } of repeated) {
    byTool.set(tool, Math.max(byTool.get(tool) ?? 0, times, alike))
  }
  const calls = Array.from(byTool, ([tool, times]) => `${cut(oneLine(tool), 80)} (${times} times)`)
  const more = calls.length - mostNamed
  const named = `${calls.slice(0, mostNamed).join(", ")}${more > 0 ? ` and ${more} more` : ""}`
  return `The model was stuck in a loop: it repeated ${named}, and nothing changed.`
}

const mostNamed = 5
