/** What a call has left behind may still act. Until it has ended, nothing settles the doubt about the call. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Dispatch, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Fiber, Option, Schema } from "effect"
import { TestClock } from "effect/testing"
import {
  byOrder,
  events,
  lost,
  pay,
  Payment,
  paymentTool,
  settledIn,
  status,
  statusTool,
  waitTool
} from "../support/doubts.ts"
import { codesOf } from "../support/toldFailures.ts"

/** A payment tool whose handler goes on after its time limit, and acts at its end. */
const slowTool = (definition: Partial<Tool.Definition<string, typeof Payment.Type>> = byOrder) => {
  const paid: Array<string> = []
  const tool = Tool.make(
    "pay",
    {
      description: "",
      parameters: Payment,
      success: Schema.String,
      uninterruptible: true,
      identity: ({ order }) => order,
      ...definition
    },
    ({ order }) => Effect.andThen(Effect.sleep("1 minute"), Effect.sync(() => `receipt ${paid.push(order)}`))
  ).pipe(Tool.timeout("1 second"))
  const check = ({ order }: typeof Payment.Type) =>
    Effect.sync(() => paid.includes(order) ? Option.some("receipt") : Option.none<string>())
  return { check, paid, tool }
}

/** Lets time pass until an Effect has ended, and then an hour. */
const inTime = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(effect)
    for (let step = 0; step < 200; step++) yield* TestClock.adjust("500 millis")
    const result = yield* Fiber.join(fiber)
    yield* TestClock.adjust("1 hour")
    return result
  })

const promises = [{ final: true }, { settle: "10 seconds" }] as const

describe("a call whose handler still runs", () => {
  it.effect("is not settled when it is repeated, and only its check runs", () =>
    Effect.gen(function*() {
      for (const promise of promises) {
        const { check, paid, tool } = slowTool()
        const { events: all } = yield* inTime(
          events(
            Toolkit.make(tool.pipe(Tool.reconcile(check, promise)), statusTool(() => "open")),
            [pay("7"), pay("7"), pay("7")]
          )
        )
        assert.deepStrictEqual([settledIn(all), paid], [[], ["7"]])
      }
    }))

  it.effect("is not settled when a handler repeats it", () =>
    Effect.gen(function*() {
      for (const promise of promises) {
        const { check, paid, tool } = slowTool()
        const inner = tool.pipe(Tool.reconcile(check, promise))
        const outer = Tool.make(
          "order",
          { description: "", success: Schema.String },
          () => Effect.retry(inner.run({ order: "7" }), { times: 2 })
        )
        yield* inTime(Dispatch.call(Toolkit.make(outer), { id: "1", name: "order" }))
        assert.deepStrictEqual(paid, ["7"])
      }
    }))

  it.effect("is not settled by a person, who is not asked", () =>
    Effect.gen(function*() {
      const { paid, tool } = slowTool({})
      const answer = yield* inTime(
        Agent.make({ toolkit: Toolkit.make(tool), onDoubt: "ask" }).run("Go.").pipe(
          Effect.provide(ScriptedModel.layer([
            ScriptedModel.call("pay", { order: "7" }),
            ScriptedModel.call("pay", { order: "7" }),
            ScriptedModel.text("Done.")
          ]))
        )
      )
      assert.deepStrictEqual([codesOf(answer), paid], [["outcome_unknown", "repeated_call"], ["7"]])
    }))

  it.effect("is not settled while a tool that it has started runs", () =>
    Effect.gen(function*() {
      const { paid, tool: inner } = slowTool({})
      const outer = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...byOrder },
        (params) => Effect.andThen(Effect.forkDetach(inner.run(params)), Effect.andThen(Effect.sleep(500), lost))
      )
      const toolkit = Toolkit.make(outer, statusTool(() => paid.length > 0 ? "paid" : "open", { final: true }))
      const { events: all } = yield* inTime(events(toolkit, [pay("7"), status("7"), pay("7")]))
      assert.deepStrictEqual([settledIn(all), paid], [[], ["7"]])
    }))
})

describe("the time to settle", () => {
  const wait = (name: string) => [name, {}] as const

  it.effect("begins with the end of the handler", () =>
    Effect.gen(function*() {
      for (const looks of [[], [status("7")]]) {
        const { paid, tool } = slowTool()
        const toolkit = Toolkit.make(tool, waitTool("59 seconds"), statusTool(() => "open", { settle: "10 seconds" }))
        const { answer, events: all } = yield* inTime(
          events(toolkit, [pay("7"), ...looks, wait("wait"), status("7"), pay("7", "again")])
        )
        assert.deepStrictEqual([settledIn(all), paid], [[], ["7"]])
        assert.include(JSON.stringify(Array.from(answer.transcript)), "Call payment_status again in 10s")
      }
    }))

  it.effect("begins anew with a request that the call sends after its end", () =>
    Effect.gen(function*() {
      let calls = 0
      let send = () => {}
      const tool = Tool.promise(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...byOrder },
        async (_, { noteRequest }) => {
          if (++calls > 1) return "receipt"
          send = () => noteRequest({ method: "POST", url: "https://bank.example/pay", status: 200 })
          throw new Error("Lost.")
        }
      )
      const late = Tool.make(
        "late",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => Effect.as(Effect.andThen(TestClock.adjust("9 seconds"), Effect.sync(() => send())), "sent")
      )
      const toolkit = Toolkit.make(tool, late, waitTool("1 second"), statusTool(() => "open", { settle: "10 seconds" }))
      const { answer, events: all } = yield* events(
        toolkit,
        [pay("7"), wait("late"), wait("wait"), status("7"), pay("7")]
      )
      assert.deepStrictEqual([settledIn(all), calls], [[], 1])
      assert.include(JSON.stringify(Array.from(answer.transcript)), "Call payment_status again in 9s")
    }))
})

