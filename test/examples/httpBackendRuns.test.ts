/** Clients of the HTTP backend that leave or read slowly, its limits, and the end of the server. */
import { assert, describe, it } from "@effect/vitest"
import { Model } from "@fallible/core"
import * as Planner from "@fallible/examples/04-http-backend/Planner"
import * as Runs from "@fallible/examples/04-http-backend/Runs"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Deferred, Duration, Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import * as diagnostics from "node:diagnostics_channel"
import { get, type IncomingMessage, request } from "node:http"
import { connect, type Socket } from "node:net"
import { events, fetched, noneUnderWay, post, serving, until } from "../support/backend.ts"
import { openAi } from "../support/models.ts"
import { macrotask } from "../support/virtualTime.ts"

const silent = Layer.succeed(Model.Model, { respond: () => Effect.never, stream: () => Stream.never })

const underWay = (served: Effect.Success<ReturnType<typeof serving>>, count: number) =>
  until(Effect.map(served.runs.report, ({ underWay }) => underWay === count))

/** The connection of the next request, and for how long its server lets it be idle, in milliseconds. */
const connectionOfNextRequest = Effect.gen(function*() {
  const connection = yield* Deferred.make<{ readonly socket: Socket; readonly idle: number }>()
  const channel = "http.server.request.start"
  const onRequest = (message: unknown) => {
    const socket = socketOf(message)
    Deferred.doneUnsafe(connection, Effect.succeed({ socket, idle: socket.timeout ?? 0 }))
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => diagnostics.subscribe(channel, onRequest)),
    () => Effect.sync(() => void diagnostics.unsubscribe(channel, onRequest))
  )
  return Deferred.await(connection)
})

/** The messages of this channel of Node have no type. */
const socketOf = (message: unknown) => (message as { readonly socket: Socket }).socket

/** The two ways to ask. Each ends when its answer is complete. */
const ways = [
  ["a stream", (url: string, question: string) => Stream.runDrain(events(`${url}/ask`, { question }))],
  ["one object", (url: string, question: string) => Effect.asVoid(post(`${url}/ask`, { question }))]
] as const

// In these tests no time passes, so that only an interruption can end a request.
describe("a client that leaves", () => {
  for (const [what, ask] of ways) {
    it.effect(`closes the request to the model: ${what}`, () =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.make(() => Effect.never)
        const model = openAi(server.url, {}).pipe(Layer.provide(FetchHttpClient.layer))
        const served = yield* serving({ model })
        const client = yield* Effect.forkChild(ask(served.url, "Hello?"))
        yield* server.until(({ open }) => open === 1)
        yield* Fiber.interrupt(client)
        yield* server.until(({ abandoned, open }) => abandoned === 1 && open === 0)
        yield* noneUnderWay(served)
      }))

    it.effect(`closes the requests of its tools: ${what}`, () =>
      Effect.gen(function*() {
        const served = yield* serving({ upstream: "stuck" })
        const client = yield* Effect.forkChild(ask(served.url, "What are o-1001 and o-1002?"))
        yield* until(Effect.map(served.shop.open, (open) => open === 2))
        yield* Fiber.interrupt(client)
        yield* until(Effect.map(served.shop.open, (open) => open === 0))
        yield* noneUnderWay(served)
      }))
  }
})

/** Asks as a client with a real connection that it never reads from. Returns the id of its conversation. */
const unread = (url: string, question: string) =>
  Effect.acquireRelease(
    Effect.callback<IncomingMessage>((resume) => {
      const headers = { "content-type": "application/json", accept: "text/event-stream" }
      const sent = request(`${url}/ask`, { method: "POST", headers, agent: false }, (response) => {
        // A response that nobody listens to is paused.
        response.on("error", () => {})
        resume(Effect.succeed(response))
      })
      sent.on("error", () => {}).end(JSON.stringify({ question }))
    }),
    (response) => Effect.sync(() => response.destroy())
  ).pipe(Effect.map(({ headers }) => String(headers["conversation-id"])))

