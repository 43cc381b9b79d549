/** An agent with one tool, which answers "pong", and a script that calls the tool once. */
import { Agent, Tool, Toolkit } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema } from "effect"

export const ping = Tool.make(
  "ping",
  { description: "Answers", success: Schema.String, sideEffect: "none" },
  () => Effect.succeed("pong")
)
export const pinging = Agent.make({ instructions: "Be brief.", toolkit: Toolkit.make(ping) })
export const once = [ScriptedModel.call("ping"), ScriptedModel.text("It said pong.")]
