import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schedule, Schema, Stream } from "effect"
import { stored, suspended } from "../support/approving.ts"
import { namingJournal } from "../support/namingJournal.ts"
import { ping } from "../support/pinging.ts"

describe("Agent.resume", () => {
  const ran: Array<string> = []
  const book = Tool.make(
    "book",
    { description: "Books a table", parameters: Schema.Struct({ at: Schema.String }), success: Schema.String },
    ({ at }) =>
      Effect.gen(function*() {
        const { idempotencyKey } = yield* ToolCall.current
        const people = yield* ToolCall.ask(`How many people at ${at}?`)
        const seats = yield* ToolCall.ask(`Inside or outside, for ${people}?`)
        ran.push(idempotencyKey)
        return `${people} ${seats} at ${at}`
      })
  )
  const agent = Agent.make({ toolkit: Toolkit.make(book, ping) })

  it.effect("ends as a value when a tool asks the user, and continues with the reply in another process", () =>
    Effect.gen(function*() {
      ran.length = 0
      const first = yield* suspended(agent.run("A table, please."))
      assert.strictEqual(first.question, "How many people at eight?")
      const second = yield* suspended(agent.resume(stored(first.suspension), "Four"))
      assert.strictEqual(second.question, "Inside or outside, for Four?")
      assert.deepStrictEqual(ran, [])
      const answer = yield* agent.resume(stored(second.suspension), "outside")
      assert.strictEqual(answer.text, "Booked.")
      assert.strictEqual(ran.length, 1)
      assert.strictEqual(
        first.suspension.outcomes[0]?._tag === "Suspended" && first.suspension.outcomes[0].id,
        `${first.suspension.runId}/turn/1/call/1`
      )
      assert.deepInclude(answer.transcript.at(2), { role: "tool", text: "\"Four outside at eight\"" })
      // The sibling ran once, and its result is kept.
      assert.deepInclude(answer.transcript.at(3), { role: "tool", text: "\"pong\"" })
      assert.strictEqual(answer.report.turns, 2)
      assert.strictEqual(answer.report.calls, 2)
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.calls(["book", { at: "eight" }], ["ping"]),
      ScriptedModel.text("Booked.")
    ]))))

  it.effect("accounts for calls before and after the question, and streams the events after it", () =>
    Effect.gen(function*() {
      const first = yield* suspended(agent.run("A table, please."))
      const second = yield* suspended(agent.resume(first.suspension, "Four"))
      const events = yield* Stream.runCollect(agent.resumeStream(second.suspension, "outside"))
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), [
        "CallStarted",
        "AttemptStarted",
        "AttemptEnded",
        "CallEnded",
        "TurnStarted",
        "TextDelta",
        "ModelReplied",
        "RunEnded"
      ])
      const waiting = second.suspension.outcomes[0]
      assert.strictEqual(waiting?.attempts, 2)
      const last = events.at(-1)
      assert.isTrue(last?._tag === "RunEnded" && last.answer.report.turns === 2)
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.call("book", { at: "eight" }),
      ScriptedModel.text("Booked.")
    ]))))

  it.effect("runs the calls that the question held back, in order, once it is answered", () =>
    Effect.gen(function*() {
      const order: Array<string> = []
      const pay = Tool.make(
        "pay",
        { description: "", success: Schema.Void },
        () => Effect.sync(() => order.push("paid"))
      )
      const confirm = Tool.make(
        "confirm",
        { description: "", success: Schema.String },
        () => Effect.tap(ToolCall.ask("Really?"), (reply) => Effect.sync(() => order.push(reply)))
      )
      const agent = Agent.make({ toolkit: Toolkit.make(pay, confirm) })
      const waiting = yield* suspended(agent.run("Pay"))
      assert.deepStrictEqual(order, [])
      const answer = yield* agent.resume(stored(waiting.suspension), "yes")
      assert.deepStrictEqual(order, ["yes", "paid"])
      assert.strictEqual(answer.text, "Paid.")
      assert.deepStrictEqual(answer.report.failures, [])
    }).pipe(
      Effect.provide(ScriptedModel.layer([ScriptedModel.calls(["confirm"], ["pay"]), ScriptedModel.text("Paid.")]))
    ))

  it.effect("gives a reply only to the question that it answers", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const asking = (question: string) =>
        Effect.tap(ToolCall.ask(question), (reply) => Effect.sync(() => heard.push(`${question} ${reply}`)))
      const tool = Tool.make("t", { description: "", success: Schema.String }, () =>
        Effect.andThen(
          asking("Which account?"),
          Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: false }))
        )).pipe(Tool.fallback(() => asking("Wipe the mirror first?")))
      const agent = Agent.make({ toolkit: Toolkit.make(tool) })
      const first = yield* suspended(agent.run("Go"))
      const second = yield* suspended(agent.resume(first.suspension, "42"))
      assert.strictEqual(second.question, "Wipe the mirror first?")
      yield* agent.resume(second.suspension, "no")
      assert.deepStrictEqual(heard.slice(-2), ["Which account? 42", "Wipe the mirror first? no"])
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("t"), ScriptedModel.text("done")]))))

  it.effect("gives the reply to the first call that asked, when several wait at once", () =>
    Effect.gen(function*() {
      const asking = (name: string) =>
        Tool.make(name, { description: "", success: Schema.String, sideEffect: "none" }, () => ToolCall.ask("Sure?"))
      const agent = Agent.make({ toolkit: Toolkit.make(asking("a"), asking("b")) })
      const first = yield* suspended(agent.run("Go"))
      assert.deepStrictEqual(first.suspension.outcomes.map(({ _tag }) => _tag), ["Suspended", "Suspended"])
      const second = yield* suspended(agent.resume(first.suspension, "yes"))
      assert.deepStrictEqual(second.suspension.outcomes.map(({ _tag }) => _tag), ["Completed", "Suspended"])
      const answer = yield* agent.resume(second.suspension, "no")
      assert.deepInclude(answer.transcript.at(2), { text: "\"yes\"" })
      assert.deepInclude(answer.transcript.at(3), { text: "\"no\"" })
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.calls(["a"], ["b"]), ScriptedModel.text("done")]))))

  it.effect("finds a reply by its question in every attempt, even if other questions are no longer asked", () =>
    Effect.gen(function*() {
      let runs = 0
      const order = Tool.make(
        "order",
        { description: "", success: Schema.String, sideEffect: "idempotent" },
        () =>
          Effect.gen(function*() {
            if (++runs === 1) yield* ToolCall.ask("The price rose. Go on?")
            const size = yield* ToolCall.ask("Which size?")
            if (runs < 4) {
              return yield* new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })
            }
            return size
          })
      ).pipe(Tool.retry(Schedule.recurs(3)))
      const agent = Agent.make({ toolkit: Toolkit.make(order) })
      const first = yield* suspended(agent.run("Go"))
      const second = yield* suspended(agent.resume(first.suspension, "yes"))
      assert.strictEqual(second.question, "Which size?")
      const answer = yield* agent.resume(second.suspension, "large")
      assert.deepInclude(answer.transcript.at(2), { text: "\"large\"" })
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("order"), ScriptedModel.text("done")]))))

  it.effect("keeps the replies of an inner tool apart from those of the outer one", () =>
    Effect.gen(function*() {
      const inner = Tool.make(
        "inner",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => ToolCall.ask("Sure?")
      )
      const outer = Tool.make(
        "outer",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => Effect.zipWith(inner.run({}), ToolCall.ask("Sure?"), (a, b) => `${a} ${b}`)
      )
      const agent = Agent.make({ toolkit: Toolkit.make(outer) })
      const first = yield* suspended(agent.run("Go"))
      const second = yield* suspended(agent.resume(first.suspension, "inner yes"))
      const answer = yield* agent.resume(second.suspension, "outer yes")
      assert.deepInclude(answer.transcript.at(2), { text: "\"inner yes outer yes\"" })
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("outer"), ScriptedModel.text("done")]))))

  it.effect("resumes as a separate step, so no journal replays the suspended outcome", () =>
    Effect.gen(function*() {
      const { journal, names } = namingJournal()
      const first = yield* suspended(agent.run("A table, please."))
      yield* Effect.exit(agent.resume(first.suspension, "Four")).pipe(Effect.provideService(Journal.current, journal))
      assert.deepStrictEqual(names, ["turn/1/call/1/reply/1"])
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("book", { at: "eight" })]))))

  it("refuses a stored suspension without an outcome for each call, or without a suspended one", () => {
    const suspension = {
      version: 7,
      runId: "run-1",
      turn: 1,
      transcript: { version: 1, messages: [] },
      report: { turns: 1, calls: 1, inputTokens: 0, outputTokens: 0, failures: [], repairs: [] },
      reply: { text: "", calls: [{ id: "1", name: "book" }] },
      outcomes: [],
      facts: { version: 3, run: 0, mayHaveRun: "no", intents: [], failures: 0 },
      used: 0
    }
    const effort = { certainty: "not_executed", attempts: 1, waited: 0, handled: [] }
    const completed = { _tag: "Completed", value: 1, caveats: [], ...effort }
    const waiting = { _tag: "Suspended", question: "?", id: "k", replies: [], ...effort }
    const decode = (outcomes: ReadonlyArray<unknown>) =>
      Schema.decodeUnknownSync(AgentFailure.Suspension)({ ...suspension, outcomes })
    assert.strictEqual(decode([waiting]).outcomes.length, 1)
    for (const outcomes of [[], [completed], [waiting, waiting]]) {
      assert.throws(() => decode(outcomes), /an outcome for each call/)
    }
  })

  it.effect("asks the next question when several calls asked", () =>
    Effect.gen(function*() {
      let failure = yield* suspended(agent.run("Two tables, please."))
      const questions = [failure.question]
      for (const reply of ["Two", "inside", "Six"]) {
        failure = yield* suspended(agent.resume(failure.suspension, reply))
        questions.push(failure.question)
      }
      assert.deepStrictEqual(questions, [
        "How many people at six?",
        "Inside or outside, for Two?",
        "How many people at nine?",
        "Inside or outside, for Six?"
      ])
      assert.strictEqual((yield* agent.resume(failure.suspension, "outside")).text, "Both booked.")
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.calls(["book", { at: "six" }], ["book", { at: "nine" }]),
      ScriptedModel.text("Both booked.")
    ]))))

  it.effect("leaves a valid transcript while it waits", () =>
    Effect.gen(function*() {
      const { transcript } = yield* suspended(agent.run("A table, please."))
      assert.deepStrictEqual(Array.from(transcript, ({ role }) => role), ["user", "assistant", "tool"])
      assert.deepInclude(transcript.at(2), {
        text:
          "{\"ok\":false,\"error\":\"Suspended\",\"detail\":\"Waiting for the user's answer to: How many people at eight?\"}"
      })
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("book", { at: "eight" })]))))

  it.effect("ends the run with a typed failure when a tool stops it", () =>
    Effect.gen(function*() {
      const brake = Tool.make("brake", { description: "", success: Schema.Void }, () =>
        ToolCall.stop("The account is locked."))
      const failure = yield* Effect.flip(Agent.make({ toolkit: Toolkit.make(brake) }).run("Go"))
      assert.isTrue(failure instanceof AgentFailure.RunStopped && failure.reason === "The account is locked.")
      assert.strictEqual(failure.transcript.length, 3)
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("brake")]))))
})