describe("a client that reads slowly", () => {
  const piece = "word ".repeat(20_000)
  const pieces = 200
  /** 20 MB, which is more than the network holds. */
  const words = Stream.fromIterable(
    Array.from({ length: pieces }, () => ({ _tag: "TextDelta" as const, text: piece }))
  )
  const enough = pieces * piece.length * 2

  /** Writes all the words first, and then replies when it may. Later it only replies. */
  const wordy = (mayReply: Effect.Effect<void> = Effect.void) => {
    let isFirst = true
    return Layer.succeed(Model.Model, {
      respond: ({ transcript }) => Effect.sync(() => Planner.reply({ messages: Array.from(transcript) })),
      stream: ({ transcript }) =>
        Stream.suspend(() => {
          const reply = Planner.reply({ messages: Array.from(transcript) })
          const replied = Stream.succeed({ _tag: "Replied" as const, reply })
          if (!isFirst) return replied
          isFirst = false
          return Stream.concat(words, Stream.unwrap(Effect.as(mayReply, replied)))
        })
    })
  }

  it.live("gets its whole answer, and holds up nobody else", () =>
    Effect.gen(function*() {
      const served = yield* serving({ model: wordy(), max: 1, unread: enough })
      const begun = yield* Deferred.make<void>()
      const goOn = yield* Deferred.make<void>()
      const slow = yield* events(`${served.url}/ask`, { question: "What is o-1001?" }).pipe(
        // Reads the first event, and then waits before it reads on.
        Stream.tap(() => Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(goOn))),
        Stream.runFold(() => ({ length: 0, last: "" }), ({ length }, event) => ({
          length: length + (event._tag === "TextDelta" ? event.text.length : 0),
          last: event._tag
        })),
        Effect.forkChild
      )
      yield* Deferred.await(begun)
      yield* noneUnderWay(served)
      assert.strictEqual((yield* post(`${served.url}/ask`, { question: "What is o-1002?" })).status, 200)
      yield* Deferred.succeed(goOn, undefined)
      const { last, length } = yield* Fiber.join(slow)
      assert.strictEqual(last, "RunEnded")
      assert.isAtLeast(length, piece.length * pieces)
    }))

  it.effect("keeps neither its place nor its conversation, once its run has ended", () =>
    Effect.gen(function*() {
      const served = yield* serving({ model: wordy(), max: 1, unread: enough })
      const connection = yield* connectionOfNextRequest
      const conversation = yield* unread(served.url, "Refund o-1003.")
      yield* noneUnderWay(served)
      const { body, status } = yield* post(`${served.url}/ask`, { question: "Refund it again.", conversation })
      assert.strictEqual(status, 200)
      assert.include(body.text, "already")
      assert.deepStrictEqual(yield* served.shop.refundsAsked, ["o-1003"])
      assert.isFalse((yield* connection).socket.destroyed)
    }))

  it.effect("is cut off if it reads nothing for too long; its run finishes, and its conversation knows", () =>
    Effect.gen(function*() {
      const go = yield* Deferred.make<void>()
      const served = yield* serving({ model: wordy(Deferred.await(go)), patience: "1 minute", unread: enough })
      const connection = yield* connectionOfNextRequest
      const conversation = yield* unread(served.url, "Refund o-1003.")
      const { socket } = yield* connection
      yield* until(Effect.sync(() => socket.writableNeedDrain))
      yield* TestClock.adjust("59999 millis")
      yield* macrotask
      assert.isFalse(socket.destroyed)
      // What was sent last may have been sent only now.
      while (!socket.destroyed) {
        yield* TestClock.adjust("1 millis")
        yield* macrotask
      }
      assert.deepInclude(yield* served.runs.report, { underWay: 1 })
      yield* Deferred.succeed(go, undefined)
      yield* noneUnderWay(served)
      assert.deepStrictEqual(yield* served.shop.refundsAsked, ["o-1003"])
      const { body } = yield* post(`${served.url}/ask`, { question: "Refund it again.", conversation })
      assert.include(body.text, "already")
      assert.strictEqual(yield* served.shop.refundsMade, 1)
    }))

  it.effect("is cut off at once if too much waits for it", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const served = yield* serving({ model: wordy(Effect.never), unread: 1000, log: (line) => log.push(line) })
      const connection = yield* connectionOfNextRequest
      yield* unread(served.url, "Hello?")
      const { socket } = yield* connection
      yield* until(Effect.sync(() => socket.destroyed))
      assert.match(log.join("\n"), /level=INFO .*A reader was cut off: more than 1000 bytes wait for it\./)
      // No words are left to write, and the model waits. So the limits of the run end it.
      yield* TestClock.adjust(Runs.longest)
      yield* noneUnderWay(served)
    }))

  it.effect("is told nothing more when it was cut off, also by a server that stops", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const served = yield* Scope.provide(serving({ model: wordy(Effect.never), unread: 1000 }), scope)
      const connection = yield* connectionOfNextRequest
      yield* unread(served.url, "Hello?")
      const { socket } = yield* connection
      yield* until(Effect.sync(() => socket.destroyed))
      assert.deepInclude(yield* served.runs.report, { underWay: 1 })
      yield* Scope.close(scope, Exit.void)
      assert.deepInclude(yield* served.runs.report, { underWay: 0 })
    }))
})

