/**
 * Advice on what to write instead of a refused value. A suggestion is never applied.
 *
 * Advice is a contract: whoever takes a sentence literally sends a value that is accepted, and that is one of the meanings of
 * the first value. So a number is never rounded, and a key never exchanged for another word. Where there is no such
 * sentence, there is no advice.
 */
import { distinct, hasKey, isBoolean, isNumber, isString, type Json, type JsonSchema, keysOf } from "../json.ts"
import { daysOf, isDate, isDateTime, months } from "../schema/calendar.ts"
import type { Conformance, Misfit } from "../schema/conformance.ts"
import { allowsKind, choicesOf } from "../schema/document.ts"
import { words } from "../schema/keyword.ts"
import { objectIn } from "../schema/mistakenKeys.ts"
import * as Suggestion from "../suggestion.ts"
import { cut, excerpt, oneLine } from "../text/excerpt.ts"
import {
  foldName,
  isNumberToken,
  isRecord,
  isUnsafe,
  loosely,
  mayBeGrouped,
  nameOf,
  type Record,
  type Value
} from "../value.ts"
import { isNothing, isSeveral, separator } from "./reading.ts"

/**
 * Returns one sentence of advice on a misfit (a value that does not fit its schema); `undefined` if there is
 * none.
 */
export const adviceFor = (misfit: Misfit, conformance: Conformance): string | undefined => {
  const { keys = [], kind, parent, path, schema, value } = misfit
  const key = path.at(-1)
  if (kind === "unknown_key" && parent) return keyAdvice(parent, String(key), keys, schema, conformance)
  if (value === undefined || unadvised.has(kind)) return undefined
  const { document, fits } = conformance
  const flat = document.flat(schema)
  const all = [flat, ...(document.members(flat) ?? [])]
  // A value whose own type is allowed is not meant for a list.
  const forms = all.some((form) => form["type"] !== undefined && form["type"] !== "array" && allowsKind(form, value))
    ? all.filter(({ type }) => type !== "array")
    : all
  const isAccepted = (candidate: Json) => fits(candidate, schema) && fits(candidate, misfit.whole)
  // Its last digits may be lost here, but not to the model.
  const token = isUnsafe(value) ? value.token : isNumber(value) ? String(value) : undefined
  if (kind === "type" && token !== undefined && isAccepted(token)) return "Write it in double quotes."
  const suggestion = choiceAdvice(value, forms, isAccepted)
  if (suggestion !== undefined) return suggestion
  const readings = forms.flatMap((form) =>
    // No list is suggested for an item of an array: which items belong together would be unclear.
    form["type"] === "array" && isNumber(key) ? [] : candidates(value, form)
  ).filter((candidate) => JSON.stringify(candidate).length <= longestAdvice && isAccepted(candidate))
  if (readings.length > 0) {
    const shown = distinct(readings.map((reading) => excerpt(reading))).slice(0, 3)
    const unquoted = isString(value) && shown.every((reading) => !/^["[{]/.test(reading))
    return `Write ${shown.join(" or ")}${unquoted ? ", without quotes" : ""}.`
  }
  return isString(value) ? textAdvice(value, forms, isAccepted) : undefined
}

const unadvised: ReadonlySet<string> = new Set<Misfit["kind"]>(["key_name", "complex", "excluded", "count"])

// -----------------------------------------------------------------------------
// Keys and choices
// -----------------------------------------------------------------------------

/** Advises on a key that its object does not allow: send the key's content instead, or use a declared key. */
const keyAdvice = (
  parent: Record,
  key: string,
  keys: ReadonlyArray<string>,
  schema: unknown,
  { fits }: Conformance
): string | undefined => {
  const content = objectIn(parent[key], deepestContent)
  if (isRecord(content)) {
    const isDeclared = (key: string) => keys.some((declared) => foldName(declared) === foldName(key))
    const fitsInstead = (content: Value | undefined) =>
      isRecord(content) && keysOf(content).some(isDeclared) && fits(content, schema)
    if (fitsInstead(content)) return "Send what is inside it."
    const inner = keysOf(content).find((inner) => fitsInstead(objectIn(content[inner], deepestContent)))
    if (inner !== undefined) return `Send what is inside its ${nameOf([inner])}.`
  }
  return keyMeant(key, keys, parent)
}

/** Returns a question about the declared key that the written one misspells, if there is one. */
export const keyMeant = (written: string, keys: ReadonlyArray<string>, parent: unknown): string | undefined => {
  const loose = loosely(written)
  const respelt = keys.find((key) => loosely(key) === loose)
  if (respelt !== undefined && isUsed(respelt, parent)) return `Send only '${respelt}'.`
  const meant = respelt ?? Suggestion.misspelt(written, keys.filter((key) => !isUsed(key, parent)))
  return meant === undefined ? undefined : `Did you mean '${meant}'?`
}

const isUsed = (key: string, parent: unknown): boolean => isRecord(parent) && hasKey(parent, key)

/** Returns the declared keys, the nearest to the written key first. Keys that the object already has come last. */
export const keysMeant = (written: string, keys: ReadonlyArray<string>, parent: unknown): ReadonlyArray<string> => {
  const near = Suggestion.nearest(written, keys)
  return [...near.filter((key) => !isUsed(key, parent)), ...near.filter((key) => isUsed(key, parent))]
}

const choiceAdvice = (
  value: Value,
  forms: ReadonlyArray<JsonSchema>,
  isAccepted: (candidate: Json) => boolean
): string | undefined => {
  if (!isString(value)) return undefined
  const choices = forms.flatMap((form) => choicesOf(form)?.filter(isString) ?? [])
  const suggestion = Suggestion.misspelt(value, choices)
  return suggestion === undefined || !isAccepted(suggestion)
    ? undefined
    : `Did you mean ${cut(oneLine(JSON.stringify(suggestion)), 80)}?`
}

// -----------------------------------------------------------------------------
// Values
// -----------------------------------------------------------------------------

const deepestContent = 128
const longest = 200
const longestAdvice = 80

const candidates = (value: Value, form: JsonSchema): ReadonlyArray<Json> => {
  const { type } = form
  if (!isString(value)) {
    const isScalar = isNumber(value) || isBoolean(value)
    return type === "boolean" ? possibleBooleans(value) : type === "array" && isScalar ? [[value]] : []
  }
  if (value.length > longest) return []
  if (choicesOf(form)?.includes(null) === true && isNothing(value)) return [null]
  return isString(type) ? meanings[type]?.(value, form) ?? [] : []
}

// Converts a full-width digit, sign, comma or dot to ASCII.
const halfWidth = (wide: string): string => String.fromCharCode(wide.charCodeAt(0) - 0xfee0)

// Returns the numbers that a string may mean: `1,000`, `1_000`, `1 000`, `1.000,50`, `50%`, `0x10`, full-width digits. For
// `1.500`, both 1.5 and 1500 are returned. What a unit or a currency means in a field is unknown.
const possibleNumbers = (written: string): ReadonlyArray<number> => {
  if (!/[\d\uff10-\uff19]/.test(written)) return []
  const text = written.trim().replace(/[\uff0b-\uff19]/g, halfWidth)
  if (mayBeGrouped(text)) return [Number(text), Number(text.replace(".", ""))]
  if (/^-?0x[\da-f]{1,13}$/i.test(text)) return [Number(text)]
  const [, percent = ""] = /^(-?\d{1,6}(?:\.\d{1,4})?)\s*%$/.exec(text) ?? []
  if (percent !== "") return [Number(percent), Number(`${percent}e-2`)]
  const plain = /^-?\d{1,3}(?:[,_ ']\d{3})+(?:\.\d+)?$/.test(text)
    ? text.replace(/[,_ ']/g, "")
    : /^-?\d{1,3}(?:\.\d{3})+,\d+$/.test(text)
    ? text.replaceAll(".", "").replace(",", ".")
    : /^-?\d+,\d{1,2}$/.test(text)
    ? text.replace(",", ".")
    : /^-?\d+(?:_\d+)+$/.test(text)
    ? text.replaceAll("_", "")
    : text.replace(/^\+(?=\d)/, "")
  return isShortNumber.test(plain) ? [Number(plain)] : []
}

// Matches only numbers that JavaScript holds exactly: a suggestion must not lose digits.
const isShortNumber = /^-?\d{1,15}(?:\.\d{1,15})?$/

const possibleBooleans = (value: Value): ReadonlyArray<boolean> =>
  affirmative.has(value) ? [true] : negative.has(value) ? [false] : []

const affirmative: ReadonlySet<Value> = new Set([1, ...words("1 yes y on t true")])
const negative: ReadonlySet<Value> = new Set([0, ...words("0 no n off f false")])

// Returns the lists that a value may mean. A text with separators may also be one item, unless it has quotes or brackets.
const possibleLists = (value: string): ReadonlyArray<Json> => {
  if (/^\s*\{/.test(value)) return []
  if (isNothing(value)) return [[], [value]]
  const isBare = !/["'[\]()]/.test(value)
  const list = value.trim().replace(/^[[(]|[\])]$/g, "")
  const hasCommas = comma.test(list)
  // Whether a quote or a comma belongs to an item is unclear.
  if (!isBare && hasCommas && /["']/.test(list)) return quotedItems(list)
  const parts = list.split(hasCommas ? comma : isSeveral(list) ? /\s+(?:[&/]\s+)?|&/ : separator)
    .map((part) => part.trim().replace(/^[-*•]\s+/, "")).filter((part) => part !== "")
  const numbers = parts.map((part) => isShortNumber.test(part) ? Number(part) : NaN)
  return [
    ...(numbers.some(Number.isNaN) ? [] : [numbers]),
    ...possibleNumbers(value).map((number) => [number]),
    parts,
    ...(isBare ? [[value.trim()]] : [])
  ]
}

const comma = /[,;\n，、；،]/

const quotedItems = (list: string): ReadonlyArray<Json> => {
  const items = list.match(/"[^"]*"|'[^']*'/g) ?? []
  return items.join() === list.replace(/\s*,\s*(?=["'])/g, ",") ? [items.map((item) => item.slice(1, -1))] : []
}

const possibleDates = (text: string): ReadonlyArray<string> => {
  const [, first = "", second = "", year = ""] = /^(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})$/.exec(text) ?? []
  const day = (month: string, date: string) => `${year}-${month.padStart(2, "0")}-${date.padStart(2, "0")}`
  return year === ""
    ? [text.replaceAll("/", "-")]
    : [day(first, second), day(second, first)]
}

/** What a text may mean where a value of a type is expected. */
const meanings: { readonly [type: string]: (text: string, form: JsonSchema) => ReadonlyArray<Json> } = {
  array: possibleLists,
  boolean: (text) => possibleBooleans(text.trim().toLowerCase()),
  integer: possibleNumbers,
  null: (text) => /^(?:null|none|nil|undefined)?$/i.test(text.trim()) ? [null] : [],
  number: possibleNumbers,
  string: (text, { format }) => format === "date" || format === "date-time" ? possibleDates(text.trim()) : []
}

const textAdvice = (
  text: string,
  forms: ReadonlyArray<JsonSchema>,
  isAccepted: (candidate: Json) => boolean
): string | undefined => {
  const isOf = (kind: string) => forms.some(({ format, type }) => kind === type || kind === format)
  if (isOf("number") || isOf("integer")) {
    return possibleNumbers(text).length === 0 ? adviceOnNumber(text.trim()) : undefined
  }
  const isTime = isOf("date-time")
  if (!isTime && !isOf("date")) return undefined
  if (isTime && isDate(text) && isAccepted(`${text}T12:00:00Z`)) return "Add the time and the zone."
  if (isTime && isDateTime(`${text}Z`) && isAccepted(`${text}Z`)) {
    return isAccepted(`${text}+02:00`)
      ? "Add the zone: Z for UTC, or an offset such as +02:00."
      : "Add the zone Z, for UTC."
  }
  const [, year = "", month = "", day = ""] = /^(\d{4})-(\d{2})-(\d{2})(?:$|[T ])/.exec(text) ?? []
  const name = months[Number(month) - 1]
  if (name === undefined) return undefined
  return Number(day) > daysOf(Number(year), Number(month)) ? `There is no ${Number(day)} ${name} ${year}.` : undefined
}

const adviceOnNumber = (text: string): string | undefined => {
  if (isNumberToken(text) || text.length > 80) return undefined
  if (numerals.test(text) || /^[^\d\p{L}]*\p{N}+[^\d\p{L}]*$/u.test(text) && !/\d/.test(text)) {
    return "Write it in the digits 0 to 9, without quotes."
  }
  return withUnit.test(text) && !multiple.test(text)
    ? "Write the number alone, in the unit of this field, without quotes."
    : undefined
}

// A number with a unit or a currency. The latter pattern is of units that multiply the number, such as `5k`.
const withUnit = /^(?:[\p{Sc}#]|[A-Z]{3})?\s?\d+(?:\.\d+)?\s?(?:[\p{Sc}°]|\p{L}[\p{L}/.]{0,11})?$/u
const multiple = /\d\s?(?:[bgkmt]|bn|mn|mio|mrd|lakh|crore|dozen|(?:hund|thous|mill|bill|trill).*|st|nd|rd|th)$/i

const numerals =
  /^\s*(?:minus |a )?(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|dozen)\b/i
