/** Replies that are too deep, too long or too many. Each is read, or abandoned with a failure. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Model, Toolkit } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Stream } from "effect"
import { chat, line, own } from "../support/bodies.ts"
import { ollama, openAi, serving } from "../support/models.ts"
import { request } from "../support/question.ts"

describe("a hostile reply", { tags: "slow" }, () => {
  const agent = Agent.make({ toolkit: Toolkit.empty })
  const deep = `${"{\"a\":".repeat(50_000)}1${"}".repeat(50_000)}`
  const nested = `{"tool_calls":[{"id":"1","function":{"name":"dig","arguments":${deep}}}]}`

  const manyCalls = Array.from(
    { length: 20_000 },
    (_, id) => `{"id":"${id}","function":{"name":"go","arguments":{"n":${id}}}}`
  ).join()

  for (
    const [what, provider, body] of [
      ["Chat Completions", openAi, `{"choices":[{"message":${nested}}]}`],
      ["Ollama", ollama, `{"message":${nested},"done":true}`]
    ] as const
  ) {
    it.effect(`with arguments nested 50,000 deep is answered, and the run goes on (${what})`, () =>
      Effect.gen(function*() {
        const answer = yield* agent.run("Dig.")
        assert.strictEqual(answer.text, "Enough.")
        const { requests } = yield* (yield* FakeModelServer.FakeModelServer).state
        assert.deepStrictEqual(requests.map(({ problem }) => problem), [undefined, undefined])
      }).pipe(
        Effect.provide(serving(provider)([FakeModelServer.raw(body), ScriptedModel.text("Enough.")]))
      ))

    it.effect(`with 20,000 calls in it is read, and each is answered (${what})`, () =>
      Effect.gen(function*() {
        const answer = yield* agent.run("Go.")
        assert.strictEqual(answer.report.calls, 20_000)
      }).pipe(
        Effect.provide(
          serving(provider)(
            [
              FakeModelServer.raw(body.replace(nested, `{"tool_calls":[${manyCalls}]}`)),
              ScriptedModel.text("Enough.")
            ],
            { maxBytes: 100_000_000 }
          )
        )
      ))
  }

  it.effect("of thousands of keys and pieces takes linear time", () =>
    Effect.gen(function*() {
      const keys = Object.fromEntries(Array.from({ length: 50_000 }, (_, key) => [`key_${key}`, "x"]))
      const both = `${JSON.stringify({ message: { nested: keys }, done: false })}\n`.repeat(2) +
        line({ content: "Hi." })
      assert.strictEqual((yield* own.streamed(both)).text, "Hi.")
      const piece = `${JSON.stringify({ message: { content: [{ type: "text", text: "x" }] }, done: false })}\n`
      assert.strictEqual((yield* own.streamed(piece.repeat(50_000) + line({ content: "." }))).text.length, 50_001)
    }))

  it.effect("of fields nested 50,000 deep is read, and unserializable data is not sent back", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.empty })
      const field = `"deep":${"{\"a\":".repeat(50_000)}1${"}".repeat(50_000)}`
      const calls = "\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"dig\"}}]"
      const whole = FakeModelServer.raw(`{"message":{${calls},${field}},"done":true}`)
      const pieces = FakeModelServer.raw(
        `{"message":{${field}},"done":false}\n{"message":{${calls},${field}},"done":true}\n`
      )
      const play = (move: FakeModelServer.Move) =>
        Effect.provide(serving(ollama)([move, ScriptedModel.text("Enough.")]))
      assert.strictEqual((yield* agent.run("Dig.").pipe(play(whole))).text, "Enough.")
      const events = yield* Stream.runCollect(agent.stream("Dig.")).pipe(play(pieces))
      assert.strictEqual(events.at(-1)?._tag, "RunEnded")
    }))

  it.effect("of thousands of calls without ids is answered too", () =>
    Effect.gen(function*() {
      const calls = Array.from({ length: 10_000 }, () => "{\"function\":{\"name\":\"go\"}}").join()
      const answer = yield* Agent.make({ toolkit: Toolkit.empty }).run("Go.").pipe(
        Effect.provide(
          serving(ollama)(
            [FakeModelServer.raw(`{"message":{"tool_calls":[${calls}]},"done":true}`), ScriptedModel.text("Enough.")],
            { maxBytes: 100_000_000 }
          )
        )
      )
      assert.strictEqual(answer.report.calls, 10_000)
    }))

  it.effect("of excessive size is abandoned without a retry", () =>
    Effect.gen(function*() {
      const large = new Uint8Array(65 * 1024 * 1024).fill(32)
      const failure = yield* Effect.flip(Effect.flatMap(Model.Model, ({ respond }) => respond(request)))
        .pipe(Effect.provide(serving(openAi)([FakeModelServer.raw(large)])))
      assert.deepInclude({ ...failure }, { code: "malformed_reply", transient: false })
      assert.include(failure.detail, "more than 64 MiB")
    }))

  it.effect("of one endless line is abandoned, without keeping it in memory", () =>
    Effect.gen(function*() {
      const endless = "x".repeat(11 * 1024 * 1024)
      const event = yield* Effect.flip(chat.streamed(`data: ${endless}`))
      assert.deepInclude({ ...event }, { code: "malformed_reply", transient: false })
      const line = yield* Effect.flip(own.streamed(`${endless}\n`))
      assert.deepInclude({ ...line }, { code: "malformed_reply" })
      assert.isBelow(line.detail.length, 700)
    }))
})
