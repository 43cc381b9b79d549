/** A run as the message of an assistant, read by the AI SDK's own reader. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Tool, Toolkit } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema } from "effect"
import { chunksOf, demandWhole, messageOf, textsOf, toolsOf } from "../support/uiMessages.ts"

const weather = Tool.make("get_weather", {
  description: "The weather of a city",
  parameters: Schema.Struct({ city: Schema.String }),
  success: Schema.String,
  sideEffect: "none"
}, ({ city }) => Effect.succeed(`Mild in ${city}.`))

describe("a run", () => {
  it.effect("is a message with a step for each turn", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(weather) })
      const chunks = yield* chunksOf(agent.stream("?", { id: "r" }))
      const { errors, message } = yield* Effect.promise(() => messageOf(chunks))
      yield* Effect.promise(() => demandWhole(message))
      assert.deepStrictEqual(errors, [])
      assert.strictEqual(message.id, "r")
      assert.deepStrictEqual(textsOf(message), ["It is mild."])
      assert.deepStrictEqual(toolsOf(message).map(({ input, state, type }) => [type, state, input]), [
        ["tool-get_weather", "output-available", {}]
      ])
    }).pipe(
      Effect.provide(
        ScriptedModel.layer([ScriptedModel.call("get_weather", { city: "Oslo" }), ScriptedModel.text("It is mild.")])
      )
    ))
})
