/*
 * Checks the answers and escalations of fixers. These values come from users' code, so their types
 * cannot be relied on.
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { Severity } from "../../ToolFailure.ts"
import { withFields } from "../failure/failureClass.ts"
import { canonical } from "../value/canonical.ts"
import { cut, excerpt, oneLine } from "../value/text.ts"
import { attempt, isA } from "../value/untrusted.ts"
import { Answered, type Escalation, type Fixable } from "./rejection.ts"

// True for a text without arguments. If a model sends it, it counts as `{}`. If a fixer returns it,
// the fixer has no answer: a fixer that means a call without arguments returns `{}`.
export const isNothing = (text: string): boolean => /^(?:null|\[\s*\])?$/.test(text.trim())

export const isPlain = Schema.is(Schema.Json)

const isAnswered = isA(Answered)

/**
 * Returns a fixer's answer, either as the text of arguments or as a value. Throws a `TypeError` if
 * the answer is anything else, which is possible in programs without types.
 */
export const written = (fixed: unknown): string | Answered => {
  if (typeof fixed === "string") return fixed
  if (fixed === undefined) return ""
  if (isAnswered(fixed) && isPlain(fixed.value)) return fixed
  if (Predicate.isObject(fixed) && isPlain(fixed)) return JSON.stringify(fixed)
  throw new TypeError(
    "A fixer must return arguments (a string or an object), Fixer.answer, undefined, or an Effect of one of these."
  )
}

export const isSame = (a: unknown, b: unknown): boolean => {
  const text = canonical(a)
  return text !== undefined && text === canonical(b)
}

// Copies JSON. The copy has the same type.
export const copyOfAnswer = <Json extends object>(json: Json): Json => JSON.parse(JSON.stringify(json))

const isEscalation = Schema.is(Schema.Struct({
  detail: Schema.NonEmptyString,
  hint: Schema.optionalKey(Schema.String),
  severity: Schema.optionalKey(Severity),
  arguments: Schema.optionalKey(Schema.JsonObject)
}))

/** Whether an escalation has the fields that its type declares. In a program without types, some may be missing. */
export const hasWords = (escalation: Escalation): boolean =>
  attempt(() => isEscalation(escalation) && oneLine(escalation.detail) !== "") === true

/**
 * Returns a copy of a failure with the text of an escalation. Programs still see the same class and the same code.
 */
export const escalate = (
  failure: Fixable,
  { arguments: args, detail, hint, severity = "medium" }: Escalation,
  source: string
): Fixable => {
  const json = args === undefined ? "" : JSON.stringify(args).replaceAll(/[\p{Cc}\u2028\u2029]/gu, escaped)
  // The arguments are included completely or not at all.
  const advice = [
    hint === undefined ? "" : cut(oneLine(hint), 600),
    json === "" || json.length > 4000 ? "" : `Corrected arguments: ${json}`
  ].filter((part) => part !== "").join(" ")
  return remade(failure, {
    detail: cut(oneLine(detail), 600),
    hint: advice === "" ? undefined : advice,
    // The alternatives of the failure are dropped, because they are not the fixer's advice.
    ...("alternatives" in failure ? { alternatives: [] } : {}),
    severity,
    source: cut(oneLine(source), 80)
  })
}

/** Copies a failure with some fields changed. A field that is `undefined` is removed. */
export const remade = (failure: Fixable, fields: Readonly<Record<string, unknown>>): Fixable => {
  const copy = withFields(failure, fields)
  for (const [key, value] of Object.entries(fields)) if (value === undefined) Reflect.deleteProperty(copy, key)
  return copy
}

// Escapes control characters and line separators that JSON leaves as they are.
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

export const reason = (error: unknown): string =>
  attempt(() => {
    const words: unknown = Predicate.hasProperty(error, "detail")
      ? error.detail
      : error instanceof Error
      ? error.message
      : undefined
    return cut(oneLine(typeof words === "string" ? words : excerpt(error)), 300)
  }) ?? "It does not say why."
