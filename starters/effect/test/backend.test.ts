/** A real HTTP request to the backend, which has a played model and a payment service that loses its first answer. */
import { NodeServices } from "@effect/platform-node"
import { Effect, Stream } from "effect"
import { HttpApiClient } from "effect/http-api"
import { deepStrictEqual, strictEqual } from "node:assert"
import { test } from "node:test"
import * as World from "../play/World.ts"
import { Api } from "../src/Api.ts"

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
