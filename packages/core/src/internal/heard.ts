import type { CallEvent } from "../CallEvent.ts"

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
