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
  /** What it must be, as a log says it. */
  readonly expected: string
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

const text: Field = { expected: "a text", is: Predicate.isString, mend: textOf }
const texts: Field = { expected: "a list of texts", is: isTexts, mend: textsOf }
const whole: Field = { expected: "a whole number", is: Number.isSafeInteger, mend: nothing }

const fields: ReadonlyMap<string, Field> = new Map<string, Field>([
  ["code", text],
  ["detail", text],
  ["hint", text],
  ["question", text],
  ["reason", text],
  ["severity", { expected: "a severity", is: oneOf("low", "medium", "high", "critical"), mend: nothing }],
  ["side", { expected: "'arguments' or 'result'", is: oneOf("arguments", "result"), mend: () => "result" }],
  ["alternatives", texts],
  ["tried", texts],
  [
    "issues",
    {
      expected: "a list of issues",
      is: (value) => Array.isArray(value) && value.every(isIssue),
      mend: (value) => Array.isArray(value) ? value.filter(isIssue) : []
    }
  ],
  ["fault", { expected: "a fault", is: Predicate.isObject, mend: nothing }],
  ["coverage", { expected: "a Coverage", is: isCoverage, mend: nothing }],
  ["next", { expected: "an object", is: Predicate.isObject, mend: nothing }],
  ["data", { expected: "a value", is: (value) => !isPromise(value), mend: nothing }],
  ["transient", { expected: "a boolean", is: Predicate.isBoolean, mend: () => false }],
  ["retryAfter", { expected: "a Duration", is: Duration.isDuration, mend: durationOf }],
  // Of what is not certain, the careful reading.
  [
    "outcome",
    { expected: "'not_executed' or 'unknown'", is: oneOf("not_executed", "unknown"), mend: () => "unknown" }
  ],
  ["status", whole],
  ["attempts", whole]
])

// A text has its unit; a number may be seconds, or milliseconds.
function durationOf(value: unknown): Duration.Duration | undefined {
  return typeof value === "string" ? Option.getOrUndefined(Duration.fromInput(value as Duration.Input)) : undefined
}

/** What a field must be, if this library knows it. */
export const fieldOf = (key: string): Field | undefined => fields.get(key)
