/*
 * Judges one call of a turn: whether it adds something, repeats what is known, or has the same outcome as another call of
 * its tool.
 */
import type * as Schema from "effect/Schema"
import type { SideEffect } from "../../SideEffect.ts"
import type { ToolCall } from "../../ToolCall.ts"
import type { Completed, Failed, ToolOutcome } from "../../ToolOutcome.ts"
import { isIdempotent } from "../call/isIdempotent.ts"
import { readIn } from "../call/readIn.ts"
import { isPending } from "../value/pendingData.ts"
import { isJsonObject } from "../value/plainJson.ts"
import { attempt } from "../value/untrusted.ts"
import { isSameData } from "../value/volatileData.ts"
import { canonicalArguments } from "./canonicalArguments.ts"

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
  /** When the call had this result for the second time, or when it last failed, in milliseconds of the run's time. */
  readonly since: number | undefined
  /** True if the call is an effect that repeats: it sets what another call may have set otherwise. */
  readonly sets: boolean
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
  readonly description?: string
  readonly volatile?: ReadonlyArray<string> | undefined
  /** Present if the tool is polled. */
  readonly poll?: object | undefined
}

/** What a call adds to what is known. */
export type Judgement = Ignored | Judged

export interface Judged {
  /**
   * `"new"`: progress. `"repeat"`: the same call had the same outcome. `"waiting"`: so it had, and time may change it.
   * `"alike"`: another call of the same tool had the same outcome.
   */
  readonly kind: "new" | "repeat" | "waiting" | "alike"
  readonly entry: Seen
  /** How many turns ago the same call was made. 1 for a call that is not repeated. */
  readonly gap: number
  readonly observed: Observed
  /** True if the call was refused as a repetition. */
  readonly isRefused: boolean
}

/** A call that says nothing. */
interface Ignored {
  readonly kind: "ignored"
}

const ignored: Ignored = { kind: "ignored" }

export const isRefused = (judgement: Judgement): boolean => judgement.kind !== "ignored" && judgement.isRefused

export const isRepeatRefused = (judgement: Judgement): boolean => judgement.kind === "repeat" && judgement.isRefused

/** A clock, which is read only if a call is repeated, or fails. */
export interface Time {
  /** How much time the run has used, in milliseconds: a replay counts what its steps took. */
  readonly used: number
}

/** What is known before a call. */
export interface Memory {
  /** The latest calls, oldest first. The array belongs to this turn, and is changed. */
  readonly seen: Array<Seen>
  /** How many calls are remembered besides the latest one. */
  readonly window: number
  readonly turn: number
  readonly time: Time
  /** The turn of the latest progress, and how far the count of calls that are alike falls back to after it. */
  readonly progress: number
  readonly warnAt: number
  /** Set if a call of the turn is progress. */
  isNew: boolean
  /** Set if a call of the turn is repeated whose result time may change. */
  waits: boolean
  /** Set if a call of the turn may have changed something. */
  acts: boolean
}

/** Judges a call, and adds it to what is known. */
export const judge = (memory: Memory, observed: Observed): Judgement => {
  const { seen, time, turn, window } = memory
  const { call, outcome, tool } = observed
  if (outcome._tag === "Suspended" || outcome._tag === "Stopped" || isIgnored(outcome)) return ignored
  const wasRefused = isRepetition(outcome)
  const found = find(seen, call, outcome, tool, wasRefused)
  // Reading an array at -1 is slow.
  const same = found.same < 0 ? undefined : seen[found.same]
  const latest = found.latest < 0 ? undefined : seen[found.latest]
  if (same !== undefined && (wasRefused || found.isSameOutcome)) {
    // A tool that is polled has waited before it answered the same. That is no loop, and limits bound it.
    if (tool?.poll !== undefined && !wasRefused) return ignored
    const entry = { ...same, times: timesOf(same.times, same, turn), turn, since: sinceOf(same, outcome, time) }
    const kind = wasRefused
      ? "repeat"
      : isNewEffect(outcome, tool)
      ? "new"
      : mayChange(outcome, tool) && entry.times <= maxLooks
      ? "waiting"
      : "repeat"
    replace(seen, found.same, entry)
    if (kind === "new") {
      forgetOthers(seen)
      memory.isNew = true
    }
    memory.waits ||= kind === "waiting"
    memory.acts ||= hasChangedTheWorld(outcome, tool)
    return { kind, entry, gap: Math.max(1, turn - same.turn), observed, isRefused: wasRefused }
  }
  const text = textOf(call)
  const intent = outcome.intent?.id
  const wasWithdrawn = isWithdrawn(outcome)
  if (wasWithdrawn && latest !== undefined) {
    // The tool is withdrawn, so other arguments are no progress.
    const entry = { ...latest, alike: alikeAfter(latest, memory), turn }
    seen[found.latest] = entry
    return { kind: "alike", entry, gap: 1, observed, isRefused: true }
  }
  const isAlike = latest !== undefined && found.isLikeLatest && addsNothing(outcome, tool)
  const alike = isAlike ? alikeAfter(latest, memory) : 1
  // A tool that sets a state may set it back and forth, which is a loop, too.
  const sets = tool?.sideEffect === "idempotent"
  // The clock is read only if somebody may ask.
  const since = outcome._tag === "Failed" ? time.used : undefined
  const entry = { tool: call.name, arguments: text, intent, outcome, times: 1, alike, turn, since, sets }
  if (wasWithdrawn) return { kind: "repeat", entry, gap: 1, observed, isRefused: true }
  if (same !== undefined) replace(seen, found.same, entry)
  else {
    seen.push(entry)
    // Besides the latest call.
    if (seen.length > window + 1) seen.shift()
  }
  if (hasChangedTheWorld(outcome, tool)) {
    forgetOthers(seen)
    memory.acts = true
  }
  memory.isNew ||= !isAlike
  return { kind: isAlike ? "alike" : "new", entry, gap: 1, observed, isRefused: false }
}

