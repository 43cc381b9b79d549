/** Describes what a JSON Schema expects, in a few words of English: type, choices, bounds, format, pattern. */
import { isObject, type JsonSchema } from "../json.ts"
import * as Suggestion from "../suggestion.ts"
import { cut, excerpt, list, oneLine } from "../text/excerpt.ts"
import { isNumberToken, Unsafe, type Value } from "../value.ts"
import { numberPattern } from "./check.ts"
import { choicesOf, type Document, extraOf, propertiesOf, requiredOf } from "./document.ts"

/** The expectation for an integer that lost digits, if the schema states no expectation. */
export const unsafeInteger = `a whole number of at most ${Number.MAX_SAFE_INTEGER}, or a text where one is accepted`

/** An implied bound that a number exceeds: the limit of the safe integers, for these types. */
interface Limit {
  readonly keyword: "maximum" | "minimum"
  readonly types: ReadonlyArray<unknown>
}

/** Describes what a schema expects; `undefined` if a few words cannot say it. */
export const describe = (schema: unknown, document: Document, limit?: Limit, depth = 0): string | undefined => {
  if (schema === undefined || schema === true || depth > 4) return undefined
  const flat = document.flat(schema)
  const choices = choicesOf(flat)
  if (choices !== undefined) return listChoices(flat["nullable"] === true ? [...choices, null] : choices)
  const members = document.members(flat)
  if (members !== undefined) {
    const tag = document.tag(members)
    const words = members.map((member) =>
      tag !== undefined && member["type"] === "object"
        ? `object with '${tag.key}' (${listChoices(tag.choices)})`
        : describe(member, document, limit, depth + 1)
    )
    return words.every((word) => typeof word === "string")
      ? cut(Array.from(new Set(words)).join(" | "), 300)
      : undefined
  }
  const { type } = flat
  if (typeof type !== "string") return flat["not"] === undefined ? describeType("value", flat, document) : "nothing"
  return describeType(type, flat, document, limit) ?? type
}

/**
 * Describes what is expected in place of a value that does not fit. If there are many choices, the nearest
 * come first.
 */
export const expectationFor = (value: Value | undefined, schema: unknown, document: Document): string | undefined => {
  const flat = document.flat(schema)
  const choices = choicesOf(flat)
  return typeof value === "string" && choices !== undefined && choices.length > maxChoices
    ? listChoices(nearestFirst(value, choices))
    : describe(schema, document, limitFor(value))
}

const nearestFirst = (value: string, choices: ReadonlyArray<unknown>) =>
  Suggestion.nearest(value, choices.filter((choice) => typeof choice === "string"))

// A number that is too large for an `integer` may still fit a `number`, unless it has lost digits.
const limitFor = (value: Value | undefined): Limit | undefined => {
  const token = value instanceof Unsafe ? value.token : value
  if (typeof token !== "number" && (typeof token !== "string" || !isNumberToken(token))) return undefined
  if (Math.abs(Number(token)) <= Number.MAX_SAFE_INTEGER) return undefined
  return {
    keyword: Number(token) > 0 ? "maximum" : "minimum",
    types: typeof token === "number" || /[.e]/i.test(token) ? ["integer"] : ["integer", "number"]
  }
}

const maxChoices = 20

const listChoices = (choices: ReadonlyArray<unknown>): string => {
  const shown = choices.slice(0, maxChoices).map((choice) => excerpt(choice)).join(
    " | "
  )
  return choices.length > maxChoices ? `${shown} | … (${choices.length - maxChoices} more)` : shown
}

// Describes a type and its restrictions: `string of 2 to 5 characters, with the format date (2024-01-31)`.
// Returns `undefined` if there is nothing to say.
const describeType = (
  type: string,
  schema: JsonSchema,
  document: Document,
  limit?: Limit
): string | undefined => {
  const words = [
    ...(type === "integer" || type === "number"
      ? describeBounds(schema, limit?.types.includes(type) ? limit : undefined)
      : []),
    ...(type === "string" ? describeSize(schema, "Length", "character") : []),
    ...(type === "array" ? describeSize(schema, "Items", "item") : []),
    ...(type === "object" ? [...describeSize(schema, "Properties", "key"), ...describeKeys(schema, document)] : []),
    ...(type === "array" && schema["uniqueItems"] === true ? ["without duplicates"] : []),
    ...(type === "string" ? [...describeFormat(schema), ...describePattern(schema)] : [])
  ]
  return words.length === 0 ? (type === "value" ? undefined : type) : `${type} ${words.join(", ")}`
}

