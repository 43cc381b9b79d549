/*
 * Makes a `ModelFailure` from whatever a provider throws, rejects with, or sends in a stream.
 */
import { ModelFailure } from "@fallible/core"
import * as ModelProblem from "@fallible/core/ModelProblem"
import * as Predicate from "effect/Predicate"
import { type Fields, fieldsOf, objectAt, textAt } from "./untyped.ts"

/** @param now the time, in milliseconds since 1970 */
export const failureOf = (server: ModelProblem.Server, error: unknown, now: number): ModelFailure => {
  const fields = fieldsOf(error)
  const status = fields["statusCode"]
  if (typeof status === "number" && (status < 200 || status > 299)) {
    const body = textAt(fields, "responseBody") ?? fields["data"] ?? textAt(fields, "message")
    const headers = objectAt(fields, "responseHeaders") ?? {}
    return ModelProblem.refused(server, { status, body, retryAfter: ModelProblem.retryAfter(textsIn(headers), now) })
  }
  const name = textAt(fields, "name") ?? ""
  const named = kinds.find(([pattern]) => pattern.test(name))?.[1](server, error, fields)
  if (named !== undefined) return named
  if (isOfNetwork(error)) return ModelProblem.unreachable(server, fields["cause"] ?? error)
  // The Anthropic package throws this for a stream whose first piece is no JSON.
  if (/^Expected a normalized \w+ stream error/.test(textAt(fields, "message") ?? "")) {
    return malformed(server, error, fields)
  }
  return new ModelFailure({
    code: "defect",
    detail: `${server.name} failed with an error in the program: ${words(server, fields)}`,
    transient: false,
    cause: ModelProblem.withoutSecrets(server, error)
  })
}

/**
 * Makes a failure from what reading a stream failed with. The request has been sent by then, so an unknown error is about what
 * the server sent.
 */
export const readingFailure = (server: ModelProblem.Server, error: unknown, now: number): ModelFailure => {
  const failure = failureOf(server, error, now)
  return failure.code === "defect" ? malformed(server, error, fieldsOf(error)) : failure
}

/** Makes a failure from the error in a stream: an error object, or what the server reported in the middle of its reply. */
export const reportedFailure = (server: ModelProblem.Server, error: unknown, now: number): ModelFailure =>
  error instanceof Error || typeof fieldsOf(error)["statusCode"] === "number"
    ? readingFailure(server, error, now)
    : ModelProblem.reported(server, objectAt(error, "error") ?? error)

type Kind = (server: ModelProblem.Server, error: unknown, fields: Fields) => ModelFailure

const malformed: Kind = (server, error, fields) =>
  new ModelFailure({
    code: "malformed_reply",
    detail: `${server.name} sent something that is not a reply: ${
      // The body says more than the words of the package, which are always the same.
      JSON.stringify(ModelProblem.quote(server, textAt(fields, "responseBody") ?? textAt(fields, "message") ?? ""))}`,
    transient: true,
    cause: ModelProblem.withoutSecrets(server, error)
  })

const permanent = (code: string, hint?: string): Kind => (server, error, fields) =>
  new ModelFailure({
    code,
    detail: `${server.name}: ${words(server, fields)}`,
    ...(hint === undefined ? {} : { hint }),
    transient: false,
    cause: ModelProblem.withoutSecrets(server, error)
  })

// By the names of the AI SDK's classes: a provider's package may have classes of its own copy of `@ai-sdk/provider`.
const kinds: ReadonlyArray<readonly [names: RegExp, kind: Kind]> = [
  [
    /^AI_APICallError$/,
    (server, error, fields) =>
      typeof fields["statusCode"] === "number"
        // The status has come, so a connection that is lost was lost in the middle of the reply.
        ? isOfNetwork(fields["cause"])
          ? ModelProblem.brokenOff(server, fields["cause"])
          : malformed(server, error, fields)
        : ModelProblem.unreachable(server, fields["cause"] ?? error)
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
  [/^AI_(UnsupportedFunctionality|NoSuchProviderReference|UnsupportedModelVersion)\w*Error$/, permanent("unsupported")],
  [/^AI_\w*RefusalError$/, permanent("refused")],
  [/^AI_(Invalid|TooMany|Unsupported|Type)\w*Error$/, permanent("bad_request")],
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

// What `fetch` and Node's HTTP clients throw if there is no connection.
const isOfNetwork = (error: unknown, depth = 0): boolean => {
  const { cause, code, message } = fieldsOf(error)
  return typeof code === "string" && /^(E[A-Z]{3,}|UND_ERR_\w+)$/.test(code) ||
    error instanceof TypeError && /fetch failed|network|load failed/i.test(String(message)) ||
    Predicate.isObject(cause) && depth < 5 && isOfNetwork(cause, depth + 1)
}

const words = (server: ModelProblem.Server, fields: Fields): string => {
  const text = ModelProblem.quote(server, textAt(fields, "message") ?? "")
  return text === "" ? "it gave no reason." : /[.!?]$/.test(text) ? text : `${text}.`
}

const textsIn = (headers: Fields): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), typeof value === "string" ? value : undefined])
  )
