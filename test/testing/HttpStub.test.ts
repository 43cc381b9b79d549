/** The HTTP stub, in the test's own process. */
import { assert, describe, it } from "@effect/vitest"
import { RetryPolicy, Tool } from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import { HttpStub } from "@fallible/testing"
import { Effect, Exit, Fiber, Stream } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { address, ask, askBy, Quote, quote } from "../support/quotes.ts"

const post = HttpClientRequest.post(`${address}/quotes?symbol=ACME&tag=a&tag=b`)

describe("HttpStub", () => {
  it.effect("plays its script under a TestClock, to the millisecond", () =>
    Effect.gen(function*() {
      const { requests } = yield* HttpStub.HttpStub
      const tool = Tool.make("get_quote", { description: "A quote", success: Quote, sideEffect: "none" }, () =>
        ask(address)).pipe(Tool.retry(RetryPolicy.transient))
      const fiber = yield* Effect.forkChild(tool.run({}))
      yield* TestClock.adjust("999 millis")
      assert.strictEqual((yield* requests).length, 1)
      yield* TestClock.adjust("1 milli")
      assert.strictEqual((yield* requests).length, 2)
      yield* TestClock.adjust("1999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 milli")
      assert.deepStrictEqual(fiber.pollUnsafe(), Exit.succeed({ price: 42 }))
    }).pipe(Effect.provide(
      HttpStub.layer([HttpStub.status(503, { "retry-after": "1" }), Effect.delay(Effect.succeed(quote), "2 seconds")])
    )))

  it.effect("plays to a tool that uses fetch, to the millisecond, too", () =>
    Effect.gen(function*() {
      const { fetch, requests } = yield* HttpStub.HttpStub
      const tool = Tool.promise(
        "get_quote",
        { description: "A quote", success: Quote, sideEffect: "none" },
        async () => {
          const response = await fetch(address)
          if (!response.ok) throw response
          return await response.json() as typeof Quote.Type
        }
      ).pipe(Tool.retry(RetryPolicy.transient))
      const fiber = yield* Effect.forkChild(tool.run({}))
      yield* TestClock.adjust("999 millis")
      assert.strictEqual((yield* requests).length, 1)
      yield* TestClock.adjust("1 milli")
      assert.strictEqual((yield* requests).length, 2)
      assert.deepStrictEqual(yield* Fiber.join(fiber), { price: 42 })
    }).pipe(Effect.provide(
      HttpStub.layer([HttpStub.text("Soon.", { status: 503, headers: { "retry-after": "1" } }), quote])
    )))

  it.effect("refuses a connection: nothing was done", () =>
    Effect.gen(function*() {
      const client = yield* HttpClient.HttpClient
      const { fetch } = yield* HttpStub.HttpStub
      const failure = yield* Effect.flip(HttpFailure.classify(client.execute(post)))
      assert.deepInclude(failure, { code: "connection" })
      assert.strictEqual(failure._tag === "ToolUnavailable" && failure.outcome, "not_executed")
      const other = yield* Effect.flip(askBy(fetch, address))
      assert.strictEqual(other._tag === "ToolUnavailable" && other.outcome, "not_executed")
    }).pipe(Effect.provide(HttpStub.layer(() => HttpStub.refused))))

  for (const [what, move] of [["hangs", Effect.never], ["stalls in its body", HttpStub.stall(quote, 4)]] as const) {
    it.effect(`${what} until the caller gives up`, () =>
      Effect.gen(function*() {
        const { fetch } = yield* HttpStub.HttpStub
        const fibers = [
          yield* Effect.forkChild(Effect.timeoutOption(ask(address), "5 seconds")),
          yield* Effect.forkChild(Effect.timeoutOption(askBy(fetch, address), "5 seconds"))
        ]
        yield* TestClock.adjust("4999 millis")
        assert.deepStrictEqual(fibers.map((fiber) => fiber.pollUnsafe()), [undefined, undefined])
        yield* TestClock.adjust("1 milli")
        const results = yield* Effect.forEach(fibers, Fiber.join)
        assert.deepStrictEqual(results.map(({ _tag }) => _tag), ["None", "None"])
      }).pipe(Effect.provide(HttpStub.layer(() => move))))
  }

  it.effect("ends a stalled body of fetch when its signal is aborted", () =>
    Effect.gen(function*() {
      const { fetch } = yield* HttpStub.HttpStub
      const controller = new AbortController()
      const response = yield* Effect.promise(() => fetch(address, { signal: controller.signal }))
      const reading = response.text().then(() => "read", (error: unknown) => error)
      controller.abort("Enough.")
      assert.strictEqual(yield* Effect.promise(() => reading), "Enough.")
    }).pipe(Effect.provide(HttpStub.layer([HttpStub.stall(quote, 4)]))))

  it.effect("answers as the request wants", () =>
    Effect.gen(function*() {
      const prices = yield* Effect.forEach(["ACME", "OTHER"], (symbol) =>
        Effect.flatMap(HttpClient.get(`${address}/${symbol}`), ({ json }) => json))
      assert.deepStrictEqual(prices, [{ path: "/ACME", index: 0 }, { path: "/OTHER", index: 1 }])
    }).pipe(Effect.provide(HttpStub.layer(({ path }, index) =>
      HttpStub.json({ path, index })
    ))))

  it.effect("has a body in every form of Effect's client", () =>
    Effect.gen(function*() {
      const response = yield* HttpClient.get(address)
      assert.strictEqual(yield* response.text, "{\"price\":42}")
      assert.deepStrictEqual(yield* response.json, { price: 42 })
      assert.strictEqual((yield* response.arrayBuffer).byteLength, 12)
      assert.strictEqual(yield* Stream.mkString(Stream.decodeText(response.stream)), "{\"price\":42}")
      assert.deepStrictEqual(yield* HttpClientResponse.schemaBodyJson(Quote)(response), { price: 42 })
      assert.deepInclude(response.headers, { "content-type": "application/json" })
      const part = yield* HttpClient.get(address)
      const chunks: Array<string> = []
      const exit = yield* Effect.exit(
        Stream.runForEach(Stream.decodeText(part.stream), (chunk) => Effect.sync(() => chunks.push(chunk)))
      )
      assert.deepStrictEqual([chunks, Exit.isFailure(exit)], [["{\"pri"], true])
    }).pipe(Effect.provide(HttpStub.layer([quote, HttpStub.drop(quote, 5)]))))

  it.effect("records requests, whatever their body is made of", () =>
    Effect.gen(function*() {
      const client = yield* HttpClient.HttpClient
      const { fetch, requests } = yield* HttpStub.HttpStub
      const form = new FormData()
      form.set("a", "1")
      yield* client.execute(HttpClientRequest.bodyText(post, "text"))
      yield* client.execute(HttpClientRequest.bodyJsonUnsafe(post, { a: 1 }))
      yield* client.execute(HttpClientRequest.bodyStream(post, Stream.encodeText(Stream.make("a ", "stream"))))
      yield* client.execute(HttpClientRequest.bodyFormData(post, form))
      yield* client.execute(HttpClientRequest.setHeader(post, "X-Who", "Ada"))
      yield* Effect.promise(() => fetch(post.url, { method: "PUT", body: "text", headers: { "X-Who": "Ada" } }))
      const recorded = yield* requests
      assert.deepStrictEqual(recorded.map(({ body }) => body.includes("name=\"a\"") ? "a form" : body), [
        "text",
        "{\"a\":1}",
        "a stream",
        "a form",
        "",
        "text"
      ])
      assert.deepInclude(recorded[1], {
        method: "POST",
        url: `${address}/quotes?symbol=ACME&tag=a&tag=b`,
        path: "/quotes",
        query: { symbol: "ACME", tag: ["a", "b"] }
      })
      assert.strictEqual(recorded[1]?.headers["content-type"], "application/json")
      assert.deepStrictEqual(recorded.slice(4).map(({ headers, method }) => [method, headers["x-who"]]), [
        ["POST", "Ada"],
        ["PUT", "Ada"]
      ])
    }).pipe(Effect.provide(HttpStub.layer(() => HttpStub.status(200)))))
})
