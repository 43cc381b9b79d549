/*
 * Makes a `ModelFailure` from whatever a provider throws, rejects with, or sends in a stream.
 */
import { ModelFailure } from "@fallible/core"
import * as ModelProblem from "@fallible/core/ModelProblem"
import * as Predicate from "effect/Predicate"
import { type Fields, fieldsOf, objectAt, parsed, textAt } from "./untyped.ts"

/** @param now the time, in milliseconds since 1970 */
export const failureOf = (server: ModelProblem.Server, error: unknown, now: number): ModelFailure =>
  reading(server, () => thrown(server, error, now))

/** Makes a failure from the error in a stream: an error object, or what the server reported in the middle of its reply. */
export const reportedFailure = (server: ModelProblem.Server, error: unknown, now: number): ModelFailure =>
  reading(server, () => {
    if (isOfNetwork(error)) return ModelProblem.brokenOff(server, error)
    if (!(error instanceof Error) && !hasStatus(fieldsOf(error))) {
      return ModelProblem.reported(server, objectAt(error, "error") ?? error)
    }
    // The request has been sent by then, so an unknown error is about what the server sent.
    const failure = thrown(server, error, now)
    return failure.code === "defect" ? malformed(server, error, fieldsOf(error)) : failure
  })

// An error may have getters that throw.
const reading = (server: ModelProblem.Server, read: () => ModelFailure): ModelFailure => {
  try {
    return read()
  } catch {
    return new ModelFailure({
      code: "defect",
      detail: `${server.name} failed with an error that cannot be read.`,
      transient: false
    })
  }
}

const thrown = (server: ModelProblem.Server, error: unknown, now: number): ModelFailure => {
  const fields = fieldsOf(error)
  if (hasStatus(fields)) {
    const body = textAt(fields, "responseBody") ?? fields["data"] ?? textAt(fields, "message")
    const headers = objectAt(fields, "responseHeaders") ?? {}
    return ModelProblem.refused(server, {
      status: fields["statusCode"],
      body,
      retryAfter: ModelProblem.retryAfter(textsIn(headers), now)
    })
  }
  const name = textAt(fields, "name") ?? ""
  const named = kinds.find(([pattern]) => pattern.test(name))?.[1](server, error, fields)
  if (named !== undefined) return named
  if (isOfNetwork(error)) return ModelProblem.unreachable(server, error)
  // The Anthropic package throws this if the first piece of a stream is not JSON.
  if (/^Expected a normalized \w+ stream error/.test(textAt(fields, "message") ?? "")) {
    return malformed(server, error, fields)
  }
  return new ModelFailure({
    code: "defect",
    detail: `${server.name} failed with an error in the program: ${words(server, error)}`,
    transient: false,
    cause: ModelProblem.withoutSecrets(server, error)
  })
}

// A status that tells of a failure.
const hasStatus = (fields: Fields): fields is Fields & { readonly statusCode: number } => {
  const status = fields["statusCode"]
  return Number.isInteger(status) && Number(status) >= 300 && Number(status) < 600
}

type Kind = (server: ModelProblem.Server, error: unknown, fields: Fields) => ModelFailure

const malformed: Kind = (server, error, fields) => {
  const body = textAt(fields, "responseBody") ?? textAt(fields, "text")
  // Some servers report a failure with a status of success.
  const report = body === undefined ? undefined : objectAt(parsed(body), "error")
  if (report !== undefined) return ModelProblem.reported(server, report)
  const { detail } = ModelProblem.malformed(server, body ?? "")
  return new ModelFailure({
    code: "malformed_reply",
    detail: body === undefined ? `${server.name} sent something that is not a reply: ${words(server, error)}` : detail,
    transient: true,
    cause: ModelProblem.withoutSecrets(server, error)
  })
}

const permanent = (code: string, hint?: string): Kind => (server, error) =>
  new ModelFailure({
    code,
    detail: `${server.name}: ${words(server, error)}`,
    ...(hint === undefined ? {} : { hint }),
    transient: false,
    cause: ModelProblem.withoutSecrets(server, error)
  })

// By the names of the AI SDK's classes: a provider's package may have classes of its own copy of `@ai-sdk/provider`.
const kinds: ReadonlyArray<readonly [names: RegExp, kind: Kind]> = [
  [
    /^AI_APICallError$/,
    (server, error, fields) =>
      typeof fields["statusCode"] !== "number"
        ? ModelProblem.unreachable(server, error)
        // The reply had begun.
        : isOfNetwork(error)
        ? ModelProblem.brokenOff(server, error)
        : malformed(server, error, fields)
  ],
  [
    /^AI_(EmptyResponseBody|JSONParse|TypeValidation|InvalidResponseData|NoContentGenerated|InvalidStreamPart)Error$/,
    malformed
  ],
  [
    /^AI_Load(APIKey|Setting)Error$/,
    permanent("permission_denied", "Set the key where the provider's package reads it.")
  ],
  [/^AI_NoSuchModelError$/, permanent("unknown_model")],
  [/^AI_(NoSuchProviderReference|\w*Unsupported\w*)Error$/, permanent("unsupported")],
  [/^AI_\w*RefusalError$/, permanent("refused")],
  [/^AI_(Invalid|TooMany)\w*Error$/, permanent("bad_request")],
  [
    /^(Abort|Timeout)Error$/,
    (server) =>
      new ModelFailure({
        code: "timeout",
        detail: `The HTTP client gave up on ${server.name}.`,
        transient: false
      })
  ]
]

// What `fetch` and HTTP clients throw if there is no connection.
const isOfNetwork = (error: unknown, depth = 0): boolean => {
  const { cause, code, message } = fieldsOf(error)
  return typeof code === "string" && networkCodes.test(code) ||
    error instanceof TypeError && /fetch failed|network|load failed|^terminated$/i.test(String(message)) ||
    Predicate.isObject(cause) && depth < 5 && isOfNetwork(cause, depth + 1)
}

const networkCodes =
  /^(E(CONN\w+|PIPE|NOTFOUND|AI_\w+|HOST\w+|NET\w+|TIMEDOUT|PROTO|ADDR\w+)|UND_ERR_\w+|ERR_(SSL|TLS)_\w+|\w*CERT\w*|UNABLE_TO_\w+|HPE_\w+)$/

const words = (server: ModelProblem.Server, error: unknown): string => {
  const text = ModelProblem.quote(server, typeof error === "string" ? error : textAt(error, "message") ?? "")
  return text === "" ? "it gave no reason." : /[.!?]$/.test(text) ? text : `${text}.`
}

const textsIn = (headers: Fields): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), typeof value === "string" ? value : undefined])
  )
