/** What goes wrong between here and a server, told to the people who run the program. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Model, ModelFailure, Toolkit, Transcript } from "@fallible/core"
import { Ollama, OpenAi } from "@fallible/providers"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Cause, Clock, Deferred, Duration, Effect, Fiber, Queue, Redacted, Schedule, Stream, Tracer } from "effect"
import { FetchHttpClient, HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import type { HttpClientRequest } from "effect/http"
import { TestClock } from "effect/testing"
import * as Http from "node:http"
import * as Net from "node:net"
import { inspect } from "node:util"
import { listening } from "../support/http.ts"
import { atOnce, ollama, openAi, serving } from "../support/models.ts"
import { recordingTracer, toldBy } from "../support/spans.ts"
import { macrotask, passingBy } from "../support/virtualTime.ts"

const request: Model.Request = { transcript: Transcript.make([{ role: "user", text: "Hello?" }]), tools: [] }
const respond = Effect.flatMap(Model.Model, ({ respond }) => respond(request))
const parts = Effect.flatMap(Model.Model, ({ stream }) => Stream.runCollect(stream(request)))
const agent = Agent.make({ toolkit: Toolkit.empty })

const providers = [["Chat Completions", openAi], ["Ollama", ollama]] as const
const hello = ScriptedModel.text("Hello.")
const brokenOff = new ModelFailure({ code: "cut_off", detail: "", transient: true })
const busy = new ModelFailure({ code: "server_error", detail: "Busy.", transient: true, status: 503 })

/** A server that sends the same for as long as somebody listens. */
const repeating = (text: string) =>
  Effect.gen(function*() {
    const said = yield* Deferred.make<void>()
    const left = yield* Deferred.make<void>()
    const server = Http.createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      const say = () => {
        if (response.destroyed) return
        response.write(text)
        setImmediate(say)
      }
      say()
      response.once("close", () => Deferred.doneUnsafe(left, Effect.void))
      Deferred.doneUnsafe(said, Effect.void)
    })
    const url = yield* listening(server)
    return { said, left, url }
  })

/** A server that sends what it is told to. */
const dictated = Effect.gen(function*() {
  const asked = yield* Deferred.make<(text: string) => void>()
  const server = Http.createServer((_, response) => {
    response.writeHead(200).flushHeaders()
    Deferred.doneUnsafe(asked, Effect.succeed((text) => response.write(text)))
  })
  return { say: Deferred.await(asked), url: yield* listening(server) }
})

/** A server that begins to say what is wrong, and stops. */
const stalling = Effect.gen(function*() {
  const server = Http.createServer((_, response) => {
    response.writeHead(503).write("{\"error\":\"Busy, and")
  })
  return yield* listening(server)
})

