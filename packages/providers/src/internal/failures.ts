/**
 * What can go wrong between here and a server, as `ModelFailure`s: sorted by what happens next, in words for the
 * people who run the program, bounded, and without anything secret.
 */
import { ModelFailure } from "@fallible/core"
import * as Duration from "effect/Duration"
import * as Headers from "effect/http/Headers"
import type { HttpClientError } from "effect/http/HttpClientError"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type { Endpoint } from "./endpoint.ts"

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
  if (isTimeout(code)) return timedOut(server)
  const untrusted = /CERT|SSL|TLS|SIGNED|VERIFY|EPROTO/.test(code)
  return new ModelFailure({
    code: "connection",
    detail: `${server.name} at ${server.endpoint.shown} could not be reached: ${inWords(server, code, cause)}.`,
    hint: untrusted
      ? "Check whether the address should begin with http:// or https://, and the server's certificate."
      : server.ifUnreachable,
    transient: !untrusted,
    cause
  })
}

const unsendable = (server: Server, cause: unknown) =>
  new ModelFailure({
    code: "bad_request",
    detail: `The request to ${server.name} at ${server.endpoint.shown} could not be sent.`,
    transient: false,
    cause
  })

// What a client gives up on by itself.
const isTimeout = (code: string): boolean => /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(code)

