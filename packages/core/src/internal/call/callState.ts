import * as Duration from "effect/Duration"
import type * as Schema from "effect/Schema"
import type { CallEvent, Source } from "../../CallEvent.ts"
import { plus, plusSpent, type RunReport, type Spent } from "../../RunReport.ts"
import type { Decided, Handled, Repair, Suspended } from "../../ToolOutcome.ts"
import type { WireRequest } from "../../WireRequest.ts"
import { isRefusal } from "../failure/policyRefusal.ts"
import { AppendOnly } from "../value/appendOnly.ts"
import type { File } from "../value/file.ts"
import { maxShown } from "../wire/wireRecord.ts"
import { type Done, doneAfter, doneBeforeResume, nothing } from "./done.ts"

/** The current state of a call: a fold over its events. */
export interface CallState {
  /** How many times the handler has started. */
  readonly executions: number
  /** How many of these executions had other arguments, which a fixer has corrected since. */
  readonly corrected: number
  /** Executions of the handler, plus attempts of the tools that fallbacks of the call run. */
  readonly attempts: number
  /** Total time that policies waited, in milliseconds. */
  readonly waited: number
  readonly handled: AppendOnly<Handled>
  readonly repairs: ReadonlyArray<Repair>
  /** Caveats on the current answer. */
  readonly caveats: AppendOnly<string>
  /** The files of the current answer. */
  readonly files: AppendOnly<File>
  readonly source: Source | undefined
  /** What the model reads in place of the current answer. */
  readonly told?: Schema.Json | undefined
  /** Why the current answer is not the handler's own, if another source took over: see {@link Instead}. */
  readonly instead?: Instead | undefined
  /** What the call has done. */
  readonly done: Done
  /** True if a check has found the effect of an earlier call, so that this one did not run. */
  readonly wasDoneBefore?: true
  /** True if the called tool itself was unavailable, and a fallback or a fixer had to answer. */
  readonly fellBack: boolean
  /** The last handled failure for which the called tool itself was to blame. */
  readonly fault: Handled | undefined
  /** The requests of the attempts that have no answer, if the tool acts. */
  readonly wire: ReadonlyArray<WireRequest>
  /** The resource usage of the agents that corrected the arguments. */
  readonly fixing: RunReport | undefined
  /** What the agents that the handler ran have spent. */
  readonly spent: Spent | undefined
  /** How the call was approved or denied. */
  readonly decided?: Decided | undefined
}

/** Why another source took over: the service is down, or it could not serve this call alone. */
type Instead = "down" | "unserved"

export const noTexts: AppendOnly<never> = AppendOnly.from([])

/** The state of a call before its first event. */
export const untouched: CallState = {
  executions: 0,
  corrected: 0,
  attempts: 0,
  waited: 0,
  handled: noTexts,
  repairs: [],
  caveats: noTexts,
  files: noTexts,
  source: undefined,
  done: nothing,
  fellBack: false,
  fault: undefined,
  wire: [],
  fixing: undefined,
  spent: undefined
}

// Nearly all calls pass through only this state, so it is shared to avoid allocation.
export const begunOnce: CallState = {
  ...untouched,
  executions: 1,
  attempts: 1,
  done: doneAfter(nothing, { _tag: "AttemptStarted" })
}

/** The initial state of a call that has done something before. */
export const stateAfter = (done: Done): CallState => ({ ...untouched, done })

/** The initial state of a resumed call. See {@link doneBeforeResume}. */
export const resumedState = (suspended: Partial<Suspended>, isCleared: boolean): CallState => {
  const state = stateAfter(doneBeforeResume(suspended, isCleared))
  // Repairs of the model's own arguments are made, and noted, again.
  return suspended.arguments === undefined ? state : { ...state, repairs: suspended.repairs ?? [] }
}

/**
 * Returns the initial state of a part of a call. This is the current state without the list of handled failures, which
 * grows with each attempt, and which a part does not need.
 */
export const asOf = (state: CallState): CallState => state.handled.length === 0 ? state : { ...state, handled: noTexts }

/** True if the idempotency key may already have been sent before the current attempt. */
export const wasSent = ({ done, executions }: CallState): boolean => done.isRepeated || executions > 1

// -----------------------------------------------------------------------------
// Events
// -----------------------------------------------------------------------------

