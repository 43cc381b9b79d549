/**
 * Formats the events of a run: as lines for people, or as one JSON object per line for programs.
 */
import { type AgentFailure, type ToolCall, type ToolFailure } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import type * as RunReport from "@fallible/core/RunReport"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import { type Line, printable } from "./Line.ts"

// -----------------------------------------------------------------------------
// For people
// -----------------------------------------------------------------------------

export const readable = (event: AgentEvent.AgentEvent): ReadonlyArray<Line> => {
  if (event._tag === "TurnStarted") return [{ mark: "", text: `turn ${event.turn}` }]
  if (event._tag === "ModelRetried") {
    const text = `the model: ${event.failure.detail} Again in ${milliseconds(event.wait)}.`
    return [{ mark: "  retry  ", tone: "retry", text }]
  }
  if (event._tag === "ModelReplied") {
    return [{ mark: "  model  ", text: `${verbOfReply(event.reply.calls.length)}  ${milliseconds(event.elapsed)}` }]
  }
  if (event._tag === "FailureHandled") {
    const policy = event.policy ?? event.by
    const again = event.retry?.wait === undefined ? "" : ` Again in ${milliseconds(event.retry.wait)}.`
    return [{
      mark: markOf(policy),
      tone: policy === "retry" ? "retry" : "note",
      call: textOfCall(event.call),
      text: `after attempt ${event.attempt}: ${event.detail}${again}`
    }]
  }
  if (event._tag === "ArgumentsRepaired") {
    const text = event.repairs.map(({ kind, note }) => note ?? kind.replaceAll("_", " ")).join("; ")
    return [{ mark: markOf("repair"), tone: "note", call: textOfCall(event.call), text }]
  }
  if (event._tag === "PageStarted") {
    return [{ mark: markOf("page"), tone: "note", call: textOfCall(event.call), text: "fetches the next page" }]
  }
  if (event._tag === "FixerSpent") {
    const spent = `${count(event.turns, "turn")}, ${count(event.calls, "call")}`
    return [{ mark: markOf("fixer"), tone: "note", call: event.call.name, text: spent }]
  }
  if (event._tag === "LoopNoticed") {
    return [{ mark: markOf("loop"), tone: "note", text: `${event.tools.join(", ")}: ${loopSteps[event.step]}` }]
  }
  if (event._tag === "LimitReached") {
    return [{
      mark: markOf("limit"),
      tone: "note",
      text: `no ${event.limit === "elapsed" ? "time" : event.limit} left`
    }]
  }
  return event._tag === "CallEnded" ? linesOfOutcome(event.call, event.outcome, event.elapsed) : []
}

/** What the guard did about a loop. */
export const loopSteps = {
  warned: "warned the model",
  refused: "refused the call",
  withdrawn: "withdrew the tool",
  ended: "ended the run"
} as const

/** Explains why a run ended without an answer, and what to do about it. */
export const why = (failure: AgentFailure.AgentFailure): string => {
  if (failure._tag !== "ModelFailed") return failure.detail
  const { attempts = 1, detail, hint } = failure.failure
  return printable([detail, ...(attempts > 1 ? [`Tried ${attempts} times.`] : []), hint ?? ""].join(" ").trim())
}

/** Formats the totals that end a run: turns, calls and failures. */
export const totals = ({ calls, failures, turns }: RunReport.RunReport): string => {
  const told = failures.filter(({ handling, inside }) => handling === "told" && inside === undefined).length
  const own = failures.filter(({ tag }) => tag === "ModelFailure").length
  const which = own === 0 ? `${told} told to the model` : `${told} told to the model, ${own} of the model`
  return `${count(turns, "turn")}, ${count(calls, "call")}, ${count(failures.length, "failure")} (${which})`
}

/** Formats a tool message as the model reads it. A long one is cut, and says how much is missing. */
export const told = (tool: string, text: string): ReadonlyArray<Line> => {
  const missing = text.length - longestMessage
  const shown = missing > 0 ? `${text.slice(0, longestMessage)}… (${missing} more characters)` : text
  return [{ mark: markOf("told"), tone: "note", text: tool }, remark(shown)]
}

const longestMessage = 2000

const linesOfOutcome = (
  call: ToolCall.ToolCall,
  outcome: ToolOutcome.ToolOutcome,
  elapsed: Duration.Duration
): ReadonlyArray<Line> => {
  const line = (word: string, tone: Line["tone"] & string): Line => ({
    mark: markOf(word),
    tone,
    call: textOfCall(call),
    text: `${attemptsOf(outcome)}${milliseconds(elapsed)}`
  })
  switch (outcome._tag) {
    case "Completed":
      return [line("ok", "ok"), ...outcome.caveats.map((caveat) => remark(`note: ${caveat}`, "note"))]
    case "Failed":
      return [
        line("failed", "failed"),
        remark(`${outcome.failure._tag}, ${outcome.failure.code}: ${outcome.failure.detail}`),
        ...escalationOf(outcome.failure),
        ...sourcesOf(outcome.failure)
      ]
    case "Suspended":
      // The question follows when the user is asked.
      return [line("asks", "note")]
    case "Stopped":
      return [line("stops", "failed"), remark(outcome.reason)]
  }
}

const markOf = (word: string): string => `  ${word.padEnd(8)} `

const remark = (text: string, tone?: Line["tone"]): Line => ({
  mark: markOf(""),
  text,
  ...(tone === undefined ? {} : { tone })
})

const escalationOf = ({ hint, severity, source }: ToolFailure.ToolFailure): ReadonlyArray<Line> =>
  source === undefined
    ? []
    : [remark(`escalated by ${source} (${severity})${hint === undefined ? "" : `: ${hint}`}`)]

const sourcesOf = (failure: ToolFailure.ToolFailure): ReadonlyArray<Line> =>
  failure._tag === "ToolUnavailable" && failure.tried !== undefined
    ? [remark(`tried: ${failure.tried.join(", then ")}`)]
    : []

const textOfCall = (call: ToolCall.ToolCall): string => `${call.name} ${call.arguments ?? ""}`.trimEnd()
const attemptsOf = ({ attempts }: ToolOutcome.ToolOutcome): string => attempts > 1 ? `${attempts} attempts  ` : ""
const milliseconds = (duration: Duration.Duration): string => `${Math.round(Duration.toMillis(duration))} ms`
const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`
const verbOfReply = (calls: number): string => calls === 0 ? "answers" : `calls ${count(calls, "tool")}`

// -----------------------------------------------------------------------------
// For programs
// -----------------------------------------------------------------------------

export const json = (event: AgentEvent.AgentEvent): ReadonlyArray<string> => {
  if (event._tag === "TextDelta") return []
  if (!AgentEvent.isLast(event)) return [JSON.stringify(encode(event))]
  // What it waits for says the program.
  return event._tag === "RunEnded"
    ? [JSON.stringify({ _tag: "RunEnded", answer: { text: event.answer.text, report: event.answer.report } })]
    : []
}

/** Formats a failed run as the last JSON line. */
export const failedJson = (failure: AgentFailure.AgentFailure): string =>
  JSON.stringify({ _tag: "RunFailed", failure: failure._tag, detail: why(failure), report: failure.report })

const encode = Schema.encodeSync(AgentEvent.schema)
