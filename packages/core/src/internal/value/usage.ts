/*
 * What models used: tokens and money. An absent field was not reported, so it is unknown, and not 0.
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"

export const usageFields = {
  /** All tokens of the request, also those that the provider had in a cache. */
  inputTokens: Schema.optionalKey(Schema.Int),
  /** All tokens that the model wrote, also those of its reasoning. */
  outputTokens: Schema.optionalKey(Schema.Int),
  /** The input tokens that were read from the provider's cache. */
  cachedTokens: Schema.optionalKey(Schema.Int),
  /** The input tokens that were written to the provider's cache. */
  cacheWrittenTokens: Schema.optionalKey(Schema.Int),
  /** The output tokens of the model's reasoning. */
  reasoningTokens: Schema.optionalKey(Schema.Int),
  /** What it cost, in a currency of your choice: see `Model.priced`. */
  money: Schema.optionalKey(Schema.Finite)
}

export const sumFields = {
  ...usageFields,
  /** How many replies came without a count of their tokens, so that the sums are too small. Absent if none did. */
  unreported: Schema.optionalKey(Schema.Int)
}

type Fields = { readonly [Key in keyof typeof usageFields]?: number }

/** What several replies used. Each field is the sum of what was reported. */
export type UsageSum = Fields & { readonly unreported?: number }

const keys = [
  "inputTokens",
  "outputTokens",
  "cachedTokens",
  "cacheWrittenTokens",
  "reasoningTokens",
  "money",
  "unreported"
] as const

type Growing = { -readonly [Key in keyof UsageSum]: UsageSum[Key] }

// The objects are new ones of their callers, so they may grow.
const growing = <Fields extends object>(fields: Fields) => fields as Fields & Growing

/** Sets the fields of a new object to those of one usage plus another. */
export const addUsage = <Sum extends object>(sum: Sum, one: UsageSum, other: UsageSum): Sum & UsageSum => {
  const fields: Growing = growing(sum)
  for (const key of keys) {
    const [a, b] = [one[key], other[key]]
    if (a !== undefined || b !== undefined) fields[key] = (a ?? 0) + (b ?? 0)
  }
  return sum
}

/** Sets the fields of a new object to what a usage has grown by. What was not reported since then is absent. */
export const subtractUsage = <Rest extends object>(rest: Rest, usage: UsageSum, earlier: UsageSum): Rest & UsageSum => {
  const fields: Growing = growing(rest)
  for (const key of keys) {
    const [now, before] = [usage[key], earlier[key]]
    if (now !== undefined && now !== before) fields[key] = now - (before ?? 0)
  }
  return rest
}

/** Returns what one reply adds to a sum. */
export const reported = (usage: Fields | undefined): UsageSum =>
  usage === undefined || usage.inputTokens === undefined && usage.outputTokens === undefined
    ? { ...usage, unreported: 1 }
    : usage

/** The sum of input and output tokens, as far as they were reported. */
export const tokensOf = ({ inputTokens = 0, outputTokens = 0 }: UsageSum): number => inputTokens + outputTokens

/** True if nothing was reported. A report of 0 is a report. */
export const isNothing = (usage: UsageSum): boolean => keys.every((key) => usage[key] === undefined)

const isFinite = (value: unknown): boolean => value === undefined || Number.isFinite(value)
const isCount = (value: unknown): boolean => value === undefined || Number.isSafeInteger(value)

/** Returns an object without the fields that are `undefined`: schemas take only absent ones. */
export const withoutUndefined = <Fields extends object>(fields: Fields): Fields => {
  const entries = Object.entries(fields)
  return entries.every(([, value]) => value !== undefined)
    ? fields
    : fieldsOf(entries.filter(([, value]) => value !== undefined))
}

// Only optional fields can be `undefined`.
const fieldsOf = <Fields extends object>(entries: ReadonlyArray<readonly [string, unknown]>) =>
  Object.fromEntries(entries) as Fields

/** True if a value is a usage, or absent. */
export const isUsage = (usage: unknown): boolean =>
  usage === undefined ||
  Predicate.isObject(usage) && isFinite(usage["money"]) && keys.every((key) => key === "money" || isCount(usage[key]))
