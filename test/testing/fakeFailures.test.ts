/** How the fake server fails on the wires of OpenAI's Responses, Anthropic's Messages and Gemini. */
import { assert, describe, it } from "@effect/vitest"
import { type Model, ModelFailure } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Duration, Effect, Exit, Fiber } from "effect"
import { anthropicClient, collected, geminiClient, openAiClient, post } from "../support/officialClients.ts"

/** What a client reports of a reply. */
interface Reported {
  readonly text: string
  readonly ending: string | null | undefined
}

interface Wire {
  readonly name: string
  readonly path: (stream: boolean) => string
  readonly headers: (key: string) => Record<string, string>
  readonly request: object
  /** Asks with the official client. */
  readonly ask: (url: string, stream: boolean, signal: AbortSignal) => Promise<Reported>
  /** A malformed stream. */
  readonly malformed: string
  readonly endings: { readonly truncated: string; readonly refused: string }
  /** The refusal's text, as the client shows it. */
  readonly refusal: string
  readonly typeOf: (body: string) => unknown
  /** The status of a wrong key, and the types of some errors. */
  readonly keyStatus: number
  readonly types: Record<"key" | "busy" | "limited" | "quota" | "unknown" | "context" | "large", unknown>
}

const hello = "Hello?"

const responses: Wire = {
  name: "responses",
  path: () => "/v1/responses",
  headers: (key) => ({ authorization: `Bearer ${key}` }),
  request: { model: "any", input: hello },
  ask: async (url, stream, signal) => {
    const client = openAiClient(url)
    const asking = { model: "any", input: hello }
    if (!stream) {
      const { output, status } = await client.responses.create(asking, { signal })
      return { text: JSON.stringify(output), ending: status }
    }
    const events = await collected(await client.responses.create({ ...asking, stream: true }, { signal }))
    const last = events.at(-1)
    // The official client ends a stream that breaks off between two events.
    if (last === undefined || !("response" in last)) throw new Error("The stream broke off.")
    const text = events.flatMap((event) => event.type === "response.refusal.delta" ? [event.delta] : []).join("")
    return { text, ending: last.response.status }
  },
  malformed: "data: <html>Oh no.</html>\n\n",
  endings: { truncated: "incomplete", refused: "completed" },
  refusal: "I will not.",
  typeOf: (body) => {
    const { error: { code, type } } = JSON.parse(body)
    return [type, code]
  },
  keyStatus: 401,
  types: {
    key: ["invalid_request_error", "invalid_api_key"],
    busy: ["server_error", null],
    limited: ["requests", "rate_limit_exceeded"],
    quota: ["insufficient_quota", "insufficient_quota"],
    unknown: ["invalid_request_error", "model_not_found"],
    context: ["invalid_request_error", "context_length_exceeded"],
    large: ["invalid_request_error", null]
  }
}

const messages: Wire = {
  name: "messages",
  path: () => "/v1/messages",
  headers: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
  request: { model: "any", max_tokens: 10, messages: [{ role: "user", content: hello }] },
  ask: async (url, stream, signal) => {
    const client = anthropicClient(url)
    const asking = { model: "any", max_tokens: 10, messages: [{ role: "user" as const, content: hello }] }
    const reply = stream
      ? await client.messages.stream(asking, { signal }).finalMessage()
      : await client.messages.create(asking, { signal })
    const [first] = reply.content
    return {
      text: first?.type === "text" ? first.text : reply.stop_details?.explanation ?? "",
      ending: reply.stop_reason
    }
  },
  malformed: "event: content_block_delta\ndata: <html>Oh no.</html>\n\n",
  endings: { truncated: "max_tokens", refused: "refusal" },
  refusal: "I will not.",
  typeOf: (body) => JSON.parse(body).error.type,
  keyStatus: 401,
  types: {
    key: "authentication_error",
    busy: "overloaded_error",
    limited: "rate_limit_error",
    quota: "invalid_request_error",
    unknown: "not_found_error",
    context: "invalid_request_error",
    large: "request_too_large"
  }
}

