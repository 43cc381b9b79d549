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

/**
 * What several replies used, with a place for each field: every turn adds to it, and objects of one form are added faster. What
 * was not reported is `undefined`.
 */
export interface Totals {
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly cachedTokens: number | undefined
  readonly cacheWrittenTokens: number | undefined
  readonly reasoningTokens: number | undefined
  readonly money: number | undefined
  readonly unreported: number | undefined
}

type Counted = Partial<Totals>

export const noTotals: Totals = {
  inputTokens: undefined,
  outputTokens: undefined,
  cachedTokens: undefined,
  cacheWrittenTokens: undefined,
  reasoningTokens: undefined,
  money: undefined,
  unreported: undefined
}

export const plusUsage = (one: Counted, other: Counted): Totals => ({
  inputTokens: plus(one.inputTokens, other.inputTokens),
  outputTokens: plus(one.outputTokens, other.outputTokens),
  cachedTokens: plus(one.cachedTokens, other.cachedTokens),
  cacheWrittenTokens: plus(one.cacheWrittenTokens, other.cacheWrittenTokens),
  reasoningTokens: plus(one.reasoningTokens, other.reasoningTokens),
  money: plus(one.money, other.money),
  unreported: plus(one.unreported, other.unreported)
})

const plus = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : a + b

/** Returns what a usage has grown by. What was not reported since then is `undefined`. */
export const minusUsage = (now: Totals, before: Totals): Totals => ({
  inputTokens: minus(now.inputTokens, before.inputTokens),
  outputTokens: minus(now.outputTokens, before.outputTokens),
  cachedTokens: minus(now.cachedTokens, before.cachedTokens),
  cacheWrittenTokens: minus(now.cacheWrittenTokens, before.cacheWrittenTokens),
  reasoningTokens: minus(now.reasoningTokens, before.reasoningTokens),
  money: minus(now.money, before.money),
  unreported: minus(now.unreported, before.unreported)
})

const minus = (now: number | undefined, before: number | undefined): number | undefined =>
  now === undefined || now === before ? undefined : now - (before ?? 0)

/** Returns the fields that were reported. */
export const reportedIn = (totals: Totals): UsageSum => {
  const sum: { -readonly [Key in keyof UsageSum]: UsageSum[Key] } = {}
  for (const key of keys) if (totals[key] !== undefined) sum[key] = totals[key]
  return sum
}

const keys = [
  "inputTokens",
  "outputTokens",
  "cachedTokens",
  "cacheWrittenTokens",
  "reasoningTokens",
  "money",
  "unreported"
] as const

/** Adds the usage of a reply, or that its tokens were not counted. */
export const plusReply = (totals: Totals, usage: Fields | undefined): Totals => {
  if (usage === undefined) return plusUsage(totals, uncounted)
  const sum = plusUsage(totals, usage)
  const isCounted = usage.inputTokens !== undefined || usage.outputTokens !== undefined
  return isCounted ? sum : plusUsage(sum, uncounted)
}

const uncounted: Totals = { ...noTotals, unreported: 1 }

/** The sum of input and output tokens, as far as they were reported. */
export const tokensOf = ({ inputTokens = 0, outputTokens = 0 }: Counted): number => inputTokens + outputTokens

/** True if nothing was reported. A report of 0 is a report. */
export const isNothing = (usage: Counted): boolean =>
  usage.inputTokens === undefined && usage.outputTokens === undefined && usage.cachedTokens === undefined &&
  usage.cacheWrittenTokens === undefined && usage.reasoningTokens === undefined && usage.money === undefined &&
  usage.unreported === undefined

/** True if a value is a usage, or absent. */
export const isUsage = (usage: unknown): boolean =>
  usage === undefined ||
  Predicate.isObject(usage) && isCount(usage["inputTokens"]) && isCount(usage["outputTokens"]) &&
    isCount(usage["cachedTokens"]) && isCount(usage["cacheWrittenTokens"]) && isCount(usage["reasoningTokens"]) &&
    (usage["money"] === undefined || Number.isFinite(usage["money"]))

const isCount = (value: unknown): boolean => value === undefined || Number.isSafeInteger(value)

/** Returns an object without the fields that are `undefined`: schemas take only absent ones. */
export const withoutUndefined = <Fields extends object>(fields: Fields): Fields => {
  // Faster than over its entries, and done for every reply.
  for (const key in fields) if (fields[key] === undefined) return copied(fields)
  return fields
}

const copied = <Fields extends object>(fields: Fields): Fields =>
  fieldsOf(Object.entries(fields).filter(([, value]) => value !== undefined))

// Only optional fields can be `undefined`.
const fieldsOf = <Fields extends object>(entries: ReadonlyArray<readonly [string, unknown]>) =>
  Object.fromEntries(entries) as Fields
