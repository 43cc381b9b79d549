import * as Duration from "effect/Duration"
import type { CallEvent, Source } from "../CallEvent.ts"
import type { Handled, Repair } from "../ToolOutcome.ts"
import { AppendOnly } from "./appendOnly.ts"

/** What a call has come to so far: a fold over its events. */
export interface CallState {
  /** How often the handler began. */
  readonly executions: number
  /** The same, with the attempts of the tools that its fallbacks ask. */
  readonly attempts: number
  /** How long policies waited, in milliseconds. */
  readonly waited: number
  readonly handled: AppendOnly<Handled>
  readonly repairs: ReadonlyArray<Repair>
  /** What is said of the answer. */
  readonly caveats: AppendOnly<string>
  readonly source: Source | undefined
  /** Has a tool acted, or may it have, inside of this attempt? */
  readonly hasActedInside: boolean
  /** May an attempt that is over have acted? It says nothing of a tool that only reads. */
  readonly mayHaveActed: boolean
  /** Was there a failure after which nobody knows whether the call has acted, whatever became of it? */
  readonly isUnknown: boolean
  /** Was the tool itself unavailable, and something else had to answer? */
  readonly fellBack: boolean
}

const noTexts: AppendOnly<never> = AppendOnly.from([])

/** Nothing has happened. */
export const untouched: CallState = {
  executions: 0,
  attempts: 0,
  waited: 0,
  handled: noTexts,
  repairs: [],
  caveats: noTexts,
  source: undefined,
  hasActedInside: false,
  mayHaveActed: false,
  isUnknown: false,
  fellBack: false
}

// What nearly all calls come to, and no more.
const begunOnce: CallState = { ...untouched, executions: 1, attempts: 1 }

/** What a call has come to after one more event. */
export const step = (state: CallState, event: CallEvent): CallState => {
  switch (event._tag) {
    case "AttemptStarted":
      if (state === untouched) return begunOnce
      return {
        ...state,
        executions: state.executions + 1,
        attempts: state.attempts + 1,
        // What an earlier attempt said is void; what it did is not.
        caveats: noTexts,
        source: undefined,
        hasActedInside: false,
        mayHaveActed: state.mayHaveActed || state.hasActedInside
      }
    case "PageStarted":
      return { ...state, executions: state.executions + 1, attempts: state.attempts + 1 }
    case "SourceStarted":
      return { ...state, attempts: state.attempts + 1 }
    case "InnerActed":
      return { ...state, hasActedInside: true }
    case "DoubtRaised":
      return { ...state, mayHaveActed: true, isUnknown: true }
    case "FailureHandled":
      return handled(state, event)
    case "WaitEnded":
      return { ...state, waited: state.waited + Duration.toMillis(event.wait) }
    case "CaveatAdded":
      return { ...state, caveats: state.caveats.append([event.text]) }
    case "SourceNamed":
      return {
        ...state,
        source: event.age === undefined ? { name: event.name } : { name: event.name, age: event.age }
      }
    case "AnswerDiscarded":
      return { ...state, caveats: noTexts, source: undefined }
    case "ArgumentsRepaired":
      return { ...state, repairs: [...state.repairs, ...event.repairs] }
    case "ArgumentsCorrected":
      return { ...state, repairs: [...state.repairs.map(withoutNote), ...event.repairs] }
    case "AttemptEnded":
    case "AttemptAbandoned":
    case "InnerStarted":
    case "RetryRefused":
    case "CallRefused":
    case "CircuitChanged":
    case "WaitStarted":
      return state
  }
}

/** What a gate begins with. It needs no list of the failures before it, which grows with each attempt. */
export const asOf = (state: CallState): CallState => state.handled.length === 0 ? state : { ...state, handled: noTexts }

/** Does the event begin an attempt, of the tool or of a fallback's? */
export const isStart = ({ _tag }: CallEvent): boolean =>
  _tag === "AttemptStarted" || _tag === "PageStarted" || _tag === "SourceStarted"

/** The same repair, of which the model is not told. */
export const withoutNote = (repair: Repair): Repair => {
  const { note: _, ...rest } = repair
  return rest
}

const handled = (
  state: CallState,
  { by, code, detail, inside, outcome, policy, tag }: CallEvent & { readonly _tag: "FailureHandled" }
): CallState => {
  const isUnknown = outcome === "unknown"
  const isUnavailable = inside === undefined && tag === "ToolUnavailable"
  const entry: Handled = { tag, code, detail, by, ...(policy === undefined ? {} : { policy }) }
  return {
    ...state,
    handled: state.handled.append([entry]),
    isUnknown: state.isUnknown || isUnknown,
    mayHaveActed: state.mayHaveActed || isUnknown || isTaken(by) && isUnavailable && outcome !== "not_executed",
    fellBack: state.fellBack || by === "fallback" && isUnavailable
  }
}

// What only stands beside the call, such as what a check fails with, is not an attempt of it.
const isTaken = (by: Handled["by"]): boolean =>
  by !== "reconcile" && by !== "complete" && by !== "escalated" && by !== "stopped" && by !== "ignored"
