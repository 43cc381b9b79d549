/**
 * Real connections under a virtual clock. Time passes only while the network is idle, so the speed of the machine
 * decides nothing.
 */
import { Observer } from "@fallible/core"
import { Effect, Fiber, Logger, Random } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import type { Server, ServerResponse } from "node:http"
import { listening } from "./http.ts"
import { macrotask } from "./virtualTime.ts"

/** The state of the network: requests under way, and requests that the service holds. */
export class Wire {
  readonly sent = new Set<string>()
  readonly held = new Set<string>()
  readonly open = new Set<string>()
  #count = 0

  /**
   * Whether nothing happens until time passes: the service holds all open requests, and it has noticed each
   * client that hung up.
   */
  get isQuiet(): boolean {
    return Array.from(this.sent).every((id) => this.held.has(id)) &&
      Array.from(this.open).every((id) => this.held.has(id) && this.sent.has(id))
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const id = `${++this.#count}`
    const headers = new Headers(init?.headers)
    headers.set("x-request", id)
    this.sent.add(id)
    try {
      return await fetch(input, { ...init, headers })
    } finally {
      this.sent.delete(id)
    }
  }
}

/** Waits until the network is idle for eight turns of the event loop. No virtual time passes. */
const untilQuiet = (wire: Wire) =>
  Effect.gen(function*() {
    for (let calm = 0; calm < 8;) {
      yield* macrotask
      calm = wire.isQuiet ? calm + 1 : 0
    }
  })

/** Advances time until all fibers end, and one minute more for the attempts that they abandoned. */
const passTimeUntilDone = <A>(wire: Wire, fibers: ReadonlyArray<Fiber.Fiber<A>>) =>
  Effect.gen(function*() {
    while (fibers.some((fiber) => fiber.pollUnsafe() === undefined)) {
      yield* untilQuiet(wire)
      yield* TestClock.adjust("300 millis")
    }
    for (let seconds = 0; seconds < 60; seconds += 10) {
      yield* TestClock.adjust("10 seconds")
      yield* untilQuiet(wire)
    }
    return yield* Effect.forEach(fibers, Fiber.join)
  })

/** Waits until all connections are closed. */
const untilClosed = (wire: Wire) =>
  Effect.gen(function*() {
    while (wire.open.size > 0) yield* macrotask
  })

/** Plays all scenarios at once against a service, each at its own address, and waits until the service has closed. */
export const playedOver = <Scenario, A, E>(
  wire: Wire,
  server: Server,
  scenarios: ReadonlyArray<Scenario>,
  run: (scenario: Scenario, url: string) => Effect.Effect<A, E>
) =>
  Effect.gen(function*() {
    const played = yield* Effect.gen(function*() {
      const url = yield* listening(server)
      const fibers = yield* Effect.forEach(
        scenarios,
        (scenario, index) =>
          Effect.forkDetach(Effect.exit(run(scenario, `${url}/${index}`)), { startImmediately: true })
      )
      return yield* passTimeUntilDone(wire, fibers)
    }).pipe(Effect.scoped, Effect.provideService(FetchHttpClient.Fetch, wire.fetch))
    yield* untilClosed(wire)
    return played
  }).pipe(
    Random.withSeed(scenarios.length),
    Observer.observe({ onDefect: () => Effect.void }),
    Observer.observe({ onLateResult: () => Effect.void }),
    Effect.provide(Logger.layer([])),
    Effect.provide(TestClock.layer())
  )

export const answer = (response: ServerResponse, status: number, body: object, headers = {}) => {
  response.writeHead(status, { "content-type": "application/json", ...headers })
  response.end(JSON.stringify(body))
}
