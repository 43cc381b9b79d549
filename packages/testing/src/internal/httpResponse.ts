/** The answers of a stub as responses: of Effect's client, whose bodies are Effects and not promises, and of `fetch`. */
import * as Effect from "effect/Effect"
import type * as HttpBody from "effect/http/HttpBody"
import { DecodeError, HttpClientError, TransportError } from "effect/http/HttpClientError"
import type { HttpClientRequest } from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Stream from "effect/Stream"
import type { Beginning, Refused, Reset } from "../HttpScript.ts"
import { bodyLost, connectionLost, connectionRefused } from "./connectionErrors.ts"
import type { Played, Sent } from "./httpPlay.ts"

/** Returns the error of `fetch` for a connection that fails before an answer. */
export const lost = (answer: Refused | Reset): TypeError =>
  answer._tag === "Refused" ? connectionRefused() : connectionLost()

/** Returns why Effect's client cannot have an answer from a stub. */
export const notForClient = (played: Played): string | undefined => {
  const encoding = played._tag === "Sent" && played.body !== undefined ? header(played, "content-encoding") : null
  return encoding === null || encoding === "identity"
    ? undefined
    : `HttpStub does not decode a body (content-encoding: ${encoding}): use HttpStubServer.`
}

/** Returns why `fetch` cannot have an answer from a stub. */
export const notForFetch = (played: Played, redirect: Request["redirect"]): string | undefined =>
  redirect !== "manual" && played._tag === "Sent" && redirects.has(played.status) && header(played, "location") !== null
    ? "The fetch of HttpStub does not follow a redirect: use HttpStubServer, or call fetch with `redirect: \"manual\"`."
    : notForClient(played)

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

const header = ({ headers }: Sent, name: string): string | null => new Headers(headers).get(name)

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
  played: Played
): Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError> =>
  played._tag === "Sent"
    ? Effect.sync(() => withEffectBody(HttpClientResponse.fromWeb(request, webResponse(played)), request, played))
    : Effect.fail(new HttpClientError({ reason: new TransportError({ request, cause: lost(played) }) }))

// A body from a web response is read by a promise, and a promise may end after a TestClock has moved on. So these
// properties take the bytes themselves. What is not among them (forms) is read from the web response.
const withEffectBody = (
  original: HttpClientResponse.HttpClientResponse,
  request: HttpClientRequest,
  { body, broken }: Sent
): HttpClientResponse.HttpClientResponse => {
  if (body === undefined) return original
  const failed = (cause: unknown) =>
    new HttpClientError({ reason: new DecodeError({ request, response: original, cause }) })
  const ending = broken === undefined
    ? undefined
    : broken.ending === "stall"
    ? Effect.never
    : Effect.fail(failed(bodyLost(broken.ending)))
  const text = ending ?? Effect.sync(() => new TextDecoder().decode(body))
  const sent = body.length === 0 ? Stream.empty : Stream.make(body)
  return asResponse(Object.create(original, {
    arrayBuffer: { value: ending ?? Effect.sync(() => body.slice().buffer) },
    text: { value: text },
    json: {
      value: Effect.flatMap(
        text,
        (text) => Effect.try({ try: () => text === "" ? null : JSON.parse(text), catch: failed })
      )
    },
    stream: { value: ending === undefined ? sent : Stream.concat(sent, Stream.fromEffect(ending)) }
  }))
}

// TypeScript gives what Object.create returns no type. It inherits from a response.
const asResponse = (made: unknown) => made as HttpClientResponse.HttpClientResponse

// -----------------------------------------------------------------------------
// fetch
// -----------------------------------------------------------------------------

/** Makes the response of `fetch`. An aborted signal ends a body that stalls. */
export const webResponse = ({ body, broken, headers, status }: Sent, signal?: AbortSignal): Response =>
  new Response(
    body === undefined ? null : broken === undefined ? body.slice() : brokenBody(body.slice(), broken.ending, signal),
    { status, headers }
  )

const brokenBody = (bytes: Uint8Array, ending: Beginning["ending"], signal?: AbortSignal): WebBody => {
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
