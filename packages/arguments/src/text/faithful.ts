import type { Json, JsonArray, JsonObject } from "../json.ts"

const unfaithful = -1
const largest = Number.MAX_SAFE_INTEGER

/**
 * Reports whether a parsed value preserves everything that its JSON text says.
 *
 * `JSON.parse` silently accepts repeated keys, integers that lose digits, numbers that become infinite,
 * keys that reach a prototype, and any depth. This check looks at the value, and as little as possible at
 * the text, because every call pays for it.
 *
 * Why count colons? Outside strings, JSON has one colon for each member of an object. If the text has as many
 * colons as the value has keys, no key was repeated. Colons inside strings are counted in the value.
 */
export const isFaithful = (value: Json, text: string, depth: number): boolean => {
  const keys = isContainer(value) ? countKeys(value, depth) : 0
  if (keys === unfaithful) return false
  // V8 may mistake a key that is written with an escape for an earlier key (nodejs/node#63785). That earlier
  // key contains a backslash.
  if (text.includes("\\") && hasBackslash(value)) return false
  const colons = countColons(text)
  return colons === keys || colons === keys + countColonsIn(value) && !escapedColon.test(text)
}

/** Counts the keys of all objects. Returns `unfaithful` if the text may say something that the value does not. */
const countKeys = (value: JsonArray | JsonObject, depth: number): number => {
  if (depth === 0) return unfaithful
  let keys = 0
  if (isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const count = countKeysIn(value[index]!, depth)
      if (count === unfaithful) return unfaithful
      keys += count
    }
    return keys
  }
  for (const key in value) {
    const item = value[key]!
    const count = isPrototypeKey(key, item) ? unfaithful : countKeysIn(item, depth)
    if (count === unfaithful) return unfaithful
    keys += 1 + count
  }
  return keys
}

const countKeysIn = (item: Json, depth: number): number => {
  if (typeof item === "number") return item > largest || item < -largest ? unfaithful : 0
  return isContainer(item) ? countKeys(item, depth - 1) : 0
}

/** True for an array or an object. */
export const isContainer = (value: Json | undefined): value is JsonArray | JsonObject =>
  typeof value === "object" && value !== null

const isArray = (value: JsonArray | JsonObject): value is JsonArray => Array.isArray(value)

const countColons = (text: string): number => {
  let colons = 0
  for (let at = text.indexOf(":"); at !== -1; at = text.indexOf(":", at + 1)) colons++
  return colons
}

const escapedColon = /\\u003a/i

// Keys may contain colons, too.
const countColonsIn = (value: Json): number => {
  if (typeof value === "string") return countColons(value)
  if (!isContainer(value)) return 0
  let colons = 0
  for (const [key, item] of Object.entries(value)) {
    colons += (Array.isArray(value) ? 0 : countColons(key)) + countColonsIn(item)
  }
  return colons
}

const hasBackslash = (value: Json): boolean =>
  isContainer(value) &&
  Object.entries(value).some(([key, item]) => key.includes("\\") || hasBackslash(item))

/** True for keys that reach an object's prototype when the object is copied. They are refused at any depth. */
export const isPrototypeKey = (key: string, value: Json): boolean =>
  key === "__proto__" ||
  key === "constructor" && isContainer(value) && Object.hasOwn(value, "prototype")

/** Returns the result of `JSON.parse`; `undefined` if it throws. */
export const parseOrUndefined = (text: string): Json | undefined => {
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

// The stack of the error is not used, and capturing it costs as much as reading the text. Only V8 has this
// setting. (Effect does the same.)
const errors: ErrorConstructor & { stackTraceLimit?: number | undefined } = Error
const isLimitWritable = Object.getOwnPropertyDescriptor(errors, "stackTraceLimit")?.writable === true
