/** The message of a run as a response, and what is left of one that was cut off. */
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@fallible/ai-sdk"
import { Agent, Tool, Toolkit } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { UI_MESSAGE_STREAM_HEADERS } from "ai"
import { Deferred, Effect, Fiber, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { chunksIn, demandAccepted, messageOf } from "../support/uiMessages.ts"
import { play, scenarios } from "../support/uiScenarios.ts"

const agent = Agent.make({ toolkit: Toolkit.empty })
const hello = Effect.provide(ScriptedModel.layer([ScriptedModel.text("Hello!")]))

describe("a response", () => {
  it.effect("has the headers of the AI SDK, and those that are given", () =>
    Effect.gen(function*() {
      const plain = yield* AiSdk.response(agent.stream("Hi"))
      assert.strictEqual(plain.status, 200)
      assert.deepStrictEqual(Object.fromEntries(plain.headers), { ...UI_MESSAGE_STREAM_HEADERS })
      const own = yield* AiSdk.response(agent.stream("Hi"), { headers: { "Cache-Control": "no-store", "x-chat": "1" } })
      assert.strictEqual(own.headers.get("cache-control"), "no-store")
      assert.strictEqual(own.headers.get("x-chat"), "1")
      assert.strictEqual(own.headers.get("x-vercel-ai-ui-message-stream"), "v1")
    }).pipe(hello))

  it.effect("is read by the AI SDK to its end", () =>
    Effect.gen(function*() {
      const response = yield* agent.stream("Hi", { id: "r" }).pipe(AiSdk.response({ messageId: "m" }))
      const body = yield* Effect.promise(() => response.text())
      assert.match(body, /^data: \{"type":"start","messageId":"m"\}\n\n/)
      assert.match(body, /"type":"finish","finishReason":"stop"\}\n\ndata: \[DONE\]\n\n$/)
    }).pipe(hello))

  it.effect("has a comment every 15 seconds, while a tool takes long", () =>
    Effect.gen(function*() {
      const slow = Tool.make("slow", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        Effect.delay(Effect.succeed("late"), "40 seconds"))
      const run = Agent.make({ toolkit: Toolkit.make(slow) }).stream("?")
      const response = yield* AiSdk.response(run)
      const reading = yield* Effect.forkChild(Effect.promise(() =>
        response.text()
      ))
      while (reading.pollUnsafe() === undefined) {
        yield* TestClock.adjust("1 second")
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      }
      const body = yield* Fiber.join(reading)
      assert.strictEqual(body.split(": keep-alive\n\n").length - 1, 2)
      const { message } = yield* Effect.promise(async () => messageOf(await chunksIn(new TextEncoder().encode(body))))
      assert.strictEqual(message.parts.at(-1)?.type, "text")
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("slow"), ScriptedModel.text("Late.")]))))

  it.effect("interrupts its run, if its body is cancelled", () =>
    Effect.gen(function*() {
      const [begun, ended] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const endless = Tool.make("endless", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        Deferred.succeed(begun, undefined).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() =>
            Deferred.succeed(ended, undefined)
          )
        ))
      const response = yield* AiSdk.response(Agent.make({ toolkit: Toolkit.make(endless) }).stream("?"))
      const reader = response.body!.getReader()
      yield* Effect.promise(() =>
        reader.read()
      )
      yield* Deferred.await(begun)
      yield* Effect.promise(() => reader.cancel())
      yield* Deferred.await(ended)
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("endless")]))))
})

describe("a response that is cut off", () => {
  for (const scenario of scenarios) {
    it.effect(`leaves a message that the AI SDK takes back: ${scenario.name}`, () =>
      Effect.gen(function*() {
        for (const { before, chunks } of yield* play(scenario)) {
          const end = before.at(-1)
          const continued = end?.role === "assistant" ? end : undefined
          // A cut inside a chunk leaves the chunks before it, as the next test shows.
          for (let count = 1; count < chunks.length; count++) {
            yield* Effect.promise(async () => {
              const { message } = await messageOf(chunks.slice(0, count), continued)
              await demandAccepted(message)
            })
          }
        }
      }))
  }

  it.effect("has the whole chunks before the cut, whichever byte is the last one", () =>
    Effect.gen(function*() {
      const { agent } = scenarios.find(({ name }) => name === "an approval") ?? assert.fail()
      const model = ScriptedModel.layer([ScriptedModel.call("pay", { city: "Ōsaka 🎉" })])
      const response = yield* AiSdk.response(Stream.provide(agent.stream("?", { id: "r" }), model))
      const body = new Uint8Array(yield* Effect.promise(() => response.arrayBuffer()))
      const chunks = yield* Effect.promise(() => chunksIn(body))
      for (let end = 0; end <= body.length; end++) {
        const left = yield* Effect.promise(() => chunksIn(body.subarray(0, end)))
        const whole = new TextDecoder().decode(body.subarray(0, end)).split("\n\n").length - 1
        assert.deepStrictEqual(left, chunks.slice(0, whole))
      }
    }))
})
