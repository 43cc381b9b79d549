/** Servers that should stream, but send something else, send too slowly, or never end. */
import { assert, describe, it } from "@effect/vitest"
import { Model } from "@fallible/core"
import { OpenAi } from "@fallible/providers"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Clock, Deferred, Effect, Fiber, Queue, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import * as Http from "node:http"
import { listening } from "../support/http.ts"
import { ollama, openAi, serving } from "../support/models.ts"
import { parts, request } from "../support/question.ts"
import { macrotask, passingBy, untilIdle } from "../support/virtualTime.ts"

/** Starts a server that repeats a text until the client leaves. */
const repeating = (text: string) =>
  Effect.gen(function*() {
    const said = yield* Deferred.make<void>()
    const left = yield* Deferred.make<void>()
    const server = Http.createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      const say = () => {
        if (response.destroyed) return
        response.write(text)
        setImmediate(say)
      }
      say()
      response.once("close", () => Deferred.doneUnsafe(left, Effect.void))
      Deferred.doneUnsafe(said, Effect.void)
    })
    const url = yield* listening(server)
    return { said, left, url }
  })

/** Starts a server that sends the texts that the test dictates. */
const dictated = Effect.gen(function*() {
  const asked = yield* Deferred.make<(text: string) => void>()
  const server = Http.createServer((_, response) => {
    response.writeHead(200).flushHeaders()
    Deferred.doneUnsafe(asked, Effect.succeed((text) => response.write(text)))
  })
  return { say: Deferred.await(asked), url: yield* listening(server) }
})

describe("a requested stream", () => {
  it.effect("may be answered with a whole reply", () =>
    Effect.gen(function*() {
      const all = yield* parts
      assert.deepStrictEqual(all.map((part) => part._tag === "Replied" ? part.reply.text : part.text), [
        "Hello.",
        "Hello."
      ])
    }).pipe(Effect.provide(
      serving(openAi)([
        FakeModelServer.raw(" {\"choices\":[{\"message\":{\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}")
      ])
    )))

  it.effect("is abandoned if the server keeps the connection alive but sends nothing", () =>
    Effect.gen(function*() {
      const { said, url } = yield* repeating(": still at it\n\n")
      const layer = openAi(url, { timeout: "2 seconds" })
      const fiber = yield* Effect.flip(parts).pipe(
        Effect.provide(layer),
        Effect.provide(FetchHttpClient.layer),
        Effect.forkChild
      )
      yield* Deferred.await(said)
      assert.deepInclude({ ...yield* passingBy("1 second", fiber) }, { code: "timeout" })
    }).pipe(Effect.scoped))

  for (
    const [name, provider, piece] of [
      ["Chat Completions", openAi, (text: string) => `data: {"choices":[{"delta":{"content":"${text}"}}]}\n\n`],
      ["Ollama", ollama, (text: string) => `{"message":{"content":"${text}"},"done":false}\n`]
    ] as const
  ) {
    it.effect(`is abandoned if the server sends only empty pieces, over ${name}`, () =>
      Effect.gen(function*() {
        const { left, said, url } = yield* repeating(piece(""))
        const fiber = yield* Effect.flip(parts).pipe(
          Effect.provide(provider(url, { streamTimeout: "3 seconds" })),
          Effect.provide(FetchHttpClient.layer),
          Effect.forkChild
        )
        yield* Deferred.await(said)
        const failure = yield* passingBy("1 second", fiber)
        assert.deepInclude({ ...failure }, { code: "timeout", transient: false })
        assert.match(failure.detail, /did not finish its reply at \S+ within 3s\.$/)
        yield* Deferred.await(left)
      }).pipe(Effect.scoped))

    it.effect(`has a time limit for all its pieces together, over ${name}`, () =>
      Effect.gen(function*() {
        const { say, url } = yield* dictated
        const heard = yield* Queue.unbounded<Model.Part>()
        const fiber = yield* Effect.flatMap(
          Model.Model,
          ({ stream }) => Stream.runForEach(stream(request), (part) => Queue.offer(heard, part))
        ).pipe(
          Effect.flip,
          Effect.provide(provider(url, { timeout: "2 minutes", streamTimeout: "5 minutes" })),
          Effect.provide(FetchHttpClient.layer),
          Effect.forkChild
        )
        const tell = yield* say
        for (const minute of [0, 1, 2, 3, 4]) {
          tell(piece(String(minute)))
          assert.deepStrictEqual(yield* Queue.take(heard), { _tag: "TextDelta", text: String(minute) })
          yield* macrotask
          yield* TestClock.adjust(minute < 4 ? "1 minute" : "59999 millis")
        }
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        assert.deepInclude({ ...yield* Fiber.join(fiber) }, { code: "timeout", transient: false })
      }).pipe(Effect.scoped))
  }

  it("refuses a time limit of zero", () => {
    for (const none of [{ timeout: 0 }, { streamTimeout: "0 seconds" }] as const) {
      const exit = Effect.runSyncExit(
        OpenAi.make({ model: "any", ...none }).pipe(Effect.provide(FetchHttpClient.layer))
      )
      assert.match(String(exit), /TypeError: A timeout must be longer than zero/)
    }
  })

  for (
    const [what, endless, within] of [
      ["does not hang up", "", 1_000],
      ["goes on with comments", ": still here\n\n", 1_000],
      ["goes on with events", "data: {\"type\":\"ping\"}\n\n", 1_000],
      ["says that it is done, and goes on all the same", "data: [DONE]\n\n", 100]
    ] as const
  ) {
    it.effect(`does not wait, once complete, for a server that ${what}`, () =>
      Effect.gen(function*() {
        const said = yield* Deferred.make<void>()
        const url = yield* listening(Http.createServer((_, response) => {
          response.writeHead(200, { "content-type": "text/event-stream" })
          response.write("data: {\"choices\":[{\"delta\":{\"content\":\"Hi.\"},\"finish_reason\":\"stop\"}]}\n\n")
          Deferred.doneUnsafe(said, Effect.void)
          const goOn = () => {
            if (endless === "" || response.destroyed) return
            response.write(endless)
            setImmediate(goOn)
          }
          goOn()
        }))
        const fiber = yield* parts.pipe(
          Effect.provide(openAi(url, {})),
          Effect.provide(FetchHttpClient.layer),
          Effect.forkChild
        )
        yield* Deferred.await(said)
        // No time passes until the text has arrived.
        yield* untilIdle
        const before = yield* Clock.currentTimeMillis
        const ends = (yield* passingBy("20 millis", fiber)).filter(({ _tag }) => _tag === "Replied")
        assert.strictEqual(ends.length, 1)
        assert.isAtMost((yield* Clock.currentTimeMillis) - before, within + 500)
      }).pipe(Effect.scoped))
  }
})
