import { asJson, isContainer, isNumber } from "./json.ts"
import { deepest } from "./options.ts"
import { isPrototypeKey } from "./text/faithful.ts"
import { isList } from "./value.ts"

/**
 * Returns a value from a program with a symbol in place of each part that is not JSON, so that it fits no schema: a function,
 * an instance of a class, a part that contains itself. A value of plain JSON stays as it is.
 */
export const plain = (value: unknown): unknown => {
  const above = new Set<object>()
  let parts = 0
  const isPlain = (value: unknown): boolean => {
    if (!isContainer(value)) {
      return isNumber(value)
        ? Number.isFinite(value)
        : scalars.has(typeof value) || value === null
    }
    if (above.has(value) || ++parts > maxParts || !isOfPlainClass(value)) return false
    // What is too deep is refused later.
    if (above.size > deepest) return true
    above.add(value)
    const isAllPlain = isList(value) ? value.every(isPlain) : Object.entries(value).every(isPlainMember)
    above.delete(value)
    return isAllPlain
  }
  // A key that reaches the prototype of a copy is refused, as in a text.
  const isPlainMember = ([key, part]: readonly [string, unknown]) => !isPrototypeKey(key, asJson(part)) && isPlain(part)
  const replaced = (value: unknown): unknown => {
    if (isPlain(value)) return value
    if (!isContainer(value) || above.has(value) || parts > maxParts || !isOfPlainClass(value)) return notJson
    above.add(value)
    const copy = isList(value)
      ? value.map(replaced)
      : Object.fromEntries(
        Object.entries(value).map(([key, part]) => [key, isPrototypeKey(key, asJson(part)) ? notJson : replaced(part)])
      )
    above.delete(value)
    return copy
  }
  return replaced(value)
}

const scalars = new Set(["boolean", "string"])

// A shared part is walked each time, so a small value may have very many parts.
const maxParts = 1_000_000

const notJson = Symbol("a part that is not JSON")

const isOfPlainClass = (value: object): boolean => {
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