/** Returns the state after one more event. */
export const step = (state: CallState, event: CallEvent): CallState => {
  switch (event._tag) {
    case "AttemptStarted":
      if (state === untouched) return begunOnce
      return {
        ...state,
        done: doneAfter(state.done, event),
        executions: state.executions + 1,
        attempts: state.attempts + 1,
        // The caveats, the files and the source of an earlier attempt no longer apply.
        caveats: noTexts,
        files: noTexts,
        source: undefined,
        told: undefined,
        instead: undefined
      }
    case "PageStarted":
      return {
        ...state,
        executions: state.executions + 1,
        attempts: state.attempts + 1
      }
    case "SourceStarted":
      return { ...state, attempts: state.attempts + 1 }
    case "FailureHandled":
      return applyHandled(state, event)
    case "WaitEnded":
      return { ...state, waited: state.waited + Duration.toMillis(event.wait) }
    case "CaveatAdded":
      return { ...state, caveats: state.caveats.append([event.text]) }
    case "FileAttached":
      return { ...state, files: state.files.append([event.file]) }
    case "SourceNamed":
      return {
        ...state,
        source: event.age === undefined ? { name: event.name } : { name: event.name, age: event.age }
      }
    case "AnswerDiscarded":
      return { ...state, caveats: noTexts, files: noTexts, source: undefined, told: undefined }
    case "ResultTold":
      return { ...state, told: event.value }
    case "ArgumentsRepaired":
      return { ...state, repairs: [...state.repairs, ...event.repairs] }
    case "ArgumentsCorrected":
      return {
        ...state,
        done: doneAfter(state.done, event),
        corrected: state.executions,
        repairs: [...state.repairs.map(withoutNote), ...event.repairs]
      }
    case "FixerSpent": {
      const { _tag, ...spent } = event
      return { ...state, fixing: state.fixing === undefined ? spent : plus(state.fixing, spent) }
    }
    case "AgentSpent": {
      const { _tag, ...spent } = event
      return { ...state, spent: state.spent === undefined ? spent : plusSpent(state.spent, spent) }
    }
    case "CallDecided": {
      const { _tag, ...decided } = event
      return { ...state, decided }
    }
    case "AttemptEnded":
    case "InnerEnded":
      return withDone(event.wire === undefined ? state : withWire(state, event.wire), event)
    case "LateRequest":
      return withDone(withWire(state, [event.request]), event)
    case "OutcomeSettled":
      return withDone(event.earlier === true ? { ...state, wasDoneBefore: true } : state, event)
    case "CallRepeated":
    case "PolicyActed":
    case "InnerActs":
      return withDone(state, event)
    case "AttemptAbandoned":
      return event.wire === undefined ? state : withWire(state, event.wire)
    case "CallJoined":
    case "CallRefused":
    case "CircuitChanged":
    case "DoubtSettled":
    case "FixerAsked":
    case "InnerStarted":
    case "ProgressMade":
    case "RetryRefused":
    case "WaitStarted":
      return state
  }
}

const withDone = (state: CallState, event: Parameters<typeof doneAfter>[1]): CallState => {
  const done = doneAfter(state.done, event)
  return done === state.done ? state : { ...state, done }
}

const withWire = (state: CallState, wire: ReadonlyArray<WireRequest>): CallState => ({
  ...state,
  wire: [...state.wire, ...wire].slice(-maxShown)
})

/** Returns the repair without its note to the model. */
export const withoutNote = (repair: Repair): Repair => {
  const { note: _, ...rest } = repair
  return rest
}

const applyHandled = (
  state: CallState,
  { by, code, detail, inside, policy, scope, tag }: CallEvent & { readonly _tag: "FailureHandled" }
): CallState => {
  const entry: Handled = { tag, code, detail, by, ...(policy === undefined ? {} : { policy }) }
  const isOwn = inside === undefined && tag === "ToolUnavailable"
  const isFault = isOwn && isReplaced(by) && scope === undefined && !isRefusal(entry)
  return {
    ...state,
    handled: state.handled.append([entry]),
    instead: tag !== "ToolUnavailable" || keeping.has(by)
      ? state.instead
      : scope === undefined || state.instead === "down"
      ? "down"
      : "unserved",
    fellBack: state.fellBack || isOwn && (by === "fallback" || by === "answered"),
    fault: isFault ? entry : state.fault
  }
}

// For any other value of `by`, the failure may come from a check or a fixer, so the tool is not to blame.
const isReplaced = (by: Handled["by"]): boolean => replacing.has(by)

// After these, the answer is still of the service itself.
const keeping: ReadonlySet<string> = new Set(["retry", "reconcile", "ignored"])

const replacing: ReadonlySet<string> = new Set(["retry", "fallback", "custom", "fix", "answered"])