describe("a stream in which nothing happens", () => {
  it.effect("has a comment every 15 seconds", () =>
    Effect.gen(function*() {
      const served = yield* serving({ model: silent })
      let text = ""
      const client = yield* Effect.forkChild(Effect.promise(async (signal) => {
        const response = await fetch(`${served.url}/ask`, {
          method: "POST",
          headers: { "content-type": "application/json", accept: "text/event-stream" },
          body: "{\"question\":\"Hello?\"}",
          signal
        })
        for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk
      }))
      const first = /^id: 1\ndata: .*"TurnStarted".*\n\n$/
      yield* until(Effect.sync(() => first.test(text)))
      yield* TestClock.adjust("15 seconds")
      yield* until(Effect.sync(() => text.endsWith("\n\n: still here\n\n")))
      yield* TestClock.adjust("15 seconds")
      yield* until(Effect.sync(() => text.endsWith("\n\n: still here\n\n: still here\n\n")))
      yield* Fiber.interrupt(client)
      yield* noneUnderWay(served)
    }))
})

describe("a run that takes as long as it may", () => {
  it.effect("still answers with one object: its connection may be idle for longer", () =>
    Effect.gen(function*() {
      const served = yield* serving({ model: silent })
      const connection = yield* connectionOfNextRequest
      const client = yield* Effect.forkChild(post(`${served.url}/ask`, { question: "Hello?" }))
      yield* underWay(served, 1)
      yield* TestClock.adjust(Duration.subtract(Runs.longest, Duration.millis(1)))
      yield* underWay(served, 1)
      yield* TestClock.adjust("1 millis")
      const { body, status } = yield* Fiber.join(client)
      assert.deepStrictEqual([status, body.code], [422, "limit_reached"])
      // Node closes connections in real time, so the test only reads when it would.
      assert.isAtLeast((yield* connection).idle, Duration.toMillis(Runs.longest) + 10_000)
    }))
})

