/** A handler over a stub has the certainty that it has over a real wire. */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Dispatch, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import type * as SideEffect from "@fallible/core/SideEffect"
import { HttpStub } from "@fallible/testing"
import * as HttpStubServer from "@fallible/testing/HttpStubServer"
import { Effect, Fiber, Logger, Schedule, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"

const definition = { description: "Pays", parameters: Schema.Struct({ order: Schema.String }), success: Schema.Unknown }

/** What a handler does: how many requests it sends, and what its tool declares. */
interface Handler {
  readonly sideEffect: SideEffect.SideEffect
  readonly requests: number
  readonly retries: number
}

type Fetch = typeof globalThis.fetch

/** Makes a tool that sends its requests with a `fetch`: a given one, or that of its own context. */
const fetching = (address: string, { requests, retries, sideEffect }: Handler, given?: Fetch) =>
  Tool.promise(
    "pay",
    { ...definition, sideEffect, identity: "all" },
    async ({ order }, { fetch, idempotencyKey, signal }) => {
      for (let number = 1; number <= requests; number++) {
        const response = await (given ?? fetch)(`${address}/orders/${number}`, {
          method: "POST",
          headers: { "idempotency-key": idempotencyKey },
          body: order,
          signal
        })
        if (!response.ok) throw response
      }
      throw new Error("There is no receipt.")
    }
  ).pipe(Tool.retry(Schedule.recurs(retries)))

/** Makes a tool that sends its requests with Effect's client. */
const calling = (address: string, { requests, retries, sideEffect }: Handler) =>
  Tool.make("pay", { ...definition, sideEffect, identity: "all" }, ({ order }) =>
    Effect.gen(function*() {
      const { idempotencyKey } = yield* ToolCall.current
      const headers = { "idempotency-key": idempotencyKey }
      for (let number = 1; number <= requests; number++) {
        const request = HttpClientRequest.post(`${address}/orders/${number}`, { headers })
        yield* HttpFailure.classify(
          Effect.flatMap(
            HttpClient.execute(HttpClientRequest.bodyText(request, order)),
            HttpClientResponse.filterStatusOk
          )
        )
      }
      return yield* new ToolUnavailable({ code: "no_receipt", detail: "There is no receipt.", transient: false })
    })).pipe(Tool.retry(Schedule.recurs(retries)))

/** Calls a tool, and returns what is known of the call. */
const known = <T extends Tool.Any>(tool: T) => Effect.provide(knownOf(tool), Logger.layer([]))

const knownOf = <T extends Tool.Any>(tool: T) =>
  Effect.map(
    Dispatch.call(Toolkit.make(tool), { id: "1", name: "pay", arguments: "{\"order\":\"7\"}" }),
    ({ certainty, doubt, wire = [] }) => ({
      certainty,
      doubt,
      wire: wire.map(({ method, sent, status, url }) =>
        `${method} ${new URL(url).pathname} ${status ?? (sent ? "sent" : "not sent")}`
      )
    })
  )

const { json, refused, reset, status } = HttpStub

/** The moves of a service, and what is then known of the call. */
interface Case {
  readonly moves: ReadonlyArray<HttpStub.Answer>
  readonly certainty: "not_executed" | "unknown"
  /** Default: one request, and no retries. */
  readonly handler?: Partial<Handler>
}

const paid = json({ paid: true })
const twice = { requests: 2 }
const again = { retries: 1 }

const cases: Readonly<Record<string, Case>> = {
  "a success, and then an error of its own": { moves: [paid], certainty: "unknown" },
  "a 402": { moves: [status(402)], certainty: "not_executed" },
  "a 404 with a sentence": { moves: [json({ message: "支付失败。" }, { status: 404 })], certainty: "not_executed" },
  "a 408": { moves: [status(408)], certainty: "unknown" },
  "a 409": { moves: [status(409)], certainty: "not_executed" },
  "a 422": { moves: [status(422)], certainty: "not_executed" },
  "a 429": { moves: [status(429)], certainty: "not_executed" },
  "a 503": { moves: [status(503)], certainty: "unknown" },
  "a reset": { moves: [reset], certainty: "unknown" },
  "a refused connection": { moves: [refused], certainty: "not_executed" },
  "a success, and a body that breaks off": { moves: [HttpStub.drop(paid, 4)], certainty: "unknown" },
  "a success, and a later 404": { moves: [paid, status(404)], certainty: "unknown", handler: twice },
  "a success, and a later reset": { moves: [paid, reset], certainty: "unknown", handler: twice },
  "a 402, before a request that it then does not send": {
    moves: [status(402)],
    certainty: "not_executed",
    handler: twice
  },
  "a 429, and then a 402": { moves: [status(429), status(402)], certainty: "not_executed", handler: again },
  "a 429, and then a 409": { moves: [status(429), status(409)], certainty: "unknown", handler: again },
  "a 503, and then a 402": { moves: [status(503), status(402)], certainty: "unknown", handler: again },
  "a reset, and then a 422": { moves: [reset, status(422)], certainty: "unknown", handler: again },
  "a 503, and then a 429": { moves: [status(503), status(429)], certainty: "unknown", handler: again }
}

const address = "https://pay.example"

/** Plays moves to a tool in this process. `make` gets the `fetch` of the stub. */
const overStub = <T extends Tool.Any>(
  moves: ReadonlyArray<HttpStub.Answer>,
  make: (fetch: Fetch) => T
) => Effect.flatMap(HttpStub.HttpStub, ({ fetch }) => known(make(fetch))).pipe(Effect.provide(HttpStub.layer(moves)))

/** Plays moves to a tool on loopback. `make` gets the address of the server. */
const overWire = <T extends Tool.Any>(
  moves: ReadonlyArray<HttpStub.Answer>,
  make: (address: string) => T
) =>
  Effect.gen(function*() {
    const answers = moves.filter((move) => move._tag !== "Refused")
    const server = yield* HttpStubServer.make(answers)
    const call = known(make(server.url))
    return yield* answers.length === moves.length ? call : server.whileDown(call)
  }).pipe(Effect.scoped)

describe("a handler over a stub has the certainty that it has over a real wire", () => {
  for (const [what, { certainty, handler, moves }] of Object.entries(cases)) {
    for (const sideEffect of ["idempotent_by_key", "non_idempotent"] as const) {
      // Only a keyed tool is called again after a doubt.
      if (handler?.retries !== undefined && sideEffect === "non_idempotent") continue
      const all: Handler = { requests: 1, retries: 0, ...handler, sideEffect }

      it.live(`after ${what} (${sideEffect}), by fetch`, () =>
        Effect.gen(function*() {
          const real = yield* overWire(moves, (address) => fetching(address, all, globalThis.fetch))
          assert.strictEqual(real.certainty, certainty)
          assert.deepStrictEqual(yield* overStub(moves, (fetch) => fetching(address, all, fetch)), real)
        }))

      it.live(`after ${what} (${sideEffect}), by Effect's client`, () =>
        Effect.gen(function*() {
          for (const client of [FetchHttpClient.layer, NodeHttpClient.layerNodeHttp, NodeHttpClient.layerUndici]) {
            const real = yield* overWire(moves, (address) => calling(address, all)).pipe(Effect.provide(client))
            assert.strictEqual(real.certainty, certainty)
            assert.deepStrictEqual(yield* overStub(moves, () => calling(address, all)), real)
          }
        }))

      it.live(`after ${what} (${sideEffect}), by the fetch of its context, over a stubbed global fetch`, () =>
        Effect.gen(function*() {
          const { certainty, doubt, wire } = yield* overWire(moves, (address) => fetching(address, all))
          const stub = yield* known(fetching(address, all)).pipe(Effect.provide(HttpStub.layer(moves)))
          assert.deepStrictEqual(stub, { certainty, doubt, wire })
        }))
    }
  }
})

describe("a noted request", () => {
  const acting: Handler = { sideEffect: "non_idempotent", requests: 1, retries: 0 }

  it.effect("may have acted, if its handler is interrupted before the answer", () =>
    Effect.gen(function*() {
      const { fetch } = yield* HttpStub.HttpStub
      for (const tool of [fetching(address, acting, fetch), calling(address, acting)]) {
        const fiber = yield* Effect.forkChild(known(tool.pipe(Tool.timeout("5 seconds"))))
        yield* TestClock.adjust("5 seconds")
        assert.deepInclude(yield* Fiber.join(fiber), { certainty: "unknown", doubt: "hard" })
      }
    }).pipe(Effect.provide(HttpStub.layer(() => Effect.never))))

  it.effect("is none, if the signal was aborted before it", () =>
    Effect.gen(function*() {
      const { fetch, requests } = yield* HttpStub.HttpStub
      const tool = Tool.promise("pay", definition, async () => {
        await fetch(address, { method: "POST", signal: AbortSignal.abort() })
      })
      assert.deepInclude(yield* known(tool), { certainty: "unknown", wire: [] })
      assert.deepStrictEqual(yield* requests, [])
    }).pipe(Effect.provide(HttpStub.layer([]))))

  it.effect("belongs to the handler that sends it, of several at once", () =>
    Effect.gen(function*() {
      const { fetch } = yield* HttpStub.HttpStub
      const paths = ["/1", "/402", "/2", "/429"]
      const outcomes = yield* Effect.forEach(
        paths,
        (path) => known(fetching(`${address}${path}`, acting, fetch)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(outcomes.map(({ certainty, wire }) => [certainty, ...wire]), [
        ["unknown", "POST /1/orders/1 200"],
        ["not_executed", "POST /402/orders/1 402"],
        ["unknown", "POST /2/orders/1 200"],
        ["not_executed", "POST /429/orders/1 429"]
      ])
    }).pipe(Effect.provide(HttpStub.layer(({ path }) => {
      const code = Number(path.split("/")[1])
      return code > 200 ? status(code) : paid
    }))))

  it.effect("belongs to the handler that sends it, not to the one that has made the stub", () =>
    Effect.gen(function*() {
      const inner: Array<unknown> = []
      const other = HttpStub.layer([status(404)])
      const outer = Tool.make("pay", definition, () =>
        Effect.gen(function*() {
          const { fetch } = yield* HttpStub.HttpStub
          inner.push(yield* known(fetching(address, acting, fetch)))
          // By an async function that runs an Effect in a runtime of its own.
          const running = Tool.promise("pay", definition, async () => {
            await new Promise((resolve) => setImmediate(resolve))
            const program = HttpClient.execute(HttpClientRequest.post(`${address}/orders/2`))
            throw new Error(`${(await Effect.runPromise(Effect.provide(program, other))).status}, alas.`)
          })
          inner.push(yield* known(running))
          return yield* new ToolUnavailable({ code: "late", detail: "Come again.", transient: true })
        }).pipe(Effect.provide(HttpStub.layer([status(402)]))))
      assert.deepStrictEqual((yield* known(outer)).wire, [])
      assert.deepStrictEqual(inner, [
        { certainty: "not_executed", doubt: undefined, wire: ["POST /orders/1 402"] },
        { certainty: "not_executed", doubt: undefined, wire: ["POST /orders/2 404"] }
      ])
    }))
})
