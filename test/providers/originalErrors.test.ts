/** The client's error is kept as the cause, and decides whether the request is retried. */
import { assert, describe, it } from "@effect/vitest"
import { ModelFailure } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Schedule, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { inspect } from "node:util"
import { atOnce, ollama, providers, serving } from "../support/models.ts"
import { agent, busy, hello, parts, respond } from "../support/question.ts"

describe("the original error", () => {
  it.effect("is kept: the system's error for a lost connection, the client's for a broken reply", () =>
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

    it.effect(`is the cause of a stream that began at the second attempt and then broke off, over ${name}`, () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(atOnce(parts))
        assert.deepStrictEqual([failure.code, failure.attempts], ["cut_off", 2])
        assert.match(String(failure.cause), /terminated/)
      }).pipe(Effect.provide(
        serving(provider)([busy, FakeModelServer.drop(ScriptedModel.text("A long text, cut."), 100)])
      )))
  }

  /** Makes a client that fails for a given reason. */
  const failing = (reason: (request: HttpClientRequest.HttpClientRequest) => HttpClientError.HttpClientErrorReason) =>
    HttpClient.make((request) => Effect.fail(new HttpClientError.HttpClientError({ reason: reason(request) })))
  const failureWith = (client: HttpClient.HttpClient) =>
    Effect.flip(respond).pipe(
      Effect.provide(ollama("http://10.0.0.7", { retry: Schedule.recurs(2), apiKey: "sk-0123456789" })),
      Effect.provideService(HttpClient.HttpClient, client)
    )
  const transport = (cause: unknown) =>
    failureWith(failing((request) => new HttpClientError.TransportError({ request, cause })))

  it.effect("that is the client's own timeout is not retried", () =>
    Effect.gen(function*() {
      const failure = yield* transport(new TypeError("fetch failed", { cause: { code: "UND_ERR_HEADERS_TIMEOUT" } }))
      assert.deepInclude({ ...failure }, { code: "timeout", transient: false })
      assert.isUndefined(failure.attempts)
    }))

  it.effect("may be a few causes deep, and is hidden if it is secret", () =>
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

  it.effect("in the middle of a body may be the client's timeout too", () =>
    Effect.gen(function*() {
      const response = (request: HttpClientRequest.HttpClientRequest, error: unknown) =>
        HttpClientResponse.fromWeb(
          request,
          new Response(new ReadableStream({ pull: (controller) => controller.error(error) }), { status: 200 })
        )
      const failure = (code: string) =>
        failureWith(HttpClient.make((request) =>
          Effect.succeed(
            response(request, new TypeError("terminated", { cause: { code, sent: "Bearer sk-0123456789" } }))
          )
        ))
      assert.deepInclude({ ...yield* failure("UND_ERR_BODY_TIMEOUT") }, { code: "timeout", transient: false })
      const lost = yield* failure("UND_ERR_SOCKET")
      assert.deepInclude({ ...lost }, { code: "cut_off", attempts: 3 })
      assert.match(inspect(lost, { depth: Infinity, showHidden: true }), /terminated[^]*sent: 'Bearer <redacted>'/)
    }))

  it.effect("that is a lost connection gives no advice to start a server that is already up", () =>
    Effect.gen(function*() {
      assert.isUndefined((yield* transport({ code: "ECONNRESET" })).hint)
      assert.match((yield* transport({ code: "ENOTFOUND" })).hint!, /ollama serve/)
    }))

  it.effect("that is not about a connection is not retried", () =>
    Effect.gen(function*() {
      const failure = yield* failureWith(failing((request) => new HttpClientError.EncodeError({ request })))
      assert.deepInclude({ ...failure }, { code: "bad_request", transient: false })
    }))

  it.effect("with a status is treated as that status", () =>
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
