/** A real wire under a virtual clock: time passes only while the wire has nothing to do, so that no timing of the machine decides anything. */
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { macrotask } from "./virtualTime.ts"

/** What the wire does now: requests that are under way, and those that the service holds. */
export class Wire {
  readonly sent = new Set<string>()
  readonly held = new Set<string>()
  readonly open = new Set<string>()
  #count = 0

  /** Whether nothing moves before time passes: all that is under way is held, and whoever has gone, the service knows of it. */
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

/** Waits until the wire has nothing to do. Turns of the event loop are counted, and no time. */
const quiet = (wire: Wire) =>
  Effect.gen(function*() {
    for (let calm = 0; calm < 8;) {
      yield* macrotask
      calm = wire.isQuiet ? calm + 1 : 0
    }
  })

/** Lets time pass until all of them are done, and what they left behind comes to its end. */
export const passing = <A>(wire: Wire, fibers: ReadonlyArray<Fiber.Fiber<A>>) =>
  Effect.gen(function*() {
    while (fibers.some((fiber) => fiber.pollUnsafe() === undefined)) {
      yield* quiet(wire)
      yield* TestClock.adjust("300 millis")
    }
    for (let seconds = 0; seconds < 60; seconds += 10) {
      yield* TestClock.adjust("10 seconds")
      yield* quiet(wire)
    }
    return yield* Effect.forEach(fibers, Fiber.join)
  })

/** All connections are closed. */
export const closed = (wire: Wire) =>
  Effect.gen(function*() {
    while (wire.open.size > 0) yield* macrotask
  })
