/*
 * What the system says went wrong: with a connection, before or after anything was sent on it, or with a file.
 */
import { garbage, type Kind, type Recognized, refused, transient } from "./kind.ts"
import { at, listAt, most, textAt } from "./look.ts"

/**
 * The system's words for what happened, `"ECONNRESET read"`: a few causes down, of each address that was tried. What one of several
 * errors does not say is an empty word.
 */
export const faultsIn = (error: unknown, depth = 0): ReadonlyArray<string> => {
  if (depth > most.depth) return []
  const errors = listAt(error, "errors")
  const below = errors.length === 0
    ? faultsBelow(at(error, "cause"), depth + 1)
    : errors.flatMap((error) => atLeastOne(faultsIn(error, depth + 2)))
  const code = textAt(error, "code")
  if (below.length > 0 || code === undefined) return below
  const syscall = textAt(error, "syscall")
  return [syscall === undefined ? code : `${code} ${syscall}`]
}

const faultsBelow = (cause: unknown, depth: number) => cause === undefined ? [] : faultsIn(cause, depth)

const atLeastOne = (faults: ReadonlyArray<string>) => faults.length === 0 ? [""] : faults

/** What became of a request whose connection failed. */
export const disconnected = (faults: ReadonlyArray<string>): Recognized => {
  // Nothing was sent only if every attempt to connect came to nothing.
  const fault = faults.find((fault) => unconnected(fault) === undefined) ?? faults[0] ?? ""
  const [, saying, kind = transient("connection", "not_executed")] = unconnected(fault) ?? []
  if (saying !== undefined) return { kind, sentence: `The service could not be reached: ${saying}.` }
  return /TIMED?OUT/.test(fault) ? late : lost
}

/** The answer did not come in time. */
export const late: Recognized = { kind: transient("timeout"), sentence: "The service did not answer in time." }

/** The connection was lost, and nobody knows after what. */
export const lost: Recognized = {
  kind: transient("connection"),
  sentence: "The connection to the service failed before its answer was complete."
}

/** The caller itself has ended the request. */
export const aborted: Recognized = {
  kind: transient("timeout"),
  sentence: "The request to the service was aborted before its answer was complete."
}

/** The request was never sent. */
export const unsendable: Recognized = {
  kind: { ...refused("invalid_request", { scope: "arguments" }), outcome: "not_executed" },
  sentence: "The request to the service could not be made."
}

const unconnected = (fault: string) => beforeSending.find(([pattern]) => pattern.test(fault))

const distrusted: Kind = {
  ...refused("connection", { hint: "Somebody has to see to that." }),
  outcome: "not_executed"
}

const beforeSending: ReadonlyArray<readonly [fault: RegExp, saying: string, kind?: Kind]> = [
  [/^ECONNREFUSED/, "it refused the connection"],
  [/^ENOTFOUND/, "there is no such host"],
  [/^EAI_AGAIN/, "its name could not be looked up"],
  // A connection in use can lose its way, too: then it was reading or writing.
  [/^EHOSTUNREACH(?! read| write)/, "there is no way to its host"],
  [/^ENETUNREACH(?! read| write)/, "there is no way to its network"],
  [
    /^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT connect)/,
    "it did not take the connection in time",
    transient("timeout", "not_executed")
  ],
  [/CERT(?!IFICATE)|VERIFY/, "its certificate is not trusted", distrusted]
]

// -----------------------------------------------------------------------------
// By code
// -----------------------------------------------------------------------------

/** An error of the system, by its code or by one below it. */
export const ofSystem = (error: object): Recognized | undefined => {
  const faults = faultsIn(error)
  const known = faults.flatMap((fault) => others.find(([pattern]) => pattern.test(fault))?.[1] ?? [])
  return known[0] ?? (faults.length > 0 && faults.every(isOfConnection) ? disconnected(faults) : undefined)
}

/** Of sockets, of TLS, and of the clients and drivers that use them. */
export const isOfConnection = (fault: string): boolean => ofConnections.test(fault)

const ofConnections =
  /^(ECONN|EPIPE|ENOTCONN|ENET|EHOST|E(SOCKET)?TIMEDOUT|ENOTFOUND|EAI_|EPROTO|UND_ERR_(?!INVALID|NOT_SUPPORTED|ABORTED)|HPE_|ERR_(STREAM_PREMATURE|HTTP2_|HTTP_CONTENT_LENGTH|NETWORK|SSL_|TLS_)|PROTOCOL_CONNECTION_LOST|PROTOCOL_SEQUENCE_TIMEOUT)|CERT(?!IFICATE)|VERIFY/

const failed = (sentence: string): Recognized => ({ kind: refused("server_error"), sentence })

/** The first that fits. */
const others: ReadonlyArray<readonly [fault: RegExp, Recognized]> = [
  [/^ENOENT spawn/, failed("A program that the tool needs is missing.")],
  [/^ENOENT/, { kind: garbage("not_found"), sentence: "There is no such file or directory." }],
  [/^(EACCES|EPERM)/, {
    kind: refused("permission_denied", { scope: "arguments" }),
    sentence: "The system denied access."
  }],
  [/^EEXIST/, { kind: garbage("rejected"), sentence: "It exists already." }],
  [/^(EISDIR|ENOTDIR|ENOTEMPTY|ENAMETOOLONG|ELOOP)/, { kind: garbage("rejected"), sentence: "The path does not fit." }],
  [
    /^(EMFILE|ENFILE|EBUSY|EAGAIN|ENOMEM|ENOBUFS)/,
    { kind: transient("server_error"), sentence: "The system is short of resources." }
  ],
  [/^(ENOSPC|EDQUOT|EROFS|EIO)/, failed("The system could not store it.")],
  [/^ERR_(INVALID_URL|INVALID_PROTOCOL|UNSUPPORTED_PROTOCOL)/, {
    kind: unsendable.kind,
    sentence: "The address of the request is not valid."
  }],
  [/^(ABORT_ERR|ERR_CANCELED|UND_ERR_ABORTED)$/, aborted],
  // What axios calls its own timeout.
  [/^ECONNABORTED$/, late]
]
