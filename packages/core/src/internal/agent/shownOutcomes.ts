import type { Reply } from "../../Model.ts"
import type * as Tool from "../../Tool.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import type { Message } from "../../Transcript.ts"
import { utf8Length } from "../value/text.ts"
import { nearLimit } from "./budget.ts"
import { judgeTurn, type Verdict } from "./loopGuard.ts"
import { type Observed } from "./loopJudgement.ts"
import { renderOutcome } from "./messages.ts"
import { approvedIn } from "./providerApproval.ts"
import type { Run, State } from "./runState.ts"
import { isSmall, type Sized, sizedOutcome, withNote } from "./sizedOutcome.ts"

/** The messages with which a turn ends, and what the guard against loops says of the turn. */
interface Shown {
  readonly messages: ReadonlyArray<Message>
  /** How many bytes the results have. */
  readonly length: number
  readonly verdict: Verdict
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
  const faults: Array<unknown> = []
  let length = 0
  const sized: Array<Sized | undefined> = []
  const observed: Array<Observed> = []
  const messages = outcomes.map((outcome, index): Message => {
    const call = calls[index]!
    const tool: Tool.Any | undefined = run.toolkit.tools.get(call.name)
    const whole = renderOutcome(run, outcome, call, faults)
    const cut = cutOf(run, outcome, whole, tool, run.kept, `result_${state.transcript.length + index}`)
    sized.push(cut)
    observed.push({ call, outcome: cut === undefined ? outcome : cut.observed, tool })
    const text = cut === undefined ? whole : renderOutcome(run, cut.outcome, call, faults)
    length += utf8Length(text)
    return messageOf(call, outcome, text)
  })
  if (run.kept !== undefined && run.kept.isAny) run.toolkit = run.kept.readable(run.toolkit)
  const verdict = verdictOn(run, state, observed)
  const limits = nearLimitOf(run)
  // Most turns need no notes.
  if (verdict.notes.length === 0 && limits === undefined) return { messages, length, verdict, faults }
  const noted = messages.map((message, index) => {
    const notes = [verdict.notes[index], index === messages.length - 1 ? limits : undefined]
      .filter((note) => note !== undefined)
    if (notes.length === 0) return message
    const outcome = notes.reduce(withNote, sized[index]?.outcome ?? outcomes[index]!)
    return { ...message, text: renderOutcome(run, outcome, calls[index]!, faults) }
  })
  return { messages: noted, length, verdict, faults }
}

/**
 * Renders an outcome of a turn that has not ended: without notes, and cut without a way to the rest, which nobody keeps.
 */
export const shownAlone = <T extends Tool.Any>(
  run: Run<T>,
  call: Reply["calls"][number],
  outcome: ToolOutcome
): Message => {
  const whole = renderOutcome(run, outcome, call, [])
  const cut = cutOf(run, outcome, whole, run.toolkit.tools.get(call.name), undefined, call.id)
  return messageOf(call, outcome, cut === undefined ? whole : renderOutcome(run, cut.outcome, call, []))
}

// Most results are small.
const cutOf = <T extends Tool.Any>(
  { resultSize }: Run<T>,
  outcome: ToolOutcome,
  whole: string,
  tool: Tool.Any | undefined,
  kept: Run<T>["kept"],
  id: string
): Sized | undefined =>
  resultSize === undefined || isSmall(whole, resultSize)
    ? undefined
    : sizedOutcome(outcome, tool, resultSize, kept, id)

// Most outcomes are a text.
const messageOf = (call: Reply["calls"][number], outcome: ToolOutcome, text: string): Message => {
  const message = { role: "tool", callId: call.id, name: call.name, text } as const
  const approved = approvedIn(call, outcome)
  const files = outcome._tag === "Completed" ? outcome.files : undefined
  return approved === undefined && files === undefined ? message : {
    ...message,
    ...(approved === undefined ? {} : { approved }),
    ...(files === undefined ? {} : { files })
  }
}

const none: ReadonlyArray<never> = []

// The last request of a run that is concluded says itself that it is the last.
const nearLimitOf = <T extends Tool.Any>({ budget, concludes, time, usage }: Run<T>): string | undefined => {
  const left = usage.left(time.millisLeft)
  return concludes && left.turns <= 1 ? undefined : nearLimit(budget, left)
}

const verdictOn = <T extends Tool.Any>(
  { guard, time, watch }: Run<T>,
  { loop, turn }: State,
  observed: ReadonlyArray<Observed>
): Verdict => {
  if (guard === undefined) return { state: loop, notes: none, repeated: none }
  const verdict = judgeTurn(guard, loop, turn, observed, time)
  const { repeated, step } = verdict
  if (step !== undefined) {
    watch?.({ _tag: "LoopNoticed", turn, step, tools: Array.from(new Set(repeated.map(({ tool }) => tool))) })
  }
  return verdict
}
