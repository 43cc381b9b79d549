/**
 * Advice on what to write instead of a refused value. Only values that would be accepted are suggested, and a
 * suggestion is never applied.
 */
import { type Json, type JsonSchema } from "../json.ts"
import { daysOf, isDate, isDateTime, months } from "../schema/calendar.ts"
import type { Conformance, Misfit } from "../schema/conformance.ts"
import { choicesOf } from "../schema/document.ts"
import * as Suggestion from "../suggestion.ts"
import { cut, excerpt, oneLine } from "../text/excerpt.ts"
import { plainly } from "../text/reader.ts"
import { isNumberToken, isRecord, mayBeGrouped, nameOf, type Record, type Value } from "../value.ts"

/**
 * Returns one sentence of advice on a misfit (a value that does not fit its schema); `undefined` if there is
 * none.
 */
export const adviceFor = (misfit: Misfit, conformance: Conformance): string | undefined => {
  const { kind, parent, path, schema, value } = misfit
  // No list is suggested for an item of an array: which items belong together would be unclear.
  const isItem = typeof path.at(-1) === "number"
  if (kind === "unknown_key" && parent !== undefined) {
    return keyAdvice(parent, String(path.at(-1)), misfit.keys ?? [], schema, conformance)
  }
  if (value === undefined || kind === "key_name" || kind === "complex") return undefined
  const { document, fits } = conformance
  const flat = document.flat(schema)
  const forms = [flat, ...(document.members(flat) ?? [])]
  const isAccepted = (candidate: Json) => fits(candidate, schema) && fits(candidate, misfit.whole)
  const suggestion = choiceAdvice(value, forms, isAccepted)
  if (suggestion !== undefined) return suggestion
  const readings = Array.from(
    new Set(forms.flatMap((form) => form["type"] === "array" && isItem ? [] : candidates(value, form)))
  ).filter((candidate) => JSON.stringify(candidate).length <= longestAdvice && isAccepted(candidate)).slice(0, 3)
  if (readings.length > 0) {
    const unquoted = typeof value === "string" &&
      readings.every((reading) => typeof reading !== "string" && (typeof reading !== "object" || reading === null))
    return `Write ${readings.map((reading) => excerpt(reading)).join(" or ")}${unquoted ? ", without quotes" : ""}.`
  }
  return typeof value === "string" ? textAdvice(value, forms, isAccepted) : undefined
}

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
  const fitsInstead = (content: Value | undefined) =>
    isRecord(content) && Object.keys(content).length > 0 && fits(content, schema)
  const content = contentOf(parent[key])
  if (fitsInstead(content)) return "Send what is inside it."
  const inner = isRecord(content)
    ? Object.keys(content).find((inner) => fitsInstead(contentOf(content[inner])))
    : undefined
  if (inner !== undefined) return `Send what is inside its ${nameOf([inner])}.`
  return keyMeant(key, keys, parent)
}

/** Returns a question about the declared key nearest to the written one; `undefined` if none is near enough. */
export const keyMeant = (written: string, keys: ReadonlyArray<string>, parent: unknown): string | undefined => {
  const [first] = keysMeant(written, keys, parent)
  return first !== undefined && first === Suggestion.didYouMean(written, [first])
    ? `Did you mean '${first}'?`
    : undefined
}

