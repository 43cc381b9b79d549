/*
 * Reads the problem that a model's server reports, and decides what it means.
 */
import * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import { attempt } from "../value/untrusted.ts"

/** A problem that a server reports. */
export interface Problem {
  readonly message: string
  /** Codes and types, which distinguish problems that have the same status. */
  readonly code: string
  /** A status inside the report. */
  readonly status: number | undefined
  /** How long the report asks to wait: Gemini says it there. */
  readonly retryAfter?: Duration.Duration | undefined
}

// -----------------------------------------------------------------------------
// Reading
// -----------------------------------------------------------------------------

/**
 * Reads the problem from an error's body: `{"error":{"message":…}}`, `{"error":…}`, `{"detail":…}`, or any
 * text. The body may be parsed.
 */
export const problemIn = (body: unknown): Problem => {
  const parsed = typeof body === "string" ? attempt((): unknown => JSON.parse(body)) : body
  const object = Array.isArray(parsed) ? parsed[0] : parsed
  return Predicate.isObject(object)
    ? problemOf(object["error"] ?? errorOfResponse(object) ?? object)
    : { message: asText(body), code: "", status: undefined }
}

// OpenAI's event `response.failed`.
const errorOfResponse = ({ response }: { readonly [key: PropertyKey]: unknown }): unknown =>
  Predicate.isObject(response) ? response["error"] : undefined

/** Reads the problem from the value of an `error` field. */
export const problemOf = (error: unknown): Problem => {
  if (!Predicate.isObject(error)) return { message: messageText(error), code: "", status: undefined }
  const { code, metadata, status, status_code, type } = error
  // A gateway may quote the server behind it, in addition to its own message.
  const upstream = Predicate.isObject(metadata) ? asText(metadata["raw"]) : ""
  return {
    message: [messageText(error["message"] ?? error["detail"] ?? error), upstream].filter((text) => text !== "").join(
      " "
    ),
    code: [code, type, status].map(asText).join(" "),
    status: [code, status, status_code].map(Number).find((number) => number >= 400 && number < 600),
    retryAfter: Array.isArray(error["details"]) ? delayIn(error["details"]) : undefined
  }
}

const delayIn = (details: ReadonlyArray<unknown>): Duration.Duration | undefined => {
  const delays = details.map((detail) => Predicate.isObject(detail) ? asText(detail["retryDelay"]) : "")
  const delay = delays.find((text) => /^\d{1,6}(\.\d{1,9})?s$/.test(text))
  return delay === undefined ? undefined : Duration.seconds(Number(delay.slice(0, -1)))
}

// A value that is nested too deeply cannot be written.
const messageText = (value: unknown): string =>
  typeof value === "string" ? value : attempt((): string | undefined => JSON.stringify(value)) ?? ""

/** Returns a string or a number as a string; `""` for anything else. */
export const asText = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : ""

/** Returns the status that a report would have had, if it had not come in the middle of a reply. */
export const statusOf = ({ code }: Problem): number | undefined => statuses.find(([names]) => names.test(code))?.[1]

const statuses: ReadonlyArray<readonly [names: RegExp, status: number]> = [
  [/invalid_request/, 400],
  [/authentication_error/, 401],
  [/billing_error/, 402],
  [/permission_error/, 403],
  [/not_found_error/, 404],
  [/request_too_large/, 413],
  [/rate_limit|throttling/i, 429],
  [/overloaded/, 529]
]

// -----------------------------------------------------------------------------
// Meaning
// -----------------------------------------------------------------------------

/** Decides the kind of a problem: by the server's report if the report is clear, otherwise by the status. */
export const kindOf = (status: number | undefined, problem: Problem): Kind =>
  kinds.find((kind) => matches(kind, status, problem))?.kind ?? byStatus(status ?? 500)

export interface Kind {
  readonly code: string
  readonly transient: boolean
}

const permanent = (code: string): Kind => ({ code, transient: false })

interface Meaning {
  readonly kind: Kind
  /** Matches codes and types with this meaning. It is tried for any status below 500. */
  readonly codes?: RegExp
  /**
   * Matches messages with this meaning. It is tried only for the statuses in `under`, because with others a
   * message may quote any text.
   */
  readonly messages?: RegExp
  readonly under?: ReadonlyArray<number>
}

const matches = (
  { codes, messages, under = [] }: Meaning,
  status: number | undefined,
  { code, message }: Problem
): boolean =>
  (status === undefined || status < 500) &&
  (codes?.test(code) === true || (under.includes(status ?? 200) && messages?.test(message) === true))

/**
 * The codes and messages of OpenAI, Azure, OpenRouter, Groq, Mistral, xAI, Gemini, Anthropic, Bedrock, vLLM,
 * llama.cpp, LM Studio and Ollama.
 */
const kinds: ReadonlyArray<Meaning> = [
  {
    kind: permanent("quota_exhausted"),
    codes: /insufficient_quota|billing_hard_limit/,
    messages: /insufficient_quota|credit balance|insufficient (credit|balance|fund)/i,
    under: [400, 402, 403, 429]
  },
  {
    kind: permanent("context_overflow"),
    codes: /context_length_exceeded|exceed_context_size/,
    messages: new RegExp(
      [
        "(exceed|too long|longer|maximum|larger)[^.]{0,80}context",
        "context[^.]{0,80}(exceed|overflow|too long)",
        "prompt is too long|too many tokens|reduce the length|maximum model length",
        "exceeds the maximum number of tokens|max_new_tokens|maximum prompt length|input is too long for"
      ].join("|"),
      "i"
    ),
    under: [400, 413, 422]
  },
  // Waiting does not make the request smaller.
  { kind: permanent("context_overflow"), messages: /request too large/i, under: [413, 429] },
  {
    kind: permanent("refused"),
    codes: /content_filter|content_policy_violation/,
    messages: /content (management|filtering) policy|requires moderation|(input|prompt) was flagged|safety system/i,
    under: [400, 403, 422]
  },
  {
    kind: permanent("permission_denied"),
    codes: /invalid_api_key/,
    messages: /api key not valid|(incorrect|invalid) api key/i,
    under: [400]
  },
  {
    kind: permanent("unknown_model"),
    codes: /model_not_found|invalid_model|DeploymentNotFound/,
    messages: new RegExp(
      [
        "not a valid model|no endpoints found for|model identifier is invalid|^model: ",
        "model( [\"'`][^\"'`]*[\"'`]| (?=\\S*[\\d:-])\\S{1,100})? (not found|does not exist)|models?(/\\S{1,100})? is not found for api version"
      ].join("|"),
      "i"
    ),
    under: [400, 404]
  },
  { kind: permanent("bad_address"), messages: /^unexpected endpoint/i, under: [200, 404] }
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
