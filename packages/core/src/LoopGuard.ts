/**
 * Notices when a run is stuck: the model repeats calls that add nothing. The guard works on facts (the tool, its
 * arguments, its outcome), and never on the model's text.
 *
 * | what the guard sees                                    | steps                          |
 * | ------------------------------------------------------ | ------------------------------ |
 * | the same call with the same outcome                    | tell, refuse, withdraw, end    |
 * | two or more calls in turn, with the same outcomes      | tell, refuse, withdraw, end    |
 * | the same failure of a tool, with other arguments       | tell; much later withdraw, end |
 * | the same large result of a tool, with other arguments  | tell; much later withdraw, end |
 *
 * First the model is told. Then the same call is refused without running. Then its tool is withdrawn: the model is
 * no longer offered it. At last the run ends with `LoopDetected`. By default these are the third, fourth, fifth and
 * sixth time ({@link Options}). A call with other arguments may be right, so it is never refused before its tool is
 * withdrawn, and the last two steps come after twice as many turns.
 *
 * Progress resets all steps. A turn makes progress if one of its calls has a new result, or acts. So the guard never
 * stops a run that polls a result that changes, follows pages, or tries new arguments with new results. A
 * successful call of a tool that is not idempotent always counts as progress, because the repetition may be meant.
 * If it is not, declare `repeats: false`.
 *
 * Failures of a tool that ran are left to `CallFacts`: it refuses the same call after as many failures as the tool
 * permits. Each such refusal then counts like the third time, the fourth time, and so on.
 *
 * The calls of one turn count once, because the model has not seen their results yet. Two results are the same
 * if they differ only in volatile fields: the time of the response, the id of a request, and the fields that a tool
 * declares as `volatile`.
 *
 * The idea comes from guards against loops in other agents (Gemini CLI, OpenHands). Those compare texts.
 *
 * @since 0.1.0
 */
import * as DispatchFailure from "./DispatchFailure.ts"
import { isIdempotent } from "./internal/call/isIdempotent.ts"
import { canonical } from "./internal/value/canonical.ts"
import { whole } from "./internal/value/numberOption.ts"
import { cut, list, oneLine } from "./internal/value/text.ts"
import { attempted } from "./internal/value/untrusted.ts"
import { isSameData } from "./internal/value/volatileData.ts"
import type { SideEffect } from "./SideEffect.ts"
import type { ToolCall } from "./ToolCall.ts"
import type { Completed, Failed, ToolOutcome } from "./ToolOutcome.ts"

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
  /** How many different calls the guard remembers. Default: 20. */
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
 * import { LoopGuard } from "@fallible/core"
 *
 * LoopGuard.make({ tell: 5 }) // => { tell: 5, refuse: 6, withdraw: 7, end: 8, window: 20 }
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
  return { tell, refuse, withdraw, end, window: whole("A loop guard's 'window'", options.window ?? 20, 4) }
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
  /** The names of the tools that are withdrawn until there is progress. */
  readonly withdrawn: ReadonlyArray<string>
}

/**
 * A call that a guard remembers.
 *
 * @category models
 * @since 0.1.0
 */
export interface Seen {
  readonly tool: string
  /** The text of the arguments. */
  readonly arguments: string
  /** The intent of the call, if it is known. */
  readonly intent: string | undefined
  readonly outcome: Completed | Failed
  /** In how many turns the call had this outcome. */
  readonly times: number
  /** In how many turns, one after the other, calls of the tool with other arguments had this outcome. */
  readonly alike: number
  /** The turn of the latest such call. */
  readonly turn: number
}

/**
 * A call of a turn, with its outcome.
 *
 * @category models
 * @since 0.1.0
 */
export interface Observed {
  readonly call: ToolCall
  readonly outcome: ToolOutcome
  /** The tool that was called. `undefined` if the toolkit does not have it. */
  readonly tool: Subject | undefined
}