/** How many times a result that may change is waited for. Afterwards, it counts like any other. */
export const maxLooks = 20

/** True if the result of a read-only tool may be another one in a moment. */
export const mayChange = (outcome: Completed | Failed, tool: Subject | undefined): boolean =>
  outcome._tag === "Completed" && tool?.sideEffect === "none" && attempt(() => isPending(outcome.value)) === true

const sinceOf = (same: Seen, { _tag }: Completed | Failed, time: Time): number =>
  _tag === "Failed" ? time.used : same.since ?? time.used

// After progress, the model is told again, but the steps begin anew.
const alikeAfter = (latest: Seen, { progress, turn, warnAt }: Memory): number =>
  timesOf(latest.turn < progress ? Math.min(latest.alike, warnAt) : latest.alike, latest, turn)

// The calls of one turn count once.
const timesOf = (times: number, entry: Seen, turn: number): number => times + (entry.turn === turn ? 0 : 1)

// Adds an entry at the end in place of another. Much faster than `splice` and `push`, and this is done in each turn.
const replace = (seen: Array<Seen>, at: number, entry: Seen): void => {
  const last = seen.length - 1
  for (let index = at; index < last; index++) seen[index] = seen[index + 1]!
  seen[last] = entry
}

// After an effect, no earlier call that reads is a repetition: the data may have changed. The effect itself is the last
// entry.
const forgetOthers = (seen: Array<Seen>): void => {
  const last = seen.pop()
  let kept = 0
  for (const entry of seen) if (entry.sets) seen[kept++] = entry
  seen.length = kept
  if (last !== undefined) seen.push(last)
}

/** True for a call that no tool has seen, for a reason outside the call: it was held back, or an equal one ran in its place. */
const isIgnored = (outcome: ToolOutcome): boolean =>
  outcome.joined === true || outcome._tag === "Failed" && outcome.failure.code === "not_run"

const isRepetition = (outcome: Completed | Failed): boolean =>
  outcome._tag === "Failed" && outcome.attempts === 0 && repetitions.has(outcome.failure.code)

/** True if the guard refused the call, whatever its arguments. */
const isWithdrawn = (outcome: Completed | Failed): boolean =>
  isRepetition(outcome) && outcome._tag === "Failed" && outcome.failure.code === "loop_detected"

const repetitions: ReadonlySet<string> = new Set(["repeated_call", "already_done", "in_doubt", "loop_detected"])

/** True if the success of a tool is an effect that may be meant once more. */
export const isNewEffect = (outcome: Completed | Failed, tool: Subject | undefined): boolean =>
  outcome._tag === "Completed" && outcome.certainty === "executed" && tool !== undefined &&
  !isIdempotent(tool.sideEffect)

/** True if a call may have changed something. */
export const hasChangedTheWorld = ({ certainty }: Completed | Failed, tool: Subject | undefined): boolean =>
  certainty !== "not_executed" && tool !== undefined && tool.sideEffect !== "none"

// A page that names the next one is news, whatever it holds. A short result, such as `true`, may be news for each
// arguments. The same long list is not.
const addsNothing = (outcome: Completed | Failed, tool: Subject | undefined): boolean =>
  outcome._tag === "Failed"
    ? outcome.failure._tag !== "PartialData" || outcome.failure.next === undefined
    : !hasChangedTheWorld(outcome, tool) && isLong(readIn(outcome))

const isLong = (value: Schema.Json): boolean => (attempt(() => sizeOf(value, longResult)) ?? 0) >= longResult

/** The size of a long result, in characters of its JSON, roughly. */
const longResult = 100

