/*
 * What a fixer has answered, or said instead of an answer: somebody else's values, which are looked at with care.
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Arguments from "../Arguments.ts"
import type { Escalation } from "../Rejection.ts"
import { SchemaMismatch, Severity } from "../ToolFailure.ts"
import { canonical } from "./canonical.ts"
import { attempted } from "./stranger.ts"
import { cut, excerpt, oneLine } from "./text.ts"

// `{}` says that a call has no arguments. Nothing at all says nothing, though of a model it is taken for the same.
export const isNothing = (text: string): boolean => /^(?:null|\[\s*\])?$/.test(text.trim())

export const isPlain = Schema.is(Schema.Json)

// The compiler keeps an answer to what it may be; a program without types does not.
export const written = (fixed: unknown): string => {
  if (typeof fixed === "string") return fixed
  if (Predicate.isObject(fixed) && isPlain(fixed)) return JSON.stringify(fixed)
  throw new TypeError("A fixer answers with the arguments as a text or an object, or with an Effect of them.")
}

/** What a text says is compared where nothing of it was passed over, or lost, when it was read. */
export const saysTheSame = (known: string, text: string): boolean => {
  if (known.trim() === text.trim()) return true
  const read = Result.getOrUndefined(Arguments.parse(known))
  if (read === undefined || !read.isExact || read.repairs.length > 0) return false
  return isSame(read.value, Result.getOrUndefined(Arguments.parse(text))?.value)
}

export const isSame = (a: unknown, b: unknown): boolean => {
  const known = canonical(a)
  return known !== undefined && known === canonical(b)
}

// A copy of JSON is JSON of the same type.
export const copied = <Json extends object>(json: Json): Json => JSON.parse(JSON.stringify(json))

const isEscalation = Schema.is(Schema.Struct({
  detail: Schema.NonEmptyString,
  hint: Schema.optionalKey(Schema.String),
  severity: Schema.optionalKey(Severity),
  arguments: Schema.optionalKey(Schema.JsonObject)
}))

/** The compiler keeps it to words, and a program without types does not. */
export const hasWords = (escalation: Escalation): boolean => attempted(() => isEscalation(escalation)) === true

// What is wrong stays what it was, for a program; what is said of it, and what to do, is the fixer's to say.
export const escalated = (
  failure: SchemaMismatch,
  { arguments: args, detail, hint, severity = "medium" }: Escalation
): SchemaMismatch => {
  const { alternatives: _, hint: __, ...rest } = failure
  const json = args === undefined ? "" : JSON.stringify(args).replaceAll(/[\p{Cc}\u2028\u2029]/gu, escaped)
  // Whole or not at all: half of them are none.
  const advice = [
    hint === undefined ? "" : cut(oneLine(hint), 600),
    json === "" || json.length > 4000 ? "" : `Corrected arguments: ${json}`
  ].filter((part) => part !== "").join(" ")
  return new SchemaMismatch({
    ...rest,
    detail: cut(oneLine(detail), 600),
    ...(advice === "" ? {} : { hint: advice }),
    severity,
    cause: failure.cause
  })
}

// JSON leaves some of them as they are, and a line that is shown must not.
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

export const reason = (error: unknown): string =>
  attempted(() => {
    const words: unknown = Predicate.hasProperty(error, "detail")
      ? error.detail
      : error instanceof Error
      ? error.message
      : undefined
    return cut(oneLine(typeof words === "string" ? words : excerpt(error)), 300)
  }) ?? "It does not say why."
