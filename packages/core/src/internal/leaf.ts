/**
 * What a value that does not fit can only have been meant as, by the type that was declared.
 *
 * Each function knows one drift, and answers with a reading or not at all; whether the reading
 * fits is for whoever asks. A reading without a note is silent: the model need not learn anything from it.
 */
import type * as JsonSchema from "effect/JsonSchema"
import { dateOf, dateTimeOf } from "./calendar.ts"
import { choicesOf } from "./form.ts"
import { pythonList } from "./pythonList.ts"
import { isList, isNumberToken, nameOf, type Path, show, Unsafe, type Value } from "./written.ts"

export interface Reading {
  readonly kind: string
  readonly value: Value
  readonly note?: string
}

/** A value as it was written: where, and as which token if it is a number. */
export interface Written {
  readonly value: Value
  readonly path: Path
  readonly token: () => string | undefined
}

/** All readings of a value by a flat schema; rarely more than one. */
export const readingsOf = (written: Written, schema: JsonSchema.JsonSchema): ReadonlyArray<Reading> => {
  const choices = choicesOf(schema)
  const type = schema["type"] ??
    (choices !== undefined ? undefined : typeof schema["format"] === "string" ? "string" : "")
  const readings = [
    ...(choices === undefined ? [] : [choice(written, choices), numericChoice(written, choices)]),
    ...(drifts.get(type) ?? []).map((drift) => drift(written, schema)),
    type === "array" ? oneForMany(written) : manyForOne(written)
  ]
  return readings.filter((reading) => reading !== undefined)
}

/** Texts that stand for nothing. */
export const isBlank = (value: Value): boolean =>
  value === "" || value === "null" || value === "None" || value === "undefined"

/** A spelling without what models change in names: case, `-`, `_` and spaces. */
export const folded = (name: string): string => name.toLowerCase().replace(/[-_\s]/g, "")

type Drift = (written: Written, schema: JsonSchema.JsonSchema) => Reading | undefined

// -----------------------------------------------------------------------------
// Choices
// -----------------------------------------------------------------------------

const choice = ({ path, value }: Written, choices: ReadonlyArray<unknown>): Reading | undefined => {
  if (typeof value !== "string" || value.length > longestChoice) return undefined
  const texts = Array.from(new Set(choices)).filter((choice) => typeof choice === "string")
  const cased = texts.filter((choice) => choice.toLowerCase() === value.trim().toLowerCase())
  if (cased.length === 1) return { kind: "choice_case", value: cased[0]! }
  if (cased.length > 1 || folded(value) === "") return undefined
  const spelled = texts.filter((choice) => folded(choice) === folded(value))
  return spelled.length !== 1 ? undefined : {
    kind: "choice_spelling",
    value: spelled[0]!,
    note: `${nameOf(path)} is ${show(spelled[0])}: it was written as ${show(value)}`
  }
}

const numericChoice = ({ path, value }: Written, choices: ReadonlyArray<unknown>): Reading | undefined => {
  const meant = typeof value === "string" && isNumberToken(value)
    ? choices.find((choice) => choice === Number(value))
    : undefined
  return typeof meant !== "number" ? undefined : read("text_for_choice", path, "a number", value, meant)
}

const longestChoice = 1000

// -----------------------------------------------------------------------------
// Numbers, booleans, strings
// -----------------------------------------------------------------------------

const integer: Drift = ({ path, value }) => {
  const meant = typeof value === "string" ? numberOf(value) : undefined
  if (typeof value !== "string" || !Number.isSafeInteger(meant)) return undefined
  return String(meant) === value
    ? { kind: "text_for_number", value: meant! }
    : read("decimal_for_integer", path, "an integer", value, meant!)
}

const number: Drift = ({ value }) => {
  const meant = typeof value === "string" ? numberOf(value) : undefined
  return meant === undefined ? undefined : { kind: "text_for_number", value: meant }
}

// A token of JSON whose value a number holds: neither too large, nor too small, nor of too many digits.
const numberOf = (text: string): number | undefined => {
  if (text.length > 400 || !isNumberToken(text)) return undefined
  const value = Number(text)
  const hasExponent = /e/i.test(text)
  if (!Number.isFinite(value) || !hasExponent && Math.abs(value) > Number.MAX_SAFE_INTEGER) return undefined
  if (value === 0) return /[1-9]/.test(text.replace(/e.*/i, "")) ? undefined : 0
  return value
}

const boolean: Drift = ({ value }) =>
  typeof value === "string" && /^(?:true|false)$/i.test(value)
    ? { kind: "text_for_boolean", value: value.toLowerCase() === "true" }
    : undefined

const string: Drift = ({ path, token, value }, schema) => {
  // What a format allows is not known of all of them.
  if (schema["format"] !== undefined) return undefined
  if (typeof value === "boolean") return read("boolean_for_text", path, "a string", value, String(value))
  if (value instanceof Unsafe) return read("number_for_text", path, "a string", value, value.token)
  if (typeof value !== "number") return undefined
  const source = token() ?? String(value)
  return read("number_for_text", path, "a string", new Unsafe(source), source)
}

// -----------------------------------------------------------------------------
// Dates
// -----------------------------------------------------------------------------

const date: Drift = ({ path, value }, { format }) => {
  const meant = typeof value === "string" && format === "date" ? dateOf(value) : undefined
  return meant === undefined || meant === value ? undefined : read("date_form", path, "a date", value, meant)
}

const dateTime: Drift = ({ value }, { format }) => {
  const meant = typeof value === "string" && format === "date-time" ? dateTimeOf(value) : undefined
  return meant === undefined ? undefined : { kind: "space_in_date_time", value: meant }
}

// -----------------------------------------------------------------------------
// One for many, many for one
// -----------------------------------------------------------------------------

const python: Drift = ({ path, value }) => {
  const items = typeof value === "string" ? pythonList(value) : undefined
  return items === undefined ? undefined : {
    kind: "python_list",
    value: items,
    note: `${nameOf(path)} is an array: send it as JSON, not as a Python list in a string`
  }
}

const oneForMany = ({ path, value }: Written): Reading | undefined => {
  if (typeof value === "object" || typeof value === "string" && !isOneItem(value)) return undefined
  return read("single_for_array", path, "an array", value, [value])
}

// A text with separators or brackets may be a list of its own; a blank one, none.
const isOneItem = (text: string): boolean => text.trim() !== "" && !isBlank(text) && !/[,;|\n\r]|^\s*[[{("']/.test(text)

const manyForOne = ({ path, value }: Written): Reading | undefined => {
  const [only] = isList(value) && value.length === 1 ? value : []
  return only === undefined || typeof only === "object"
    ? undefined
    : {
      ...read("array_for_single", path, "", value, only),
      note: `${nameOf(path)} is one value: ${show(value)} was read as ${show(only)}`
    }
}

const drifts: ReadonlyMap<unknown, ReadonlyArray<Drift>> = new Map([
  ["integer", [integer]],
  ["number", [number]],
  ["boolean", [boolean]],
  ["string", [string, date, dateTime]],
  ["array", [python]]
])

const read = (kind: string, path: Path, type: string, came: Value, meant: Value): Reading => ({
  kind,
  value: meant,
  note: `${nameOf(path)} is ${type}: ${show(came)} was read as ${show(meant)}`
})
