/**
 * Readings of values that do not fit their schema. A *drift* is a typical deviation of models from the
 * declared type, such as `"3"` for an integer. A *reading* is the value that was meant.
 *
 * Each function undoes one drift: it returns a reading or `undefined`. The caller checks whether the reading
 * fits.
 */
import type { JsonSchema } from "../json.ts"
import { memoize } from "../memo.ts"
import type { ValueRepairKind } from "../repair.ts"
import { dateOf, dateTimeOf } from "../schema/calendar.ts"
import { choicesOf, longestChoice } from "../schema/document.ts"
import {
  foldName,
  groupBy,
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
  /** The value that was meant. */
  readonly to: Value
  /**
   * The value to quote as written, if it differs from the parsed value: a number with all digits of its
   * source text.
   */
  readonly from?: Value
}

/** A value as it was written, and its place. */
export interface Written {
  readonly value: Value
  readonly place: Place | undefined
  readonly numberAt: NumberAt
}

/**
 * Returns the drifts to try for a flat schema (one without `$ref` and `allOf`). It is rare that more than one
 * of them gives a reading.
 */
export const driftsFor: (flat: JsonSchema) => ReadonlyArray<Drift> = memoize((flat) => {
  const choices = choicesOf(flat)
  const type = flat["type"] ?? (choices !== undefined ? undefined : typeof flat["format"] === "string" ? "string" : "")
  return [
    ...(choices === undefined ? [] : [choice(choices), numericChoice(choices)]),
    ...(drifts.get(type) ?? []),
    type === "array" ? oneForMany : manyForOne
  ]
})

/** True for a string that stands for an absent value. */
export const isBlank = (value: Value): boolean =>
  value === "" || value === "null" || value === "None" || value === "undefined"

/** A function that undoes one drift. It returns a reading of the value, or `undefined`. */
export type Drift = (written: Written, schema: JsonSchema) => Reading | undefined

// -----------------------------------------------------------------------------
// Choices
// -----------------------------------------------------------------------------

const choice = (choices: ReadonlyArray<unknown>): Drift => ({ value }) => {
  if (typeof value !== "string" || value.length > longestChoice) return undefined
  const { byCase, bySpelling, hasSigns } = spellingsOf(choices)
  const cased = byCase.get(value.trim().toLowerCase()) ?? []
  if (cased.length === 1) return { kind: "choice_case", to: cased[0]! }
  // If any choice contains a plus sign, a minus in the value may be a sign instead of a separator.
  if (cased.length > 1 || foldName(value) === "" || hasSigns) return undefined
  const spelled = bySpelling.get(foldName(value)) ?? []
  return spelled.length === 1 ? { kind: "choice_spelling", to: spelled[0]! } : undefined
}

/** The choices, indexed by spelling. Computed once, because every item of a long array may be compared with them. */
const spellingsOf = memoize((choices: ReadonlyArray<unknown>) => {
  const texts = Array.from(new Set(choices)).filter((choice) => typeof choice === "string")
  return {
    byCase: groupBy(texts, (text) => text.toLowerCase()),
    bySpelling: groupBy(texts, foldName),
    hasSigns: texts.some((text) => text.includes("+"))
  }
})

const numericChoice = (choices: ReadonlyArray<unknown>): Drift => ({ value }) => {
  const number = typeof value === "string" ? numberOf(value) : undefined
  const match = number === undefined ? undefined : choices.find((choice) => choice === number)
  return typeof match === "number" ? { kind: "text_for_choice", to: match } : undefined
}

// -----------------------------------------------------------------------------
// Numbers, booleans, strings
// -----------------------------------------------------------------------------

const integer: Drift = ({ value }) => {
  const parsed = typeof value === "string" ? numberOf(value) : undefined
  if (typeof value !== "string" || !Number.isSafeInteger(parsed)) return undefined
  if (String(parsed) === trimBlanks(value)) return { kind: "text_for_number", to: parsed! }
  return isWhole(value) ? { kind: "decimal_for_integer", to: parsed! } : undefined
}

