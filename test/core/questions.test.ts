/** Questions of handlers and of doubts as data, and what asks outside of an agent. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Dispatch, Policy, RetryPolicy, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as Explanation from "@fallible/core/Explanation"
import * as Question from "@fallible/core/Question"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { ScriptedModel } from "@fallible/testing"
import * as ActsOnce from "@fallible/testing/ActsOnce"
import type * as FakeService from "@fallible/testing/FakeService"
import { Effect, Schema, Stream } from "effect"
import { playing, waiting } from "../support/approving.ts"

describe("a question with choices", () => {
  const seat = Tool.make(
    "seat",
    { description: "Reserves a seat", success: Schema.String },
    () => ToolCall.ask("Inside or outside?", { choices: ["Inside", "Outside"] })
  )
  const asked = Tool.promise(
    "seat",
    { description: "Reserves a seat", success: Schema.String },
    (_, { ask }) => ask("Inside or outside?", { choices: ["Inside", "Outside"] })
  )

  for (const [name, tool] of [["of an Effect", seat], ["of an async handler", asked]] as const) {
    it.effect(`${name} takes only these, whatever their case`, () =>
      Effect.gen(function*() {
        const agent = Agent.make({ toolkit: Toolkit.make(tool) })
        const suspension = yield* waiting(agent.run("A seat, please."))
        const [question] = suspension.questions
        assert.deepInclude({ ...question }, {
          kind: "choice",
          choices: ["Inside", "Outside"],
          text: "Inside or outside?"
        })
        for (const replies of ["on the roof", [Question.reply(question!, "on the roof")]]) {
          const refused = yield* Effect.flip(agent.resume(suspension, replies))
          assert.strictEqual(
            refused.detail,
            "The run was not resumed: replies.0.reply: expected one of 'Inside', 'Outside', got \"on the roof\"."
          )
        }
        const answer = yield* agent.resume(suspension, " outside ")
        assert.deepInclude(answer.transcript.at(2), { text: "\"Outside\"" })
      }).pipe(playing(ScriptedModel.call("seat"), ScriptedModel.text("Done."))))
  }

  it.effect("is answered by a program without an agent, too", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* seat.run({}).pipe(ToolCall.withReply("inside")), "Inside")
      const wrong = yield* Effect.exit(seat.run({}).pipe(ToolCall.withReply("on the roof")))
      assert.match(String(wrong), /must be one of 'Inside', 'Outside'/)
    }))

  it.effect("must have different choices", () =>
    Effect.gen(function*() {
      for (const choices of [[], ["a", "A"], [" "], [7], "ab"]) {
        const exit = yield* Effect.exit(ToolCall.ask("?", { choices: choices as never }).pipe(ToolCall.withReply("a")))
        assert.match(String(exit), /must be a list of different texts/, JSON.stringify(choices))
      }
    }))
})

describe("questions of one turn", () => {
  it.effect("of calls that read are asked together, with their arguments, and take replies by id", () =>
    Effect.gen(function*() {
      const look = Tool.make("look", {
        description: "Looks something up",
        parameters: Schema.Struct({ city: Schema.String }),
        success: Schema.String,
        sideEffect: "none"
      }, ({ city }) => Effect.map(ToolCall.ask(`Which ${city}?`), (which) => `${city}, ${which}`))
      const agent = Agent.make({ toolkit: Toolkit.make(look) })
      const suspension = yield* waiting(agent.run("Look."))
      assert.deepStrictEqual(suspension.questions.map(({ arguments: args, kind, text }) => [kind, text, args]), [
        ["reply", "Which Paris?", "{\"city\":\"Paris\"}"],
        ["reply", "Which Rome?", "{\"city\":\"Rome\"}"]
      ])
      const [paris, rome] = suspension.questions
      const answer = yield* agent.resume(suspension, [
        Question.reply(rome!, "Italy", { by: "Ada" }),
        Question.reply(paris!, "Texas")
      ])
      assert.deepInclude(answer.transcript.at(2), { text: "\"Paris, Texas\"" })
      assert.deepInclude(answer.transcript.at(3), { text: "\"Rome, Italy\"" })
      const wrong = yield* Effect.flip(agent.resume(suspension, [
        { id: paris!.id, digest: paris!.digest ?? "", approved: true }
      ]))
      assert.include(wrong.detail, "replies.0.approved: expected no decision")
    }).pipe(playing(
      ScriptedModel.calls(["look", { city: "Paris" }], ["look", { city: "Rome" }]),
      ScriptedModel.text("Done.")
    )))

  it.effect("about a doubt have their kind, and one question for each doubt", () =>
    Effect.gen(function*() {
      let paid = 0
      const pay = Tool.make("pay", {
        description: "Pays",
        parameters: Schema.Struct({ note: Schema.String }),
        success: Schema.String
      }, () =>
        ++paid === 1
          ? Effect.fail(new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true }))
          : Effect.succeed("paid"))
      const agent = Agent.make({ toolkit: Toolkit.make(pay), onDoubt: "ask" })
      const suspension = yield* waiting(agent.run("Pay."))
      const [question, ...others] = suspension.questions
      assert.deepInclude({ ...question }, { kind: "doubt", choices: ["yes", "no"], tool: "pay" })
      assert.deepStrictEqual(others, [])
      yield* agent.resume(suspension, [Question.reply(question!, "no", { by: "the operator" })])
      assert.strictEqual(paid, 3)
    }).pipe(playing(
      ScriptedModel.call("pay", { note: "a" }),
      ScriptedModel.calls(["pay", { note: "b" }], ["pay", { note: "c" }]),
      ScriptedModel.text("Done.")
    )))
})

describe("the last event of a stream", () => {
  it.effect("has what the run waits for, and its own guard", () =>
    Effect.gen(function*() {
      const book = Tool.make("book", { description: "Books", success: Schema.String }, () =>
        ToolCall.ask("For how many?"))
      const agent = Agent.make({ toolkit: Toolkit.make(book) })
      const events = yield* Stream.runCollect(agent.stream("Book."))
      assert.deepStrictEqual(events.map(AgentEvent.isLast).lastIndexOf(false), events.length - 2)
      const last = events.at(-1)
      if (last?._tag !== "RunSuspended") {
        return assert.fail(last?._tag)
      }
      const stored = Schema.encodeSync(AgentEvent.schema)(last)
      const decoded = Schema.decodeUnknownSync(AgentEvent.schema)(JSON.parse(JSON.stringify(stored)))
      assert.strictEqual(decoded._tag === "RunSuspended" ? decoded.waiting.question : "", "For how many?")
      const rest = yield* Stream.runCollect(agent.resumeStream(last.waiting.suspension, "four"))
      assert.strictEqual(rest.at(-1)?._tag, "RunEnded")
    }).pipe(playing(ScriptedModel.call("book"), ScriptedModel.text("Booked."))))
})

describe("an approval outside of an agent", () => {
  const pay = Tool.make("pay", {
    description: "Pays",
    parameters: Schema.Struct({ order: Schema.String }),
    success: Schema.String,
    identity: ({ order }) => order
  }, ({ order }) => Effect.succeed(`paid ${order}`)).pipe(Tool.approve())
  const toolkit = Toolkit.make(pay)
  const call = { id: "1", name: "pay", arguments: "{\"order\":\"7\"}" }

  it.effect("is asked for by Dispatch, which goes on with the decision", () =>
    Effect.gen(function*() {
      const waiting = yield* Dispatch.call(toolkit, call, { id: "c" })
      if (waiting._tag !== "Suspended") return assert.fail(waiting._tag)
      const { asks, question } = waiting
      const reply = (approved: boolean, digest = asks.digest ?? ""): ToolOutcome.Reply => ({
        id: "c",
        question,
        reply: "",
        to: asks.id,
        decided: { approved, digest, by: "Ada" }
      })
      const go = (reply: ToolOutcome.Reply) =>
        Dispatch.call(toolkit, call, { id: "c", before: waiting, replies: [reply] })
      const paid = yield* go(reply(true))
      assert.deepInclude(paid, { _tag: "Completed", value: "paid 7" })
      assert.deepStrictEqual(paid.decided, { approved: true, digest: asks.digest!, by: "Ada" })
      const denied = yield* go(reply(false))
      assert.deepInclude({ ...denied }, { _tag: "Failed", stage: "admit", certainty: "not_executed", attempts: 0 })
      // A decision about other arguments is none.
      assert.strictEqual((yield* go(reply(true, "other")))._tag, "Suspended")
    }))

  it.effect("is not asked for if a program runs the tool", () =>
    Effect.map(pay.run({ order: "7" }), (receipt) => assert.strictEqual(receipt, "paid 7")))

  it.effect("can be given in the search for tools that act twice", () =>
    Effect.gen(function*() {
      const tool = (service: FakeService.FakeService) =>
        Tool.promise("pay", {
          description: "Pays",
          parameters: Schema.Struct({ order: Schema.String }),
          success: Schema.String,
          sideEffect: "idempotent_by_key",
          identity: "all",
          repeats: false
        }, async ({ order }, { idempotencyKey }) => {
          const response = await service.fetch("https://pay.example/orders", {
            method: "POST",
            headers: { "idempotency-key": idempotencyKey },
            body: order
          })
          if (!response.ok) throw response
          return response.text()
        }).pipe(Tool.approve())
      yield* ActsOnce.check({ tool, arguments: { order: "7" }, reply: "yes", runs: 150 })
    }))
})

describe("Tool.explain", () => {
  it("lists what asks", () => {
    const pay = Tool.make(
      "pay",
      { description: "Pays", success: Schema.String, sideEffect: "none" },
      () => Effect.succeed("paid")
    ).pipe(
      Tool.retry(RetryPolicy.transient),
      Tool.askWhenUnavailable(() => "What now?"),
      Tool.approve(),
      Tool.approve(() => true, { within: "1 hour" })
    )
    const explanation = Tool.explain(pay)
    assert.deepStrictEqual(explanation.asks, [
      "for an approval",
      "for an approval, if its predicate says so, for 1h",
      "question to the user"
    ])
    assert.include(Explanation.table(explanation), "\n  asks: for an approval\n")
    assert.include(Explanation.overview([explanation]), "\n  asks         for an approval\n")
    assert.deepStrictEqual(Tool.explain(pay.pipe(Tool.with(Policy.timeout("1 second")))).asks, explanation.asks)
    const plain = Tool.make("ping", { description: "Pings", success: Schema.String }, () => Effect.succeed("pong"))
    assert.deepStrictEqual(Tool.explain(plain).asks, [])
    assert.notInclude(Explanation.table(Tool.explain(plain)), "asks")
  })
})