// Counts only up to a limit, which is much faster than to write the value.
const sizeOf = (value: Schema.Json, limit: number): number => {
  if (typeof value === "string") return value.length + 2
  if (typeof value !== "object" || value === null) return 5
  let size = 2
  if (isJsonObject(value)) {
    for (const key in value) {
      if (size >= limit) return size
      size += key.length + 4 + sizeOf(value[key] ?? null, limit - size)
    }
    return size
  }
  for (const item of value) {
    if (size >= limit) return size
    size += 1 + sizeOf(item, limit - size)
  }
  return size
}

/**
 * True if calls with other arguments cannot help: the tool is down, or the calls are invalid. An answer about the
 * arguments, such as an unknown name, may be what the model wants to know.
 */
export const isHopeless = ({ outcome }: Seen): boolean =>
  outcome._tag === "Failed" &&
  (outcome.failure._tag === "SchemaMismatch" ||
    outcome.failure._tag === "ToolUnavailable" && outcome.failure.scope === undefined)

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
  for (let index = seen.length - 1; index >= 0; index--) {
    const entry = seen[index]!
    if (entry.tool !== call.name) continue
    const isLatest = found.latest < 0
    const isSame = entry.arguments === text || intent !== undefined && entry.intent === intent
    if (!isLatest && !isSame && !wasRefused) continue
    const hasSameOutcome = isSameOutcome(entry.outcome, outcome, tool)
    if (isLatest) {
      found.latest = index
      found.isLikeLatest = hasSameOutcome && isSameFailure(entry.outcome, outcome)
    }
    // Arguments that are written differently must be parsed. So they are compared only with the latest call.
    if (isSame || (wasRefused || hasSameOutcome) && isSameText(entry.arguments, text)) {
      found.same = index
      found.isSameOutcome = hasSameOutcome
      return found
    }
  }
  return found
}

export const textOf = ({ arguments: text }: ToolCall): string => text ?? ""

const isSameText = (one: string, other: string): boolean => {
  if (one === other) return true
  if (!mayBeSameText(one, other)) return false
  const written = canonicalArguments(one)
  return written !== undefined && written === canonicalArguments(other)
}

// Texts of the same arguments differ only in spaces and in the order of keys. So most texts need not be parsed.
const mayBeSameText = (one: string, other: string): boolean =>
  sumOf(one) === sumOf(other) || isEmptyText(one) && isEmptyText(other)

const sumOf = (text: string): number => {
  let sum = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code > 32) sum += code
  }
  return sum
}

// `""`, `"null"` and `"{}"` all mean no arguments.
const isEmptyText = (text: string): boolean => text.length < 6 && emptyText.test(text)

const emptyText = /^\s*(?:null|\{\s*\})?\s*$/

const isSameOutcome = (a: Completed | Failed, b: Completed | Failed, tool: Subject | undefined): boolean => {
  if (a._tag === "Completed") {
    return b._tag === "Completed" && isSameData(readIn(a), readIn(b), tool?.volatile) && areSameFiles(a.files, b.files)
  }
  if (b._tag !== "Failed" || a.failure._tag !== b.failure._tag || a.failure.code !== b.failure.code) return false
  if (a.failure._tag === "PartialData") {
    return b.failure._tag === "PartialData" && isSameData(a.failure.data, b.failure.data, tool?.volatile)
  }
  // Each field that the model corrects is progress.
  return a.failure._tag !== "SchemaMismatch" || b.failure._tag !== "SchemaMismatch" ||
    pathsOf(a.failure) === pathsOf(b.failure)
}

// A new picture is news, whatever the text beside it.
const areSameFiles = (a: Completed["files"] = none, b: Completed["files"] = none): boolean =>
  a.length === b.length && a.every((file, index) => contentOf(file) === contentOf(b[index]))

const none: NonNullable<Completed["files"]> = []

const contentOf = (file: NonNullable<Completed["files"]>[number] | undefined): string | undefined =>
  file === undefined ? undefined : "base64" in file ? file.base64 : file.url

// With other arguments, another sentence is news. The values that a sentence quotes are those of the arguments.
const isSameFailure = (a: Completed | Failed, b: Completed | Failed): boolean =>
  a._tag !== "Failed" || b._tag !== "Failed" || a.failure.detail === b.failure.detail ||
  withoutValues(a.failure.detail) === withoutValues(b.failure.detail)

const withoutValues = (detail: string): string => detail.slice(0, 300).replaceAll(/'[^']*'|"[^"]*"|[\d.,]+/g, "")

const pathsOf = (
  { issues }: { readonly issues: ReadonlyArray<{ readonly path: ReadonlyArray<string | number> }> }
): string => issues.map(({ path }) => path.join(".")).join()

export const isSameCall = (entry: Seen, tool: string, text: string): boolean =>
  entry.tool === tool && isSameText(entry.arguments, text)
