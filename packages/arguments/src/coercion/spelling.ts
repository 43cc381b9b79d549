/**
 * Keys that differ from declared keys only in case, `-`, `_` and spaces. A written key is renamed only if it
 * matches exactly one declared key, and no other written key matches the same declared key.
 */
import { hasKey, isObject, isString, type JsonSchema, keysOf } from "../json.ts"
import { newMap, newSet } from "../memo.ts"
import { allowsKind, choicesOf, patternsFor, propertiesOf, requiredOf, valueAt } from "../schema/document.ts"
import { longestKey, spellingsOf, wrapperOf } from "../schema/mistakenKeys.ts"
import { foldName, groupBy, isList, isRecord, type Record, type Value } from "../value.ts"
import { isBlank } from "./reading.ts"

/** An object's undeclared keys that match a declared key in a different spelling. */
export interface Respelled {
  /** Maps written keys to the declared keys that they mean. */
  readonly meant: ReadonlyMap<string, string>
  /**
   * Returns true if an undeclared key of the object is another spelling of `key`. Which of the two was meant
   * is then unclear.
   */
  readonly isRival: (key: string) => boolean
}

/** Finds an object's undeclared keys that are spelled like declared keys, and the declared keys that they mean. */
export const findRespelled = (value: Record, flat: JsonSchema): Respelled => {
  const properties = propertiesOf(flat)
  const spellings = keysOf(value).filter((key) => !hasKey(properties, key) && key.length <= longestKey)
    .filter((key) =>
      foldName(key) !== "" && spellingsOf(properties).has(foldName(key)) && patternsFor(flat, key).length === 0
    )
  if (spellings.length === 0) return asWritten
  const undeclared = groupBy(spellings, foldName)
  const meant = newMap<string, string>()
  for (const [fold, [source = "", ...others]] of undeclared) {
    const [target = "", ...targets] = spellingsOf(properties).get(fold) ?? []
    const isMeant = others.length === 0 && targets.length === 0 && !hasKey(value, target) &&
      !isOfPrototype(source) && !isOfPrototype(target)
    if (isMeant) meant.set(source, target)
  }
  return { meant, isRival: (key) => undeclared.has(foldName(key)) }
}

/**
 * Reports whether a value could be made to fit a member of a union.
 *
 * Returns false for a list where a scalar is expected, unless the list has a single scalar. Returns false for
 * an object that lacks a required key, has a surplus key, or has the literal of another member. In a long
 * union, this rules out most members. Otherwise, each member would be tried at every level.
 */
export const mayBecome = (value: Value, member: JsonSchema): boolean => {
  if (isList(value)) return allowsKind(member, value) || value.length === 1 && typeof value[0] !== "object"
  if (!isRecord(value)) return true
  if (!allowsKind(member, value)) return false
  const keys = keysOf(value)
  // The content of a wrapper, or the target of a `$ref`, is not examined here.
  if (wrapperOf(value) !== undefined || member["$ref"] !== undefined) return true
  const properties = propertiesOf(member)
  const isOpen = member["additionalProperties"] !== false || member["patternProperties"] !== undefined
  const spelled = newSet<string>()
  for (const key of keys) {
    if (hasKey(properties, key)) {
      if (isAnotherLiteral(value[key]!, properties[key])) return false
      continue
    }
    const fold = key.length > longestKey ? "" : foldName(key)
    if (!isOpen && !spellingsOf(properties).has(fold)) return false
    spelled.add(fold)
  }
  return requiredOf(member).every((key) => hasKey(value, key) || spelled.has(foldName(key)))
}

// True if all choices are strings, and the value matches none of them in any spelling.
const isAnotherLiteral = (value: Value, property: unknown): boolean => {
  if (!isString(value) || !isObject(property) || property["nullable"] === true) return false
  const choices = isBlank(value) ? undefined : choicesOf(property)
  if (!choices || choices.length > 8) return false
  const fold = foldName(value)
  return choices.every((choice) => isString(choice) && choice !== value && foldName(choice) !== fold)
}

const asWritten: Respelled = { meant: newMap(), isRival: () => false }

const isOfPrototype = (key: string): boolean => valueAt(Object.prototype, key) !== undefined || key === "prototype"
