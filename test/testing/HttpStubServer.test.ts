/** The HTTP stub on loopback. */
import { assert, describe, it } from "@effect/vitest"
import { HttpStub } from "@fallible/testing"
import * as HttpStubServer from "@fallible/testing/HttpStubServer"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { askBy, quote } from "../support/quotes.ts"

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
