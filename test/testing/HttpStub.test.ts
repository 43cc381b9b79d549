/** The HTTP stub in process and on loopback: both must look to a tool like the same service. */
import { assert, describe, it } from "@effect/vitest"
import { Guard, RetryPolicy, Tool, ToolFailure } from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import { HttpStub } from "@fallible/testing"
import * as HttpStubServer from "@fallible/testing/HttpStubServer"
import { Cause, Effect, Exit, Fiber, Schema, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"

const Quote = Schema.Struct({ price: Schema.Finite })
const quote = HttpStub.json({ price: 42 })

/** Asks for a quote with Effect's client. */
const ask = (baseUrl: string) =>
  HttpClient.get(`${baseUrl}/quotes?symbol=ACME`).pipe(
    Effect.flatMap(HttpClientResponse.filterStatusOk),
    Effect.flatMap((response) => response.text),
    HttpFailure.classify,
    Guard.json(Quote)
  )

/** Asks for a quote with a `fetch`. */
const askBy = (fetch: typeof globalThis.fetch, baseUrl: string) =>
  Effect.flatMap(
    Effect.tryPromise({
      try: async (signal) => {
        const response = await fetch(`${baseUrl}/quotes?symbol=ACME`, { signal })
        if (!response.ok) throw response
        return await response.text()
      },
      catch: ToolFailure.from
    }),
    (text) => Guard.json(Quote)(Effect.succeed(text))
  )

/** The ways in which a tool reaches the service. */
const ways = {
  "the stub's client": (script: HttpStub.Script<HttpStubServer.Answer>) =>
    ask("https://quotes.example").pipe(Effect.provide(HttpStub.layer(script))),
  "the stub's fetch": (script: HttpStub.Script<HttpStubServer.Answer>) =>
    HttpStub.HttpStub.use(({ fetch }) => askBy(fetch, "https://quotes.example")).pipe(
      Effect.provide(HttpStub.layer(script))
    ),
  "the server, by Effect's client": (script: HttpStub.Script<HttpStubServer.Answer>) =>
    HttpStubServer.HttpStubServer.use(({ url }) => ask(url)).pipe(
      Effect.provide([HttpStubServer.layer(script), FetchHttpClient.layer])
    ),
  "the server, by fetch": (script: HttpStub.Script<HttpStubServer.Answer>) =>
    HttpStubServer.HttpStubServer.use(({ url }) => askBy(fetch, url)).pipe(
      Effect.provide(HttpStubServer.layer(script))
    )
}

describe.each(Object.entries(ways))("an answer over %s", (_, play) => {
  it.effect("is the service's", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* play([quote]), { price: 42 })
      assert.deepStrictEqual(yield* play([Effect.succeed(quote)]), { price: 42 })
      assert.deepStrictEqual(yield* play([HttpStub.bytes(new TextEncoder().encode("{\"price\":42}"))]), { price: 42 })
    }))

  for (
    const [what, move, expected] of [
      ["a 503 with Retry-After", HttpStub.status(503, { "retry-after": "7" }), "server_error, in 7000 millis"],
      ["a 429", HttpStub.text("Slow down.", { status: 429 }), "rate_limited"],
      ["a 404", HttpStub.json({ message: "No such share." }, { status: 404 }), "not_found"],
      ["an answer of no content", HttpStub.status(204), "truncated"],
      ["half a JSON text", HttpStub.text("{\"price\":"), "truncated"],
      ["a reset", HttpStub.reset, "connection"],
      ["a reset in the middle of the body", HttpStub.drop(quote, 5), "connection"],
      ["a reset at the start of the body", HttpStub.drop(quote, 0), "connection"],
      ["a body that ends early", HttpStub.close(quote, -1), "connection"]
    ] as const
  ) {
    it.effect(`may be ${what}`, () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(play([move]))
        const wait = "retryAfter" in failure && failure.retryAfter !== undefined
          ? `, in ${failure.retryAfter.toString()}`
          : ""
        assert.strictEqual(`${failure.code}${wait}`, expected)
      }))
  }
})

const address = "https://quotes.example"
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

