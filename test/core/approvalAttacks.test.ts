/** Attacks on approvals: whatever is sent, stored and waited for, nothing runs that nobody approved. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import * as Approver from "@fallible/core/Approver"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Question from "@fallible/core/Question"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import {
  ada,
  calling,
  codes,
  payingAgent,
  Payment,
  payments,
  playing,
  refusedAt,
  results,
  waiting
} from "../support/approving.ts"

const untyped = (value: unknown) => value as never

describe("a hostile reply", () => {
  it.effect("approves nothing by anything but `true`", () =>
    Effect.gen(function*() {
      const { agent, paid } = payingAgent()
      const suspension = yield* waiting(agent.run("Pay."))
      const [{ digest, id } = { digest: "", id: "" }] = suspension.questions
      for (const approved of ["true", "false", "no", 1, 0, {}, [], null]) {
        const inWords = { id, digest, reply: "yes", approved }
        assert.deepStrictEqual(yield* refusedAt(agent.resume(suspension, untyped([inWords]))), ["replies.0.approved"])
        const { reply: _, ...decision } = inWords
        assert.isNotEmpty(yield* refusedAt(agent.resume(suspension, untyped([decision]))))
      }
      assert.deepStrictEqual(paid, [])
    }).pipe(calling(["pay", ada])))

  it.effect("is refused if it cannot be read", () =>
    Effect.gen(function*() {
      const { agent, paid } = payingAgent()
      const suspension = yield* waiting(agent.run("Pay."))
      const approval = Question.approve(suspension.questions[0]!)
      const throwing = (field: string, rest: object = {}) =>
        Object.defineProperty({ ...rest }, field, {
          enumerable: true,
          get: () => assert.fail("Not you.")
        })
      const cyclic: Record<string, unknown> = { ...ada }
      cyclic["self"] = cyclic
      const deep = Array.from({ length: 100_000 }).reduce<object>((inner) => ({ inner }), {})
      const hostile: ReadonlyArray<readonly [unknown, string]> = [
        [[throwing("id", approval)], "replies"],
        [[throwing("approved", approval)], "replies"],
        [[{ ...approval, arguments: throwing("amount", ada) }], "replies"],
        [[{ ...approval, arguments: cyclic }], "replies.0.arguments.self"],
        [[{ ...approval, arguments: { ...ada, deep } }], "replies.0.arguments"],
        [
          [{ ...approval, arguments: JSON.parse("{\"to\":\"Ada\",\"amount\":5,\"__proto__\":{}}") }],
          "replies.0.arguments"
        ],
        [
          [{ ...approval, arguments: { ...ada, toJSON: () => ({ to: "Eve", amount: 9 }) } }],
          "replies.0.arguments.toJSON"
        ],
        [Array.from({ length: 5_000 }, () => ({ ...approval, id: "other" })), "replies.0.id"],
        [Array.from({ length: 5_000 }, () => approval), "replies.1.id"],
        [new Proxy([], { get: () => assert.fail("Not you.") }), "replies"],
        [new Map([["id", approval]]), "replies"],
        [[[approval]], "replies.0"],
        [{ 0: approval, length: 1 }, "replies"],
        [Promise.resolve([approval]), "replies"],
        [null, "replies"],
        [undefined, "replies"],
        [7, "replies"]
      ]
      for (const [replies, path] of hostile) {
        const [first] = yield* refusedAt(agent.resume(suspension, untyped(replies)))
        assert.strictEqual(first, path)
      }
      assert.deepStrictEqual(paid, [])
    }).pipe(calling(["pay", ada])))

  it.effect("runs what was checked, even if it reads otherwise each time", () =>
    Effect.gen(function*() {
      const { agent, paid } = payingAgent()
      const suspension = yield* waiting(agent.run("Pay."))
      let reads = 0
      const changing = {
        ...Question.approve(suspension.questions[0]!),
        get arguments() {
          return ++reads === 1 ? { to: "Ada", amount: 4 } : { to: "Eve", amount: 900 }
        }
      }
      const answer = yield* agent.resume(suspension, [changing])
      assert.include(results(answer)[0], JSON.stringify(JSON.stringify(paid[0])).slice(1, -1))
      assert.deepStrictEqual(paid.length, 1)
    }).pipe(calling(["pay", ada])))

  it.effect("with a long reason is told in short", () =>
    Effect.gen(function*() {
      const { agent, paid } = payingAgent()
      const suspension = yield* waiting(agent.run("Pay."))
      const denial = Question.deny(suspension.questions[0]!, { reason: "x".repeat(1_000_000) })
      assert.isBelow(results(yield* agent.resume(suspension, [denial]))[0]?.length ?? 0, 1_000)
      assert.deepStrictEqual(paid, [])
    }).pipe(calling(["pay", ada])))
})

describe("a time that is over", () => {
  it.effect("needs nobody who is admitted", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({
        toolkit: Toolkit.make(pay.pipe(Tool.approve(undefined, { within: "1 hour" }))),
        admit: (by) => by === "Grace"
      })
      const suspension = yield* waiting(agent.run("Pay."))
      const [question] = suspension.questions
      yield* TestClock.adjust("1 hour")
      // On the tick, it still counts who replies.
      assert.deepStrictEqual(yield* refusedAt(agent.resume(suspension, [])), ["replies"])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(codes(yield* agent.resume(suspension, [])), ["not_approved"])
      assert.deepStrictEqual(
        yield* refusedAt(agent.resume(suspension, [Question.approve(question!, { by: "Eve" })])),
        ["replies.0.by"]
      )
      assert.deepStrictEqual(paid, [])
    }).pipe(calling(["pay", ada])))
})

describe("a question", () => {
  it.effect("leaves out what the schema makes up whenever arguments are decoded, and can be replied to", () =>
    Effect.gen(function*() {
      let drawn = 0
      const got: Array<string> = []
      const pay = Tool.make("pay", {
        description: "Pays",
        parameters: Schema.Struct({
          to: Schema.String,
          currency: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("EUR"))),
          reference: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.sync(() => `ref ${++drawn}`)))
        }),
        success: Schema.String
      }, ({ reference, to }) => Effect.sync(() => `${got.push(`${to} ${reference.slice(0, 3)}`)}`)).pipe(Tool.approve())
      const agent = Agent.make({ toolkit: Toolkit.make(pay) })
      const suspension = yield* waiting(agent.run("Pay."))
      assert.strictEqual(suspension.questions[0]?.arguments, "{\"to\":\"Ada\"}")
      yield* agent.resume(suspension, "yes")
      assert.deepStrictEqual(got, ["Ada ref"])
    }).pipe(calling(["pay", { to: "Ada" }])))

  it.effect("about arguments of an earlier call, which a fixer made of the same text, can be replied to", () =>
    Effect.gen(function*() {
      const sent: Array<Payment> = []
      let fixed = 0
      const pay = Tool.make("pay", {
        description: "Pays",
        parameters: Payment,
        success: Schema.String,
        sideEffect: "idempotent_by_key",
        identity: ({ to }) => to
      }, (payment) =>
        Effect.suspend(() =>
          sent.push(payment) === 1
            ? Effect.fail(new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true }))
            : Effect.succeed("paid")
        )).pipe(Tool.approve(), Tool.fix(() => ({ to: "Ada", amount: ++fixed })))
      const agent = Agent.make({ toolkit: Toolkit.make(pay) })
      const first = yield* waiting(agent.run("Pay."))
      const second = yield* waiting(agent.resume(first, "yes"))
      assert.strictEqual(second.questions[0]?.arguments, "{\"to\":\"Ada\",\"amount\":1}")
      yield* agent.resume(second, "yes")
      assert.deepStrictEqual(sent, [{ to: "Ada", amount: 1 }, { to: "Ada", amount: 1 }])
      assert.strictEqual(fixed, 1)
    }).pipe(playing(
      { text: "", calls: [{ id: "1", name: "pay", arguments: "Ada, please" }] },
      { text: "", calls: [{ id: "2", name: "pay", arguments: "Ada, please" }] },
      ScriptedModel.text("Paid.")
    )))

  it.effect("of the check of an answer is put to an approver, whether the answer is a call or a text", () =>
    Effect.gen(function*() {
      const agent = Agent.make({
        toolkit: Toolkit.empty,
        output: Schema.Struct({ total: Schema.Finite }),
        checkOutput: () => Effect.asVoid(ToolCall.ask("Is it right?"))
      })
      assert.strictEqual((yield* agent.run("How much?")).value.total, 1)
      assert.strictEqual((yield* agent.run("How much?")).value.total, 2)
    }).pipe(
      playing(ScriptedModel.call("final_answer", { total: 1 }), ScriptedModel.text("{\"total\":2}")),
      Effect.provide(Approver.layer((questions) => Effect.succeed(questions.map((one) => Question.reply(one, "yes")))))
    ))
})

describe("limits", () => {
  const look = Tool.make(
    "look",
    { description: "Looks", success: Schema.String, sideEffect: "none" },
    () => Effect.succeed("seen")
  )

  it.effect("refuse a call before it asks, and count it once", () =>
    Effect.gen(function*() {
      for (const limits of [{ calls: 2 }, { callsPerTool: { pay: 2 } }, { consecutive: 2 }]) {
        const { paid, pay } = payments()
        const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve())), limits })
        const first = yield* waiting(agent.run("Pay."))
        assert.strictEqual(first.questions.length, 2)
        const second = yield* waiting(agent.resume(first, [Question.approve(first.questions[1]!)]))
        assert.deepStrictEqual(second.questions, [first.questions[0]!])
        const answer = yield* agent.resume(second, "yes")
        assert.deepStrictEqual(paid, [ada, { to: "Ben", amount: 6 }])
        assert.deepStrictEqual(codes(answer), ["call_limit"])
        assert.strictEqual(answer.report.calls, 3)
      }
    }).pipe(calling(["pay", ada], ["pay", { to: "Ben", amount: 6 }], ["pay", { to: "Cid", amount: 7 }])))

  it.effect("count calls in their order, whoever replies first", () =>
    Effect.gen(function*() {
      for (const limits of [{ consecutive: 1 }, { callsPerTool: { pay: 2 } }]) {
        const { paid, pay } = payments()
        const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve()), look), limits })
        // In the process that goes on, the second call has its reply before the first one.
        const first = yield* waiting(agent.run("Pay."))
        const partly = yield* waiting(agent.resume(first, [Question.approve(first.questions[1]!)]))
        const answer = yield* agent.resume(partly, [Question.approve(partly.questions[0]!)]).pipe(
          Effect.provide(Approver.layer((open) => Effect.succeed(open.map((one) => Question.approve(one)))))
        )
        assert.deepStrictEqual(codes(answer), [])
        assert.deepStrictEqual(paid, [ada, { to: "Ben", amount: 6 }])
        // The approver replies to the last question first.
        paid.length = 0
        const inPlace = yield* agent.run("Pay.").pipe(
          Effect.provide(Approver.layer((open) => Effect.succeed(open.slice(-1).map((one) => Question.approve(one)))))
        )
        assert.deepStrictEqual(codes(inPlace), [])
        assert.deepStrictEqual(paid, [ada, { to: "Ben", amount: 6 }])
      }
    }).pipe(calling(["pay", ada], ["look"], ["pay", { to: "Ben", amount: 6 }])))
})

describe("a predicate, a preview and an agent's admit", () => {
  it.effect("that hang have no longer than their call: then an approval is needed, and has no preview", () =>
    Effect.gen(function*() {
      for (
        const options of [
          { when: () => Effect.never },
          { preview: () => Effect.never },
          { when: () => Effect.never, preview: () => Effect.never }
        ]
      ) {
        const { paid, pay } = payments()
        const agent = Agent.make({
          toolkit: Toolkit.make(pay),
          approvals: { pay: options },
          limits: { elapsed: "1 minute" }
        })
        const fiber = yield* Effect.forkChild(waiting(agent.run("Pay.")))
        yield* TestClock.adjust("1 minute")
        const suspension = yield* Fiber.join(fiber)
        assert.isUndefined(suspension.questions[0]?.preview)
        assert.deepStrictEqual(paid, [])
      }
    }).pipe(calling(["pay", ada])))

  it.effect("admit nobody by a failure, a promise, or anything but true", () =>
    Effect.gen(function*() {
      const admits: ReadonlyArray<() => unknown> = [
        () => assert.fail("No."),
        () => Promise.resolve(true),
        () => Promise.reject(new Error("No.")),
        () => Effect.fail("No."),
        () => Effect.die("No."),
        () => Effect.succeed("true"),
        () => ToolCall.ask("May they?"),
        () => 1
      ]
      for (const admit of admits) {
        const { paid, pay } = payments()
        const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve())), admit: untyped(admit) })
        const suspension = yield* waiting(agent.run("Pay."))
        assert.deepStrictEqual(yield* refusedAt(agent.resume(suspension, "yes")), ["replies.0.by"])
        assert.deepStrictEqual(paid, [])
      }
    }).pipe(calling(["pay", ada])))

  it.effect("may change what they read between two looks: nothing runs that was not approved", () =>
    Effect.gen(function*() {
      let needed = false
      const { paid, pay } = payments()
      const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve(() => needed = !needed))) })
      const suspension = yield* waiting(agent.run("Pay."))
      const denied = yield* agent.resume(suspension, "no")
      assert.deepStrictEqual(codes(denied), ["not_approved"])
      assert.deepStrictEqual(paid, [])
      yield* agent.resume(suspension, "yes")
      assert.deepStrictEqual(paid, [ada])
    }).pipe(calling(["pay", ada])))
})

describe("onDone: \"ask\"", () => {
  it.effect("asks whether to do again what a person has changed the arguments to", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve())), onDone: "ask" })
      const first = yield* waiting(agent.run("Pay.", { scope: "s", facts: CallFacts.empty })).pipe(
        calling(["pay", ada])
      )
      const { facts, transcript } = yield* agent.resume(first, "yes").pipe(calling())
      const again = { scope: "s", facts, transcript }
      const model = calling(["pay", { to: "Ben", amount: 6 }])
      const second = yield* waiting(agent.run("Pay.", again)).pipe(model)
      const edit = Question.approve(second.questions[0]!, { arguments: ada })
      const third = yield* waiting(agent.resume(second, [edit])).pipe(model)
      assert.include(third.questions[0]?.text, "Do it again?")
      assert.deepStrictEqual(paid, [ada])
      const denied = yield* agent.resume(third, "no").pipe(model)
      assert.strictEqual(codes(denied).at(-1), "already_done")
      yield* agent.resume(third, "yes").pipe(model)
      assert.deepStrictEqual(paid, [ada, ada])
    }))
})
