import * as Duration from "effect/Duration"
import type { CallEvent, Source } from "../../CallEvent.ts"
import type { Certainty } from "../../Certainty.ts"
import { type Ledger, plus } from "../../Ledger.ts"
import type { Handled, Repair } from "../../ToolOutcome.ts"
import { and, certain, certaintyOf, type Done, doneOf, inDoubt, nothing } from "../failure/done.ts"
import { isRefusal } from "../failure/refusalCode.ts"
import { AppendOnly } from "../value/appendOnly.ts"

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
  /** How many attempts have begun and not ended. Of a tool that only reads, nobody notes the ends. */
  readonly running: number
  /** What the attempts that are over came to, with all that ran inside of them. A later success settles it. */
  readonly own: Done
  /** What ran inside of the attempt under way. */
  readonly inside: Done
  /** What ran inside of any attempt, and another attempt does not do again. */
  readonly lasting: Done
  /** How many things inside act, and have not ended. */
  readonly acting: number
  /** What answered in place of the handler. The tool's own check says nothing of it. */
  readonly sources: Done
  /** Has something answered of which nobody knows whether it acts? */
  readonly isAnswered: boolean
  /** Did the tool refuse what it was asked? */
  readonly isRefused: boolean
  /** Has an earlier call sent its key already? */
  readonly isRepeated: boolean
  /** Was the tool itself unavailable, and something else had to answer? */
  readonly fellBack: boolean
  /** The last failure of an attempt that was the tool's fault, and that a policy handled. */
  readonly fault: Handled | undefined
  /** What the agents used that corrected its arguments. */
  readonly fixing: Ledger | undefined
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
  running: 0,
  own: nothing,
  inside: nothing,
  lasting: nothing,
  acting: 0,
  sources: nothing,
  isAnswered: false,
  isRefused: false,
  isRepeated: false,
  fellBack: false,
  fault: undefined,
  fixing: undefined
}

// What nearly all calls come to, and no more.
const begunOnce: CallState = { ...untouched, executions: 1, attempts: 1, running: 1 }
const executedOnce: CallState = { ...begunOnce, running: 0, own: doneOf("executed") }

/** The same of a call whose key may have been sent before. */
export const repeated: CallState = { ...untouched, isRepeated: true }

