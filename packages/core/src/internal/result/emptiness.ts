/*
 * Whether a result is empty, if its tool does not say so itself (`Tool.Empty`).
 */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import { isA } from "../value/untrusted.ts"

/** Whether a value says that there is nothing: nothing at all, no items, or lists without items. */
export const hasNothing = (value: unknown): boolean => {
  if (value === undefined || value === null || value === "") return true
  if (Array.isArray(value)) return value.length === 0
  if (isA(Map)(value) || isA(Set)(value)) return value.size === 0
  if (Option.isOption(value)) return Option.isNone(value)
  if (!Predicate.isObject(value)) return false
  const fields = Object.values(value)
  return fields.some(Array.isArray) ? fields.every(saysNothing) : fields.length === 0 && isPlain(value)
}

// Whether a field may appear next to an empty list in an empty result: a count of zero, the first page number, a
// flag, or the time of the answer. Any other string may carry information, such as the name of the list's owner.
const saysNothing = (field: unknown): boolean => {
  if (Array.isArray(field)) return field.length === 0
  if (typeof field === "number") return field <= 1
  return !field || field === true || isTime(field)
}

const isTime = (field: unknown): boolean =>
  typeof field === "string"
    ? /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d[\d:.]{0,16}(?:Z|[+-]\d\d:?\d\d)?)?$/.test(field)
    : DateTime.isDateTime(field) || Predicate.isDate(field)

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
