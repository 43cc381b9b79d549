/*
 * The type of each field of a failure, and the replacement for an ill-typed value. Types do not exist at run
 * time: `(error as Error).message` compiles, but is `undefined` for most plain objects.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import { attempt, isPromise, silence } from "../value/untrusted.ts"
import { isUsage, withoutUndefined } from "../value/usage.ts"
import { evidenceField } from "./evidence.ts"

interface Field {
  /** The expected type, in the words of a log. */
  readonly expected: string
  readonly is: (value: unknown) => boolean
  /** Returns the replacement, or `undefined` to leave the field out. */
  readonly mend: (value: unknown) => unknown
  /** Returns what is kept of a value of the right type. Default: the value itself. */
  readonly read?: (value: unknown) => unknown
}

/**
 * Returns a string, a scalar as a string, or the message of an object; `undefined` for anything else. Other
 * fields of an object stay hidden: they could show a model secrets, and the stack.
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
  const message = attempt(() => "message" in value ? value.message : undefined)
  return typeof message === "string" && message !== "" ? message : undefined
}

const oneOf = (...choices: ReadonlyArray<unknown>) => (value: unknown): boolean => choices.includes(value)

const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(Predicate.isString)
const textsOf = (value: unknown): ReadonlyArray<string> =>
  attempt(() => (Array.isArray(value) ? value : [value]).flatMap((item) => textOf(item) ?? [])) ?? []

const isRecord = (value: unknown): boolean => Predicate.isObject(value) && !isPromise(value)

const isIssue = (value: unknown): boolean =>
  Predicate.isObject(value) && Array.isArray(value["path"]) && typeof value["expected"] === "string" &&
  typeof value["actual"] === "string"
const isIssues = (value: unknown): boolean => Array.isArray(value) && value.every(isIssue)
const issuesOf = (value: unknown): ReadonlyArray<unknown> =>
  attempt(() => (Array.isArray(value) ? value : []).filter((item) => attempt(() => isIssue(item)) === true)) ?? []

const isCoverage = (value: unknown): boolean =>
  Predicate.isObject(value) && Number.isFinite(value["have"]) &&
  (value["of"] === undefined || Number.isFinite(value["of"])) &&
  (value["unit"] === undefined || typeof value["unit"] === "string")

// A string such as "5 seconds" states its unit. A number could be seconds or milliseconds, so it is left out.
const durationOf = (value: unknown): Duration.Duration | undefined =>
  typeof value === "string" ? Option.getOrUndefined(Duration.fromInput(value as Duration.Input)) : undefined

// Reading the parts of a value may throw.
const field = (
  expected: string,
  is: (value: unknown) => boolean,
  mend: (value: unknown) => unknown = () => undefined
): Field => ({
  expected,
  is: (value) => attempt(() => is(value)) === true,
  mend: (value) => attempt(() => mend(value))
})

const text = field("a text", Predicate.isString, textOf)
const texts = field("a list of strings", isTexts, textsOf)
const whole = field("a whole number", Number.isSafeInteger)

const fields: ReadonlyMap<string, Field> = new Map<string, Field>([
  ["code", field("a text", Predicate.isString, wordOf)],
  ["detail", text],
  ["hint", text],
  ["question", text],
  ["reason", text],
  ["source", text],
  ["severity", field("a severity", oneOf("low", "medium", "high", "critical"))],
  ["side", field("'arguments' or 'result'", oneOf("arguments", "result"), () => "result")],
  ["alternatives", texts],
  ["tried", texts],
  ["issues", field("a list of issues", isIssues, issuesOf)],
  ["fault", field("a fault", isRecord)],
  ["coverage", field("a Coverage", isCoverage)],
  ["next", field("an object", isRecord)],
  ["data", field("a value", (value) => !isPromise(value))],
  ["transient", field("a boolean", Predicate.isBoolean, () => false)],
  ["askUser", field("a boolean", Predicate.isBoolean)],
  ["scope", field("'arguments' or 'tool'", oneOf("arguments", "tool"))],
  ["retryAfter", field("a Duration", Duration.isDuration, durationOf)],
  // An invalid outcome becomes `"unknown"`, the cautious choice.
  [
    "outcome",
    field("'executed', 'not_executed' or 'unknown'", oneOf("executed", "not_executed", "unknown"), () => "unknown")
  ],
  ["evidence", evidenceField],
  ["model", text],
  ["usage", { ...field("a Usage", isUsage), read: (usage) => withoutUndefined(Object(usage)) }],
  ["status", whole],
  ["attempts", whole]
])

/** Returns the rules for a field, or `undefined` if this library does not know it. */
export const fieldOf = (key: string): Field | undefined => fields.get(key)