// Parses a string that looks like a JSON object (`undefined` if it is not strict JSON). Returns any other
// value as it is.
const contentOf = (value: Value | undefined): Value | undefined => {
  if (typeof value !== "string" || !/^\s*\{/.test(value)) return value
  const parsed = plainly(value, { depth: 128 })
  return "kind" in parsed ? undefined : parsed.value
}

/** Returns the declared keys, the nearest to the written key first. Keys that the object already has come last. */
export const keysMeant = (written: string, keys: ReadonlyArray<string>, parent: unknown): ReadonlyArray<string> => {
  const isUsed = (key: string) => isRecord(parent) && Object.hasOwn(parent, key)
  const near = Suggestion.nearest(written, keys)
  return [...near.filter((key) => !isUsed(key)), ...near.filter(isUsed)]
}

const choiceAdvice = (
  value: Value,
  forms: ReadonlyArray<JsonSchema>,
  isAccepted: (candidate: Json) => boolean
): string | undefined => {
  if (typeof value !== "string") return undefined
  const choices = forms.flatMap((form) => choicesOf(form) ?? []).filter((choice) => typeof choice === "string")
  const suggestion = choices.length === 0 ? undefined : Suggestion.didYouMean(value, choices)
  return suggestion === undefined || !isAccepted(suggestion)
    ? undefined
    : `Did you mean ${cut(oneLine(JSON.stringify(suggestion)), 80)}?`
}

// -----------------------------------------------------------------------------
// Values
// -----------------------------------------------------------------------------

const longest = 200
const longestAdvice = 80

const candidates = (value: Value, form: JsonSchema): ReadonlyArray<Json> => {
  const { format, type } = form
  if (typeof value === "string" && value.length > longest) return []
  switch (type) {
    case "integer":
    case "number":
      return typeof value === "string"
        ? possibleNumbers(value)
        : typeof value === "number" && type === "integer"
        ? [Math.floor(value), Math.ceil(value)]
        : []
    case "boolean":
      return possibleBooleans(value)
    case "null":
      return typeof value === "string" && /^(?:null|none|nil|undefined)?$/i.test(value.trim()) ? [null] : []
    case "array":
      return possibleLists(value)
    case "string":
      return typeof value === "string" && (format === "date" || format === "date-time")
        ? possibleDates(value.trim())
        : []
    default:
      return []
  }
}

// Converts a full-width digit, sign, comma or dot to ASCII.
const halfWidth = (wide: string): string => String.fromCharCode(wide.charCodeAt(0) - 0xfee0)

// Returns the numbers that a string may mean: `1,000`, `1_000`, `1 000`, `$5`, `50%`, `0x10`, full-width
// digits. For `1.500`, both 1.5 and 1500 are returned.
const possibleNumbers = (written: string): ReadonlyArray<number> => {
  const text = written.trim().replace(/[\uff0b-\uff19]/g, halfWidth).replace(/^[$€£¥]\s*|\s*(?:[$€£¥]|EUR|USD)$/g, "")
  if (mayBeGrouped(text)) return [Number(text), Number(text.replace(".", ""))]
  if (/^-?0x[\da-f]+$/i.test(text)) return [Number(text)]
  if (/^-?[\d.]+\s*%$/.test(text)) return [parseFloat(text), parseFloat(text) / 100]
  const plain = /^-?\d{1,3}(?:[,_ ']\d{3})+(?:\.\d+)?$/.test(text)
    ? text.replace(/[,_ ']/g, "")
    : /^-?\d+,\d{1,2}$/.test(text)
    ? text.replace(",", ".")
    : /^-?\d+(?:_\d+)+$/.test(text)
    ? text.replaceAll("_", "")
    : text
  const number = isShortNumber.test(plain) ? Number(plain) : NaN
  return Number.isNaN(number)
    ? []
    : Number.isInteger(number)
    ? [number]
    : [number, Math.floor(number), Math.ceil(number)]
}

// Matches only numbers that JavaScript holds exactly: a suggestion must not lose digits.
const isShortNumber = /^-?\d{1,15}(?:\.\d{1,15})?$/

const possibleBooleans = (value: Value): ReadonlyArray<boolean> => {
  const text = typeof value === "string" ? value.trim().toLowerCase() : value
  return [1, "1", "yes", "y", "on", "t", "true"].includes(text as string)
    ? [true]
    : [0, "0", "no", "n", "off", "f", "false"].includes(text as string)
    ? [false]
    : []
}

const possibleLists = (value: Value): ReadonlyArray<Json> => {
  if (typeof value === "number" || typeof value === "boolean") return [[value]]
  if (typeof value !== "string") return []
  const parts = value.trim().replace(/^[[(]|[\])]$/g, "").split(/\s*[,;\n，、；،]\s*|\s+&\s+/).filter((part) =>
    part !== ""
  )
  const numbers = parts.map((part) => isShortNumber.test(part) ? Number(part) : NaN)
  return parts.length === 0
    ? []
    : [...(numbers.some(Number.isNaN) ? [] : [numbers]), parts.map((part) => part.replace(/^(["'])(.*)\1$/, "$2"))]
}

const possibleDates = (text: string): ReadonlyArray<string> => {
  const [, first = "", second = "", year = ""] = /^(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})$/.exec(text) ?? []
  const day = (month: string, date: string) => `${year}-${month.padStart(2, "0")}-${date.padStart(2, "0")}`
  return year === ""
    ? [text.replaceAll("/", "-")]
    : [day(first, second), day(second, first)]
}

const textAdvice = (
  text: string,
  forms: ReadonlyArray<JsonSchema>,
  isAccepted: (candidate: Json) => boolean
): string | undefined => {
  const isOf = (...kinds: ReadonlyArray<unknown>) =>
    forms.some(({ format, type }) => kinds.includes(type) || kinds.includes(format))
  if (isOf("number", "integer")) {
    return possibleNumbers(text).length === 0 && !isNumberToken(text.trim()) && isNumberInWords(text)
      ? "Write it in digits."
      : undefined
  }
  if (isOf("date-time") && isDate(text) && isAccepted(`${text}T12:00:00Z`)) {
    return `Add the time and the zone, as in ${text}T12:00:00Z.`
  }
  if (isOf("date-time") && isDateTime(`${text}Z`) && isAccepted(`${text}Z`)) return `Add the zone, as in ${text}Z.`
  const [, year = "", month = "", day = ""] = /^(\d{4})-(\d{2})-(\d{2})(?:$|[T ])/.exec(text) ?? []
  const name = months[Number(month) - 1]
  if (!isOf("date", "date-time") || name === undefined) return undefined
  return Number(day) > daysOf(Number(year), Number(month)) ? `There is no ${Number(day)} ${name} ${year}.` : undefined
}

const isNumberInWords = (text: string): boolean => /\p{N}/u.test(text.slice(0, 80)) || numerals.test(text)

const numerals =
  /^\s*(?:minus |a )?(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|dozen)\b/i
