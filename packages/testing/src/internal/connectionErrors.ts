/** The errors of Node's own `fetch` for connections that fail. */

const fetchFailed = (cause: Error): TypeError => new TypeError("fetch failed", { cause })

const terminated = (cause: Error): TypeError => new TypeError("terminated", { cause })

const coded = (message: string, fields: { readonly code: string; readonly syscall?: string }): Error =>
  Object.assign(new Error(message), fields)

/** The service did not accept the connection. */
export const connectionRefused = (): TypeError =>
  fetchFailed(coded("connect ECONNREFUSED", { code: "ECONNREFUSED", syscall: "connect" }))

/** The connection was reset before an answer. */
export const connectionLost = (): TypeError =>
  fetchFailed(coded("read ECONNRESET", { code: "ECONNRESET", syscall: "read" }))

/** The connection was reset or closed in the middle of a body. */
export const bodyLost = (how: "close" | "drop"): TypeError =>
  terminated(
    how === "drop"
      ? coded("read ECONNRESET", { code: "ECONNRESET", syscall: "read" })
      : coded("other side closed", { code: "UND_ERR_SOCKET" })
  )
