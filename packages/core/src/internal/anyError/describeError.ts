/*
 * Describes any error as a failure: its kind, and the text for the model.
 */
import { attempted, isA } from "../value/untrusted.ts"
import { type Described, garbage, type Kind, transient, unrecognized } from "./errorKind.ts"
import { ofProse } from "./plainMessage.ts"
import { at, classesOf, textAt } from "./readError.ts"
import { isFault, recognize, saysRetryable, statusBelow } from "./recognize.ts"
import { retryAfterOf } from "./retryAfter.ts"
import { fieldOfLibraries, type Told, wordsOf } from "./safeText.ts"

/**
 * Describes an error as a failure. Returns `undefined` for a mistake in the program, and for a stop
 * (`ToolCall.stop`), which takes precedence over any failure.
 */
export const describe = (
  error: unknown,
  { refuses = [], tell = [] }: { readonly tell?: ReadonlyArray<Told>; readonly refuses?: ReadonlyArray<Told> }
): Described | undefined => {
  if (at(error, "_tag") === "StopSignal") return undefined
  const listed = [...tell, ...refuses]
  if (refuses.some((refusal) => attempted(() => error instanceof refusal) === true)) return declared(error, listed)
  const byShape = attempted(() => recognize(error))
  const words = byShape?.isMute === true ? undefined : attempted(() => wordsOf(error, listed))
  // A message reads as a rejection only if it gives a reason.
  const recognized = byShape ?? (words === undefined ? undefined : ofProse(textAt(error, "message") ?? ""))
  if (recognized === undefined && attempted(() => isFault(error)) === true && !isListedItself(error, listed)) {
    return undefined
  }
  const kind = withRetryFlag(recognized?.kind ?? (words === undefined ? unrecognized : rejection), saysRetryable(error))
  return {
    // A hint concerns the request that failed. After a redirect, this was not the tool's own request.
    kind: recognized?.isRedirected === true && "hint" in kind ? { ...kind, hint: undefined } : kind,
    detail: words ?? recognized?.sentence ?? "The tool failed. Only its operators can see why.",
    cause: error,
    outcome: outcomeOf(kind),
    retryAfter: attempted(() => retryAfterOf(error)),
    issues: recognized?.issues,
    isRedirected: recognized?.isRedirected,
    isWorded: byShape === undefined || byShape.isWorded,
    status: attempted(() => statusBelow(error))
  }
}

// The tool's author has declared what this class means, whatever the error looks like.
const declared = (error: unknown, listed: ReadonlyArray<Told>): Described => ({
  kind: rejection,
  detail: attempted(() => wordsOf(error, listed)) ?? "The tool refused the call.",
  cause: error,
  outcome: "not_executed",
  isDeclared: true
})

/** Describes an unrecognized error for a log. */
export const unknown = (error: unknown): string => {
  const [name = ""] = isA(Error)(error) ? classesOf(error) : []
  if (name === "" || name === "Error") return "an error of an unknown kind"
  const field = fieldOfLibraries(error)
  return field === undefined
    ? `an error of the class ${name}, which is not recognized and not listed in 'tell'`
    : `an error of the class ${name}, which is not recognized. Its message is withheld, because it has a field '${field}'`
}

// An error that is a mistake in the program counts as listed only if its own class is listed. A listed base
// class is not enough.
const isListedItself = (error: unknown, listed: ReadonlyArray<Told>): boolean =>
  listed.some((listedClass) => listedClass === at(error, "constructor"))

// The kind of a thrown message that gives a reason: "Room A1 is booked."
const rejection: Kind = garbage("rejected")

// The error's own retry flag takes precedence over its kind.
const withRetryFlag = (kind: Kind, isRetryable: boolean | undefined): Kind => {
  if (isRetryable === undefined) return kind
  if (kind._tag !== "ToolUnavailable") return isRetryable && kind === rejection ? transient(unrecognized.code) : kind
  if (isRetryable === kind.transient) return kind
  // A retryable error is not a permanent failure, so the kind's hint and scope do not apply.
  return isRetryable ? transient(kind.code, kind.outcome) : { ...kind, transient: false }
}

// A transient failure without an outcome already leaves the outcome open.
const outcomeOf = (kind: Kind): Described["outcome"] => {
  if (kind._tag !== "ToolUnavailable") return undefined
  return kind.outcome === "open" ? kind.transient ? undefined : "unknown" : kind.outcome
}
