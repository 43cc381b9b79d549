/**
 * A run, line by line, as it happens: for people, or as one JSON object a line for programs.
 */
import { AgentEvent } from "@fallible/core"
import type { AgentFailure, Ledger, ToolCall, ToolFailure, ToolOutcome } from "@fallible/core"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"

export type Trace = (event: AgentEvent.AgentEvent) => ReadonlyArray<string>

// -----------------------------------------------------------------------------
// For people
// -----------------------------------------------------------------------------

export const readable: Trace = (event) => {
  if (event._tag === "TurnStarted") return [`turn ${event.turn}`]
  if (event._tag === "ModelRetried") {
    return [`  retry  the model: ${event.failure.detail} Again in ${took(event.wait)}.`]
  }
  if (event._tag === "ModelReplied") {
    return [`  model  ${repliedWith(event.reply.calls.length)}  ${took(event.elapsed)}`]
  }
  if (event._tag === "FailureHandled") {
    const again = event.retry?.wait === undefined ? "" : ` Again in ${took(event.retry.wait)}.`
    return [
      `  ${(event.policy ?? event.by).padEnd(8)} ${
        called(event.call)
      }  after attempt ${event.attempt}: ${event.detail}${again}`
    ]
  }
  if (event._tag === "FixerSpent") {
    return [`  fixer    ${event.call.name}  ${count(event.turns, "turn")}, ${count(event.calls, "call")}`]
  }
  return event._tag === "CallEnded" ? endedWith(event.call, event.outcome, event.elapsed) : []
}

/** A line without what could drive a terminal: control and direction characters. */
export const printable = (line: string): string => line.replace(/[\p{Cc}\p{Cf}]+/gu, " ")

/** The same of a text, which may have lines. What joins the parts of an emoji stays. */
export const printableText = (text: string): string => text.replace(/(?![\n\t\u200d])[\p{Cc}\p{Cf}]/gu, "")

/** Why a run ended without an answer, and what to do about it. */
export const why = (failure: AgentFailure.AgentFailure): string => {
  if (failure._tag !== "ModelFailed") return failure.detail
  const { attempts = 1, detail, hint } = failure.failure
  return printable([detail, ...(attempts > 1 ? [`Tried ${attempts} times.`] : []), hint ?? ""].join(" ").trim())
}

/** The totals, at the end of a run. */
export const totals = ({ calls, failures, turns }: Ledger.Ledger): string => {
  const told = failures.filter(({ ended, inside }) => ended === "told" && inside === undefined).length
  const own = failures.filter(({ tag }) => tag === "ModelFailure").length
  const which = own === 0 ? `${told} told to the model` : `${told} told to the model, ${own} of the model`
  return `${count(turns, "turn")}, ${count(calls, "call")}, ${count(failures.length, "failure")} (${which})`
}

const endedWith = (
  call: ToolCall.ToolCall,
  outcome: ToolOutcome.ToolOutcome,
  elapsed: Duration.Duration
): ReadonlyArray<string> => {
  const line = (verdict: string) => `  ${verdict.padEnd(8)} ${called(call)}  ${tried(outcome)}${took(elapsed)}`
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

const called = (call: ToolCall.ToolCall): string => `${call.name} ${call.arguments ?? ""}`.trimEnd()
const tried = ({ attempts }: ToolOutcome.ToolOutcome): string => attempts > 1 ? `${attempts} attempts  ` : ""
const took = (duration: Duration.Duration): string => `${Math.round(Duration.toMillis(duration))} ms`
const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`
const repliedWith = (calls: number): string => calls === 0 ? "answers" : `calls ${count(calls, "tool")}`

// -----------------------------------------------------------------------------
// For programs
// -----------------------------------------------------------------------------

export const json: Trace = (event) => {
  if (event._tag === "TextDelta") return []
  return event._tag === "RunEnded"
    ? [JSON.stringify({ _tag: "RunEnded", answer: { text: event.answer.text, ledger: event.answer.ledger } })]
    : [JSON.stringify(encode(event))]
}

/** A run that failed, as the last line for programs. */
export const failedJson = (failure: AgentFailure.AgentFailure): string =>
  JSON.stringify({ _tag: "RunFailed", failure: failure._tag, detail: why(failure), ledger: failure.ledger })

const encode = Schema.encodeSync(AgentEvent.schema)
