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
import type * as Schema from "effect/Schema"
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
  if (withdrawn.length > 0 && withdrawn.includes(call.name)) return DispatchFailure.withdrawn(call.name)
  if ((count === 0 ? guard.tell : count + 1) < guard.refuse) return undefined
  const text = textOf(call)
  const before = seen.findLast((entry) => isSameCall(entry, call.name, text))
  return before === undefined || !isStuckNextTime(guard, before) || isNewEffect(before.outcome, tool) ||
      isCountedByFacts(before.outcome)
    ? undefined
    : DispatchFailure.loopDetected({ times: before.times, ...contentOf(before.outcome) })
}

// Another call that was made only once may have a new result by now.
const isStuckNextTime = ({ tell }: LoopGuard, { times }: Seen): boolean => times > 1 && times + 1 >= tell

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
    ? { answer: attempted(() => JSON.stringify(outcome.value)) ?? "" }
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
  const seen = state.seen.slice()
  const judged = calls.map((observed) => judge(guard, seen, turn, observed))
  return judged.some(isNew) ? afterProgress(guard, seen, judged) : withoutProgress(guard, state, seen, judged)
}

const isNew = ({ kind }: Judgement): boolean => kind === "new"

// Tells the model of repeated calls, but takes no further step. All steps begin anew.
const afterProgress = (guard: LoopGuard, seen: Array<Seen>, judged: ReadonlyArray<Judgement>): Verdict => {
  for (let index = 0; index < seen.length; index++) {
    const entry = seen[index]!
    if (entry.alike > guard.tell) seen[index] = { ...entry, alike: guard.tell }
  }
  const notes = notesOf(guard, judged)
  const verdict = { state: { seen, count: 0, withdrawn: none }, notes, repeated: none }
  return notes.length === 0 ? verdict : { ...verdict, step: "told", repeated: repeatedOf(guard, judged) }
}