const gemini: Wire = {
  name: "gemini",
  path: (stream) => stream ? "/v1beta/models/any:streamGenerateContent?alt=sse" : "/v1beta/models/any:generateContent",
  headers: (key) => ({ "x-goog-api-key": key }),
  request: { contents: [{ role: "user", parts: [{ text: hello }] }] },
  ask: async (url, stream, abortSignal) => {
    const { models } = geminiClient(url)
    const asking = { model: "any", contents: hello, config: { abortSignal } }
    const chunks = stream
      ? await collected(await models.generateContentStream(asking))
      : [await models.generateContent(asking)]
    const ending = chunks.at(-1)?.candidates?.[0]?.finishReason
    if (ending === undefined) throw new Error("The stream broke off.")
    return { text: chunks.map(({ text = "" }) => text).join(""), ending }
  },
  malformed: "data: <html>Oh no.</html>\r\n\r\n",
  endings: { truncated: "MAX_TOKENS", refused: "SAFETY" },
  // The client does not show it.
  refusal: "",
  typeOf: (body) => JSON.parse(body).error.status,
  keyStatus: 400,
  types: {
    key: "INVALID_ARGUMENT",
    busy: "INTERNAL",
    limited: "RESOURCE_EXHAUSTED",
    quota: "RESOURCE_EXHAUSTED",
    unknown: "NOT_FOUND",
    context: "INVALID_ARGUMENT",
    large: "INVALID_ARGUMENT"
  }
}

const failing = (code: string, fields: object = {}) =>
  new ModelFailure({ code, detail: "Oh no.", transient: true, ...fields })

const refusing = new ModelFailure({ code: "refused", detail: "I will not.", transient: false })

const reply: Model.Reply = ScriptedModel.text("Hello, how can I help you?")