/** The server took too long. Not transient: it may still be at work, and would be asked to do the same once more. */
export const timedOut = (server: Server, timeout?: Duration.Duration): ModelFailure =>
  new ModelFailure({
    code: "timeout",
    detail: `${server.name} at ${server.endpoint.shown} did not answer${
      timeout === undefined ? " in time" : ` within ${Duration.format(timeout)}`
    }.`,
    hint: "A large model may take long to load: ask again, or allow more time with `timeout`.",
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
  ["EAI_AGAIN", "its name could not be looked up"],
  ["EHOSTUNREACH", "there is no way to the host"],
  ["ENETUNREACH", "there is no way to its network"],
  ["ETIMEDOUT", "it did not take the connection in time"],
  ["UND_ERR_CONNECT_TIMEOUT", "it did not take the connection in time"]
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

/** What a server said was wrong. */
export interface Problem {
  readonly message: string
  /** Codes and types, for telling one 400 from another. */
  readonly code: string
}

/** An answer with a status that is not of success. */
export const refused = (
  server: Server,
  status: number,
  problem: Problem,
  retryAfter: Duration.Duration | undefined
): ModelFailure =>
  new ModelFailure({
    ...ofKind(server, status, problem, `${server.name} answered ${status}`),
    status,
    ...(retryAfter === undefined ? {} : { retryAfter })
  })

/** A problem that came under a status of success, or in the middle of a stream. */
export const reported = (server: Server, problem: Problem): ModelFailure =>
  new ModelFailure(
    ofKind(server, Number(/\b[45]\d\d\b/.exec(problem.code)?.[0] ?? 500), problem, `${server.name} failed`)
  )

const ofKind = (server: Server, status: number, { code, message }: Problem, happened: string) => {
  const said = bounded(server.endpoint.hide(message))
  return {
    detail: said === "" ? `${happened}.` : `${happened}: ${JSON.stringify(said)}`,
    ...kindOf(server, status, `${code} ${message}`)
  }
}

interface Kind {
  readonly code: string
  readonly transient: boolean
  readonly hint?: string
}

const kindOf = (server: Server, status: number, said: string): Kind => {
  if (status !== 429 && overflows.test(said)) {
    return {
      code: "context_overflow",
      transient: false,
      hint: "Shorten the conversation or the tools' results, or take a model that reads more."
    }
  }
  if (status === 402 || (status === 429 && /insufficient_quota|exceeded your current quota|billing/i.test(said))) {
    return { code: "quota_exhausted", transient: false, hint: "Check the account's plan and its billing." }
  }
  if (status === 401 || status === 403) return { code: "permission_denied", transient: false, hint: server.ifDenied }
  if (status === 404) {
    return /model/i.test(said)
      ? { code: "unknown_model", transient: false, hint: server.ifUnknownModel }
      : {
        code: "bad_request",
        transient: false,
        hint: `Is the address right? Requests went to ${server.endpoint.shown}.`
      }
  }
  if (status === 408) return { code: "timeout", transient: true }
  if (status === 429) return { code: "rate_limited", transient: true }
  if (status >= 500) return { code: "server_error", transient: status !== 501 && status <= 504 }
  return { code: "bad_request", transient: false }
}

// In the words of OpenAI, vLLM, llama.cpp, LM Studio, Ollama.
const overflows =
  /context_length_exceeded|exceed_context_size|maximum context length|context (?:length|size|window)|context overflow|prompt is too long|too many tokens/i

/** The model, or a filter around it, will not answer. */
export const declined = (server: Server, refusal: string): ModelFailure => {
  const said = bounded(server.endpoint.hide(refusal))
  return new ModelFailure({
    code: "refused",
    detail: said === "" ? "A content filter stopped the reply." : `The model refused: ${JSON.stringify(said)}`,
    hint: "Ask for something else, or in another way.",
    transient: false
  })
}

/** The reply was cut off before anything was said. */
export const usedUp: ModelFailure = new ModelFailure({
  code: "max_tokens",
  detail: "The model used up the most tokens that a reply may have before it said anything.",
  hint: "Allow more with `maxTokens`: a model that reasons may need many.",
  transient: false
})

/** What came is no reply at all. */
export const malformed = (server: Server, body: string): ModelFailure =>
  new ModelFailure({
    code: "malformed_reply",
    detail: body.trim() === ""
      ? `${server.name} sent an empty reply.`
      : `${server.name} sent what is no reply: ${JSON.stringify(bounded(server.endpoint.hide(body)))}`,
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

/** The connection broke in the middle of a reply. */
export const brokenOff = (server: Server, { cause }: HttpClientError): ModelFailure =>
  isTimeout(systemCode(cause)) ? timedOut(server) : cutOff(server, cause)

/** The request asks for what the provider does not have. */
export const unsupported = (detail: string, hint: string): ModelFailure =>
  new ModelFailure({ code: "unsupported", detail, hint, transient: false })

// -----------------------------------------------------------------------------
// What servers say
// -----------------------------------------------------------------------------

/** What is wrong, from an error's body: `{"error":{"message":…}}`, `{"error":…}`, `{"detail":…}`, or any text. */
export const problemIn = (body: string): Problem => {
  const parsed = Option.getOrUndefined(Option.liftThrowable((text: string): unknown => JSON.parse(text))(body))
  const error = Predicate.isObject(parsed) ? parsed["error"] ?? parsed : undefined
  return error === undefined ? { message: body, code: "" } : problemOf(error)
}

/** The same from the value of an `error` field. */
export const problemOf = (error: unknown): Problem => {
  if (!Predicate.isObject(error)) {
    return { message: typeof error === "string" ? error : JSON.stringify(error), code: "" }
  }
  const said = error["message"] ?? error["detail"] ?? error
  return {
    message: typeof said === "string" ? said : JSON.stringify(said),
    code: `${asText(error["code"])} ${asText(error["type"])}`
  }
}

const asText = (value: unknown): string => typeof value === "string" || typeof value === "number" ? String(value) : ""

/** How long a server asks to be left alone: a number of seconds, or a date. */
export const retryAfterIn = (headers: Headers.Headers, now: number): Duration.Duration | undefined => {
  const header = headers["retry-after"]
  const parsed = header === undefined ? undefined : Result.getOrUndefined(Headers.parseRetryAfter(header))
  return parsed === undefined ? undefined : Headers.retryAfterDelay(parsed, now)
}

const bounded = (text: string): string => {
  const line = text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").trim()
  return line.length <= 500 ? line : `${line.slice(0, 500).toWellFormed()}… (${line.length - 500} more characters)`
}
