/**
 * What can go wrong between here and a server, as `ModelFailure`s: sorted by what happens next, in words for the
 * people who run the program, bounded, and without anything secret.
 */
import { ModelFailure } from "@fallible/core"
import * as Duration from "effect/Duration"
import * as Headers from "effect/http/Headers"
import type { HttpClientError } from "effect/http/HttpClientError"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type { Endpoint } from "./endpoint.ts"
import { asText, kindOf, type Problem } from "./problem.ts"

/** Who is asked. */
export interface Server {
  /** As it is called in messages: "Ollama". */
  readonly name: string
  readonly endpoint: Endpoint
  readonly model: string
  /** What to do when nobody answers. */
  readonly ifUnreachable: string
  /** What to do when there is no such model. */
  readonly ifUnknownModel: string
  /** What to do when the caller is not let in. */
  readonly ifDenied: string
}

// -----------------------------------------------------------------------------
// No answer
// -----------------------------------------------------------------------------

/** The request did not get there, or the server hung up on it. */
export const unreachable = (server: Server, error: HttpClientError): ModelFailure => {
  const { cause } = error
  const code = systemCode(cause)
  if (error.reason._tag !== "TransportError") return unsendable(server, cause)
  if (isTimeout(code)) return gaveUp(server)
  const untrusted = /CERT|SSL|TLS|SIGNED|VERIFY|EPROTO/.test(code)
  const hint = untrusted
    ? "Check whether the address should begin with http:// or https://, and the server's certificate."
    // It was there, and hung up.
    : /RESET|PIPE|UND_ERR_SOCKET/.test(code)
    ? undefined
    : server.ifUnreachable
  return new ModelFailure({
    code: "connection",
    detail: `${server.name} could not be reached at ${server.endpoint.url}: ${inWords(server, code, cause)}.`,
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

// What a client gives up on by itself.
const isTimeout = (code: string): boolean => /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(code)

/** The server took too long. Not transient: it may still be at work, and would be asked to do the same once more. */
export const timedOut = (server: Server, timeout: Duration.Duration): ModelFailure =>
  new ModelFailure({
    code: "timeout",
    detail: `${server.name} did not answer at ${server.endpoint.url} within ${Duration.format(timeout)}.`,
    hint: "A large model may take long to load: ask again, or allow more time with `timeout`.",
    transient: false
  })

/** A streamed reply went on for too long. */
export const unfinished = (server: Server, timeout: Duration.Duration): ModelFailure =>
  new ModelFailure({
    code: "timeout",
    detail: `${server.name} did not finish its reply at ${server.endpoint.url} within ${Duration.format(timeout)}.`,
    hint: "Ask for a shorter reply with `maxTokens`, or allow more time with `streamTimeout`.",
    transient: false
  })

const gaveUp = (server: Server): ModelFailure =>
  new ModelFailure({
    code: "timeout",
    detail: `The HTTP client gave up on ${server.name}, at ${server.endpoint.url}.`,
    hint: "A large model may take long to load: ask again, or allow more time in the client's own settings.",
    transient: false
  })

const inWords = (server: Server, code: string, cause: unknown): string => {
  const saying = sayings.get(code) ?? "the connection failed"
  const detail = code === "" ? bounded(server.endpoint.hide(innermost(cause))) : code
  return detail === "" ? saying : `${saying} (${detail})`
}

const sayings: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "it refused the connection"],
  ["ECONNRESET", "the connection was reset"],
  ["UND_ERR_SOCKET", "the connection was closed"],
  ["ENOTFOUND", "there is no such host"],
  ["EAI_AGAIN", "its host name could not be resolved"],
  ["EHOSTUNREACH", "there is no way to the host"],
  ["ENETUNREACH", "there is no route to its network"],
  ["ETIMEDOUT", "connecting to it took too long"],
  ["UND_ERR_CONNECT_TIMEOUT", "connecting to it took too long"]
])

/** The system's own word for what happened: it is a few causes down. */
const systemCode = (cause: unknown, depth = 0): string => {
  if (!Predicate.isObject(cause) || depth > 5) return ""
  return typeof cause["code"] === "string" ? cause["code"] : systemCode(below(cause), depth + 1)
}

const innermost = (cause: unknown, depth = 0): string => {
  if (!Predicate.isObject(cause)) return ""
  const next = below(cause)
  return Predicate.isObject(next) && depth < 5 ? innermost(next, depth + 1) : asText(cause["message"])
}

const below = ({ cause, errors }: { readonly [key: PropertyKey]: unknown }): unknown =>
  Array.isArray(errors) && errors.length > 0 ? errors[0] : cause

// -----------------------------------------------------------------------------
// An answer that is no reply
// -----------------------------------------------------------------------------

/** An answer with a status that is not of success. */
export const refused = (
  server: Server,
  status: number,
  problem: Problem,
  retryAfter: Duration.Duration | undefined
): ModelFailure =>
  new ModelFailure({
    ...(retryAfter === undefined ? {} : { retryAfter, hint: `Ask again in ${Duration.format(retryAfter)}.` }),
    ...described(server, status, problem, `${server.name} answered ${status}`),
    status
  })

