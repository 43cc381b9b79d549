/**
 * Failures between the program and a model's server, as `ModelFailure`s. Each is classified by what can be
 * done about it. The messages are for the people who run the program. Messages are bounded, and contain no
 * secrets.
 */
import { ModelFailure } from "@fallible/core"
import * as Duration from "effect/Duration"
import * as Headers from "effect/http/Headers"
import type { HttpClientError } from "effect/http/HttpClientError"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type { Endpoint } from "./endpoint.ts"
import { asText, kindOf, type Problem } from "./serverProblem.ts"

/** The server that is called. */
export interface Server {
  /** The name in messages: "Ollama". */
  readonly name: string
  readonly endpoint: Endpoint
  readonly model: string
  /** Advice if the server does not answer. */
  readonly ifUnreachable: string
  /** Advice if the server does not have the model. */
  readonly ifUnknownModel: string
  /** Advice if the server denies access. */
  readonly ifDenied: string
}

// -----------------------------------------------------------------------------
// No answer
// -----------------------------------------------------------------------------

/** Reports a request that did not reach the server, or a connection that the server closed. */
export const unreachable = (server: Server, error: HttpClientError): ModelFailure => {
  const { cause } = error
  const code = systemCode(cause)
  if (error.reason._tag !== "TransportError") return unsendable(server, cause)
  if (isTimeout(code)) return clientTimedOut(server)
  const untrusted = /CERT|SSL|TLS|SIGNED|VERIFY|EPROTO/.test(code)
  const hint = untrusted
    ? "Check whether the address should begin with http:// or https://, and the server's certificate."
    // The server could be reached, but closed the connection.
    : /RESET|PIPE|UND_ERR_SOCKET/.test(code)
    ? undefined
    : server.ifUnreachable
  return new ModelFailure({
    code: "connection",
    detail: `${server.name} could not be reached at ${server.endpoint.url}: ${describeCause(server, code, cause)}.`,
    ...(hint === undefined ? {} : { hint }),
    transient: !untrusted,
    cause: withoutSecrets(server, cause)
  })
}

const unsendable = (server: Server, cause: unknown) =>
  new ModelFailure({
    code: "bad_request",
    detail: `The request to ${server.name} could not be sent to ${server.endpoint.url}.`,
    transient: false,
    cause: withoutSecrets(server, cause)
  })

// True for a timeout of the HTTP client itself.
const isTimeout = (code: string): boolean => /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(code)

/**
 * Reports that the server took too long. This is not transient: the server may still be at work, and a
 * retry would repeat that work.
 */
export const timedOut = (server: Server, timeout: Duration.Duration): ModelFailure =>
  new ModelFailure({
    code: "timeout",
    detail: `${server.name} did not answer at ${server.endpoint.url} within ${Duration.format(timeout)}.`,
    hint: "A large model may take long to load: ask again, or allow more time with `timeout`.",
    transient: false
  })

/** Reports that a streamed reply took too long. */
export const unfinishedReply = (server: Server, timeout: Duration.Duration): ModelFailure =>
  new ModelFailure({
    code: "timeout",
    detail: `${server.name} did not finish its reply at ${server.endpoint.url} within ${Duration.format(timeout)}.`,
    hint: "Ask for a shorter reply with `maxTokens`, or allow more time with `streamTimeout`.",
    transient: false
  })

const clientTimedOut = (server: Server): ModelFailure =>
  new ModelFailure({
    code: "timeout",
    detail: `The HTTP client gave up on ${server.name}, at ${server.endpoint.url}.`,
    hint: "A large model may take long to load: ask again, or allow more time in the client's own settings.",
    transient: false
  })

const describeCause = (server: Server, code: string, cause: unknown): string => {
  const description = descriptions.get(code) ?? "the connection failed"
  const detail = code === "" ? bounded(server.endpoint.hide(innermost(cause))) : code
  return detail === "" ? description : `${description} (${detail})`
}

const descriptions: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "it refused the connection"],
  ["ECONNRESET", "the connection was reset"],
  ["UND_ERR_SOCKET", "the connection was closed"],
  ["ENOTFOUND", "there is no such host"],
  ["EAI_AGAIN", "its host name could not be resolved"],
  ["EHOSTUNREACH", "the host is unreachable"],
  ["ENETUNREACH", "there is no route to its network"],
  ["ETIMEDOUT", "connecting to it took too long"],
  ["UND_ERR_CONNECT_TIMEOUT", "connecting to it took too long"]
])

/** Returns the operating system's error code, which may be nested a few causes deep. */
const systemCode = (cause: unknown, depth = 0): string => {
  if (!Predicate.isObject(cause) || depth > 5) return ""
  return typeof cause["code"] === "string" ? cause["code"] : systemCode(nextCause(cause), depth + 1)
}

const innermost = (cause: unknown, depth = 0): string => {
  if (!Predicate.isObject(cause)) return ""
  const next = nextCause(cause)
  return Predicate.isObject(next) && depth < 5 ? innermost(next, depth + 1) : asText(cause["message"])
}

const nextCause = ({ cause, errors }: { readonly [key: PropertyKey]: unknown }): unknown =>
  Array.isArray(errors) && errors.length > 0 ? errors[0] : cause

// -----------------------------------------------------------------------------
// Answers that are not replies
// -----------------------------------------------------------------------------

/** Reports an answer whose status is not a success. */
export const refusedRequest = (
  server: Server,
  status: number,
  problem: Problem,
  retryAfter: Duration.Duration | undefined
): ModelFailure =>
  new ModelFailure({
    ...(retryAfter === undefined ? {} : { retryAfter, hint: `Ask again in ${Duration.format(retryAfter)}.` }),
    ...fieldsOf(server, status, problem, `${server.name} answered ${status}`),
    status
  })

