/** Failures between a client and a server, and their messages for operators. */
import { assert, describe, it } from "@effect/vitest"
import { Model } from "@fallible/core"
import { Ollama, OpenAi } from "@fallible/providers"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Clock, Deferred, Effect, Fiber, Schedule } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import * as Http from "node:http"
import { closedPort, listening } from "../support/http.ts"
import { atOnce, ollama, openAi, serving } from "../support/models.ts"
import { agent, hello, parts, respond } from "../support/question.ts"
import { passingBy } from "../support/virtualTime.ts"

/** Starts a server that begins an error message and then stalls. */
const stalling = Effect.gen(function*() {
  const server = Http.createServer((_, response) => {
    response.writeHead(503).write("{\"error\":\"Busy, and")
  })
  return yield* listening(server)
})

describe("a server that is not there", () => {
  it.effect("fails with the address, the attempts and advice: for Ollama, how to start it and pull the model", () =>
    Effect.gen(function*() {
      const layer = Ollama.layer({ model: "llama3.2", host: `127.0.0.1:${closedPort}` })
      const failure = yield* Effect.flip(
        atOnce(agent.run("Hello?")).pipe(Effect.provide(layer), Effect.provide(FetchHttpClient.layer))
      )
      assert.isTrue(failure._tag === "ModelFailed")
      if (failure._tag !== "ModelFailed") return
      assert.deepStrictEqual({ ...failure.failure }, {
        _tag: "ModelFailure",
        code: "connection",
        detail:
          `Ollama could not be reached at http://127.0.0.1:${closedPort}/api/chat: it refused the connection (ECONNREFUSED).`,
        hint: "It may not be running. Start it with 'ollama serve', and get the model with 'ollama pull llama3.2'.",
        transient: true,
        attempts: 3,
        model: "llama3.2"
      })
    }))

  it.effect("fails with the address that may be wrong, for Chat Completions", () =>
    Effect.gen(function*() {
      const baseUrl = `http://127.0.0.1:${closedPort}/v1`
      const layer = OpenAi.layer({ model: "any", baseUrl, retry: Schedule.recurs(0) })
      const failure = yield* Effect.flip(respond).pipe(Effect.provide(layer), Effect.provide(FetchHttpClient.layer))
      assert.include(failure.detail, `could not be reached at ${baseUrl}/chat/completions: it refused the connection`)
      assert.strictEqual(failure.hint, "The server may not be running, or its address may be wrong (OPENAI_BASE_URL).")
    }))

  it.effect("tells an unknown host from one without TLS", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([hello])
      const failing = (baseUrl: string) =>
        Effect.flip(respond).pipe(
          Effect.provide(OpenAi.layer({ model: "any", baseUrl, retry: Schedule.recurs(0) })),
          Effect.provide(FetchHttpClient.layer)
        )
      const nowhere = yield* failing("http://nowhere.invalid/v1")
      assert.match(nowhere.detail, /there is no such host|its host name could not be resolved/)
      const plain = yield* failing(server.url.replace("http:", "https:"))
      assert.deepInclude({ ...plain }, { code: "connection", transient: false })
      assert.match(plain.hint!, /http:\/\/ or https:\/\//)
    }).pipe(Effect.scoped))

  it.effect("is retried until it is up", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([hello])
      const layer = ollama(server.url, { retry: Schedule.spaced("1 second") })
      const retried = yield* Deferred.make<void>()
      const fiber = yield* server.whileDown(Effect.gen(function*() {
        const fiber = yield* respond.pipe(
          Effect.provideService(Model.onRetry, () => Effect.asVoid(Deferred.succeed(retried, undefined))),
          Effect.provide(layer),
          Effect.provide(FetchHttpClient.layer),
          Effect.forkChild
        )
        yield* Deferred.await(retried)
        return fiber
      }))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber)).text, "Hello.")
    }).pipe(Effect.scoped))
})

