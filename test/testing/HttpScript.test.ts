/** Scripts of HTTP answers, played by the stub and by the server: both must look to a tool like the same service. */
import { assert, describe, it, vi } from "@effect/vitest"
import { Agent, Tool, Toolkit } from "@fallible/core"
import { HttpStub, ScriptedModel } from "@fallible/testing"
import * as HttpStubServer from "@fallible/testing/HttpStubServer"
import { getRequestListener } from "@hono/node-server"
import { Cause, Effect, Exit, Schema, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { gzipSync } from "node:zlib"
import { address, ask, askBy, quote } from "../support/quotes.ts"

type Script = HttpStub.Script<HttpStubServer.Answer>
type Requests = Effect.Effect<ReadonlyArray<HttpStub.Received>>

/** Gives a function the `fetch`, the address and the requests of a service that plays a script. */
const served = <A, E>(
  script: Script,
  way: "stub" | "server",
  use: (fetch: typeof globalThis.fetch, url: string, requests: Requests) => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  way === "stub"
    ? HttpStub.HttpStub.use(({ fetch, requests }) => use(fetch, address, requests)).pipe(
      Effect.provide(HttpStub.layer(script))
    )
    : HttpStubServer.HttpStubServer.use(({ state, url }) =>
      use(fetch, url, Effect.map(state, ({ requests }) => requests))
    ).pipe(Effect.provide(HttpStubServer.layer(script)))

/** A caller of the service. */
interface Caller<A, E> {
  readonly byClient: (url: string) => Effect.Effect<A, E, HttpClient.HttpClient>
  readonly byFetch: (fetch: typeof globalThis.fetch, url: string) => Effect.Effect<A, E>
}

/** The ways in which a caller reaches the service. */
const ways = {
  "the stub's client": <A, E>(script: Script, { byClient }: Caller<A, E>) =>
    byClient(address).pipe(Effect.provide(HttpStub.layer(script))),
  "the stub's fetch": <A, E>(script: Script, { byFetch }: Caller<A, E>) => served(script, "stub", byFetch),
  "the server, by Effect's client": <A, E>(script: Script, { byClient }: Caller<A, E>) =>
    HttpStubServer.HttpStubServer.use(({ url }) => byClient(url)).pipe(
      Effect.provide([HttpStubServer.layer(script), FetchHttpClient.layer])
    ),
  "the server, by fetch": <A, E>(script: Script, { byFetch }: Caller<A, E>) => served(script, "server", byFetch)
}

const asking = { byClient: ask, byFetch: askBy }

/** Sends a request, and returns the status and the text of the answer. */
const reading = (method: "GET" | "HEAD"): Caller<string, unknown> => ({
  byClient: (url) =>
    Effect.gen(function*() {
      const response = yield* HttpClient.execute(HttpClientRequest.make(method)(url))
      return `${response.status} ${yield* response.text}`
    }),
  byFetch: (fetch, url) =>
    Effect.promise(async () => {
      const response = await fetch(url, { method })
      return `${response.status} ${await response.text()}`
    })
})

/** Sends a request, and returns the bytes in the stream of the body, or `undefined` if there is no stream. */
const streaming = (method: "GET" | "HEAD"): Caller<number | undefined, unknown> => ({
  byClient: (url) =>
    HttpClient.execute(HttpClientRequest.make(method)(url)).pipe(
      Effect.flatMap(({ stream }) => Stream.runFold(stream, () => 0, (sum, { length }) => sum + length)),
      Effect.catchIf(({ reason }) => reason._tag === "EmptyBodyError", () => Effect.succeed(undefined))
    ),
  byFetch: (fetch, url) =>
    Effect.promise(async () => {
      const response = await fetch(url, { method })
      return response.body === null ? undefined : (await response.bytes()).length
    })
})

describe.each(Object.entries(ways))("an answer over %s", (_, play) => {
  it.effect("is the service's", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* play([quote], asking), { price: 42 })
      assert.deepStrictEqual(yield* play([Effect.succeed(quote)], asking), { price: 42 })
      assert.deepStrictEqual(yield* play([HttpStub.bytes(new TextEncoder().encode("{\"price\":42}"))], asking), {
        price: 42
      })
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
        const failure = yield* Effect.flip(play([move], asking))
        const wait = "retryAfter" in failure && failure.retryAfter !== undefined
          ? `, in ${failure.retryAfter.toString()}`
          : ""
        assert.strictEqual(`${failure.code}${wait}`, expected)
      }))
  }

  for (
    const [what, method, move, expected, streamed] of [
      ["to a HEAD", "HEAD", quote, "200 ", undefined],
      ["to a HEAD, if it breaks off", "HEAD", HttpStub.drop(quote, 5), "200 ", undefined],
      ["with a 204", "GET", HttpStub.json({ price: 42 }, { status: 204 }), "204 ", undefined],
      ["with a 205", "GET", HttpStub.text("Reset.", { status: 205 }), "205 ", undefined],
      ["with a 304", "GET", HttpStub.text("Old.", { status: 304 }), "304 ", undefined],
      ["with a 204, if it stalls", "GET", HttpStub.stall(HttpStub.status(204), 0), "204 ", undefined],
      ["if it is empty", "GET", HttpStub.status(200), "200 ", 0],
      ["if it is empty and dropped", "GET", HttpStub.drop(HttpStub.status(503), 0), "503 ", 0],
      ["if it is dropped at its end", "GET", HttpStub.drop(HttpStub.text("Hello"), 5), "200 Hello", 5],
      ["if it is dropped after its end", "GET", HttpStub.drop(HttpStub.text("Hello"), 6), "200 Hello", 5],
      ["if it is closed at its end", "GET", HttpStub.close(HttpStub.text("Hello"), 5), "200 Hello", 5],
      ["if it stalls at its end", "GET", HttpStub.stall(HttpStub.text("Hello"), 5), "200 Hello", 5]
    ] as const
  ) {
    it.effect(`has ${streamed === undefined ? "no" : "a whole"} body ${what}`, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* play([move], reading(method)), expected)
        assert.strictEqual(yield* play([move], streaming(method)), streamed)
      }))
  }
})