// JavaScript may round a decimal number to an integer: 100.00000000000000001.
const isWhole = (token: string): boolean => {
  const [mantissa = "", exponent = "0"] = token.split(/e/i)
  const [whole = "", fraction = ""] = mantissa.split(".")
  const shift = Number(exponent)
  const fractionDigits = shift >= 0 ? fraction.slice(shift) : whole.slice(shift) + fraction
  return !/[1-9]/.test(fractionDigits)
}

const number: Drift = ({ value }) => {
  const parsed = typeof value === "string" ? numberOf(value) : undefined
  return parsed === undefined ? undefined : { kind: "text_for_number", to: parsed }
}

// Reads a JSON number that JavaScript can hold: neither infinite nor rounded to 0. A number without an
// exponent must also be in the range of safe integers. `1.500` may mean 1500, so it is not read.
const numberOf = (written: string): number | undefined => {
  if (written.length > 400) return undefined
  const text = trimBlanks(written)
  if (!isNumberToken(text) || mayBeGrouped(text)) return undefined
  const value = Number(text)
  const hasExponent = /e/i.test(text)
  if (!Number.isFinite(value) || !hasExponent && Math.abs(value) > Number.MAX_SAFE_INTEGER) return undefined
  if (value === 0) return /[1-9]/.test(text.replace(/e.*/i, "")) ? undefined : 0
  return value
}

// Trims only JSON's white space: a number with other invisible characters around it is not read.
const trimBlanks = (text: string): string => text.replace(/^[ \t\n\r]+|[ \t\n\r]+$/g, "")

const boolean: Drift = ({ value }) =>
  typeof value === "string" && /^(?:true|false)$/i.test(value)
    ? { kind: "text_for_boolean", to: value.toLowerCase() === "true" }
    : undefined

const string: Drift = ({ numberAt, place, value }, schema) => {
  // The new string might violate a `format`, and most formats are not checked.
  if (schema["format"] !== undefined && schema["format"] !== "password") return undefined
  if (typeof value === "boolean") return { kind: "boolean_for_text", to: String(value) }
  if (value instanceof Unsafe) return { kind: "number_for_text", to: value.token }
  if (typeof value !== "number") return undefined
  const source = numberAt(pathOf(place)) ?? String(value)
  // The source text is unknown (`""`) if a repeated key has the same number in two spellings.
  return source === "" ? undefined : { kind: "number_for_text", from: new Unsafe(source), to: source }
}

// -----------------------------------------------------------------------------
// Dates
// -----------------------------------------------------------------------------

const date: Drift = ({ value }, { format }) => {
  const rewritten = typeof value === "string" && format === "date" ? dateOf(value) : undefined
  return rewritten === undefined || rewritten === value ? undefined : { kind: "date_form", to: rewritten }
}

const dateTime: Drift = ({ value }, { format }) => {
  const rewritten = typeof value === "string" && format === "date-time" ? dateTimeOf(value) : undefined
  return rewritten === undefined ? undefined : { kind: "space_in_date_time", to: rewritten }
}

// -----------------------------------------------------------------------------
// Lists and single values
// -----------------------------------------------------------------------------

const python: Drift = ({ value }) => {
  const items = typeof value === "string" ? pythonList(value) : undefined
  return items === undefined ? undefined : { kind: "python_list", to: items }
}

const oneForMany: Drift = ({ place, value }) => {
  // An item of an array is never wrapped in another array: [1,2] may stand for [[1,2]] or [[1],[2]].
  if (typeof place?.key === "number" || typeof value === "object") return undefined
  if (typeof value === "string" && !isOneItem(value)) return undefined
  return { kind: "single_for_array", to: [value] }
}

// A string with separators, bullets or brackets may itself be a list. A blank string may be an empty list.
const isOneItem = (text: string): boolean =>
  text.trim() !== "" && !isBlank(text) && !separator.test(text) && !opening.test(text)

// Commas and semicolons of all scripts, and other separators of list items. An ampersand without white
// space beside it belongs to a name or an address: `R&D`, `?a=1&b=2`.
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
