/** The answers of a stub as responses: of Effect's client, whose bodies are Effects and not promises, and of `fetch`. */
import * as Effect from "effect/Effect"
import type * as HttpBody from "effect/http/HttpBody"
import { DecodeError, HttpClientError, TransportError } from "effect/http/HttpClientError"
import type { HttpClientRequest } from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Stream from "effect/Stream"
import type { Answer, Beginning, Refused, Reset, Whole } from "../HttpStub.ts"
import { bodyLost, connectionLost, connectionRefused } from "./connectionErrors.ts"

/** Returns the error of `fetch` for a connection that fails before an answer. */
export const lost = (answer: Refused | Reset): TypeError =>
  answer._tag === "Refused" ? connectionRefused() : connectionLost()

/** Returns the bytes of the body that are sent. */
export const sentBytes = (answer: Whole | Beginning): Uint8Array => {
  if (answer._tag === "Beginning") return sentBytes(answer.answer).subarray(0, answer.bytes)
  return typeof answer.body === "string" ? new TextEncoder().encode(answer.body) : answer.body
}

// -----------------------------------------------------------------------------
// Effect's client
// -----------------------------------------------------------------------------

/** Returns the text of a request's body. Only a body that is a form or a web stream needs a promise. */
export const requestText = (body: HttpBody.HttpBody): Effect.Effect<string> => {
  switch (body._tag) {
    case "Empty":
      return Effect.succeed("")
    case "Uint8Array":
      return Effect.sync(() => new TextDecoder().decode(body.body))
    case "Stream":
      return Effect.orDie(Stream.mkString(Stream.decodeText(body.stream)))
    case "FormData":
      return Effect.promise(() => new Response(body.formData).text())
    case "Raw":
      return typeof body.body === "string"
        ? Effect.succeed(body.body)
        : Effect.promise(() => new Response(asBodyInit(body.body)).text())
  }
}

type WebBody = ConstructorParameters<typeof Response>[0]

// Effect does not say which types a raw body may have. `fetch` takes them, too, so Response can read them.
const asBodyInit = (body: unknown) => body as WebBody

/** Makes the response of Effect's client. */
export const clientResponse = (
  request: HttpClientRequest,
  answer: Answer
): Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError> => {
  if (answer._tag === "Refused" || answer._tag === "Reset") {
    return Effect.fail(new HttpClientError({ reason: new TransportError({ request, cause: lost(answer) }) }))
  }
  return Effect.sync(() => withEffectBody(HttpClientResponse.fromWeb(request, webResponse(answer)), request, answer))
}

// A body from a web response is read by a promise, and a promise may end after a TestClock has moved on. So these
// properties take the bytes themselves. What is not among them (forms) is read from the web response.
const withEffectBody = (
  original: HttpClientResponse.HttpClientResponse,
  request: HttpClientRequest,
  answer: Whole | Beginning
): HttpClientResponse.HttpClientResponse => {
  const failed = (cause: unknown) =>
    new HttpClientError({ reason: new DecodeError({ request, response: original, cause }) })
  const bytes = sentBytes(answer)
  const ending = answer._tag === "Whole"
    ? undefined
    : answer.ending === "stall"
    ? Effect.never
    : Effect.fail(failed(bodyLost(answer.ending)))
  const text = ending ?? Effect.sync(() => new TextDecoder().decode(bytes))
  const sent = Stream.make(bytes)
  return asResponse(Object.create(original, {
    arrayBuffer: { value: ending ?? Effect.sync(() => bytes.slice().buffer) },
    text: { value: text },
    json: {
      value: Effect.flatMap(
        text,
        (text) => Effect.try({ try: () => text === "" ? null : JSON.parse(text), catch: failed })
      )
    },
    ...(bytes.length === 0 && ending === undefined
      ? {}
      : { stream: { value: ending === undefined ? sent : Stream.concat(sent, Stream.fromEffect(ending)) } })
  }))
}

// TypeScript gives what Object.create returns no type. It inherits from a response.
const asResponse = (made: unknown) => made as HttpClientResponse.HttpClientResponse

// -----------------------------------------------------------------------------
// fetch
// -----------------------------------------------------------------------------

/** Makes the response of `fetch`. An aborted signal ends a body that stalls. */
export const webResponse = (answer: Whole | Beginning, signal?: AbortSignal): Response => {
  const { headers, status } = answer._tag === "Whole" ? answer : answer.answer
  return new Response(webBody(answer, signal), { status, headers })
}

const webBody = (answer: Whole | Beginning, signal?: AbortSignal): WebBody => {
  const bytes = sentBytes(answer).slice()
  // Statuses such as 204 admit no body, not even an empty one.
  if (answer._tag === "Whole") return bytes.length === 0 ? null : bytes
  const { ending } = answer
  let isSent = bytes.length === 0
  return new ReadableStream<Uint8Array>({
    start: (controller) => signal?.addEventListener("abort", () => controller.error(signal.reason), { once: true }),
    pull(controller) {
      if (!isSent) controller.enqueue(bytes)
      else if (ending !== "stall") controller.error(bodyLost(ending))
      isSent = true
    }
  }, { highWaterMark: 0 })
}
