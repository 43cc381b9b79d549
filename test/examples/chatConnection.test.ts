/* What the page with `useChat` makes of a connection that is silent. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import { afterEach, beforeEach, vi } from "vitest"
import * as server from "../../examples/04-http-backend/chat/server.ts"

/** A server that takes requests, and says nothing, or only the beginning of a stream. */
const mute = (beginning?: string) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly taken: Promise<void>; readonly close: () => void }>((resume) => {
      let take = () => {}
      const taken = new Promise<void>((resolve) => take = resolve)
      const listening = createServer((_, response) => {
        take()
        if (beginning === undefined) return
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.write(beginning)
      })
      listening.listen(0, "127.0.0.1", () => {
        const address = listening.address()
        const port = typeof address === "object" ? address?.port : undefined
        const close = () => {
          listening.closeAllConnections()
          listening.close()
        }
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, taken, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

/** Lets the time of the page pass. */
const passing = (millis: number) => Effect.promise(() => vi.advanceTimersByTimeAsync(millis))

const endOf = (answer: Promise<unknown>) => {
  let end: unknown
  void answer.then((value) => end = value, (error: unknown) => end = error)
  return () => end
}

const isLost = (end: unknown) => end instanceof Error && server.isLost(end)

describe("the page with useChat", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }))
  afterEach(() => void vi.useRealTimers())

  it.live("counts a connection as lost on which no answer comes for 40 seconds", () =>
    Effect.gen(function*() {
      const { taken, url } = yield* mute()
      const end = endOf(server.fetching(url))
      yield* Effect.promise(() => taken)
      yield* passing(39_999)
      assert.isUndefined(end())
      yield* passing(1)
      assert.isTrue(isLost(end()))
    }))

  it.live("counts a stream as lost in which nothing comes for 40 seconds", () =>
    Effect.gen(function*() {
      const { url } = yield* mute("data: 1\n\n")
      const response = yield* Effect.promise(() => server.fetching(url))
      const reader = response.body!.getReader()
      yield* Effect.promise(() => reader.read())
      const end = endOf(reader.read())
      yield* passing(39_999)
      assert.isUndefined(end())
      yield* passing(1)
      assert.isTrue(isLost(end()))
    }))

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
