import * as LoopGuard from "../../LoopGuard.ts"
import type { Reply } from "../../Model.ts"
import type * as Tool from "../../Tool.ts"
import type { ToolCall } from "../../ToolCall.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import { withFields } from "../failure/failureClass.ts"
import type { Run, State } from "./runState.ts"

/** The outcomes of a turn as the model is shown them, and what the guard against loops says of them. */
interface Shown {
  readonly outcomes: ReadonlyArray<ToolOutcome>
  readonly verdict: LoopGuard.Verdict
}

/** Adds what the model must know of its calls besides their outcomes: that they repeat what it has. */
export const shownOutcomes = <T extends Tool.Any>(
  run: Run<T>,
  { loop, turn }: State,
  { calls }: Reply,
  outcomes: ReadonlyArray<ToolOutcome>
): Shown => {
  const { guard, toolkit, watch } = run
  if (guard === undefined) return { outcomes, verdict: { state: loop, notes: [], repeated: [] } }
  const verdict = LoopGuard.after(
    guard,
    loop,
    turn,
    outcomes.map((outcome, index) => ({ ...observed(calls[index]!, toolkit.tools), outcome }))
  )
  const { notes, repeated, step } = verdict
  if (step === undefined) return { outcomes, verdict }
  const tools = Array.from(new Set(repeated.map(({ tool }) => tool)))
  watch?.({ _tag: "LoopNoticed", turn, step, tools })
  return { outcomes: outcomes.map((outcome, index) => noted(outcome, notes[index])), verdict }
}

const observed = (call: ToolCall, tools: ReadonlyMap<string, Tool.Any>) => ({ call, tool: tools.get(call.name) })

const noted = (outcome: ToolOutcome, note: string | undefined): ToolOutcome => {
  if (note === undefined) return outcome
  switch (outcome._tag) {
    case "Completed":
      return { ...outcome, caveats: [...outcome.caveats, note] }
    case "Failed": {
      const { hint } = outcome.failure
      const failure = withFields(outcome.failure, { hint: hint === undefined ? note : `${hint} ${note}` })
      return { ...outcome, failure }
    }
    case "Suspended":
    case "Stopped":
      return outcome
  }
}
