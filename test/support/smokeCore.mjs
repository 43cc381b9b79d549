/* Runs an agent with a scripted model, on the packages that a project has installed: `node smokeCore.mjs`. */
import { Agent, Policy, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as HttpFailure from "@fallible/core/HttpFailure"
import * as SameTool from "@fallible/core/Tool"
import { Ollama, OpenAi } from "@fallible/providers"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema } from "effect"
import { deepStrictEqual, ok } from "node:assert"

let attempts = 0
const weather = Tool.make("get_weather", {
  description: "The weather",
  parameters: Schema.Struct({ city: Schema.String }),
  success: Schema.String,
  sideEffect: "none"
}, ({ city }) =>
  Effect.suspend(() =>
    ++attempts === 1
      ? Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
      : Effect.succeed(`sunny in ${city}`)
  ))
const agent = Agent.make({ toolkit: Toolkit.make(weather), policies: Policy.standard() })
const { report, text } = await Effect.runPromise(
  agent.run("What is the weather in Paris?").pipe(
    Effect.provide(
      ScriptedModel.layer([ScriptedModel.call("get_weather", "{city: 'Paris'}"), ScriptedModel.text("Sunny.")])
    )
  )
)
deepStrictEqual([text, attempts, report.calls], ["Sunny.", 2, 1])
ok(SameTool.make === Tool.make, "a subpath has the module that the index has")
deepStrictEqual(HttpFailure.fromStatus(503).code, "server_error")
ok([CircuitBreaker.protect, Ollama.layer, OpenAi.layer].every((value) => typeof value === "function"))
