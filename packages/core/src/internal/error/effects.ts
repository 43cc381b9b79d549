/*
 * effect's own errors, by their tags and those of their reasons.
 */
import { database } from "./database.ts"
import { garbage, mismatch, type Recognized, refused, transient } from "./kind.ts"
import { at, textAt } from "./look.ts"
import { disconnected, faultsIn, isOfConnection, late, unsendable } from "./system.ts"

export const ofEffect = (error: object): Recognized | undefined => {
  const reason = at(error, "reason")
  const tag = textAt(reason, "_tag") ?? ""
  switch (textAt(error, "_tag") ?? "") {
    case "HttpClientError":
      return ofHttpClient(reason)
    case "SqlError":
      return bySql[tag]
    case "PlatformError":
      return byPlatform[tag]
    case "AiError":
      return byAi[tag]
    case "TimeoutError":
      return late
    default:
      return undefined
  }
}

/** The same of a reason that says nothing, once nothing else was found. */
export const ofEffectAtLeast = (error: object): Recognized | undefined => {
  switch (textAt(error, "_tag") ?? "") {
    case "SqlError":
      return database.failed
    case "PlatformError":
      return { kind: { ...refused("server_error"), outcome: "open" }, sentence: "The system failed." }
    default:
      return undefined
  }
}

/** Why there is no answer of an HTTP client, or none that can be read. What has a status is told by that. */
export const ofHttpClient = (reason: unknown): Recognized => {
  const faults = faultsIn(at(reason, "cause"))
  switch (textAt(reason, "_tag") ?? "") {
    case "EncodeError":
    case "InvalidUrlError":
      return unsendable
    case "EmptyBodyError":
      return { kind: mismatch("result"), sentence: "The service sent an empty answer." }
    case "DecodeError":
      return faults.some(isOfConnection)
        ? disconnected(faults)
        : { kind: mismatch("result"), sentence: "The service's answer could not be decoded." }
    default:
      return disconnected(faults)
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
  NotFound: { kind: garbage("not_found"), sentence: "There is no such file or directory." },
  PermissionDenied: {
    kind: refused("permission_denied", { scope: "arguments" }),
    sentence: "The system denied access."
  },
  AlreadyExists: { kind: garbage("rejected"), sentence: "It exists already." },
  BadArgument: { kind: garbage("rejected"), sentence: "The system does not accept one of the values." },
  Busy: { kind: transient("server_error"), sentence: "The system is busy." },
  WouldBlock: { kind: transient("server_error"), sentence: "The system is busy." },
  TimedOut: { kind: transient("timeout"), sentence: "The system did not answer in time." }
}

const byAi: Readonly<Record<string, Recognized>> = {
  NetworkError: disconnected([]),
  RateLimitError: { kind: transient("rate_limited"), sentence: "The model is asked too often." },
  QuotaExhaustedError: { kind: refused("quota_exhausted"), sentence: "The quota of the model is used up." },
  AuthenticationError: { kind: refused("permission_denied"), sentence: "The model denied access." }
}
