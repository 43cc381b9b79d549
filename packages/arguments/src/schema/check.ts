/**
 * Checks a value itself, without its parts: type, choices, format, bounds. A check is compiled once for each
 * schema, because every item of a long list is checked against the same schema.
 */
import type { JsonSchema } from "../json.ts"
import { memoize } from "../memo.ts"
import { isRecord, type List, type Record, type Value } from "../value.ts"
import { isDate, isDateTime } from "./calendar.ts"
import { choicesOf, propertiesOf } from "./document.ts"
import { canonical, isEqual } from "./equal.ts"
import { patternOf } from "./pattern.ts"

/** Why the value itself fails: its type or format is wrong, it is not one of the choices, or it is out of bounds. */
export type Complaint = "type" | "choice" | "format" | "bound"

/** The requirements of a schema for a value itself, without its parts. */
export interface Check {
  /** Returns why the value itself fails; `undefined` if it passes. */
  readonly complaintOf: (value: Value) => Complaint | undefined
  /** Whether the schema also checks the value against further schemas, as `$ref` and `anyOf` do. Few schemas do. */
  readonly hasParts: boolean
  /** Whether the schema consists of nothing but a `$ref`. */
  readonly isReference: boolean
  /** The properties that the schema declares. */
  readonly declared: ReadonlyArray<string>
  /** Whether the schema restricts an object's keys only by `properties`, `required` and `additionalProperties`. */
  readonly isPlain: boolean
}

const keyKeywords = [
  "dependencies",
  "dependentRequired",
  "dependentSchemas",
  "patternProperties",
  "propertyNames",
  "unevaluatedProperties"
]

const partKeywords = ["$ref", "allOf", "anyOf", "if", "not", "oneOf"]

/** The formats that are checked. `inspect` reports all others as unchecked. */
export const formats: ReadonlyMap<unknown, (text: string) => boolean> = new Map([
  ["date", isDate],
  ["date-time", isDateTime]
])

/**
 * The pattern of a string that contains a number: JSON's grammar, with exponents up to 299, because a larger
 * exponent may make the number infinite.
 */
export const numberPattern = "^-?(?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][+-]?[0-2]?\\d{1,2})?$"

/** Returns the check of a schema. */
export const checkOf: (schema: JsonSchema) => Check = memoize((schema) => ({
  complaintOf: checkFor(schema),
  hasParts: partKeywords.some((keyword) => schema[keyword] !== undefined),
  isReference: typeof schema["$ref"] === "string" && Object.keys(schema).length === 1,
  declared: Object.keys(propertiesOf(schema)),
  isPlain: keyKeywords.every((keyword) => schema[keyword] === undefined)
}))

const checkFor = (schema: JsonSchema): Check["complaintOf"] => {
  const { type } = schema
  const allowed = type === undefined ? anyType : bitsFor(Array.isArray(type) ? type : [type])
  const isChoice = choiceCheck(choicesOf(schema))
  const text = textCheck(schema)
  const number = all(numberChecks(schema))
  const list = all(listChecks(schema))
  const record = all<Record>(countChecks("Properties", schema, (value) => Object.keys(value).length))
  return (value) => {
    if ((bitOf(value) & allowed) === 0) return "type"
    if (!isChoice(value)) return "choice"
    if (typeof value === "string") return text(value)
    const isWithin = typeof value === "number"
      ? number(value)
      : typeof value !== "object" || value === null
      ? true
      : isRecord(value)
      ? record(value)
      : list(value as List)
    return isWithin ? undefined : "bound"
  }
}

// -----------------------------------------------------------------------------
// Types and choices
// -----------------------------------------------------------------------------

const bits: ReadonlyMap<unknown, number> = new Map([
  ["null", 1],
  ["boolean", 2],
  ["number", 4],
  ["integer", 8],
  ["string", 16],
  ["array", 32],
  ["object", 64]
])
const anyType = 255
const infinite = 128
// The type of a value that is not JSON: a function, or `undefined`.
const noType = 0

const bitsFor = (types: ReadonlyArray<unknown>): number =>
  types.reduce<number>((all, type) => all | (bits.get(type) ?? 0), 0)

