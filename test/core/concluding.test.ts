/** `onLimit: "conclude"`: the model is asked for the best answer from what is known, without tools. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, type Model, ModelFailure, Tool, ToolCall, Toolkit } from "@fallible/core"
import * as Journal from "@fallible/core/Journal"
import type * as Limits from "@fallible/core/Limits"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Exit, Schedule, Schema } from "effect"
import { FileJournal } from "../support/fileJournal.ts"
import { answered, isValid, type Played, played, steps, told, tool } from "../support/stuck.ts"
import { passing } from "../support/virtualTime.ts"

const look = ScriptedModel.call("look", {})
const usage = { inputTokens: 40, outputTokens: 10 }
const news = () => tool("look", (ran) => `news ${ran}`)

/** Makes a script that calls a tool as long as tools are offered, and then replies as given. */
const untilAsked = (last: ScriptedModel.Move, call: Model.Reply = look): ScriptedModel.Script => ({ tools }) =>
  tools.length === 0 ? last : call

const best = ScriptedModel.text("The best that I know.")

const lastUserText = ({ requests }: Played) => {
  const message = requests.at(-1)?.messages.at(-1)
  return message?.role === "user" ? message.text : undefined
}

describe("C11 a run that is concluded", () => {
  const cases: ReadonlyArray<
    readonly [Limits.Limit, Limits.Limits, Model.Reply, turns: number, detail: string]
  > = [
    ["turns", { turns: 4 }, look, 4, "The agent used up its 4 turns without an answer."],
    ["calls", { calls: 2 }, look, 5, "The agent used up its 2 tool calls without an answer."],
    ["tokens", { tokens: 100 }, { ...look, usage }, 2, "The agent used up its 100 tokens without an answer."]
  ]
  for (const [limit, limits, call, turns, detail] of cases) {
    it.effect(`answers from what is known when its ${limit} are used up`, () =>
      Effect.gen(function*() {
        const run = yield* played([news()], untilAsked(best, call), { limits, onLimit: "conclude" })
        const { concluded, report, stopReason, text, transcript } = answered(run)
        assert.deepStrictEqual([text, stopReason, concluded], ["The best that I know.", "concluded", limit])
        assert.strictEqual(report.turns, turns)
        assert.strictEqual(run.requests.length, turns)
        assert.deepStrictEqual(run.requests.at(-1)?.tools, [])
        assert.strictEqual(
          lastUserText(run),
          `${detail} Do not call tools. Give the best answer from what you know, and say what is missing.`
        )
        assert.isTrue(isValid(transcript))
        assert.notInclude(JSON.stringify(Array.from(transcript)), "Do not call tools")
      }))
  }

  it.effect("exceeds its tokens by one reply at most", () =>
    Effect.gen(function*() {
      for (const tokens of [60, 100, 130, 151, 400]) {
        const spending = { inputTokens: 40, outputTokens: 10 }
        const run = yield* played([news()], untilAsked({ ...best, usage: spending }, { ...look, usage: spending }), {
          limits: { tokens, turns: 50 },
          onLimit: "conclude"
        })
        const { inputTokens, outputTokens } = run.answer?.report ?? run.failure?.report ?? assert.fail()
        assert.isBelow((inputTokens ?? 0) + (outputTokens ?? 0), tokens + 50)
      }
      // A single reply that is too big is the last one.
      const greedy = yield* played([news()], untilAsked(best, { ...look, usage }), {
        limits: { tokens: 20, turns: 50 },
        onLimit: "conclude"
      })
      assert.strictEqual(greedy.failure?._tag, "LimitReached")
      assert.strictEqual(greedy.requests.length, 1)
    }))

  it.effect("answers from what is known when it is stuck", () =>
    Effect.gen(function*() {
      const script: ScriptedModel.Script = (_, index) => index < 6 ? look : best
      const run = yield* played([tool("look", () => "same")], script, { onLimit: "conclude" })
      const { concluded, report, text } = answered(run)
      assert.deepStrictEqual([text, concluded, report.turns], ["The best that I know.", "loop", 7])
      assert.deepStrictEqual(steps(run).at(-1), "6 ended look")
      assert.include(lastUserText(run), "The model was stuck in a loop: it repeated")
    }))

  it.effect("answers in the last tenth of its time", () =>
    Effect.gen(function*() {
      const slow = Effect.delay(Effect.succeed(look), "25 seconds")
      const script: ScriptedModel.Script = ({ tools }) => tools.length === 0 ? best : slow
      const run = yield* passing(
        played([news()], script, { limits: { elapsed: "110 seconds", turns: 50 }, onLimit: "conclude" })
      )
      assert.strictEqual(answered(run).concluded, "elapsed")
      assert.strictEqual(run.requests.length, 5)
    }))

  for (
    const [name, last] of [
      ["a blank reply", ScriptedModel.text(" \n")],
      ["calls instead of an answer", look],
      [
        "a failure of the model",
        new ModelFailure({ code: "refused", detail: "No.", transient: false })
      ]
    ] as const
  ) {
    it.effect(`fails with the limit and the whole report after ${name}`, () =>
      Effect.gen(function*() {
        const run = yield* played([news()], untilAsked(last), { limits: { turns: 4 }, onLimit: "conclude" })
        const { failure } = run
        if (failure?._tag !== "LimitReached") return assert.fail(failure?._tag ?? "an answer")
        assert.strictEqual(failure.limit, "turns")
        assert.strictEqual(run.requests.length, 4)
        assert.strictEqual(failure.report.turns, "code" in last ? 3 : 4)
        assert.deepStrictEqual(failure.report.failures.map(({ code }) => code), "code" in last ? ["refused"] : [])
        assert.isTrue(isValid(failure.transcript))
      }))
  }

  it.effect("keeps the original failure after a loop, too", () =>
    Effect.gen(function*() {
      const script: ScriptedModel.Script = (_, index) => index < 6 ? look : ScriptedModel.text("")
      const run = yield* played([tool("look", () => "same")], script, { onLimit: "conclude" })
      assert.strictEqual(run.failure?._tag, "LoopDetected")
      assert.strictEqual(run.failure?.report.turns, 7)
    }))

  for (const turns of [1, 2, 3, 6, 7]) {
    it.effect(`never asks the model more often than its limit of turns: ${turns}`, () =>
      Effect.gen(function*() {
        for (const result of [() => "same", (ran: number) => `news ${ran}`]) {
          const run = yield* played([tool("look", result)], () => look, { limits: { turns }, onLimit: "conclude" })
          assert.strictEqual(run.answer, undefined)
          assert.isAtMost(run.requests.length, turns)
        }
      }))
  }

  it.effect("fails by default, and asks nothing", () =>
    Effect.gen(function*() {
      const run = yield* played([news()], untilAsked(best), { limits: { turns: 4 } })
      assert.strictEqual(run.failure?._tag, "LimitReached")
      assert.strictEqual(run.requests.length, 4)
    }))

  it.effect("is not marked if the model answers by itself", () =>
    Effect.gen(function*() {
      const run = yield* played([news()], [look, look, best], { limits: { turns: 4 }, onLimit: "conclude" })
      assert.deepStrictEqual([answered(run).stopReason, answered(run).concluded], ["answered", undefined])
    }))
})