/**
 * The fields of a tool that a guard needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Subject {
  readonly sideEffect: SideEffect
  readonly volatile?: ReadonlyArray<string> | undefined
}

/**
 * What a guard says of a turn.
 *
 * @category models
 * @since 0.1.0
 */
export interface Verdict {
  readonly state: State
  /** A sentence for the model on each call, in the order of the calls. `undefined` for most calls. */
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
export const empty: State = { seen: [], count: 0, withdrawn: [] }

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
  if (count === 0 && withdrawn.length === 0) return undefined
  if (withdrawn.includes(call.name)) return DispatchFailure.withdrawn(call.name)
  if (count + 1 < guard.refuse) return undefined
  const text = textOf(call)
  const before = seen.findLast((entry) => isSameCall(entry, call.name, text))
  return before === undefined || isNewEffect(before.outcome, tool) || isCountedByFacts(before.outcome)
    ? undefined
    : DispatchFailure.loopDetected({ times: before.times, ...contentOf(before.outcome) })
}

/**
 * Returns the outcome that the model already has for a call, or `undefined` if the guard does not remember one.
 *
 * @category guarding
 * @since 0.1.0
 */
export const known = ({ seen }: State, call: ToolCall): Completed | Failed | undefined => {
  const text = textOf(call)
  return seen.findLast((entry) => isSameCall(entry, call.name, text))?.outcome
}

const isSameCall = (entry: Seen, tool: string, text: string): boolean =>
  entry.tool === tool && isSameText(entry.arguments, text)

const contentOf = (outcome: Completed | Failed) =>
  outcome._tag === "Completed"
    ? { answer: JSON.stringify(outcome.value) }
    : { failure: { code: outcome.failure.code, detail: outcome.failure.detail } }

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
  let { seen } = state
  const judged = calls.map((observed) => {
    const judgement = judge(seen, turn, observed)
    seen = judgement.seen
    return judgement
  })
  if (seen.length > guard.window) seen = seen.slice(seen.length - guard.window)
  if (judged.some(({ kind }) => kind === "new")) {
    const notes = judged.map((judgement, index) => noteOf(guard, judgement, calls[index]!))
    const isTold = notes.some((note) => note !== undefined)
    return { state: { seen, count: 0, withdrawn: none }, notes, repeated: none, ...(isTold ? { step: "told" } : {}) }
  }
  const repeats = judged.filter(({ kind }) => kind === "repeat")
  const count = countOf(guard, state.count, repeats)
  // Calls with other arguments have twice the time.
  const reached = Math.max(count, Math.floor(Math.max(0, ...judged.map(alikeOf)) / 2))
  const withdrawn = reached >= guard.withdraw ? namesOf(state.withdrawn, judged) : state.withdrawn
  const isOscillating = count >= guard.tell && namesOf(none, repeats).length > 1
  const notes = judged.map((judgement, index) => noteOf(guard, judgement, calls[index]!, isOscillating))
  const step = stepOf(guard, reached, repeats, notes)
  return {
    state: { seen, count, withdrawn },
    notes,
    ...(step === undefined ? { repeated: none } : { step, repeated: judged.flatMap(({ entry }) => entry ?? []) })
  }
}

const none: ReadonlyArray<never> = []

const countOf = ({ tell }: LoopGuard, before: number, repeats: ReadonlyArray<Judgement>): number => {
  const counted = repeats.filter(({ entry, isRefused }) =>
    isRefused || entry !== undefined && !isCountedByFacts(entry.outcome)
  )
  if (counted.length === 0) return before
  if (before > 0) return before + 1
  return counted.some(({ entry, isRefused }) => isRefused || entry !== undefined && entry.times >= tell) ? tell : 0
}

// `CallFacts` refuses such a call after as many failed executions as its tool permits.
const isCountedByFacts = (outcome: Completed | Failed): boolean =>
  outcome._tag === "Failed" && outcome.attempts > 0 && outcome.failure._tag !== "PartialData"

