/*
 * What a fixer has answered, or said instead of an answer: somebody else's values, which are looked at with care.
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { Answered, type Escalation, type Fixable } from "../../Rejection.ts"
import { Severity } from "../../ToolFailure.ts"
import { withFields } from "../failure/failureClass.ts"
import { canonical } from "../value/canonical.ts"
import { cut, excerpt, oneLine } from "../value/text.ts"
import { attempted, isA } from "../value/untrusted.ts"

// `{}` says that a call has no arguments. Nothing at all says nothing, though of a model it is taken for the same.
export const isNothing = (text: string): boolean => /^(?:null|\[\s*\])?$/.test(text.trim())

export const isPlain = Schema.is(Schema.Json)

const isAnswered = isA(Answered)

/** An answer, as a text of arguments or as a value. The compiler keeps it to what it may be; a program without types does not. */
export const written = (fixed: unknown): string | Answered => {
  if (typeof fixed === "string") return fixed
  if (fixed === undefined) return ""
  if (isAnswered(fixed) && isPlain(fixed.value)) return fixed
  if (Predicate.isObject(fixed) && isPlain(fixed)) return JSON.stringify(fixed)
  throw new TypeError(
    "A fixer answers with arguments (a text or an object), with Fixer.answer, with undefined, or with an Effect of one of them."
  )
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
export const hasWords = (escalation: Escalation): boolean =>
  attempted(() => isEscalation(escalation) && oneLine(escalation.detail) !== "") === true

/** The failure stays what it was, for a program. What is wrong, and what to do about it, is said by the fixer. */
export const escalated = (
  failure: Fixable,
  { arguments: args, detail, hint, severity = "medium" }: Escalation,
  source: string
): Fixable => {
  const json = args === undefined ? "" : JSON.stringify(args).replaceAll(/[\p{Cc}\u2028\u2029]/gu, escaped)
  // Whole or not at all: half of them are none.
  const advice = [
    hint === undefined ? "" : cut(oneLine(hint), 600),
    json === "" || json.length > 4000 ? "" : `Corrected arguments: ${json}`
  ].filter((part) => part !== "").join(" ")
  return remade(failure, {
    detail: cut(oneLine(detail), 600),
    hint: advice === "" ? undefined : advice,
    // Those of the failure are not the fixer's.
    ...("alternatives" in failure ? { alternatives: [] } : {}),
    severity,
    source: cut(oneLine(source), 80)
  })
}

/** A copy of a failure with some fields changed; those that are `undefined` are left out. */
export const remade = (failure: Fixable, fields: Readonly<Record<string, unknown>>): Fixable => {
  const copy = withFields(failure, fields)
  for (const [key, value] of Object.entries(fields)) if (value === undefined) Reflect.deleteProperty(copy, key)
  return copy
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
