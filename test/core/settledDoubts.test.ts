/** A doubt is settled: by a check, by a person, by a program, by `Tool.reconcile`. Until then, its tool is closed. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Dispatch, Policy, SemanticGarbage, Tool, ToolCall, type ToolFailure, Toolkit } from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import * as CallFacts from "@fallible/core/CallFacts"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Fiber, Option, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { beginFacts, recordCall } from "../../packages/core/src/internal/dispatch/recordCalls.ts"
import {
  byOrder,
  events,
  lost,
  type Move,
  pay,
  Payment,
  paymentTool,
  scripted,
  settledIn,
  status,
  statusTool,
  waitTool
} from "../support/doubts.ts"
import { codesOf } from "../support/toldFailures.ts"

describe("a tool in hard doubt", () => {
  it.effect("is closed without an identity, whatever the arguments are", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool()
      const { answer } = yield* events(Toolkit.make(tool), [pay("7", "a"), pay("7", "b"), pay("8"), pay("7", "a")])
      assert.deepStrictEqual(paid, ["7"])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "in_doubt", "in_doubt", "repeated_call"])
      const texts = JSON.stringify(Array.from(answer.transcript))
      assert.include(texts, "Tell the user that the earlier call may have worked")
    }))

  it.effect("holds back only the same intent with an identity", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool({ identity: ({ order }) => order })
      const { answer } = yield* events(Toolkit.make(tool), [pay("7", "a"), pay("7", "b"), pay("8")])
      assert.deepStrictEqual(paid, ["7", "8"])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call"])
    }))

  it.effect("stays closed in later runs of its scope, also from stored facts", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool()
      const toolkit = Toolkit.make(tool)
      const { answer: { facts, transcript } } = yield* events(toolkit, [pay("7")])
      const stored = Schema.decodeUnknownSync(CallFacts.schema)(
        JSON.parse(JSON.stringify(Schema.encodeSync(CallFacts.schema)(facts)))
      )
      const later = yield* Agent.make({ toolkit }).run("Go on.", { facts: stored, transcript }).pipe(
        Effect.provide(scripted([pay("8"), pay("7", "again")]))
      )
      assert.deepStrictEqual(codesOf(later), ["in_doubt", "in_doubt"])
      assert.deepStrictEqual(paid, ["7"])
    }))

  it.effect("is not closed for the same call under its key, nor if it is idempotent", () =>
    Effect.gen(function*() {
      const keyed = paymentTool({ sideEffect: "idempotent_by_key", identity: "all" })
      const { answer } = yield* events(Toolkit.make(keyed.pay), [pay("7", "a"), pay("7", "b"), pay("7", "a")])
      assert.deepStrictEqual(keyed.paid, ["7", "7"])
      assert.deepStrictEqual(codesOf(answer), ["connection", "in_doubt"])
      const idempotent = paymentTool({ sideEffect: "idempotent" })
      yield* events(Toolkit.make(idempotent.pay), [pay("7"), pay("8")])
      assert.deepStrictEqual(idempotent.paid, ["7", "8"])
    }))

  it.effect("stays in hard doubt if the same call is refused without a proof later", () =>
    Effect.gen(function*() {
      for (const sideEffect of ["idempotent_by_key", "idempotent"] as const) {
        let calls = 0
        const tool = Tool.promise(
          "pay",
          { description: "", parameters: Payment, success: Schema.String, sideEffect, identity: "all" },
          async () => {
            if (++calls === 1) throw lost
            throw new Error("The card is not accepted here.")
          }
        )
        const { answer } = yield* events(Toolkit.make(tool), [pay("7", "a"), pay("7", "a")])
        assert.strictEqual(calls, 2)
        assert.deepStrictEqual(CallFacts.inDoubt(answer.facts).map(({ strength }) => strength), ["hard"])
      }
    }))

  it.effect("does not close other tools", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool()
      const other = Tool.make("mail", { description: "", success: Schema.String }, () => Effect.succeed("sent"))
      const { answer } = yield* events(Toolkit.make(tool, other), [pay("7"), ["mail", {}], ["mail", {}]])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown"])
      assert.deepStrictEqual(paid, ["7"])
    }))

  it.effect("is not closed by a soft doubt", () =>
    Effect.gen(function*() {
      let calls = 0
      const tool = Tool.promise("pay", { description: "", parameters: Payment, success: Schema.String }, async () => {
        if (++calls === 1) throw new Error("The card is not accepted here.")
        return "receipt"
      })
      const { answer } = yield* events(Toolkit.make(tool), [pay("7"), pay("7"), pay("8")])
      assert.strictEqual(calls, 2)
      assert.strictEqual(answer.report.failures.length, 2)
      assert.deepStrictEqual(CallFacts.inDoubt(answer.facts).map(({ strength }) => strength), ["soft"])
    }))
})

describe("a text that a fixer has corrected", () => {
  // What a text is corrected to changes with each correction.
  const fixedTool = (corrections: ReadonlyArray<string>, { check }: { readonly check?: string } = {}) => {
    const { paid, pay: tool } = paymentTool({
      identity: ({ order }) => order,
      ...(check === undefined ? {} : { check })
    })
    const remaining = [...corrections]
    return { paid, tool: tool.pipe(Tool.fix(() => ({ order: remaining.shift() ?? assert.fail("Asked again.") }))) }
  }

  it.effect("is the same call the next time, whatever the fixer would make of it", () =>
    Effect.gen(function*() {
      const { paid, tool } = fixedTool(["7"])
      const text: Move = ["pay", { ordr: "7" }]
      const { answer } = yield* events(Toolkit.make(tool), [text, text])
      assert.deepStrictEqual(paid, ["7"])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call"])
    }))

  it.effect("is done once its doubt is settled so, whatever the fixer would make of it", () =>
    Effect.gen(function*() {
      const { paid, tool } = fixedTool(["7", "8"], byOrder)
      const text: Move = ["pay", { ordr: "7" }]
      const toolkit = Toolkit.make(tool, statusTool(() => "paid"))
      const { answer } = yield* events(toolkit, [text, status("7"), text])
      assert.deepStrictEqual(paid, ["7"])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "already_done"])
    }))

  it.effect("is done in a later run, also if it has meant something else that was refused", () =>
    Effect.gen(function*() {
      for (let number = 3; number < 15; number++) {
        const good = String(number)
        const paid: Array<string> = []
        const corrections = [good, "1", "2", "15"]
        const tool = Tool.make(
          "pay",
          { description: "", parameters: Payment, success: Schema.String, identity: ({ order }) => order },
          ({ order }) =>
            Effect.suspend(() => {
              if (Number(order) < 3) return new SemanticGarbage({ code: "no", detail: "No such order." })
              paid.push(order)
              return Effect.succeed("receipt")
            })
        ).pipe(Tool.fix(() => ({ order: corrections.shift() ?? assert.fail("Asked again.") })))
        const toolkit = Toolkit.make(tool)
        const text: Move = ["pay", { ordr: "7" }]
        const { answer: { facts, transcript } } = yield* events(toolkit, [text, text, text])
        const later = yield* Agent.make({ toolkit }).run("Go on.", { facts, transcript }).pipe(
          Effect.provide(scripted([text]))
        )
        assert.deepStrictEqual([codesOf(later), paid], [["already_done"], [good]])
      }
    }))

  it.effect("is done in a later run, also if another text meant the same", () =>
    Effect.gen(function*() {
      const { paid, tool } = fixedTool(["1", "7", "7"])
      const toolkit = Toolkit.make(tool)
      const [one, other]: ReadonlyArray<Move> = [["pay", { ordr: "7" }], ["pay", { number: "7" }]]
      const { answer: { facts, transcript } } = yield* events(toolkit, [["pay", { lost: "" }], one!, other!])
      assert.deepStrictEqual(paid, ["1", "7", "7"])
      const later = yield* Agent.make({ toolkit }).run("Go on.", { facts, transcript }).pipe(
        Effect.provide(scripted([one!, other!]))
      )
      assert.deepStrictEqual(codesOf(later), ["already_done", "already_done"])
      assert.deepStrictEqual(paid, ["1", "7", "7"])
    }))
})

describe("a check that settles", () => {
  it.effect("opens the tool if nothing was done, and says by whom", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool(byOrder)
      const toolkit = Toolkit.make(tool, statusTool(() => "open", { final: true }))
      const { answer, events: all } = yield* events(toolkit, [pay("7"), status("7"), pay("7", "again"), status("7")])
      assert.deepStrictEqual(paid, ["7", "7"])
      assert.deepStrictEqual(settledIn(all), [["pay", "not_executed", "check:payment_status"]])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown"])
      assert.include(JSON.stringify(Array.from(answer.transcript)), "has not taken effect, so it may be called again")
      assert.deepStrictEqual(CallFacts.inDoubt(answer.facts), [])
    }))

  it.effect("counts the call as done if it was executed: the same call gets already_done", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool(byOrder)
      const toolkit = Toolkit.make(tool, statusTool(() => "paid"))
      const { answer, events: all } = yield* events(toolkit, [pay("7"), status("7"), pay("7", "again"), pay("8")])
      assert.deepStrictEqual(paid, ["7", "8"])
      assert.deepStrictEqual(settledIn(all), [["pay", "executed", "check:payment_status"]])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "already_done"])
      const settled = Array.from(answer.facts.intents).flatMap(([, { settled }]) => settled ?? [])
      assert.deepStrictEqual(settled, [{ certainty: "executed", by: "check:payment_status" }])
    }))

  it.effect("says nothing about another order, nor by an answer that leaves it open", () =>
    Effect.gen(function*() {
      for (const [about, says] of [["8", "open"], ["7", "pending"]] as const) {
        const { paid, pay: tool } = paymentTool(byOrder)
        const toolkit = Toolkit.make(tool, statusTool(() => says, { final: true }))
        const { events: all } = yield* events(toolkit, [pay("7"), status(about), pay("7", "again")])
        assert.deepStrictEqual(settledIn(all), [])
        assert.deepStrictEqual(paid, ["7"])
      }
    }))

  it.effect("proves nothing by finding nothing, without a promise", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool(byOrder)
      const toolkit = Toolkit.make(tool, statusTool(() => "open"))
      const { answer } = yield* events(toolkit, [pay("7"), status("7"), pay("7", "again")])
      assert.deepStrictEqual(paid, ["7"])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call"])
    }))

  it.effect("proves something by finding nothing only once the time to settle is up", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool(byOrder)
      const toolkit = Toolkit.make(tool, waitTool("11 seconds"), statusTool(() => "open", { settle: "10 seconds" }))
      const { answer, events: all } = yield* events(toolkit, [
        pay("7"),
        status("7"),
        pay("7", "again"),
        ["wait", {}],
        status("7"),
        pay("7", "again")
      ])
      assert.deepStrictEqual(paid, ["7", "7"])
      assert.deepStrictEqual(settledIn(all), [["pay", "not_executed", "check:payment_status"]])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call"])
      assert.include(JSON.stringify(Array.from(answer.transcript)), "Call payment_status again in 10s")
    }))

  it.effect("names the rest of the time to settle in whole seconds: a model cannot wait for less", () =>
    Effect.gen(function*() {
      const { pay: tool } = paymentTool(byOrder)
      const toolkit = Toolkit.make(tool, waitTool("9909 millis"), statusTool(() => "open", { settle: "10 seconds" }))
      const { answer } = yield* events(toolkit, [pay("7"), ["wait", {}], status("7")])
      assert.include(JSON.stringify(Array.from(answer.transcript)), "Call payment_status again in 1s")
    }))

  it.effect("counts the time to settle from the end of the call, and of the latest one with this intent", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const losing = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...byOrder },
        ({ order }) =>
          Effect.suspend(() => {
            paid.push(order)
            return Effect.fail(lost)
          })
      )
      const toolkit = Toolkit.make(losing, waitTool("11 seconds"), statusTool(() => "open", { settle: "10 seconds" }))
      const { events: all } = yield* events(toolkit, [
        pay("7"),
        ["wait", {}],
        status("7"),
        pay("7", "b"),
        status("7"),
        pay("7", "c")
      ])
      assert.deepStrictEqual(paid, ["7", "7"])
      assert.strictEqual(settledIn(all).length, 1)
    }))

  it.effect("counts the time to settle only once nothing of the call runs any more", () =>
    Effect.gen(function*() {
      const slow = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, uninterruptible: true, ...byOrder },
        () => Effect.as(Effect.andThen(TestClock.adjust("1 second"), Effect.sleep("20 seconds")), "receipt")
      ).pipe(Tool.timeout("1 second"))
      const toolkit = Toolkit.make(slow, waitTool("22 seconds"), statusTool(() => "open", { settle: "10 seconds" }))
      const wait: Move = ["wait", {}]
      const { events: all } = yield* events(toolkit, [pay("7"), wait, status("7"), wait, status("7")])
      assert.deepStrictEqual(settledIn(all), [["pay", "not_executed", "check:payment_status"]])
      const settling = all.find(({ _tag }) => _tag === "DoubtSettled")
      assert.strictEqual(settling?._tag === "DoubtSettled" && settling.turn, 5)
    }))

  it.effect("says nothing about tools that do not name it", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool({ identity: ({ order }) => order })
      const other = Tool.make(
        "send",
        { description: "", success: Schema.String, check: "payment_status" },
        () => Effect.succeed("")
      )
      const toolkit = Toolkit.make(tool, other, statusTool(() => "open", { final: true }))
      const { events: all } = yield* events(toolkit, [pay("7"), status("7"), pay("7")])
      assert.deepStrictEqual(settledIn(all), [])
      assert.deepStrictEqual(paid, ["7"])
      // Nor if the tool names another check.
      const { pay: elsewhere } = paymentTool({ ...byOrder, check: "bank_status" })
      const bank = Tool.make(
        "bank_status",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => Effect.succeed("")
      )
      const two = Toolkit.make(elsewhere, bank, statusTool(() => "open", { final: true }))
      assert.deepStrictEqual(settledIn((yield* events(two, [pay("7"), status("7")])).events), [])
    }))

  it.effect("does not count if its answer is old", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool(byOrder)
      const old = Tool.make(
        "payment_status",
        {
          description: "",
          parameters: Schema.Struct({ order: Schema.String }),
          success: Schema.String,
          sideEffect: "none",
          identity: ({ order }) => order,
          settles: { outcome: () => "not_executed", final: true }
        },
        () => Effect.as(ToolCall.source({ name: "a cache", age: "1 minute" }), "open")
      )
      const { events: all } = yield* events(Toolkit.make(tool, old), [pay("7"), status("7"), pay("7")])
      assert.deepStrictEqual(settledIn(all), [])
      assert.deepStrictEqual(paid, ["7"])
    }))

  it.effect("waits the whole time again in another process", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool(byOrder)
      const toolkit = Toolkit.make(tool, statusTool(() => "open", { settle: "10 seconds" }))
      const { answer: { facts, transcript } } = yield* events(toolkit, [pay("7")])
      yield* TestClock.adjust("1 hour")
      // Another process knows nothing of the scope: here, the same facts under another name.
      const elsewhere: CallFacts.CallFacts = { ...facts, scope: "elsewhere" }
      const later = yield* Agent.make({ toolkit }).run("Go on.", { facts: elsewhere, transcript }).pipe(
        Effect.provide(scripted([status("7"), pay("7", "again")]))
      )
      assert.deepStrictEqual(codesOf(later), ["repeated_call"])
      assert.deepStrictEqual(paid, ["7"])
    }))

  for (const waits of [true, false]) {
    it.effect(`does not count if a policy answers with an old value, and ${waits ? "runs" : "starts"} the check`, () =>
      Effect.gen(function*() {
        const { paid, pay: tool } = paymentTool(byOrder)
        const staleWhileRevalidate = Policy.make({
          kind: "custom",
          name: "stale while revalidate",
          description: "",
          wrap: <A, E extends ToolFailure.ToolFailure, R>(run: Policy.Run<A, E, R>) => {
            let kept: { readonly value: A } | undefined
            return (params: unknown) =>
              Effect.suspend(() => {
                const before = kept
                const fresh = Effect.tap(run(params), (value) =>
                  Effect.sync(() => {
                    kept = { value }
                  }))
                if (before === undefined) return fresh
                const started = waits
                  ? Effect.asVoid(Effect.exit(fresh))
                  : Effect.asVoid(Effect.forkDetach(fresh, { startImmediately: true }))
                return Effect.as(started, before.value)
              })
          }
        })
        const check = Tool.with(
          statusTool(() => paid.length > 0 ? "paid" : "open", { final: true }),
          staleWhileRevalidate
        )
        const moves = [status("7"), pay("7"), status("7"), pay("7", "again")]
        const { events: all } = yield* events(Toolkit.make(tool, check), moves)
        assert.deepStrictEqual(settledIn(all), [])
        assert.deepStrictEqual(paid, ["7"])
      }))
  }

  it.effect("counts if a policy hands on what its run gave", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool(byOrder)
      const traced = Policy.make({
        kind: "custom",
        name: "traced",
        description: "",
        wrap: (run) => (params) => Effect.withSpan(run(params), "check")
      })
      const check = Tool.with(statusTool(() => "open", { final: true }), traced)
      const { events: all } = yield* events(Toolkit.make(tool, check), [pay("7"), status("7"), pay("7", "again")])
      assert.deepStrictEqual(settledIn(all), [["pay", "not_executed", "check:payment_status"]])
      assert.deepStrictEqual(paid, ["7", "7"])
    }))

  it.effect("settles nothing if two tools name it, also without an agent", () =>
    Effect.gen(function*() {
      const { pay: tool } = paymentTool(byOrder)
      const refund = Tool.make(
        "refund",
        { description: "", parameters: Payment, success: Schema.String, ...byOrder },
        () => Effect.fail(lost)
      )
      const toolkit = Toolkit.make(tool, refund, statusTool(() => "paid", { final: true }))
      let facts = beginFacts(CallFacts.empty, "shared check")
      for (const name of ["pay", "payment_status"]) {
        const outcome = yield* Dispatch.call(toolkit, { id: name, name, arguments: "{\"order\":\"7\"}" }, { facts })
        facts = recordCall(facts, outcome, toolkit.tools.get(name)!)
      }
      assert.lengthOf(CallFacts.inDoubt(facts), 1)
    }))

  it.effect("does not count if its answer is not fresh", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool(byOrder)
      const failing = Tool.make("payment_status", {
        description: "",
        parameters: Schema.Struct({ order: Schema.String }),
        success: Schema.String,
        sideEffect: "none",
        identity: ({ order }) => order,
        settles: { outcome: () => "not_executed", final: true }
      }, () => Effect.fail(lost)).pipe(Tool.fallback(() => Effect.succeed("open")))
      const { events: all } = yield* events(Toolkit.make(tool, failing), [pay("7"), status("7"), pay("7", "again")])
      assert.deepStrictEqual(settledIn(all), [])
      assert.deepStrictEqual(paid, ["7"])
    }))

  it.effect("proves nothing by finding nothing while the handler still runs: it may act later", () =>
    Effect.gen(function*() {
      for (const promise of [{ final: true }, { settle: "1 second" }] as const) {
        const paid: Array<string> = []
        const tool = Tool.make("pay", {
          description: "",
          parameters: Payment,
          success: Schema.String,
          uninterruptible: true,
          ...byOrder
        }, ({ order }) => Effect.andThen(Effect.sleep("1 minute"), Effect.sync(() => `receipt ${paid.push(order)}`)))
          .pipe(
            Tool.timeout("1 second")
          )
        const wait = Tool.make(
          "wait",
          { description: "", success: Schema.String, sideEffect: "none" },
          () => Effect.as(Effect.sleep("10 seconds"), "waited")
        )
        const toolkit = Toolkit.make(tool, wait, statusTool(() => "open", promise))
        const moves = [pay("7"), ["wait", {}] as const, status("7"), pay("7", "again")]
        const run = yield* Effect.forkChild(events(toolkit, moves))
        yield* TestClock.adjust("20 seconds")
        const { answer, events: all } = yield* Fiber.join(run)
        assert.deepStrictEqual(settledIn(all), [])
        assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call"])
        yield* TestClock.adjust("2 minutes")
        assert.deepStrictEqual(paid, ["7"])
      }
    }))

  it.effect("settles a doubt that came only after the call had ended", () =>
    Effect.gen(function*() {
      for (const [says, count] of [["paid", 1], ["open", 2]] as const) {
        let calls = 0
        let later = async (): Promise<unknown> => undefined
        const tool = Tool.promise(
          "pay",
          { description: "", parameters: Payment, success: Schema.String, ...byOrder },
          async (_, { noteRequest, refuse }) => {
            if (++calls > 1) return "receipt"
            later = async () => noteRequest({ method: "POST", url: "https://bank.example/pay", status: 200 })
            return refuse("Not now.")
          }
        )
        const late = Tool.promise(
          "late",
          { description: "", success: Schema.String, sideEffect: "none" },
          async () => {
            await later()
            return "sent"
          }
        )
        const toolkit = Toolkit.make(tool, late, statusTool(() => says, { final: true }))
        const { answer, events: all } = yield* events(toolkit, [
          pay("7"),
          ["late", {}],
          pay("7", "b"),
          status("7"),
          pay("7", "c")
        ])
        assert.deepStrictEqual(settledIn(all).length, 1)
        assert.strictEqual(calls, count)
        assert.deepStrictEqual(
          codesOf(answer),
          says === "paid" ? ["rejected", "repeated_call", "already_done"] : ["rejected", "repeated_call"]
        )
      }
    }))

  it.effect("keeps its answer if 'settles' throws or is ill-typed", () =>
    Effect.gen(function*() {
      for (
        const outcome of [
          () => assert.fail("boom"),
          () => "maybe" as never,
          (() => Promise.resolve("executed")) as never
        ]
      ) {
        const { paid, pay: tool } = paymentTool(byOrder)
        const toolkit = Toolkit.make(tool, statusTool(() => "open", {}, { settles: { outcome, final: true } }))
        const { answer } = yield* events(toolkit, [pay("7"), status("7"), pay("7", "again")])
        assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call"])
        assert.deepStrictEqual(paid, ["7"])
      }
    }))

  it("is refused when it is made, unless it only reads, and has a function", () => {
    const parts = { description: "", success: Schema.String }
    assert.throws(
      () => Tool.make("a", { ...parts, settles: { outcome: () => "executed" } }, () => Effect.succeed("")),
      /read-only/
    )
    assert.throws(
      () => Tool.make("a", { ...parts, sideEffect: "none", settles: {} as never }, () => Effect.succeed("")),
      /'settles' must be an object such as/
    )
    assert.throws(
      () =>
        Tool.make(
          "a",
          { ...parts, sideEffect: "none", settles: { outcome: () => "executed", final: true, settle: "1 second" } },
          () => Effect.succeed("")
        ),
      /either 'final' or 'settle'/
    )
  })
})

describe("a person", () => {
  const asking = Effect.fnUntraced(function*(replies: ReadonlyArray<string>, moves: ReadonlyArray<Move>) {
    const { paid, pay: tool } = paymentTool()
    const agent = Agent.make({ toolkit: Toolkit.make(tool), onDoubt: "ask" })
    const remaining = [...replies]
    const asked: Array<string> = []
    const answered = (run: ReturnType<typeof agent.run>): ReturnType<typeof agent.run> =>
      Effect.catchTag(run, "RunSuspended", ({ question, suspension }) => {
        asked.push(question)
        return answered(agent.resume(suspension, remaining.shift() ?? assert.fail("Nobody answers.")))
      })
    const answer = yield* answered(agent.run("Go.")).pipe(Effect.provide(scripted(moves)))
    return { answer, asked, paid }
  })

  it.effect("is asked what became of the call, and opens the tool", () =>
    Effect.gen(function*() {
      const { answer, asked, paid } = yield* asking(["No."], [pay("7", "a"), pay("7", "b"), pay("8")])
      const id = Array.from(answer.facts.intents).flatMap(([id, { settled }]) => settled === undefined ? [] : [id])
      assert.deepStrictEqual(asked, [
        `pay was called with {"order":"7","note":"a"}, and failed with outcome_unknown: Reset. Nobody knows whether it took effect. Did it? Answer "yes" or "no". (Doubt ${id.join()})`
      ])
      assert.deepStrictEqual(paid, ["7", "7", "8"])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown"])
      const settled = Array.from(answer.facts.intents).flatMap(([, { settled }]) => settled ?? [])
      assert.deepStrictEqual(settled, [{ certainty: "not_executed", by: "person" }])
    }))

  it.effect("reads every argument, as it is", () =>
    Effect.gen(function*() {
      const note = `\u202Eevil\u2066 \u200B${"Pays order 3. ".repeat(500)}`
      const parameters = Schema.Struct({ note: Schema.String, order: Schema.String })
      const tool = Tool.make("pay", { description: "", parameters, success: Schema.String }, () => Effect.fail(lost))
      const agent = Agent.make({ toolkit: Toolkit.make(tool), onDoubt: "ask" })
      const moves: ReadonlyArray<Move> = [["pay", { note, order: "all" }], ["pay", { note, order: "other" }]]
      const waiting = yield* Effect.flip(agent.run("Go.").pipe(Effect.provide(scripted(moves))))
      if (waiting._tag !== "RunSuspended") return assert.fail(waiting._tag)
      assert.include(waiting.question, "\"order\":\"all\"")
      assert.notMatch(waiting.question, /[\u202E\u2066\u200B]/)
    }))

  // Both doubts hold back the third call, and only their ids tell their questions apart.
  it.effect("answers each question on its own, although both read the same", () =>
    Effect.gen(function*() {
      const sent: Array<string> = []
      const answer = (): Promise<unknown> => Promise.resolve()
      let late = answer
      const parameters = Schema.Struct({ note: Schema.String, order: Schema.String })
      const bank = { method: "POST", url: "https://bank.example/pay" }
      const tool = Tool.promise(
        "pay",
        { description: "", parameters, success: Schema.String },
        async ({ order }, { noteRequest, refuse }) => {
          sent.push(order)
          if (sent.length === 1) {
            late = async () => noteRequest({ ...bank, status: 200 })
            return refuse("Not now.")
          }
          noteRequest({ ...bank, status: 500 })
          throw new Error("Not now.")
        }
      )
      const after = Tool.promise("after", { description: "", success: Schema.String, sideEffect: "none" }, async () => {
        await late()
        return "sent"
      })
      const agent = Agent.make({ toolkit: Toolkit.make(tool, after), onDoubt: "ask", loopGuard: "off" })
      const call = (
        order: string
      ): Move => ["pay", { note: "n".repeat(1_000) + order, order: "o".repeat(100) + order }]
      const asked: Array<string> = []
      const replies = ["no", "yes"]
      const answered = (run: ReturnType<typeof agent.run>): ReturnType<typeof agent.run> =>
        Effect.catchTag(run, "RunSuspended", ({ question, suspension }) => {
          asked.push(question)
          return answered(agent.resume(suspension, replies.shift() ?? assert.fail("Nobody answers.")))
        })
      const { facts } = yield* answered(agent.run("Go.", { facts: CallFacts.empty, scope: "two questions" })).pipe(
        Effect.provide(scripted([call("A"), call("B"), ["after", {}], call("C")]))
      )
      const settled = Array.from(facts.intents).flatMap(([, { settled }]) => settled?.certainty ?? [])
      assert.sameMembers(settled, ["not_executed", "executed"])
      const [first, second] = asked.map((question) => question.replace(/ \(Doubt \w+\)/, ""))
      assert.strictEqual(first, second)
      assert.lengthOf(sent, 2)
    }))

  it.effect("says that it took effect: the same call is not made again", () =>
    Effect.gen(function*() {
      const same = yield* asking(["yes"], [pay("7"), pay("7")])
      assert.deepStrictEqual(same.paid, ["7"])
      assert.deepStrictEqual(codesOf(same.answer), ["outcome_unknown", "already_done"])
      const other = yield* asking(["YES!"], [pay("7"), pay("8"), pay("8")])
      assert.deepStrictEqual(other.paid, ["7", "8"])
      assert.deepStrictEqual(codesOf(other.answer), ["outcome_unknown", "in_doubt"])
      assert.include(JSON.stringify(Array.from(other.answer.transcript)), "If something else is meant, call it again")
    }))

  it.effect("is told of the call in doubt, whatever the spaces in a text that a fixer corrected", () =>
    Effect.gen(function*() {
      const orders = ["7", "07"]
      const { paid, pay: tool } = paymentTool({ identity: ({ order }) => order })
      const fixed = tool.pipe(Tool.fix(() => ({ order: orders.shift() ?? "" })))
      const [one, ...others] = ["{\"ordr\":7}", "{\"ordr\": 7}", "\n{\"ordr\":7} "].map((text) =>
        ScriptedModel.call("pay", text)
      )
      const answer = yield* Agent.make({ toolkit: Toolkit.make(fixed) }).run("Go.").pipe(
        Effect.provide(ScriptedModel.layer([one!, ...others, ScriptedModel.text("Done.")]))
      )
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call", "repeated_call"])
      assert.deepStrictEqual(paid, ["7"])
    }))

  it.effect("is asked about a text that a fixer corrected, and any other word leaves it refused after the resume", () =>
    Effect.gen(function*() {
      let asked = 0
      const { paid, pay: tool } = paymentTool({ identity: ({ note }) => note ?? "none" })
      const fixed = tool.pipe(Tool.fix(() => ({ order: "7", note: ["for Ada", "to Ada"][asked++] ?? "" })))
      const agent = Agent.make({ toolkit: Toolkit.make(fixed), onDoubt: "ask" })
      const wrong = ScriptedModel.call("pay", "{\"ordr\":\"7\"}")
      const failure = yield* Effect.flip(agent.run("Go.")).pipe(
        Effect.provide(ScriptedModel.layer([wrong, wrong]))
      )
      if (failure._tag !== "RunSuspended") return assert.fail(failure._tag)
      const answer = yield* agent.resume(failure.suspension, "perhaps").pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.text("Done.")]))
      )
      assert.deepStrictEqual([asked, paid], [1, ["7"]])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call"])
    }))

  // The model has not read that the effect has happened when its next call, in other words, is made after all.
  it.effect("says that it took effect: a call in other words waits until the model has read that", () =>
    Effect.gen(function*() {
      const { paid } = yield* asking(["yes"], [pay("7", "for Ada"), pay("7", "für Ada")])
      assert.deepStrictEqual(paid, ["7"])
    }))

  // The call that asked is suspended once more, and forgets then what the first reply has settled.
  it.effect("is asked once, although the handler asks, too", () =>
    Effect.gen(function*() {
      let calls = 0
      const tool = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String },
        ({ order }) =>
          Effect.gen(function*() {
            yield* ToolCall.ask(`Shall ${order} be paid?`)
            return ++calls === 1 ? yield* lost : "receipt"
          })
      )
      const agent = Agent.make({ toolkit: Toolkit.make(tool), onDoubt: "ask" })
      const asked: Array<string> = []
      const answered = (run: ReturnType<typeof agent.run>): ReturnType<typeof agent.run> =>
        Effect.catchTag(run, "RunSuspended", ({ question, suspension }) => {
          asked.push(question.startsWith("Shall") ? question : "Did it?")
          return answered(agent.resume(suspension, question.startsWith("Shall") ? "yes" : "no"))
        })
      const { facts } = yield* answered(agent.run("Go.")).pipe(Effect.provide(scripted([pay("7"), pay("8"), pay("9")])))
      assert.deepStrictEqual(asked, ["Shall 7 be paid?", "Did it?", "Shall 8 be paid?", "Shall 9 be paid?"])
      assert.deepStrictEqual(CallFacts.inDoubt(facts), [])
    }))

  it.effect("settles nothing with any other words", () =>
    Effect.gen(function*() {
      for (const words of ["I think no, not yet", "No idea", "yes and no", ""]) {
        const { answer, asked, paid } = yield* asking([words], [pay("7"), pay("8")])
        assert.strictEqual(asked.length, 1)
        assert.deepStrictEqual(paid, ["7"])
        assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "in_doubt"])
        assert.strictEqual(CallFacts.inDoubt(answer.facts).length, 1)
      }
    }))
})

describe("a program", () => {
  it.effect("lists what is in doubt, and settles it once", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool()
      const toolkit = Toolkit.make(tool)
      const { answer: { facts, transcript } } = yield* events(toolkit, [pay("7", "a")])
      const [doubt] = CallFacts.inDoubt(facts)
      assert.deepInclude(doubt, { tool: "pay", strength: "hard", code: "outcome_unknown", run: 0 })
      assert.deepStrictEqual(doubt?.arguments, "{\"order\":\"7\",\"note\":\"a\"}")
      const id = doubt!.id
      const settled = Result.getOrThrow(CallFacts.settle(facts, id, { certainty: "not_executed", by: "ops" }))
      assert.deepStrictEqual(CallFacts.inDoubt(settled), [])
      const twice = CallFacts.settle(settled, id, { certainty: "executed", by: "ops" })
      assert.isTrue(Result.isFailure(twice))
      assert.throws(() => CallFacts.settle(facts, id, { certainty: "unknown" as never, by: "ops" }), TypeError)
      assert.throws(() => CallFacts.settle(facts, id, { certainty: "executed", by: " " }), TypeError)
      const later = yield* Agent.make({ toolkit }).run("Go on.", { facts: settled, transcript }).pipe(
        Effect.provide(scripted([pay("7", "b")]))
      )
      assert.deepStrictEqual(codesOf(later), [])
      assert.deepStrictEqual(paid, ["7", "7"])
    }))

  it.effect("keeps the key of a call that did nothing, and gives the next effect a new one", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const tool = Tool.make(
        "pay",
        {
          description: "",
          parameters: Payment,
          success: Schema.String,
          sideEffect: "idempotent_by_key",
          identity: ({ order }) => order,
          repeats: true
        },
        () =>
          Effect.flatMap(
            ToolCall.current,
            ({ idempotencyKey }) => keys.push(idempotencyKey) === 1 ? Effect.fail(lost) : Effect.succeed("receipt")
          )
      )
      const toolkit = Toolkit.make(tool)
      const { answer: { facts, transcript } } = yield* events(toolkit, [pay("7")])
      for (const certainty of ["not_executed", "executed"] as const) {
        const [doubt] = CallFacts.inDoubt(facts)
        const settled = Result.getOrThrow(CallFacts.settle(facts, doubt!.id, { certainty, by: "ops" }))
        yield* Agent.make({ toolkit }).run("Go on.", { facts: settled, transcript }).pipe(
          Effect.provide(scripted([pay("7")]))
        )
      }
      const [first, afterNothing, afterEffect] = keys
      assert.strictEqual(afterNothing, first)
      assert.notStrictEqual(afterEffect, first)
    }))

  it.effect("settles the doubt about a call whose arguments are lost", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool({ identity: ({ order }) => order })
      const fixed = tool.pipe(Tool.fix(() => ({ order: "7" })))
      const begun: CallFacts.CallFacts = beginFacts(CallFacts.empty, "s")
      const lost = yield* Dispatch.call(Toolkit.make(fixed), { id: "1", name: "pay", arguments: "{" }, {
        facts: begun,
        wasBegun: true
      })
      const facts = recordCall(begun, lost, fixed)
      const call = { id: "2", name: "pay", arguments: "{\"order\":\"8\"}" }
      const refused = yield* Dispatch.call(Toolkit.make(fixed), call, { facts })
      assert.strictEqual(refused._tag === "Failed" && refused.failure.code, "in_doubt")
      const [doubt] = CallFacts.inDoubt(facts)
      const settled = Result.getOrThrow(CallFacts.settle(facts, doubt!.id, { certainty: "not_executed", by: "ops" }))
      yield* Dispatch.call(Toolkit.make(fixed), call, { facts: settled })
      assert.deepStrictEqual(paid, ["8"])
    }))
})

describe("Tool.reconcile", () => {
  it.effect("is asked again when the same call is repeated in doubt, and the handler does not run", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool({ identity: ({ order }) => order })
      let looks = 0
      const checked = tool.pipe(
        Tool.reconcile(() => ++looks === 1 ? Effect.fail(lost) : Effect.succeed(Option.some("found receipt")))
      )
      const { answer, events: all } = yield* events(Toolkit.make(checked), [
        pay("7"),
        pay("7", "again"),
        pay("7", "once more")
      ])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "already_done"])
      assert.deepStrictEqual(paid, ["7"])
      assert.strictEqual(looks, 2)
      assert.deepStrictEqual(settledIn(all), [["pay", "executed", "reconcile"]])
      const [, found = "", again = ""] = toolTexts(answer)
      assert.deepStrictEqual(JSON.parse(found), {
        value: "found receipt",
        notes: ["It had been done before, so it was not done again"]
      })
      assert.include(again, "found receipt")
    }))

  it.effect("proves that nothing was done under its law, and then the tool may run again", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool({ identity: ({ order }) => order })
      let looks = 0
      const checked = tool.pipe(
        Tool.reconcile(() => ++looks === 1 ? Effect.fail(lost) : Effect.succeed(Option.none()), { final: true })
      )
      const { answer } = yield* events(Toolkit.make(checked), [pay("7"), pay("7", "b"), pay("7", "c")])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "not_executed"])
      assert.deepStrictEqual(paid, ["7", "7"])
    }))
})

describe("an effect that was found is not repeated in the same run, unless the tool repeats", () => {
  const receipt = Effect.succeed(Option.some("found receipt"))
  const identity = ({ order }: typeof Payment.Type) => order
  const found = {
    reconcile: ({ repeats }: Repeating) => {
      const { paid, pay: tool } = paymentTool({ identity, ...repeats })
      let looks = 0
      const checked = tool.pipe(Tool.reconcile(() => ++looks === 1 ? Effect.fail(lost) : receipt))
      return { paid, run: events(Toolkit.make(checked), [pay("7"), pay("7", "b"), pay("7", "c")]) }
    },
    lookFirst: ({ repeats }: Repeating) => {
      const { paid, pay: tool } = paymentTool({ identity, ...repeats })
      let looks = 0
      const checked = tool.pipe(
        Tool.reconcile(() => ++looks === 1 ? receipt : Effect.succeed(Option.none()), { lookFirst: true })
      )
      // An earlier run has paid, and its facts are lost.
      paid.push("7")
      return { paid, run: events(Toolkit.make(checked), [pay("7", "b"), pay("7", "c")]) }
    },
    "a check": ({ repeats }: Repeating) => {
      const { paid, pay: tool } = paymentTool({ ...byOrder, ...repeats })
      const toolkit = Toolkit.make(tool, statusTool(() => "paid"))
      return { paid, run: events(toolkit, [pay("7"), status("7"), pay("7", "c")]) }
    }
  }
  for (const [by, game] of Object.entries(found)) {
    for (const [repeats, times] of [[{}, 1], [{ repeats: true }, 2]] as const) {
      it.effect(`${by}, ${JSON.stringify(repeats)}`, () =>
        Effect.gen(function*() {
          const { paid, run } = game({ repeats })
          const { answer, events: all } = yield* run
          assert.strictEqual(settledIn(all).length, 1)
          assert.strictEqual(paid.length, times)
          assert.strictEqual(codesOf(answer).includes("already_done"), times === 1)
          const fact = Array.from(answer.facts.intents, ([, { settled }]) => settled?.certainty)
          assert.deepStrictEqual(fact, [times === 1 ? "executed" : undefined])
        }))
    }
  }

  it.effect("but a call that finds its own effect has succeeded, and the next one is another", () =>
    Effect.gen(function*() {
      const { paid, pay: tool } = paymentTool({ identity })
      const toolkit = Toolkit.make(tool.pipe(Tool.reconcile(() => receipt)))
      const { answer, events: all } = yield* events(toolkit, [pay("7"), pay("7", "for Bo, too")])
      assert.deepStrictEqual([codesOf(answer), settledIn(all), paid], [[], [], ["7", "7"]])
      assert.deepStrictEqual(JSON.parse(toolTexts(answer)[0] ?? ""), {
        value: "found receipt",
        notes: ["Its answer was lost or unclear, but a check found that it took effect"]
      })
    }))

  it.effect("nor does a call that was sent again under its key repeat what it finds", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      let looks = 0
      const tool = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, sideEffect: "idempotent_by_key", identity },
        () =>
          Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => {
            keys.push(idempotencyKey)
            return Effect.fail(lost)
          })
      ).pipe(Tool.reconcile(() => ++looks === 1 ? Effect.fail(lost) : receipt))
      const { answer, events: all } = yield* events(Toolkit.make(tool), [pay("7"), pay("7", "b"), pay("7", "c")])
      assert.deepStrictEqual([codesOf(answer), settledIn(all)], [["connection"], []])
      const [first, again, next] = keys
      assert.strictEqual(again, first)
      assert.notStrictEqual(next, first)
    }))

  it.effect("nor is it settled by a call whose process ended, and which finds its own effect", () =>
    Effect.gen(function*() {
      const tool = paymentTool({ identity }).pay.pipe(Tool.reconcile(() => receipt))
      const begun = beginFacts(CallFacts.empty, "s")
      const call = { id: "1", name: "pay", arguments: "{\"order\":\"7\"}" }
      const outcome = yield* Dispatch.call(Toolkit.make(tool), call, { facts: begun, wasBegun: true })
      assert.deepInclude(outcome, { _tag: "Completed", certainty: "executed", attempts: 0 })
      const facts = Array.from(
        recordCall(begun, outcome, tool).intents,
        ([, { done, settled }]) => [done?.run, settled]
      )
      assert.deepStrictEqual(facts, [[0, undefined]])
    }))
})

interface Repeating {
  readonly repeats: { readonly repeats?: true }
}

const toolTexts = ({ transcript }: Answer.Answer): ReadonlyArray<string> =>
  Array.from(transcript).flatMap((message) => message.role === "tool" ? [message.text] : [])
