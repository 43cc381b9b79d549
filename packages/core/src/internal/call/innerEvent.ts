import type { CallEvent } from "../../CallEvent.ts"
import type { CallState } from "./callState.ts"
import type { Frame, Outwards } from "./frame.ts"

/** Is it said of the answer, which may not come? */
export const isOfAnswer = ({ _tag }: CallEvent): boolean =>
  _tag === "CaveatAdded" || _tag === "SourceNamed" || _tag === "AnswerDiscarded"

/** What the outer call hears of an event of a tool inside: an attempt there is no attempt here, and what it did is told at its end. */
export const heardOutside = (event: CallEvent, name: string, acts: boolean): CallEvent | undefined => {
  switch (event._tag) {
    case "AttemptStarted":
    case "SourceStarted":
      return { _tag: "InnerStarted", inside: name }
    case "AttemptEnded":
      return event.late === true ? { ...event, inside: event.inside ?? name } : undefined
    case "FailureHandled":
      return {
        ...event,
        // What only reads is never in doubt.
        ...(!acts && event.outcome === "unknown" ? { outcome: "not_executed" } : {}),
        inside: event.inside ?? name
      }
    case "RetryRefused":
    case "CallRefused":
    case "WaitStarted":
    case "WaitEnded":
      return { ...event, inside: event.inside ?? name }
    case "CircuitChanged":
    case "FixerSpent":
      return event
    case "InnerActs":
    case "InnerEnded":
    case "OutcomeSettled":
    case "AttemptAbandoned":
    case "CallRepeated":
    case "PageStarted":
    case "InnerStarted":
    case "CaveatAdded":
    case "SourceNamed":
    case "AnswerDiscarded":
    case "FixerAsked":
    case "ArgumentsRepaired":
    case "ArgumentsCorrected":
      return undefined
  }
}

// However many tools run inside of each other, what passes through them does not use up the stack. Each event has a list of its own: a
// watcher may run another call at once, and what is heard there is heard before that one goes on.
export const passOut = (first: Outwards[number], outwards: Outwards | undefined): void => {
  if (outwards !== undefined) {
    outwards.push(first)
    return
  }
  const all = [first]
  for (const { event, failure, to } of all) to.note(event, failure, undefined, all)
}

export const handOut = (
  { caveats, source }: Pick<CallState, "source"> & { readonly caveats: Iterable<string> },
  outer: Frame
): void => {
  for (const text of caveats) outer.note({ _tag: "CaveatAdded", text })
  if (source !== undefined) outer.note({ _tag: "SourceNamed", ...source })
}