/** What a call has come to after one more event. */
export const step = (state: CallState, event: CallEvent): CallState => {
  switch (event._tag) {
    case "AttemptStarted":
      if (state === untouched) return begunOnce
      return {
        ...state,
        executions: state.executions + 1,
        attempts: state.attempts + 1,
        running: state.running + 1,
        // What an earlier attempt said is void; what it did is not.
        caveats: noTexts,
        source: undefined,
        own: and(state.own, state.inside),
        inside: nothing
      }
    case "AttemptEnded":
      return event.inside === undefined ? ended(state, event) : state
    case "PageStarted":
      return {
        ...state,
        executions: state.executions + 1,
        attempts: state.attempts + 1
      }
    case "SourceStarted":
      return { ...state, attempts: state.attempts + 1 }
    case "InnerActs":
      return event.by === "policy" ? state : { ...state, acting: state.acting + 1 }
    case "InnerEnded":
      return innerEnded(state, event)
    case "OutcomeSettled":
      return settled(state, event.certainty)
    case "CallRepeated":
      // One key, one effect: it is as if an attempt of this call had ended so.
      return { ...state, isRepeated: true, own: and(state.own, doneOf(event.certainty)) }
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
      // What was refused was refused with other arguments.
      return { ...state, isRefused: false, repairs: [...state.repairs.map(withoutNote), ...event.repairs] }
    case "FixerSpent": {
      const { _tag, ...spent } = event
      return { ...state, fixing: state.fixing === undefined ? spent : plus(state.fixing, spent) }
    }
    case "AttemptAbandoned":
    case "FixerAsked":
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

/** Has the service been sent the key of the call before its last attempt? */
export const wasSent = ({ executions, isRepeated }: CallState): boolean => isRepeated || executions > 1

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
  { by, code, detail, inside, policy, scope, tag }: CallEvent & { readonly _tag: "FailureHandled" }
): CallState => {
  const entry: Handled = { tag, code, detail, by, ...(policy === undefined ? {} : { policy }) }
  const isOwn = inside === undefined && tag === "ToolUnavailable"
  const isFault = isOwn && isReplaced(by) && scope === undefined && !isRefusal(entry)
  return {
    ...state,
    handled: state.handled.append([entry]),
    fellBack: state.fellBack || isOwn && (by === "fallback" || by === "answered"),
    fault: isFault ? entry : state.fault
  }
}

// What a check, or a fixer, failed with is its own.
const isReplaced = (by: Handled["by"]): boolean => replacing.has(by)

const replacing: ReadonlySet<string> = new Set(["retry", "fallback", "custom", "fix", "answered"])

// -----------------------------------------------------------------------------
// Certainty
// -----------------------------------------------------------------------------

type InnerEnded = CallEvent & { readonly _tag: "InnerEnded" }

const innerEnded = (state: CallState, event: InnerEnded): CallState => {
  const { acted, acts, answered, by, certainty, lasting } = event
  // What a policy or a fixer does for itself, is not the tool's effect.
  if (by === "policy") return state
  const done = doneOf(certainty, acted)
  const acting = state.acting - (acts === true ? 1 : 0)
  return by === "source"
    ? { ...state, acting, sources: and(state.sources, done), isAnswered: state.isAnswered || answered === true }
    : {
      ...state,
      acting,
      inside: and(state.inside, done),
      lasting: lasting === true ? and(state.lasting, done) : state.lasting
    }
}

const ended = (
  state: CallState,
  { acted, certainty, refused }: CallEvent & { readonly _tag: "AttemptEnded" }
): CallState => {
  // What only reads has none.
  if (certainty === undefined) return state
  if (state === begunOnce && certainty === "executed") return executedOnce
  const done = doneOf(certainty, acted)
  return {
    ...state,
    running: state.running - 1,
    // An act that has taken effect is in doubt no more, whether another attempt ended before or after.
    own: certainty === "executed" || isCertain(state.own)
      ? and(certain(state.own), certain(done))
      : and(state.own, done),
    isRefused: state.isRefused || refused === true
  }
}

// That something has taken effect, no check denies.
const settled = (state: CallState, certainty: Certainty): CallState => {
  const done = doneOf(certainty)
  return {
    ...state,
    own: and(certain(state.own), done),
    inside: certain(state.inside),
    lasting: certain(state.lasting)
  }
}

const isCertain = ({ hasActed, isInDoubt }: Done): boolean => hasActed && !isInDoubt

/** What the attempts of a tool that acts came to, with all that ran inside of them. */
export const doneInAttempts = (state: CallState): Done => {
  const { acting, lasting, own, running } = state
  // One that is still running says nothing new once another has succeeded.
  const attempts = running > 0 && !isCertain(own) ? inDoubt(own) : own
  const done = and(and(attempts, state.inside), lasting)
  return acting > 0 ? inDoubt(done) : done
}

/**
 * What a call came to.
 *
 * @param acts does the tool itself act? What only reads takes effect by the tools inside of it alone
 * @param hasAnswer has the call its answer? Then what a tool that only reads tried before in vain is settled
 */
export const doneIn = (state: CallState, acts: boolean, hasAnswer: boolean): Done => {
  // Most calls of what only reads come to no more.
  if (!acts && state === begunOnce) return nothing
  const { own, sources } = state
  const attempts = doneInAttempts(acts ? state : { ...state, running: 0, own: hasAnswer ? certain(own) : own })
  const done = and(attempts, sources)
  // What answered for what acts may have done so, and its answer was not good enough.
  return acts && state.isAnswered && !hasAnswer ? inDoubt(done) : done
}

/** The same in a word. */
export const certaintyIn = (state: CallState, acts: boolean, hasAnswer: boolean): Certainty =>
  certaintyOf(doneIn(state, acts, hasAnswer))

/** Does anything go on that may still act? */
export const isActing = ({ acting, running }: CallState, acts: boolean): boolean => acting > 0 || acts && running > 0
