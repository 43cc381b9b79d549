/** Replies that are not answers: the model is asked once more, and the transcript holds nothing of it. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, Model, ModelFailure, Tool, ToolCall, Toolkit, type Transcript } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as Answer from "@fallible/core/Answer"
import * as Journal from "@fallible/core/Journal"
import type * as Limits from "@fallible/core/Limits"
import * as ModelRecovery from "@fallible/core/ModelRecovery"
import { ScriptedModel } from "@fallible/testing"
import { Duration, Effect, Exit, Schema, Stream } from "effect"
import { FileJournal } from "../support/fileJournal.ts"
import { logging } from "../support/illTyped.ts"
import { weather } from "../support/scenarioTools.ts"
import { answered, isValid, played, tool } from "../support/stuck.ts"
import { passing } from "../support/virtualTime.ts"
import { answered as textOf, costs, playing, ways } from "../support/ways.ts"

const written = ScriptedModel.text("<tool_call>{\"name\": \"look\", \"arguments\": {}}</tool_call>")
const plan = ScriptedModel.text("I'll look it up now.")
const look = ScriptedModel.call("look", {})
const done = ScriptedModel.text("It is blue.")
const nothing = ScriptedModel.text(" ")
const tools = () => [tool("look", (ran) => `news ${ran}`)]

/** The text at the end of a request. */
const lastText = (request: ScriptedModel.Recorded | undefined) => request?.messages.at(-1)?.text ?? ""

const sides = (transcript: Transcript.Transcript) => Array.from(transcript, ({ role }) => role).join(" ")

const entries = ({ report }: Pick<Answer.Answer, "report">) =>
  report.failures.map((entry) => `${entry.turn} ${entry.code} ×${entry.attempts} ${entry.handling}`)

for (const way of ways) {
  describe(`over ${way.name}`, () => {
    for (
      const [what, text, asked] of [
        [
          "a call written as text",
          "I'll check.\n<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}</tool_call>",
          /a tool call written as text, so it was not run/
        ],
        ["a plan", "Let me check the weather in Paris.", /only says what you will do/]
      ] as const
    ) {
      it.effect(`${what} costs one reply: 3/1`, () =>
        Effect.gen(function*() {
          const run = yield* playing(way)({
            tools: (ran) => [weather(ran)],
            model: [
              ScriptedModel.text(text),
              ScriptedModel.call("get_weather", { city: "Paris" }),
              ScriptedModel.text("18 °C.")
            ]
          })
          assert.deepStrictEqual([textOf(run), costs(run)], ["18 °C.", "3/1"])
          const [first, second, third] = run.requests.map(({ messages }) => messages)
          assert.deepInclude(second?.at(-2), { role: "assistant", text })
          assert.match(lastText(run.requests[1]), asked)
          // The next request has nothing of it, and both begin like the first one.
          assert.deepStrictEqual(second?.slice(0, -2), first)
          assert.deepStrictEqual(third?.slice(0, 1), first)
          assert.notInclude(JSON.stringify(third), text)
          const { report, transcript } = Exit.isSuccess(run.exit) ? run.exit.value : assert.fail("no answer")
          assert.strictEqual(sides(transcript), "user assistant tool assistant")
          assert.strictEqual(report.turns, 3)
        }))
    }

    it.effect("an empty reply is named to the model", () =>
      Effect.gen(function*() {
        const run = yield* playing(way)({
          tools: (ran) => [weather(ran)],
          model: [ScriptedModel.text(""), ScriptedModel.text("\n"), ScriptedModel.text("18 °C.")]
        })
        assert.deepStrictEqual([textOf(run), costs(run)], ["18 °C.", "3/0"])
        const asked = run.requests.map(({ messages }) => messages.map(({ role }) => role).join(" "))
        const twice = way.joinsMessages ? "user" : "user user"
        assert.deepStrictEqual(asked, ["user", twice, twice])
        assert.match(lastText(run.requests[2]), /Your last reply was empty. Answer the user, or call a tool.$/)
      }))
  })
}