/** A problem that came under a status of success, or in the middle of a stream. */
export const reported = (server: Server, problem: Problem): ModelFailure =>
  new ModelFailure(described(
    server,
    problem.status ?? (/invalid_request/.test(problem.code) ? 400 : undefined),
    problem,
    `${server.name} failed`
  ))

const described = (server: Server, status: number | undefined, problem: Problem, happened: string) => {
  const kind = kindOf(status, problem)
  const hint = hints(server).get(kind.code)
  const said = bounded(server.endpoint.hide(problem.message))
  return {
    ...kind,
    detail: said === "" ? `${happened}.` : `${happened}: ${JSON.stringify(said)}`,
    ...(hint === undefined ? {} : { hint })
  }
}

/** What to do about each. */
const hints = (server: Server): ReadonlyMap<string, string> =>
  new Map([
    ["quota_exhausted", "Check the account's plan and its billing."],
    ["context_overflow", "Shorten the conversation or the tools' results, or take a model that reads more."],
    ["refused", otherwise],
    ["permission_denied", server.ifDenied],
    ["unknown_model", server.ifUnknownModel],
    ["bad_address", `Is the address right? Requests went to ${server.endpoint.url}.`]
  ])

const otherwise = "Ask for something else, or in another way."

const refusal = (detail: string) => new ModelFailure({ code: "refused", detail, hint: otherwise, transient: false })

/** The model will not answer. */
export const declined = (server: Server, text: string): ModelFailure =>
  refusal(`The model refused: ${JSON.stringify(bounded(server.endpoint.hide(text)))}`)

/** A filter around the model stopped its reply. */
export const filtered: ModelFailure = refusal("A content filter stopped the reply.")

/** The reply was cut off before anything was said. */
export const usedUp: ModelFailure = new ModelFailure({
  code: "max_tokens",
  detail: "The model used up the most tokens that a reply may have before it said anything.",
  hint: "Allow more with `maxTokens`: a model that reasons may need many.",
  transient: false
})

/** What came is not a reply; when it is foreign, something else than a model's server sent it. */
export const malformed = (server: Server, body: string, isForeign: boolean): ModelFailure =>
  new ModelFailure({
    code: "malformed_reply",
    detail: body.trim() === ""
      ? `${server.name} sent an empty reply.`
      : `${server.name} sent something that is not a reply: ${JSON.stringify(bounded(server.endpoint.hide(body)))}`,
    ...(isForeign ? { hint: `Check the base URL: requests went to ${server.endpoint.url}.` } : {}),
    transient: true
  })

/** More came than any reply has. */
export const oversized = (server: Server, bytes: number): ModelFailure =>
  new ModelFailure({
    code: "malformed_reply",
    detail: `${server.name} sent a reply of more than ${bytes / mebibyte} MiB.`,
    transient: false
  })

/** A number of bytes. */
export const mebibyte = 1024 * 1024

/** The reply ended before it was complete. */
export const cutOff = (server: Server, cause?: unknown): ModelFailure =>
  new ModelFailure({
    code: "cut_off",
    detail: `${server.name}'s reply ended before it was complete.`,
    transient: true,
    cause
  })

/** The connection broke in the middle of a reply, or there was none in the first place. */
export const brokenOff = (server: Server, { cause, reason }: HttpClientError): ModelFailure =>
  reason._tag === "EmptyBodyError"
    ? malformed(server, "", true)
    : isTimeout(systemCode(cause))
    ? gaveUp(server)
    : cutOff(server, withoutSecrets(server, cause))

/** The request asks for what the provider does not have. */
export const unsupported = (detail: string, hint: string): ModelFailure =>
  new ModelFailure({ code: "unsupported", detail, hint, transient: false })

// -----------------------------------------------------------------------------
// What they are made of
// -----------------------------------------------------------------------------

/** How long a server asks to be left alone: a number of seconds, or a date. */
export const retryAfterIn = (headers: Headers.Headers, now: number): Duration.Duration | undefined => {
  const header = headers["retry-after"]
  const parsed = header === undefined ? undefined : Result.getOrUndefined(Headers.parseRetryAfter(header))
  return parsed === undefined ? undefined : Headers.retryAfterDelay(parsed, now)
}

/**
 * The original error; or a copy without secrets, where it or an error behind it quotes one. Some runtimes put the whole
 * address into a message or a field.
 */
const withoutSecrets = (server: Server, error: unknown, depth = 0): unknown => {
  if (typeof error === "string") return server.endpoint.hide(error)
  if (typeof error !== "object" || error === null || depth > 10) return error
  const inside = (value: unknown) => withoutSecrets(server, value, depth + 1)
  if (Array.isArray(error)) {
    const errors = error.map(inside)
    return errors.some((value, index) => value !== error[index]) ? errors : error
  }
  const fields = Object.entries(Object.getOwnPropertyDescriptors(error))
  const hidden = fields.flatMap(([name, field]) => {
    const value = typeof field.value === "string" || /^(cause|errors)$/.test(name) ? inside(field.value) : field.value
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
