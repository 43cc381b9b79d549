/**
 * A stub for the HTTP services behind tools. It plays a script: answers as data, or a function of the request.
 *
 *     const script = [HttpStub.status(503, { "retry-after": "1" }), HttpStub.json({ price: 42 })]
 *     quote.run({ symbol: "ACME" }).pipe(Effect.provide(HttpStub.layer(script)))
 *
 * The stub answers in the test's own process: it opens no socket, and its delays use Effect's `Clock`, so it works
 * under `TestClock`. It serves Effect's `HttpClient`, the `fetch` of a handler's context, and `fetch` where a tool takes
 * that as a parameter. For tools that call the global `fetch`, or a library with its own connections, `HttpStubServer`
 * plays the same script on loopback.
 *
 * {@link HttpScript} lists the moves; this module exports them, too.
 *
 * The stub records every request. If there are more requests than moves, each further request is answered with 501.
 * When the stub's scope closes, it then dies with an error that names these requests. It does the same if the
 * script throws, or if an answer has an invalid status or header. So such a test fails, even if the tool has a
 * fallback.
 *
 * The stub notes each request in the record of the handler that sends it, and how it ended (`ToolCall.noteRequest`). So
 * an acting tool (one with side effects) has the same certainty over the stub as over real HTTP. A mock of your own
 * notes nothing, so its silence proves nothing.
 *
 * The stub differs from a real service in three ways:
 *
 * - An answer has only the headers of its move: no `date`, and no `content-length`.
 * - It does not decode a body. An answer with a `content-encoding` such as `gzip` fails the test.
 * - It does not follow redirects. Effect's client returns the 3xx, as the clients of `NodeHttpClient` do, and unlike
 *   `FetchHttpClient`. `HttpClient.followRedirects` follows it. With `fetch`, a redirect fails the test, unless the
 *   tool asks for `redirect: "manual"`.
 *
 * `HttpStubServer` has none of these differences.
 *
 * @since 0.1.0
 */
import { ToolCall } from "@fallible/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as HttpScript from "./HttpScript.ts"
import { effectFetch } from "./internal/effectFetch.ts"
import { Play, receivedOf } from "./internal/httpPlay.ts"
import { clientResponse, lost, notForClient, notForFetch, requestText, webResponse } from "./internal/httpResponse.ts"
import { noteHere, tellEnd } from "./internal/notedRequest.ts"

export * from "./HttpScript.ts"

/**
 * The stub, as a test sees it.
 *
 * @category services
 * @since 0.1.0
 */
export class HttpStub extends Context.Service<HttpStub, {
  /** All requests, oldest first. */
  readonly requests: Effect.Effect<ReadonlyArray<HttpScript.Received>>
  /** The stub as a `fetch`, for tools that take one as a parameter. It fails with the errors of Node's own `fetch`. */
  readonly fetch: typeof globalThis.fetch
}>()("@fallible/testing/HttpStub") {}

/**
 * Provides a stub: `HttpClient` for the tool, {@link HttpStub} for the test.
 *
 * When to use: to test what a tool does if its service fails. Each build of the layer plays the script from its
 * start.
 *
 * @example
 * ```ts
 * import { Guard, RetryPolicy, Tool } from "@fallible/core"
 * import * as HttpFailure from "@fallible/core/HttpFailure"
 * import { HttpStub } from "@fallible/testing"
 * import { Effect, Fiber, Schema } from "effect"
 * import { HttpClient, HttpClientResponse } from "effect/http"
 * import { TestClock } from "effect/testing"
 *
 * const Quote = Schema.Struct({ price: Schema.Finite })
 *
 * const quote = Tool.make("get_quote", {
 *   description: "What a share costs",
 *   parameters: Schema.Struct({ symbol: Schema.String }),
 *   success: Quote,
 *   sideEffect: "none"
 * }, ({ symbol }) =>
 *   HttpClient.get(`https://quotes.example/${symbol}`).pipe(
 *     Effect.flatMap(HttpClientResponse.filterStatusOk),
 *     Effect.flatMap((response) => response.text),
 *     HttpFailure.classify,
 *     Guard.json(Quote)
 *   )).pipe(Tool.retry(RetryPolicy.transient))
 *
 * const program = Effect.gen(function*() {
 *   const { requests } = yield* HttpStub.HttpStub
 *   const fiber = yield* Effect.forkChild(quote.run({ symbol: "ACME" }))
 *   yield* TestClock.adjust("999 millis")
 *   const before = (yield* requests).length
 *   yield* TestClock.adjust("1 milli")
 *   const { price } = yield* Fiber.join(fiber)
 *   return { before, price, paths: (yield* requests).map(({ path }) => path) }
 * })
 *
 * const script = [HttpStub.status(503, { "retry-after": "1" }), HttpStub.json({ price: 42 })]
 * await Effect.runPromise(program.pipe(Effect.provide(HttpStub.layer(script)), Effect.provide(TestClock.layer())))
 * // => { before: 1, price: 42, paths: ["/ACME", "/ACME"] }
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (script: HttpScript.Script): Layer.Layer<HttpClient.HttpClient | HttpStub> =>
  Layer.effectContext(Effect.gen(function*() {
    const play = yield* Play.make(script)
    const client = HttpClient.make((request, url) =>
      Effect.flatMap(
        ToolCall.noteRequest({ method: request.method, url: url.href, headers: request.headers }),
        (noted) =>
          requestText(request.body).pipe(
            Effect.flatMap((body) => play.next(receivedOf(request.method, url, request.headers, body), notForClient)),
            Effect.tap((played) => Effect.sync(() => tellEnd(noted, played))),
            Effect.flatMap((played) => clientResponse(request, played))
          )
      )
    )
    const fetch = effectFetch(
      yield* Effect.context(),
      ({ headers, method, redirect, signal, url }) => {
        const noted = noteHere({ method, url, headers: Object.fromEntries(headers) })
        return (body) =>
          play.next(
            receivedOf(method, new URL(url), Object.fromEntries(headers), body),
            (played) => notForFetch(played, redirect)
          ).pipe(
            Effect.tap((played) => Effect.sync(() => tellEnd(noted, played))),
            Effect.flatMap((played) =>
              played._tag === "Sent" ? Effect.sync(() => webResponse(played, signal)) : Effect.fail(lost(played))
            )
          )
      }
    )
    return Context.make(HttpClient.HttpClient, client).pipe(
      Context.add(HttpStub, { requests: play.requests, fetch }),
      // The `fetch` of a handler's context is answered, too.
      Context.add(ToolCall.baseFetch, fetch)
    )
  }))
