/**
 * Scenarios of stuck runs, polling, limits and big results at their ideal cost, over HTTP.
 *
 * The model is a function of its messages. It reads the text of tool results as a weak model does, and does not know
 * this library.
 */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Tool, Toolkit } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { openAi, serving } from "./support/models.ts"
import { heard } from "./support/plainTools.ts"
import { answered, costs, playing, ways } from "./support/ways.ts"

const reading = { description: "", parameters: Schema.Struct({}), success: Schema.Json, sideEffect: "none" } as const

/** Makes a tool that returns the next result each time. */
const source =
  <const Name extends string>(name: Name, result: (time: number) => Schema.Json) => (ran: Effect.Effect<void>) => {
    let time = 0
    return Tool.make(name, reading, () => Effect.andThen(ran, Effect.sync(() => result(++time))))
  }

const has = /already have this result/i

/** Repeats a call until it reads that it has the result. */
const repeating = (name: string): FakeModelServer.Script => (request, index) =>
  has.test(heard(request)) || index > 8 ? ScriptedModel.text(heard(request)) : ScriptedModel.call(name)

for (const way of ways) {
  const play = playing(way)

  describe(`loops over ${way.name}`, () => {
    it.effect("19 the model repeats a successful call: on the third, it reads that it has the result: 4/3", () =>
      Effect.gen(function*() {
        const played = yield* play({
          tools: (ran) => [source("get_price", () => ({ price: 42 }))(ran)],
          model: repeating("get_price")
        })
        assert.strictEqual(costs(played), "4/3")
        assert.include(answered(played), "42")
      }))

    it.effect("19 the results differ in a time stamp and a request id alone: 4/3", () =>
      Effect.gen(function*() {
        const played = yield* play({
          tools: (ran) => [
            source("get_price", (time) => ({
              price: 42,
              timestamp: `2026-11-22T10:00:0${time}Z`,
              request_id: `req-${time}8f0c`
            }))(ran)
          ],
          model: repeating("get_price")
        })
        assert.strictEqual(costs(played), "4/3")
      }))

    it.effect("19 a model that never listens: the run ends, and names the call: 12/9", () =>
      Effect.gen(function*() {
        const played = yield* play({
          tools: (ran) => [source("get_price", () => ({ price: 42 }))(ran)],
          model: () => ScriptedModel.call("get_price"),
          turns: 30
        })
        assert.strictEqual(costs(played), "12/9")
        const failure = yield* Effect.flip(played.exit)
        assert.strictEqual(
          failure.detail,
          "The model was stuck in a loop: it repeated get_price (12 times), and nothing changed. " +
            "Simplify the question, or give the agent better tools."
        )
        assert.deepStrictEqual(played.requests.at(-1)?.tools, [], "the tool is withdrawn")
      }))

    it.effect("19 the model goes back and forth between two tools: on the third round, it reads that this adds nothing: 6/5", () =>
      Effect.gen(function*() {
        const played = yield* play({
          tools: (
            ran
          ) => [source("get_price", () => ({ price: 42 }))(ran), source("get_stock", () => ({ stock: 7 }))(ran)],
          model: (request, index) =>
            has.test(heard(request)) || index > 9
              ? ScriptedModel.text(heard(request))
              : ScriptedModel.call(index % 2 === 0 ? "get_price" : "get_stock")
        })
        assert.strictEqual(costs(played), "6/5")
        assert.include(answered(played), "You are alternating between calls that add nothing new")
      }))

    it.effect("a poll of 30 steps whose result changes is never disturbed: 31/30", () =>
      Effect.gen(function*() {
        const played = yield* play({
          tools: (
            ran
          ) => [source("job_state", (time) => ({ state: time < 30 ? "running" : "done", progress: time }))(ran)],
          model: (request, index) =>
            heard(request).includes("done") || index > 40
              ? ScriptedModel.text(heard(request))
              : ScriptedModel.call("job_state"),
          turns: 100
        })
        assert.strictEqual(costs(played), "31/30")
        assert.strictEqual(answered(played), "{\"state\":\"done\",\"progress\":30}")
        assert.isFalse(played.requests.some((request) => has.test(heard(request))))
      }))

    it.effect("23 a 5 MB result whose total comes first: the request is under 1 MB, and the total is in it: 2/1", () =>
      Effect.gen(function*() {
        const rows = Array.from({ length: 50_000 }, (_, id) => ({ id, name: `customer ${id}`, notes: "x".repeat(70) }))
        const played = yield* play({
          tools: (ran) => [source("export", () => ({ total: 50_000, rows }))(ran)],
          model: (request, index) => {
            if (index === 0) return ScriptedModel.call("export")
            const total = /"total":(\d+)/.exec(heard(request))?.[1]
            return ScriptedModel.text(heard(request).length < 1_000_000 ? `There are ${total} rows.` : "Too much.")
          }
        })
        assert.strictEqual(costs(played), "2/1")
        assert.strictEqual(answered(played), "There are 50000 rows.")
        const { notes, value } = JSON.parse(heard(played.requests[1]))
        assert.deepStrictEqual(value.rows, rows.slice(0, value.rows.length))
        assert.include(notes[0], `it shows ${value.rows.length} of 50000 items of 'rows'`)
      }))
  })
}

