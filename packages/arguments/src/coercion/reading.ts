/**
 * What a value that does not fit can only have been meant as, by the type that was declared.
 *
 * Each function knows one drift, and answers with a reading or not at all; whether the reading
 * fits is for whoever asks.
 */
import type { JsonSchema } from "../json.ts"
import { memoized } from "../memo.ts"
import type { ValueRepairKind } from "../repair.ts"
import { dateOf, dateTimeOf } from "../schema/calendar.ts"
import { choicesOf, longestChoice } from "../schema/document.ts"
import {
  folded,
  grouped,
  isList,
  isNumberToken,
  mayBeGrouped,
  type NumberAt,
  pathOf,
  type Place,
  Unsafe,
  type Value
} from "../value.ts"
import { pythonList } from "./pythonList.ts"

export interface Reading {
  readonly kind: ValueRepairKind
  /** What was meant. */
  readonly to: Value
  /** What was written, where it is not the value itself: a number with its digits. */
  readonly from?: Value
}

/** A value as it was written, and where. */
export interface Written {
  readonly value: Value
  readonly place: Place | undefined
  readonly numberAt: NumberAt
}

/** The drifts that are known of what a flat schema declares. Of a value, rarely more than one has a reading. */
export const driftsFor: (flat: JsonSchema) => ReadonlyArray<Drift> = memoized((flat) => {
  const choices = choicesOf(flat)
  const type = flat["type"] ?? (choices !== undefined ? undefined : typeof flat["format"] === "string" ? "string" : "")
  return [
    ...(choices === undefined ? [] : [choice(choices), numericChoice(choices)]),
    ...(drifts.get(type) ?? []),
    type === "array" ? oneForMany : manyForOne
  ]
})

/** Texts that stand for nothing. */
export const isBlank = (value: Value): boolean =>
  value === "" || value === "null" || value === "None" || value === "undefined"

/** What a value can only have meant, if it has drifted in one way. */
export type Drift = (written: Written, schema: JsonSchema) => Reading | undefined

// -----------------------------------------------------------------------------
// Choices
// -----------------------------------------------------------------------------

const choice = (choices: ReadonlyArray<unknown>): Drift => ({ value }) => {
  if (typeof value !== "string" || value.length > longestChoice) return undefined
  const { byCase, bySpelling, hasSigns } = spellingsOf(choices)
  const cased = byCase.get(value.trim().toLowerCase()) ?? []
  if (cased.length === 1) return { kind: "choice_case", to: cased[0]! }
  // Beside a plus, a minus is a sign.
  if (cased.length > 1 || folded(value) === "" || hasSigns) return undefined
  const spelled = bySpelling.get(folded(value)) ?? []
  return spelled.length === 1 ? { kind: "choice_spelling", to: spelled[0]! } : undefined
}

/** The choices by their spelling: a long list may be looked at for each item of a long array. */
const spellingsOf = memoized((choices: ReadonlyArray<unknown>) => {
  const texts = Array.from(new Set(choices)).filter((choice) => typeof choice === "string")
  return {
    byCase: grouped(texts, (text) => text.toLowerCase()),
    bySpelling: grouped(texts, folded),
    hasSigns: texts.some((text) => text.includes("+"))
  }
})

const numericChoice = (choices: ReadonlyArray<unknown>): Drift => ({ value }) => {
  const number = typeof value === "string" ? numberOf(value) : undefined
  const meant = number === undefined ? undefined : choices.find((choice) => choice === number)
  return typeof meant === "number" ? { kind: "text_for_choice", to: meant } : undefined
}

// -----------------------------------------------------------------------------
// Numbers, booleans, strings
// -----------------------------------------------------------------------------

const integer: Drift = ({ value }) => {
  const meant = typeof value === "string" ? numberOf(value) : undefined
  if (typeof value !== "string" || !Number.isSafeInteger(meant)) return undefined
  if (String(meant) === bare(value)) return { kind: "text_for_number", to: meant! }
  return isWhole(value) ? { kind: "decimal_for_integer", to: meant! } : undefined
}

// A number may round to a whole one that it is not: 100.00000000000000001.
const isWhole = (token: string): boolean => {
  const [mantissa = "", exponent = "0"] = token.split(/e/i)
  const [whole = "", fraction = ""] = mantissa.split(".")
  const shift = Number(exponent)
  const behind = shift >= 0 ? fraction.slice(shift) : whole.slice(shift) + fraction
  return !/[1-9]/.test(behind)
}

