/**
 * Readings of values that do not fit their schema. A *drift* is a typical deviation of models from the
 * declared type, such as `"3"` for an integer. A *reading* is the value that was meant.
 *
 * Each function undoes one drift: it returns a reading or `undefined`. The caller checks whether the reading
 * fits.
 */
import { distinct, isBoolean, isNumber, isString, type JsonSchema } from "../json.ts"
import { memoize } from "../memo.ts"
import type { ValueRepairKind } from "../repair.ts"
import { dateOf, dateTimeOf } from "../schema/calendar.ts"
import { choicesOf, longestChoice } from "../schema/document.ts"
import {
  foldName,
  groupBy,
  isHeld,
  isList,
  isNumberToken,
  isUnsafe,
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
  const type = flat["type"] ?? (choices ? undefined : isString(flat["format"]) ? "string" : "")
  return [
    ...(choices ? [choice(choices), numericChoice(choices)] : []),
    ...(isString(type) && drifts[type] || []),
    type === "array" ? oneForMany : manyForOne
  ]
})

/** True for a string that may stand for an absent value. */
export const isBlank = (value: Value): boolean =>
  value === "" || value === "null" || value === "None" || value === "undefined"

/** A function that undoes one drift. It returns a reading of the value, or `undefined`. */
export type Drift = (written: Written, schema: JsonSchema) => Reading | undefined

/** Makes a drift of texts, from a function that returns the value that a text stands for. */
const ofText = (
  kind: ValueRepairKind,
  read: (text: string, schema: JsonSchema) => Value | undefined
): Drift =>
({ value }, schema) => {
  const to = isString(value) ? read(value, schema) : undefined
  return to === undefined ? undefined : { kind, to }
}

// -----------------------------------------------------------------------------
// Choices
// -----------------------------------------------------------------------------

const choice = (choices: ReadonlyArray<unknown>): Drift => ({ value }, { nullable }) => {
  if (!isString(value) || value.length > longestChoice) return undefined
  // "None" may be the choice "none", or null.
  if (isBlank(value) && (nullable === true || choices.includes(null))) return undefined
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
  const texts = distinct(choices).filter(isString)
  return {
    byCase: groupBy(texts, (text) => text.toLowerCase()),
    bySpelling: groupBy(texts, foldName),
    hasSigns: texts.some((text) => text.includes("+"))
  }
})

const numericChoice = (choices: ReadonlyArray<unknown>): Drift => {
  const numbers = choices.filter(isNumber)
  return ofText("text_for_choice", (text) => {
    const written = numberOf(text)
    return numbers.find((choice) => choice === written)
  })
}

// -----------------------------------------------------------------------------
// Numbers, booleans, strings
// -----------------------------------------------------------------------------

