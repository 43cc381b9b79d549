/** What a server said was wrong, and what that means. */
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import { parse, write } from "./json.ts"

/** What a server said was wrong. */
export interface Problem {
  readonly message: string
  /** Codes and types, for telling one 400 from another. */
  readonly code: string
  /** The status that it gave itself, where there was no other. */
  readonly status: number | undefined
}

// -----------------------------------------------------------------------------
// Reading it
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

/** A word or a number, as a text. */
export const asText = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : ""

// -----------------------------------------------------------------------------
// What it means
// -----------------------------------------------------------------------------

/** What it is: by what the server says, where that means one thing, and else by the status. */
export const kindOf = (status: number | undefined, problem: Problem): Kind =>
  kinds.find((kind) => means(kind, status, problem))?.kind ?? byStatus(status ?? 500)

export interface Kind {
  readonly code: string
  readonly transient: boolean
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