const number: Drift = ({ value }) => {
  const meant = typeof value === "string" ? numberOf(value) : undefined
  return meant === undefined ? undefined : { kind: "text_for_number", to: meant }
}

// A token of JSON whose value a number holds: neither too large, nor too small, nor of too many digits. Three of them behind a dot may be
// thousands.
const numberOf = (written: string): number | undefined => {
  if (written.length > 400) return undefined
  const text = bare(written)
  if (!isNumberToken(text) || mayBeGrouped(text)) return undefined
  const value = Number(text)
  const hasExponent = /e/i.test(text)
  if (!Number.isFinite(value) || !hasExponent && Math.abs(value) > Number.MAX_SAFE_INTEGER) return undefined
  if (value === 0) return /[1-9]/.test(text.replace(/e.*/i, "")) ? undefined : 0
  return value
}

// Without what JSON has as white space: what cannot be seen is no part of a number.
const bare = (text: string): string => text.replace(/^[ \t\n\r]+|[ \t\n\r]+$/g, "")

const boolean: Drift = ({ value }) =>
  typeof value === "string" && /^(?:true|false)$/i.test(value)
    ? { kind: "text_for_boolean", to: value.toLowerCase() === "true" }
    : undefined

const string: Drift = ({ numberAt, place, value }, schema) => {
  // What a format allows is not known of all of them.
  if (schema["format"] !== undefined && schema["format"] !== "password") return undefined
  if (typeof value === "boolean") return { kind: "boolean_for_text", to: String(value) }
  if (value instanceof Unsafe) return { kind: "number_for_text", to: value.token }
  if (typeof value !== "number") return undefined
  const source = numberAt(pathOf(place)) ?? String(value)
  // Written in two ways, as a key that stands twice may be.
  return source === "" ? undefined : { kind: "number_for_text", from: new Unsafe(source), to: source }
}

// -----------------------------------------------------------------------------
// Dates
// -----------------------------------------------------------------------------

const date: Drift = ({ value }, { format }) => {
  const meant = typeof value === "string" && format === "date" ? dateOf(value) : undefined
  return meant === undefined || meant === value ? undefined : { kind: "date_form", to: meant }
}

const dateTime: Drift = ({ value }, { format }) => {
  const meant = typeof value === "string" && format === "date-time" ? dateTimeOf(value) : undefined
  return meant === undefined ? undefined : { kind: "space_in_date_time", to: meant }
}

// -----------------------------------------------------------------------------
// One for many, many for one
// -----------------------------------------------------------------------------

const python: Drift = ({ value }) => {
  const items = typeof value === "string" ? pythonList(value) : undefined
  return items === undefined ? undefined : { kind: "python_list", to: items }
}

const oneForMany: Drift = ({ place, value }) => {
  // An item of a list is not: [1,2] may stand for [[1,2]] or [[1],[2]].
  if (typeof place?.key === "number" || typeof value === "object") return undefined
  if (typeof value === "string" && !isOneItem(value)) return undefined
  return { kind: "single_for_array", to: [value] }
}

// A text with separators, bullets or brackets may be a list of its own; a blank one, none.
const isOneItem = (text: string): boolean =>
  text.trim() !== "" && !isBlank(text) && !separator.test(text) && !opening.test(text)

// Commas and semicolons of all scripts, and what else stands between the items of a list. An ampersand without white space beside it
// belongs to a name or an address: `R&D`, `?a=1&b=2`.
const separator = /\s&|&\s|[,;|\t-\r\u0085\u2028\u2029،؛、，；､﹐﹑﹔｜＆•‣⁃◦∙▪▫●○■□·]/
const opening = /^\s*(?:[[{("']|(?:[-+*–—]|\d+[.)])\s)/

const manyForOne: Drift = ({ value }) => {
  const [only] = isList(value) && value.length === 1 ? value : []
  return only === undefined || typeof only === "object" ? undefined : { kind: "array_for_single", to: only }
}

const drifts: ReadonlyMap<unknown, ReadonlyArray<Drift>> = new Map([
  ["integer", [integer]],
  ["number", [number]],
  ["boolean", [boolean]],
  ["string", [string, date, dateTime]],
  ["array", [python]]
])
