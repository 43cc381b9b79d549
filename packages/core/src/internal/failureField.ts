/*
 * What each field of a failure must be, and what is made of one that is not: types are stripped at run time, and a message of a
 * plain object is `undefined` where `(error as Error).message` compiles.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import { isPromise, silence } from "./stranger.ts"
import { excerpt } from "./text.ts"

interface Field {
  readonly is: (value: unknown) => boolean
  /** What is used instead; `undefined` where the field is left out. */
  readonly mend: (value: unknown) => unknown
}

/** A text, or what a value that is not one has to say; `undefined` if nothing. */
export const textOf = (value: unknown): string | undefined => {
  if (typeof value === "string") return value
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return String(value)
  return typeof value === "object" && value !== null ? textOfObject(value) : undefined
}

const textOfObject = (value: object): string | undefined => {
  silence(value)
  if ("message" in value && typeof value.message === "string" && value.message !== "") return value.message
  const text = excerpt(value, 300)
  return text === "{}" || text === "[]" ? undefined : text
}

const oneOf = (...choices: ReadonlyArray<unknown>) => (value: unknown): boolean => choices.includes(value)
const nothing = () => undefined
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(Predicate.isString)
const textsOf = (value: unknown): ReadonlyArray<string> =>
  (Array.isArray(value) ? value : [value]).flatMap((item) => textOf(item) ?? [])

const isIssue = (value: unknown): boolean =>
  Predicate.isObject(value) && Array.isArray(value["path"]) && typeof value["expected"] === "string" &&
  typeof value["actual"] === "string"

const isCoverage = (value: unknown): boolean =>
  Predicate.isObject(value) && Number.isFinite(value["have"]) &&
  (value["of"] === undefined || Number.isFinite(value["of"])) &&
  (value["unit"] === undefined || typeof value["unit"] === "string")

const text: Field = { is: Predicate.isString, mend: textOf }
const texts: Field = { is: isTexts, mend: textsOf }
const whole: Field = { is: Number.isSafeInteger, mend: nothing }

const fields: ReadonlyMap<string, Field> = new Map<string, Field>([
  ["code", text],
  ["detail", text],
  ["hint", text],
  ["question", text],
  ["reason", text],
  ["severity", { is: oneOf("low", "medium", "high", "critical"), mend: nothing }],
  ["side", { is: oneOf("arguments", "result"), mend: () => "result" }],
  ["alternatives", texts],
  ["tried", texts],
  [
    "issues",
    {
      is: (value) => Array.isArray(value) && value.every(isIssue),
      mend: (value) => Array.isArray(value) ? value.filter(isIssue) : []
    }
  ],
  ["fault", { is: Predicate.isObject, mend: nothing }],
  ["coverage", { is: isCoverage, mend: nothing }],
  ["next", { is: Predicate.isObject, mend: nothing }],
  ["data", { is: (value) => !isPromise(value), mend: nothing }],
  ["transient", { is: Predicate.isBoolean, mend: () => false }],
  ["retryAfter", { is: Duration.isDuration, mend: durationOf }],
  // Of what is not certain, the careful reading.
  ["outcome", { is: oneOf("not_executed", "unknown"), mend: () => "unknown" }],
  ["status", whole],
  ["attempts", whole]
])

// Any input of a Duration that is not a NaN.
function durationOf(value: unknown): Duration.Duration | undefined {
  return Option.getOrUndefined(Duration.fromInput(value as Duration.Input))
}

/** What a field must be, if this library knows it. */
export const fieldOf = (key: string): Field | undefined => fields.get(key)