const stepOf = (
  { end, withdraw }: LoopGuard,
  reached: number,
  repeats: ReadonlyArray<Judgement>,
  notes: ReadonlyArray<string | undefined>
): Step | undefined => {
  if (reached >= end) return "ended"
  if (reached >= withdraw) return "withdrawn"
  if (repeats.some(({ isRefused }) => isRefused)) return "refused"
  return notes.some((note) => note !== undefined) ? "told" : undefined
}

const namesOf = (names: ReadonlyArray<string>, judged: ReadonlyArray<Judgement>): ReadonlyArray<string> =>
  Array.from(new Set([...names, ...judged.flatMap(({ entry }) => entry?.tool ?? [])]))

// -----------------------------------------------------------------------------
// One call
// -----------------------------------------------------------------------------

/** What a call adds to what is known. */
interface Judgement {
  /**
   * `"new"`: progress. `"repeat"`: the same call had the same outcome. `"alike"`: another call of the same tool had
   * the same outcome. `"ignored"`: the call says nothing.
   */
  readonly kind: "new" | "repeat" | "alike" | "ignored"
  readonly entry?: Seen
  /** True if the call was refused as a repetition. */
  readonly isRefused: boolean
  readonly seen: ReadonlyArray<Seen>
}

const alikeOf = ({ entry, kind }: Judgement): number => kind === "alike" ? entry?.alike ?? 0 : 0

const judge = (seen: ReadonlyArray<Seen>, turn: number, { call, outcome, tool }: Observed): Judgement => {
  if (outcome._tag === "Suspended" || outcome._tag === "Stopped" || isIgnored(outcome)) {
    return { kind: "ignored", isRefused: false, seen }
  }
  const wasRefused = isRepetition(outcome)
  const { latest, same } = find(seen, call, outcome, tool, wasRefused)
  const isRefused = wasRefused && same !== undefined
  if (same !== undefined && (isRefused || isSameOutcome(same.outcome, outcome, tool))) {
    const entry = { ...same, times: same.times + (same.turn === turn ? 0 : 1), turn }
    const others = seen.filter((other) => other !== same)
    return isNewEffect(outcome, tool)
      ? { kind: "new", entry, isRefused, seen: [...withoutReads(others), entry] }
      : { kind: "repeat", entry, isRefused, seen: [...others, entry] }
  }
  const isAlike = latest !== undefined && isSameOutcome(latest.outcome, outcome, tool) && addsNothing(outcome, tool)
  const alike = isAlike ? latest.alike + (latest.turn === turn ? 0 : 1) : 1
  const intent = outcome.intent?.id
  const entry = { tool: call.name, arguments: textOf(call), intent, outcome, times: 1, alike, turn }
  const others = same === undefined ? seen : seen.filter((other) => other !== same)
  return {
    kind: isAlike ? "alike" : "new",
    entry,
    isRefused,
    seen: [...(hasChangedTheWorld(outcome, tool) ? withoutReads(others) : others), entry]
  }
}

// After an effect, reading again is no repetition: the data may have changed.
const withoutReads = (seen: ReadonlyArray<Seen>): ReadonlyArray<Seen> =>
  seen.filter(({ outcome }) => outcome._tag === "Completed" && outcome.certainty === "executed")

/** True for a call that no tool has seen, for a reason outside the call. */
const isIgnored = (outcome: ToolOutcome): boolean =>
  outcome._tag === "Failed" && (outcome.failure.code === "not_run" || outcome.failure.code === "call_limit")

const isRepetition = (outcome: Completed | Failed): boolean =>
  outcome._tag === "Failed" && outcome.attempts === 0 && repetitions.has(outcome.failure.code)

const repetitions: ReadonlySet<string> = new Set(["repeated_call", "already_done", "loop_detected"])

