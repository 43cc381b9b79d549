import type { Source } from "../../CallEvent.ts"
import type { Ledger } from "../../Ledger.ts"
import type { Handled, Repair, Suspended } from "../../ToolOutcome.ts"
import { both, type Effects, effectsOf, isInDoubt, withoutDoubt } from "../failure/effects.ts"
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
  readonly own: Effects
  /** Combined effects of the inner tools of the current attempt. */
  readonly inside: Effects
  /** Combined effects of those inner tools, in any attempt, that would act again if they ran again. */
  readonly lasting: Effects
  /** Number of acting inner tools and sources that have started and not ended. */
  readonly acting: number
  /**
   * Combined effects of the sources (of fallbacks, for example) that answered in place of the
   * handler. The called tool's own `reconcile` check cannot clear the doubt about a source.
   */
  readonly sources: Effects
  /** The effects of a resumed call before it was suspended. Nothing clears what had certainly been done by then. */
  readonly earlier: Effects
  /** True if a part of that would act again if the call ran again. */
  readonly wasLasting: boolean
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
  source: undefined,
  running: 0,
  own: "none",
  inside: "none",
  lasting: "none",
  acting: 0,
  sources: "none",
  earlier: "none",
  wasLasting: false,
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
export const begunOnce: CallState = { ...untouched, executions: 1, attempts: 1, running: 1 }
export const executedOnce: CallState = { ...begunOnce, running: 0, own: "done" }

/** The initial state of a call whose idempotency key may already have been sent. */
export const repeated: CallState = { ...untouched, isRepeated: true }

/**
 * The initial state of a resumed call: what it had done when it was suspended.
 *
 * A call that certainly acted before it asked the user acts again: its author accepted that by asking after acting. A
 * call in doubt runs again only if that is safe.
 *
 * @param isCleared true if a later success clears the doubt about earlier attempts
 */
export const resumedState = (
  { arguments: corrected, certainty = "not_executed", effects = effectsOf(certainty), intent, lasting, repairs = [] }:
    Resumed,
  isCleared: boolean
): CallState => {
  const earlier = withoutDoubt(effects)
  // Repairs of the model's own arguments are made, and noted, again.
  const wasLasting = (lasting ?? intent?.lasting) === true
  const state = { ...untouched, earlier, wasLasting, ...(corrected === undefined ? {} : { repairs }) }
  if (!isInDoubt(effects)) return state
  return isCleared && !wasLasting
    ? { ...state, isRepeated: true, own: "maybe" }
    : { ...state, inside: "maybe", lasting: "maybe" }
}

type Resumed = Partial<Pick<Suspended, "arguments" | "certainty" | "effects" | "intent" | "lasting" | "repairs">>

/**
 * Returns the initial state of a part of a call. This is the current state without the list of handled failures, which
 * grows with each attempt, and which a part does not need.
 */
export const asOf = (state: CallState): CallState => state.handled.length === 0 ? state : { ...state, handled: noTexts }

/** True if the idempotency key may already have been sent before the current attempt. */
export const wasSent = ({ executions, isRepeated }: CallState): boolean => isRepeated || executions > 1

/** True if something inside the call acts, or may have acted, and would act again if the call ran again. */
export const isLasting = ({ acting, lasting }: CallState): boolean => lasting !== "none" || acting > 0

/** Returns the combined effects of all attempts of an acting tool, and of everything that ran inside them. */
export const effectsOfAttempts = ({ acting, inside, lasting, own, running }: CallState): Effects => {
  const ended = both(both(own, inside), lasting)
  // A running attempt adds no doubt once another attempt has certainly taken effect.
  return acting > 0 || running > 0 && own !== "done" ? both(ended, "maybe") : ended
}

/**
 * Returns the combined effects of a call.
 *
 * @param acts whether the called tool itself acts (has side effects); a read-only tool can take
 * effect only through inner tools
 * @param hasAnswer whether the call has an answer; for a read-only tool, an answer clears the doubt
 * about earlier attempts
 */
export const effectsIn = (state: CallState, acts: boolean, hasAnswer: boolean): Effects => {
  const { acting, earlier, inside, isAnswered, lasting, own, running, sources } = state
  // Fast path: most calls run attempts, and nothing else.
  if (
    inside === sources && lasting === earlier && inside === "none" && earlier === "none" && acting === 0 && !isAnswered
  ) {
    if (!acts) return hasAnswer ? withoutDoubt(own) : own
    if (running === 0) return own
  }
  const attempts = effectsOfAttempts(
    acts ? state : { ...state, running: 0, own: hasAnswer ? withoutDoubt(own) : own }
  )
  const all = both(both(attempts, sources), earlier)
  // A source has answered and may have acted, although the call failed afterwards.
  return acts && isAnswered && !hasAnswer ? both(all, "maybe") : all
}

/** True if an attempt or an inner tool that may act is still running. */
export const isActing = ({ acting, running }: CallState, acts: boolean): boolean => acting > 0 || acts && running > 0