/** A port at which nobody listens. */
const closedPort = Effect.callback<number>((resume) => {
  const server = Net.createServer().listen(0, "127.0.0.1", () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})

describe("a server that is not there", () => {
  it.effect("fails with what was tried, how often, and what to do: for Ollama, how to start it and get the model", () =>
    Effect.gen(function*() {
      const port = yield* closedPort
      const layer = Ollama.layer({ model: "llama3.2", host: `127.0.0.1:${port}` })
      const failure = yield* Effect.flip(
        atOnce(agent.run("Hello?")).pipe(Effect.provide(layer), Effect.provide(FetchHttpClient.layer))
      )
      assert.isTrue(failure._tag === "ModelFailed")
      if (failure._tag !== "ModelFailed") return
      assert.deepStrictEqual({ ...failure.failure }, {
        _tag: "ModelFailure",
        code: "connection",
        detail:
          `Ollama could not be reached at http://127.0.0.1:${port}/api/chat: it refused the connection (ECONNREFUSED).`,
        hint: "It may not be running. Start it with 'ollama serve', and get the model with 'ollama pull llama3.2'.",
        transient: true,
        attempts: 3
      })
    }))

  it.effect("fails with the address that may be wrong, behind Chat Completions", () =>
    Effect.gen(function*() {
      const baseUrl = `http://127.0.0.1:${yield* closedPort}/v1`
      const layer = OpenAi.layer({ model: "any", baseUrl, retry: Schedule.recurs(0) })
      const failure = yield* Effect.flip(respond).pipe(Effect.provide(layer), Effect.provide(FetchHttpClient.layer))
      assert.include(failure.detail, `could not be reached at ${baseUrl}/chat/completions: it refused the connection`)
      assert.strictEqual(failure.hint, "The server may not be running, or its address may be wrong (OPENAI_BASE_URL).")
    }))

  it.effect("says when there is no such host, and when it does not speak TLS", () =>
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

  it.effect("is asked again until it is there", () =>
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

for (const [name, provider] of providers) {
  const served = serving(provider)
  const state = Effect.flatMap(FakeModelServer.FakeModelServer, ({ state }) => state)

  describe(`transport retry, over ${name}`, () => {
    const connection = new ModelFailure({ code: "connection", detail: "", transient: true })
    const status = (status: number) => new ModelFailure({ code: "", detail: "Oh.", transient: false, status })

    for (const failure of [connection, ...[408, 429, 500, 502, 503, 504].map(status)]) {
      const what = failure.status ?? "a lost connection"
      it.effect(`asks again after ${what}, and gives the last failure when three attempts have failed`, () =>
        Effect.gen(function*() {
          assert.strictEqual((yield* atOnce(respond)).text, "Hello.")
          assert.strictEqual((yield* atOnce(parts)).at(-1)?._tag, "Replied")
          const last = yield* Effect.flip(atOnce(parts))
          assert.deepStrictEqual([last.status, last.attempts], [failure.status, 3])
          assert.strictEqual((yield* state).requests.length, 9)
        }).pipe(Effect.provide(
          served([failure, failure, hello, failure, failure, hello, failure, failure, failure, hello])
        )))
    }

    for (const code of [400, 401, 403, 404, 409, 422, 501, 505]) {
      it.effect(`does not ask again after ${code}`, () =>
        Effect.gen(function*() {
          const failure = yield* Effect.flip(atOnce(respond))
          assert.deepStrictEqual([failure.status, failure.attempts], [code, undefined])
          assert.strictEqual((yield* state).requests.length, 1)
        }).pipe(Effect.provide(served([status(code), hello]))))
    }

    it.effect("does not ask again after a time-out of its own, on either side of the tick", () =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.FakeModelServer
        const fiber = yield* Effect.forkChild(Effect.flip(respond))
        yield* server.until(({ requests }) => requests.length === 1)
        yield* TestClock.adjust("1999 millis")
        assert.strictEqual((yield* server.state).open, 1)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        const failure = yield* Fiber.join(fiber)
        assert.deepInclude({ ...failure }, { code: "timeout", transient: false })
        assert.include(failure.detail, " within 2s.")
        yield* server.until(({ open }) => open === 0)
        assert.strictEqual((yield* server.state).requests.length, 1)
      }).pipe(Effect.provide(served([Effect.never, hello], { settings: { timeout: "2 seconds" } }))))

    it.effect("gives up on a stream that has begun and then hangs", () =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.FakeModelServer
        const fiber = yield* Effect.forkChild(Effect.flip(parts))
        yield* server.until(({ replies }) => replies === 1)
        assert.deepInclude({ ...yield* passingBy("1 second", fiber) }, { code: "timeout", transient: false })
      }).pipe(Effect.provide(served([FakeModelServer.stall(hello, 20)], { settings: { timeout: "2 seconds" } }))))

    it.effect("adds up with the agent's: three attempts in all, and a stream that broke off is one", () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(atOnce(Stream.runDrain(agent.stream("Hello?"))))
        assert.isTrue(failure._tag === "ModelFailed" && failure.failure.attempts === 3)
        assert.deepStrictEqual(
          failure.ledger.failures.map(({ attempts, code, ended }) => [code, ended, attempts]),
          [["server_error", "retry", 3], ["server_error", "retry", 3], ["cut_off", "run_failed", 3]]
        )
        assert.strictEqual((yield* state).requests.length, 3)
        yield* Effect.flip(atOnce(Stream.runDrain(agent.stream("Hello?"))))
        assert.strictEqual((yield* state).requests.length, 6)
      }).pipe(Effect.provide(served([busy, busy, brokenOff, brokenOff, brokenOff, brokenOff, hello]))))

    it.effect("does not ask again once a stream has begun: its text is out, and the agent decides", () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(atOnce(parts))
        assert.deepInclude({ ...failure }, { code: "cut_off", transient: true })
        assert.isUndefined(failure.attempts)
        assert.strictEqual((yield* state).requests.length, 1)
      }).pipe(Effect.provide(served([FakeModelServer.drop(ScriptedModel.text("A long text, cut."), 250), hello]))))

    for (
      const [asked, after] of [
        [{ retryAfter: Duration.seconds(3) }, 3000],
        [{ headers: { "retry-after": "Thu, 01 Jan 1970 01:00:07 GMT" } }, 7000]
      ] as const
    ) {
      const how = "headers" in asked ? "as a date" : "in seconds"
      const move = "headers" in asked
        ? FakeModelServer.raw("{}", { status: 429, ...asked })
        : new ModelFailure({ ...busy, ...asked })
      it.effect(`waits as long as the server asks for, ${how}`, () =>
        Effect.gen(function*() {
          // An hour into the epoch.
          yield* TestClock.setTime(3_600_000)
          const waits: Array<number> = []
          const fiber = yield* atOnce(respond).pipe(
            Effect.provideService(Model.onRetry, (_, wait) => Effect.sync(() => waits.push(Duration.toMillis(wait)))),
            Effect.forkChild
          )
          const server = yield* FakeModelServer.FakeModelServer
          assert.strictEqual((yield* passingBy("1 second", fiber)).text, "Hello.")
          assert.strictEqual((yield* server.state).requests.length, 2)
          assert.strictEqual(waits.length, 1)
          assert.isAtMost(waits[0]!, after)
          assert.isAbove(waits[0]!, after - 3000)
          assert.isAtLeast(yield* Clock.currentTimeMillis, 3_600_000 + after)
        }).pipe(Effect.provide(served([move, hello]))))
    }

    it.effect("does not wait for longer than half a minute", () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(respond)
        assert.deepStrictEqual([failure.code, failure.retryAfter && Duration.format(failure.retryAfter)], [
          "server_error",
          "31s"
        ])
      }).pipe(Effect.provide(served([new ModelFailure({ ...busy, retryAfter: Duration.seconds(31) }), hello]))))
  })
}

