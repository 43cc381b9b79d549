/*
 * What each field of a failure must be, and what is made of one that is not: types are stripped at run time, and a message of a
 * plain object is `undefined` where `(error as Error).message` compiles.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import { attempted, isPromise, silence } from "./stranger.ts"

interface Field {
  readonly is: (value: unknown) => boolean
  /** What is used instead; `undefined` where the field is left out. */
  readonly mend: (value: unknown) => unknown
}

/**
 * A text, or the message of what is not one; `undefined` if there is none. Nothing else of an object is shown: a model would read its
 * secrets, and where it was thrown.
 */
export const textOf = (value: unknown): string | undefined =>
  typeof value === "object" && value !== null ? messageOf(value) : wordOf(value)

const wordOf = (value: unknown): string | undefined => {
  if (typeof value === "string") return value
  return typeof value === "number" || typeof value === "bigint" || typeof value === "boolean"
    ? String(value)
    : undefined
}

const messageOf = (value: object): string | undefined => {
  silence(value)
  const message = attempted(() => "message" in value ? value.message : undefined)
  return typeof message === "string" && message !== "" ? message : undefined
}

const oneOf = (...choices: ReadonlyArray<unknown>) => (value: unknown): boolean => choices.includes(value)
const nothing = () => undefined

/** What is inside of a value may throw when it is looked at. */
const within = (is: Field["is"], mend: Field["mend"] = nothing): Field => ({
  is: (value) => attempted(() => is(value)) === true,
  mend: (value) => attempted(() => mend(value))
})

const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(Predicate.isString)
const textsOf = (value: unknown): ReadonlyArray<string> =>
  (Array.isArray(value) ? value : [value]).flatMap((item) => textOf(item) ?? [])

const isRecord = (value: unknown): boolean => Predicate.isObject(value) && !isPromise(value)

const isIssue = (value: unknown): boolean =>
  Predicate.isObject(value) && Array.isArray(value["path"]) && typeof value["expected"] === "string" &&
  typeof value["actual"] === "string"
const isIssues = (value: unknown): boolean => Array.isArray(value) && value.every(isIssue)
const issuesOf = (value: unknown): ReadonlyArray<unknown> =>
  (Array.isArray(value) ? value : []).filter((item) => attempted(() => isIssue(item)) === true)

const isCoverage = (value: unknown): boolean =>
  Predicate.isObject(value) && Number.isFinite(value["have"]) &&
  (value["of"] === undefined || Number.isFinite(value["of"])) &&
  (value["unit"] === undefined || typeof value["unit"] === "string")

// Any input of a Duration that is not a NaN.
const durationOf = (value: unknown): Duration.Duration | undefined =>
  Option.getOrUndefined(Duration.fromInput(value as Duration.Input))

const text: Field = { is: Predicate.isString, mend: textOf }
const texts: Field = { ...within(isTexts), mend: (value) => attempted(() => textsOf(value)) ?? [] }
const whole: Field = { is: Number.isSafeInteger, mend: nothing }

const fields: ReadonlyMap<string, Field> = new Map<string, Field>([
  ["code", { is: Predicate.isString, mend: wordOf }],
  ["detail", text],
  ["hint", text],
  ["question", text],
  ["reason", text],
  ["severity", { is: oneOf("low", "medium", "high", "critical"), mend: nothing }],
  ["side", { is: oneOf("arguments", "result"), mend: () => "result" }],
  ["alternatives", texts],
  ["tried", texts],
  ["issues", { ...within(isIssues), mend: (value) => attempted(() => issuesOf(value)) ?? [] }],
  ["fault", within(isRecord)],
  ["coverage", within(isCoverage)],
  ["next", within(isRecord)],
  ["data", { is: (value) => !isPromise(value), mend: nothing }],
  ["transient", { is: Predicate.isBoolean, mend: () => false }],
  ["retryAfter", within(Duration.isDuration, durationOf)],
  // Of what is not certain, the careful reading.
  ["outcome", { is: oneOf("not_executed", "unknown"), mend: () => "unknown" }],
  ["status", whole],
  ["attempts", whole]
])

/** What a field must be, if this library knows it. */
export const fieldOf = (key: string): Field | undefined => fields.get(key)