const integer: Drift = ({ value }) => {
  const parsed = isString(value) ? numberOf(value) : undefined
  if (!isString(value) || !Number.isSafeInteger(parsed)) return undefined
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

// Reads a JSON number that JavaScript can hold: neither infinite nor rounded to 0. A number without an
// exponent must also be in the range of safe integers. `1.500` may mean 1500, so it is not read.
const numberOf = (written: string): number | undefined => {
  if (written.length > 400) return undefined
  const text = trimBlanks(written)
  if (!isNumberToken(text) || mayBeGrouped(text)) return undefined
  const value = Number(text)
  const hasExponent = /e/i.test(text)
  if (!Number.isFinite(value) || !hasExponent && !isHeld(value)) return undefined
  if (value === 0) return /[1-9]/.test(text.replace(/e.*/i, "")) ? undefined : 0
  return value
}

const number = ofText("text_for_number", numberOf)

// Trims only JSON's white space: a number with other invisible characters around it is not read.
const trimBlanks = (text: string): string => text.replace(/^[ \t\n\r]+|[ \t\n\r]+$/g, "")

const boolean = ofText(
  "text_for_boolean",
  (text) => /^[ \t\n\r]*(?:true|false)[ \t\n\r]*$/i.test(text) ? /true/i.test(text) : undefined
)

const string: Drift = ({ numberAt, place, value }, schema) => {
  // The new string might violate a `format`, and most formats are not checked.
  if (schema["format"] !== undefined && schema["format"] !== "password") return undefined
  if (isBoolean(value)) return { kind: "boolean_for_text", to: String(value) }
  if (isUnsafe(value)) return value.isSource ? { kind: "number_for_text", to: value.token } : undefined
  if (!isNumber(value)) return undefined
  // Without its source text, 1.1 may have been `1.10`. The source text is also unknown (`""`) if a repeated key has the
  // same number in two spellings.
  const source = numberAt(pathOf(place)) ?? (Number.isSafeInteger(value) ? String(value) : "")
  return source === "" ? undefined : { kind: "number_for_text", from: new Unsafe(source), to: source }
}

// -----------------------------------------------------------------------------
// Dates
// -----------------------------------------------------------------------------

const date = ofText("date_form", (text, { format }) => {
  const rewritten = format === "date" ? dateOf(text) : undefined
  return rewritten === text ? undefined : rewritten
})

const dateTime = ofText(
  "space_in_date_time",
  (text, { format }) => format === "date-time" ? dateTimeOf(text) : undefined
)

// -----------------------------------------------------------------------------
// Lists and single values
// -----------------------------------------------------------------------------

const python = ofText("python_list", pythonList)

const oneForMany: Drift = ({ place, value }) => {
  // An item of an array is never wrapped in another array: [1,2] may stand for [[1,2]] or [[1],[2]].
  if (isNumber(place?.key) || typeof value === "object") return undefined
  if (isString(value) && !isOneItem(value)) return undefined
  return { kind: "single_for_array", to: [value] }
}

// A string with separators, bullets or brackets may itself be a list. A word for nothing may be an empty list.
const isOneItem = (text: string): boolean =>
  !isNothing(text) && !separator.test(text) && !opening.test(text) && !isSeveral(text)

/** True for a text that may stand for no value, or for a list without items. */
export const isNothing = (text: string): boolean => text.length < 40 && nothing.test(text.trim())

const nothing =
  /^(?:\(?(?:null|none|nil|undefined|nan|n\.?\/?a\.?|nothing|empty|unknown|tbd|not applicable|no \w+)\)?\.?|[-–—]*)$/i

/** True for a text with two words that are no plain words, such as addresses, paths and flags. They are two items. */
export const isSeveral = (text: string): boolean =>
  text.length > longestItem || text.split(/\s+/).filter((word) => /[\d@#=/]|\S[.:]\S|^-/.test(word)).length > 1 ||
  text.split("@").length > 2 && !/\s/.test(text)
// A longer text is refused, so that every text is read in linear time.
const longestItem = 10_000

/**
 * Commas and semicolons of all scripts, and other separators of list items. An ampersand without white
 * space beside it belongs to a name or an address: `R&D`, `?a=1&b=2`.
 */
export const separator =
  /\s(?:and|or|vs|und|oder|et|ou|y|e|и|[-+>→])\s|\s[&/]|[&/]\s|[→,;|\t-\r\u0085\u2028\u2029،؛、，；､﹐﹑﹔｜＆•‣⁃◦∙▪▫●○■□·]/i
const opening = /^\s*(?:[[{("']|(?:[-+*–—]|\d+[.)])\s)/

const manyForOne: Drift = ({ value }) => {
  const [only] = isList(value) && value.length === 1 ? value : []
  return only === undefined || typeof only === "object" ? undefined : { kind: "array_for_single", to: only }
}

const drifts: { readonly [type: string]: ReadonlyArray<Drift> } = {
  integer: [integer],
  number: [number],
  boolean: [boolean],
  string: [string, date, dateTime],
  array: [python]
}
