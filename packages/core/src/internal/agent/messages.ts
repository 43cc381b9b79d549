import type { Reply } from "../../Model.ts"
import * as Rendering from "../../Rendering.ts"
import type * as Tool from "../../Tool.ts"
import type * as ToolCall from "../../ToolCall.ts"
import type * as Toolkit from "../../Toolkit.ts"
import type * as ToolOutcome from "../../ToolOutcome.ts"
import type { Message } from "../../Transcript.ts"
import { heedPromise, requireSync } from "../call/runUserCode.ts"
import { kind } from "../value/text.ts"
import type { Run } from "./runState.ts"
import { unknownOutcome } from "./turnCalls.ts"

export const assistantMessage = ({ calls, native, text }: Reply): Message => ({
  role: "assistant",
  text,
  calls,
  ...(native === undefined ? {} : { native })
})

/**
 * Renders an outcome for the model. A rendering is a user's function and may throw. Then another one takes its place.
 *
 * @param faults receives what the rendering threw
 */
export const renderOutcome = <T extends Tool.Any>(
  { rendering, toolkit }: Run<T>,
  outcome: ToolOutcome.ToolOutcome,
  call: ToolCall.ToolCall,
  faults: Array<unknown>
): string =>
  // If the run's rendering fails, the outcome is rendered as JSON. If that fails, too, the text reports a defect.
  textBy(rendering, outcome, call, faults) ??
    textBy(Rendering.json, outcome, call, faults) ??
    Rendering.json(unrenderable(toolkit, outcome, call), call)

const textBy = (
  rendering: Rendering.Rendering,
  outcome: ToolOutcome.ToolOutcome,
  call: ToolCall.ToolCall,
  faults: Array<unknown>
): string | undefined => {
  try {
    const text: unknown = requireSync("The rendering", rendering(outcome, call))
    if (typeof text === "string") return text
    throw new TypeError(`The rendering must return a string; got ${kind(text)}.`)
  } catch (fault) {
    heedPromise("The rendering", fault)
    faults.push(fault)
    return undefined
  }
}

const unrenderable = (
  toolkit: Toolkit.Toolkit,
  { attempts, handled, waited }: ToolOutcome.ToolOutcome,
  call: ToolCall.ToolCall
): ToolOutcome.Failed => ({ ...unknownOutcome(toolkit, call, "guard"), attempts, handled, waited })
