/*
 * Recognizes Effect's errors by their tags and the tags of their reasons. Also recognizes the failures
 * of Fallible.
 */
import { database } from "./databaseErrors.ts"
import { broken, invalid, type Kind, permanent, type Recognized, refusedAs, transient } from "./kind.ts"
import { at, textAt } from "./reading.ts"
import { redact } from "./redact.ts"
import { files, isDisconnected, late, lost, unsendable } from "./systemErrors.ts"
import { cut } from "./text.ts"

export const ofEffect = (error: object): Recognized | undefined => {
  const reason = at(error, "reason")
  const tag = textAt(reason, "_tag") ?? ""
  switch (textAt(error, "_tag") ?? "") {
    case "HttpClientError":
      return ofHttpClient(reason, tag)
    case "SqlError":
      return bySql[tag] ?? { ...database.failed, isVague: true }
    case "PlatformError":
      return byPlatform[tag] ?? { kind: broken("server_error"), sentence: "The system failed.", isVague: true }
    case "AiError":
      return byAi[tag]
    case "TimeoutError":
      return late
    default:
      return undefined
  }
}

// An error with a status does not get here: it has already been recognized by its status.
const ofHttpClient = (reason: unknown, tag: string): Recognized => {
  switch (tag) {
    case "EncodeError":
    case "InvalidUrlError":
      return unsendable
    case "EmptyBodyError":
      return { kind: invalid("answer"), sentence: "The service sent an empty answer." }
    case "DecodeError":
      return isDisconnected(at(reason, "cause"))
        ? lost
        : { kind: invalid("answer"), sentence: "The service's answer could not be decoded." }
    default:
      return lost
  }
}

const bySql: Readonly<Record<string, Recognized>> = {
  ConnectionError: database.lost,
  AuthenticationError: database.denied,
  AuthorizationError: database.denied,
  SqlSyntaxError: database.query,
  UniqueViolation: database.unique,
  ConstraintError: database.constraint,
  DeadlockError: database.conflict,
  SerializationError: database.conflict,
  LockTimeoutError: database.busy,
  StatementTimeoutError: database.late
}

const byPlatform: Readonly<Record<string, Recognized>> = {
  NotFound: files.absent,
  PermissionDenied: files.denied,
  AlreadyExists: files.exists,
  BadArgument: { kind: refusedAs("rejected"), sentence: "The system rejected one of the arguments." },
  Busy: { kind: transient("server_error"), sentence: "The system is busy." },
  WouldBlock: { kind: transient("server_error"), sentence: "The system is busy." },
  TimedOut: { kind: transient("timeout"), sentence: "The system did not answer in time." }
}

const byAi: Readonly<Record<string, Recognized>> = {
  NetworkError: lost,
  RateLimitError: { kind: transient("rate_limited"), sentence: "The model is rate limiting requests." },
  QuotaExhaustedError: { kind: permanent("quota_exhausted"), sentence: "The model's quota is used up." },
  AuthenticationError: { kind: permanent("permission_denied"), sentence: "The model denied access." }
}

// -----------------------------------------------------------------------------
// Failures of Fallible
// -----------------------------------------------------------------------------

/**
 * Recognizes a failure of Fallible, which somebody passed on as the cause of an error.
 */
export const ofFallible = (error: object): Recognized | undefined => {
  const code = textAt(error, "code")
  const sentence = textAt(error, "detail")
  const kind = code === undefined ? undefined : kindOf(error, code)
  return kind === undefined || sentence === undefined ? undefined : { kind, sentence: cut(redact(sentence), 500) }
}

const kindOf = (error: object, rawCode: string): Kind | undefined => {
  // A user may have made the failure, so its code is checked.
  const code = /^[\w.-]{1,60}$/.test(rawCode) && redact(rawCode) === rawCode ? rawCode : "failed"
  const rawHint = textAt(error, "hint")
  const hint = rawHint === undefined ? undefined : cut(redact(rawHint), 500)
  switch (textAt(error, "_tag") ?? "") {
    case "ToolUnavailable": {
      const isTransient = at(error, "transient") === true
      const scope = at(error, "scope") === "arguments" ? "request" : "service"
      return {
        class: "unavailable",
        code,
        isTransient,
        scope,
        hint,
        outcome: outcomeOf(error, isTransient)
      }
    }
    case "SemanticGarbage":
      return refusedAs(code, hint)
    case "SchemaMismatch":
      // The rejected arguments belong to the inner tool, so this is no mismatch of the outer tool's arguments.
      return at(error, "side") === "result" ? invalid("answer", code) : refusedAs(code, hint)
    case "PartialData":
      return { ...broken(code), outcome: "executed" }
    default:
      return undefined
  }
}

const outcomeOf = (error: object, isTransient: boolean) => {
  const outcome = at(error, "outcome")
  if (outcome === "executed" || outcome === "not_executed") return outcome
  return isTransient || outcome === "unknown" ? "open" : undefined
}
