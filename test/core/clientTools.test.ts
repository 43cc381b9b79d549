/* Tools that the client runs (`Tool.client`): their questions, their replies, and their results. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Tool, Toolkit } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Question from "@fallible/core/Question"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema } from "effect"
import { codes, playing, refused, results, stored, suspended } from "../support/approving.ts"

const locate = Tool.client("locate", {
  description: "Where the user is",
  parameters: Schema.Struct({ exact: Schema.Boolean }),
  success: Schema.Struct({ city: Schema.String, at: Schema.DateFromString }),
  sideEffect: "none"
})

const open = Tool.client("open", {
  description: "Opens a page",
  parameters: Schema.Struct({ page: Schema.String }),
  success: Schema.String,
  identity: ({ page }) => page
})

const agent = Agent.make({ toolkit: Toolkit.make(locate, open) })

const oslo = { city: "Oslo", at: "2026-01-01T00:00:00.000Z" }

describe("a tool that the client runs", () => {
  it.effect("asks with its arguments, and returns the client's result", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended(agent.run("Where am I?"))
      const [question] = suspension.questions
      assert.strictEqual(suspension.questions.length, 1)
      assert.deepInclude(question, { kind: "client", tool: "locate", arguments: "{\"exact\":true}" })
      const answer = yield* agent.resume(stored(suspension), [Question.result(question!, oslo)])
      assert.strictEqual(answer.text, "In Oslo.")
      assert.deepStrictEqual(results(answer), [JSON.stringify(oslo)])
    }).pipe(playing(ScriptedModel.call("locate", { exact: true }), ScriptedModel.text("In Oslo."))))

  it.effect("asks for all calls of a turn at once, also for those that act", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended(agent.run("Open both."))
      const [first, second, third] = suspension.questions
      assert.deepStrictEqual(suspension.questions.map(({ kind, tool }) => [kind, tool]), [
        ["client", "open"],
        ["client", "open"],
        ["client", "locate"]
      ])
      const answer = yield* agent.resume(suspension, [
        Question.result(first!, "opened"),
        Question.failure(second!, "The window was blocked."),
        Question.result(third!, oslo)
      ])
      assert.strictEqual(answer.text, "One is open.")
      const [one, two] = results(answer)
      assert.strictEqual(one, "\"opened\"")
      assert.deepInclude(JSON.parse(two!), {
        error: "SemanticGarbage",
        code: "client_failed",
        detail: "The window was blocked."
      })
    }).pipe(
      playing(
        ScriptedModel.calls(["open", { page: "a" }], ["open", { page: "b" }], ["locate", { exact: false }]),
        ScriptedModel.text("One is open.")
      )
    ))

  it.effect("shows a result that does not fit, with a note", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended(agent.run("Where am I?"))
      const answer = yield* agent.resume(suspension, [Question.result(suspension.questions[0]!, { city: 7 })])
      assert.include(results(answer)[0], "city")
    }).pipe(playing(ScriptedModel.call("locate", { exact: true }), ScriptedModel.text("Somewhere."))))

  it.effect("takes no other reply, and other questions take none of its kind", () =>
    Effect.gen(function*() {
      const asking = Tool.make("ask", { description: "Asks", success: Schema.String, sideEffect: "none" }, () =>
        Effect.as(Effect.void, "x")).pipe(Tool.approve())
      const both = Agent.make({ toolkit: Toolkit.make(locate, asking) })
      const { suspension } = yield* suspended(both.run("Both."))
      const [client, approval] = suspension.questions
      for (
        const replies of [
          "Oslo",
          [Question.reply(client!, "Oslo")],
          [Question.approve(client!)],
          [Question.result(approval!, "yes")],
          [Question.failure(approval!, "no")]
        ]
      ) {
        yield* refused(both.resume(suspension, replies))
      }
    }).pipe(playing(ScriptedModel.calls(["locate", { exact: true }], ["ask", {}]), ScriptedModel.text("Done."))))

  it.effect("is in doubt if it acts and its client never replies", () =>
    Effect.gen(function*() {
      const options = { scope: "chat-1", facts: CallFacts.empty }
      const { facts } = yield* suspended(agent.run("Open a.", options))
      assert.deepStrictEqual(CallFacts.inDoubt(facts).map(({ tool }) => tool), ["open"])
      // The user asks something else instead. The page may have opened it.
      const next = yield* agent.run("Open a.", { ...options, facts })
      assert.deepStrictEqual(codes(next), ["repeated_call"])
    }).pipe(
      playing(
        ScriptedModel.call("open", { page: "a" }),
        ScriptedModel.call("open", { page: "a" }),
        ScriptedModel.text("It may be open.")
      )
    ))

  it.effect("is in doubt if it acts and its client says that it failed, and is not if it has a result", () =>
    Effect.gen(function*() {
      const first = yield* suspended(agent.run("Open a."))
      const done = yield* agent.resume(first.suspension, [Question.result(first.suspension.questions[0]!, "opened")])
      assert.deepStrictEqual(CallFacts.inDoubt(done.facts), [])
      const second = yield* suspended(agent.run("Open a."))
      const failed = yield* agent.resume(second.suspension, [
        Question.failure(second.suspension.questions[0]!, "It hangs.")
      ])
      assert.deepStrictEqual(CallFacts.inDoubt(failed.facts).map(({ code }) => code), ["client_failed"])
      assert.include(results(failed)[0], "may already have taken effect")
    }).pipe(
      playing(
        ScriptedModel.call("open", { page: "a" }),
        ScriptedModel.text("Open."),
        ScriptedModel.call("open", { page: "a" }),
        ScriptedModel.text("It failed.")
      )
    ))

  it.effect("is not run again by a server that runs the tool itself since", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended(agent.run("Open a."))
      const opened: Array<string> = []
      const own = Tool.make("open", {
        description: "Opens a page",
        parameters: Schema.Struct({ page: Schema.String }),
        success: Schema.String,
        identity: ({ page }) => page
      }, ({ page }) => Effect.sync(() => `${opened.push(page)}`))
      const since = Agent.make({ toolkit: Toolkit.make(locate, own) })
      yield* refused(since.resume(stored(suspension), [Question.result(suspension.questions[0]!, "opened")]))
      assert.deepStrictEqual(opened, [])
    }).pipe(playing(ScriptedModel.call("open", { page: "a" }), ScriptedModel.text("Done."))))

  it.effect("may be run by a handler, which gets the reply", () =>
    Effect.gen(function*() {
      const around = Tool.make("around", { description: "", success: Schema.String }, () =>
        Effect.orDie(Effect.map(open.run({ page: "a" }), (said) =>
          `It said: ${said}`)))
      const asking = Agent.make({ toolkit: Toolkit.make(around) })
      const { suspension } = yield* suspended(asking.run("Open a."))
      const answer = yield* asking.resume(suspension, [Question.result(suspension.questions[0]!, "opened")])
      assert.deepStrictEqual(results(answer), ["\"It said: opened\""])
    }).pipe(playing(ScriptedModel.call("around", {}), ScriptedModel.text("Done."))))

  it.effect("that reads leaves no doubt", () =>
    Effect.gen(function*() {
      const { facts, suspension } = yield* suspended(agent.run("Where am I?"))
      assert.deepStrictEqual(CallFacts.inDoubt(facts), [])
      const answer = yield* agent.resume(suspension, [Question.failure(suspension.questions[0]!, "Denied.")])
      assert.deepStrictEqual(CallFacts.inDoubt(answer.facts), [])
    }).pipe(playing(ScriptedModel.call("locate", { exact: true }), ScriptedModel.text("Nowhere."))))

  it.effect("is approved before the client sees it", () =>
    Effect.gen(function*() {
      const approving = Agent.make({ toolkit: Toolkit.make(open), approvals: { open: true } })
      const first = yield* suspended(approving.run("Open a."))
      assert.deepStrictEqual(first.suspension.questions.map(({ kind }) => kind), ["approval"])
      const second = yield* suspended(
        approving.resume(first.suspension, [Question.approve(first.suspension.questions[0]!)])
      )
      assert.deepStrictEqual(second.suspension.questions.map(({ kind }) => kind), ["client"])
      const answer = yield* approving.resume(second.suspension, [
        Question.result(second.suspension.questions[0]!, "ok")
      ])
      assert.strictEqual(answer.text, "Open.")
    }).pipe(playing(ScriptedModel.call("open", { page: "a" }), ScriptedModel.text("Open."))))
})
