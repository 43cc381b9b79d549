/** Approvals: what is shown is what runs, and nothing runs that nobody approved. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, SchemaMismatch, Tool, ToolCall, Toolkit } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Question from "@fallible/core/Question"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Redacted, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { ada, Payment, payments, playing, refused, results, stored, suspended } from "../support/approving.ts"

describe("Tool.approve", () => {
  it.effect("asks before a call runs, and shows what would run", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({
        toolkit: Toolkit.make(
          pay.pipe(Tool.approve(undefined, { preview: ({ amount, to }) => `Pays ${to} ${amount} EUR.` }))
        )
      })
      const { suspension } = yield* suspended(agent.run("Pay."))
      assert.deepStrictEqual(paid, [])
      const [question, ...others] = suspension.questions
      assert.deepStrictEqual(others, [])
      assert.deepInclude({ ...question }, {
        kind: "approval",
        tool: "pay",
        text: "Approve pay with {\"to\":\"Ada\",\"amount\":5}? Pays Ada 5 EUR.",
        arguments: "{\"to\":\"Ada\",\"amount\":5}",
        preview: "Pays Ada 5 EUR."
      })
      const answer = yield* agent.resume(stored(suspension), [Question.approve(question!, { by: "Grace" })])
      assert.deepStrictEqual(paid, [ada])
      assert.deepStrictEqual(results(answer), ["\"receipt 1\""])
    }).pipe(playing(ScriptedModel.call("pay", { amount: "5", to: "Ada" }), ScriptedModel.text("Paid."))))

  it.effect("asks only if its predicate says so, which sees decoded parameters", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({
        toolkit: Toolkit.make(pay.pipe(Tool.approve(({ amount }) => Effect.succeed(amount > 100))))
      })
      const { suspension } = yield* suspended(agent.run("Pay."))
      assert.deepStrictEqual(paid, [ada])
      assert.strictEqual(suspension.questions[0]?.arguments, "{\"to\":\"Bob\",\"amount\":500}")
    }).pipe(playing(
      ScriptedModel.calls(["pay", ada], ["pay", { to: "Bob", amount: 500 }]),
      ScriptedModel.text("Paid.")
    )))

  it.effect("is needed if its predicate fails, dies, or answers with anything but a boolean", () =>
    Effect.gen(function*() {
      for (
        const when of [
          () => Effect.fail("no"),
          () => Effect.die("no"),
          () => {
            throw new Error("no")
          },
          () => Promise.resolve(false) as never,
          () => 0 as never,
          () => ToolCall.ask("?") as never
        ]
      ) {
        const { paid, pay } = payments()
        const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve(when))) })
        const { suspension } = yield* suspended(agent.run("Pay.")).pipe(
          playing(ScriptedModel.call("pay", ada), ScriptedModel.text("Paid."))
        )
        assert.strictEqual(suspension.questions[0]?.kind, "approval")
        assert.deepStrictEqual(paid, [])
      }
    }))

  it.effect("tells a denial with its reason, and asks about the same intent no second time in the run", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve())) })
      const { suspension } = yield* suspended(agent.run("Pay."))
      const [question] = suspension.questions
      const answer = yield* agent.resume(stored(suspension), [
        Question.deny(question!, { reason: "Too much.", by: "Grace" })
      ])
      assert.deepStrictEqual(paid, [])
      const [first, second] = results(answer).map((text) => JSON.parse(text))
      assert.deepInclude(first, {
        error: "ToolUnavailable",
        code: "not_approved",
        detail: "This call was not run: it was denied. The reason: Too much."
      })
      assert.deepInclude(second, {
        code: "not_approved",
        detail: "This call was not run: it was already denied in this run. The reason: Too much."
      })
      assert.deepStrictEqual(CallFacts.inDoubt(answer.facts), [])
    }).pipe(playing(
      ScriptedModel.call("pay", ada),
      ScriptedModel.call("pay", ada),
      ScriptedModel.text("It was denied.")
    )))

  it.effect("asks about all calls of a turn at once, and takes replies to some only", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve())) })
      const { suspension } = yield* suspended(agent.run("Pay."))
      assert.deepStrictEqual(suspension.questions.map(({ arguments: args }) => args), [
        "{\"to\":\"Ada\",\"amount\":5}",
        "{\"to\":\"Bob\",\"amount\":6}",
        "{\"to\":\"Cid\",\"amount\":7}"
      ])
      const [one, two, three] = suspension.questions
      const next = yield* suspended(agent.resume(stored(suspension), [Question.approve(three!), Question.deny(one!)]))
      assert.deepStrictEqual(paid, [])
      assert.deepStrictEqual(next.suspension.questions.map(({ id }) => id), [two!.id])
      const answer = yield* agent.resume(stored(next.suspension), [Question.approve(two!)])
      assert.deepStrictEqual(paid.map(({ to }) => to), ["Bob", "Cid"])
      assert.strictEqual(results(answer).length, 3)
    }).pipe(playing(
      ScriptedModel.calls(["pay", ada], ["pay", { to: "Bob", amount: 6 }], ["pay", { to: "Cid", amount: 7 }]),
      ScriptedModel.text("Done.")
    )))

  it.effect("takes edited arguments of a person, and says so", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve())) })
      const { suspension } = yield* suspended(agent.run("Pay."))
      const [question] = suspension.questions
      const wrong = yield* refused(agent.resume(suspension, [
        Question.approve(question!, { arguments: { to: "Ada", amount: "many" } })
      ]))
      assert.deepStrictEqual(wrong.issues[0]?.path, ["replies", 0, "arguments", "amount"])
      const answer = yield* agent.resume(stored(suspension), [
        Question.approve(question!, { arguments: { to: "Ada", amount: 4 }, by: "Grace" })
      ])
      assert.deepStrictEqual(paid, [{ to: "Ada", amount: 4 }])
      assert.deepStrictEqual(JSON.parse(results(answer)[0]!), {
        value: "receipt 1",
        notes: ["A person changed the arguments to {\"to\":\"Ada\",\"amount\":4}"]
      })
    }).pipe(playing(ScriptedModel.call("pay", ada), ScriptedModel.text("Paid."))))

  it.effect("asks anew about arguments that a fixer has corrected", () =>
    Effect.gen(function*() {
      const seen: Array<number> = []
      const pay = Tool.make(
        "pay",
        { description: "Pays", parameters: Payment, success: Schema.String, identity: ({ to }) => to },
        ({ amount }) =>
          Effect.suspend(() => {
            seen.push(amount)
            return amount > 10
              ? Effect.fail(new SchemaMismatch({ side: "arguments", code: "too_much", detail: "Too much." }))
              : Effect.succeed("paid")
          })
      ).pipe(Tool.approve(), Tool.fix(() => ({ to: "Ada", amount: 10 })))
      const agent = Agent.make({ toolkit: Toolkit.make(pay) })
      const first = yield* suspended(agent.run("Pay."))
      const second = yield* suspended(agent.resume(first.suspension, "yes"))
      assert.deepStrictEqual(seen, [50])
      assert.strictEqual(second.suspension.questions[0]?.arguments, "{\"to\":\"Ada\",\"amount\":10}")
      assert.notStrictEqual(second.suspension.questions[0]?.id, first.suspension.questions[0]?.id)
      yield* agent.resume(stored(second.suspension), "yes")
      assert.deepStrictEqual(seen, [50, 10])
    }).pipe(playing(ScriptedModel.call("pay", { to: "Ada", amount: 50 }), ScriptedModel.text("Paid."))))

  it.effect("masks secrets in what is shown, and takes no mask for a secret", () =>
    Effect.gen(function*() {
      const got: Array<string> = []
      const login = Tool.make("log_in", {
        description: "Logs in",
        parameters: Schema.Struct({ user: Schema.String, pin: Schema.Redacted(Schema.String) }),
        success: Schema.String
      }, ({ pin }) => Effect.sync(() => `${got.push(Redacted.value(pin))}`)).pipe(Tool.approve())
      const agent = Agent.make({ toolkit: Toolkit.make(login) })
      const failure = yield* suspended(agent.run("Log in."))
      const [question] = failure.suspension.questions
      assert.strictEqual(question?.arguments, "{\"user\":\"ada\",\"pin\":\"<redacted>\"}")
      const { issues } = yield* refused(agent.resume(failure.suspension, [
        Question.approve(question!, { arguments: { user: "bob", pin: "<redacted>" } })
      ]))
      assert.deepStrictEqual(issues[0]?.path, ["replies", 0, "arguments", "pin"])
      yield* agent.resume(stored(failure.suspension), [Question.approve(question!)])
      assert.deepStrictEqual(got, ["1234"])
    }).pipe(playing(ScriptedModel.call("log_in", { user: "ada", pin: "1234" }), ScriptedModel.text("In."))))

  it.effect("counts a late approval as a denial, and so a missing one", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve(undefined, { within: "1 hour" }))) })
      const { suspension } = yield* suspended(agent.run("Pay."))
      const [question] = suspension.questions
      assert.strictEqual(question?.expires, 3_600_000)
      const early = yield* refused(agent.resume(suspension, []))
      assert.include(early.detail, "replies: expected at least one reply")
      yield* TestClock.adjust("1 hour")
      yield* TestClock.adjust("1 millis")
      for (const replies of [[Question.approve(question!)], []]) {
        const answer = yield* agent.resume(stored(suspension), replies)
        assert.match(results(answer)[0]!, /The approval came too late|Nobody approved it in time/)
      }
      assert.deepStrictEqual(paid, [])
    }).pipe(playing(ScriptedModel.call("pay", ada), ScriptedModel.text("No."), ScriptedModel.text("No."))))

  it.effect("does not count any more if the call had to wait for other questions for too long", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve(undefined, { within: "1 hour" }))) })
      const first = yield* suspended(agent.run("Pay."))
      const [one, two] = first.suspension.questions
      const second = yield* suspended(agent.resume(stored(first.suspension), [Question.approve(two!)]))
      yield* TestClock.adjust("61 minutes")
      const answer = yield* agent.resume(stored(second.suspension), [Question.deny(one!)])
      assert.deepStrictEqual(paid, [])
      assert.match(results(answer)[1]!, /The approval expired before the call could run/)
    }).pipe(playing(ScriptedModel.calls(["pay", ada], ["pay", { to: "Bob", amount: 6 }]), ScriptedModel.text("No."))))

  it.effect("has no limit of time if the limit is infinite, and the time of a suspension may be any number", () =>
    Effect.gen(function*() {
      const { pay } = payments()
      const agent = Agent.make({
        toolkit: Toolkit.make(pay.pipe(Tool.approve(undefined, { within: "Infinity" }))),
        resumeWithin: "1 hour"
      })
      const { suspension } = yield* suspended(agent.run("Pay."))
      assert.isUndefined(suspension.questions[0]?.expires)
      assert.strictEqual(stored(suspension).expires, 3_600_000)
      for (const expires of [-1, -1e300]) {
        const { issues } = yield* refused(agent.resume({ ...suspension, expires }, "yes"))
        assert.deepStrictEqual(issues[0]?.path, ["suspension", "expires"])
      }
      yield* TestClock.adjust("61 minutes")
      const { detail } = yield* refused(agent.check(suspension))
      assert.include(detail, "the time to reply was over at 1970-01-01 01:00 UTC")
    }).pipe(playing(ScriptedModel.call("pay", ada), ScriptedModel.text("Paid."))))

  it.effect("lets only those reply whom the agent admits", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({
        toolkit: Toolkit.make(pay.pipe(Tool.approve())),
        admit: (by, { tool }) => tool === "pay" && by === "Grace"
      })
      const { suspension } = yield* suspended(agent.run("Pay."))
      const [question] = suspension.questions
      for (const by of [undefined, "Eve"]) {
        const reply = Question.approve(question!, by === undefined ? {} : { by })
        const { issues } = yield* refused(agent.resume(suspension, [reply]))
        assert.deepStrictEqual(issues[0]?.path, ["replies", 0, "by"])
      }
      assert.deepStrictEqual(paid, [])
      yield* agent.resume(suspension, [Question.approve(question!, { by: "Grace" })])
      assert.deepStrictEqual(paid, [ada])
    }).pipe(playing(ScriptedModel.call("pay", ada), ScriptedModel.text("Paid."))))

  it.effect("refuses replies that do not belong to an open question, before anything runs", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve())) })
      const { suspension } = yield* suspended(agent.run("Pay."))
      const [question] = suspension.questions
      const paths: Array<unknown> = []
      for (
        const replies of [
          [{ ...Question.approve(question!), id: "other" }],
          [{ ...Question.approve(question!), digest: "other" }],
          [{ ...Question.deny(question!), digest: "other" }],
          [Question.reply(question!, "yes")],
          [Question.approve(question!), Question.approve(question!)],
          [{ id: question!.id }] as never,
          [null] as never
        ]
      ) {
        const { issues } = yield* refused(agent.resume(suspension, replies))
        paths.push(issues[0]?.path.join("."))
      }
      assert.deepStrictEqual(paths, [
        "replies.0.id",
        "replies.0.digest",
        "replies.0.digest",
        "replies.0.approved",
        "replies.1.id",
        "replies.0.reply",
        "replies.0"
      ])
      assert.deepStrictEqual(paid, [])
    }).pipe(playing(ScriptedModel.call("pay", ada), ScriptedModel.text("Paid."))))
})

describe("the approvals of an agent", () => {
  it.effect("are keyed by tool, and '*' holds for all others", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const note = Tool.make("note", { description: "Notes", success: Schema.String }, () => Effect.succeed("noted"))
      const agent = Agent.make({
        toolkit: Toolkit.make(pay, note),
        approvals: { pay: { when: ({ amount }) => amount > 1, preview: ({ to }) => `To ${to}.` }, "*": true }
      })
      const { suspension } = yield* suspended(agent.run("Pay."))
      assert.deepStrictEqual(suspension.questions.map(({ preview, tool }) => [tool, preview]), [
        ["pay", "To Ada."],
        ["note", undefined]
      ])
      assert.throws(
        () => Agent.make({ toolkit: Toolkit.make(pay), approvals: { refund: true } as never }),
        "An approval names the tool 'refund', which does not exist; the tools are 'pay'."
      )
      assert.deepStrictEqual(paid, [])
    }).pipe(playing(ScriptedModel.calls(["pay", ada], ["note"]), ScriptedModel.text("Done."))))
})

describe("onDone: \"ask\"", () => {
  it.effect("asks whether to do again what an earlier run has done", () =>
    Effect.gen(function*() {
      let restarts = 0
      const restart = Tool.make("restart", {
        description: "Restarts a server",
        parameters: Schema.Struct({ server: Schema.String }),
        success: Schema.String,
        identity: ({ server }) => server
      }, () => Effect.sync(() => `up ${++restarts}`))
      const agent = Agent.make({ toolkit: Toolkit.make(restart), onDone: "ask" })
      yield* TestClock.adjust("14 hours")
      yield* TestClock.adjust("2 minutes")
      const first = yield* agent.run("Restart db.", { scope: "ops", facts: CallFacts.empty })
      assert.strictEqual(restarts, 1)
      const again = { scope: "ops", facts: first.facts, transcript: first.transcript }
      const { suspension } = yield* suspended(agent.run("It hangs again.", again))
      const [question] = suspension.questions
      assert.strictEqual(
        question?.text,
        "restart was done at 1970-01-01 14:02 UTC, with the result \"up 1\". Do it again, with {\"server\":\"db\"}?"
      )
      assert.deepStrictEqual(question?.again, { at: 50_520_000, answer: "\"up 1\"" })
      const denied = yield* agent.resume(stored(suspension), [Question.deny(question!, { reason: "It is fine." })])
      assert.deepInclude(JSON.parse(results(denied).at(-1)!), {
        code: "already_done",
        detail:
          "This call was not run: it has already been done: \"up 1\". A person was asked, and does not want it again. The reason: It is fine."
      })
      assert.strictEqual(restarts, 1)
      const done = yield* agent.resume(stored(suspension), [Question.approve(question!)])
      assert.match(results(done).at(-1)!, /up 2/)
    }).pipe(playing(
      ScriptedModel.call("restart", { server: "db" }),
      ScriptedModel.text("Done."),
      ScriptedModel.call("restart", { server: "db" }),
      ScriptedModel.text("No."),
      ScriptedModel.text("Done.")
    )))
})

describe("onDone: \"ask\" with an approval", () => {
  it.effect("is one question, with the preview and the time of the approval, and no earlier decision counts for it", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({
        toolkit: Toolkit.make(pay.pipe(Tool.approve(undefined, { preview: () => "Pays.", within: "1 hour" }))),
        onDone: "ask"
      })
      const first = yield* suspended(agent.run("Pay.", { scope: "chat", facts: CallFacts.empty }))
      const { facts, transcript } = yield* agent.resume(first.suspension, "yes")
      const { suspension } = yield* suspended(agent.run("Again.", { facts, transcript }))
      const [question, ...others] = suspension.questions
      assert.deepStrictEqual(others, [])
      assert.deepInclude({ ...question }, {
        preview: "Pays.",
        expires: 3_600_000,
        again: { at: 0, answer: "\"receipt 1\"" }
      })
      assert.notStrictEqual(question?.digest, first.suspension.questions[0]?.digest)
      yield* TestClock.adjust("61 minutes")
      const late = yield* agent.resume(stored(suspension), [Question.approve(question!)])
      assert.match(results(late).at(-1)!, /The approval came too late/)
      assert.deepStrictEqual(paid, [ada])
    }).pipe(playing(
      ScriptedModel.call("pay", ada),
      ScriptedModel.text("Paid."),
      ScriptedModel.call("pay", ada),
      ScriptedModel.text("Not paid.")
    )))
})

describe("agent.check", () => {
  it.effect("refuses a suspension whose tool is gone, or takes other arguments", () =>
    Effect.gen(function*() {
      const { pay } = payments()
      const approved = pay.pipe(Tool.approve())
      const { suspension } = yield* suspended(Agent.make({ toolkit: Toolkit.make(approved) }).run("Pay."))
      const { pay: inOtherWords } = payments("idempotent_by_key")
      const note = Tool.make("note", { description: "Notes", success: Schema.String }, () => Effect.succeed("noted"))
      const others = Agent.make({ toolkit: Toolkit.make(note, inOtherWords), instructions: "Be quick." })
      yield* others.check(stored(suspension))
      const gone = yield* refused(Agent.make({ toolkit: Toolkit.empty }).check(suspension))
      assert.deepStrictEqual(gone.issues[0]?.path, ["suspension", "needs"])
      const changed = Tool.make("pay", {
        description: "Pays",
        parameters: Schema.Struct({
          to: Schema.String,
          amount: Schema.Finite,
          currency: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("EUR")))
        }),
        success: Schema.String
      }, () => Effect.succeed("paid")).pipe(Tool.approve())
      const other = yield* refused(Agent.make({ toolkit: Toolkit.make(changed) }).check(suspension))
      assert.deepStrictEqual(other.issues[0]?.path, ["suspension", "outcomes", 0, "asks", "digest"])
    }).pipe(playing(ScriptedModel.call("pay", ada), ScriptedModel.text("Paid."))))
})

describe("agent.check of replies", () => {
  it.effect("refuses what a resume would refuse, and runs nothing", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve())) })
      const { suspension } = yield* suspended(agent.run("Pay."))
      const [question] = suspension.questions
      const { issues } = yield* refused(agent.check(suspension, [{ ...Question.approve(question!), digest: "" }]))
      assert.deepStrictEqual(issues[0]?.path, ["replies", 0, "digest"])
      yield* agent.check(suspension, [Question.approve(question!)])
      yield* agent.check(suspension, "yes")
      assert.deepStrictEqual(paid, [])
    }).pipe(playing(ScriptedModel.call("pay", ada), ScriptedModel.text("Paid."))))
})

describe("Agent.outcome", () => {
  it.effect("returns answers and questions as values, and leaves failures in the error channel", () =>
    Effect.gen(function*() {
      const { pay } = payments()
      const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve())) })
      const outcome = yield* Agent.outcome(agent.run("Pay."))
      if (outcome._tag !== "Suspended") return assert.fail(outcome._tag)
      const answered = yield* Agent.outcome(agent.resume(outcome.waiting.suspension, "yes"))
      assert.strictEqual(answered._tag === "Answered" ? answered.answer.text : "", "Paid.")
      const failed = yield* Effect.result(Agent.outcome(agent.run(7 as never)))
      assert.isTrue(Result.isFailure(failed) && failed.failure._tag === "RunRefused")
    }).pipe(playing(ScriptedModel.call("pay", ada), ScriptedModel.text("Paid."))))
})