describe("HttpStubServer", () => {
  it.effect("records a request as the stub does", () =>
    Effect.gen(function*() {
      const server = yield* HttpStubServer.make([quote])
      const url = `${server.url}/quotes?symbol=ACME&tag=a&tag=b`
      yield* Effect.promise(() => fetch(url, { method: "PUT", body: "text", headers: { "X-Who": "Ada" } }))
      const { requests } = yield* server.state
      assert.deepInclude(requests[0], {
        method: "PUT",
        url,
        path: "/quotes",
        query: { symbol: "ACME", tag: ["a", "b"] },
        body: "text"
      })
      assert.strictEqual(requests[0]?.headers["x-who"], "Ada")
    }).pipe(Effect.scoped))

  for (const [what, move] of [["hangs", Effect.never], ["stalls in its body", HttpStub.stall(quote, 4)]] as const) {
    it.effect(`${what} until the caller gives up, and counts that`, () =>
      Effect.gen(function*() {
        const server = yield* HttpStubServer.make([move])
        const fiber = yield* Effect.forkChild(Effect.timeoutOption(askBy(fetch, server.url), "5 seconds"))
        yield* server.until(({ requests }) => requests.length === 1)
        yield* TestClock.adjust("4999 millis")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 milli")
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "None")
        yield* server.until(({ abandoned, open }) => abandoned === 1 && open === 0)
      }).pipe(Effect.scoped))
  }

  it.effect("refuses connections while it is down, and returns at its address", () =>
    Effect.gen(function*() {
      const server = yield* HttpStubServer.make([quote])
      const failure = yield* server.whileDown(Effect.flip(askBy(fetch, server.url)))
      assert.strictEqual(failure._tag === "ToolUnavailable" && failure.outcome, "not_executed")
      assert.deepStrictEqual(yield* askBy(fetch, server.url), { price: 42 })
    }).pipe(Effect.scoped))
})

/** Sends one request by `fetch`, and returns the answer and the defect with which the scope ends. */
const spoiled = (script: HttpStub.Script<HttpStubServer.Answer>, way: "stub" | "server") =>
  Effect.gen(function*() {
    let answered = ""
    const asking = (fetch: typeof globalThis.fetch, url: string) =>
      Effect.promise(async () => {
        const response = await fetch(`${url}/quotes`)
        answered = `${response.status} ${await response.text()}`
      })
    const exit = yield* Effect.exit(Effect.scoped(
      way === "stub"
        ? Effect.provide(HttpStub.HttpStub.use(({ fetch }) => asking(fetch, address)), HttpStub.layer(script))
        : Effect.flatMap(HttpStubServer.make(script), ({ url }) => asking(fetch, url))
    ))
    return [answered, Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "success"]
  })

describe.each(["stub", "server"] as const)("the %s", (way) => {
  for (
    const [what, script, says] of [
      ["has no answer left", [], /^The script has 0 answers, and there was a request more: GET http.*\/quotes$/],
      ["throws", () => assert.fail("Oh no."), /^The script failed: .*Oh no\.$/],
      ["dies", [Effect.die("Oh no.")], /^The script failed: Oh no\.$/],
      ["returns a promise", (async () => quote) as never, /The script returned a promise: return an answer/],
      ["returns a web response", [Response.json({})] as never, /something that is not an answer/]
    ] as const
  ) {
    it.effect(`answers 501 if its script ${what}, and fails the test`, () =>
      Effect.gen(function*() {
        const [answered = "", defect = ""] = yield* spoiled(script, way)
        assert.match(answered, /^501 /)
        assert.match(answered.slice(4), says)
        assert.strictEqual(defect, `Error: ${answered.slice(4)}`)
      }))
  }

  it.effect("leaves a test alone whose script has an answer for each request", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* spoiled([quote], way), ["200 {\"price\":42}", "success"])
    }))
})

it.effect("a server that is asked by an untyped script to refuse says what to do instead", () =>
  Effect.gen(function*() {
    // @ts-expect-error: the types of a server's script do not admit this move
    const script: HttpStub.Script<HttpStubServer.Answer> = [HttpStub.refused]
    const [answered] = yield* spoiled(script, "server")
    assert.match(answered!, /^501 .*use whileDown/)
  }))
