/** Describes what a JSON Schema expects, in a few words of English: type, choices, bounds, format, pattern. */
import { distinct, isNumber, isObject, isString, type JsonSchema } from "../json.ts"
import { memoize, newMap } from "../memo.ts"
import * as Suggestion from "../suggestion.ts"
import { cut, excerpt, list, oneLine } from "../text/excerpt.ts"
import { isHeld, isNumberToken, isUnsafe, type Value } from "../value.ts"
import { boundsAt, numberPattern } from "./check.ts"
import { choicesOf, declaredBy, type Document, extraOf, requiredOf } from "./document.ts"

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
  if (choices) return listChoices(flat["nullable"] === true ? [...choices, null] : choices)
  const members = document.members(flat)
  if (members) {
    const tag = document.tag(members)
    // A union in a union says some of its words twice.
    const words = members.flatMap((member) => document.members(member) ?? [member]).map((member) =>
      tag && member["type"] === "object"
        ? `object with '${tag.key}' (${listChoices(tag.choices)})`
        : describe(member, document, limit, depth + 1)
    )
    return words.every(isString) ? cut(distinct(words).join(" | "), 300) : undefined
  }
  const { type } = flat
  if (!isString(type)) return flat["not"] === undefined ? undefined : "nothing"
  const words = restrictions[type]?.(flat, document, limit?.types.includes(type) ? limit : undefined)
    .filter((words) => words !== undefined) ?? []
  return words.length === 0 ? type : `${type} ${words.join(", ")}`
}

/**
 * Describes what is expected in place of a value that does not fit. If there are many choices, the nearest
 * come first.
 */
export const expectationFor = (value: Value | undefined, schema: unknown, document: Document): string | undefined => {
  const flat = document.flat(schema)
  const choices = choicesOf(flat)
  return isString(value) && choices && choices.length > maxChoices
    ? listChoices(Suggestion.nearest(value, choices.filter(isString)))
    : describeFor(schema, document, limitFor(value))
}

// Nearly all values have no limit of their own, and their expectation depends on the schema alone.
const describeFor = (schema: unknown, document: Document, limit: Limit | undefined): string | undefined => {
  const known = knownIn(document)
  if (limit || known.size > 10_000) return describe(schema, document, limit)
  if (!known.has(schema)) known.set(schema, describe(schema, document))
  return known.get(schema)
}

const knownIn: (document: Document) => Map<unknown, string | undefined> = memoize(newMap<unknown, string | undefined>)

// A number that is too large for an `integer` may still fit a `number`, unless it has lost digits.
const limitFor = (value: Value | undefined): Limit | undefined => {
  const token = isUnsafe(value) ? value.token : value
  if (!isNumber(token) && !(isString(token) && isNumberToken(token))) return undefined
  if (isHeld(Number(token))) return undefined
  return {
    keyword: Number(token) > 0 ? "maximum" : "minimum",
    types: isNumber(token) || /e/i.test(token) ? ["integer"] : ["integer", "number"]
  }
}

const maxChoices = 20

const listChoices = (choices: ReadonlyArray<unknown>): string => {
  const shown = choices.slice(0, maxChoices).map((choice) => excerpt(choice)).join(" | ")
  return choices.length > maxChoices ? `${shown} | … (${choices.length - maxChoices} more)` : shown
}

type Words = string | undefined
type Describe = (schema: JsonSchema, document: Document, limit: Limit | undefined) => ReadonlyArray<Words>

const describeNumber: Describe = (schema, _, limit) => {
  const [min, above] = boundsAt("Minimum", schema).map(toldBound)
  const [max, below] = boundsAt("Maximum", schema).map(toldBound)
  const { multipleOf } = schema
  return [
    describeRange(
      min ?? (limit?.keyword === "minimum" && above === undefined ? Number.MIN_SAFE_INTEGER : undefined),
      max ?? (limit?.keyword === "maximum" && below === undefined ? Number.MAX_SAFE_INTEGER : undefined),
      "from"
    ),
    above === undefined ? undefined : `greater than ${above}`,
    below === undefined ? undefined : `less than ${below}`,
    isNumber(multipleOf) ? `that is a multiple of ${multipleOf}` : undefined
  ]
}

// How each type may be restricted, in words: `string of 2 to 5 characters, with the format date (2024-01-31)`.
const restrictions: { readonly [type: string]: Describe } = {
  integer: describeNumber,
  number: describeNumber,
  string: (schema) => [describeSize(schema, "Length", "character"), describeFormat(schema), describePattern(schema)],
  array: (schema) => [
    describeSize(schema, "Items", "item"),
    schema["uniqueItems"] === true ? "without duplicates" : undefined
  ],
  object: (schema, document) => [describeSize(schema, "Properties", "key"), describeKeys(schema, document)]
}

// Describes an object by its required keys. If it has none, describes the type of its values.
const describeKeys = (schema: JsonSchema, document: Document): Words => {
  const required = requiredOf(schema)
  if (required.length > 0) return `with ${list(required, 5)}`
  const extra = declaredBy(schema).length === 0 ? extraOf(schema, "") : undefined
  const { type } = isObject(extra) ? document.flat(extra) : {}
  return isString(type) ? `of ${type} values` : undefined
}

// Bounds at the limits of the safe integers need no mention.
const toldBound = (bound: unknown): number | undefined =>
  isNumber(bound) && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined

const describeSize = (schema: JsonSchema, what: string, unit: string): Words => {
  const [min, max] = [schema[`min${what}`], schema[`max${what}`]]
  const atLeast = isNumber(min) && min > 0 ? min : undefined
  const atMost = isNumber(max) ? max : undefined
  const range = atLeast === atMost && atMost !== undefined ? `of ${atMost}` : describeRange(atLeast, atMost, "of")
  return range && `${range} ${unit}${(atMost ?? atLeast) === 1 ? "" : "s"}`
}

const describeRange = (min: number | undefined, max: number | undefined, from: string): Words =>
  min !== undefined && max !== undefined
    ? `${from} ${min} to ${max}`
    : max !== undefined
    ? `of at most ${max}`
    : min === undefined
    ? undefined
    : `of at least ${min}`

const examples: ReadonlyMap<unknown, string> = new Map([
  ["date", " (2024-01-31)"],
  ["date-time", " (2024-01-31T12:00:00Z)"]
])

const describeFormat = ({ format }: JsonSchema): Words =>
  isString(format) && format !== "password"
    ? `with the format ${cut(oneLine(format), 40)}${examples.get(format) ?? ""}`
    : undefined

// A pattern beside a well-known format is not described: the format says more.
const wellKnown = /^(?:date|date-time|duration|email|hostname|ipv[46]|password|time|uri|url|uuid)$/

const describePattern = ({ format, pattern }: JsonSchema): Words =>
  !isString(pattern) || isString(format) && wellKnown.test(format)
    ? undefined
    : pattern === numberPattern
    ? "that holds a plain number (12.5)"
    : `matching ${cut(oneLine(pattern), 120)}`