describe("a reply that does not look like an answer", () => {
  it.effect("is in the report, and its text is void in a stream", () =>
    Effect.gen(function*() {
      const run = yield* played(tools(), [plan, look, done])
      const answer = answered(run)
      assert.isUndefined(answer.looksLike)
      assert.deepStrictEqual(entries(answer), ["1 plan ×1 retry"])
      const tags = run.events.map((event) => "turn" in event ? `${event.turn} ${event._tag}` : event._tag)
      assert.deepStrictEqual(tags.slice(0, 5), [
        "1 TurnStarted",
        "1 TextDelta",
        "1 ModelReplied",
        "1 ModelRetried",
        "2 TurnStarted"
      ])
      // A client that discards what is void shows the answer only.
      let shown = ""
      for (const event of run.events) {
        if (event._tag === "TextDelta") shown += event.text
        if (event._tag === "ModelRetried") shown = ""
      }
      assert.strictEqual(shown, "It is blue.")
    }))

  it.effect("is the answer if the model repeats it, with a mark and a warning", () =>
    Effect.gen(function*() {
      const { logged, value } = yield* logging(played(tools(), [written, written]))
      const answer = answered(value)
      assert.deepInclude(answer, { text: written.text, stopReason: "answered", looksLike: "call_as_text" })
      assert.strictEqual(sides(answer.transcript), "user assistant")
      assert.deepStrictEqual(entries(answer), ["1 call_as_text ×1 retry"])
      assert.include(String(answer), "Answer (answered, looks like a call)")
      const stored = Schema.encodeSync(Answer.schema)(answer)
      assert.deepStrictEqual(Schema.decodeUnknownSync(Answer.schema)(JSON.parse(JSON.stringify(stored))), answer)
      assert.deepStrictEqual(logged.filter((line) => line.startsWith("Warn")), [
        "Warn | The model failed (call_as_text): The model wrote a tool call as text, so it was not run. This is the answer of the run."
      ])
    }))

  it.effect("is questioned once in a run: a text of the other kind is the answer, too", () =>
    Effect.gen(function*() {
      const other = answered(yield* played(tools(), [written, plan]))
      assert.deepInclude(other, { text: plan.text, looksLike: "plan" })
      const later = answered(yield* played(tools(), [plan, look, written]))
      assert.deepInclude(later, { text: written.text, looksLike: "call_as_text" })
      assert.strictEqual(sides(later.transcript), "user assistant tool assistant")
    }))

  it.effect("is the answer if the model has nothing else to say", () =>
    Effect.gen(function*() {
      const answer = answered(yield* played(tools(), [plan, nothing]))
      assert.deepInclude(answer, { text: plan.text, looksLike: "plan" })
      assert.strictEqual(answer.report.turns, 2)
    }))

  it.effect("is the answer if no turn, or no token, is left", () =>
    Effect.gen(function*() {
      const usage = { inputTokens: 40, outputTokens: 10 }
      for (const limits of [{ turns: 1 }, { tokens: 50 }] satisfies ReadonlyArray<Limits.Limits>) {
        const run = yield* played(tools(), [{ ...plan, usage }], { limits })
        assert.deepInclude(answered(run), { text: plan.text, stopReason: "answered", looksLike: "plan" })
        assert.strictEqual(run.requests.length, 1)
        assert.isFalse(run.events.some(({ _tag }) => _tag === "ModelRetried" || _tag === "LimitReached"))
      }
    }))

  it.effect("is the answer if the time is up before the model answers", () =>
    Effect.gen(function*() {
      const run = yield* passing(played(tools(), [plan, Effect.never], { limits: { elapsed: "1 minute" } }))
      assert.deepInclude(answered(run), { text: plan.text, looksLike: "plan" })
    }))

  it.effect("is asked for as the last answer if one turn is left for that", () =>
    Effect.gen(function*() {
      const options = { limits: { turns: 2 }, onLimit: "conclude" } as const
      const run = yield* played(tools(), [plan, done], options)
      assert.deepInclude(answered(run), { text: done.text, concluded: "turns", stopReason: "concluded" })
      assert.notInclude(JSON.stringify(run.requests), plan.text)
      for (const last of [nothing, Effect.fail(new ModelFailure({ code: "x", detail: "", transient: false }))]) {
        const failed = answered(yield* played(tools(), [plan, last], options))
        assert.deepInclude(failed, { text: plan.text, stopReason: "answered", looksLike: "plan" })
      }
    }))

  it.effect("has a mark if it is the last answer of a run that is concluded", () =>
    Effect.gen(function*() {
      const run = yield* played(tools(), [look, written], { limits: { turns: 2 }, onLimit: "conclude" })
      assert.deepInclude(answered(run), { concluded: "turns", stopReason: "concluded", looksLike: "call_as_text" })
      assert.strictEqual(run.requests.length, 2)
    }))

  it.effect("is an answer if no tool is on offer", () =>
    Effect.gen(function*() {
      for (const text of [plan, written]) {
        assert.isUndefined(answered(yield* played([], [text])).looksLike)
        const { looksLike } = answered(yield* played(tools(), [text], { modelOptions: { toolChoice: "none" } }))
        assert.isUndefined(looksLike)
      }
    }))

  it.effect("is not questioned if it takes the place of a reply", () =>
    Effect.gen(function*() {
      const agent = Agent.make({
        toolkit: Toolkit.make(...tools()),
        onModelFailure: () => ModelRecovery.respondWith(plan.text)
      })
      const failure = new ModelFailure({ code: "refused", detail: "No.", transient: false })
      const answer = yield* agent.run("?").pipe(Effect.provide(Model.layer({ respond: () => Effect.fail(failure) })))
      assert.deepInclude(answer, { text: plan.text, stopReason: "fallback" })
      assert.isUndefined(answer.looksLike)
    }))

  it.effect("keeps its native form in the request, and not after it", () =>
    Effect.gen(function*() {
      const run = yield* played(tools(), [{ ...plan, native: { thinking: "…" } }, look, done])
      assert.deepInclude(run.requests[1]?.messages.at(-2), { role: "assistant", native: { thinking: "…" } })
      assert.notInclude(JSON.stringify(run.requests[2]), "thinking")
      assert.isTrue(isValid(answered(run).transcript))
    }))

  it.effect("is the answer if the model fails afterwards, and the report has that failure", () =>
    Effect.gen(function*() {
      const run = yield* played(tools(), [plan, new ModelFailure({ code: "refused", detail: "No.", transient: false })])
      assert.deepInclude({ ...run.answer }, { text: plan.text, looksLike: "plan" })
      assert.deepStrictEqual(run.answer?.report.failures.map(({ code }) => code), ["plan", "refused"])
    }))

  it.effect("is shown to clients as void, and as an answer with its mark", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(...tools()) })
      const events = yield* agent.stream("?").pipe(
        AgentEvent.forClients(),
        Stream.runCollect,
        Effect.provide(ScriptedModel.layer([plan, plan]))
      )
      assert.deepInclude(events.find(({ _tag }) => _tag === "ModelRetried"), { turn: 1, code: "plan", attempt: 1 })
      assert.deepInclude(events.at(-1), { _tag: "RunEnded", text: plan.text, looksLike: "plan" })
    }))
})

