/** A conversation goes on with each other model: strict servers accept it, and get nothing that another server added. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, Model, Tool, ToolCall, Toolkit } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schedule, Schema } from "effect"
import { subjects } from "../support/models.ts"

const settings = { retry: Schedule.recurs(0) }
const mark = "A thought of the first model"

const ping = Tool.make("ping", {
  description: "Answers",
  parameters: Schema.Struct({ n: Schema.Int }),
  success: Schema.String,
  sideEffect: "none"
}, () => Effect.succeed("pong"))
const confirm = Tool.make("confirm", {
  description: "Asks the user",
  success: Schema.String,
  sideEffect: "none"
}, () => ToolCall.ask("Really?"))
const agent = Agent.make({ toolkit: Toolkit.make(ping, confirm), modelRetry: Schedule.recurs(0) })

const thinking = (reply: Model.Reply): Model.Reply => ({ ...reply, reasoning: `${mark}: ${reply.calls.length}.` })

const served = subjects.filter(([name, { wire }]) => wire?.connects !== false && !name.includes("byte"))

describe.each(served)("a conversation with %s", (name, first) => {
  it.effect.each(served.filter(([other]) => other !== name))("goes on with %s", ([, second]) =>
    Effect.gen(function*() {
      const before = yield* first.play([
        thinking(ScriptedModel.calls(["ping", { n: 1 }], ["ping", { n: 2 }])),
        thinking(ScriptedModel.call("confirm"))
      ], settings)
      const after = yield* second.play([
        thinking(ScriptedModel.call("ping", { n: 3 })),
        thinking(ScriptedModel.text("Done.")),
        ScriptedModel.text("Fine.")
      ], settings)
      const waiting = yield* Effect.flip(Effect.provideService(agent.run("Ping!"), Model.Model, before.model))
      if (waiting._tag !== "RunSuspended") return assert.fail(waiting.message)
      const text = JSON.stringify(yield* Schema.encodeEffect(AgentFailure.Suspension)(waiting.suspension))
      const suspension = yield* Schema.decodeUnknownEffect(AgentFailure.Suspension)(JSON.parse(text))
      const resumed = yield* Effect.provideService(agent.resume(suspension, "Yes."), Model.Model, after.model)
      assert.strictEqual(resumed.text, "Done.")
      const { facts, transcript } = resumed
      const later = yield* Effect.provideService(agent.run("And?", { facts, transcript }), Model.Model, after.model)
      assert.strictEqual(later.text, "Fine.")
      const requests = yield* after.requests
      assert.strictEqual(requests.length, 3)
      const [request] = requests
      assert.notInclude(request?.body, mark)
      assert.deepStrictEqual(request?.messages.map(({ role }) => role), [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "tool"
      ])
    }).pipe(Effect.scoped))
})