describe.each(["stub", "server"] as const)("the %s", (way) => {
  for (
    const [what, when, body] of [
      ["a request", "before it begins", () => "1"],
      ["a request", "while it begins", () => "1"],
      ["an endless request", "before it begins", () => new ReadableStream()],
      ["an endless request", "while it begins", () => new ReadableStream()]
    ] as const
  ) {
    it.effect(`does not receive ${what} that is aborted ${when}`, () =>
      served([quote], way, (fetch, url, requests) =>
        Effect.gen(function*() {
          const controller = new AbortController()
          if (when === "before it begins") controller.abort("Enough.")
          const { signal } = controller
          const sending = fetch(`${url}/aborted`, { method: "POST", body: body(), duplex: "half", signal })
          if (when === "while it begins") controller.abort("Enough.")
          const ended = yield* Effect.promise(() => sending.then(() => "answered", (error: unknown) => error))
          assert.strictEqual(ended, "Enough.")
          yield* Effect.promise(() => fetch(`${url}/sent`))
          assert.deepStrictEqual((yield* requests).map(({ path }) => path), ["/sent"])
        })))
  }

  it.effect("answers fetch with a redirect that it does not want to follow", () =>
    served([HttpStub.status(302, { location: "/other" })], way, (fetch, url) =>
      Effect.gen(function*() {
        const { headers, redirected, status } = yield* Effect.promise(() => fetch(url, { redirect: "manual" }))
        assert.deepStrictEqual([status, headers.get("location"), redirected], [302, "/other", false])
      })))
})

/** Posts an order by Effect's client, and follows a redirect in the client. */
const following = Effect.fnUntraced(function*(url: string) {
  const client = HttpClient.followRedirects(yield* HttpClient.HttpClient)
  const response = yield* client.execute(HttpClientRequest.bodyText(HttpClientRequest.post(`${url}/order`), "1"))
  return `${response.status} ${yield* response.text} ${new URL(response.url).pathname}`
})

describe("a redirect that Effect's client follows", () => {
  const script = [HttpStub.status(303, { location: "/done" }), HttpStub.text("Done.")]
  const seen = ({ body, method, path }: HttpStub.Received) => `${method} ${path} ${body}`

  it.effect("leads to the next move of the stub", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* following(address), "200 Done. /done")
      const { requests } = yield* HttpStub.HttpStub
      assert.deepStrictEqual((yield* requests).map(seen), ["POST /order 1", "GET /done "])
    }).pipe(Effect.provide(HttpStub.layer(script))))

  it.effect("leads to the next move of the server", () =>
    Effect.gen(function*() {
      const { state, url } = yield* HttpStubServer.HttpStubServer
      assert.strictEqual(yield* following(url), "200 Done. /done")
      assert.deepStrictEqual((yield* state).requests.map(seen), ["POST /order 1", "GET /done "])
    }).pipe(
      Effect.provide([HttpStubServer.layer(script), FetchHttpClient.layer]),
      Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" })
    ))
})

