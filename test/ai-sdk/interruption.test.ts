/** An interrupted request is aborted: the server sees the client hang up, and nothing stays open. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { AiSdk } from "@fallible/ai-sdk"
import { Agent, Model, Toolkit } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { finish, languageModel, streamOf, textParts } from "../support/languageModels.ts"
import { bridges, serving } from "../support/models.ts"
import { parts, request, respond } from "../support/question.ts"

const rejections: Array<unknown> = []
const onRejection = (reason: unknown) => void rejections.push(reason)
beforeAll(() => void process.on("unhandledRejection", onRejection))
afterAll(() => {
  process.off("unhandledRejection", onRejection)
  assert.deepStrictEqual(rejections, [])
})

const reply = ScriptedModel.text("This reply is long enough to break off in its middle, wherever that is.")

const moments: ReadonlyArray<
  readonly [when: string, move: FakeModelServer.Move, begun: (state: FakeModelServer.State) => boolean]
> = [
  ["before the headers", Effect.never, ({ requests }) => requests.length === 1],
  ["at the start of the body", FakeModelServer.stall(reply, 1), ({ replies }) => replies === 1],
  ["in the middle of the body", FakeModelServer.stall(reply, 400), ({ replies }) => replies === 1],
  ["before the end of the body", FakeModelServer.stall(reply, -1), ({ replies }) => replies === 1]
]

for (const [name, provider] of bridges) {
  describe(`a request over ${name}`, () => {
    for (const [when, move, begun] of moments) {
      for (const [what, ask] of [["whole", Effect.asVoid(respond)], ["streamed", Effect.asVoid(parts)]] as const) {
        // A streamed reply that has ended is not waited for.
        if (what === "streamed" && when === "before the end of the body") continue
        it.live(`is aborted if it is interrupted ${when}, ${what}`, () =>
          Effect.gen(function*() {
            const server = yield* FakeModelServer.FakeModelServer
            const fiber = yield* Effect.forkChild(ask)
            yield* server.until(begun)
            yield* Fiber.interrupt(fiber)
            const state = yield* server.until(({ abandoned, connections, open }) =>
              abandoned === 1 && connections === 0 && open === 0
            )
            assert.strictEqual(state.requests.length, 1)
          }).pipe(Effect.provide(serving(provider)([move]))))
      }
    }

    it.effect("is aborted if its run has no time left, by run and by stream", () =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.FakeModelServer
        const agent = Agent.make({ toolkit: Toolkit.empty, limits: { elapsed: "10 seconds" } })
        const runs = [Effect.asVoid(agent.run("Hi")), Stream.runDrain(agent.stream("Hi"))]
        for (const [index, run] of runs.entries()) {
          const fiber = yield* Effect.forkChild(Effect.flip(run))
          yield* server.until(({ replies, requests }) => requests.length === index + 1 && replies === index)
          yield* TestClock.adjust("10 seconds")
          assert.strictEqual((yield* Fiber.join(fiber))._tag, "LimitReached")
          yield* server.until(({ abandoned, connections }) => abandoned === index + 1 && connections === 0)
        }
      }).pipe(Effect.provide(serving(provider)([Effect.never, FakeModelServer.stall(reply, 400)]))))

    it.live("leaves no connection in use when its reader has read enough", () =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.FakeModelServer
        const { stream } = yield* Model.Model
        yield* Stream.runDrain(Stream.take(stream(request), 1))
        yield* server.until(({ connections, open }) => open === 0 && connections === 0)
      }).pipe(Effect.provide(serving(provider)([FakeModelServer.stall(reply, -100)]))))
  })
}

describe("a model in this process", () => {
  it.live("has its reader cancelled between parts, and its signal aborted", () =>
    Effect.gen(function*() {
      const told: Array<string> = []
      const model = AiSdk.make(languageModel({
        doStream: async ({ abortSignal }: { readonly abortSignal: AbortSignal }) => {
          abortSignal.addEventListener("abort", () => told.push("aborted"))
          return streamOf([...textParts("Hel"), ...textParts("lo")], "stall", () => told.push("cancelled"))
        }
      }))
      yield* Stream.runDrain(Stream.take(model.stream(request), 1))
      assert.deepStrictEqual(told.toSorted(), ["aborted", "cancelled"])
    }))

  it.live("whose promises settle after the interruption does no harm", () =>
    Effect.gen(function*() {
      for (const settle of ["reject", "resolve"] as const) {
        const later = Promise.withResolvers<unknown>()
        const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
        const cancelled = Promise.withResolvers<void>()
        const asked = (which: 0 | 1) => () => {
          begun[which].resolve()
          return later.promise
        }
        const model = AiSdk.make(languageModel({ doGenerate: asked(0), doStream: asked(1) }))
        const asking = [Effect.asVoid(model.respond(request)), Stream.runDrain(model.stream(request))]
        const fibers = yield* Effect.forEach(asking, (ask) => Effect.forkChild(ask))
        yield* Effect.promise(() => Promise.all(begun.map(({ promise }) => promise)))
        yield* Effect.forEach(fibers, (fiber) => Fiber.interrupt(fiber))
        if (settle === "reject") {
          later.reject(new Error("late"))
          // A rejection that nobody handles is told before the next turn of the event loop.
          yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
        } else {
          later.resolve(streamOf([finish], "stall", cancelled.resolve))
          yield* Effect.promise(() => cancelled.promise)
        }
      }
    }))
})
