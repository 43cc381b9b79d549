/*
 * From any error to a failure: of what kind it is, and what a model is told.
 */
import { attempted, isA } from "../value/untrusted.ts"
import { type Described, garbage, type Kind, transient, unrecognized } from "./kind.ts"
import { at, classesOf, textAt } from "./look.ts"
import { ofProse } from "./prose.ts"
import { isFault, recognize, saysRetryable } from "./recognize.ts"
import { retryAfterOf } from "./retryAfter.ts"
import { fieldOfLibraries, type Told, wordsOf } from "./words.ts"

/** What an error amounts to; `undefined` of a mistake in the program, and of a stop (`ToolCall.stop`), which goes before all. */
export const describe = (error: unknown, listed: ReadonlyArray<Told>): Described | undefined => {
  if (at(error, "_tag") === "StopSignal") return undefined
  const known = attempted(() => recognize(error))
  const words = known?.isMute === true ? undefined : attempted(() => wordsOf(error, listed))
  // A sentence may not be one that refuses.
  const found = known ?? (words === undefined ? undefined : ofProse(textAt(error, "message") ?? ""))
  if (found === undefined && attempted(() => isFault(error)) === true && !isListedItself(error, listed)) {
    return undefined
  }
  const kind = asItSays(found?.kind ?? (words === undefined ? unrecognized : refusal), saysRetryable(error))
  return {
    // A hint is about the request that failed, which may not have been the first.
    kind: found?.isRedirected === true && "hint" in kind ? { ...kind, hint: undefined } : kind,
    detail: words ?? found?.sentence ?? "The tool failed. Only its operators can see why.",
    cause: error,
    outcome: outcomeOf(kind),
    retryAfter: attempted(() => retryAfterOf(error)),
    issues: found?.issues,
    isRedirected: found?.isRedirected
  }
}

/** What an error is called in a log that nobody knows. */
export const unknown = (error: unknown): string => {
  const [name = ""] = isA(Error)(error) ? classesOf(error) : []
  if (name === "" || name === "Error") return "an error of an unknown kind"
  const field = fieldOfLibraries(error)
  return field === undefined
    ? `an error of the class ${name}, which is neither known nor listed in 'tell'`
    : `an error of the class ${name}, which is not known. Its message is not told, since it has a field '${field}'`
}

// A class of mistakes is told only by name, and not because it is below one that is listed.
const isListedItself = (error: unknown, listed: ReadonlyArray<Told>): boolean =>
  listed.some((told) => told === at(error, "constructor"))

// A sentence that was thrown says no: "Room A1 is booked."
const refusal: Kind = garbage("rejected")

// What the error says itself goes before what its kind says.
const asItSays = (kind: Kind, isRetryable: boolean | undefined): Kind => {
  if (isRetryable === undefined) return kind
  if (kind._tag !== "ToolUnavailable") return isRetryable && kind === refusal ? transient(unrecognized.code) : kind
  if (isRetryable === kind.transient) return kind
  // What may be tried again did not refuse.
  return isRetryable ? transient(kind.code, kind.outcome) : { ...kind, transient: false }
}

// What is transient leaves its outcome open by itself.
const outcomeOf = (kind: Kind): Described["outcome"] => {
  if (kind._tag !== "ToolUnavailable") return undefined
  return kind.outcome === "open" ? kind.transient ? undefined : "unknown" : kind.outcome
}