/** Replaces the globals as a server of Hono does, until the scope closes. */
const replacedGlobals = Effect.acquireRelease(
  Effect.sync(() => {
    vi.stubGlobal("Request", Request)
    vi.stubGlobal("Response", Response)
    getRequestListener(() => Promise.resolve(new Response()))
  }),
  () => Effect.sync(() => vi.unstubAllGlobals())
)

/** Sends one request by `fetch`, and returns the answer and the defect with which the scope ends. */
const spoiled = (script: Script, way: "stub" | "server") =>
  Effect.gen(function*() {
    let answered = ""
    const exit = yield* Effect.exit(served(script, way, (fetch, url) =>
      Effect.promise(async () => {
        const response = await fetch(`${url}/quotes`)
        answered = `${response.status} ${await response.text()}`
      })))
    return [answered, Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "success"]
  })

describe.each(["stub", "server"] as const)("the %s", (way) => {
  for (
    const [what, script, says] of [
      ["has no answer left", [], /^The script has 0 answers, and there was a request more: GET http.*\/quotes$/],
      ["throws", () => assert.fail("Oh no."), /^The script failed: .*Oh no\.$/],
      ["dies", [Effect.die("Oh no.")], /^The script failed: Oh no\.$/],
      ["returns a promise", (async () => quote) as never, /The script returned a promise: return an answer/],
      ["returns a web response", [Response.json({})] as never, /something that is not an answer/],
      ["breaks off a reset", [HttpStub.drop(HttpStub.reset as never, 1)], /something that is not an answer/],
      ["sends what JSON does not have", [HttpStub.json(undefined)], /The body of an answer is undefined/],
      [
        "has a status above 599",
        [HttpStub.status(600)],
        /The script failed: RangeError: The status of an answer is 600: .*200 to 599/
      ],
      [
        "has an interim status",
        [HttpStub.status(100)],
        /The script failed: RangeError: The status of an answer is 100: .*200 to 599/
      ],
      ["has a header of two lines", [HttpStub.status(200, { "x-who": "a\nb" })], /invalid header value/]
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

  it.effect("refuses a bad status, too, after a server has replaced Response by one that takes any", () =>
    Effect.gen(function*() {
      yield* replacedGlobals
      assert.strictEqual(new Response(null, { status: 600 }).status, 600)
      const [answered = ""] = yield* spoiled([HttpStub.status(600)], way)
      assert.match(answered, /^501 The script failed: RangeError: The status of an answer is 600/)
    }))

  it.effect("leaves a test alone whose script has an answer for each request", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* spoiled([quote], way), ["200 {\"price\":42}", "success"])
    }))
})

describe("the stub", () => {
  for (
    const [what, move, says] of [
      [
        "a redirect that fetch would follow",
        HttpStub.status(302, { location: "/other" }),
        /does not follow a redirect/
      ],
      [
        "a compressed body",
        HttpStub.bytes(gzipSync("Hello"), { headers: { "content-encoding": "gzip" } }),
        /does not decode a body \(content-encoding: gzip\): use HttpStubServer/
      ]
    ] as const
  ) {
    it.effect(`says that it cannot play ${what}, and fails the test`, () =>
      Effect.gen(function*() {
        const [answered = "", defect = ""] = yield* spoiled([move], "stub")
        assert.match(answered, says)
        assert.strictEqual(defect, `Error: ${answered.slice(4)}`)
      }))
  }

  it.effect("fails the test of an agent that hides a wrong answer behind a fallback", () =>
    Effect.gen(function*() {
      const tool = Tool.make("get_quote", { description: "A quote", success: Schema.Unknown, sideEffect: "none" }, () =>
        ask(address)).pipe(Tool.fallback(() =>
          Effect.succeed("An old quote")
        ))
      const exit = yield* Agent.make({ toolkit: Toolkit.make(tool) }).run("What does ACME cost?").pipe(
        Effect.provide([
          HttpStub.layer([HttpStub.json({ price: 42 }, { headers: { "x-who": "a\nb" } })]),
          ScriptedModel.layer([ScriptedModel.call("get_quote"), ScriptedModel.text("42.")])
        ]),
        Effect.exit
      )
      assert.match(Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "success", /invalid header value/)
    }))
})

it.effect("a server that is asked by an untyped script to refuse says what to do instead", () =>
  Effect.gen(function*() {
    // @ts-expect-error: the types of a server's script do not admit this move
    const script: Script = [HttpStub.refused]
    const [answered] = yield* spoiled(script, "server")
    assert.match(answered!, /^501 .*use whileDown/)
  }))