describe("an effect that a check finds", () => {
  it.effect("settles nothing if an equal call has succeeded before: it may be that effect", () =>
    Effect.gen(function*() {
      let calls = 0
      const tool = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...byOrder },
        () => Effect.suspend(() => ++calls === 1 ? Effect.succeed("receipt") : Effect.fail(lost))
      )
      const toolkit = Toolkit.make(tool, statusTool(() => "paid"))
      const { events: all } = yield* events(toolkit, [pay("7"), pay("7", "once more"), status("7"), pay("7", "again")])
      assert.deepStrictEqual([settledIn(all), calls], [[], 2])
    }))
})

describe("a person's yes", () => {
  const turn = (...orders: ReadonlyArray<readonly [order: string, note: string]>) =>
    ScriptedModel.calls(...orders.map(([order, note]) => ["pay", { order, note }] as const))

  it.effect("refuses all calls of the turn that were held back, and no call that says that it is another", () =>
    Effect.gen(function*() {
      for (const isIdentified of [false, true]) {
        const { paid, pay: tool } = paymentTool(isIdentified ? { identity: byOrder.identity } : {})
        const agent = Agent.make({ toolkit: Toolkit.make(tool), onDoubt: "ask" })
        const waiting = yield* Effect.flip(agent.run("Go.")).pipe(
          Effect.provide(ScriptedModel.layer([
            ScriptedModel.call("pay", { order: "7" }),
            turn(["7", "Lunch"], ["8", "Lunch"])
          ]))
        )
        if (waiting._tag !== "RunSuspended") return assert.fail(waiting._tag)
        yield* agent.resume(waiting.suspension, "yes").pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.text("Done.")]))
        )
        assert.deepStrictEqual(paid, isIdentified ? ["7", "8"] : ["7"])
      }
    }))
})

describe("a call that is joined", () => {
  const note = (tool: ReturnType<typeof paymentTool>["pay"], before: ReadonlyArray<readonly [string, object]> = []) =>
    Effect.map(
      Agent.make({ toolkit: Toolkit.make(tool) }).run("Go.").pipe(
        Effect.provide(ScriptedModel.layer([
          ...before.map(([name, args]) => ScriptedModel.call(name, args)),
          ScriptedModel.calls(["pay", { order: "8" }], ["pay", { order: "8" }]),
          ScriptedModel.text("Done.")
        ]))
      ),
      ({ transcript }) => JSON.stringify(Array.from(transcript))
    )

  it.effect("is told that the call ran once only if it ran, and how to do it twice only if that is safe", () =>
    Effect.gen(function*() {
      const done = yield* note(
        Tool.make(
          "pay",
          { description: "", parameters: Payment, success: Schema.String },
          () => Effect.succeed("receipt")
        )
      )
      assert.include(done, "it ran once: this is its one result. To do it twice")
      const doubted = yield* note(paymentTool().pay)
      assert.include(doubted, "it ran once: this is its one result")
      assert.notInclude(doubted, "To do it twice")
      const held = yield* note(paymentTool().pay, [pay("7")])
      assert.include(held, "This turn has the same call twice: this is the one result of both")
    }))
})

describe("a run that is interrupted as it begins", () => {
  it("leaves its scope open for the next one, at whatever step that is", async () => {
    const refusing = new ToolUnavailable({ code: "down", detail: "Down.", transient: false })
    const tool = Tool.make("pay", { description: "", success: Schema.String }, () => Effect.fail(refusing))
    const agent = Agent.make({ toolkit: Toolkit.make(tool) })
    // Effect gives way to other fibers after about a thousand steps. There, an interruption is noticed.
    for (let steps = 950; steps < 1_060; steps++) {
      const run = agent.run("Go.", { facts: CallFacts.empty, scope: `steps ${steps}`, id: `job ${steps}` }).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.text("Done.")]))
      )
      let late: Effect.Effect<unknown, unknown> = run
      for (let step = 0; step < steps; step++) {
        const next = late
        late = Effect.flatMap(Effect.void, () => next)
      }
      const fiber = Effect.runFork(late)
      fiber.interruptUnsafe()
      await Effect.runPromise(Fiber.await(fiber))
      const { text } = await Effect.runPromise(run)
      assert.strictEqual(text, "Done.")
    }
  })
})