describe("C11 near a limit", () => {
  /** Returns the notes on the results of nine turns with one call each. */
  const notes = (limits: Limits.Limits, call: Model.Reply = look) =>
    Effect.map(
      played([news()], (_, index) => index < 9 ? call : best, { limits }),
      (run) => {
        assert.strictEqual(answered(run).text, "The best that I know.")
        return told(run).map((text) => text.startsWith("{") ? JSON.parse(text).notes : [])
      }
    )
  const none = (count: number) => Array.from({ length: count }, () => [])

  it.effect("the model is told how many replies are left", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* notes({ turns: 10 }), [
        ...none(7),
        ["You have 2 replies left. Answer before nothing is left"],
        ["Your next reply is the last one. Answer in it, without tools, and say what is missing"]
      ])
    }))

  it.effect("the model is told how many calls and tokens are left", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* notes({ turns: 100, calls: 10, tokens: 500 }, { ...look, usage }), [
        ...none(7),
        ["You have 2 tool calls and about 100 tokens left. Answer before nothing is left"],
        ["You have 1 tool call and about 50 tokens left. Answer before nothing is left"]
      ])
    }))

  it.effect("the model is told nothing if there is no limit, or much is left", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* notes({ turns: 100, calls: 100, tokens: 10_000 }, { ...look, usage }), none(9))
    }))

  it.effect("the model is told so on the last result of a turn only", () =>
    Effect.gen(function*() {
      const run = yield* played([news()], [ScriptedModel.calls(["look"], ["look"]), best], { limits: { turns: 2 } })
      assert.strictEqual(told(run)[0], "\"news 1\"")
      assert.include(told(run)[1], "Your next reply is the last one.")
    }))
})

