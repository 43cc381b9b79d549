/**
 * Keys in another spelling: case, `-`, `_` and spaces. A key is renamed where one key alone is meant by it, and no other key says the same.
 */
import type { JsonSchema } from "../json.ts"
import { extraOf, propertiesOf, requiredOf, valueAt } from "../schema/document.ts"
import { folded, type Record } from "../value.ts"

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
  let strangers: Map<string, Array<string>> | undefined
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(properties, key) || key.length > longestKey) continue
    const fold = folded(key)
    if (fold === "" || !spellingsOf(properties).has(fold)) continue
    strangers ??= new Map()
    push(strangers, fold, key)
  }
  if (strangers === undefined) return asWritten
  const rivals = strangers
  const meant = new Map<string, string>()
  for (const [fold, [source = "", ...others]] of strangers) {
    const [target = "", ...targets] = spellingsOf(properties).get(fold) ?? []
    const isUnknown = extraOf(flat, source) === false
    const isMeant = others.length === 0 && targets.length === 0 && !Object.hasOwn(value, target) &&
      (isUnknown || requiredOf(flat).includes(target)) && !isOfPrototype(source) && !isOfPrototype(target)
    if (isMeant) meant.set(source, target)
  }
  return { meant, isRival: (key) => rivals.has(folded(key)) }
}

const asWritten: Respelled = { meant: new Map(), isRival: () => false }

const spellingsOf = (properties: JsonSchema): ReadonlyMap<string, ReadonlyArray<string>> => {
  const known = spellings.get(properties)
  if (known !== undefined) return known
  const made = new Map<string, Array<string>>()
  for (const key of Object.keys(properties)) push(made, folded(key), key)
  spellings.set(properties, made)
  return made
}

const spellings = new WeakMap<JsonSchema, ReadonlyMap<string, ReadonlyArray<string>>>()

const isOfPrototype = (key: string): boolean => valueAt(Object.prototype, key) !== undefined || key === "prototype"

const longestKey = 200

const push = (lists: Map<string, Array<string>>, key: string, item: string): void => {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [item])
  else list.push(item)
}
