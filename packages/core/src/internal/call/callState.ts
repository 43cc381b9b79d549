import * as Duration from "effect/Duration"
import type { CallEvent, Source } from "../../CallEvent.ts"
import type { Certainty } from "../../Certainty.ts"
import { type Ledger, plus } from "../../Ledger.ts"
import type { Handled, Repair } from "../../ToolOutcome.ts"
import { and, certain, certaintyOf, type Done, doneOf, inDoubt, nothing } from "../failure/effectsDone.ts"
import { isRefusal } from "../failure/policyRefusal.ts"
import { AppendOnly } from "../value/appendOnly.ts"

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
  readonly source: Source | undefined
  /**
   * Number of attempts that have begun and not ended. For a read-only tool this number never
   * decreases, because the ends of a read-only tool's attempts are not counted.
   */
  readonly running: number
  /**
   * Combined effects of all ended attempts, including everything that ran inside them. A later
   * success clears the doubt about earlier attempts.
   */
  readonly own: Done
  /** Combined effects of the inner tools of the current attempt. */
  readonly inside: Done
  /** Combined effects of those inner tools, in any attempt, that would act again if they ran again. */
  readonly lasting: Done
  /** Number of acting inner tools and sources that have started and not ended. */
  readonly acting: number
  /**
   * Combined effects of the sources (of fallbacks, for example) that answered in place of the
   * handler. The called tool's own `reconcile` check cannot clear the doubt about a source.
   */
  readonly sources: Done
  /** True if a source has answered and the library cannot tell whether that source acts. */
  readonly isAnswered: boolean
  /** True if the called tool itself has refused the request. */
  readonly isRefused: boolean
  /** True if the idempotency key may already have been sent before this call began. */
  readonly isRepeated: boolean
  /** True if the latest attempt has ended late and in doubt, and operators were told so (`LateResult`). */
  readonly isReported: boolean
  /** True if the called tool itself was unavailable, and a fallback or a fixer had to answer. */
  readonly fellBack: boolean
  /** The last handled failure for which the called tool itself was to blame. */
  readonly fault: Handled | undefined
  /** The resource usage of the agents that corrected the arguments. */
  readonly fixing: Ledger | undefined
  /** The tokens of the agents that the handler ran. */
  readonly spent: Spent | undefined
}

interface Spent {
  readonly inputTokens: number
  readonly outputTokens: number
}

const noTexts: AppendOnly<never> = AppendOnly.from([])

/** The state of a call before its first event. */
export const untouched: CallState = {
  executions: 0,
  corrected: 0,
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
  isReported: false,
  fellBack: false,
  fault: undefined,
  fixing: undefined,
  spent: undefined
}

// Nearly all calls pass through only these states, so they are shared to avoid allocation.
const begunOnce: CallState = { ...untouched, executions: 1, attempts: 1, running: 1 }
const executedOnce: CallState = { ...begunOnce, running: 0, own: doneOf("executed") }

/** The initial state of a call whose idempotency key may already have been sent. */
export const repeated: CallState = { ...untouched, isRepeated: true }

