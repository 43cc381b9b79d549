/* What the page with `useChat` makes of a connection that is silent. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { afterEach, beforeEach, vi } from "vitest"
import * as server from "../../examples/04-http-backend/chat/server.ts"
import { serving } from "../support/http.ts"

/**
 * A server that takes requests, and says nothing.
 *
 * @param type the media type of an answer that has a beginning
 */
const mute = (type?: string) =>
  Effect.gen(function*() {
    const taken = Promise.withResolvers<void>()
    const url = yield* serving((_, response) => {
      taken.resolve()
      if (type !== undefined) response.writeHead(200, { "content-type": type }).write("[")
    })
    return { url, taken: taken.promise }
  })

/** Lets the time of the page pass. */
const passing = (millis: number) => Effect.promise(() => vi.advanceTimersByTimeAsync(millis))

const endOf = (answer: Promise<unknown>) => {
  let end: unknown
  void answer.then((value) => end = value, (error: unknown) => end = error)
  return () => end
}

const isLost = (end: unknown) => end instanceof Error && server.isLost(end)

/** Lets 40 seconds pass, and expects that only then the connection counts as lost. */
const losing = (end: () => unknown) =>
  Effect.gen(function*() {
    yield* passing(39_999)
    assert.isUndefined(end())
    yield* passing(1)
    assert.isTrue(isLost(end()))
  })

describe("the page with useChat", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }))
  afterEach(() => void vi.useRealTimers())

  it.live("counts a connection as lost if no answer comes for 40 seconds", () =>
    Effect.gen(function*() {
      const { taken, url } = yield* mute()
      const end = endOf(server.fetching(url))
      yield* Effect.promise(() => taken)
      yield* losing(end)
    }))

  for (const type of ["text/event-stream", "application/json"]) {
    it.live(`counts an answer as lost if the rest does not come for 40 seconds (${type})`, () =>
      Effect.gen(function*() {
        const { url } = yield* mute(type)
        const response = yield* Effect.promise(() => server.fetching(url))
        const reader = response.body!.getReader()
        yield* Effect.promise(() => reader.read())
        yield* losing(endOf(reader.read()))
      }))
  }

  it.live("leaves a request that its caller aborts", () =>
    Effect.gen(function*() {
      const { taken, url } = yield* mute()
      const caller = new AbortController()
      const end = endOf(server.fetching(url, { signal: caller.signal }))
      yield* Effect.promise(() => taken)
      caller.abort()
      yield* passing(0)
      assert.isFalse(isLost(end()))
      assert.instanceOf(end(), DOMException)
    }))
})
