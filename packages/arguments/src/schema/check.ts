/**
 * Checks a value itself, without its parts: type, choices, format, bounds. A check is compiled once for each
 * schema, because every item of a long list is checked against the same schema.
 *
 * `sureTest` also checks the parts, for schemas that use only the commonest keywords. Nearly all values fit, and this walk
 * finds out at the least cost.
 */
import {
  hasKey,
  isArray,
  isBoolean,
  isContainer,
  isNumber,
  isObject,
  isString,
  type JsonSchema,
  keysOf
} from "../json.ts"
import { memoize } from "../memo.ts"
import { deepest, type Formats } from "../options.ts"
import { isHeld, isList, isRecord, isUnsafe, type List, loosely, partsIn, type Record, type Value } from "../value.ts"
import { isDate, isDateTime } from "./calendar.ts"
import { choicesOf, declaredBy, propertiesOf, requiredOf } from "./document.ts"
import { canonical } from "./equal.ts"
import { words } from "./keyword.ts"
import { isWrapper } from "./mistakenKeys.ts"
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

const keyKeywords = words(
  "dependencies dependentRequired dependentSchemas patternProperties propertyNames unevaluatedProperties"
)

const partKeywords = words("$ref allOf anyOf if not oneOf")

/** The formats that are always checked. */
export const standardFormats: Formats = { date: isDate, "date-time": isDateTime }

/**
 * The pattern of a string that contains a number: JSON's grammar, with exponents up to 299, because a larger
 * exponent may make the number infinite.
 */
export const numberPattern = "^-?(?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][+-]?[0-2]?\\d{1,2})?$"

/** The checks of schemas, with certain formats. */
export interface Checks {
  readonly of: (schema: JsonSchema) => Check
  /** Returns a quick test of values: true for one that fits, and in which no key can be mistaken. False: this is not known. */
  readonly sureTest: (schema: JsonSchema) => SureTest
}

/** Returns the checks of schemas, with the standard formats and these. */
export const checksWith: (formats: Formats) => Checks = memoize((formats) => {
  const all = { ...standardFormats, ...formats }
  const of = memoize((schema: JsonSchema): Check => ({
    complaintOf: checkFor(schema, all),
    hasParts: partKeywords.some((keyword) => schema[keyword] !== undefined),
    isReference: isString(schema["$ref"]) && keysOf(schema).length === 1,
    declared: declaredBy(schema),
    isPlain: keyKeywords.every((keyword) => schema[keyword] === undefined)
  }))
  const sureTest: (schema: JsonSchema) => SureTest = memoize((schema) => sureTestFor(schema, of(schema), sureTest))
  return { of, sureTest }
})

/** @param depth how deeply the value is nested */
type SureTest = (value: Value, depth: number) => boolean

const unsureKeywords = [
  ...partKeywords,
  ...keyKeywords,
  ...words("additionalItems contains prefixItems unevaluatedItems")
]

const sureTestFor = (schema: JsonSchema, check: Check, sureTest: (schema: JsonSchema) => SureTest): SureTest => {
  const { additionalProperties: extra, items } = schema
  if (isArray(items) || unsureKeywords.some((keyword) => schema[keyword] !== undefined)) return () => false
  // A schema that a program built may contain itself, so a test is made when it is first needed.
  const testOf = (schema: unknown): SureTest => {
    if (!isObject(schema)) return schema === false ? () => false : isSurelyJson
    let test: SureTest | undefined
    return (value, depth) => (test ??= sureTest(schema))(value, depth)
  }
  const { complaintOf, declared } = check
  const properties = propertiesOf(schema)
  const required = new Set(requiredOf(schema))
  const tests = new Map(declared.map((key) => [key, testOf(properties[key])]))
  const spellings = new Set(declared.map(loosely))
  const [itemTest, extraTest] = [testOf(items), testOf(extra)]
  return (value, depth) => {
    if (complaintOf(value)) return false
    if (!isContainer(value)) return !isNumber(value) || isHeld(value)
    if (depth >= deepest) return false
    if (isList(value)) return value.every((item) => itemTest(item, depth + 1))
    if (!isRecord(value)) return false
    let missing = required.size
    // Faster than a list of the keys. An inherited key is an undeclared one.
    for (const key in value) {
      const test = tests.get(key) ??
        (key.length <= 40 && !isWrapper(key) && !spellings.has(loosely(key)) && extraTest)
      if (!test || !test(value[key]!, depth + 1)) return false
      if (required.has(key)) missing--
    }
    return missing === 0
  }
}

/** True for JSON that is not nested too deeply, and has no number that may have lost digits. */
export const isSurelyJson: SureTest = (value, depth) =>
  isContainer(value)
    ? depth < deepest && !isUnsafe(value) && partsIn(value).every((part) => isSurelyJson(part, depth + 1))
    : isNumber(value)
    ? isHeld(value)
    : isString(value) || isBoolean(value) || value === null

