/**
 * What a JSON Schema expects, in a few words of English: type, choices, bounds, format, pattern.
 */
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import * as Suggestion from "../Suggestion.ts"
import { choicesOf, extraOf, type Forms, propertiesOf, requiredOf } from "./form.ts"
import { cut, list, oneLine } from "./text.ts"
import { isNumberToken, mayBeGrouped, numberText, Unsafe, type Value } from "./written.ts"

/** What is said of an integer that lost digits when it was read, where nothing is declared. */
export const unsafeInteger = `a whole number of at most ${Number.MAX_SAFE_INTEGER}, or a text where the tool takes one`

/** A number is too large or too small for these types: they have a bound that goes without saying otherwise. */
interface Limit {
  readonly keyword: "maximum" | "minimum"
  readonly types: ReadonlyArray<unknown>
}

/** What is expected; `undefined` where the schema does not say it plainly. */
export const describe = (schema: unknown, forms: Forms, limit?: Limit, depth = 0): string | undefined => {
  if (schema === undefined || schema === true || depth > 4) return undefined
  const flat = forms.flat(schema)
  const choices = choicesOf(flat)
  if (choices !== undefined) return listed(choices)
  const members = forms.members(flat)
  if (members !== undefined) {
    const tag = forms.tag(members)
    const words = members.map((member) =>
      tag !== undefined && member["type"] === "object"
        ? `object with '${tag.key}' (${listed(tag.choices)})`
        : describe(member, forms, limit, depth + 1)
    )
    return words.every(Predicate.isString) ? cut(Array.from(new Set(words)).join(" | "), 300) : undefined
  }
  const { type } = flat
  if (typeof type !== "string") return flat["not"] === undefined ? withWords("value", flat, forms) : "nothing"
  return withWords(type, flat, forms, limit) ?? type
}

/** The same for a value that does not fit: with the choice that is nearest to it, or the form that it should have. */
export const expectationFor = (value: Value | undefined, schema: unknown, forms: Forms): string | undefined => {
  const limit = limitFor(value)
  const words = describe(schema, forms, limit)
  if (typeof value !== "string" || words === undefined) return words
  const flat = forms.flat(schema)
  const choices = textsOf(flat, forms)
  if (choices.length > 0) {
    const meant = Suggestion.didYouMean(value, choices)
    if (choices.length > mostChoices && choicesOf(flat) !== undefined) {
      return `${listed(Suggestion.nearest(value, choices))}${suggestion(meant)}`
    }
    return `${words}${suggestion(meant)}`
  }
  const numbers = numbersOf(flat, forms)
  if (limit !== undefined || numbers.length === 0) return words
  if (mayBeGrouped(value.trim())) {
    const readings = [Number(value), Number(value.replace(".", ""))]
    const valid = numbers.includes("number") ? readings : readings.filter(Number.isInteger)
    return `${words}, without quotes (${Array.from(new Set(valid)).join(", or ")})`
  }
  return isNumberInWords(value) ? `${words}, as bare digits` : words
}

// Too large for an integer may be all right for a number, unless it has lost digits.
const limitFor = (value: Value | undefined): Limit | undefined => {
  const token = value instanceof Unsafe ? value.token : value
  if (typeof token !== "number" && (typeof token !== "string" || !isNumberToken(token))) return undefined
  if (Math.abs(Number(token)) <= Number.MAX_SAFE_INTEGER) return undefined
  return {
    keyword: Number(token) > 0 ? "maximum" : "minimum",
    types: typeof token === "number" || /[.e]/i.test(token) ? ["integer"] : ["integer", "number"]
  }
}

const suggestion = (meant: string | undefined): string =>
  meant === undefined ? "" : ` (did you mean ${cut(oneLine(JSON.stringify(meant)), 80)}?)`

const mostChoices = 20

const listed = (choices: ReadonlyArray<unknown>): string => {
  const shown = choices.slice(0, mostChoices).map((choice) => cut(oneLine(JSON.stringify(choice) ?? ""), 80)).join(
    " | "
  )
  return choices.length > mostChoices ? `${shown} | … (${choices.length - mostChoices} more)` : shown
}

const textsOf = (flat: JsonSchema.JsonSchema, forms: Forms): ReadonlyArray<string> =>
  [flat, ...(forms.members(flat) ?? [])].flatMap((member) => choicesOf(member) ?? []).filter(Predicate.isString)

const numbersOf = (flat: JsonSchema.JsonSchema, forms: Forms): ReadonlyArray<unknown> =>
  [flat, ...(forms.members(flat) ?? [])].map(({ type }) => type).filter((type) =>
    type === "number" || type === "integer"
  )