/** Returns the state after one more event. */
export const step = (state: CallState, event: CallEvent): CallState => {
  switch (event._tag) {
    case "AttemptStarted":
      if (state === untouched) return begunOnce
      return {
        ...state,
        executions: state.executions + 1,
        attempts: state.attempts + 1,
        running: state.running + 1,
        isReported: false,
        // The caveats and source of an earlier attempt no longer apply. Its effects still count.
        caveats: noTexts,
        source: undefined,
        own: and(state.own, state.inside),
        inside: nothing
      }
    case "AttemptEnded":
      return event.inside === undefined ? applyEnded(state, event) : state
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
      return applyInnerEnded(state, event)
    case "OutcomeSettled":
      return applySettled(state, event.certainty)
    case "CallRepeated":
      // One key means one effect, so the earlier call with this key counts as an ended attempt of this call.
      return { ...state, isRepeated: true, own: and(state.own, doneOf(event.certainty)) }
    case "FailureHandled":
      return applyHandled(state, event)
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
      // The tool has refused the earlier arguments, but not the corrected ones.
      return {
        ...state,
        corrected: state.executions,
        isRefused: false,
        repairs: [...state.repairs.map(withoutNote), ...event.repairs]
      }
    case "FixerSpent": {
      const { _tag, ...spent } = event
      return { ...state, fixing: state.fixing === undefined ? spent : plus(state.fixing, spent) }
    }
    case "TokensSpent": {
      const { inputTokens = 0, outputTokens = 0 } = state.spent ?? {}
      const spent = {
        inputTokens: inputTokens + event.inputTokens,
        outputTokens: outputTokens + event.outputTokens
      }
      return { ...state, spent }
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

/**
 * Returns the initial state of a gate: a frame that can be closed (see `Gate`). This is the current state
 * without the list of handled failures, which grows with each attempt and which a gate does not need.
 */
export const asOf = (state: CallState): CallState => state.handled.length === 0 ? state : { ...state, handled: noTexts }

/** True if the idempotency key may already have been sent before the current attempt. */
export const wasSent = ({ executions, isRepeated }: CallState): boolean => isRepeated || executions > 1

/** True if the event starts an attempt, either of the called tool or of a tool that a fallback runs. */
export const isStart = ({ _tag }: CallEvent): boolean =>
  _tag === "AttemptStarted" || _tag === "PageStarted" || _tag === "SourceStarted"

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
    fellBack: state.fellBack || isOwn && (by === "fallback" || by === "answered"),
    fault: isFault ? entry : state.fault
  }
}

// For any other value of `by`, the failure may come from a check or a fixer, so the tool is not to blame.
const isReplaced = (by: Handled["by"]): boolean => replacing.has(by)

const replacing: ReadonlySet<string> = new Set(["retry", "fallback", "custom", "fix", "answered"])

// -----------------------------------------------------------------------------
// Certainty
// -----------------------------------------------------------------------------

type InnerEnded = CallEvent & { readonly _tag: "InnerEnded" }

const applyInnerEnded = (state: CallState, event: InnerEnded): CallState => {
  const { acted, acts, answered, by, certainty, lasting } = event
  // Tools that a policy or a fixer runs for its own purposes do not count as effects of the called tool.
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

const applyEnded = (
  state: CallState,
  { acted, certainty, late, refused }: CallEvent & { readonly _tag: "AttemptEnded" }
): CallState => {
  // The end of a read-only tool's attempt has no certainty.
  if (certainty === undefined) return state
  if (state === begunOnce && certainty === "executed") return executedOnce
  const done = doneOf(certainty, acted)
  return {
    ...state,
    running: state.running - 1,
    // An attempt that certainly took effect clears the doubt about all other attempts, even about later ones.
    own: certainty === "executed" || isCertain(state.own)
      ? and(certain(state.own), certain(done))
      : and(state.own, done),
    isRefused: state.isRefused || refused === true,
    // A report that this attempt did nothing says nothing about the doubt of an earlier one.
    isReported: late === true && certainty === "unknown"
  }
}

// A check can clear doubt, but it never undoes a known effect.
const applySettled = (state: CallState, certainty: Certainty): CallState => {
  const done = doneOf(certainty)
  return {
    ...state,
    own: and(certain(state.own), done),
    inside: certain(state.inside),
    lasting: certain(state.lasting)
  }
}

const isCertain = ({ hasActed, isInDoubt }: Done): boolean => hasActed && !isInDoubt

/** Returns the combined effects of all attempts of an acting tool, and of everything that ran inside them. */
export const doneInAttempts = (state: CallState): Done => {
  const { acting, lasting, own, running } = state
  // A running attempt adds no doubt once another attempt has certainly taken effect.
  const attempts = running > 0 && !isCertain(own) ? inDoubt(own) : own
  const done = and(and(attempts, state.inside), lasting)
  return acting > 0 ? inDoubt(done) : done
}

/**
 * Returns the combined effects of a call.
 *
 * @param acts whether the called tool itself acts (has side effects); a read-only tool can take
 * effect only through inner tools
 * @param hasAnswer whether the call has an answer; for a read-only tool, an answer clears the doubt
 * about earlier attempts
 */
export const doneIn = (state: CallState, acts: boolean, hasAnswer: boolean): Done => {
  // Fast path for most calls to read-only tools.
  if (!acts && state === begunOnce) return nothing
  const { own, sources } = state
  const attempts = doneInAttempts(acts ? state : { ...state, running: 0, own: hasAnswer ? certain(own) : own })
  const done = and(attempts, sources)
  // A source has answered and may have acted, although the call failed afterwards.
  return acts && state.isAnswered && !hasAnswer ? inDoubt(done) : done
}

/** Returns the combined effects of a call as a certainty. See {@link doneIn}. */
export const certaintyIn = (state: CallState, acts: boolean, hasAnswer: boolean): Certainty =>
  certaintyOf(doneIn(state, acts, hasAnswer))

/** True if an attempt or an inner tool that may act is still running. */
export const isActing = ({ acting, running }: CallState, acts: boolean): boolean => acting > 0 || acts && running > 0