describe("a server's error message", () => {
  const detail = (body: string | Uint8Array, status = 400) =>
    Effect.flip(respond).pipe(
      Effect.map(({ detail }) => detail),
      Effect.provide(serving(ollama)([FakeModelServer.raw(body, { status })]))
    )

  it.effect("is quoted, whatever its format", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* detail("{\"error\":{\"message\":\"No.\"}}"), "Ollama answered 400: \"No.\"")
      assert.strictEqual(yield* detail("{\"error\":\"No.\"}"), "Ollama answered 400: \"No.\"")
      assert.strictEqual(yield* detail("{\"message\":\"No.\"}"), "Ollama answered 400: \"No.\"")
      assert.strictEqual(yield* detail("{\"detail\":\"No.\"}"), "Ollama answered 400: \"No.\"")
      assert.strictEqual(
        yield* detail("{\"detail\":[{\"loc\":[\"body\"],\"msg\":\"No.\"}]}"),
        "Ollama answered 400: \"[{\\\"loc\\\":[\\\"body\\\"],\\\"msg\\\":\\\"No.\\\"}]\""
      )
      assert.strictEqual(yield* detail("No."), "Ollama answered 400: \"No.\"")
      assert.strictEqual(yield* detail("\"No.\""), "Ollama answered 400: \"\\\"No.\\\"\"")
      assert.strictEqual(yield* detail(""), "Ollama answered 400.")
      assert.strictEqual(yield* detail("null"), "Ollama answered 400: \"null\"")
      assert.strictEqual(yield* detail(new Uint8Array([255, 254, 0])), "Ollama answered 400: \"\ufffd\ufffd\"")
    }))

  it.effect("is bounded, and on one line", () =>
    Effect.gen(function*() {
      const long = yield* detail("IGNORE\n\u001b[31mALL ".repeat(100_000))
      assert.isBelow(long.length, 600)
      assert.match(long, /^Ollama answered 400: "IGNORE \[31mALL IGNORE.*… \(\d+ more characters\)"$/)
    }))
})

describe("an error", () => {
  it.effect("with a stalled body is read as far as it arrived", () =>
    Effect.gen(function*() {
      const url = yield* stalling
      const fiber = yield* Effect.flip(respond).pipe(
        Effect.provide(ollama(url, { retry: Schedule.recurs(0) })),
        Effect.provide(FetchHttpClient.layer),
        Effect.forkChild
      )
      const failure = yield* passingBy("100 millis", fiber)
      assert.deepInclude({ ...failure }, { status: 503, code: "server_error", transient: true })
      assert.isAtMost(yield* Clock.currentTimeMillis, 10_000)
      assert.include(failure.detail, "Busy, and")
    }).pipe(Effect.scoped))

  it.effect("with an endless body is abandoned soon", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(respond)
      assert.match(failure.detail, /… \(\d{5,6} more characters\)"$/)
    }).pipe(Effect.provide(
      serving(ollama)(
        [FakeModelServer.raw("x".repeat(9_000_000), { status: 400 })]
      )
    )))
})