describe("more runs than there are places", () => {
  it.live("are refused at once, and told when to come back", () =>
    Effect.gen(function*() {
      const served = yield* serving({ model: silent, max: 1 })
      const first = yield* Effect.forkChild(post(`${served.url}/ask`, { question: "Hello?" }))
      yield* underWay(served, 1)
      const { body, headers, status } = yield* post(`${served.url}/ask`, { question: "Hello?" })
      assert.deepStrictEqual([status, body.code, headers.get("retry-after")], [503, "busy", "2"])
      // A place is free again when its client has left.
      yield* Fiber.interrupt(first)
      yield* noneUnderWay(served)
      const second = yield* Effect.forkChild(post(`${served.url}/ask`, { question: "Hello?" }))
      yield* underWay(served, 1)
      yield* Fiber.interrupt(second)
      yield* noneUnderWay(served)
    }))
})

describe("a server that stops", () => {
  /** Starts a server, and returns it with its end. */
  const stopping = (options: Parameters<typeof serving>[0]) =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const served = yield* Scope.provide(serving(options), scope)
      return { ...served, stop: Effect.forkChild(Scope.close(scope, Exit.void)) }
    })

  it.effect("does not wait for a client that never sends a request", () =>
    Effect.gen(function*() {
      const served = yield* stopping({})
      const silent = connect(Number(new URL(served.url).port), "127.0.0.1")
      const closed = yield* Deferred.make<void>()
      silent.on("close", () => Deferred.doneUnsafe(closed, Effect.void))
      // The server has accepted the connection before it answers the next one.
      yield* fetched(`${served.url}/health`)
      const stop = yield* served.stop
      yield* until(Effect.map(served.runs.report, ({ draining }) => draining))
      while (stop.pollUnsafe() === undefined) {
        yield* TestClock.adjust("1 second")
        yield* macrotask
      }
      yield* Deferred.await(closed)
    }))

  it.effect("takes no more runs, lets those under way finish, and then ends", () =>
    Effect.gen(function*() {
      const go = yield* Deferred.make<void>()
      const model = Model.layer({ respond: () => Effect.as(Deferred.await(go), { text: "At last.", calls: [] }) })
      const served = yield* stopping({ model, grace: "10 seconds" })
      const run = yield* Effect.forkChild(post(`${served.url}/ask`, { question: "Hello?" }))
      yield* underWay(served, 1)
      const stop = yield* served.stop
      yield* until(Effect.map(served.runs.report, ({ draining }) => draining))
      const { body, headers, status } = yield* post(`${served.url}/ask`, { question: "Hello?" })
      assert.deepStrictEqual([status, body.code, headers.get("retry-after")], [503, "draining", "10"])
      assert.strictEqual((yield* fetched(`${served.url}/ready`)).status, 503)
      assert.strictEqual((yield* fetched(`${served.url}/health`)).status, 200)
      yield* Deferred.succeed(go, undefined)
      assert.deepStrictEqual((yield* Fiber.join(run)).body, { text: "At last." })
      yield* Fiber.join(stop)
      const isOpen = yield* Effect.callback<boolean>((resume) => {
        get(`${served.url}/health`, () => resume(Effect.succeed(true))).on("error", () => resume(Effect.succeed(false)))
      })
      assert.isFalse(isOpen)
    }))

  it.effect("interrupts the runs that are still under way when the time is up, and tells their clients", () =>
    Effect.gen(function*() {
      const served = yield* stopping({ model: silent, grace: "10 seconds" })
      const stream = yield* Effect.forkChild(Stream.runCollect(events(`${served.url}/ask`, { question: "Hello?" })))
      const whole = yield* Effect.forkChild(post(`${served.url}/ask`, { question: "Hello?" }))
      yield* underWay(served, 2)
      const stop = yield* served.stop
      yield* until(Effect.map(served.runs.report, ({ draining }) => draining))
      yield* TestClock.adjust("9999 millis")
      assert.deepInclude(yield* served.runs.report, { underWay: 2 })
      yield* TestClock.adjust("1 millis")
      assert.deepInclude((yield* Fiber.join(stream)).at(-1), { _tag: "ServerStopping" })
      assert.deepInclude((yield* Fiber.join(whole)).body, { code: "draining" })
      yield* Fiber.join(stop)
    }))
})
