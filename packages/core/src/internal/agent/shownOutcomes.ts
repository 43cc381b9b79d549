import * as AgentBudget from "../../AgentBudget.ts"
import * as LoopGuard from "../../LoopGuard.ts"
import type { Reply } from "../../Model.ts"
import type * as Tool from "../../Tool.ts"
import type { ToolCall } from "../../ToolCall.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import type { Message } from "../../Transcript.ts"
import { Renderer } from "./messages.ts"
import type { Run, State } from "./runState.ts"
import { isSmall, type Sized, sizedOutcome, withNote } from "./sizedOutcome.ts"

/** The messages with which a turn ends, and what the guard against loops says of the turn. */
interface Shown {
  readonly messages: ReadonlyArray<Message>
  readonly verdict: LoopGuard.Verdict
  /** The defects of the run's rendering. */
  readonly faults: ReadonlyArray<unknown>
}

/**
 * Renders the outcomes of a turn for the model. Big results are cut first. Then calls that repeat what the model has
 * get a note, and the last call says what is left of a limit that is near.
 */
export const shownOutcomes = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  { calls }: Reply,
  outcomes: ReadonlyArray<ToolOutcome>
): Shown => {
  const renderer = new Renderer(run)
  const sized: Array<Sized> = []
  const messages = outcomes.map((outcome, index): Message => {
    const call = calls[index]!
    const whole = renderer.render(outcome, call)
    const cut = run.resultSize === undefined || isSmall(whole, run.resultSize)
      ? undefined
      : sizedOutcome(
        outcome,
        run.toolkit.tools.get(call.name),
        run.resultSize,
        run.kept,
        `result_${state.transcript.length + index}`
      )
    sized.push(cut ?? { outcome, observed: outcome })
    const text = cut === undefined ? whole : renderer.render(cut.outcome, call)
    return { role: "tool", callId: call.id, name: call.name, text }
  })
  const verdict = verdictOn(run, state, calls, sized)
  const limits = nearLimit(run)
  const last = messages.length - 1
  const noted = verdict.step === undefined && limits === undefined ? messages : messages.map((message, index) => {
    const notes = [verdict.notes[index], index === last ? limits : undefined].filter((note) => note !== undefined)
    if (notes.length === 0) return message
    const outcome = notes.reduce(withNote, sized[index]!.outcome)
    return { ...message, text: renderer.render(outcome, calls[index]!) }
  })
  return { messages: noted, verdict, faults: renderer.faults }
}

// The last request of a run that is concluded says itself that it is the last.
const nearLimit = <T extends Tool.Any>({ budget, concludes, time, usage }: Run<T>): string | undefined => {
  const left = usage.left(time.millisLeft)
  return concludes && left.turns <= 1 ? undefined : AgentBudget.nearLimit(budget, left)
}

const verdictOn = <T extends Tool.Any>(
  { guard, toolkit, watch }: Run<T>,
  { loop, turn }: State,
  calls: ReadonlyArray<ToolCall>,
  sized: ReadonlyArray<Sized>
): LoopGuard.Verdict => {
  if (guard === undefined) return { state: loop, notes: [], repeated: [] }
  const observed = sized.map(({ observed: outcome }, index) => {
    const call = calls[index]!
    return { call, outcome, tool: asSubject(toolkit.tools.get(call.name)) }
  })
  const verdict = LoopGuard.after(guard, loop, turn, observed)
  const { repeated, step } = verdict
  if (step !== undefined) {
    watch?.({ _tag: "LoopNoticed", turn, step, tools: Array.from(new Set(repeated.map(({ tool }) => tool))) })
  }
  return verdict
}

const asSubject = (tool: LoopGuard.Subject | undefined) => tool
