/**
 * Failures between a program and a model's server, as `ModelFailure`s: help for authors of models.
 *
 *     status and body ─ refused     no connection ─ unreachable     error in a stream ─ reported     …
 *
 * Each failure is classified by what can be done about it: by the server's own report if that is clear, otherwise by the
 * status. The reports of OpenAI, Azure, OpenRouter, Groq, Mistral, xAI, Gemini, Anthropic, Bedrock, vLLM, llama.cpp, LM
 * Studio and Ollama are known. Messages are for the people who run the program. They are bounded, and what looks like a key is hidden.
 *
 * This module uses a module of `effect` that is marked unstable, so the package's index does not export it.
 *
 * @since 0.1.0
 */
import { redact } from "@fallible/errors"
import * as Duration from "effect/Duration"
import * as Headers from "effect/http/Headers"
import * as Predicate from "effect/Predicate"
import { escape } from "effect/RegExp"
import * as Result from "effect/Result"
import { copyWithout } from "./internal/adapter/hiddenError.ts"
import { asText, kindOf, type Problem, problemIn, problemOf, statusOf } from "./internal/adapter/serverProblem.ts"
import { ModelFailure, type Usage } from "./Model.ts"

/**
 * The server that is called, as failures tell of it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Server {
  /** The name in messages: `"Ollama"`. */
  readonly name: string
  /** The address of requests, without any secret. Default: messages do not name it. */
  readonly address?: string
  /**
   * Removes secrets from a text that the server sent, or that an error quotes ({@link hide}). Default: what looks like a secret
   * is removed, and so are addresses and paths (`redact`).
   */
  readonly hide?: (text: string) => string
  /** Advice if the server does not answer. Default: none. */
  readonly ifUnreachable?: string
  /** Advice if the server does not have the model. Default: none. */
  readonly ifUnknownModel?: string
  /** Advice if the server denies access. Default: none. */
  readonly ifDenied?: string
}

// -----------------------------------------------------------------------------
// No answer
// -----------------------------------------------------------------------------

/**
 * Reports a request that did not reach the server, or whose connection the server closed before it answered.
 *
 * @param cause what the HTTP client failed with; its system code is read, also from its causes
 * @category failures
 * @since 0.1.0
 */
export const unreachable = (server: Server, cause: unknown): ModelFailure => {
  const code = systemCode(cause)
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
    detail: `${server.name} could not be reached${at(server)}: ${describeCause(server, code, cause)}.`,
    ...(hint === undefined ? {} : { hint }),
    transient: !untrusted,
    cause: withoutSecrets(server, cause)
  })
}

/**
 * Reports a request that could not be sent, because it is invalid.
 *
 * @category failures
 * @since 0.1.0
 */
export const unsendable = (server: Server, cause: unknown): ModelFailure =>
  new ModelFailure({
    code: "bad_request",
    detail: `The request to ${server.name} could not be sent${to(server)}.`,
    transient: false,
    cause: withoutSecrets(server, cause)
  })

const at = ({ address }: Server): string => address === undefined ? "" : ` at ${address}`
const to = ({ address }: Server): string => address === undefined ? "" : ` to ${address}`

// True for a timeout of the HTTP client itself.
const isTimeout = (code: string): boolean => /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(code)

/**
 * Reports that the server took too long. This is not transient: the server may still be at work, and a
 * retry would repeat that work.
 *
 * @category failures
 * @since 0.1.0
 */
export const timedOut = (server: Server, timeout: Duration.Duration): ModelFailure =>
  new ModelFailure({
    code: "timeout",
    detail: `${server.name} did not answer${at(server)} within ${Duration.format(timeout)}.`,
    hint: "A large model may take long to load: ask again, or allow more time with `timeout`.",
    transient: false
  })

/**
 * Reports that a streamed reply took too long.
 *
 * @category failures
 * @since 0.1.0
 */
export const unfinishedReply = (server: Server, timeout: Duration.Duration): ModelFailure =>
  new ModelFailure({
    code: "timeout",
    detail: `${server.name} did not finish its reply${at(server)} within ${Duration.format(timeout)}.`,
    hint: "Ask for a shorter reply with `maxTokens`, or allow more time with `streamTimeout`.",
    transient: false
  })

const clientTimedOut = (server: Server): ModelFailure =>
  new ModelFailure({
    code: "timeout",
    detail: `The HTTP client gave up on ${server.name}${server.address === undefined ? "" : `, at ${server.address}`}.`,
    hint: "A large model may take long to load: ask again, or allow more time in the client's own settings.",
    transient: false
  })