const isNumberInWords = (text: string): boolean => /\p{N}/u.test(text.slice(0, 80)) || numerals.test(text)

const numerals =
  /^\s*(?:minus |a )?(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|dozen)\b/i

// `string of 2 to 5 characters, with the format date (2024-01-31)`; `undefined` where nothing is to be added.
const withWords = (
  type: string,
  schema: JsonSchema.JsonSchema,
  forms: Forms,
  limit?: Limit
): string | undefined => {
  const words = [
    ...(type === "integer" || type === "number" ? bounds(schema, limit?.types.includes(type) ? limit : undefined) : []),
    ...(type === "string" ? sized(schema, "Length", "character") : []),
    ...(type === "array" ? sized(schema, "Items", "item") : []),
    ...(type === "object" ? [...sized(schema, "Properties", "key"), ...keyed(schema, forms)] : []),
    ...(type === "array" && schema["uniqueItems"] === true ? ["without duplicates"] : []),
    ...(type === "string" ? [...formatted(schema), ...patterned(schema)] : [])
  ]
  return words.length === 0 ? (type === "value" ? undefined : type) : `${type} ${words.join(", ")}`
}

// The keys that an object must have, or what its values are.
const keyed = (schema: JsonSchema.JsonSchema, forms: Forms): ReadonlyArray<string> => {
  const required = requiredOf(schema)
  if (required.length > 0) return [`with ${list(required, 5)}`]
  const extra = Object.keys(propertiesOf(schema)).length === 0 ? extraOf(schema, "") : undefined
  const { type } = Predicate.isObject(extra) ? forms.flat(extra) : {}
  return typeof type === "string" ? [`of ${type} values`] : []
}

const bounds = (schema: JsonSchema.JsonSchema, limit: Limit | undefined): ReadonlyArray<string> => {
  const [above, below] = [bound(schema, "exclusiveMinimum"), bound(schema, "exclusiveMaximum")]
  const least = bound(schema, "minimum") ??
    (limit?.keyword === "minimum" && above === undefined ? Number.MIN_SAFE_INTEGER : undefined)
  const most = bound(schema, "maximum") ??
    (limit?.keyword === "maximum" && below === undefined ? Number.MAX_SAFE_INTEGER : undefined)
  const range = least !== undefined && most !== undefined
    ? [`from ${least} to ${most}`]
    : [...(least === undefined ? [] : [`of at least ${least}`]), ...(most === undefined ? [] : [`of at most ${most}`])]
  return [
    ...range,
    ...(above === undefined ? [] : [`greater than ${above}`]),
    ...(below === undefined ? [] : [`less than ${below}`]),
    ...(typeof schema["multipleOf"] === "number" ? [`that is a multiple of ${schema["multipleOf"]}`] : [])
  ]
}

// That an integer is one that a number can hold goes without saying.
const bound = (schema: JsonSchema.JsonSchema, keyword: string): number | undefined => {
  const value = schema[keyword]
  return typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined
}

const sized = (schema: JsonSchema.JsonSchema, what: string, unit: string): ReadonlyArray<string> => {
  const [least, most] = [schema[`min${what}`], schema[`max${what}`]]
  const counted = (count: number) => `${count} ${unit}${count === 1 ? "" : "s"}`
  const atLeast = typeof least === "number" && least > 0 ? least : undefined
  if (typeof most !== "number") return atLeast === undefined ? [] : [`of at least ${counted(atLeast)}`]
  if (atLeast === undefined) return [`of at most ${counted(most)}`]
  return [atLeast === most ? `of ${counted(most)}` : `of ${atLeast} to ${counted(most)}`]
}

const examples: ReadonlyMap<unknown, string> = new Map([
  ["date", " (2024-01-31)"],
  ["date-time", " (2024-01-31T12:00:00Z)"]
])

const formatted = ({ format }: JsonSchema.JsonSchema): ReadonlyArray<string> =>
  typeof format === "string" && format !== "password"
    ? [`with the format ${cut(oneLine(format), 40)}${examples.get(format) ?? ""}`]
    : []

// A format says more than its pattern.
const patterned = ({ format, pattern }: JsonSchema.JsonSchema): ReadonlyArray<string> =>
  typeof pattern !== "string" || format !== undefined
    ? []
    : [pattern === numberText.source ? "that holds a plain number (12.5)" : `matching ${cut(oneLine(pattern), 120)}`]
