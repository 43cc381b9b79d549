/** The replies of a scripted model. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Tool, Toolkit } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema } from "effect"

describe("ScriptedModel.calls", () => {
  it("takes the calls one by one, or as one list", () => {
    const cities = ["Paris", "Rome"]
    const each = ScriptedModel.calls(["get_weather", { city: "Paris" }], ["get_weather", { city: "Rome" }])
    assert.deepStrictEqual(ScriptedModel.calls(cities.map((city) => ["get_weather", { city }])), each)
    assert.deepStrictEqual(ScriptedModel.calls([["ping"]]), ScriptedModel.calls(["ping"]))
    assert.deepStrictEqual(ScriptedModel.calls([]), ScriptedModel.calls())
    assert.deepStrictEqual(ScriptedModel.calls([]), ScriptedModel.text(""))
  })

  it("makes a reply to which a text can be added", () => {
    const ping = Tool.make("ping", { description: "Answers", success: Schema.String }, () => Effect.succeed("pong"))
    const program = Effect.gen(function*() {
      yield* Agent.make({ toolkit: Toolkit.make(ping) }).run("Ping!")
      const requests = yield* (yield* ScriptedModel.ScriptedModel).requests
      const message = requests[1]?.messages.find((message) => message.role === "assistant")
      return [message?.text, message?.calls.length]
    })
    const spoken = { ...ScriptedModel.calls(["ping"]), text: "One moment." }
    const script = [spoken, ScriptedModel.text("Done.")]
    assert.deepStrictEqual(Effect.runSync(Effect.provide(program, ScriptedModel.layer(script))), ["One moment.", 1])
  })
})