describe("loops at their ideal cost", () => {
  it.effect("a poll of 30 steps without a change waits below the model, if the tool says that it is polled: 3/30", () =>
    Effect.gen(function*() {
      const looks: Array<string> = []
      const state = Tool.make(
        "job_state",
        { ...reading, poll: { every: "1 second", atMost: "5 minutes" } },
        () => Effect.sync(() => looks.push("look") < 30 ? "running" : "done")
      )
      const script: FakeModelServer.Script = (request) =>
        heard(request).includes("done") ? ScriptedModel.text("It is done.") : ScriptedModel.call("job_state")
      const { answer, server } = yield* Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Agent.make({ toolkit: Toolkit.make(state) }).run("Is it done?"))
        const server = yield* FakeModelServer.FakeModelServer
        yield* server.until(({ requests }) => requests.length === 2)
        // The second reply starts the polling.
        while (looks.length < 30) {
          yield* TestClock.adjust("1 second")
          yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        }
        return { answer: yield* Fiber.join(fiber), server: yield* server.state }
      }).pipe(Effect.provide(serving(openAi)(script)))
      assert.strictEqual(answer.text, "It is done.")
      assert.strictEqual(server.replies, 3)
      assert.strictEqual(looks.length, 30)
    }))

  it.effect("29 a cap of 4 model calls, concluded: an answer that says so: 4/3", () =>
    Effect.gen(function*() {
      let ran = 0
      const lookup = Tool.make(
        "look_up",
        { ...reading, parameters: Schema.Struct({ n: Schema.Int }) },
        ({ n }) => Effect.sync(() => ({ n, ran: ++ran }))
      )
      const script: FakeModelServer.Script = ({ tools }, index) =>
        tools.length === 0 ? ScriptedModel.text("I know three of them.") : ScriptedModel.call("look_up", { n: index })
      const { answer, server } = yield* Effect.gen(function*() {
        const agent = Agent.make({ toolkit: Toolkit.make(lookup), limits: { turns: 4 }, onLimit: "conclude" })
        const answer = yield* agent.run("Look them all up.")
        return { answer, server: yield* (yield* FakeModelServer.FakeModelServer).state }
      }).pipe(Effect.provide(serving(openAi)(script)))
      assert.strictEqual(answer.text, "I know three of them.")
      assert.deepStrictEqual([answer.stopReason, answer.concluded], ["concluded", "turns"])
      assert.deepStrictEqual([server.replies, ran], [4, 3])
      const last = server.requests.at(-1)?.asked?.messages.at(-1)
      assert.deepStrictEqual(last, {
        role: "user",
        text:
          "The agent used up its 4 turns without an answer. Do not call tools. Give the best answer from what you know, and say what is missing."
      })
      assert.strictEqual(answer.transcript.at(answer.transcript.length - 2)?.role, "tool")
    }))
})
