/**
 * Reads a JSON body by a schema. Each way in which a body can be wrong has its own problem.
 *
 * Only `application/json` is accepted. A page of another site cannot send that without asking first (CORS), so it cannot
 * ask questions in the name of a user.
 */
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Schema from "effect/Schema"
import * as Problem from "./Problem.ts"

/** @param maxBytes the most bytes in the body */
export const read = <A>(schema: Schema.Codec<A, unknown>, maxBytes = 16_384) =>
  Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    if (!/^application\/json\s*(?:;|$)/i.test(request.headers["content-type"] ?? "")) {
      return yield* Problem.make(415, "not_json", "Send the header 'content-type: application/json'.")
    }
    const text = yield* Effect.mapError(request.text, ({ reason }) =>
      reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
        ? Problem.make(413, "body_too_large", `Send at most ${maxBytes} bytes.`)
        : Problem.make(400, "unreadable_body", "The body broke off. Send it again."))
    const json = yield* Effect.mapError(
      readJson(text),
      () =>
        Problem.make(400, "invalid_json", "The body is not JSON. Send an object such as {\"question\": \"…\"}.")
    )
    return yield* Effect.mapError(
      Schema.decodeUnknownEffect(schema)(json),
      (error) =>
        Problem.make(400, "invalid_body", error.message.replace(/\s+/g, " "))
    )
  }).pipe(Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(maxBytes)))

const readJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Json))

/** A text that people write: not blank, and not too long. */
export const text = (name: string, max: number) =>
  Schema.String.check(Schema.makeFilter((text: string) =>
    text.trim() === ""
      ? `a ${name} that is not blank`
      : text.length > max
      ? `a ${name} of at most ${max} characters`
      : undefined
  ))
