/*
 * The fold of a call's events into its state.
 */
import * as Duration from "effect/Duration"
import type { CallEvent } from "../../CallEvent.ts"
import { plus } from "../../Ledger.ts"
import type { Handled, Repair } from "../../ToolOutcome.ts"
import { both, type Effects, isInDoubt, withoutDoubt } from "../failure/effects.ts"
import { isRefusal } from "../failure/policyRefusal.ts"
import { begunOnce, type CallState, executedOnce, noTexts, untouched } from "./callState.ts"

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
        own: both(state.own, state.inside),
        inside: "none"
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
      return applySettled(state, event.effects)
    case "DoubtRaised":
      return { ...state, sources: both(state.sources, "maybe") }
    case "CallRepeated":
      // One key means one effect, so the earlier call with this key counts as an ended attempt of this call.
      return { ...state, isRepeated: true, own: both(state.own, event.effects) }
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
// Effects
// -----------------------------------------------------------------------------

type InnerEnded = CallEvent & { readonly _tag: "InnerEnded" }

const applyInnerEnded = (state: CallState, event: InnerEnded): CallState => {
  const { acts, answered, by, effects, lasting } = event
  // Tools that a policy or a fixer runs for its own purposes do not count as effects of the called tool.
  if (by === "policy") return state
  const acting = state.acting - (acts === true ? 1 : 0)
  return by === "source"
    ? { ...state, acting, sources: both(state.sources, effects), isAnswered: state.isAnswered || answered === true }
    : {
      ...state,
      acting,
      inside: both(state.inside, effects),
      lasting: lasting === true ? both(state.lasting, effects) : state.lasting
    }
}

const applyEnded = (
  state: CallState,
  { effects, late, refused }: CallEvent & { readonly _tag: "AttemptEnded" }
): CallState => {
  // The end of a read-only tool's attempt has no effects.
  if (effects === undefined) return state
  if (state === begunOnce && effects === "done") return executedOnce
  const all = both(state.own, effects)
  return {
    ...state,
    running: state.running - 1,
    // An attempt that certainly took effect clears the doubt about all other attempts, even about later ones.
    own: effects === "done" || state.own === "done" ? withoutDoubt(all) : all,
    isRefused: state.isRefused || refused === true,
    // A report that this attempt did nothing says nothing about the doubt of an earlier one.
    isReported: late === true && isInDoubt(effects)
  }
}

// A check can clear doubt, but it never undoes a known effect.
const applySettled = (state: CallState, effects: Effects): CallState => ({
  ...state,
  own: both(withoutDoubt(state.own), effects),
  inside: withoutDoubt(state.inside),
  lasting: withoutDoubt(state.lasting)
})
