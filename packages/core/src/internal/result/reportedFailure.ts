/*
 * A result that reports a failure, although the call succeeded: many services answer `{"ok": false}` with the status 200.
 *
 * The fields of a result can just as well be its data: the status of a build. So a field counts as data if its tool
 * declares it. A read-only tool reports what it has read, so naming the field in `success` is enough. An acting tool reports
 * what became of its act, so it has to declare the very value: `Schema.Literals(["passed", "failed"])`.
 */
import { describe } from "@fallible/errors"
import * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import type { SideEffect } from "../../SideEffect.ts"
import { SemanticGarbage, ToolUnavailable } from "../../ToolFailure.ts"
import { hasNothing } from "./emptiness.ts"
import { choicesOfField, secretFields } from "./resultSchema.ts"

/** The field of a result that reports a failure. */
export interface Reported {
  readonly field: string
  readonly value: unknown
  /** True if the result has data beside its errors, as in GraphQL. */
  readonly isPartial: boolean
}

/** Returns the field at the top of a result that reports a failure. A result that says that all is well has none. */
export const reportedIn = (result: unknown): Reported | undefined => {
  if (!Predicate.isObject(result)) return undefined
  const { data, error, errors, ok, status, success } = result
  if (ok === true || success === true) return undefined
  const reported = (field: string, value: unknown) => ({ field, value, isPartial: false })
  if (ok === false) return reported("ok", ok)
  if (success === false) return reported("success", success)
  if (error !== 0 && error !== false && !hasNothing(error)) return reported("error", error)
  if (Array.isArray(errors) && errors.length > 0) {
    return { ...reported("errors", errors), isPartial: !hasNothing(data) }
  }
  return typeof status === "string" && failedStatus.test(status) ? reported("status", status) : undefined
}

const failedStatus = /^(?:failed|failure|error)$/i

interface Declaring {
  readonly sideEffect: SideEffect
  readonly success: Schema.ConstraintCodec<unknown, unknown>
}

/** Whether the field is data, by the declaration of its tool. */
export const isDeclaredData = ({ sideEffect, success }: Declaring, { field, value }: Reported): boolean => {
  const choices = choicesOfField(success, field)
  return choices !== undefined && (sideEffect === "none" || choices.includes(value))
}

/** Returns the note on a result that reports a failure. It is true even if the field is data. */
export const noteOnReported = ({ field, isPartial, value }: Reported): string => {
  if (isPartial) return "The result has errors. If they are of the call itself, its data may be incomplete."
  const what = field === "error" ? "an error" : field === "errors" ? field : `${field}: ${JSON.stringify(value)}`
  return `The result has ${what}. If this is the outcome of the call itself, it has failed.`
}

// -----------------------------------------------------------------------------
// As a failure
// -----------------------------------------------------------------------------

/** Returns the words of a result about its failure; `""` if it has none. A field that is declared as a secret has none. */
export const wordsIn = (result: unknown, success: Schema.Constraint): string => {
  if (!Predicate.isObject(result)) return ""
  const { error, errors } = result
  const secret = secretFields(success)
  const open = (name: string, value: unknown) => secret.has(name) ? undefined : value
  const places = [open("error", error), open("errors", Array.isArray(errors) ? errors[0] : undefined), result]
  return places.map((place) => sentenceIn(place, secret)).find((text) => text !== "") ?? ""
}

const sentenceIn = (value: unknown, secret: ReadonlySet<string>): string => {
  const found = Predicate.isObject(value)
    ? spoken.filter((field) => !secret.has(field)).map((field) => value[field])
    : [value]
  return found.find((text): text is string => typeof text === "string" && text.trim() !== "") ?? ""
}

const spoken = ["message", "detail", "reason", "description", "title", "code"]

/**
 * Makes the failure that a result reports. Only for a read-only tool may waiting help: nothing repeats an effect because of
 * its answer.
 */
export const failureOf = (words: string, sideEffect: SideEffect): SemanticGarbage | ToolUnavailable => {
  // A code reads like the words that it consists of: `service_unavailable`.
  const text = /\s/.test(words.trim()) ? words : words.replaceAll(/[_-]+/g, " ")
  const { class: kind, code, isTransient, message, soon, retryAfter = soon } = describe(new Error(text))
  const detail = words === "" ? "The answer says that it failed." : `The answer says that it failed: ${message}`
  const isPassing = kind === "unavailable" && isTransient
  if (sideEffect !== "none" || !isPassing && soon === undefined) {
    return new SemanticGarbage({ code: "reported_failure", detail })
  }
  return new ToolUnavailable({
    code: isPassing ? code : "reported_failure",
    detail,
    transient: true,
    ...(retryAfter === undefined ? {} : { retryAfter: Duration.millis(retryAfter) })
  })
}
