import { at } from "./runtime.ts"

/** True if an error, or the error that caused it, says that no connection was made. */
export const provesUnsent = (error: unknown, depth = 0): boolean => {
  if (depth > 4) return false
  const several = at(error, "errors")
  if (Array.isArray(several) && several.length > 0) return several.every((one) => provesUnsent(one, depth + 1))
  const code = at(error, "code")
  return typeof code === "string" && unsent.test(code) || provesUnsent(at(error, "cause"), depth + 1)
}

// Refused, not found, not reachable in time, not trusted. The second spelling of a refusal is Bun's.
const unsent =
  /^(E(?:CONNREFUSED|HOSTUNREACH|NETUNREACH|PROTO|AI_AGAIN)|ConnectionRefused|ENOTFOUND|UND_ERR_CONNECT_TIMEOUT|ERR_INVALID_URL|ERR_(?:SSL|TLS)_\w+|\w*CERT\w*|UNABLE_TO_\w+|DEPTH_ZERO_\w+)$/