/** Reports a problem that came with a success status, or in the middle of a stream. */
export const reportedProblem = (server: Server, problem: Problem): ModelFailure =>
  new ModelFailure(fieldsOf(
    server,
    problem.status ?? (/invalid_request/.test(problem.code) ? 400 : undefined),
    problem,
    `${server.name} failed`
  ))

const fieldsOf = (server: Server, status: number | undefined, problem: Problem, happened: string) => {
  const kind = kindOf(status, problem)
  const hint = hints(server).get(kind.code)
  const message = bounded(server.endpoint.hide(problem.message))
  return {
    ...kind,
    detail: message === "" ? `${happened}.` : `${happened}: ${JSON.stringify(message)}`,
    ...(hint === undefined ? {} : { hint })
  }
}

/** Returns advice by failure code. */
const hints = (server: Server): ReadonlyMap<string, string> =>
  new Map([
    ["quota_exhausted", "Check the account's plan and its billing."],
    ["context_overflow", "Shorten the conversation or the tools' results, or use a model with a larger context."],
    ["refused", askDifferently],
    ["permission_denied", server.ifDenied],
    ["unknown_model", server.ifUnknownModel],
    ["bad_address", `Is the address right? Requests went to ${server.endpoint.url}.`]
  ])

const askDifferently = "Ask for something else, or rephrase the request."

const refusal = (detail: string) =>
  new ModelFailure({ code: "refused", detail, hint: askDifferently, transient: false })

/** Reports that the model refused to answer. */
export const declinedReply = (server: Server, text: string): ModelFailure =>
  refusal(`The model refused: ${JSON.stringify(bounded(server.endpoint.hide(text)))}`)

/** The failure of a reply that a content filter stopped. */
export const filteredReply: ModelFailure = refusal("A content filter stopped the reply.")

/** The failure of a reply that reached its token limit before it had any text. */
export const usedUp: ModelFailure = new ModelFailure({
  code: "max_tokens",
  detail: "The model reached the token limit of a reply before it wrote anything.",
  hint: "Raise `maxTokens`: reasoning models may need many tokens.",
  transient: false
})

/** Reports a body that is not a reply. A foreign body did not even come from a model's server. */
export const malformedReply = (server: Server, body: string, isForeign: boolean): ModelFailure =>
  new ModelFailure({
    code: "malformed_reply",
    detail: body.trim() === ""
      ? `${server.name} sent an empty reply.`
      : `${server.name} sent something that is not a reply: ${JSON.stringify(bounded(server.endpoint.hide(body)))}`,
    ...(isForeign ? { hint: `Check the base URL: requests went to ${server.endpoint.url}.` } : {}),
    transient: true
  })

/** Reports a body that is larger than any reply. */
export const oversizedReply = (server: Server, bytes: number): ModelFailure =>
  new ModelFailure({
    code: "malformed_reply",
    detail: `${server.name} sent a reply of more than ${bytes / mebibyte} MiB.`,
    transient: false
  })

/** One mebibyte, in bytes. */
export const mebibyte = 1024 * 1024

/** Reports a reply that ended before it was complete. */
export const cutOff = (server: Server, cause?: unknown): ModelFailure =>
  new ModelFailure({
    code: "cut_off",
    detail: `${server.name}'s reply ended before it was complete.`,
    transient: true,
    cause
  })

/** Reports a connection that broke in the middle of a reply, or an answer without a body. */
export const brokenOff = (server: Server, { cause, reason }: HttpClientError): ModelFailure =>
  reason._tag === "EmptyBodyError"
    ? malformedReply(server, "", true)
    : isTimeout(systemCode(cause))
    ? clientTimedOut(server)
    : cutOff(server, withoutSecrets(server, cause))

/** Reports a request for something that the provider does not support. */
export const unsupportedByProvider = (detail: string, hint: string): ModelFailure =>
  new ModelFailure({ code: "unsupported", detail, hint, transient: false })

// -----------------------------------------------------------------------------
// Shared
// -----------------------------------------------------------------------------

/** Returns how long a server asks callers to wait. The header has a number of seconds or a date. */
export const retryAfterIn = (headers: Headers.Headers, now: number): Duration.Duration | undefined => {
  const header = headers["retry-after"]
  const parsed = header === undefined ? undefined : Result.getOrUndefined(Headers.parseRetryAfter(header))
  return parsed === undefined ? undefined : Headers.retryAfterDelay(parsed, now)
}

/**
 * Returns the error itself. If the error or one of its causes quotes a secret, returns a copy without the
 * secret. Some runtimes put the whole address of a request into a message or a field.
 */
const withoutSecrets = (server: Server, error: unknown, depth = 0): unknown => {
  if (typeof error === "string") return server.endpoint.hide(error)
  if (typeof error !== "object" || error === null || depth > 10) return error
  const hide = (value: unknown) => withoutSecrets(server, value, depth + 1)
  if (Array.isArray(error)) {
    const errors = error.map(hide)
    return errors.some((value, index) => value !== error[index]) ? errors : error
  }
  const fields = Object.entries(Object.getOwnPropertyDescriptors(error))
  const hidden = fields.flatMap(([name, field]) => {
    const value = typeof field.value === "string" || /^(cause|errors)$/.test(name) ? hide(field.value) : field.value
    return value === field.value ? [] : [[name, { ...field, value }] as const]
  })
  return hidden.length === 0
    ? error
    : Object.create(Object.getPrototypeOf(error), Object.fromEntries([...fields, ...hidden]))
}

const bounded = (text: string): string => {
  const line = text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").trim()
  return line.length <= 500 ? line : `${line.slice(0, 500).toWellFormed()}… (${line.length - 500} more characters)`
}
