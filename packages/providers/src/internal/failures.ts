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
import { parse, write } from "./json.ts"

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
    detail: `${server.name} could not be reached at ${server.endpoint.shown}: ${inWords(server, code, cause)}.`,
    ...(hint === undefined ? {} : { hint }),
    transient: !untrusted,
    cause
  })
}

const unsendable = (server: Server, cause: unknown) =>
  new ModelFailure({
    code: "bad_request",
    detail: `The request to ${server.name} could not be sent to ${server.endpoint.shown}.`,
    transient: false,
    cause
  })

// What a client gives up on by itself.
const isTimeout = (code: string): boolean => /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(code)

/** The server took too long. Not transient: it may still be at work, and would be asked to do the same once more. */
export const timedOut = (server: Server, timeout: Duration.Duration): ModelFailure =>
  new ModelFailure({
    code: "timeout",
    detail: `${server.name} did not answer at ${server.endpoint.shown} within ${Duration.format(timeout)}.`,
    hint: "A large model may take long to load: ask again, or allow more time with `timeout`.",
    transient: false
  })

const gaveUp = (server: Server): ModelFailure =>
  new ModelFailure({
    code: "timeout",
    detail: `The HTTP client gave up on ${server.name}, at ${server.endpoint.shown}.`,
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
  /** The status that it gave itself, where there was no other. */
  readonly status: number | undefined
}

/** An answer with a status that is not of success. */
export const refused = (
  server: Server,
  status: number,
  problem: Problem,
  retryAfter: Duration.Duration | undefined
): ModelFailure => {
  const kind = kindOf(server, status, problem)
  const hint = kind.hint ?? (retryAfter === undefined ? undefined : `Ask again in ${Duration.format(retryAfter)}.`)
  return new ModelFailure({
    ...kind,
    detail: said(server, `${server.name} answered ${status}`, problem),
    status,
    ...(hint === undefined ? {} : { hint }),
    ...(retryAfter === undefined ? {} : { retryAfter })
  })
}

/** A problem that came under a status of success, or in the middle of a stream. */
export const reported = (server: Server, problem: Problem): ModelFailure =>
  new ModelFailure({
    ...kindOf(server, problem.status ?? (/invalid_request/.test(problem.code) ? 400 : undefined), problem),
    detail: said(server, `${server.name} failed`, problem)
  })

const said = (server: Server, happened: string, { message }: Problem): string => {
  const text = bounded(server.endpoint.hide(message))
  return text === "" ? `${happened}.` : `${happened}: ${JSON.stringify(text)}`
}

interface Kind {
  readonly code: string
  readonly transient: boolean
  readonly hint?: string
}

/** What it is: by what the server says, where that means one thing, and else by the status. */
const kindOf = (server: Server, status: number | undefined, problem: Problem): Kind => {
  const kind = kinds.find((kind) => means(kind, status, problem))?.kind ?? byStatus(status ?? 500)
  const hint = hints(server).get(kind.code)
  return hint === undefined ? kind : { ...kind, hint }
}

const permanent = (code: string): Kind => ({ code, transient: false })

interface Meaning {
  readonly kind: Kind
  /** Codes and types that say so, under any status but one of the server's own faults. */
  readonly codes?: RegExp
  /** Messages that say so, under these statuses. Elsewhere they may be quoted from anywhere. */
  readonly says?: RegExp
  readonly under?: ReadonlyArray<number>
}

const means = (
  { codes, says, under = [] }: Meaning,
  status: number | undefined,
  { code, message }: Problem
): boolean =>
  (status === undefined || status < 500) &&
  (codes?.test(code) === true || (under.includes(status ?? 200) && says?.test(message) === true))

/** In the words of OpenAI, Azure, OpenRouter, Groq, Mistral, Gemini, Anthropic, vLLM, llama.cpp, LM Studio and Ollama. */
const kinds: ReadonlyArray<Meaning> = [
  {
    kind: permanent("quota_exhausted"),
    codes: /insufficient_quota|billing_hard_limit/,
    says: /insufficient_quota|credit balance|insufficient (credit|balance|fund)/i,
    under: [400, 402, 403, 429]
  },
  {
    kind: permanent("context_overflow"),
    codes: /context_length_exceeded|exceed_context_size/,
    says: new RegExp(
      [
        "(exceed|too long|longer|maximum|larger)[^.]{0,80}context",
        "context[^.]{0,80}(exceed|overflow|too long)",
        "prompt is too long|too many tokens|reduce the length|maximum model length",
        "exceeds the maximum number of tokens|max_new_tokens"
      ].join("|"),
      "i"
    ),
    under: [400, 413, 422]
  },
  // No wait makes it smaller.
  { kind: permanent("context_overflow"), says: /request too large/i, under: [413, 429] },
  {
    kind: permanent("refused"),
    codes: /content_filter/,
    says: /content management policy|requires moderation|input was flagged/i,
    under: [400, 403, 422]
  },
  {
    kind: permanent("permission_denied"),
    codes: /invalid_api_key/,
    says: /api key not valid|(incorrect|invalid) api key/i,
    under: [400]
  },
  {
    kind: permanent("unknown_model"),
    codes: /model_not_found|invalid_model|DeploymentNotFound/,
    says: /not a valid model|no endpoints found for|model( ["'`][^"'`]*["'`])? (not found|does not exist)/i,
    under: [400, 404]
  },
  { kind: permanent("bad_address"), says: /^unexpected endpoint/i, under: [200, 404] }
]

const byStatus = (status: number): Kind => {
  switch (status) {
    case 401:
    case 403:
      return permanent("permission_denied")
    case 402:
      return permanent("quota_exhausted")
    case 404:
    case 405:
      return permanent("bad_address")
    case 408:
      return { code: "timeout", transient: true }
    case 413:
      return permanent("context_overflow")
    case 429:
      return { code: "rate_limited", transient: true }
    default:
      return status >= 500
        ? { code: "server_error", transient: status !== 501 && status !== 505 }
        : permanent("bad_request")
  }
}

/** What to do about each. */
const hints = (server: Server): ReadonlyMap<string, string> =>
  new Map([
    ["quota_exhausted", "Check the account's plan and its billing."],
    ["context_overflow", "Shorten the conversation or the tools' results, or take a model that reads more."],
    ["refused", "Ask for something else, or in another way."],
    ["permission_denied", server.ifDenied],
    ["unknown_model", server.ifUnknownModel],
    ["bad_address", `Is the address right? Requests went to ${server.endpoint.shown}.`]
  ])

/** The model will not answer. */
export const declined = (server: Server, refusal: string): ModelFailure =>
  new ModelFailure({
    ...permanent("refused"),
    detail: `The model refused: ${JSON.stringify(bounded(server.endpoint.hide(refusal)))}`,
    hint: "Ask for something else, or in another way."
  })

/** A filter around the model stopped its reply. */
export const filtered: ModelFailure = new ModelFailure({
  ...permanent("refused"),
  detail: "A content filter stopped the reply.",
  hint: "Ask for something else, or in another way."
})

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

/** The connection broke in the middle of a reply, or there was none in the first place. */
export const brokenOff = (server: Server, { cause, reason }: HttpClientError): ModelFailure =>
  reason._tag === "EmptyBodyError"
    ? malformed(server, "")
    : isTimeout(systemCode(cause))
    ? gaveUp(server)
    : cutOff(server, cause)

/** The request asks for what the provider does not have. */
export const unsupported = (detail: string, hint: string): ModelFailure =>
  new ModelFailure({ code: "unsupported", detail, hint, transient: false })

// -----------------------------------------------------------------------------
// What servers say
// -----------------------------------------------------------------------------

/** What is wrong, from an error's body: `{"error":{"message":…}}`, `{"error":…}`, `{"detail":…}`, or any text. */
export const problemIn = (body: string): Problem => {
  const parsed = Option.getOrUndefined(parse(body))
  const found = Array.isArray(parsed) ? parsed[0] : parsed
  return Predicate.isObject(found)
    ? problemOf(found["error"] ?? found)
    : { message: body, code: "", status: undefined }
}

/** The same from the value of an `error` field. */
export const problemOf = (error: unknown): Problem => {
  if (!Predicate.isObject(error)) return { message: inOneText(error), code: "", status: undefined }
  const { code, metadata, status, status_code, type } = error
  // A gateway's own words, and those of whoever is behind it.
  const behind = Predicate.isObject(metadata) ? asText(metadata["raw"]) : ""
  return {
    message: [inOneText(error["message"] ?? error["detail"] ?? error), behind].filter((text) => text !== "").join(" "),
    code: [code, type, status].map(asText).join(" "),
    status: [code, status, status_code].map(Number).find((number) => number >= 400 && number < 600)
  }
}

const inOneText = (value: unknown): string =>
  typeof value === "string" ? value : Option.getOrElse(write(value), () => "")

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
