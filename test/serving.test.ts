/**
 * A run behind HTTP, as `docs/serving.md` serves it: as the body of a `Response`, and by its listener for `node:http`.
 */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Tool, Toolkit } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import { ScriptedModel } from "@fallible/testing"
import { Context, Deferred, Effect, Schema, Stream } from "effect"
import { createServer, type RequestListener } from "node:http"
import { importShown } from "./support/snippets.ts"

type Handler = (request: Request) => Promise<Response>

// The guide gives the function this type.
const listener = (await importShown("docs/serving.md", "listener")) as (handler: Handler) => RequestListener

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
  const model = ScriptedModel.layer([ScriptedModel.call("find_order")])
  const handler: Handler = async () => {
    const events = Agent.make({ toolkit: Toolkit.make(find) }).stream("What is it?").pipe(
      AgentEvent.forClients(),
      Stream.map(({ _tag }) => `data: ${_tag}\n\n`),
      Stream.encodeText,
      Stream.provide(model)
    )
    return new Response(Stream.toReadableStreamWith(events, Context.empty()))
  }
  return { handler, begun: Deferred.await(begun), aborted: Deferred.await(aborted) }
})

/** Serves on a free port, and returns the address. */
const served = (handler: Handler) =>
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer(listener(handler)).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  ).pipe(Effect.map((server) => {
    const address = server.address()
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : address}`
  }))

describe("a run whose client leaves", () => {
  it.live("is interrupted when the body of its response is cancelled", () =>
    Effect.gen(function*() {
      const { aborted, begun, handler } = yield* hanging
      const response = yield* Effect.promise(() => handler(new Request("https://desk.example/")))
      const reader = response.body!.getReader()
      yield* Effect.promise(() => reader.read())
      yield* begun
      yield* Effect.promise(() => reader.cancel())
      yield* aborted
    }))

  it.live("is interrupted over node:http, by the listener of the guide", () =>
    Effect.gen(function*() {
      const { aborted, begun, handler } = yield* hanging
      const url = yield* served(handler)
      const client = new AbortController()
      const response = yield* Effect.promise(() => fetch(url, { method: "POST", body: "", signal: client.signal }))
      assert.strictEqual(response.status, 200)
      yield* begun
      client.abort()
      yield* aborted
    }))
})

it.live("the listener of the guide sends the body, the status and the headers", () =>
  Effect.gen(function*() {
    const url = yield* served(async (request) =>
      new Response(`got ${await request.text()}`, { status: 400, headers: { "x-desk": "7" } })
    )
    const response = yield* Effect.promise(() => fetch(url, { method: "POST", body: "größe" }))
    assert.deepStrictEqual(
      [response.status, response.headers.get("x-desk"), yield* Effect.promise(() => response.text())],
      [400, "7", "got größe"]
    )
  }))
