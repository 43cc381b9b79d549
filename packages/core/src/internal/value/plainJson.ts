import type * as Schema from "effect/Schema"
import { attempt } from "./untrusted.ts"

/**
 * The deepest nesting of a result, in levels. `JSON.stringify` and journals exhaust the stack only far beyond
 * this depth.
 */
export const maxDepth = 512

/** The reason why a value cannot be shown to a model or written to a journal. */
export type Unfit = "too_deep" | "no_json"

/**
 * Returns a value as plain JSON, or the reason why it has no JSON. A schema such as `Schema.Unknown` lets
 * class instances and undefined fields through. Such values are converted as `JSON.stringify` converts them.
 */
export const plainJson = (value: unknown): { readonly json: Schema.Json } | Unfit => {
  // Most results are small, and this check is fast.
  if (isSmall(value, 3)) return { json: asJson(value) }
  const shape = survey(value)
  if (shape === "too_deep") return shape
  if (shape === "plain") return { json: asJson(value) }
  const text = attempt((): string | undefined => JSON.stringify(value))
  return text === undefined ? "no_json" : { json: JSON.parse(text) }
}

/** True if a value is nested more deeply than a result may be. */
export const isTooDeep = (value: unknown): boolean => survey(value) === "too_deep"

/** True if a value is plain, with so few levels and members that the check allocates nothing. */
const isSmall = (value: unknown, levels: number): boolean => {
  if (!isObject(value)) return isScalar(value)
  if (levels === 0 || !isPlainObject(value)) return false
  if (Array.isArray(value)) return value.length <= 20 && value.every((member) => isSmall(member, levels - 1))
  let members = 0
  for (const key in value) {
    if (++members > 20 || !isSmall((value as Readonly<Record<string, unknown>>)[key], levels - 1)) return false
  }
  return true
}

// Goes level by level, not recursively, so that no depth overflows the stack.
const survey = (value: unknown): "plain" | "odd" | "too_deep" => {
  let level: ReadonlyArray<unknown> = [value]
  let isPlain = true
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === maxDepth && level.some(isObject)) return "too_deep"
    const next: Array<unknown> = []
    for (const member of level) {
      if (isObject(member)) {
        isPlain &&= isPlainObject(member)
        for (const inner of Array.isArray(member) ? member : Object.values(member)) next.push(inner)
      } else {
        isPlain &&= isScalar(member)
      }
    }
    // Visit shared values once per level. Otherwise, thirty nested objects that each have the next one twice
    // would need a billion visits.
    level = next.length > 1000 ? Array.from(new Set(next)) : next
  }
  return isPlain ? "plain" : "odd"
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

const isPlainObject = (value: object): boolean => {
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const isScalar = (value: unknown): boolean =>
  value === null || typeof value === "string" || typeof value === "boolean" ||
  typeof value === "number" && Number.isFinite(value)

// Every part of the value has been checked.
const asJson = (value: unknown) => value as Schema.Json

/** True if a JSON value is an object. */
export const isJsonObject = (value: Schema.Json): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
