/* Errors of the operating system: of a connection, before or after a request was sent, or of a file. */
import { broken, type Kind, permanent, type Recognized, refusedAs, transient } from "./kind.ts"
import { at, errorsIn, listAt, textAt } from "./reading.ts"

/** An answer that did not come in time. */
export const late: Recognized = { kind: transient("timeout"), sentence: "The service did not answer in time." }

/** A connection that was lost at an unknown point. */
export const lost: Recognized = {
  kind: transient("connection"),
  sentence: "The connection to the service failed before its answer was complete.",
  isVague: true
}

/** A request that the caller itself aborted. */
export const abortedRequest: Recognized = {
  kind: transient("timeout"),
  sentence: "The request to the service was aborted before its answer was complete.",
  isVague: true
}

/** A request that was never sent. */
export const unsendable: Recognized = {
  kind: { ...permanent("invalid_request", { scope: "request" }), outcome: "not_executed" },
  sentence: "The request to the service could not be made."
}

/** Recognizes an error of the operating system by its code. */
export const ofSystem = (error: object): Recognized | undefined => {
  const code = codeOf(error)
  return code === undefined ? undefined : codes.find(([pattern]) => pattern.test(code))?.[1]
}

/** Returns the system's code, followed by the system call if there is one: `"ECONNRESET read"`. */
const codeOf = (error: unknown): string | undefined => {
  // Nodemailer sets its own code, and keeps the system's code as `originalCode`.
  const code = textAt(error, "originalCode") ?? textAt(error, "code")
  const syscall = textAt(error, "syscall")
  return code === undefined || syscall === undefined ? code : `${code} ${syscall}`
}

/** True if an error, or an error inside it, comes from a failed connection. */
export const isDisconnected = (error: unknown): boolean =>
  Array.from(errorsIn(error, (one) => [at(one, "cause"), ...listAt(one, "errors")]))
    .some((one) => ofConnections.test(codeOf(one) ?? ""))

// These errors are vague: of several attempts to connect, the error of one attempt may say more.
const unreachable = (saying: string, kind: Kind = transient("connection", "not_executed")): Recognized => ({
  kind,
  sentence: `The service could not be reached: ${saying}.`,
  isVague: true
})

const distrusted: Kind = {
  ...permanent("connection", { hint: "Only an operator can fix this: tell the user." }),
  outcome: "not_executed"
}

const rejected = (sentence: string): Recognized => ({ kind: refusedAs("rejected"), sentence })

const failed = (sentence: string): Recognized => ({ kind: permanent("server_error"), sentence })

export const files = {
  absent: { kind: refusedAs("not_found"), sentence: "There is no such file or directory." },
  denied: {
    kind: permanent("permission_denied", { scope: "request" }),
    sentence: "The system denied access."
  },
  exists: rejected("The file or directory already exists.")
} satisfies Record<string, Recognized>

/** Codes of sockets, of TLS, and of the clients and drivers that use them. */
const ofConnections =
  /^(ECONN|EPIPE|ENOTCONN|ENET|EHOST|E(SOCKET)?TIMEDOUT|ENOTFOUND|EAI_|EPROTO|UND_ERR_(?!INVALID|NOT_SUPPORTED|ABORTED)|HPE_|ERR_(STREAM_|HTTP2_|HTTP_CONTENT_LENGTH|NETWORK|SSL_|TLS_)|PROTOCOL_(CONNECTION_LOST|SEQUENCE_TIMEOUT))/

/** Errors by code and system call. The first matching pattern is used. */
const codes: ReadonlyArray<readonly [code: RegExp, Recognized]> = [
  [/^ECONNREFUSED/, unreachable("it refused the connection")],
  [/^ENOTFOUND/, unreachable("there is no such host")],
  [/^EAI_AGAIN/, unreachable("its host name could not be resolved")],
  // An open connection may lose its route, too, while it reads or writes. The request may then have been sent.
  [/^EHOSTUNREACH(?! read| write)/, unreachable("there is no route to its host")],
  [/^ENETUNREACH(?! read| write)/, unreachable("there is no route to its network")],
  [
    /^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT connect)/,
    unreachable("connecting to it took too long", transient("timeout", "not_executed"))
  ],
  [
    /^(CERT_|ERR_TLS_CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT|UNABLE_TO_|ERROR_IN_CERT_|INVALID_CA|HOSTNAME_MISMATCH)/,
    unreachable("its certificate is not trusted", distrusted)
  ],
  // The code that axios gives its own timeout.
  [/^ECONNABORTED$/, late],
  [/^(UND_ERR_\w*TIMEOUT|ERR_\w*TIMEOUT|E(SOCKET)?TIMEDOUT|PROTOCOL_SEQUENCE_TIMEOUT)/, { ...late, isVague: true }],
  [/^(ABORT_ERR|ERR_ABORTED|ERR_CANCELED|UND_ERR_ABORTED)$/, abortedRequest],
  [ofConnections, lost],
  [/^ERR_(INVALID_URL|INVALID_PROTOCOL|UNSUPPORTED_PROTOCOL)/, {
    ...unsendable,
    sentence: "The address of the request is not valid."
  }],
  [/^ENOENT spawn/, failed("A program that the tool needs is missing.")],
  [/^ENOENT/, files.absent],
  [/^(EACCES|EPERM)/, files.denied],
  [/^EEXIST/, files.exists],
  [/^EISDIR/, rejected("The path is a directory.")],
  [/^ENOTDIR/, rejected("A part of the path is not a directory.")],
  [/^ENOTEMPTY/, rejected("The directory is not empty.")],
  [/^ENAMETOOLONG/, rejected("The path is too long.")],
  [/^ELOOP/, rejected("The path has too many symbolic links.")],
  [
    /^(EMFILE|ENFILE|EBUSY|EAGAIN|ENOMEM|ENOBUFS)/,
    { kind: transient("server_error"), sentence: "The system is out of resources." }
  ],
  [/^(ENOSPC|EDQUOT|EROFS|EIO)/, { kind: broken("server_error"), sentence: "The file system failed." }]
]
