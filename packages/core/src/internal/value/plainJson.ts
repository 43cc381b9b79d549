import type * as Schema from "effect/Schema"
import { attempted } from "./untrusted.ts"

/** How deeply a result may be nested: far less than what JSON and journals can write without running out of stack. */
export const mostDepth = 512

/** Why a value cannot be told to a model, or written into a journal. */
export type Unfit = "too_deep" | "no_json"

/**
 * A value as plain JSON, or why it is none. A schema of anything lets instances and undefined fields through: they become what
 * `JSON.stringify` makes of them.
 */
export const plainJson = (value: unknown): { readonly json: Schema.Json } | Unfit => {
  // Most results are small, and seen at a glance.
  if (isSmall(value, 3)) return { json: asJson(value) }
  const found = survey(value)
  if (found === "too_deep") return found
  if (found === "plain") return { json: asJson(value) }
  const text = attempted((): string | undefined => JSON.stringify(value))
  return text === undefined ? "no_json" : { json: JSON.parse(text) }
}

/** Is a value nested more deeply than a result may be? */
export const isTooDeep = (value: unknown): boolean => survey(value) === "too_deep"

/** Is it plain, in so few levels and so few members that nothing need be kept of it? */
const isSmall = (value: unknown, levels: number): boolean => {
  if (!isObject(value)) return isScalar(value)
  if (levels === 0 || !isPlainObject(value)) return false
  let members = 0
  for (const key in value) {
    if (++members > 20 || !isSmall((value as Readonly<Record<string, unknown>>)[key], levels - 1)) return false
  }
  return true
}

// Level by level, so that no depth takes it down.
const survey = (value: unknown): "plain" | "odd" | "too_deep" => {
  let level: ReadonlyArray<unknown> = [value]
  let isPlain = true
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === mostDepth && level.some(isObject)) return "too_deep"
    const next: Array<unknown> = []
    for (const member of level) {
      if (isObject(member)) {
        isPlain &&= isPlainObject(member)
        for (const inner of Array.isArray(member) ? member : Object.values(member)) next.push(inner)
      } else {
        isPlain &&= isScalar(member)
      }
    }
    // What is shared is looked at once, or a few values that hold each other twice would be a million.
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

// It has been looked at, all of it.
const asJson = (value: unknown) => value as Schema.Json