const describeCause = (server: Server, code: string, cause: unknown): string => {
  const description = descriptions.get(code) ?? "the connection failed"
  const detail = code === "" ? quote(server, innermost(cause)) : code
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

/**
 * Reports an answer whose status is not a success.
 *
 * @param answer its status, and its body as text or as parsed JSON. `retryAfter` is how long the server asks to wait
 * @example
 * ```ts
 * import * as ModelProblem from "@fallible/core/ModelProblem"
 *
 * const body = '{"error":{"message":"Your credit balance is too low.","type":"invalid_request_error"}}'
 * const failure = ModelProblem.refused({ name: "Anthropic" }, { status: 400, body })
 * failure.code // => "quota_exhausted"
 * failure.transient // => false
 * ```
 *
 * @category failures
 * @since 0.1.0
 */
export const refused = (
  server: Server,
  { body, retryAfter, status }: {
    readonly status: number
    readonly body: unknown
    readonly retryAfter?: Duration.Duration | undefined
  }
): ModelFailure => {
  const problem = problemIn(body)
  const wait = retryAfter ?? problem.retryAfter
  return new ModelFailure({
    ...(wait === undefined ? {} : { retryAfter: wait, hint: `Ask again in ${Duration.format(wait)}.` }),
    ...fieldsOf(server, status, problem, `${server.name} answered ${status}`),
    status
  })
}

/**
 * Reports a problem that came with a success status, or in the middle of a stream.
 *
 * @param error the value of the report's `error` field
 * @category failures
 * @since 0.1.0
 */
export const reported = (server: Server, error: unknown): ModelFailure => {
  const problem = problemOf(error)
  const status = problem.status ?? statusOf(problem)
  return new ModelFailure(fieldsOf(server, status, problem, `${server.name} failed`))
}

const fieldsOf = (server: Server, status: number | undefined, problem: Problem, happened: string) => {
  const kind = kindOf(status, problem)
  const hint = hints(server).get(kind.code)
  const message = quote(server, problem.message)
  return {
    ...kind,
    detail: message === "" ? `${happened}.` : `${happened}: ${JSON.stringify(message)}`,
    ...(hint === undefined ? {} : { hint })
  }
}

/** Returns advice by failure code. */
const hints = (server: Server): ReadonlyMap<string, string | undefined> =>
  new Map([
    ["quota_exhausted", "Check the account's plan and its billing."],
    ["context_overflow", "Shorten the conversation or the tools' results, or use a model with a larger context."],
    ["refused", askDifferently],
    ["permission_denied", server.ifDenied],
    ["unknown_model", server.ifUnknownModel],
    [
      "bad_address",
      server.address === undefined ? undefined : `Is the address right? Requests went to ${server.address}.`
    ]
  ])

const askDifferently = "Ask for something else, or rephrase the request."

const refusal = (detail: string, usage: Usage | undefined) =>
  new ModelFailure({ code: "refused", detail, hint: askDifferently, transient: false, ...used(usage) })

const used = (usage: Usage | undefined) => usage === undefined ? {} : { usage }

/**
 * Reports that the model refused to answer.
 *
 * @category failures
 * @since 0.1.0
 */
export const declined = (server: Server, text: string, usage?: Usage): ModelFailure =>
  refusal(`The model refused: ${JSON.stringify(quote(server, text))}`, usage)

/**
 * The failure of a reply that a content filter stopped.
 *
 * @category failures
 * @since 0.1.0
 */
export const filtered = (usage?: Usage): ModelFailure => refusal("A content filter stopped the reply.", usage)

/**
 * The failure of a reply that reached its token limit before it had any text.
 *
 * @category failures
 * @since 0.1.0
 */
export const usedUp = (usage?: Usage): ModelFailure =>
  new ModelFailure({
    code: "max_tokens",
    detail: "The model reached the token limit of a reply before it wrote anything.",
    hint: "Raise `maxTokens`: reasoning models may need many tokens.",
    transient: false,
    ...used(usage)
  })

/**
 * Reports a body that is not a reply. A foreign body did not even come from a model's server.
 *
 * @category failures
 * @since 0.1.0
 */
export const malformed = (server: Server, body: string, isForeign = false, usage?: Usage): ModelFailure =>
  new ModelFailure({
    code: "malformed_reply",
    detail: body.trim() === ""
      ? `${server.name} sent an empty reply.`
      : `${server.name} sent something that is not a reply: ${JSON.stringify(quote(server, body))}`,
    ...(isForeign && server.address !== undefined
      ? { hint: `Check the base URL: requests went to ${server.address}.` }
      : {}),
    transient: true,
    ...used(usage)
  })

/**
 * Reports a body that is larger than any reply.
 *
 * @category failures
 * @since 0.1.0
 */
export const oversized = (server: Server, bytes: number): ModelFailure =>
  new ModelFailure({
    code: "malformed_reply",
    detail: `${server.name} sent a reply of more than ${bytes / mebibyte} MiB.`,
    transient: false
  })

const mebibyte = 1024 * 1024

/**
 * Reports a reply that ended before it was complete.
 *
 * @category failures
 * @since 0.1.0
 */
export const cutOff = (server: Server, cause?: unknown, usage?: Usage): ModelFailure =>
  new ModelFailure({
    code: "cut_off",
    detail: `${server.name}'s reply ended before it was complete.`,
    transient: true,
    cause: withoutSecrets(server, cause),
    ...used(usage)
  })

/**
 * Reports a connection that broke in the middle of a reply.
 *
 * @category failures
 * @since 0.1.0
 */
export const brokenOff = (server: Server, cause: unknown): ModelFailure =>
  isTimeout(systemCode(cause)) ? clientTimedOut(server) : cutOff(server, cause)

/**
 * Reports a request for something that the server does not support.
 *
 * @category failures
 * @since 0.1.0
 */
export const unsupported = (detail: string, hint: string, usage?: Usage): ModelFailure =>
  new ModelFailure({ code: "unsupported", detail, hint, transient: false, ...used(usage) })

// -----------------------------------------------------------------------------
// Shared
// -----------------------------------------------------------------------------

/**
 * Returns how long a server asks callers to wait: its header `retry-after` has a number of seconds or a date.
 *
 * @param headers with names in lower case
 * @param now the time, in milliseconds since 1970
 * @category failures
 * @since 0.1.0
 */
export const retryAfter = (
  headers: Readonly<Record<string, string | undefined>>,
  now: number
): Duration.Duration | undefined => {
  const header = headers["retry-after"]
  const parsed = header === undefined ? undefined : Result.getOrUndefined(Headers.parseRetryAfter(header))
  return parsed === undefined ? undefined : Headers.retryAfterDelay(parsed, now)
}

/**
 * Returns a function that removes secrets from a text, in all forms in which servers and clients quote them: as they are,
 * encoded for an address or a query, and in both spellings of JSON. A secret of fewer than 8 characters is not removed: it may
 * appear by chance.
 *
 * When to use: for `Server.hide`, where the key is known. Where it is not, leave `hide` out.
 *
 * @example
 * ```ts
 * import * as ModelProblem from "@fallible/core/ModelProblem"
 *
 * ModelProblem.hide(["hunter2-hunter2"])("No such key: hunter2-hunter2") // => "No such key: <redacted>"
 * ```
 *
 * @category failures
 * @since 0.1.0
 */
export const hide = (secrets: ReadonlyArray<string>): (text: string) => string => {
  const forms = secrets.filter(({ length }) => length >= leastSecret).flatMap(formsOf)
  // The longest secret comes first, because a shorter one may be a part of it.
  const longestFirst = Array.from(new Set(forms)).toSorted((a, b) => b.length - a.length).map((form) => escape(form))
  const pattern = new RegExp(longestFirst.join("|"), "gi")
  return (text) => longestFirst.length === 0 ? text : text.replace(pattern, "<redacted>")
}

const leastSecret = 8

const formsOf = (secret: string): ReadonlyArray<string> => {
  const quoted = JSON.stringify(secret).slice(1, -1)
  const encoded = encodeURIComponent(secret)
  // As in a query.
  const queried = encoded.replace(/%20/g, "+").replace(
    /[!'()~]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`
  )
  return [secret, encoded, queried, quoted, quoted.replaceAll("/", "\\/")]
}

const hidden = ({ hide = redactStart }: Server, text: string): string => hide(text)

// Looking for secrets takes time, and of a long text only the beginning is of use.
const redactStart = (text: string): string => redact(text.length > mostRead ? `${text.slice(0, mostRead)}…` : text)

const mostRead = 20_000

/**
 * Returns an error as the `cause` of a failure: itself, or a copy without the secrets that it or one of its causes quotes. Some
 * runtimes put the whole address of a request into a message or a field. If the secrets are not known, the copy has no
 * instances of classes other than errors, such as headers, and no more than a thousand fields.
 *
 * @category failures
 * @since 0.1.0
 */
export const withoutSecrets = (server: Server, error: unknown): unknown =>
  copyWithout((text) => hidden(server, text), error, server.hide !== undefined)

/**
 * Returns a text of a server or of an error as a failure's detail quotes it: without secrets, on one line, of at most 500
 * characters.
 *
 * @category failures
 * @since 0.1.0
 */
export const quote = (server: Server, text: string): string => bounded(hidden(server, text))

const bounded = (text: string): string => {
  const line = text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").trim()
  return line.length <= 500 ? line : `${line.slice(0, 500).toWellFormed()}… (${line.length - 500} more characters)`
}
