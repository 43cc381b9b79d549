/**
 * Formats the events of a run line by line: as text for people, or as one JSON object per line for programs.
 */
import {
  AgentEvent,
  type AgentFailure,
  type Ledger,
  type ToolCall,
  type ToolFailure,
  type ToolOutcome
} from "@fallible/core"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"

export type Trace = (event: AgentEvent.AgentEvent) => ReadonlyArray<string>

// -----------------------------------------------------------------------------
// For people
// -----------------------------------------------------------------------------

export const readable: Trace = (event) => {
  if (event._tag === "TurnStarted") return [`turn ${event.turn}`]
  if (event._tag === "ModelRetried") {
    return [`  retry  the model: ${event.failure.detail} Again in ${milliseconds(event.wait)}.`]
  }
  if (event._tag === "ModelReplied") {
    return [`  model  ${verbOfReply(event.reply.calls.length)}  ${milliseconds(event.elapsed)}`]
  }
  if (event._tag === "FailureHandled") {
    const again = event.retry?.wait === undefined ? "" : ` Again in ${milliseconds(event.retry.wait)}.`
    return [
      `  ${(event.policy ?? event.by).padEnd(8)} ${
        textOfCall(event.call)
      }  after attempt ${event.attempt}: ${event.detail}${again}`
    ]
  }
  if (event._tag === "FixerSpent") {
    return [`  fixer    ${event.call.name}  ${count(event.turns, "turn")}, ${count(event.calls, "call")}`]
  }
  return event._tag === "CallEnded" ? linesOfOutcome(event.call, event.outcome, event.elapsed) : []
}

/** Replaces characters that could control a terminal (control and format characters) with spaces. */
export const printable = (line: string): string => line.replace(/[\p{Cc}\p{Cf}]+/gu, " ")

/** Removes control and format characters from a text, except newlines, tabs and the joiner inside an emoji. */
export const printableText = (text: string): string => text.replace(/(?![\n\t\u200d])[\p{Cc}\p{Cf}]/gu, "")

/** Explains why a run ended without an answer, and what to do about it. */
export const why = (failure: AgentFailure.AgentFailure): string => {
  if (failure._tag !== "ModelFailed") return failure.detail
  const { attempts = 1, detail, hint } = failure.failure
  return printable([detail, ...(attempts > 1 ? [`Tried ${attempts} times.`] : []), hint ?? ""].join(" ").trim())
}

/** Formats the totals that end a run: turns, calls and failures. */
export const totals = ({ calls, failures, turns }: Ledger.Ledger): string => {
  const told = failures.filter(({ ended, inside }) => ended === "told" && inside === undefined).length
  const own = failures.filter(({ tag }) => tag === "ModelFailure").length
  const which = own === 0 ? `${told} told to the model` : `${told} told to the model, ${own} of the model`
  return `${count(turns, "turn")}, ${count(calls, "call")}, ${count(failures.length, "failure")} (${which})`
}

const linesOfOutcome = (
  call: ToolCall.ToolCall,
  outcome: ToolOutcome.ToolOutcome,
  elapsed: Duration.Duration
): ReadonlyArray<string> => {
  const line = (verdict: string) =>
    `  ${verdict.padEnd(8)} ${textOfCall(call)}  ${attemptsOf(outcome)}${milliseconds(elapsed)}`
  switch (outcome._tag) {
    case "Completed":
      return [line("ok"), ...outcome.caveats.map((caveat) => `           note: ${caveat}`)]
    case "Failed":
      return [
        line("failed"),
        `           ${outcome.failure._tag}, ${outcome.failure.code}: ${outcome.failure.detail}`,
        ...escalationOf(outcome.failure),
        ...sourcesOf(outcome.failure)
      ]
    case "Suspended":
      return [line("asks"), `           ${outcome.question}`]
    case "Stopped":
      return [line("stops"), `           ${outcome.reason}`]
  }
}

const escalationOf = ({ hint, severity, source }: ToolFailure.ToolFailure): ReadonlyArray<string> =>
  source === undefined
    ? []
    : [`           escalated by ${source} (${severity})${hint === undefined ? "" : `: ${hint}`}`]

const sourcesOf = (failure: ToolFailure.ToolFailure): ReadonlyArray<string> =>
  failure._tag === "ToolUnavailable" && failure.tried !== undefined
    ? [`           tried: ${failure.tried.join(", then ")}`]
    : []

const textOfCall = (call: ToolCall.ToolCall): string => `${call.name} ${call.arguments ?? ""}`.trimEnd()
const attemptsOf = ({ attempts }: ToolOutcome.ToolOutcome): string => attempts > 1 ? `${attempts} attempts  ` : ""
const milliseconds = (duration: Duration.Duration): string => `${Math.round(Duration.toMillis(duration))} ms`
const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`
const verbOfReply = (calls: number): string => calls === 0 ? "answers" : `calls ${count(calls, "tool")}`

// -----------------------------------------------------------------------------
// For programs
// -----------------------------------------------------------------------------

export const json: Trace = (event) => {
  if (event._tag === "TextDelta") return []
  return event._tag === "RunEnded"
    ? [JSON.stringify({ _tag: "RunEnded", answer: { text: event.answer.text, ledger: event.answer.ledger } })]
    : [JSON.stringify(encode(event))]
}

/** Formats a failed run as the last JSON line. */
export const failedJson = (failure: AgentFailure.AgentFailure): string =>
  JSON.stringify({ _tag: "RunFailed", failure: failure._tag, detail: why(failure), ledger: failure.ledger })

const encode = Schema.encodeSync(AgentEvent.schema)