/** True if the success of a tool is an effect that may be meant once more. */
const isNewEffect = (outcome: Completed | Failed, tool: Subject | undefined): boolean =>
  outcome._tag === "Completed" && outcome.certainty === "executed" && tool !== undefined &&
  !isIdempotent(tool.sideEffect)

const hasChangedTheWorld = ({ certainty }: Completed | Failed, tool: Subject | undefined): boolean =>
  certainty !== "not_executed" && tool !== undefined && tool.sideEffect !== "none"

// A short result, such as `true`, may be news for each arguments. The same long list is not.
const addsNothing = (outcome: Completed | Failed, tool: Subject | undefined): boolean =>
  outcome._tag === "Failed" ||
  !hasChangedTheWorld(outcome, tool) && JSON.stringify(outcome.value).length >= longResult

const longResult = 100

/** How many calls of a tool are compared in full with a new one. */
const mostCompared = 3

// Finds the same call, and the latest call of the same tool.
const find = (
  seen: ReadonlyArray<Seen>,
  call: ToolCall,
  outcome: Completed | Failed,
  tool: Subject | undefined,
  wasRefused: boolean
): { readonly same?: Seen; readonly latest?: Seen } => {
  const text = textOf(call)
  // After a failure, other arguments of the same intent may be a correction.
  const intent = outcome.intent?.id
  let latest: Seen | undefined
  let compared = 0
  for (let index = seen.length - 1; index >= 0; index--) {
    const entry = seen[index]!
    if (entry.tool !== call.name) continue
    latest ??= entry
    if (entry.arguments === text || intent !== undefined && entry.intent === intent && outcome._tag === "Completed") {
      return { same: entry, latest }
    }
    // Arguments that are written differently are parsed only if the outcome is the same.
    if (compared++ >= mostCompared || !wasRefused && !isSameOutcome(entry.outcome, outcome, tool)) continue
    if (isSameText(entry.arguments, text)) return { same: entry, latest }
  }
  return latest === undefined ? {} : { latest }
}

const textOf = ({ arguments: text }: ToolCall): string => text ?? ""

const isSameText = (one: string, other: string): boolean => {
  if (one === other) return true
  const written = canonicalOf(one)
  return written !== undefined && written === canonicalOf(other)
}

const canonicalOf = (text: string): string | undefined =>
  attempted(() => canonical(text.trim() === "" ? {} : JSON.parse(text) ?? {}))

const isSameOutcome = (a: Completed | Failed, b: Completed | Failed, tool: Subject | undefined): boolean => {
  if (a._tag === "Completed") return b._tag === "Completed" && isSameData(a.value, b.value, tool?.volatile)
  if (b._tag !== "Failed" || a.failure._tag !== b.failure._tag || a.failure.code !== b.failure.code) return false
  if (a.failure._tag === "PartialData") {
    return b.failure._tag === "PartialData" && isSameData(a.failure.data, b.failure.data, tool?.volatile)
  }
  // Each field that the model corrects is progress.
  return a.failure._tag !== "SchemaMismatch" || b.failure._tag !== "SchemaMismatch" ||
    pathsOf(a.failure) === pathsOf(b.failure)
}

const pathsOf = (
  { issues }: { readonly issues: ReadonlyArray<{ readonly path: ReadonlyArray<string | number> }> }
): string => issues.map(({ path }) => path.join(".")).join()

// -----------------------------------------------------------------------------
// Words
// -----------------------------------------------------------------------------

const noteOf = (
  { tell }: LoopGuard,
  { entry, isRefused, kind }: Judgement,
  { call, tool }: Observed,
  isOscillating = false
): string | undefined => {
  if (entry === undefined || isRefused) return undefined
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
  const calls = repeated.map(({ alike, times, tool }) => `${cut(oneLine(tool), 80)} (${Math.max(times, alike)} times)`)
  return `The model was stuck in a loop: it repeated ${list(calls)}, and nothing changed.`
}
