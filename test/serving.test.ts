/** A run behind HTTP, as `docs/serving.md` serves it: as the body of a `Response`, and over `node:http`. */
import { afterAll, assert, beforeAll, describe, it, vi } from "@effect/vitest"
import { Agent, Tool, Toolkit } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import { ScriptedModel } from "@fallible/testing"
import { getRequestListener } from "@hono/node-server"
import { Context, Deferred, Effect, Schema, Stream } from "effect"
import { createServer } from "node:http"

// The listener of Hono replaces them, and the files of a worker share its globals.
beforeAll(() => {
  vi.stubGlobal("Request", Request)
  vi.stubGlobal("Response", Response)
})
afterAll(() => {
  vi.unstubAllGlobals()
})

type Handler = (request: Request) => Promise<Response>

/** Makes a handler whose run hangs in a call of a tool, and tells when that call begins and when its signal is aborted. */
const hanging = Effect.gen(function*() {
  const begun = yield* Deferred.make<void>()
  const aborted = yield* Deferred.make<void>()
  const find = Tool.promise(
    "find_order",
    { description: "Finds an order", success: Schema.String, sideEffect: "none" },
    (_, { signal }) =>
      new Promise<never>((_, reject) => {
        Deferred.doneUnsafe(begun, Effect.void)
        signal.addEventListener("abort", () => {
          Deferred.doneUnsafe(aborted, Effect.void)
          reject(signal.reason)
        })
      })
  )
  const agent = Agent.make({ toolkit: Toolkit.make(find) })
  const model = ScriptedModel.layer([ScriptedModel.call("find_order")])
  const streaming: Handler = async () => {
    const events = agent.stream("What is it?").pipe(
      AgentEvent.forClients(),
      Stream.map(({ _tag }) => `data: ${_tag}\n\n`),
      Stream.encodeText,
      Stream.provide(model)
    )
    return new Response(Stream.toReadableStreamWith(events, Context.empty()))
  }
  const whole: Handler = ({ signal }) =>
    Effect.runPromise(
      agent.run("What is it?").pipe(Effect.map(({ text }) => new Response(text)), Effect.provide(model)),
      { signal }
    )
  return { streaming, whole, begun: Deferred.await(begun), aborted: Deferred.await(aborted) }
})

/** Serves on a free port, and returns the address. */
const served = (handler: Handler) =>
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer(getRequestListener(handler)).listen(0, "127.0.0.1", () =>
        resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.sync(() =>
        server.close()
      )
  ).pipe(Effect.map((server) => {
    const address = server.address()
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : address}`
  }))

describe("a run whose client leaves", () => {
  it.live("is interrupted when the body of its response is cancelled", () =>
    Effect.gen(function*() {
      const { aborted, begun, streaming } = yield* hanging
      const response = yield* Effect.promise(() => streaming(new Request("https://desk.example/")))
      const reader = response.body!.getReader()
      yield* Effect.promise(() => reader.read())
      yield* begun
      yield* Effect.promise(() => reader.cancel())
      yield* aborted
    }))

  it.live("is interrupted over node:http, while it streams", () =>
    Effect.gen(function*() {
      const { aborted, begun, streaming } = yield* hanging
      const url = yield* served(streaming)
      const client = new AbortController()
      const response = yield* Effect.promise(() => fetch(url, { method: "POST", body: "", signal: client.signal }))
      assert.strictEqual(response.status, 200)
      yield* begun
      client.abort()
      yield* aborted
    }))

  it.live("is interrupted over node:http, before its one answer", () =>
    Effect.gen(function*() {
      const { aborted, begun, whole } = yield* hanging
      const url = yield* served(whole)
      const client = new AbortController()
      const asked = fetch(url, { method: "POST", body: "", signal: client.signal }).catch(({ name }) => name)
      yield* begun
      client.abort()
      yield* aborted
      assert.strictEqual(yield* Effect.promise(() => asked), "AbortError")
    }))
})
