/** Each rule of the guard against loops, with its counter-example: a run that makes progress is never stopped. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as Journal from "@fallible/core/Journal"
import * as LoopGuard from "@fallible/core/LoopGuard"
import { ScriptedModel } from "@fallible/testing"
import { Duration, Effect, Exit, Schema } from "effect"
import {
  describeLoop,
  judgeTurn,
  noLoop,
  refuseInLoop,
  type Verdict
} from "../../packages/core/src/internal/agent/loopGuard.ts"
import { type Observed } from "../../packages/core/src/internal/agent/loopJudgement.ts"
import * as DispatchFailure from "../../packages/core/src/internal/arguments/dispatchFailure.ts"
import { FileJournal } from "../support/fileJournal.ts"
import {
  answered,
  isValid,
  loopDetected,
  offered,
  played,
  repeating,
  steps,
  times,
  told,
  tool
} from "../support/stuck.ts"

const look = ScriptedModel.call("look", { n: 1 })
const find = ScriptedModel.call("find", { n: 2 })
const other = ScriptedModel.call("other", {})
const long = (n: number) => ScriptedModel.call("look", { n })
const done = ScriptedModel.text("done")

const toldThirdTime = "You already have this result: the same call has returned it 3 times. " +
  "Do not repeat the call. Use the result, or do something else"

describe("LoopGuard", () => {
  describe("H10 the same call with the same outcome", () => {
    it.effect("is told the third time, refused the fourth, withdrawn the fifth, and ends the run the sixth", () =>
      Effect.gen(function*() {
        let ran = 0
        const run = yield* played([
          tool("look", () => {
            ran++
            return { status: "closed" }
          }),
          tool("find", () => 1)
        ], repeating(look))
        assert.deepStrictEqual(steps(run), ["3 warned look", "4 refused look", "5 withdrawn look", "6 ended look"])
        assert.strictEqual(ran, 3)
        const texts = told(run)
        assert.deepStrictEqual(texts.slice(0, 2), ["{\"status\":\"closed\"}", "{\"status\":\"closed\"}"])
        assert.deepStrictEqual(JSON.parse(texts[2]!), {
          value: { status: "closed" },
          notes: [toldThirdTime]
        })
        assert.deepStrictEqual(JSON.parse(texts[3]!), {
          ok: false,
          error: "ToolUnavailable",
          code: "loop_detected",
          detail: "This call was not run: you already have its result, and it did not change.",
          retry: "Do not repeat this call with the same arguments. Use what you have, or do something else."
        })
        assert.deepStrictEqual(JSON.parse(texts[5]!), {
          ok: false,
          error: "ToolUnavailable",
          code: "loop_detected",
          detail: "This call was not run: look is withdrawn, because its calls added nothing new.",
          hint: "Answer with what you know.",
          retry: "Do not call this tool again. Use another one, or answer without it."
        })
        assert.deepStrictEqual(offered(run), ["look,find", "look,find", "look,find", "look,find", "look,find", "find"])

        const { calls, detail, facts, report, transcript } = loopDetected(run)
        assert.deepStrictEqual(calls, [{ tool: "look", arguments: "{\"n\":1}", times: 6 }])
        assert.strictEqual(
          detail,
          "The model was stuck in a loop: it repeated look (6 times), and nothing changed. " +
            "Simplify the question, or give the agent better tools."
        )
        assert.isTrue(isValid(transcript))
        assert.deepInclude(report, { turns: 6, calls: 6 })
        assert.deepStrictEqual(report.failures.map((entry) => entry.code), [
          "loop_detected",
          "loop_detected",
          "loop_detected"
        ])
        assert.strictEqual(facts.run, 0)
      }))

    it.effect("is never told if the result changes", () =>
      Effect.gen(function*() {
        const run = yield* played([tool("look", (ran) => ({ progress: 40 + ran }))], times(30, () => look))
        assert.strictEqual(answered(run).text, "done")
        assert.deepStrictEqual(steps(run), [])
      }))

    it.effect("is told, but goes on, if the result changes after the third time", () =>
      Effect.gen(function*() {
        const results = [1, 1, 1, 2, 2, 2, 3]
        const run = yield* played(
          [tool("look", (ran) => results[ran - 1] ?? 4), tool("other", (ran) => `news ${ran}`)],
          [look, look, look, other, look, look, look, other, look, done]
        )
        assert.strictEqual(answered(run).text, "done")
        assert.deepStrictEqual(steps(run), ["3 warned look", "7 warned look"])
        assert.strictEqual(told(run).at(-1), "3")
      }))

    it.effect("is never told if it follows pages, or tries other arguments with other results", () =>
      Effect.gen(function*() {
        const run = yield* played(
          [tool("look", (_, { n = 0 }) => ({ rows: [n, n + 1], next: n + 1 }))],
          times(30, (turn) => long(turn))
        )
        assert.strictEqual(answered(run).text, "done")
        assert.deepStrictEqual(steps(run), [])
      }))

    it.effect("is told, but never refused, if other tools bring news in between", () =>
      Effect.gen(function*() {
        const run = yield* played(
          [tool("look", () => "same"), tool("other", (ran) => `news ${ran}`)],
          times(30, (turn) => turn % 2 === 1 ? look : other)
        )
        assert.strictEqual(answered(run).text, "done")
        assert.isTrue(steps(run).every((step) => step.includes("warned look")))
      }))

    it.effect("is never refused if it acts, because it may be meant once more", () =>
      Effect.gen(function*() {
        let pressed = 0
        const press = tool("press_key", () => {
          pressed++
          return "pressed"
        }, { sideEffect: "non_idempotent" })
        const run = yield* played([press], times(20, () => ScriptedModel.call("press_key", { text: "Down" })))
        assert.strictEqual(answered(run).text, "done")
        assert.strictEqual(pressed, 20)
        assert.deepStrictEqual(JSON.parse(told(run)[2]!).notes, [
          "This call has now succeeded 3 times with the same result. " +
          "Repeat it only if you mean to do the same once more"
        ])
      }))

    it.effect("ends the run if it acts without a new effect: the tool is idempotent", () =>
      Effect.gen(function*() {
        const run = yield* played([tool("look", () => "set", { sideEffect: "idempotent" })], repeating(look))
        assert.strictEqual(loopDetected(run).report.turns, 6)
      }))

    it.effect("is no repetition after an effect, because the data may have changed", () =>
      Effect.gen(function*() {
        const run = yield* played(
          [tool("test", () => "2 failed"), tool("edit", () => "ok", { sideEffect: "idempotent" })],
          times(30, (turn) =>
            turn % 2 === 1 ? ScriptedModel.call("test", {}) : ScriptedModel.call("edit", { text: `try ${turn}` }))
        )
        assert.strictEqual(answered(run).text, "done")
        assert.deepStrictEqual(steps(run), [])
      }))

    it.effect("is the same however its arguments are written", () =>
      Effect.gen(function*() {
        const run = yield* played([tool("look", () => "same")], [
          ScriptedModel.call("look", "{\"n\":1,\"m\":2}"),
          ScriptedModel.call("look", "{ \"m\": 2, \"n\": 1 }"),
          ScriptedModel.call("look", "{\n  \"n\": 1,\n  \"m\": 2\n}"),
          ScriptedModel.call("look", "{\"m\":2, \"n\":1}"),
          done
        ])
        assert.deepStrictEqual(steps(run), ["3 warned look", "4 refused look"])
      }))

    it.effect("is the same without arguments, however these are written", () =>
      Effect.gen(function*() {
        const written = [undefined, "", "{}", "null"]
        const run = yield* played([tool("look", () => "same")], [
          ...written.map((text) => ScriptedModel.call("look", text)),
          done
        ])
        assert.deepStrictEqual(steps(run).slice(0, 1), ["3 warned look"])
      }))

    it.effect("is another call if a space or a digit in its arguments differs", () =>
      Effect.gen(function*() {
        const run = yield* played([tool("look", () => "same")], [
          ...["a b", "a  b", "ab", "ba"].map((text) => ScriptedModel.call("look", { text })),
          done
        ])
        assert.deepStrictEqual(steps(run), [])
      }))

    it.effect("counts once in a turn, because the model has not seen the results yet", () =>
      Effect.gen(function*() {
        const turn = ScriptedModel.calls(["look", { n: 1 }], ["look", { n: 1 }], ["look", { n: 1 }])
        const run = yield* played([tool("look", () => "same")], [turn, turn, done])
        assert.strictEqual(answered(run).text, "done")
        assert.deepStrictEqual(steps(run), [])
      }))

    it.effect("is told in the turn of a new result, but takes no further step", () =>
      Effect.gen(function*() {
        const run = yield* played(
          [tool("look", () => "same"), tool("other", (ran) => `news ${ran}`)],
          times(12, () => ScriptedModel.calls(["look", { n: 1 }], ["other", {}]))
        )
        assert.strictEqual(answered(run).text, "done")
        assert.isTrue(steps(run).every((step) => step.endsWith("warned look")))
      }))
  })

  describe("H10 calls in turn", () => {
    for (const [count, replies] of [["two", [look, find]], ["three", [look, find, other]]] as const) {
      it.effect(`end the run if they repeat without news: ${count} calls`, () =>
        Effect.gen(function*() {
          const run = yield* played(
            [tool("look", () => "a"), tool("find", () => "b"), tool("other", () => "c")],
            repeating(...replies)
          )
          const { calls, report, transcript } = loopDetected(run)
          assert.deepStrictEqual(steps(run).map((step) => step.split(" ")[1]), [
            "warned",
            "refused",
            "withdrawn",
            "ended"
          ])
          assert.strictEqual(report.turns, 2 * replies.length + 4)
          assert.strictEqual(calls.length, replies.length)
          assert.include(told(run)[2 * replies.length], "You are alternating between calls that add nothing new.")
          assert.isTrue(isValid(transcript))
        }))
    }

    it.effect("go on if their results change", () =>
      Effect.gen(function*() {
        const run = yield* played(
          [tool("look", (ran) => ran), tool("find", (ran) => `row ${ran}`)],
          times(30, (turn) => turn % 2 === 1 ? look : find)
        )
        assert.strictEqual(answered(run).text, "done")
        assert.deepStrictEqual(steps(run), [])
      }))

    it.effect("end the run if they are made in one turn", () =>
      Effect.gen(function*() {
        const run = yield* played(
          [tool("look", () => "a"), tool("find", () => "b")],
          repeating(ScriptedModel.calls(["look", { n: 1 }], ["find", { n: 2 }]))
        )
        assert.include(loopDetected(run).detail, "it repeated look (6 times), find (6 times), and")
        assert.notInclude(told(run).join(), "alternating")
      }))

    it.effect("lets a call run again that was made only once, although another call is stuck", () =>
      Effect.gen(function*() {
        const run = yield* played(
          [tool("find", (ran) => `state ${ran}`), tool("look", () => "same")],
          [find, look, look, look, find, look, done]
        )
        assert.strictEqual(answered(run).text, "done")
        assert.strictEqual(told(run)[4], "\"state 2\"")
        assert.deepStrictEqual(steps(run), ["4 warned look", "6 warned look"])
      }))
  })

  describe("D5 the same failure with other arguments", () => {
    const failing = (fail: (n: number) => SemanticGarbage | SchemaMismatch | ToolUnavailable) =>
      Tool.make("look", {
        description: "",
        parameters: Schema.Struct({ n: Schema.Int }),
        success: Schema.Json,
        sideEffect: "none"
      }, ({ n }) => Effect.fail(fail(n)))
    const noRow = (n: number) => new ToolUnavailable({ code: "failed", detail: `Row ${n} is lost.`, transient: false })

    it.effect("is told the third time, never refused, withdrawn the tenth time, and ends the run the twelfth", () =>
      Effect.gen(function*() {
        const run = yield* played([failing(noRow)], (_, index) => long(index + 1))
        assert.deepStrictEqual(steps(run), [
          ...[3, 4, 5, 6, 7, 8, 9].map((turn) => `${turn} warned look`),
          "10 withdrawn look",
          "11 withdrawn look",
          "12 ended look"
        ])
        assert.include(
          JSON.parse(told(run)[2]!).hint,
          "Calls of look in the last 3 turns failed in the same way, with different arguments each time. " +
            "If you have no better arguments, use another tool, ask the user, or answer with what you know."
        )
        assert.include(JSON.parse(told(run)[9]!).detail, "Row 10 is lost.")
        assert.include(JSON.parse(told(run)[10]!).detail, "look is withdrawn")
        assert.deepInclude(loopDetected(run).calls[0], { tool: "look", times: 12 })
      }))

    it.effect("is told, and nothing else, if each failure answers what was asked: no such user", () =>
      Effect.gen(function*() {
        const unknown = (n: number) => new SemanticGarbage({ code: "unknown_user", detail: `There is no user '${n}'.` })
        const run = yield* played([failing(unknown)], (_, index) => index < 20 ? long(index + 1) : done)
        assert.strictEqual(answered(run).text, "done")
        assert.deepStrictEqual(new Set(steps(run).map((step) => step.split(" ")[1])), new Set(["warned"]))
      }))

    it.effect("is progress if each failure has other issues: the model corrects one field at a time", () =>
      Effect.gen(function*() {
        const issues = (n: number) =>
          new SchemaMismatch({
            side: "arguments",
            code: "invalid_arguments",
            detail: "Wrong.",
            issues: [{ path: [`field${n}`], expected: "a string", actual: "nothing" }]
          })
        const run = yield* played([failing(issues)], times(30, (turn) => long(turn)))
        assert.strictEqual(answered(run).text, "done")
        assert.deepStrictEqual(steps(run), [])
      }))

    it.effect("never ends the run if other tools bring news in between", () =>
      Effect.gen(function*() {
        const run = yield* played(
          [failing(noRow), tool("other", (ran) => `news ${ran}`)],
          times(60, (turn) => turn % 2 === 1 ? long(turn) : other)
        )
        assert.strictEqual(answered(run).text, "done")
        assert.isTrue(steps(run).every((step) => step.endsWith("warned look")))
      }))
  })

  describe("H10 the same large result with other arguments", () => {
    it.effect("is told the third time, and not refused", () =>
      Effect.gen(function*() {
        const page = "The page was not found. ".repeat(10)
        const run = yield* played([tool("look", () => page)], times(8, long))
        assert.strictEqual(answered(run).text, "done")
        assert.deepStrictEqual(steps(run), [3, 4, 5, 6, 7, 8].map((turn) => `${turn} warned look`))
        assert.deepStrictEqual(JSON.parse(told(run)[2]!).notes, [
          "Calls of look in the last 3 turns returned the same result, with different arguments each time. " +
          "More such calls may add nothing"
        ])
      }))

    it.effect("is news if the result is short, such as true", () =>
      Effect.gen(function*() {
        const run = yield* played([tool("look", () => true)], times(30, long))
        assert.strictEqual(answered(run).text, "done")
        assert.deepStrictEqual(steps(run), [])
      }))

    it.effect("is news if the call acts", () =>
      Effect.gen(function*() {
        const saved = { ok: true, message: "The record has been saved. ".repeat(10) }
        const run = yield* played([tool("look", () => saved, { sideEffect: "idempotent" })], times(30, long))
        assert.strictEqual(answered(run).text, "done")
        assert.deepStrictEqual(steps(run), [])
      }))
  })

  describe("D5 refusals of CallFacts", () => {
    it.effect("count on: a lost payment that is repeated ends the run, and is sent once", () =>
      Effect.gen(function*() {
        let sent = 0
        const pay = Tool.make("pay", { description: "", success: Schema.Json }, () => {
          sent++
          return Effect.fail(
            new ToolUnavailable({ code: "timeout", detail: "No answer.", transient: true, outcome: "unknown" })
          )
        })
        const run = yield* played([pay], repeating(ScriptedModel.call("pay", {})))
        const { calls, facts, report, transcript } = loopDetected(run)
        assert.strictEqual(sent, 1)
        assert.deepStrictEqual(steps(run), ["2 refused pay", "3 refused pay", "4 withdrawn pay", "5 ended pay"])
        assert.deepStrictEqual(report.failures.map(({ code }) => code), [
          "outcome_unknown",
          "repeated_call",
          "repeated_call",
          "repeated_call",
          "repeated_call"
        ])
        assert.deepStrictEqual(calls.map(({ tool }) => tool), ["pay"])
        assert.strictEqual(facts.failures, 1)
        assert.isTrue(isValid(transcript))
      }))

    it.effect("count on after failures: the same call fails, is refused, and ends the run", () =>
      Effect.gen(function*() {
        let ran = 0
        const look = Tool.make("look", { description: "", success: Schema.Json, sideEffect: "none" }, () => {
          ran++
          return Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
        })
        const run = yield* played([look], repeating(ScriptedModel.call("look", {})))
        assert.isAtMost(loopDetected(run).report.turns, 8)
        assert.strictEqual(ran, 3)
      }))

    it.effect("count on for a tool that must not be repeated", () =>
      Effect.gen(function*() {
        let ran = 0
        const pay = tool("pay", () => ++ran, { sideEffect: "non_idempotent", repeats: false })
        const run = yield* played([pay], repeating(ScriptedModel.call("pay", {})))
        assert.strictEqual(loopDetected(run).report.turns, 5)
        assert.strictEqual(ran, 1)
      }))

    it.effect("do not stop a run that goes on with something else", () =>
      Effect.gen(function*() {
        const pay = tool("pay", () => "paid", { sideEffect: "non_idempotent", repeats: false })
        const run = yield* played(
          [pay, tool("other", (ran) => `news ${ran}`)],
          times(30, (turn) => turn % 2 === 1 ? ScriptedModel.call("pay", {}) : other)
        )
        assert.strictEqual(answered(run).text, "done")
      }))
  })

  describe("H10 a withdrawn tool", () => {
    it.effect("comes back after progress", () =>
      Effect.gen(function*() {
        const run = yield* played(
          [tool("look", () => "same"), tool("other", (ran) => `news ${ran}`)],
          [look, look, look, look, look, other, look, done]
        )
        assert.deepStrictEqual(offered(run).slice(4), ["look,other", "other", "look,other", "look,other"])
        assert.strictEqual(JSON.parse(told(run)[6]!).value, "same")
      }))

    it.effect("stays withdrawn if it is called with other arguments", () =>
      Effect.gen(function*() {
        let ran = 0
        const counting = tool("look", () => {
          ran++
          return "same"
        })
        const run = yield* played([counting], (_, index) => index < 5 ? look : long(index))
        assert.strictEqual(loopDetected(run).report.turns, 6)
        assert.strictEqual(ran, 3)
      }))

    it.effect("is not withdrawn for one repetition beside a call that is stuck", () =>
      Effect.gen(function*() {
        const both = ScriptedModel.calls(["look", { n: 1 }], ["find", { n: 2 }])
        const run = yield* played(
          [tool("look", () => "same"), tool("find", () => "b")],
          [find, look, look, look, look, both, done]
        )
        assert.strictEqual(offered(run).at(-1), "find")
      }))

    it.effect("is not asked for by toolChoice", () =>
      Effect.gen(function*() {
        const run = yield* played([tool("look", () => "same")], repeating(look), {
          modelOptions: { toolChoice: { tool: "look" } }
        })
        assert.deepStrictEqual(run.requests.map(({ options }) => options.toolChoice), [
          { tool: "look" },
          undefined,
          undefined,
          undefined,
          undefined,
          undefined
        ])
        assert.strictEqual(offered(run).at(-1), "")
      }))
  })

  describe("options", () => {
    it.effect("H10 a custom guard has its own thresholds", () =>
      Effect.gen(function*() {
        const run = yield* played([tool("look", () => "same")], repeating(look), {
          loopGuard: { warnAt: 2, refuseAt: 4, withdrawAt: 5, endAt: 7 }
        })
        assert.deepStrictEqual(steps(run), [
          "2 warned look",
          "3 warned look",
          "4 refused look",
          "5 withdrawn look",
          "6 withdrawn look",
          "7 ended look"
        ])
      }))

    it.effect("H10 refuses at once if the call is told and refused at the same time", () =>
      Effect.gen(function*() {
        let ran = 0
        const run = yield* played(
          [tool("look", () => {
            ran++
            return "same"
          })],
          [look, look, look, done],
          { loopGuard: { warnAt: 3, refuseAt: 3 } }
        )
        assert.deepStrictEqual(steps(run), ["3 refused look"])
        assert.strictEqual(ran, 2)
      }))

    it.effect("H10 an agent without a guard repeats until its turns are used up", () =>
      Effect.gen(function*() {
        const run = yield* played([tool("look", () => "same")], repeating(look), {
          loopGuard: "off",
          limits: { turns: 20 }
        })
        assert.strictEqual(run.failure?._tag, "LimitReached")
        assert.deepStrictEqual(steps(run), [])
      }))

    it("refuses thresholds that are no whole numbers, or come in another order", () => {
      const wrong: ReadonlyArray<LoopGuard.Options> = [
        { warnAt: 1 },
        { warnAt: 2.5 },
        { warnAt: Number.NaN },
        { warnAt: 5, refuseAt: 4 },
        { refuseAt: 5, withdrawAt: 4 },
        { withdrawAt: 6, endAt: 5 },
        { refuseAt: 2 },
        { endAt: 2 },
        { endAt: Number.POSITIVE_INFINITY },
        { window: 3 }
      ]
      for (const options of wrong) {
        assert.throws(() => LoopGuard.make(options), TypeError, "must be a whole number of at least")
        assert.throws(() => Agent.make({ toolkit: Toolkit.empty, loopGuard: options }), TypeError)
      }
      assert.deepStrictEqual(LoopGuard.make(), {
        warnAt: 3,
        refuseAt: 10,
        withdrawAt: 11,
        endAt: 12,
        window: 12
      })
      assert.deepStrictEqual(LoopGuard.make({ warnAt: 2, endAt: 9 }), {
        warnAt: 2,
        refuseAt: 7,
        withdrawAt: 8,
        endAt: 9,
        window: 12
      })
    })
  })

  describe("suspended and replayed runs", () => {
    const asks = Tool.make(
      "asks",
      { description: "", success: Schema.String, sideEffect: "none" },
      () => ToolCall.ask("Which?")
    )

    it.effect("H10 a resumed run starts to count anew, and ends if it is still stuck", () =>
      Effect.gen(function*() {
        const agent = Agent.make({ toolkit: Toolkit.make(asks, tool("look", () => "same")), limits: { turns: 50 } })
        const suspended = yield* Effect.flip(
          Effect.provide(agent.run("?"), ScriptedModel.layer([look, look, look, ScriptedModel.call("asks"), done]))
        )
        if (suspended._tag !== "RunSuspended") return assert.fail(suspended._tag)
        const ended = yield* Effect.flip(
          Effect.provide(agent.resume(suspended.suspension, "this one"), ScriptedModel.layer(repeating(look)))
        )
        assert.strictEqual(ended._tag, "LoopDetected")
        assert.strictEqual(ended.report.turns, 16)
        assert.isTrue(isValid(ended.transcript))
      }))

    it.effect("H10 a replayed run decides the same, after any of its steps", () =>
      Effect.gen(function*() {
        const encode = Schema.encodeSync(AgentFailure.schema)
        const outcome = (journal: Journal.Journal, ran: Array<string>) => {
          const counting = tool("look", () => {
            ran.push("look")
            return { status: "closed", timestamp: 1_700_000_000 + ran.length }
          })
          const agent = Agent.make({ toolkit: Toolkit.make(counting), limits: { turns: 50 } })
          return agent.run("?", { id: "run-1" }).pipe(
            Effect.provide(ScriptedModel.layer((request) => request.messages.length > 0 ? look : done)),
            Effect.provideService(Journal.current, journal)
          )
        }
        const whole: Array<string> = []
        const exit = yield* new FileJournal().process((journal) => outcome(journal, whole))
        if (exit === undefined || Exit.isSuccess(exit)) return assert.fail("the run did not end")
        const expected = encode(yield* Effect.flip(exit))
        assert.strictEqual(expected["_tag"], "LoopDetected")
        for (const step of [2, 4, 6, 7, 9, 11, 12]) {
          const journal = new FileJournal()
          const ran: Array<string> = []
          assert.isUndefined(yield* journal.process((journal) => outcome(journal, ran), { step, hasRun: false }))
          const again = yield* journal.process((journal) => outcome(journal, ran))
          if (again === undefined || Exit.isSuccess(again)) return assert.fail("the run did not end")
          assert.deepStrictEqual(
            withoutTimes(encode(yield* Effect.flip(again))),
            withoutTimes(expected)
          )
          assert.strictEqual(ran.length, 9)
        }
      }))
  })

  describe("attacks", () => {
    const guard = LoopGuard.make()
    const subject = { sideEffect: "none" } as const
    const completed = (value: Schema.Json): Observed["outcome"] => ({
      _tag: "Completed",
      value,
      caveats: [],
      certainty: "not_executed",
      attempts: 1,
      waited: Duration.zero,
      handled: []
    })
    const call = (text: string | undefined, name = "look") =>
      text === undefined ? { id: "1", name } : { id: "1", name, arguments: text }
    const after = (turns: ReadonlyArray<ReadonlyArray<Observed>>) =>
      turns.reduce<Verdict>(
        ({ state }, calls, index) => judgeTurn(guard, state, index + 1, calls, { used: 0 }),
        { state: noLoop, notes: [], repeated: [] }
      )

    it("remembers no more than its window, even after a turn of 10,000 calls", () => {
      const many = Array.from({ length: 10_000 }, (_, n) => ({
        call: call(`{"n":${n}}`),
        outcome: completed(n),
        tool: subject
      }))
      const { state, step } = after([many, many])
      assert.strictEqual(state.seen.length, guard.window + 1)
      assert.isUndefined(step)
    })

    it("takes hostile names and arguments as what they are", () => {
      const names = ["__proto__", "constructor", "toString", "", "💥".repeat(1000)]
      for (const name of names) {
        const observed = [{ call: call("{\"__proto__\":{}}", name), outcome: completed({}), tool: undefined }]
        const { repeated, step } = after([observed, observed, observed])
        assert.strictEqual(step, "warned")
        assert.strictEqual(repeated[0]?.tool, name)
        assert.isBelow(describeLoop(repeated).length, 300)
      }
    })

    it("compares arguments and results of any depth", () => {
      const deep = "[".repeat(200_000)
      const observed = (inner: string) => [{
        call: call(`${deep}${inner}${"]".repeat(200_000)}`),
        outcome: completed(`${deep}1, ${inner}${"]".repeat(200_000)}`),
        tool: subject
      }]
      assert.isUndefined(after([observed("1"), observed("2"), observed("3")]).step)
    })

    it("cuts a huge result in the refusal", () => {
      const observed = [{ call: call("{}"), outcome: completed("x".repeat(5_000_000)), tool: subject }]
      const { state } = after(Array.from({ length: 9 }, () => observed))
      const refusal = refuseInLoop(guard, state, call("{}"), subject)
      assert.isBelow(refusal?.detail.length ?? Infinity, 500)
    })

    it("accepts failures without fields", () => {
      const failure = DispatchFailure.callLimit("", "")
      const observed = [{
        call: call(undefined),
        outcome: {
          _tag: "Failed",
          failure: new ToolUnavailable({ ...failure, code: "" }),
          stage: "run",
          certainty: "not_executed",
          attempts: 0,
          waited: Duration.zero,
          handled: []
        } as const,
        tool: subject
      }]
      assert.strictEqual(after([observed, observed, observed]).step, "warned")
    })
  })
})

const withoutTimes = (encoded: unknown): unknown =>
  JSON.parse(JSON.stringify(encoded).replaceAll(/17000000\d\d/g, "").replaceAll(/"used":[^,}]*/g, ""))