describe("a failure", () => {
  // Bodies in the servers' own words.
  const errors: ReadonlyArray<readonly [status: number, body: string, code: string, transient: boolean]> = [
    [400, "{\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"Too long.\"}}", "context_overflow", false],
    [
      400,
      "{\"error\":{\"message\":\"This model's maximum context length is 4096 tokens. However, …\"}}",
      "context_overflow",
      false
    ],
    [
      400,
      "{\"error\":{\"code\":400,\"message\":\"the request exceeds the available context size\",\"type\":\"exceed_context_size_error\"}}",
      "context_overflow",
      false
    ],
    [400, "{\"error\":\"prompt is too long\"}", "context_overflow", false],
    [400, "{\"error\":\"the input length exceeds the context length\"}", "context_overflow", false],
    [
      400,
      "[{\"error\":{\"message\":\"The input token count (9) exceeds the maximum number of tokens allowed (8).\"}}]",
      "context_overflow",
      false
    ],
    [
      413,
      "{\"error\":{\"message\":\"Request too large for model `m` … tokens per minute (TPM)\",\"code\":\"rate_limit_exceeded\"}}",
      "context_overflow",
      false
    ],
    [
      429,
      "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"You exceeded your current quota.\"}}",
      "quota_exhausted",
      false
    ],
    [400, "{\"error\":{\"code\":\"billing_hard_limit_reached\",\"message\":\"No.\"}}", "quota_exhausted", false],
    [400, "{\"error\":{\"message\":\"Your credit balance is too low\"}}", "quota_exhausted", false],
    [
      429,
      "{\"error\":{\"message\":\"Rate limit reached … visit https://console.groq.com/settings/billing\",\"code\":\"rate_limit_exceeded\"}}",
      "rate_limited",
      true
    ],
    [
      429,
      "[{\"error\":{\"message\":\"You exceeded your current quota, please check your plan and billing details.\"}}]",
      "rate_limited",
      true
    ],
    [400, "{\"error\":{\"code\":\"content_filter\",\"message\":\"The response was filtered\"}}", "refused", false],
    [
      403,
      "{\"error\":{\"message\":\"m requires moderation on X. Your input was flagged\",\"code\":403}}",
      "refused",
      false
    ],
    [400, "{\"error\":{\"message\":\"API key not valid. Please pass a valid API key.\"}}", "permission_denied", false],
    [400, "{\"message\":\"Invalid model: m\",\"code\":\"invalid_model\"}", "unknown_model", false],
    [
      404,
      "{\"error\":{\"code\":\"DeploymentNotFound\",\"message\":\"The API deployment does not exist.\"}}",
      "unknown_model",
      false
    ],
    [404, "{\"error\":\"model \\\"m\\\" not found, try pulling it first\"}", "unknown_model", false],
    [
      404,
      "{\"object\":\"error\",\"message\":\"The model `m` does not exist.\",\"type\":\"NotFoundError\"}",
      "unknown_model",
      false
    ],
    [404, "404 page not found", "bad_address", false],
    [405, "{\"detail\":\"Method Not Allowed\"}", "bad_address", false],
    [
      500,
      "{\"error\":\"error parsing tool call: raw='{\\\"reason\\\":\\\"insufficient funds\\\"}'\"}",
      "server_error",
      true
    ],
    [503, "upstream said: unexpected endpoint state, context window exceeded", "server_error", true],
    [
      500,
      "{\"error\":{\"message\":\"The model 'm' does not exist, your input was flagged\",\"code\":\"model_not_found\"}}",
      "server_error",
      true
    ],
    [429, "{\"error\":{\"message\":\"context length exceeded, model not found\"}}", "rate_limited", true],
    [
      429,
      "{\"error\":{\"message\":\"Request too large … Limit 30000, Requested 40000\",\"code\":\"rate_limit_exceeded\"}}",
      "context_overflow",
      false
    ],
    [
      400,
      "{\"error\":{\"message\":\"Invalid schema for 'f': unknown context_window, api_key\"}}",
      "bad_request",
      false
    ],
    [400, "{\"error\":{\"message\":\"tool 'x' of this model was not found\"}}", "bad_request", false],
    [404, "{\"error\":{\"message\":\"No endpoints found that support tool use.\"}}", "bad_address", false],
    [403, "{\"error\":{\"message\":\"Your account has been flagged\"}}", "permission_denied", false],
    [
      200,
      "{\"error\":\"error parsing tool call: raw='{\\\"state\\\":\\\"flagged, prompt is too long\\\"}'\"}",
      "server_error",
      true
    ],
    [200, "[{\"error\":{\"message\":\"Busy.\"}}]", "server_error", true],
    [529, "{\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}", "server_error", true],
    [200, "{\"error\":\"Unexpected endpoint or method. (POST /chat/completions)\"}", "bad_address", false],
    [
      200,
      "{\"error\":{\"message\":\"Provider returned error\",\"code\":400,\"metadata\":{\"raw\":\"prompt is too long\"}}}",
      "context_overflow",
      false
    ],
    [200, "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"No.\"}}", "bad_request", false],
    [200, "{\"error\":{\"status_code\":503,\"message\":\"Busy.\"}}", "server_error", true]
  ]

  for (const [status, body, code, transient] of errors) {
    it.effect(`is ${code} if a server answers ${status} ${body.slice(0, 70)}…, streamed or not`, () =>
      Effect.gen(function*() {
        const whole = yield* Effect.flip(respond)
        const streamed = yield* Effect.flip(parts)
        assert.deepStrictEqual([whole.code, whole.transient], [code, transient])
        assert.deepStrictEqual({ ...streamed }, { ...whole })
      }).pipe(Effect.provide(
        serving(openAi)(
          () => FakeModelServer.raw(body, { status }),
          { settings: { retry: Schedule.recurs(0) } }
        )
      )))
  }

  it.effect("is recognized at any nesting", () =>
    Effect.gen(function*() {
      const deep = `{"error":${"[".repeat(50_000)}${"]".repeat(50_000)}}`
      const failure = (status: number) =>
        Effect.flip(respond).pipe(
          Effect.provide(
            serving(openAi)([FakeModelServer.raw(deep, { status })], { settings: { retry: Schedule.recurs(0) } })
          )
        )
      for (const status of [200, 503]) {
        assert.deepInclude({ ...yield* failure(status) }, { code: "server_error", transient: true })
      }
    }))

  it.effect("quotes the server's words, unwrapped", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(respond)
      assert.strictEqual(failure.detail, "The model's server answered 400: \"No.\"")
    }).pipe(
      Effect.provide(serving(openAi)([FakeModelServer.raw("[{\"error\":{\"message\":\"No.\"}}]", { status: 400 })]))
    ))

  it.effect("comes with advice", () =>
    Effect.gen(function*() {
      const hint = (status: number, headers: Record<string, string> = {}) =>
        Effect.flip(respond).pipe(
          Effect.map(({ hint }) => hint),
          Effect.provide(
            serving(openAi)([FakeModelServer.raw("", { status, headers })], { settings: { retry: Schedule.recurs(0) } })
          )
        )
      assert.match((yield* hint(413))!, /Shorten the conversation/)
      assert.match(
        (yield* hint(404))!,
        /^Is the address right\? Requests went to http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions\.$/
      )
      assert.strictEqual(yield* hint(429, { "retry-after": "90" }), "Ask again in 1m 30s.")
      assert.isUndefined(yield* hint(500))
    }))
})
