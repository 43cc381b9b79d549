/*
 * What a call came to, as a value: its end, and the account of what happened on the way to it.
 */
import * as Duration from "effect/Duration"
import type * as Schema from "effect/Schema"
import type { Completed, Failed, Stage, Stopped, Suspended } from "../ToolOutcome.ts"
import type { CallState } from "./callState.ts"
import type { Call } from "./frame.ts"
import { firstNotes } from "./text.ts"

export const completed = (call: Call, value: Schema.Json): Completed => {
  const { state } = call
  const outcome = { _tag: "Completed", value, caveats: caveats(state), ...account(call) } as const
  return state.source === undefined ? outcome : { ...outcome, source: state.source }
}

export const failed = (call: Call, failure: Failed["failure"], stage: Stage): Failed => ({
  _tag: "Failed",
  failure,
  stage,
  ...account(call)
})

export const suspended = (
  call: Call,
  { key, question }: { readonly key: string; readonly question: string }
): Suspended => {
  const outcome = { _tag: "Suspended", question, key, replies: call.replies, ...account(call) } as const
  // What goes on, goes on with these: also with what must not be shown.
  const used = call.correction
  return used === undefined ? outcome : { ...outcome, arguments: used.text }
}

export const stopped = (call: Call, reason: string): Stopped => ({ _tag: "Stopped", reason, ...account(call) })

const none: ReadonlyArray<never> = []

const account = (call: Call) => {
  const { attempts, executions, handled, repairs, waited } = call.state
  const effort = {
    attempts,
    waited: waited === 0 ? Duration.zero : Duration.millis(waited),
    handled: handled.length === 0 ? none : handled.toArray()
  }
  const counted = executions === attempts ? effort : { ...effort, executions }
  const used = call.correction
  if (used !== undefined && !used.isSecret) return { ...counted, repairs, arguments: used.text }
  return repairs.length === 0 ? counted : { ...counted, repairs }
}

/** What is said of the answer: first what was changed about the question, then its source, when it has an age. */
const caveats = (state: CallState): ReadonlyArray<string> => {
  const noted = notes(state)
  return state.repairs.length === 0 ? noted : [...state.repairs.flatMap(({ note }) => note ?? []), ...noted]
}

const notes = ({ caveats, handled, source }: CallState): ReadonlyArray<string> => {
  const noted = caveats.length === 0 ? none : firstNotes(caveats.toArray())
  if (source?.age === undefined) return noted
  const isDown = handled.toArray().some(({ by, tag }) =>
    tag === "ToolUnavailable" && by !== "retry" && by !== "ignored"
  )
  const reason = isDown ? "; the live service is unavailable" : ""
  return [`from ${source.name}, ${age(source.age)} old${reason}`, ...noted]
}

// The largest unit says enough: "3h", not "3h 12m 4s".
const age = (duration: Duration.Duration): string =>
  Duration.isLessThan(duration, Duration.seconds(1)) ? "less than 1s" : Duration.format(duration).split(" ")[0]!
