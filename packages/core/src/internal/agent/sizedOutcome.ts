/*
 * Cuts results that are too big for a model, and says how the model gets the rest.
 */
import type * as Schema from "effect/Schema"
import type { ResultSize } from "../../ResultSize.ts"
import type * as Tool from "../../Tool.ts"
import type { Completed, Failed, ToolOutcome } from "../../ToolOutcome.ts"
import { askingForLess } from "../dispatch/toolHints.ts"
import { withFields } from "../failure/failureClass.ts"
import { type CutJson, cutJson, pathText, shownText } from "../value/cutJson.ts"
import { utf8Length } from "../value/text.ts"
import { type KeptResults, readMoreName } from "./keptResults.ts"

/** The text of a result this short needs no closer look: it fits, whatever it holds. */
export const isSmall = (text: string, { bytes, items }: ResultSize): boolean =>
  text.length * 3 <= bytes && text.length < 2 * items

/** An outcome that was cut, and how a guard against loops sees it. */
export interface Sized {
  readonly outcome: ToolOutcome
  readonly observed: ToolOutcome
}

/**
 * Returns an outcome with its result cut, or `undefined` if it fits.
 *
 * @param id the name under which the whole result is kept
 */
export const sizedOutcome = (
  outcome: ToolOutcome,
  tool: Tool.Any | undefined,
  size: ResultSize,
  kept: KeptResults | undefined,
  id: string
): Sized | undefined => {
  const value = resultOf(outcome)
  if (value === undefined || outcome._tag === "Suspended" || outcome._tag === "Stopped") return undefined
  const text = JSON.stringify(value)
  const short = cutJson(value, size, text)
  if (short === undefined) return undefined
  const less = tool === undefined ? undefined : askingForLess(tool)
  if (less === undefined) kept?.keep(id, { value, length: text.length, omissions: short.omissions })
  const note = `This result of ${utf8Length(text)} bytes was cut: it shows ${shownText(short)}.${
    wayToRest(less, kept === undefined ? undefined : id, short)
  }`
  const shown = withResult(outcome, short.value)
  return {
    outcome: withNote(shown, note),
    // Two long results may differ only in what is cut.
    observed: withResult(outcome, { shown: short.value, length: text.length, end: text.slice(-100) })
  }
}

const resultOf = (outcome: ToolOutcome): Schema.Json | undefined => {
  if (outcome._tag === "Completed") return outcome.value
  return outcome._tag === "Failed" && outcome.failure._tag === "PartialData" ? outcome.failure.data : undefined
}

const withResult = (outcome: Completed | Failed, value: Schema.Json): Completed | Failed =>
  outcome._tag === "Completed"
    ? { ...outcome, value }
    : { ...outcome, failure: withFields<Failed["failure"]>(outcome.failure, { data: value }) }

/** Adds a sentence for the model to an outcome. */
export const withNote = <Outcome extends ToolOutcome>(outcome: Outcome, note: string): Outcome => {
  if (outcome._tag === "Completed") return { ...outcome, caveats: [...outcome.caveats, note] }
  if (outcome._tag !== "Failed") return outcome
  const { hint } = outcome.failure
  return { ...outcome, failure: withFields(outcome.failure, { hint: hint === undefined ? note : `${hint} ${note}` }) }
}

// -----------------------------------------------------------------------------
// Words
// -----------------------------------------------------------------------------

const wayToRest = (less: string | undefined, id: string | undefined, { omissions: [first] }: CutJson): string => {
  if (less !== undefined) return ` If you need more, call ${less}.`
  if (id === undefined || first === undefined) return ""
  const path = pathText(first)
  const from = first.unit === "levels" ? 0 : first.shown
  const place = { result: id, ...(path === "" ? {} : { path }), ...(from === 0 ? {} : { from }) }
  return ` To read the rest, call ${readMoreName} with ${JSON.stringify(place)}.`
}
