/** Facts are not forgotten by omission: each run of a scope has those of the run before it, or is refused. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, type AgentFailure, Dispatch, Tool, ToolCall, Toolkit, type ToolUnavailable } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import { Deferred, Effect, Fiber, Schema, Stream } from "effect"
import { beginFacts, recordCall } from "../../packages/core/src/internal/dispatch/recordCalls.ts"
import { FileJournal } from "../support/fileJournal.ts"
import { codesOf } from "../support/toldFailures.ts"

const Payment = Schema.Struct({ order: Schema.String })

const paymentTool = <E extends ToolUnavailable>(
  handler: (order: string) => Effect.Effect<string, E>,
  definition: Partial<Tool.Definition<string, typeof Payment.Type>> = {}
) =>
  Tool.make(
    "pay",
    { description: "", parameters: Payment, success: Schema.String, identity: ({ order }) => order, ...definition },
    ({ order }) => handler(order)
  )

const paysOnce = ScriptedModel.layer(({ messages }) =>
  messages.at(-1)?.role === "user" ? ScriptedModel.call("pay", { order: "7" }) : ScriptedModel.text("Done.")
)

const refusalOf = <A, R>(run: Effect.Effect<A, AgentFailure.AgentFailure, R>) =>
  Effect.map(
    Effect.flip(run),
    (failure) => failure._tag === "RunRefused" ? failure : assert.fail(`It failed with ${failure._tag}.`)
  )

describe("a run with a transcript but no facts", () => {
  const paying = (definition: Partial<Tool.Definition<string, typeof Payment.Type>> = {}) => {
    const paid: Array<string> = []
    const pay = paymentTool((order) => Effect.sync(() => `receipt ${paid.push(order)}`), definition)
    return { paid, agent: Agent.make({ toolkit: Toolkit.make(pay) }) }
  }

  it.effect("is refused if its effects could be repeated, says what to pass, and loses nothing", () =>
    Effect.gen(function*() {
      for (const sideEffect of ["non_idempotent", "idempotent_by_key"] as const) {
        const { agent, paid } = paying({ sideEffect })
        const { facts, transcript } = yield* agent.run("Pay 7.")
        for (const options of [{ transcript }, { transcript, facts: undefined } as never, { transcript, id: "job" }]) {
          const refused = yield* refusalOf(agent.run("And now?", options))
          assert.strictEqual(
            refused.detail,
            "The run was not started: its transcript has calls of 'pay', and it has no facts of them, so their effects could be repeated. Pass the 'facts' of the run that made them. Where there are none, pass CallFacts.empty: then nothing is known of those calls."
          )
          assert.deepStrictEqual(refused.issues.map(({ path }) => path), [["facts"]])
          assert.strictEqual(refused.transcript, transcript)
        }
        assert.deepStrictEqual(paid, ["7"])
        const known = yield* agent.run("And now?", { transcript, facts })
        assert.deepStrictEqual(codesOf(known), ["already_done"])
        yield* agent.run("And now?", { transcript, facts: CallFacts.empty })
        assert.deepStrictEqual(paid, ["7", "7"])
      }
    }).pipe(Effect.provide(paysOnce)))

  it.effect("begins if its tools only read or are idempotent, if it has no calls, or if the tool is gone", () =>
    Effect.gen(function*() {
      for (const sideEffect of ["none", "idempotent"] as const) {
        const { agent } = paying({ sideEffect })
        const { transcript } = yield* agent.run("Pay 7.")
        yield* agent.run("And now?", { transcript })
      }
      const { agent } = paying()
      const { transcript } = yield* agent.run("Pay 7.")
      yield* Agent.make({ toolkit: Toolkit.empty }).run("And now?", { transcript }).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.text("Nothing.")]))
      )
      const talk = yield* agent.run("Hi.").pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.text("Hi.")])))
      yield* agent.run("Pay 7.", { transcript: talk.transcript })
    }).pipe(Effect.provide(paysOnce)))
})

describe("two runs of one scope at the same time", () => {
  const waiting = Effect.fnUntraced(function*() {
    const begun = yield* Deferred.make<void>()
    const end = yield* Deferred.make<void>()
    const paid: Array<string> = []
    const pay = paymentTool((order) =>
      Effect.gen(function*() {
        paid.push(order)
        yield* Deferred.succeed(begun, undefined)
        yield* Deferred.await(end)
        return "receipt"
      })
    )
    return { begun, end, paid, agent: Agent.make({ toolkit: Toolkit.make(pay) }) }
  })

  it.effect("are refused, by name of a scope, of facts or of a run, until the first has ended", () =>
    Effect.gen(function*() {
      const known = { facts: { ...CallFacts.empty, scope: "by facts" } }
      for (const options of [{ scope: "by scope", facts: CallFacts.empty }, known, { id: "by id" }]) {
        const { agent, begun, end, paid } = yield* waiting()
        const first = yield* Effect.forkChild(agent.run("Pay.", options))
        yield* Deferred.await(begun)
        const refused = yield* refusalOf(agent.run("Pay.", options))
        assert.match(refused.detail, /^The run was not started: another run of the scope 'by \w+' has not ended\./)
        assert.deepStrictEqual(paid, ["7"])
        yield* Deferred.succeed(end, undefined)
        const { facts } = yield* Fiber.join(first)
        const second = yield* agent.run("Pay.", { facts })
        assert.deepStrictEqual(codesOf(second), ["already_done"])
      }
    }).pipe(Effect.provide(paysOnce)))

  it.effect("are free again once the first is interrupted", () =>
    Effect.gen(function*() {
      const { agent, begun, end } = yield* waiting()
      const first = yield* Effect.forkChild(agent.run("Pay.", { id: "interrupted" }))
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(first)
      yield* Deferred.succeed(end, undefined)
      yield* agent.run("Pay.", { id: "interrupted" })
    }).pipe(Effect.provide(paysOnce)))

  it.effect("are free again once the stream of the first is closed, or its journal has died", () =>
    Effect.gen(function*() {
      const { agent, end } = yield* waiting()
      yield* Stream.runDrain(Stream.take(agent.stream("Pay.", { id: "closed" }), 1))
      const broken: Journal.Journal = { step: () => Effect.die("The disk is full.") }
      yield* Effect.exit(agent.run("Pay.", { id: "closed" }).pipe(Effect.provideService(Journal.current, broken)))
      yield* Deferred.succeed(end, undefined)
      yield* agent.run("Pay.", { id: "closed" })
    }).pipe(Effect.provide(paysOnce)))

  it.effect("are refused inside a call, too", () =>
    Effect.gen(function*() {
      const { agent, begun, end, paid } = yield* waiting()
      const details: Array<string> = []
      const inner = Effect.match(agent.run("Pay.", { id: "inside" }), {
        onFailure: ({ detail }) => details.push(detail),
        onSuccess: () => 0
      })
      const helper = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.Unknown, sideEffect: "none" },
        () => Effect.all([inner, inner], { concurrency: 2 })
      )
      const run = yield* Effect.forkChild(Agent.make({ toolkit: Toolkit.make(helper) }).run("Go."))
      yield* Deferred.await(begun)
      // The second run has begun, too.
      for (let turn = 0; details.length === 0 && turn < 100; turn++) yield* Effect.yieldNow
      yield* Deferred.succeed(end, undefined)
      yield* Fiber.join(run)
      assert.deepStrictEqual(paid, ["7"])
      assert.lengthOf(details, 1)
    }).pipe(Effect.provide(paysOnce)))

  it.effect("are two scopes if neither is named", () =>
    Effect.gen(function*() {
      const { agent, end, paid } = yield* waiting()
      const runs = yield* Effect.forkChild(Effect.all([agent.run("Pay."), agent.run("Pay.")], { concurrency: 2 }))
      yield* Effect.yieldNow
      yield* Deferred.succeed(end, undefined)
      yield* Fiber.join(runs)
      assert.deepStrictEqual(paid, ["7", "7"])
    }).pipe(Effect.provide(paysOnce)))
})

describe("a suspended run beside a new one", () => {
  const asking = (sideEffect: "non_idempotent" | "idempotent_by_key") => {
    const keys: Array<string> = []
    const pay = Tool.make(
      "pay",
      { description: "", parameters: Payment, success: Schema.String, identity: ({ order }) => order, sideEffect },
      () =>
        Effect.gen(function*() {
          yield* ToolCall.ask("Sure?")
          keys.push((yield* ToolCall.current).idempotencyKey)
          return "receipt"
        })
    )
    return { keys, agent: Agent.make({ toolkit: Toolkit.make(pay) }) }
  }
  const suspended = <A, R>(run: Effect.Effect<A, AgentFailure.AgentFailure, R>) =>
    Effect.map(
      Effect.flip(run),
      (failure) => failure._tag === "RunSuspended" ? failure : assert.fail(`It failed with ${failure._tag}.`)
    )

  it.effect("is refused once a later run of its scope has begun in this process", () =>
    Effect.gen(function*() {
      const { agent, keys } = asking("non_idempotent")
      const first = yield* suspended(agent.run("Pay."))
      const { facts, suspension, transcript } = first
      const second = yield* suspended(agent.run("Pay!", { facts, transcript }))
      yield* agent.resume(second.suspension, "yes")
      const refused = yield* refusalOf(agent.resume(suspension, "yes"))
      assert.match(refused.detail, /^The run was not resumed: a later run of the scope '[\w-]+' has begun/)
      assert.strictEqual(keys.length, 1)
    }).pipe(Effect.provide(paysOnce)))

  // Neither knows of the other, so the numbers of their runs in the facts are equal.
  it.effect("is refused once the same job was delivered again", () =>
    Effect.gen(function*() {
      const { agent, keys } = asking("non_idempotent")
      const deliver = suspended(agent.run("Pay.", { facts: CallFacts.empty, scope: "order 7", id: "job 7" }))
      const first = yield* deliver
      const second = yield* deliver
      yield* agent.resume(second.suspension, "yes")
      const refused = yield* refusalOf(agent.resume(first.suspension, "yes"))
      assert.match(refused.detail, /^The run was not resumed: a later run of the scope 'order 7' has begun/)
      assert.lengthOf(keys, 1)
    }).pipe(Effect.provide(paysOnce)))

  it.effect("is refused although a journal replays it after the later run", () =>
    Effect.gen(function*() {
      const { agent, keys } = asking("non_idempotent")
      const journals = { one: new FileJournal(), two: new FileJournal() }
      const recorded = <A, E, R>(name: keyof typeof journals, run: Effect.Effect<A, E, R>) =>
        Effect.flatMap(
          journals[name].process((journal) => Effect.provideService(run, Journal.current, journal)),
          (exit) => exit ?? Effect.die("The process has ended.")
        )
      const run = agent.run("Pay.", { id: "one", scope: "replayed", facts: CallFacts.empty })
      const { facts, transcript } = yield* suspended(recorded("one", run))
      const later = agent.run("Pay!", { id: "two", facts, transcript })
      const second = yield* suspended(recorded("two", later))
      yield* recorded("two", agent.resume(second.suspension, "yes"))
      const again = yield* suspended(recorded("one", run))
      assert.strictEqual(again.facts.run, 0)
      yield* refusalOf(recorded("one", agent.resume(again.suspension, "yes")))
      assert.lengthOf(keys, 1)
    }).pipe(Effect.provide(paysOnce)))

  it.effect("goes on with keys: both runs send the same one", () =>
    Effect.gen(function*() {
      const { agent, keys } = asking("idempotent_by_key")
      const { facts, suspension, transcript } = yield* suspended(agent.run("Pay."))
      const second = yield* suspended(agent.run("Pay!", { facts, transcript }))
      yield* agent.resume(second.suspension, "yes")
      yield* agent.resume(suspension, "yes")
      assert.strictEqual(keys.length, 2)
      assert.strictEqual(new Set(keys).size, 1)
    }).pipe(Effect.provide(paysOnce)))
})

describe("a doubt that came after the end of its call", () => {
  const refusing = () => {
    const sends: Array<() => void> = []
    const pay = Tool.promise(
      "pay",
      { description: "", parameters: Payment, success: Schema.String, identity: ({ order }) => order },
      (_, { noteRequest, refuse }) => {
        sends.push(() => noteRequest({ method: "POST", url: "https://bank.example/pay", status: 200 }))
        return Promise.resolve(refuse("Not now."))
      }
    )
    return { pay, sends }
  }

  it.effect("does not come back once a program has settled it, but a new one does", () =>
    Effect.gen(function*() {
      const { pay, sends } = refusing()
      const late = Tool.make("late", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        Effect.sync(() => {
          sends.at(-1)?.()
          return "sent"
        }))
      const agent = Agent.make({ toolkit: Toolkit.make(pay, late), loopGuard: "off" })
      const run = (facts: CallFacts.CallFacts, ...tools: ReadonlyArray<"pay" | "late">) =>
        agent.run("Go.", { facts, scope: "late doubts" }).pipe(
          Effect.map((answer) =>
            answer.facts
          ),
          Effect.provide(ScriptedModel.layer([
            ...tools.map((name) =>
              ScriptedModel.call(name, name === "pay" ? { order: "7" } : {})
            ),
            ScriptedModel.text("End.")
          ]))
        )
      const one = yield* run(CallFacts.empty, "pay", "late")
      const [doubt] = CallFacts.inDoubt(one)
      const settlement = { certainty: "not_executed", by: "Ada" } as const
      const settled = yield* Effect.fromResult(CallFacts.settle(one, doubt?.id ?? "", settlement))
      const two = yield* run(settled, "pay")
      assert.deepStrictEqual(CallFacts.inDoubt(two), [])
      assert.lengthOf(sends, 2)
      const three = yield* run(settled, "pay", "late")
      assert.lengthOf(CallFacts.inDoubt(three), 1)
      const again = yield* Effect.fromResult(CallFacts.settle(three, doubt?.id ?? "", settlement))
      // The call of the second run has sent nothing yet.
      sends[1]?.()
      const four = yield* run(again, "pay")
      assert.lengthOf(sends, 3)
      const [{ detail } = assert.fail("It is not in doubt.")] = CallFacts.inDoubt(four)
      assert.strictEqual(detail, "pay sent a request after its call had ended.")
    }))

  it.effect("holds back the next call, also without an agent", () =>
    Effect.gen(function*() {
      const { pay, sends } = refusing()
      const toolkit = Toolkit.make(pay)
      const call = (facts: CallFacts.CallFacts) =>
        Dispatch.call(toolkit, { id: "1", name: "pay", arguments: "{\"order\":\"7\"}" }, { facts })
      const before = beginFacts(CallFacts.empty, "late doubts without an agent")
      const facts = recordCall(before, yield* call(before), pay)
      sends[0]?.()
      const outcome = yield* call(facts)
      assert.deepNestedInclude(outcome, { "failure.code": "repeated_call", certainty: "unknown", attempts: 0 })
      assert.lengthOf(sends, 1)
    }))
})
