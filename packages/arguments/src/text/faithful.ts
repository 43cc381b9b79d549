import type { Json, JsonArray, JsonObject } from "../json.ts"

/**
 * Does a value say all that its text says? `JSON.parse` lets pass without a word: keys that stand twice, whole numbers that lose digits,
 * numbers that become infinite, keys that reach a prototype, and any depth. This looks at the value and hardly at the text, since
 * every call pays for it.
 *
 * Why count colons? A text has as many members as colons outside of its strings. When it has as many colons as the value
 * has keys, no key was there twice; and where strings have colons of their own, those can be counted in the value.
 */
export const isFaithful = (value: Json, text: string, depth: number): boolean => {
  const keys = typeof value === "object" && value !== null ? countKeys(value, depth) : 0
  if (keys === unfaithful) return false
  // V8 may take a key with an escape in it for another one that it has seen (nodejs/node#63785): that one has a backslash.
  if (text.includes("\\") && hasBackslash(value)) return false
  const colons = countColons(text)
  return colons === keys || colons === keys + colonsWithin(value) && !escapedColon.test(text)
}

const unfaithful = -1
const largest = Number.MAX_SAFE_INTEGER

/** How many keys there are in all of its objects, or that there is something that the text may say in another way. */
const countKeys = (value: JsonArray | JsonObject, left: number): number => {
  if (left === 0) return unfaithful
  let keys = 0
  if (isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const inside = countWithin(value[index]!, left)
      if (inside === unfaithful) return unfaithful
      keys += inside
    }
    return keys
  }
  for (const key in value) {
    const item = value[key]!
    const inside = isPrototypeKey(key, item) ? unfaithful : countWithin(item, left)
    if (inside === unfaithful) return unfaithful
    keys += 1 + inside
  }
  return keys
}

const countWithin = (item: Json, left: number): number => {
  if (typeof item === "number") return item > largest || item < -largest ? unfaithful : 0
  return typeof item === "object" && item !== null ? countKeys(item, left - 1) : 0
}

const isArray = (value: JsonArray | JsonObject): value is JsonArray => Array.isArray(value)

const countColons = (text: string): number => {
  let colons = 0
  for (let at = text.indexOf(":"); at !== -1; at = text.indexOf(":", at + 1)) colons++
  return colons
}

const escapedColon = /\\u003a/i

// Keys have colons, too.
const colonsWithin = (value: Json): number => {
  if (typeof value === "string") return countColons(value)
  if (typeof value !== "object" || value === null) return 0
  let colons = 0
  for (const [key, item] of Object.entries(value)) {
    colons += (Array.isArray(value) ? 0 : countColons(key)) + colonsWithin(item)
  }
  return colons
}

const hasBackslash = (value: Json): boolean =>
  typeof value === "object" && value !== null &&
  Object.entries(value).some(([key, item]) => key.includes("\\") || hasBackslash(item))

/** Keys that reach an object's prototype when somebody copies them: refused, wherever they are. */
export const isPrototypeKey = (key: string, value: Json): boolean =>
  key === "__proto__" ||
  key === "constructor" && typeof value === "object" && value !== null && Object.hasOwn(value, "prototype")

/** What `JSON.parse` makes of a text; `undefined` where it throws. */
export const parsed = (text: string): Json | undefined => {
  const limit = errors.stackTraceLimit
  if (isLimitWritable) errors.stackTraceLimit = 0
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  } finally {
    if (isLimitWritable) errors.stackTraceLimit = limit
  }
}

// Nobody looks at the stack of the error, and capturing it costs as much as reading the text. Only V8 has a limit. (Effect does the same.)
const errors: ErrorConstructor & { stackTraceLimit?: number | undefined } = Error
const isLimitWritable = Object.getOwnPropertyDescriptor(errors, "stackTraceLimit")?.writable === true
