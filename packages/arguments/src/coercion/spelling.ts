/**
 * Keys in another spelling: case, `-`, `_` and spaces. A key is renamed where one key alone is meant by it, and no other key says the same.
 */
import { isObject, type JsonSchema } from "../json.ts"
import { memoized } from "../memo.ts"
import { allowsKind, choicesOf, extraOf, isRequired, propertiesOf, requiredOf, valueAt } from "../schema/document.ts"
import { folded, grouped, isList, isRecord, type Record, type Value } from "../value.ts"
import { wrapperOf } from "./wrapper.ts"

/** What the keys of an object are respelled as. */
export interface Respelled {
  /** From keys as they were written to those that they mean. */
  readonly meant: ReadonlyMap<string, string>
  /** Is there an undeclared key that is spelled like this one? Which of the two was meant is not clear. */
  readonly isRival: (key: string) => boolean
}

/** Finds the undeclared keys of an object, and which declared ones they mean. */
export const respelled = (value: Record, flat: JsonSchema): Respelled => {
  const properties = propertiesOf(flat)
  const spellings = Object.keys(value).filter((key) => !Object.hasOwn(properties, key) && key.length <= longestKey)
    .filter((key) => folded(key) !== "" && spellingsOf(properties).has(folded(key)))
  if (spellings.length === 0) return asWritten
  const strangers = grouped(spellings, folded)
  const meant = new Map<string, string>()
  for (const [fold, [source = "", ...others]] of strangers) {
    const [target = "", ...targets] = spellingsOf(properties).get(fold) ?? []
    const isUnknown = extraOf(flat, source) === false
    const isMeant = others.length === 0 && targets.length === 0 && !Object.hasOwn(value, target) &&
      (isUnknown || isRequired(target, flat)) && !isOfPrototype(source) && !isOfPrototype(target)
    if (isMeant) meant.set(source, target)
  }
  return { meant, isRival: (key) => strangers.has(folded(key)) }
}

/**
 * May a value come to fit a member of a union at all? Not a list that is to be a scalar, nor an object that has no key for a required one, one key
 * too many, or the literal of another member. Of a long union most members are passed over so, which would each be tried at every level.
 */
export const mayBecome = (value: Value, member: JsonSchema): boolean => {
  if (isList(value)) return allowsKind(member, value) || value.length === 1 && typeof value[0] !== "object"
  if (!isRecord(value)) return true
  if (!allowsKind(member, value)) return false
  const keys = Object.keys(value)
  // What is inside of a wrapper is not looked at.
  if (wrapperOf(value) !== undefined || member["$ref"] !== undefined) return true
  const properties = propertiesOf(member)
  const isOpen = member["additionalProperties"] !== false || member["patternProperties"] !== undefined
  const spelled = new Set<string>()
  for (const key of keys) {
    if (Object.hasOwn(properties, key)) {
      if (isAnotherLiteral(value[key]!, properties[key])) return false
      continue
    }
    const fold = key.length > longestKey ? "" : folded(key)
    if (!isOpen && !spellingsOf(properties).has(fold)) return false
    spelled.add(fold)
  }
  return requiredOf(member).every((key) => Object.hasOwn(value, key) || spelled.has(folded(key)))
}

// A choice of texts, and a text that is none of them in any spelling.
const isAnotherLiteral = (value: Value, property: unknown): boolean => {
  if (typeof value !== "string" || !isObject(property) || property["nullable"] === true) return false
  const choices = choicesOf(property)
  if (choices === undefined || choices.length > 8) return false
  const fold = folded(value)
  return choices.every((choice) => typeof choice === "string" && choice !== value && folded(choice) !== fold)
}

const asWritten: Respelled = { meant: new Map(), isRival: () => false }

const spellingsOf = memoized((properties: JsonSchema) => grouped(Object.keys(properties), folded))

const isOfPrototype = (key: string): boolean => valueAt(Object.prototype, key) !== undefined || key === "prototype"

const longestKey = 200
