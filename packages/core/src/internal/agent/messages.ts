import type { Reply } from "../../Model.ts"
import * as Rendering from "../../Rendering.ts"
import type * as Tool from "../../Tool.ts"
import type * as ToolCall from "../../ToolCall.ts"
import type * as Toolkit from "../../Toolkit.ts"
import type * as ToolOutcome from "../../ToolOutcome.ts"
import type { Message } from "../../Transcript.ts"
import { heed, outright } from "../call/runUserCode.ts"
import { kind } from "../value/text.ts"
import type { Run } from "./runState.ts"
import { unknownOutcome } from "./turnCalls.ts"

export const assistantMessage = ({ calls, native, text }: Reply): Message => ({
  role: "assistant",
  text,
  calls,
  ...(native === undefined ? {} : { native })
})

// A rendering is a user's function and may throw. In that case the run continues with a text from another rendering.
export const toolMessages = <T extends Tool.Any>(
  run: Run<T>,
  { calls }: Reply,
  outcomes: ReadonlyArray<ToolOutcome.ToolOutcome>
): { readonly messages: ReadonlyArray<Message>; readonly faults: ReadonlyArray<unknown> } => {
  const faults: Array<unknown> = []
  const textBy = (rendering: Rendering.Rendering, outcome: ToolOutcome.ToolOutcome, call: ToolCall.ToolCall) => {
    try {
      const text: unknown = outright("The rendering", rendering(outcome, call))
      if (typeof text === "string") return text
      throw new TypeError(`The rendering must return a string; got ${kind(text)}.`)
    } catch (fault) {
      heed("The rendering", fault)
      faults.push(fault)
      return undefined
    }
  }
  // If the run's rendering fails, the outcome is rendered as JSON. If that fails, too, the text reports a defect.
  const render = (outcome: ToolOutcome.ToolOutcome, call: ToolCall.ToolCall): string =>
    textBy(run.rendering, outcome, call) ??
      textBy(Rendering.json, outcome, call) ??
      Rendering.json(unrenderable(run.toolkit, outcome, call), call)
  const messages = outcomes.map((outcome, index): Message => {
    const call = calls[index]!
    return { role: "tool", callId: call.id, name: call.name, text: render(outcome, call) }
  })
  return { messages, faults }
}

const unrenderable = (
  toolkit: Toolkit.Toolkit,
  { attempts, handled, waited }: ToolOutcome.ToolOutcome,
  call: ToolCall.ToolCall
): ToolOutcome.Failed => ({ ...unknownOutcome(toolkit, call, "guard"), attempts, handled, waited })