// Describes an object by its required keys. If it has none, describes the type of its values.
const describeKeys = (schema: JsonSchema, document: Document): ReadonlyArray<string> => {
  const required = requiredOf(schema)
  if (required.length > 0) return [`with ${list(required, 5)}`]
  const extra = Object.keys(propertiesOf(schema)).length === 0 ? extraOf(schema, "") : undefined
  const { type } = isObject(extra) ? document.flat(extra) : {}
  return typeof type === "string" ? [`of ${type} values`] : []
}

const describeBounds = (schema: JsonSchema, limit: Limit | undefined): ReadonlyArray<string> => {
  const [above, below] = [bound(schema, "exclusiveMinimum"), bound(schema, "exclusiveMaximum")]
  const min = bound(schema, "minimum") ??
    (limit?.keyword === "minimum" && above === undefined ? Number.MIN_SAFE_INTEGER : undefined)
  const max = bound(schema, "maximum") ??
    (limit?.keyword === "maximum" && below === undefined ? Number.MAX_SAFE_INTEGER : undefined)
  const range = min !== undefined && max !== undefined
    ? [`from ${min} to ${max}`]
    : [...(min === undefined ? [] : [`of at least ${min}`]), ...(max === undefined ? [] : [`of at most ${max}`])]
  return [
    ...range,
    ...(above === undefined ? [] : [`greater than ${above}`]),
    ...(below === undefined ? [] : [`less than ${below}`]),
    ...(typeof schema["multipleOf"] === "number" ? [`that is a multiple of ${schema["multipleOf"]}`] : [])
  ]
}

// Returns a bound of the schema. Bounds at the limits of the safe integers need no mention.
const bound = (schema: JsonSchema, keyword: string): number | undefined => {
  const inclusive = keyword.replace(/^exclusive/, "").toLowerCase()
  // In OpenAPI 3.0, `exclusiveMinimum` is a boolean, which says whether the `minimum` beside it is exclusive.
  const isExclusive = schema[`exclusive${inclusive.charAt(0).toUpperCase()}${inclusive.slice(1)}`] === true
  const value = isExclusive ? (keyword === inclusive ? undefined : schema[inclusive]) : schema[keyword]
  return typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined
}

const describeSize = (schema: JsonSchema, what: string, unit: string): ReadonlyArray<string> => {
  const [min, max] = [schema[`min${what}`], schema[`max${what}`]]
  const counted = (count: number) => `${count} ${unit}${count === 1 ? "" : "s"}`
  const atLeast = typeof min === "number" && min > 0 ? min : undefined
  if (typeof max !== "number") return atLeast === undefined ? [] : [`of at least ${counted(atLeast)}`]
  if (atLeast === undefined) return [`of at most ${counted(max)}`]
  return [atLeast === max ? `of ${counted(max)}` : `of ${atLeast} to ${counted(max)}`]
}

const examples: ReadonlyMap<unknown, string> = new Map([
  ["date", " (2024-01-31)"],
  ["date-time", " (2024-01-31T12:00:00Z)"]
])

const describeFormat = ({ format }: JsonSchema): ReadonlyArray<string> =>
  typeof format === "string" && format !== "password"
    ? [`with the format ${cut(oneLine(format), 40)}${examples.get(format) ?? ""}`]
    : []

// A pattern beside a format is not described: the format says more.
const describePattern = ({ format, pattern }: JsonSchema): ReadonlyArray<string> =>
  typeof pattern !== "string" || format !== undefined
    ? []
    : [pattern === numberPattern ? "that holds a plain number (12.5)" : `matching ${cut(oneLine(pattern), 120)}`]
