/**
 * The keywords of a JSON Schema that a value passes or fails by itself: its type, its choices, its bounds.
 */
import type * as JsonSchema from "effect/JsonSchema"
import { isDate, isDateTime } from "./calendar.ts"
import { canonical } from "./canonical.ts"
import { choicesOf, patternOf } from "./form.ts"
import { isList, isRecord, type List, numberText, type Value } from "./written.ts"

/** Are two JSON values equal? */
export const isEqual = (first: unknown, second: unknown): boolean =>
  first === second ||
  typeof first === "object" && first !== null && typeof second === "object" && second !== null &&
    canonical(first) === canonical(second)

/** What a value is told of by itself, without its children: that it is of another kind, or out of bounds. */
export const complaintOf = (value: Value, schema: JsonSchema.JsonSchema): "kind" | "bound" | undefined => {
  const { type } = schema
  if (type !== undefined && !(Array.isArray(type) ? type.some((type) => isOf(type, value)) : isOf(type, value))) {
    return "kind"
  }
  const choices = choicesOf(schema)
  if (choices !== undefined && !choices.some((choice) => isEqual(choice, value))) return "kind"
  // A text that is no date or no number is of another kind, whatever bounds it keeps.
  if (typeof value === "string" && !isOfForm(value, schema)) return "kind"
  return isWithin(value, schema) ? undefined : "bound"
}

const isWithin = (value: Value, schema: JsonSchema.JsonSchema): boolean =>
  typeof value === "string"
    ? isTextWithin(value, schema)
    : typeof value === "number"
    ? isNumberWithin(value, schema)
    : isList(value)
    ? isListWithin(value, schema)
    : !isRecord(value) || isCountWithin(() => Object.keys(value).length, schema, "Properties")

const isOf = (type: unknown, value: Value): boolean => {
  switch (type) {
    case "string":
    case "boolean":
      return typeof value === type
    case "number":
      return typeof value === "number" && Number.isFinite(value)
    case "integer":
      return Number.isSafeInteger(value)
    case "null":
      return value === null
    case "array":
      return isList(value)
    case "object":
      return isRecord(value)
    default:
      return true
  }
}

const isOfForm = (text: string, { format, pattern }: JsonSchema.JsonSchema): boolean =>
  format === "date"
    ? isDate(text)
    : format === "date-time"
    ? isDateTime(text)
    : pattern !== numberText.source || numberText.test(text)

const isTextWithin = (text: string, schema: JsonSchema.JsonSchema): boolean => {
  const { pattern } = schema
  if (!isCountWithin(() => codePoints(text), schema, "Length")) return false
  return typeof pattern !== "string" || patternOf(pattern)?.test(text) !== false
}

const isNumberWithin = (value: number, schema: JsonSchema.JsonSchema): boolean => {
  const { exclusiveMaximum, exclusiveMinimum, maximum, minimum, multipleOf } = schema
  if (typeof minimum === "number" && value < minimum) return false
  if (typeof maximum === "number" && value > maximum) return false
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum) return false
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum) return false
  return typeof multipleOf !== "number" || multipleOf <= 0 || isMultiple(value / multipleOf)
}

// 0.3 is a multiple of 0.1, although 0.3 / 0.1 is 2.9999999999999996.
const isMultiple = (quotient: number): boolean =>
  Math.abs(quotient - Math.round(quotient)) <= 4 * Number.EPSILON * Math.abs(quotient)

const isListWithin = (value: List, schema: JsonSchema.JsonSchema): boolean =>
  isCountWithin(() => value.length, schema, "Items") && (schema["uniqueItems"] !== true || isWithoutDuplicates(value))

const isWithoutDuplicates = (items: List): boolean =>
  new Set(items.map((item) => typeof item === "object" && item !== null ? canonical(item) : JSON.stringify(item)))
    .size === items.length

const isCountWithin = (count: () => number, schema: JsonSchema.JsonSchema, what: string): boolean => {
  const [least, most] = [schema[`min${what}`], schema[`max${what}`]]
  if (least === undefined && most === undefined) return true
  const counted = count()
  return !(typeof least === "number" && counted < least) && !(typeof most === "number" && counted > most)
}

const codePoints = (text: string): number => {
  let count = text.length
  for (let at = 1; at < text.length; at++) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800) count--
  }
  return count
}