describe("F7 an agent inside a tool's handler", () => {
  const inner = Agent.make({ toolkit: Toolkit.empty })
  const innerModel = ScriptedModel.layer(() => ({ ...ScriptedModel.text("inner answer"), usage }))
  const consult = (ran: Array<string> = []) =>
    Tool.make(
      "consult",
      { description: "", success: Schema.String, sideEffect: "none" },
      () =>
        Effect.suspend(() => {
          ran.push("consult")
          return Effect.map(Effect.orDie(inner.run("?")), ({ text }) => `${text} ${ran.length}`)
        }).pipe(Effect.provide(innerModel))
    )
  const asks = Tool.make(
    "asks",
    { description: "", success: Schema.String, sideEffect: "none" },
    () => Effect.andThen(Effect.orDie(inner.run("?")).pipe(Effect.provide(innerModel)), ToolCall.ask("Which?"))
  )
  const consulting = ScriptedModel.call("consult")
  const replying = { ...best, usage: { inputTokens: 1, outputTokens: 1 } }

  it.effect("uses the tokens of the outer run, in its report", () =>
    Effect.gen(function*() {
      const run = yield* played([consult()], [consulting, consulting, replying])
      assert.deepInclude(answered(run).report, { turns: 3, calls: 2, inputTokens: 81, outputTokens: 21 })
    }))

  it.effect("ends the outer run when its tokens are used up", () =>
    Effect.gen(function*() {
      const run = yield* played([consult()], () => consulting, { limits: { tokens: 100, turns: 50 } })
      if (run.failure?._tag !== "LimitReached") return assert.fail(run.failure?._tag)
      assert.strictEqual(run.failure.limit, "tokens")
      assert.deepInclude(run.failure.report, { turns: 2, inputTokens: 80, outputTokens: 20 })
    }))

  it.effect("still counts after a suspension", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(consult(), asks), limits: { tokens: 150 } })
      const suspended = yield* Effect.flip(
        Effect.provide(agent.run("?"), ScriptedModel.layer([consulting, ScriptedModel.call("asks")]))
      )
      if (suspended._tag !== "RunSuspended") return assert.fail(suspended._tag)
      const stored = Schema.encodeSync(AgentFailure.Suspension)(suspended.suspension)
      const suspension = Schema.decodeUnknownSync(AgentFailure.Suspension)(JSON.parse(JSON.stringify(stored)))
      const failure = yield* Effect.flip(
        Effect.provide(agent.resume(suspension, "this one"), ScriptedModel.layer(() => consulting))
      )
      assert.strictEqual(failure._tag === "LimitReached" && failure.limit, "tokens")
      assert.strictEqual((failure.report.inputTokens ?? 0) + (failure.report.outputTokens ?? 0), 150)
    }))

  it.effect("still counts after a replay from a journal", () =>
    Effect.gen(function*() {
      const ran: Array<string> = []
      const run = (journal: Journal.Journal) =>
        Agent.make({ toolkit: Toolkit.make(consult(ran)), limits: { tokens: 150 } }).run("?", { id: "run-1" }).pipe(
          Effect.provide(ScriptedModel.layer(() => consulting)),
          Effect.provideService(Journal.current, journal)
        )
      const journal = new FileJournal()
      assert.isUndefined(yield* journal.process(run, { step: 5, hasRun: false }))
      const exit = yield* journal.process(run)
      if (exit === undefined || Exit.isSuccess(exit)) return assert.fail("the run did not end")
      const failure = yield* Effect.flip(exit)
      assert.strictEqual(failure._tag === "LimitReached" && failure.limit, "tokens")
      assert.deepInclude(failure.report, { turns: 3, inputTokens: 120, outputTokens: 30 })
      assert.strictEqual(ran.length, 3)
    }))

  it.effect("counts once for each attempt of the call", () =>
    Effect.gen(function*() {
      let attempts = 0
      const retried = Tool.make(
        "consult",
        { description: "", success: Schema.String, sideEffect: "none" },
        () =>
          Effect.flatMap(
            Effect.orDie(inner.run("?")).pipe(Effect.provide(innerModel)),
            ({ text }) =>
              ++attempts < 3
                ? Effect.fail(new ModelFailure({ code: "x", detail: "", transient: true }))
                : Effect.succeed(text)
          ).pipe(Effect.retry(Schedule.recurs(2)), Effect.orDie)
      )
      const run = yield* played([retried], [consulting, best])
      assert.deepInclude(answered(run).report, { inputTokens: 120, outputTokens: 30 })
    }))
})