for (const wire of [responses, messages, gemini]) {
  describe(`FakeModelServer as ${wire.name}`, () => {
    const sendRequest = (script: FakeModelServer.Script, stream = false, options: FakeModelServer.Options = {}) =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.make(script, options)
        const streaming = stream && wire !== gemini ? { stream } : {}
        return yield* post(
          `${server.url}${wire.path(stream)}`,
          { ...wire.request, ...streaming },
          wire.headers("right")
        )
      }).pipe(Effect.scoped)

    for (const stream of [false, true]) {
      const how = stream ? "streamed" : "whole"

      /** Asks with the official client. Returns the report or the error, and the number of replies that have begun. */
      const asking = (move: FakeModelServer.Move) =>
        Effect.gen(function*() {
          const server = yield* FakeModelServer.make([move])
          const exit = yield* Effect.exit(Effect.tryPromise((signal) => wire.ask(server.url, stream, signal)))
          return { exit, replies: (yield* server.state).replies }
        }).pipe(Effect.scoped)

      for (
        const [what, move, replies] of [
          ["breaks off a reply", failing("cut_off"), 1],
          ["resets the connection", failing("connection"), 0],
          ["drops a reply in the middle", FakeModelServer.drop(reply, 40), 1],
          ["drops a reply before its end", FakeModelServer.drop(reply, -10), 1],
          ["answers with any body", FakeModelServer.raw("{", { status: 418 }), 0]
        ] as const
      ) {
        it.live(`${what}, ${how}`, () =>
          Effect.gen(function*() {
            const { exit, replies: begun } = yield* asking(move)
            assert.isTrue(Exit.isFailure(exit), JSON.stringify(exit))
            assert.strictEqual(begun, replies)
          }))
      }

      for (
        const [what, move, replies] of [
          ["never answers", failing("timeout"), 0],
          ["stalls in a reply", FakeModelServer.stall(reply, -10), 1]
        ] as const
      ) {
        it.live(`${what}, ${how}`, () =>
          Effect.gen(function*() {
            const server = yield* FakeModelServer.make([move])
            const fiber = yield* Effect.forkChild(
              Effect.tryPromise((signal) => wire.ask(server.url, stream, signal)).pipe(Effect.exit)
            )
            const state = yield* server.until((state) => state.requests.length === 1 && state.replies === replies)
            assert.strictEqual(state.open, 1)
            yield* Fiber.interrupt(fiber)
            assert.strictEqual((yield* server.until(({ open }) => open === 0)).abandoned, 1)
          }).pipe(Effect.scoped))
      }

      it.live(`says nothing when the tokens are used up, ${how}`, () =>
        Effect.gen(function*() {
          const { exit } = yield* asking(failing("max_tokens"))
          const text = wire === responses && !stream ? "[]" : ""
          assert.deepStrictEqual(exit, Exit.succeed({ text, ending: wire.endings.truncated }))
        }))

      it.live(`refuses, ${how}`, () =>
        Effect.gen(function*() {
          const { exit, replies } = yield* asking(refusing)
          assert.strictEqual(replies, 1)
          assert.isTrue(Exit.isSuccess(exit), JSON.stringify(exit))
          if (Exit.isFailure(exit)) return
          assert.strictEqual(exit.value.ending, wire.endings.refused)
          assert.include(exit.value.text, wire.refusal)
          if (wire === gemini) assert.include((yield* sendRequest([refusing], stream)).body, "I will not.")
        }))

      it.live(`sends something that is not a reply, ${how}`, () =>
        Effect.gen(function*() {
          const { body, status } = yield* sendRequest([failing("malformed_reply")], stream)
          assert.strictEqual(status, 200)
          assert.strictEqual(body, stream ? wire.malformed : "<html>Oh no.</html>")
        }))

      for (
        const [code, fields, status, type] of [
          ["permission_denied", {}, wire.keyStatus, "key"],
          ["unknown_model", {}, 404, "unknown"],
          ["context_overflow", {}, 400, "context"],
          ["quota_exhausted", {}, wire === messages ? 400 : 429, "quota"],
          ["rate_limited", { retryAfter: Duration.millis(1500) }, 429, "limited"],
          ["server_error", { status: 529 }, 529, "busy"],
          ["timeout", { status: 529 }, 529, "busy"]
        ] as const
      ) {
        it.live(`answers with ${status} and its own error for ${code}, ${how}`, () =>
          Effect.gen(function*() {
            const failure = failing(code, fields)
            const answered = yield* sendRequest([failure], stream)
            assert.strictEqual(answered.status, status)
            assert.include(answered.body, "Oh no.")
            assert.deepStrictEqual(wire.typeOf(answered.body), wire.types[type])
            const wait = code === "rate_limited"
            assert.strictEqual(answered.headers.get("retry-after"), wait ? "2" : null)
            assert.strictEqual(answered.body.includes("\"retryDelay\":\"1.5s\""), wait && wire === gemini)
          }))
      }
    }

    it.live("answers 503 or 501 for a code without a status", () =>
      Effect.gen(function*() {
        assert.strictEqual((yield* sendRequest([failing("odd")])).status, 503)
        assert.strictEqual((yield* sendRequest([failing("odd", { transient: false })])).status, 501)
      }))

    it.live("demands its key, and quotes a wrong one", () =>
      Effect.gen(function*() {
        const denied = yield* sendRequest([reply], false, { apiKey: "left" })
        assert.strictEqual(denied.status, wire.keyStatus)
        assert.include(denied.body, "Incorrect API key provided: right")
        assert.strictEqual(denied.body.includes("API_KEY_INVALID"), wire === gemini)
        assert.deepStrictEqual(wire.typeOf(denied.body), wire.types.key)
        assert.strictEqual((yield* sendRequest([reply], false, { apiKey: "right" })).status, 200)
      }))

    it.live("refuses a body that is not JSON or is too large", () =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.make([reply], { maxBytes: 1000 })
        const send = (body: string) => post(`${server.url}${wire.path(false)}`, body, wire.headers("any"))
        assert.strictEqual((yield* send("{")).status, 400)
        const large = yield* send("x".repeat(1001))
        assert.strictEqual(large.status, 413)
        assert.deepStrictEqual(wire.typeOf(large.body), wire.types.large)
      }).pipe(Effect.scoped))

    it.live("reports that its script is used up or cannot be written", () =>
      Effect.gen(function*() {
        const used = yield* sendRequest([])
        assert.strictEqual(used.status, 501)
        assert.include(used.body, "The script has 0 moves, and the model was asked once more")
        const odd = yield* sendRequest([{ ...reply, native: { [wire.name]: { n: 1n } } } as never])
        assert.strictEqual(odd.status, 501)
        assert.include(odd.body, "BigInt")
      }))
  })
}