describe("what a server says of an error", () => {
  const detail = (body: string | Uint8Array, status = 400) =>
    Effect.flip(respond).pipe(
      Effect.map(({ detail }) => detail),
      Effect.provide(serving(ollama)([FakeModelServer.raw(body, { status })]))
    )

  it.effect("is quoted, from whatever form it has", () =>
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

describe("the original error", () => {
  it.effect("comes through: a lost connection has the system's own, a broken reply has the client's", () =>
    Effect.gen(function*() {
      const lost = yield* Effect.flip(respond)
      assert.match(String(lost.cause), /fetch failed/)
      const broken = yield* Effect.flip(respond)
      assert.match(String(broken.cause), /terminated/)
    }).pipe(Effect.provide(
      serving(ollama)(
        [new ModelFailure({ code: "connection", detail: "", transient: true }), FakeModelServer.drop(hello, 20)],
        { settings: { retry: Schedule.recurs(0) } }
      )
    )))

  for (const [name, provider] of providers) {
    it.effect(`is the cause of the model's failure and of the run's, whole or streamed, over ${name}`, () =>
      Effect.gen(function*() {
        const lost = new ModelFailure({ code: "connection", detail: "", transient: true })
        const server = yield* FakeModelServer.make(() => lost)
        const originals: Array<unknown> = []
        const client = HttpClient.tapError(
          yield* HttpClient.HttpClient,
          ({ cause }) => Effect.sync(() => originals.push(cause))
        )
        for (const run of [agent.run("Hello?"), Stream.runDrain(agent.stream("Hello?"))]) {
          originals.length = 0
          const failure = yield* Effect.flip(atOnce(run)).pipe(
            Effect.provide(provider(server.url, {})),
            Effect.provideService(HttpClient.HttpClient, client)
          )
          assert.strictEqual(originals.length, 3)
          const original = originals[2]
          assert.isTrue(original instanceof Error && /fetch failed/.test(original.message))
          assert.isTrue(failure._tag === "ModelFailed" && failure.cause === original)
          assert.isTrue(failure._tag === "ModelFailed" && failure.failure.cause === original)
        }
      }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer)))

    it.effect(`is the cause of a stream that took two attempts to begin, and then broke off, over ${name}`, () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(atOnce(parts))
        assert.deepStrictEqual([failure.code, failure.attempts], ["cut_off", 2])
        assert.match(String(failure.cause), /terminated/)
      }).pipe(Effect.provide(
        serving(provider)([busy, FakeModelServer.drop(ScriptedModel.text("A long text, cut."), 100)])
      )))
  }

  /** A client that fails as clients do. */
  const failing = (reason: (request: HttpClientRequest.HttpClientRequest) => HttpClientError.HttpClientErrorReason) =>
    HttpClient.make((request) => Effect.fail(new HttpClientError.HttpClientError({ reason: reason(request) })))
  const asked = (client: HttpClient.HttpClient) =>
    Effect.flip(respond).pipe(
      Effect.provide(ollama("http://10.0.0.7", { retry: Schedule.recurs(2), apiKey: "sk-0123456789" })),
      Effect.provideService(HttpClient.HttpClient, client)
    )
  const transport = (cause: unknown) =>
    asked(failing((request) => new HttpClientError.TransportError({ request, cause })))

  it.effect("that is a time-out of the client's own is not asked again", () =>
    Effect.gen(function*() {
      const failure = yield* transport(new TypeError("fetch failed", { cause: { code: "UND_ERR_HEADERS_TIMEOUT" } }))
      assert.deepInclude({ ...failure }, { code: "timeout", transient: false })
      assert.isUndefined(failure.attempts)
    }))

  it.effect("may be a few causes down, and is hidden where it is secret", () =>
    Effect.gen(function*() {
      const deep = yield* transport({ cause: { errors: [{ cause: { code: "ENETUNREACH" } }] } })
      assert.match(deep.detail, /there is no route to its network \(ENETUNREACH\)/)
      const telling = yield* transport(
        new Error("bad header", { cause: new Error("Bearer sk-0123456789 is no header") })
      )
      assert.match(telling.detail, /the connection failed \(Bearer <redacted> is no header\)/)
      assert.strictEqual(telling.attempts, 3)
      assert.isTrue(telling.cause instanceof Error && telling.cause.message === "bad header")
      assert.notInclude(inspect(telling, { depth: Infinity, showHidden: true }), "0123456789")
      const fields = { code: "ERR_INVALID_URL", input: "http://10.0.0.7?api-key=sk-0123456789" }
      const quoting = yield* transport(new AggregateError([Object.assign(new TypeError("Invalid URL"), fields)]))
      assert.notInclude(inspect(quoting, { depth: Infinity, showHidden: true }), "0123456789")
      const untrusted = yield* transport({ code: "SELF_SIGNED_CERT_IN_CHAIN" })
      assert.deepInclude({ ...untrusted }, { code: "connection", transient: false })
    }))

  it.effect("in the middle of a body is a time-out, too, when it is the client's", () =>
    Effect.gen(function*() {
      const response = (request: HttpClientRequest.HttpClientRequest, error: unknown) =>
        HttpClientResponse.fromWeb(
          request,
          new Response(new ReadableStream({ pull: (controller) => controller.error(error) }), { status: 200 })
        )
      const failure = (code: string) =>
        asked(HttpClient.make((request) =>
          Effect.succeed(
            response(request, new TypeError("terminated", { cause: { code, sent: "Bearer sk-0123456789" } }))
          )
        ))
      assert.deepInclude({ ...yield* failure("UND_ERR_BODY_TIMEOUT") }, { code: "timeout", transient: false })
      const lost = yield* failure("UND_ERR_SOCKET")
      assert.deepInclude({ ...lost }, { code: "cut_off", attempts: 3 })
      assert.match(inspect(lost, { depth: Infinity, showHidden: true }), /terminated[^]*sent: 'Bearer <redacted>'/)
    }))

  it.effect("that is a lost connection comes with no advice to start a server that was there", () =>
    Effect.gen(function*() {
      assert.isUndefined((yield* transport({ code: "ECONNRESET" })).hint)
      assert.match((yield* transport({ code: "ENOTFOUND" })).hint!, /ollama serve/)
    }))

  it.effect("that is no connection's is not asked again", () =>
    Effect.gen(function*() {
      const failure = yield* asked(failing((request) => new HttpClientError.EncodeError({ request })))
      assert.deepInclude({ ...failure }, { code: "bad_request", transient: false })
    }))

  it.effect("that is a status, for a client which takes one for an error, is a status", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([busy, busy, hello])
      const strict = Effect.map(HttpClient.HttpClient, HttpClient.filterStatusOk)
      const reply = yield* Effect.flatMap(strict, (client) =>
        atOnce(respond).pipe(
          Effect.provide(ollama(server.url, {})),
          Effect.provideService(HttpClient.HttpClient, client)
        ))
      assert.strictEqual(reply.text, "Hello.")
      assert.strictEqual((yield* server.state).requests.length, 3)
    }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer)))
})