const bitOf = (value: Value): number => {
  if (typeof value === "string") return 16
  // An integer beyond the safe range counts only as a number: it may differ from the integer that was written.
  if (typeof value === "number") return Number.isSafeInteger(value) ? 12 : Number.isFinite(value) ? 4 : infinite
  if (typeof value === "boolean") return 2
  return value === null ? 1 : typeof value !== "object" ? noType : Array.isArray(value) ? 32 : 64
}

const choiceCheck = (choices: ReadonlyArray<unknown> | undefined): (value: Value) => boolean => {
  if (choices === undefined) return () => true
  const simple = new Set(choices)
  const containers = choices.filter((choice) => typeof choice === "object" && choice !== null)
  return (value) =>
    simple.has(value) || typeof value === "object" && containers.some((choice) => isEqual(choice, value))
}

// -----------------------------------------------------------------------------
// Bounds
// -----------------------------------------------------------------------------

type Test<A> = (value: A) => boolean

const all = <A>(tests: ReadonlyArray<Test<A>>): Test<A> =>
  tests.length === 0 ? () => true : tests.length === 1 ? tests[0]! : (value) => tests.every((test) => test(value))

const textCheck = (schema: JsonSchema): (text: string) => Complaint | undefined => {
  const { format, pattern } = schema
  const formatTest = formats.get(format)
  const forms = formatTest === undefined ? [] : [formatTest]
  const bounds = countChecks("Length", schema, codePoints)
  const matched = typeof pattern === "string" ? patternOf(pattern) : undefined
  if (matched !== undefined) (pattern === numberPattern ? forms : bounds).push(matched.test)
  const isForm = all(forms)
  const isWithin = all(bounds)
  return (text) => !isForm(text) ? "format" : isWithin(text) ? undefined : "bound"
}

const numberChecks = (schema: JsonSchema): ReadonlyArray<Test<number>> => {
  const { exclusiveMaximum, exclusiveMinimum, maximum, minimum, multipleOf } = schema
  const tests: Array<Test<number>> = []
  // In OpenAPI 3.0, `exclusiveMinimum` is a boolean, which says whether the `minimum` beside it is exclusive.
  if (typeof minimum === "number") {
    tests.push(exclusiveMinimum === true ? (value) => value > minimum : (value) => value >= minimum)
  }
  if (typeof maximum === "number") {
    tests.push(exclusiveMaximum === true ? (value) => value < maximum : (value) => value <= maximum)
  }
  if (typeof exclusiveMinimum === "number") tests.push((value) => value > exclusiveMinimum)
  if (typeof exclusiveMaximum === "number") tests.push((value) => value < exclusiveMaximum)
  if (typeof multipleOf === "number" && multipleOf > 0) {
    const isWhole = Number.isSafeInteger(multipleOf)
    tests.push((value) =>
      isWhole && Number.isSafeInteger(value) ? value % multipleOf === 0 : isMultiple(value / multipleOf)
    )
  }
  return tests
}

// 0.3 is a multiple of 0.1, although 0.3 / 0.1 is 2.9999999999999996.
const isMultiple = (quotient: number): boolean =>
  Math.abs(quotient - Math.round(quotient)) <= 4 * Number.EPSILON * Math.abs(quotient)

const listChecks = (schema: JsonSchema): ReadonlyArray<Test<List>> => [
  ...countChecks<List>("Items", schema, (value) => value.length),
  ...(schema["uniqueItems"] === true ? [isWithoutDuplicates] : [])
]

const isWithoutDuplicates = (items: List): boolean =>
  new Set(items.map((item) => canonical(item))).size === items.length

const countChecks = <A>(what: string, schema: JsonSchema, count: (value: A) => number): Array<Test<A>> => {
  const [min, max] = [schema[`min${what}`], schema[`max${what}`]]
  return [
    ...(typeof min === "number" ? [(value: A) => count(value) >= min] : []),
    ...(typeof max === "number" ? [(value: A) => count(value) <= max] : [])
  ]
}

const codePoints = (text: string): number => {
  let count = text.length
  for (let at = 1; at < text.length; at++) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800) count--
  }
  return count
}
