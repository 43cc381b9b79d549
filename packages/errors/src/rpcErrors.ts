/*
 * Codes of remote calls: gRPC, JSON-RPC (which MCP uses) and Slack. Most have an HTTP status with the same
 * meaning.
 */
import { kindOfStatus, ofStatus } from "./httpStatus.ts"
import { type Kind, type Recognized, transient } from "./kind.ts"
import { at, namesOf, textAt, wholeAt } from "./reading.ts"
import { late, lost } from "./systemErrors.ts"

export const ofRpc = (error: object): Recognized | undefined => {
  const code = wholeAt(error, "code")
  if (code === undefined) return ofSlack(error)
  if (code < 0) return ofJsonRpc(code, namesOf(error).includes("McpError"))
  // Some clients use the HTTP status as their code.
  if (code >= 400 && code < 600) return ofStatus(code)
  // A small number is a gRPC code only if the error also has gRPC's metadata.
  const [name, kind] = at(error, "metadata") === undefined ? [] : grpc[code] ?? []
  return kind === undefined ? undefined : { kind, sentence: `The service answered ${name}.` }
}

/** gRPC's status codes: https://grpc.io/docs/guides/status-codes/ */
const grpc: Readonly<Record<number, readonly [name: string, kind: Kind]>> = {
  1: ["CANCELLED", kindOfStatus(408)],
  2: ["UNKNOWN", kindOfStatus(500)],
  3: ["INVALID_ARGUMENT", kindOfStatus(422)],
  4: ["DEADLINE_EXCEEDED", kindOfStatus(408)],
  5: ["NOT_FOUND", kindOfStatus(404)],
  6: ["ALREADY_EXISTS", kindOfStatus(409)],
  7: ["PERMISSION_DENIED", kindOfStatus(403)],
  // Clients also report it for an answer that is too large, so the outcome stays open.
  8: ["RESOURCE_EXHAUSTED", transient("rate_limited")],
  9: ["FAILED_PRECONDITION", kindOfStatus(400)],
  10: ["ABORTED", kindOfStatus(500)],
  11: ["OUT_OF_RANGE", kindOfStatus(422)],
  12: ["UNIMPLEMENTED", kindOfStatus(501)],
  13: ["INTERNAL", kindOfStatus(500)],
  14: ["UNAVAILABLE", kindOfStatus(503)],
  15: ["DATA_LOSS", kindOfStatus(500)],
  16: ["UNAUTHENTICATED", kindOfStatus(401)]
}

const ofJsonRpc = (code: number, isOfMcp: boolean): Recognized | undefined => {
  if (code < -32_768 || code > -32_000) return undefined
  // These codes have a fixed meaning only in MCP. Other servers define their own meanings.
  if (isOfMcp && code === -32_000) return lost
  if (isOfMcp && code === -32_001) return late
  return { kind: kindOfStatus(jsonRpc[code] ?? 500), sentence: `The service answered with error ${code}.` }
}

/** https://www.jsonrpc.org/specification#error_object */
const jsonRpc: Readonly<Record<number, number>> = { [-32_700]: 400, [-32_600]: 400, [-32_601]: 501, [-32_602]: 422 }

const ofSlack = (error: object): Recognized | undefined => {
  const answer = textAt(error, "data", "error") ?? ""
  if (textAt(error, "code") !== "slack_webapi_platform_error" || !/^[a-z_]{1,60}$/.test(answer)) return undefined
  const [, status] = slack.find(([pattern]) => pattern.test(answer)) ?? []
  return { kind: kindOfStatus(status ?? 400), sentence: `The service answered ${answer}.` }
}

/**
 * Slack's errors, each with the HTTP status of the same meaning. The first matching pattern is used. See
 * https://docs.slack.dev/reference/methods/chat.postMessage#errors
 */
const slack: ReadonlyArray<readonly [answer: RegExp, status: number]> = [
  [/not_found$|^no_such_/, 404],
  [/auth|token|scope|^account_inactive$/, 401],
  [/^(access|no_permission|not_allowed|restricted)|_denied$/, 403],
  [/^rate_?limited$/, 429],
  // The service may have done something before these errors.
  [/^(fatal|internal)_error$|^service_unavailable$|^request_timeout$/, 503]
]