describe("an error", () => {
  it.effect("whose body does not come is heard as far as it came", () =>
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

  it.effect("whose body does not end is not listened to for long", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(respond)
      assert.match(failure.detail, /… \(\d{5,6} more characters\)"$/)
    }).pipe(Effect.provide(
      serving(ollama)(
        [FakeModelServer.raw("x".repeat(9_000_000), { status: 400 })]
      )
    )))
})

describe("what a failure is", () => {
  // In the words of the servers themselves.
  const said: ReadonlyArray<readonly [status: number, body: string, code: string, transient: boolean]> = [
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

  for (const [status, body, code, transient] of said) {
    it.effect(`is ${code} when a server says ${status} ${body.slice(0, 70)}…, streamed or not`, () =>
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

  it.effect("is nothing that nesting can hide", () =>
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

  it.effect("is said in the server's words, unwrapped", () =>
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

describe("asked for a stream", () => {
  it.effect("a server may send a whole reply all the same", () =>
    Effect.gen(function*() {
      const all = yield* parts
      assert.deepStrictEqual(all.map((part) => part._tag === "TextDelta" ? part.text : part.reply.text), [
        "Hello.",
        "Hello."
      ])
    }).pipe(Effect.provide(
      serving(openAi)([
        FakeModelServer.raw(" {\"choices\":[{\"message\":{\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}")
      ])
    )))

  it.effect("a server that keeps its connection alive, and says nothing, is given up", () =>
    Effect.gen(function*() {
      const { said, url } = yield* repeating(": still at it\n\n")
      const layer = openAi(url, { timeout: "2 seconds" })
      const fiber = yield* Effect.flip(parts).pipe(
        Effect.provide(layer),
        Effect.provide(FetchHttpClient.layer),
        Effect.forkChild
      )
      yield* Deferred.await(said)
      assert.deepInclude({ ...yield* passingBy("1 second", fiber) }, { code: "timeout" })
    }).pipe(Effect.scoped))

  for (
    const [name, provider, piece] of [
      ["Chat Completions", openAi, (text: string) => `data: {"choices":[{"delta":{"content":"${text}"}}]}\n\n`],
      ["Ollama", ollama, (text: string) => `{"message":{"content":"${text}"},"done":false}\n`]
    ] as const
  ) {
    it.effect(`a server that sends one empty piece after the other is given up, over ${name}`, () =>
      Effect.gen(function*() {
        const { left, said, url } = yield* repeating(piece(""))
        const fiber = yield* Effect.flip(parts).pipe(
          Effect.provide(provider(url, { streamTimeout: "3 seconds" })),
          Effect.provide(FetchHttpClient.layer),
          Effect.forkChild
        )
        yield* Deferred.await(said)
        const failure = yield* passingBy("1 second", fiber)
        assert.deepInclude({ ...failure }, { code: "timeout", transient: false })
        assert.match(failure.detail, /did not finish its reply at \S+ within 3s\.$/)
        yield* Deferred.await(left)
      }).pipe(Effect.scoped))

    it.effect(`a reply may take its time for each piece, but not for all of them, over ${name}`, () =>
      Effect.gen(function*() {
        const { say, url } = yield* dictated
        const heard = yield* Queue.unbounded<Model.Part>()
        const fiber = yield* Effect.flatMap(
          Model.Model,
          ({ stream }) => Stream.runForEach(stream(request), (part) => Queue.offer(heard, part))
        ).pipe(
          Effect.flip,
          Effect.provide(provider(url, { timeout: "2 minutes", streamTimeout: "5 minutes" })),
          Effect.provide(FetchHttpClient.layer),
          Effect.forkChild
        )
        const tell = yield* say
        for (const minute of [0, 1, 2, 3, 4]) {
          tell(piece(String(minute)))
          assert.deepStrictEqual(yield* Queue.take(heard), { _tag: "TextDelta", text: String(minute) })
          yield* macrotask
          yield* TestClock.adjust(minute < 4 ? "1 minute" : "59999 millis")
        }
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        assert.deepInclude({ ...yield* Fiber.join(fiber) }, { code: "timeout", transient: false })
      }).pipe(Effect.scoped))
  }

  it("a limit of no time at all is refused", () => {
    for (const none of [{ timeout: 0 }, { streamTimeout: "0 seconds" }] as const) {
      const exit = Effect.runSyncExit(
        OpenAi.make({ model: "any", ...none }).pipe(Effect.provide(FetchHttpClient.layer))
      )
      assert.match(String(exit), /TypeError: Expected a timeout that is longer than no time at all/)
    }
  })

  for (
    const [what, endless, within] of [
      ["does not hang up", "", 1_000],
      ["goes on with comments", ": still here\n\n", 1_000],
      ["goes on with events", "data: {\"type\":\"ping\"}\n\n", 1_000],
      ["says that it is done, and goes on all the same", "data: [DONE]\n\n", 100]
    ] as const
  ) {
    it.effect(`a reply that is complete does not wait for a server that ${what}`, () =>
      Effect.gen(function*() {
        const said = yield* Deferred.make<void>()
        const url = yield* listening(Http.createServer((_, response) => {
          response.writeHead(200, { "content-type": "text/event-stream" })
          response.write("data: {\"choices\":[{\"delta\":{\"content\":\"Hi.\"},\"finish_reason\":\"stop\"}]}\n\n")
          Deferred.doneUnsafe(said, Effect.void)
          const goOn = () => {
            if (endless === "" || response.destroyed) return
            response.write(endless)
            setImmediate(goOn)
          }
          goOn()
        }))
        const fiber = yield* parts.pipe(
          Effect.provide(openAi(url, {})),
          Effect.provide(FetchHttpClient.layer),
          Effect.forkChild
        )
        yield* Deferred.await(said)
        // Until it has been heard, no time passes.
        for (let turn = 0; turn < 50; turn++) yield* macrotask
        const before = yield* Clock.currentTimeMillis
        const ends = (yield* passingBy("20 millis", fiber)).filter(({ _tag }) => _tag === "Replied")
        assert.strictEqual(ends.length, 1)
        assert.isAtMost((yield* Clock.currentTimeMillis) - before, within + 500)
      }).pipe(Effect.scoped))
  }
})

describe("a key", () => {
  const key = "sk-proj-0123456789abcdef"

  it.effect("is sent, and asked for when it is not", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([hello, hello], { apiKey: key })
      const asking = (layer: ReturnType<typeof openAi>) =>
        respond.pipe(Effect.provide(layer), Effect.provide(FetchHttpClient.layer))
      const url = `${server.url}/v1`
      const padded = OpenAi.layer({ model: "any", baseUrl: url, apiKey: Redacted.make(` ${key}\n`) })
      assert.strictEqual((yield* asking(padded)).text, "Hello.")
      assert.strictEqual((yield* asking(ollama(server.url, { apiKey: key }))).text, "Hello.")
      for (const provider of [openAi, ollama]) {
        const denied = yield* Effect.flip(asking(provider(server.url, {})))
        assert.deepInclude({ ...denied }, { code: "permission_denied", status: 401, transient: false })
        assert.match(denied.hint!, /^Check the key \((OPENAI|OLLAMA)_API_KEY\)/)
      }
    }).pipe(Effect.scoped))

  it("that fits no header is refused at once, and not quoted", () => {
    const apiKey = Redacted.make("sk-proj-0123\n456789")
    const exit = Effect.runSyncExit(
      OpenAi.make({ model: "any", apiKey }).pipe(Effect.provide(FetchHttpClient.layer))
    )
    assert.match(String(exit), /TypeError: Expected a key of letters, digits and punctuation/)
    assert.notInclude(String(exit), "0123")
  })

  it.effect("is not read from the name and password of an address, which become a header of their own", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([hello])
      const baseUrl = `${server.url.replace("//", "//ann:s%40cret-word@")}/v1/?team=blue-and-green`
      const asked = respond.pipe(
        Effect.provide(OpenAi.layer({ model: "any", baseUrl })),
        Effect.provide(FetchHttpClient.layer)
      )
      assert.strictEqual((yield* asked).text, "Hello.")
      const [received] = (yield* server.state).requests
      assert.strictEqual(received?.headers["authorization"], `Basic ${btoa("ann:s@cret-word")}`)
      yield* server.whileDown(Effect.gen(function*() {
        const failure = yield* Effect.flip(atOnce(asked))
        assert.notMatch(JSON.stringify(failure), /ann|cret-word|blue/)
      }))
    }).pipe(Effect.scoped))

  for (
    const [address, header] of [
      ["http://:token-alone@10.0.0.7", `Basic ${btoa(":token-alone")}`],
      ["http://ann:50%off@10.0.0.7", `Basic ${btoa("ann:50%off")}`],
      ["http://ann:p%E2%82%AC@10.0.0.7", "Basic YW5uOnDigqw="]
    ] as const
  ) {
    it.effect(`may be a password such as that of ${address}`, () =>
      Effect.gen(function*() {
        let sent: string | undefined
        const client = HttpClient.make((request) => {
          sent = request.headers["authorization"]
          return Effect.fail(
            new HttpClientError.HttpClientError({ reason: new HttpClientError.EncodeError({ request }) })
          )
        })
        yield* Effect.flip(respond).pipe(
          Effect.provide(ollama(address, {})),
          Effect.provideService(HttpClient.HttpClient, client)
        )
        assert.strictEqual(sent, header)
      }))
  }

  it.effect("and a password, and what stands in a query, are hidden in whatever a server says, in any form", () =>
    Effect.gen(function*() {
      const key = "sk/proj+01\"23=456789"
      // The query's value begins with the password: the shorter one must not lay the longer one bare.
      const secrets = [key, "pass/word+1", "pass/word+1-and-more", btoa("ann:pass/word+1")]
      const forms = secrets.flatMap((secret) => [
        secret,
        encodeURIComponent(secret),
        encodeURIComponent(secret).toLowerCase(),
        secret.replaceAll("/", "\\/").replaceAll("\"", "\\\"")
      ])
      const server = yield* FakeModelServer.make(() =>
        FakeModelServer.raw(`<p>${forms.join("</p><p>")}</p>`, { status: 400 })
      )
      const query = `?api-key=${encodeURIComponent("pass/word+1-and-more")}&api-version=1`
      const { spans, tracer } = recordingTracer()
      for (const apiKey of [{}, { apiKey: Redacted.make(key) }]) {
        const address = server.url.replace("//", `//ann:${encodeURIComponent("pass/word+1")}@`)
        const layer = OpenAi.layer({ model: "any", baseUrl: `${address}/v1${query}`, ...apiKey })
        const failure = yield* Effect.flip(respond).pipe(
          Effect.provide(layer),
          Effect.provide(FetchHttpClient.layer),
          Effect.provideService(Tracer.Tracer, tracer)
        )
        const known = forms.filter((form) => "apiKey" in apiKey || !form.startsWith("sk"))
        assert.deepStrictEqual(known.filter((form) => failure.detail.includes(form)), [])
        assert.include(failure.detail, "<redacted>")
        assert.notInclude(failure.detail, "-and-more")
      }
      assert.strictEqual(spans.length, 2)
      for (const { attributes } of spans) {
        const shown = JSON.stringify(Array.from(attributes))
        assert.deepStrictEqual(forms.filter((form) => shown.includes(form)), [])
      }
    }).pipe(Effect.scoped))

  const addressed = [
    [
      "Chat Completions",
      (address: string, query: string) =>
        OpenAi.layer({ model: "any", baseUrl: `${address}/v1${query}`, retry: Schedule.recurs(0) })
    ],
    [
      "Ollama",
      (address: string, query: string) =>
        Ollama.layer({ model: "any", host: address + query, retry: Schedule.recurs(0) })
    ]
  ] as const
  for (const [name, layer] of addressed) {
    it.effect(`that stands in an address is in no client span and no failure, whatever comes of it, over ${name}`, () =>
      Effect.gen(function*() {
        const secrets = ["s%cret w~rd", "key in a query!", btoa("ann:s%cret w~rd")]
        const forms = secrets.flatMap((text) => [
          text,
          encodeURIComponent(text),
          new URLSearchParams({ text }).toString().slice("text=".length)
        ])
        const server = yield* FakeModelServer.make([
          hello,
          hello,
          FakeModelServer.raw(forms.join(" "), { status: 401 }),
          FakeModelServer.raw(forms.join(" "), { status: 401 }),
          new ModelFailure({ code: "connection", detail: "", transient: true }),
          brokenOff,
          FakeModelServer.raw("<html>Hello.</html>")
        ])
        const { spans, tracer } = recordingTracer()
        const address = server.url.replace("//", `//ann:${encodeURIComponent("s%cret w~rd")}@`)
        const query = `?api-key=${encodeURIComponent("key in a query!")}&api-version=1`
        const told: Array<string> = []
        const ask = <A>(effect: Effect.Effect<A, ModelFailure, Model.Model>) =>
          Effect.match(effect, {
            onSuccess: () => {},
            onFailure: (failure) => {
              told.push(inspect(failure, { depth: Infinity, showHidden: true }), Cause.pretty(Cause.fail(failure)))
            }
          }).pipe(
            Effect.provide(layer(address, query)),
            Effect.provide(FetchHttpClient.layer),
            Effect.provideService(Tracer.Tracer, tracer)
          )
        for (const effect of [respond, parts, respond, parts, respond, parts, respond]) yield* ask<unknown>(effect)
        yield* server.whileDown(ask(respond))

        const { requests } = yield* server.state
        for (const { headers, url } of requests) {
          assert.strictEqual(headers["authorization"], `Basic ${secrets[2]}`)
          const sent = new URL(url, server.url).searchParams
          assert.deepStrictEqual(Array.from(sent), [["api-key", "key in a query!"], ["api-version", "1"]])
        }
        assert.deepStrictEqual([requests.length, spans.length, told.length], [7, 8, 12])
        assert.isTrue(told.some((text) => text.includes(`Check the base URL: requests went to ${server.url}/`)))
        for (const span of spans) {
          assert.strictEqual(span.attributes.get("url.query"), "api-key=REDACTED&api-version=REDACTED")
          told.push(toldBy(span))
        }
        assert.deepStrictEqual(forms.filter((form) => told.some((text) => text.includes(form))), [])
      }).pipe(Effect.scoped))
  }

  it.effect("may be a word in a query, without a name: then there is no span to show it", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([
        FakeModelServer.raw("Unknown user sk-live-0123456789", { status: 403 })
      ])
      const { spans, tracer } = recordingTracer()
      const failure = yield* Effect.flip(respond).pipe(
        Effect.provide(OpenAi.layer({ model: "any", baseUrl: `${server.url}/v1?sk-live-0123456789` })),
        Effect.provide(FetchHttpClient.layer),
        Effect.provideService(Tracer.Tracer, tracer)
      )
      assert.match((yield* server.state).requests[0]!.url, /\?sk-live-0123456789=?$/)
      assert.include(failure.detail, "Unknown user <redacted>")
      assert.deepStrictEqual(spans, [])
    }).pipe(Effect.scoped))

  it.effect("may stand in an address alone, as a name", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([
        FakeModelServer.raw("Unknown user sk-live-0123456789", { status: 403 })
      ])
      const failure = yield* Effect.flip(respond).pipe(
        Effect.provide(ollama(server.url.replace("//", "//sk-live-0123456789@"), {})),
        Effect.provide(FetchHttpClient.layer)
      )
      assert.include(failure.detail, "Unknown user <redacted>")
    }).pipe(Effect.scoped))

  it.effect("that is short is no secret: it stands in many a text by chance", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(respond)
      assert.include(failure.detail, "get it with ollama pull")
    }).pipe(Effect.provide(
      serving(ollama)(
        [FakeModelServer.raw("get it with ollama pull", { status: 400 })],
        { settings: { apiKey: "ollama" } }
      )
    )))
})
