/** The fields of the events that clients see (`ClientEvent`). */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { AgentFailure, Failed } from "../../AgentFailure.ts"
import type { ClientEvent } from "../../ClientEvent.ts"
import type { ToolCall } from "../../ToolCall.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import { happened } from "../call/outcome.ts"
import { waitText } from "../value/durationText.ts"
import { cut, printable } from "../value/text.ts"

/** Tells whether clients may see the arguments, or the results, of a tool. */
export const permits = (allowed: boolean | ReadonlyArray<string> = false, tool: string): boolean =>
  // The text "get_quotes" includes "get_quote", but permits nothing.
  allowed === true || Array.isArray(allowed) && allowed.includes(tool)

export const turnOf = ({ at, run, turn }: { readonly run: string; readonly at: number; readonly turn: number }) => ({
  run,
  at,
  turn
})

export const stepOf = ({ replayed }: { readonly replayed?: true }) => replayed === undefined ? {} : { replayed }

export const callOf = (event: Parameters<typeof turnOf>[0] & { readonly index: number; readonly call: ToolCall }) => ({
  ...turnOf(event),
  index: event.index,
  tool: shortName(event.call.name)
})

// A model may write anything in place of a tool's name.
export const shortName = (name: string): string => cut(printable(name), 80)

// A handler may make a code of anything, too.
export const shortCode = (code: string): string => cut(printable(code), 60)

type Ending = Pick<
  Extract<ClientEvent, { readonly _tag: "CallEnded" }>,
  "outcome" | "certainty" | "joined" | "error" | "code" | "value" | "files" | "detail" | "notes"
>

/** Returns how a call ended, with its result or the detail of its failure if `showsResult` is true. */
export const endingOf = (outcome: ToolOutcome, showsResult: boolean): Ending => ({
  ...endOf(outcome, showsResult),
  // A call that was refused because it had been done before is in no doubt: its effect has happened.
  certainty: happened(outcome),
  ...(outcome.joined === undefined ? {} : { joined: outcome.joined })
})

const endOf = (outcome: ToolOutcome, showsResult: boolean): Omit<Ending, "certainty" | "joined"> => {
  switch (outcome._tag) {
    case "Completed": {
      const { caveats: notes, files, value } = outcome
      return {
        outcome: "completed",
        ...(showsResult ? { value, notes, ...(files === undefined ? {} : { files }) } : {})
      }
    }
    case "Failed": {
      const { failure: { _tag: error, code, detail } } = outcome
      return { outcome: "failed", error, code: shortCode(code), ...(showsResult ? { detail } : {}) }
    }
    case "Suspended":
      return { outcome: "suspended" }
    case "Stopped":
      return { outcome: "stopped" }
  }
}

/** Returns the last event of a run without an answer. `run` is the id of the run, if it has begun. */
export const runFailedEvent = (failure: Failed, run: string | undefined): Effect.Effect<ClientEvent> =>
  Effect.map(Clock.currentTimeMillis, (at) => ({
    _tag: "RunFailed",
    ...(run === undefined ? {} : { run }),
    at,
    failure: failure._tag,
    message: messageOf(failure)
  }))

/** Returns what a client is told of a run without an answer. */
export const messageOf = (failure: AgentFailure): string => {
  switch (failure._tag) {
    case "ModelFailed":
      return "The model did not answer."
    case "RunPostponed":
      return Duration.toDays(failure.retryAfter) > 7
        ? "The model is not available."
        : `The model is busy. Ask again in ${waitText(failure.retryAfter)}.`
    case "LimitReached":
      return "A limit was reached without an answer. Ask a simpler question."
    case "LoopDetected":
      return "The model repeated itself without an answer. Ask a simpler question."
    case "RunSuspended":
      return "The question needs your reply."
    case "RunStopped":
      return "A tool stopped the run."
    case "OutputRefused":
      return "The model gave no valid answer. Ask again."
    case "RunHalted":
      return "The run cannot be recorded. Ask again later."
    case "RunRefused":
      return "The request is not valid."
  }
}