describe("a run that goes on elsewhere", () => {
  it.effect("questions the same replies when it is replayed, wherever its process stopped", () =>
    Effect.gen(function*() {
      for (const script of [[plan, look, done], [written, written], [nothing, plan, nothing], [look, plan, done]]) {
        const run = (asked: { count: number }) => (journal: Journal.Journal) =>
          Agent.make({ toolkit: Toolkit.make(...tools()) }).run("?", { id: "run-1" }).pipe(
            Effect.provide(Model.layer({ respond: () => Effect.sync(() => script[asked.count++]!) })),
            Effect.provideService(Journal.current, journal)
          )
        const undisturbed = new FileJournal()
        const whole = yield* undisturbed.process(run({ count: 0 }))
        if (whole === undefined || Exit.isFailure(whole)) return assert.fail("the run did not end")
        for (let step = 1; step <= undisturbed.begun.length; step++) {
          const asked = { count: 0 }
          const journal = new FileJournal()
          assert.isUndefined(yield* journal.process(run(asked), { step, hasRun: false }))
          const exit = yield* journal.process(run(asked))
          if (exit === undefined || Exit.isFailure(exit)) return assert.fail("the run did not end")
          assert.deepStrictEqual(
            Schema.encodeSync(Answer.schema)(exit.value),
            Schema.encodeSync(Answer.schema)(whole.value)
          )
          assert.strictEqual(asked.count, script.length)
        }
      }
    }))

  it.effect("may question one more reply after its user has replied, and ends", () =>
    Effect.gen(function*() {
      const ask = Tool.make(
        "ask",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => ToolCall.ask("Which one?")
      )
      const agent = Agent.make({ toolkit: Toolkit.make(ask) })
      const model = ScriptedModel.layer([plan, ScriptedModel.call("ask"), plan, plan])
      const answer = yield* Effect.gen(function*() {
        const failure = yield* Effect.flip(agent.run("?"))
        if (failure._tag !== "RunSuspended") return assert.fail(failure._tag)
        const stored = JSON.stringify(Schema.encodeSync(AgentFailure.Suspension)(failure.suspension))
        assert.notInclude(stored.replace(/"failures":.*?\]/, ""), plan.text)
        return yield* agent.resume(Schema.decodeUnknownSync(AgentFailure.Suspension)(JSON.parse(stored)), "this one")
      }).pipe(Effect.provide(model))
      assert.deepInclude(answer, { text: plan.text, looksLike: "plan" })
      assert.strictEqual(sides(answer.transcript), "user assistant tool assistant")
      assert.deepStrictEqual(entries(answer), ["1 plan ×1 retry", "3 plan ×1 retry"])
    }))

  it.effect("asks without the reply after a wait for the model", () =>
    Effect.gen(function*() {
      const busy = new ModelFailure({
        code: "rate_limited",
        detail: "Busy.",
        transient: true,
        retryAfter: Duration.hours(1)
      })
      const agent = Agent.make({ toolkit: Toolkit.make(...tools()), onModelFailure: () => ModelRecovery.rethrow })
      yield* Effect.gen(function*() {
        const failure = yield* Effect.flip(agent.run("?"))
        if (failure._tag !== "RunPostponed") return assert.fail(failure._tag)
        const answer = yield* agent.resume(failure.postponement)
        assert.strictEqual(answer.text, done.text)
        const requests = yield* (yield* ScriptedModel.ScriptedModel).requests
        assert.deepStrictEqual(requests[2]?.messages, requests[0]?.messages)
      }).pipe(Effect.provide(ScriptedModel.layer([plan, Effect.fail(busy), done])))
    }))
})