const checkFor = (schema: JsonSchema, formats: Formats): Check["complaintOf"] => {
  const { type } = schema
  const allowed = type === undefined ? anyType : bitsFor(isArray(type) ? type : [type])
  const isChoice = choiceCheck(choicesOf(schema))
  const [isForm, text] = textChecks(schema, formats)
  const number = all(numberChecks(schema))
  const list = all<List>([
    ...countChecks<List>("Items", schema, (value) => value.length),
    schema["uniqueItems"] === true ? isWithoutDuplicates : undefined
  ])
  const record = all(countChecks<Record>("Properties", schema, (value) => keysOf(value).length))
  const complaintOnType = (value: Value) => (bitOf(value) & allowed) === 0 ? "type" : undefined
  // Most schemas say nothing of a value but its type and its parts.
  if ([isChoice, isForm, text, number, list, record].every((test) => test === pass)) return complaintOnType
  const isWithin = (value: Value) =>
    isString(value)
      ? text(value)
      : isNumber(value)
      ? number(value)
      : isList(value)
      ? list(value)
      : !isRecord(value) || record(value)
  return (value) =>
    complaintOnType(value) ??
      (!isChoice(value)
        ? "choice"
        : isString(value) && !isForm(value)
        ? "format"
        : isWithin(value)
        ? undefined
        : "bound")
}

// -----------------------------------------------------------------------------
// Types and choices
// -----------------------------------------------------------------------------

// Each type has a bit: 1 for null, 2 for a boolean, and so on.
const bits: ReadonlyMap<unknown, number> = new Map(
  words("null boolean number integer string array object").map((type, index) => [type, 1 << index])
)
const anyType = 127
const infinite = 128
// The type of a value that is not JSON: a function, or `undefined`.
const noType = 0

const bitsFor = (types: ReadonlyArray<unknown>): number =>
  types.reduce<number>((all, type) => all | (bits.get(type) ?? 0), 0)

const bitOf = (value: Value): number => {
  if (isString(value)) return 16
  // An integer beyond the safe range counts only as a number: it may differ from the integer that was written.
  if (isNumber(value)) return Number.isSafeInteger(value) ? 12 : Number.isFinite(value) ? 4 : infinite
  if (isBoolean(value)) return 2
  return value === null ? 1 : typeof value !== "object" ? noType : isList(value) ? 32 : 64
}

const choiceCheck = (choices: ReadonlyArray<unknown> | undefined): (value: Value) => boolean => {
  if (!choices) return pass
  const simple = new Set(choices)
  const containers = new Set(choices.filter(isContainer).map((choice) => canonical(choice)))
  return (value) => simple.has(value) || containers.size > 0 && isContainer(value) && containers.has(canonical(value))
}

// -----------------------------------------------------------------------------
// Bounds
// -----------------------------------------------------------------------------

type Test<A> = (value: A) => boolean

const pass = () => true

const all = <A>(optional: ReadonlyArray<Test<A> | undefined>): Test<A> => {
  const tests = optional.filter((test) => test !== undefined)
  const [only = pass] = tests
  return tests.length < 2 ? only : (value) => tests.every((test) => test(value))
}

/** Returns what a string must be, and its bounds. */
const textChecks = (schema: JsonSchema, formats: Formats): readonly [Test<string>, Test<string>] => {
  const { format, pattern } = schema
  const formatTest = isString(format) && hasKey(formats, format) ? formats[format] : undefined
  const matched = isString(pattern) ? patternOf(pattern)?.test : undefined
  const isNumberForm = pattern === numberPattern
  return [
    all<string>([formatTest && ((text) => Object.is(formatTest(text), true)), isNumberForm ? matched : undefined]),
    all<string>([...countChecks<string>("Length", schema, codePoints), isNumberForm ? undefined : matched])
  ]
}

/** Returns the bounds of a number at one end: an inclusive and an exclusive one. */
export const boundsAt = (
  end: "Maximum" | "Minimum",
  schema: JsonSchema
): readonly [inclusive: unknown, exclusive: unknown] => {
  const [inclusive, exclusive] = [schema[end.toLowerCase()], schema[`exclusive${end}`]]
  // In OpenAPI 3.0, `exclusiveMinimum` is a boolean, which says whether the `minimum` beside it is exclusive.
  return exclusive === true ? [undefined, inclusive] : [inclusive, exclusive]
}

const numberChecks = (schema: JsonSchema): ReadonlyArray<Test<number> | undefined> => {
  const [minimum, above] = boundsAt("Minimum", schema)
  const [maximum, below] = boundsAt("Maximum", schema)
  return [
    compared<number>(minimum, (value, bound) => value >= bound),
    compared<number>(maximum, (value, bound) => value <= bound),
    compared<number>(above, (value, bound) => value > bound),
    compared<number>(below, (value, bound) => value < bound),
    compared<number>(
      schema["multipleOf"],
      (value, of) => Number.isSafeInteger(of) && Number.isSafeInteger(value) ? value % of === 0 : isMultiple(value / of)
    )
  ]
}

const compared = <A>(bound: unknown, isWithin: (value: A, bound: number) => boolean): Test<A> | undefined =>
  isNumber(bound) ? (value) => isWithin(value, bound) : undefined

// 0.3 is a multiple of 0.1, although 0.3 / 0.1 is 2.9999999999999996.
const isMultiple = (quotient: number): boolean =>
  Math.abs(quotient - Math.round(quotient)) <= 4 * Number.EPSILON * Math.abs(quotient)

const isWithoutDuplicates = (items: List): boolean =>
  new Set(items.map((item) => canonical(item))).size === items.length

const countChecks = <A>(what: string, schema: JsonSchema, count: (value: A) => number) => [
  compared<A>(schema[`min${what}`], (value, least) => count(value) >= least),
  compared<A>(schema[`max${what}`], (value, most) => count(value) <= most)
]

const codePoints = (text: string): number => {
  let count = text.length
  for (let at = 1; at < text.length; at++) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800) count--
  }
  return count
}
