/*
 * Cuts results that are too big for a model, and says how the model gets the rest.
 */
import type * as Schema from "effect/Schema"
import type { ResultSize } from "../../ResultSize.ts"
import type * as Tool from "../../Tool.ts"
import type { Completed, Failed, ToolOutcome } from "../../ToolOutcome.ts"
import { readIn } from "../call/readIn.ts"
import { askingForLess } from "../dispatch/toolHints.ts"
import { withFields } from "../failure/failureClass.ts"
import { type CutJson, cutJson, maxData, maxPart, shownText, textOfPath } from "../value/cutJson.ts"
import { utf8Length } from "../value/text.ts"
import { attempt } from "../value/untrusted.ts"
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
  // A rendering would cut the data of a failure once more, but does not know how the model gets the rest.
  const bytes = outcome._tag === "Failed" ? Math.min(size.bytes, maxData) : size.bytes
  const fitted = cutJson(value, { ...size, bytes }, text)
  if (fitted === undefined) return undefined
  const short = bytes <= maxPart ? fitted : cutJson(value, { ...size, bytes: maxPart }, text) ?? fitted
  const less = tool === undefined ? undefined : askingForLess(tool)
  kept?.keep(id, { value, length: text.length, omissions: short.omissions })
  const what = `This result of ${utf8Length(text)} bytes was cut: it shows ${shownText(short)}.`
  const note = `${what}${wayToRest(less, kept === undefined ? undefined : id, short, maxNote - what.length)}`
  const shown = withResult(outcome, short.value)
  return {
    outcome: withNote(shown, note),
    observed: withResult(outcome, { shown: short.value, cut: cutOff(value, short) })
  }
}

// Two long results may differ only in what is cut: in its size, or in its end. Fields keep their names, because the
// guard ignores some of them, such as the time of a response.
const cutOff = (value: Schema.Json, { omissions }: CutJson): Schema.Json =>
  omissions.map(({ of, path }) => ({ of, end: endOf(memberAt(value, path)) }))

const memberAt = (value: Schema.Json, path: ReadonlyArray<string | number>): Schema.Json =>
  path.reduce<Schema.Json>(
    (inner, key) => attempt((): Schema.Json => Reflect.get(Object(inner), key)) ?? null,
    value
  )

const endOf = (value: Schema.Json): Schema.Json => {
  if (typeof value === "string") return value.slice(-100)
  const [entry] = Object.entries(value ?? {}).slice(-1)
  const last: Schema.Json = entry === undefined ? null : Array.isArray(value) ? entry[1] : Object.fromEntries([entry])
  return cutJson(last, { bytes: 500, items: 10 })?.value ?? last
}

const resultOf = (outcome: ToolOutcome): Schema.Json | undefined => {
  if (outcome._tag === "Completed") return readIn(outcome)
  return outcome._tag === "Failed" && outcome.failure._tag === "PartialData" ? outcome.failure.data : undefined
}

const withResult = (outcome: Completed | Failed, value: Schema.Json): Completed | Failed =>
  outcome._tag === "Completed"
    ? { ...outcome, ...(outcome.told === undefined ? { value } : { told: value }) }
    : { ...outcome, failure: withFields<Failed["failure"]>(outcome.failure, { data: value }) }

/** Adds a sentence for the model to an outcome. */
export const withNote = <Outcome extends ToolOutcome>(outcome: Outcome, note: string): Outcome => {
  if (outcome._tag === "Completed") return { ...outcome, caveats: [...outcome.caveats, note] }
  if (outcome._tag !== "Failed") return outcome
  const { hint } = outcome.failure
  return { ...outcome, failure: withFields(outcome.failure, { hint: hint === undefined ? note : both(hint, note) }) }
}

// A rendering cuts what is too long at its end.
const both = (hint: string, note: string): string =>
  hint.length + note.length < maxNote ? `${hint} ${note}` : `${note} ${hint}`

// -----------------------------------------------------------------------------
// Words
// -----------------------------------------------------------------------------

/** The most characters of a note that a rendering shows. */
const maxNote = 600

const wayToRest = (
  less: string | undefined,
  id: string | undefined,
  { omissions: [first] }: CutJson,
  room: number
): string => {
  const own = less === undefined ? "" : ` For less, call ${less}.`
  if (id === undefined || first === undefined) return own
  const start = first.unit === "levels" ? 0 : first.shown
  const way = (depth: number): string => {
    const path = textOfPath(first.path.slice(0, depth))
    const from = depth === first.path.length ? start : 0
    const place = { result: id, ...(path === "" ? {} : { path }), ...(from === 0 ? {} : { from }) }
    const text = ` To read the rest, call ${readMoreName} with ${JSON.stringify(place)}.`
    // A path that is too long for the note ends early. Each part that is read names the path to the next level.
    return depth === 0 || own.length + text.length <= room ? text : way(depth - 1)
  }
  return `${own}${way(first.path.length)}`
}