const withoutProgress = (
  guard: LoopGuard,
  state: State,
  seen: ReadonlyArray<Seen>,
  judged: ReadonlyArray<Judgement>
): Verdict => {
  const count = countOf(guard, state.count, judged)
  // Calls with other arguments have twice the time.
  const alike = judged.reduce((most, one) => one.kind === "alike" ? Math.max(most, one.entry.alike) : most, 0)
  const reached = Math.max(count, Math.floor(alike / 2))
  const repeated = repeatedOf(guard, judged)
  const withdrawn = reached >= guard.withdraw ? namesOf(state.withdrawn, repeated) : state.withdrawn
  const notes = notesOf(guard, judged, count >= guard.tell && namesOf(none, repeated).length > 1)
  const step = stepOf(guard, reached, judged, notes)
  const verdict = { state: { seen, count, withdrawn }, notes, repeated: none }
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

const namesOf = (names: ReadonlyArray<string>, repeated: ReadonlyArray<Seen>): ReadonlyArray<string> =>
  Array.from(new Set([...names, ...repeated.map(({ tool }) => tool)]))

// -----------------------------------------------------------------------------
// One call
// -----------------------------------------------------------------------------

/** What a call adds to what is known. */
type Judgement = Ignored | Judged

interface Judged {
  /**
   * `"new"`: progress. `"repeat"`: the same call had the same outcome. `"alike"`: another call of the same tool had
   * the same outcome.
   */
  readonly kind: "new" | "repeat" | "alike"
  readonly entry: Seen
  readonly observed: Observed
  /** True if the call was refused as a repetition. */
  readonly isRefused: boolean
}

/** A call that says nothing. */
interface Ignored {
  readonly kind: "ignored"
}

const ignored: Ignored = { kind: "ignored" }

const isRefused = (judgement: Judgement): boolean => judgement.kind !== "ignored" && judgement.isRefused

const isRepeatRefused = (judgement: Judgement): boolean => judgement.kind === "repeat" && judgement.isRefused

// Judges a call, and adds it to `seen`, which belongs to this turn.
const judge = ({ window }: LoopGuard, seen: Array<Seen>, turn: number, observed: Observed): Judgement => {
  const { call, outcome, tool } = observed
  if (outcome._tag === "Suspended" || outcome._tag === "Stopped" || isIgnored(outcome)) return ignored
  const wasRefused = isRepetition(outcome)
  const found = find(seen, call, outcome, tool, wasRefused)
  const same = seen[found.same]
  const latest = seen[found.latest]
  if (same !== undefined && (wasRefused || found.isSameOutcome)) {
    const entry = { ...same, times: timesOf(same.times, same, turn), turn }
    const kind = !wasRefused && isNewEffect(outcome, tool) ? "new" : "repeat"
    replace(seen, found.same, entry)
    if (kind === "new") forgetReads(seen)
    return { kind, entry, observed, isRefused: wasRefused }
  }
  const text = textOf(call)
  const intent = outcome.intent?.id
  if (isWithdrawn(outcome)) {
    // The tool is withdrawn, so other arguments are no progress.
    const entry = latest === undefined
      ? { tool: call.name, arguments: text, intent, outcome, times: 1, alike: 1, turn }
      : { ...latest, alike: timesOf(latest.alike, latest, turn), turn }
    if (latest !== undefined) seen[found.latest] = entry
    return { kind: latest === undefined ? "repeat" : "alike", entry, observed, isRefused: true }
  }
  const isAlike = latest !== undefined && found.isLikeLatest && addsNothing(outcome, tool)
  const alike = isAlike ? timesOf(latest.alike, latest, turn) : 1
  const entry = { tool: call.name, arguments: text, intent, outcome, times: 1, alike, turn }
  if (same !== undefined) replace(seen, found.same, entry)
  else if (seen.length >= window) replace(seen, 0, entry)
  else seen.push(entry)
  if (hasChangedTheWorld(outcome, tool)) forgetReads(seen)
  return { kind: isAlike ? "alike" : "new", entry, observed, isRefused: false }
}

// The calls of one turn count once.
const timesOf = (times: number, entry: Seen, turn: number): number => times + (entry.turn === turn ? 0 : 1)

// Adds an entry at the end in place of another. Much faster than `splice` and `push`, and this is done in each turn.
const replace = (seen: Array<Seen>, at: number, entry: Seen): void => {
  const last = seen.length - 1
  for (let index = at; index < last; index++) seen[index] = seen[index + 1]!
  seen[last] = entry
}

// After an effect, reading again is no repetition: the data may have changed. The effect itself is the last entry.
const forgetReads = (seen: Array<Seen>): void => {
  const last = seen.length - 1
  let kept = 0
  for (let index = 0; index <= last; index++) {
    const entry = seen[index]!
    const { outcome } = entry
    if (index === last || outcome._tag === "Completed" && outcome.certainty === "executed") seen[kept++] = entry
  }
  seen.length = kept
}

/** True for a call that no tool has seen, for a reason outside the call. */
const isIgnored = (outcome: ToolOutcome): boolean =>
  outcome._tag === "Failed" && (outcome.failure.code === "not_run" || outcome.failure.code === "call_limit")

const isRepetition = (outcome: Completed | Failed): boolean =>
  outcome._tag === "Failed" && outcome.attempts === 0 && repetitions.has(outcome.failure.code)

/** True if the guard refused the call, whatever its arguments. */
const isWithdrawn = (outcome: Completed | Failed): boolean =>
  isRepetition(outcome) && outcome._tag === "Failed" && outcome.failure.code === "loop_detected"

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
  !hasChangedTheWorld(outcome, tool) && isLong(outcome.value)

// Most results are short texts and numbers, which need not be written.
const isLong = (value: Schema.Json): boolean =>
  typeof value === "string"
    ? value.length >= longResult
    : typeof value === "object" && value !== null &&
      (attempted(() => JSON.stringify(value)) ?? "").length >= longResult

const longResult = 100

/** How many calls of a tool are compared in full with a new one. */
const mostCompared = 3

/** Where a call was seen before: positions in the memory, or -1. */
interface Found {
  /** The same call. */
  same: number
  /** The latest call of the same tool. */
  latest: number
  /** True if the same call had the same outcome. */
  isSameOutcome: boolean
  /** True if the latest call of the same tool had the same outcome. */
  isLikeLatest: boolean
}

const find = (
  seen: ReadonlyArray<Seen>,
  call: ToolCall,
  outcome: Completed | Failed,
  tool: Subject | undefined,
  wasRefused: boolean
): Found => {
  const text = textOf(call)
  // After a failure, other arguments of the same intent may be a correction.
  const intent = outcome._tag === "Completed" ? outcome.intent?.id : undefined
  const found = { same: -1, latest: -1, isSameOutcome: false, isLikeLatest: false }
  let compared = 0
  for (let index = seen.length - 1; index >= 0; index--) {
    const entry = seen[index]!
    if (entry.tool !== call.name) continue
    const isLatest = found.latest < 0
    if (isLatest) found.latest = index
    const isSame = entry.arguments === text || intent !== undefined && entry.intent === intent
    if (!isSame && compared++ >= mostCompared) continue
    const hasSameOutcome = isSameOutcome(entry.outcome, outcome, tool)
    if (isLatest) found.isLikeLatest = hasSameOutcome
    // Arguments that are written differently are parsed only if the outcome is the same.
    if (isSame || (wasRefused || hasSameOutcome) && isSameText(entry.arguments, text)) {
      found.same = index
      found.isSameOutcome = hasSameOutcome
      return found
    }
  }
  return found
}

const textOf = ({ arguments: text }: ToolCall): string => text ?? ""

const isSameText = (one: string, other: string): boolean => {
  if (one === other) return true
  // Only spaces and the order of keys may differ, so most other texts need not be parsed.
  if (sumOf(one) !== sumOf(other) && !isEmptyText(one) && !isEmptyText(other)) return false
  const written = canonicalOf(one)
  return written !== undefined && written === canonicalOf(other)
}

const sumOf = (text: string): number => {
  let sum = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code > 32) sum += code
  }
  return sum
}

// `""`, `"null"` and `"{}"` all mean no arguments.
const isEmptyText = (text: string): boolean => text.length < 16 && /^\s*(?:null|\{\s*\})?\s*$/.test(text)

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
  const calls = repeated.map(({ alike, times, tool }) => `${cut(oneLine(tool), 80)} (${Math.max(times, alike)} times)`)
  return `The model was stuck in a loop: it repeated ${list(calls)}, and nothing changed.`
}
