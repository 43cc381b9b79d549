/**
 * Says what the library did about a call before the model read of it, from the events of the run.
 */
import type * as AgentEvent from "@fallible/core/AgentEvent"
import * as Duration from "effect/Duration"
import * as Trace from "../shared/Trace.ts"

export const below = (events: ReadonlyArray<AgentEvent.AgentEvent>, id: string): ReadonlyArray<string> => {
  const turn = events.find((event) => event._tag === "CallStarted" && event.call.id === id)
  return turn?._tag === "CallStarted"
    ? events.flatMap((event) => isAbout(event, turn) ? sentenceOf(event) ?? [] : [])
    : []
}

type Started = Extract<AgentEvent.AgentEvent, { readonly _tag: "CallStarted" }>

const isAbout = (event: AgentEvent.AgentEvent, { call, turn }: Started): boolean =>
  event._tag === "LoopNoticed"
    ? event.turn === turn && event.tools.includes(call.name)
    : "call" in event && event.call.id === call.id

const sentenceOf = (event: AgentEvent.AgentEvent): string | undefined => {
  if (event._tag === "FailureHandled" && event.retry?.wait !== undefined) {
    return `retried after ${Math.round(Duration.toMillis(event.retry.wait))} ms (${event.code})`
  }
  if (event._tag === "SourceNamed") {
    return `answered from the ${event.name}${event.age === undefined ? "" : `, ${largestUnit(event.age)} old`}`
  }
  if (event._tag === "RetryRefused" && event.why === "may_have_acted") {
    return "did not retry the call: it may have acted"
  }
  if (event._tag === "ArgumentsRepaired") {
    return `repaired the arguments: ${event.repairs.map(({ kind }) => kind.replaceAll("_", " ")).join(", ")}`
  }
  if (event._tag === "PageStarted") return "fetched a further page"
  if (event._tag === "AttemptAbandoned") return `stopped waiting (${event.by})`
  if (event._tag === "LoopNoticed") return `noticed a loop, and ${Trace.loopSteps[event.step]}`
  return event._tag === "CallEnded" && event.outcome._tag === "Failed" && event.outcome.attempts === 0
    ? `did not run the call (${event.outcome.failure.code})`
    : undefined
}

// "3h", as the model reads it, not "3h 5m 12ms".
const largestUnit = (age: Duration.Duration): string => Duration.format(age).split(" ", 1).join()
