/** What failed in an agent that a handler runs stands in the report of the run around it. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, ModelFailure, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema } from "effect"
import { passing } from "../support/virtualTime.ts"

const down = Tool.make(
  "look_up",
  { description: "", parameters: Schema.Struct({ n: Schema.Int }), success: Schema.String, sideEffect: "none" },
  ({ n }) =>
    n > 1
      ? Effect.succeed("found")
      : Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
)
const analyst = Agent.make({ toolkit: Toolkit.make(down) })
const consult = Tool.make(
  "consult",
  { description: "", success: Schema.String, sideEffect: "none" },
  () => Effect.map(Effect.orDie(analyst.run("Why?")), ({ text }) => text)
)
const outermost = Tool.make(
  "delegate",
  { description: "", success: Schema.String, sideEffect: "none" },
  () => Effect.map(Effect.orDie(Agent.make({ toolkit: Toolkit.make(consult) }).run("Delegated.")), ({ text }) => text)
)

const usage = { inputTokens: 3, outputTokens: 1 }
const busy = new ModelFailure({ code: "server_error", detail: "Busy.", transient: true })
const script = [
  ScriptedModel.call("look_up", { n: 1 }),
  ScriptedModel.calls(["look_up", { n: "2" }]),
  busy,
  { ...ScriptedModel.text("Because."), usage }
]

const toldOf = (entry: object) =>
  Object.fromEntries(Object.entries(entry).filter(([key]) => ["code", "tool", "inside", "turn", "call"].includes(key)))

describe("the report of a run", () => {
  it.effect("has the failures and repairs of an agent that a handler runs, and its tokens", () =>
    Effect.gen(function*() {
      const { report } = yield* passing(
        Agent.make({ toolkit: Toolkit.make(consult) }).run("Go").pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.call("consult"), ...script, ScriptedModel.text("Done.")]))
        )
      )
      assert.deepStrictEqual(report.failures.map(toldOf), [
        { code: "connection", tool: "look_up", inside: "consult", turn: 1, call: 1 },
        { code: "server_error", inside: "consult", turn: 1 }
      ])
      assert.deepStrictEqual(report.repairs.map(({ inside, tool }) => [inside, tool]), [["consult", "look_up"]])
      assert.deepInclude(report, { turns: 2, calls: 1, inputTokens: 3, outputTokens: 1 })
    }))

  it.effect("has those of an agent at any depth, once, with the tool that is nearest to it", () =>
    Effect.gen(function*() {
      const { report } = yield* passing(
        Agent.make({ toolkit: Toolkit.make(outermost) }).run("Go").pipe(
          Effect.provide(ScriptedModel.layer([
            ScriptedModel.call("delegate"),
            ScriptedModel.call("consult"),
            ...script,
            ScriptedModel.text("Delegated."),
            ScriptedModel.text("Done.")
          ]))
        )
      )
      assert.deepStrictEqual(report.failures.map(toldOf), [
        { code: "connection", tool: "look_up", inside: "consult", turn: 1, call: 1 },
        { code: "server_error", inside: "consult", turn: 1 }
      ])
      assert.deepInclude(report, { turns: 2, calls: 1, inputTokens: 3, outputTokens: 1 })
    }))
})
