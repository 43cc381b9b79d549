/** Real HTTP requests to the backend, which has a played model and a payment service that loses its first answer. */
import { NodeServices } from "@effect/platform-node"
import { ActsOnce } from "@fallible/testing"
import { ConfigProvider, Effect, Layer, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { deepStrictEqual, strictEqual } from "node:assert"
import { test } from "node:test"
import * as World from "../play/World.ts"
import { Api } from "../src/Api.ts"
import { charge } from "../src/charge.ts"
import { Payments } from "../src/Payments.ts"

/** Asks the backend, and returns how the calls ended. */
const ask = Effect.fnUntraced(function*(id: string) {
  const client = yield* HttpApiClient.make(Api)
  const events = yield* client.conversations.ask({ params: { id }, payload: { question: "Charge order 7." } })
  return Array.from(yield* Stream.runCollect(events)).flatMap((event) =>
    event._tag === "CallEnded" ? [event.code ?? event.outcome] : []
  )
})

const run = <A, E>(use: (world: Effect.Success<ReturnType<typeof World.make>>) => Effect.Effect<A, E>) =>
  World.playedModel.pipe(
    Effect.flatMap(World.make),
    Effect.flatMap(use),
    Effect.scoped,
    Effect.provide(NodeServices.layer),
    Effect.runPromise
  )

test("a lost answer is asked for again, and the card is charged once", () =>
  run(({ backend, payments }) =>
    Effect.gen(function*() {
      deepStrictEqual(yield* ask("ada"), ["completed"])
      strictEqual(yield* payments.requests, 2)
      deepStrictEqual(Array.from(payments.charges.values()), [{ order: "7" }])
    }).pipe(Effect.provide(backend))
  ))

test("a backend that starts again knows what was charged", () =>
  run(({ backend, payments }) =>
    Effect.gen(function*() {
      yield* Effect.provide(ask("ada"), backend)
      deepStrictEqual(yield* Effect.provide(ask("ada"), backend), ["already_done"])
      strictEqual(yield* payments.requests, 2)
    })
  ))

/** `Payments`, whose requests the service of the check answers: it plays the faults. */
const paymentsOver = (fetch: typeof globalThis.fetch) =>
  Layer.orDie(Payments.layer).pipe(
    Layer.provide(FetchHttpClient.layer),
    Layer.provide([
      Layer.succeed(FetchHttpClient.Fetch, fetch),
      ConfigProvider.layer(ConfigProvider.fromUnknown({ PAYMENTS_URL: "https://payments.example" }))
    ])
  )

const check = ActsOnce.check({
  tool: () => charge,
  layer: ({ fetch }) => paymentsOver(fetch),
  arguments: { order: "7" },
  answer: { receipt: "R-1", cents: 2490 },
  runs: 30 // sequences of faults
})

test("no lost answer, delay, stopped process or repeated call makes the tool charge twice", async () => {
  await Effect.runPromise(check)
})
