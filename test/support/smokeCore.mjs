/* Runs an agent with a scripted model, on the packages that a project has installed: `node smokeCore.mjs`. */
import { Agent, Policy, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as HttpFailure from "@fallible/core/HttpFailure"
import * as SignedSuspension from "@fallible/core/SignedSuspension"
import * as SameTool from "@fallible/core/Tool"
import { Ollama, OpenAi } from "@fallible/providers"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Redacted, Schema } from "effect"
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

// Web Crypto is a global in each supported version.
const confirm = Tool.make("confirm", { description: "Asks", success: Schema.String }, () => ToolCall.ask("Sure?"))
const asking = Agent.make({ toolkit: Toolkit.make(confirm) })
const signer = SignedSuspension.make({ secrets: [Redacted.make("b7jQ0dV5m2Yx9TnLw4RkEo8sZc1HfGua")] })
const answer = await Effect.runPromise(
  Effect.flip(asking.run("Go on.")).pipe(
    Effect.flatMap(({ suspension }) => signer.sign(suspension)),
    Effect.flatMap(signer.verify),
    Effect.flatMap((suspension) => asking.resume(suspension, "yes")),
    Effect.provide(ScriptedModel.layer([ScriptedModel.call("confirm"), ScriptedModel.text("Confirmed.")]))
  )
)
deepStrictEqual(answer.text, "Confirmed.")
