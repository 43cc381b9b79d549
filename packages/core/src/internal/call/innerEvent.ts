import type { CallEvent } from "../../CallEvent.ts"
import type { CallState } from "./callState.ts"
import type { Frame, Outwards } from "./frame.ts"

/** True if the event concerns the current answer, which may still be discarded. */
export const isOfAnswer = ({ _tag }: CallEvent): boolean =>
  _tag === "CaveatAdded" || _tag === "SourceNamed" || _tag === "AnswerDiscarded"

/**
 * Maps an event of an inner tool to the event that the outer call notes, if any. An attempt of the inner
 * tool does not count as an attempt of the outer call. The inner tool's effects are reported when it ends.
 */
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
        // A read-only tool is never in doubt.
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
    case "TokensSpent":
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

// Passes an event on through a queue, so that deeply nested tools cannot overflow the stack. Each
// original event starts a new queue. So if a watcher starts another call, the watcher receives each
// event of that call before that call continues.
export const passOut = (first: Outwards[number], queue: Outwards | undefined): void => {
  if (queue !== undefined) {
    queue.push(first)
    return
  }
  const newQueue = [first]
  for (const { event, failure, to } of newQueue) to.note(event, failure, undefined, newQueue)
}

export const handOut = (
  { caveats, source }: Pick<CallState, "source"> & { readonly caveats: Iterable<string> },
  outer: Frame
): void => {
  for (const text of caveats) outer.note({ _tag: "CaveatAdded", text })
  if (source !== undefined) outer.note({ _tag: "SourceNamed", ...source })
}
