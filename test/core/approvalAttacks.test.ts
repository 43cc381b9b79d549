/** Attacks on approvals: whatever is sent, stored and waited for, nothing runs that nobody approved. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, Dispatch, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import * as Approver from "@fallible/core/Approver"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Claims from "@fallible/core/Claims"
import * as Journal from "@fallible/core/Journal"
import * as Question from "@fallible/core/Question"
import * as RunHandle from "@fallible/core/RunHandle"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Effect, Exit, Fiber, Logger, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import {
  ada,
  asJson,
  ben,
  calling,
  codes,
  fromJson,
  payingAgent,
  Payment,
  payments,
  playing,
  refused,
  refusedAt,
  results,
  stored,
  waiting
} from "../support/approving.ts"
import { FileJournal, type Stop } from "../support/fileJournal.ts"
import { wires } from "../support/models.ts"

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
        assert.deepStrictEqual(paid, [ada, ben])
        assert.deepStrictEqual(codes(answer), ["call_limit"])
        assert.strictEqual(answer.report.calls, 3)
      }
    }).pipe(calling(["pay", ada], ["pay", ben], ["pay", { to: "Cid", amount: 7 }])))

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
        assert.deepStrictEqual(paid, [ada, ben])
        // The approver replies to the last question first.
        paid.length = 0
        const inPlace = yield* agent.run("Pay.").pipe(
          Effect.provide(Approver.layer((open) => Effect.succeed(open.slice(-1).map((one) => Question.approve(one)))))
        )
        assert.deepStrictEqual(codes(inPlace), [])
        assert.deepStrictEqual(paid, [ada, ben])
      }
    }).pipe(calling(["pay", ada], ["look"], ["pay", ben])))
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
  it.effect("asks once, also if the handler asks its own question", () =>
    Effect.gen(function*() {
      let times = 0
      const pay = Tool.make("pay", { description: "Pays", parameters: Payment, success: Schema.String }, () =>
        Effect.gen(function*() {
          if (times > 0) {
            yield* ToolCall.ask("Are you sure?")
          }
          return `${++times}`
        })).pipe(Tool.approve())
      const agent = Agent.make({ toolkit: Toolkit.make(pay), onDone: "ask" })
      const first = yield* waiting(agent.run("Pay.", { scope: "s", facts: CallFacts.empty }))
      const { facts, transcript } = yield* agent.resume(first, "yes")
      const again = yield* waiting(agent.run("Pay.", { scope: "s", facts, transcript }))
      const sure = yield* waiting(agent.resume(again, "yes"))
      assert.deepStrictEqual(
        sure.questions.map(({ text }) =>
          text
        ),
        ["Are you sure?"]
      )
      yield* agent.resume(sure, "yes")
      assert.strictEqual(times, 2)
    }).pipe(calling(["pay", ada])))

  it.effect("does not take a changed question for the one that was asked", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({ toolkit: Toolkit.make(pay), onDone: "ask" })
      const { facts, transcript } = yield* agent.run("Pay.", { scope: "s", facts: CallFacts.empty })
      const suspension = yield* waiting(agent.run("Pay.", { scope: "s", facts, transcript }))
      const once = changed(suspension, (stored) => {
        for (const asked of [stored.questions[0]!, stored.outcomes[0]!.asks]) delete asked.again
      })
      assert.deepStrictEqual(
        yield* refusedAt(agent.resume(fromJson(once), "yes")),
        ["suspension.outcomes.0.asks.digest"]
      )
      assert.deepStrictEqual(paid, [ada])
    }).pipe(calling(["pay", ada])))

  it.effect("asks whether to do again what a person has changed the arguments to", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve())), onDone: "ask" })
      const first = yield* waiting(agent.run("Pay.", { scope: "s", facts: CallFacts.empty })).pipe(
        calling(["pay", ada])
      )
      const { facts, transcript } = yield* agent.resume(first, "yes").pipe(calling())
      const again = { scope: "s", facts, transcript }
      const model = calling(["pay", ben])
      const second = yield* waiting(agent.run("Pay.", again)).pipe(model)
      const edit = Question.approve(second.questions[0]!, { arguments: ada })
      const third = yield* waiting(agent.resume(second, [edit])).pipe(model)
      assert.include(third.questions[0]?.text, "Do it again, with")
      assert.deepStrictEqual(paid, [ada])
      const denied = yield* agent.resume(third, "no").pipe(model)
      assert.strictEqual(codes(denied).at(-1), "already_done")
      yield* agent.resume(third, "yes").pipe(model)
      assert.deepStrictEqual(paid, [ada, ada])
    }))
})

// -----------------------------------------------------------------------------
// Suspensions
// -----------------------------------------------------------------------------

const Shown = Schema.Struct({ id: Schema.String, kind: Schema.String, tool: Schema.String, arguments: Schema.String })

/** A suspension as it is stored: what an attack can change. */
interface Stored {
  version: number
  id: string
  runId: string
  needs: Array<string>
  questions: Array<Asked>
  reply: { calls: Array<{ name: string; arguments: string }> }
  outcomes: Array<{ id: string; asks: Asked; arguments?: string; question: string; replies: Array<object> }>
  facts?: unknown
}

type Asked = { digest?: string; again?: object } & { -readonly [K in keyof typeof Shown.Type]: string }

const changed = (suspension: AgentFailure.Suspension, change: (stored: Stored) => void): unknown => {
  const copy = asJson(suspension)
  change(copy as Stored)
  return copy
}

describe("a suspension", () => {
  const eve = { to: "Eve", amount: 900 }

  // Changes an open question in both places.
  const ask = (stored: Stored, index: number, change: (asked: Asked) => void) => {
    change(stored.questions[index]!)
    change(stored.outcomes[index]!.asks)
  }
  const reverse = (items: Array<unknown>) => {
    items.splice(0, items.length, ...items.toReversed())
  }
  const setCall = (stored: Stored, args: object) => {
    stored.reply.calls[0]!.arguments = JSON.stringify(args)
  }

  it.effect("that was changed is not decoded, or refused with the field that is wrong, and nothing runs", () =>
    Effect.gen(function*() {
      const { agent, paid } = payingAgent()
      const suspension = yield* waiting(agent.run("Pay."))
      const other = yield* waiting(agent.run("Pay.").pipe(calling(["pay", eve])))
      const { digest: digestOfEve = "" } = other.questions[0]!
      const approvals = suspension.questions.map((question) => Question.approve(question))
      const asks = (field: string) => `suspension.outcomes.0.asks.${field}`
      const attacks: ReadonlyArray<readonly [string, (stored: Stored) => void]> = [
        [asks("digest"), (stored) => setCall(stored, eve)],
        [asks("digest"), (stored) => {
          stored.outcomes[0]!.arguments = JSON.stringify(eve)
        }],
        ["questions", (stored) => {
          stored.questions[0]!.digest = digestOfEve
        }],
        ["questions", (stored) => {
          stored.outcomes[0]!.asks.digest = digestOfEve
        }],
        [asks("digest"), (stored) =>
          ask(stored, 0, (asked) => {
            asked.digest = digestOfEve
          })],
        // All of it is consistent, but the digest that was shown is another one.
        ["replies.0.digest", (stored) => {
          setCall(stored, eve)
          ask(stored, 0, (asked) => {
            asked.digest = digestOfEve
            asked.arguments = JSON.stringify(eve)
          })
        }],
        [asks("digest"), (stored) => {
          setCall(stored, eve)
          ask(stored, 0, (asked) => {
            asked.arguments = JSON.stringify(eve)
          })
        }],
        // What is shown is not what runs.
        [asks("arguments"), (stored) =>
          ask(stored, 0, (asked) => {
            asked.arguments = "{\"to\":\"Ada\",\"amount\":1}"
          })],
        [asks("tool"), (stored) =>
          ask(stored, 0, (asked) => {
            asked.tool = "look"
          })],
        ["questions", (stored) => reverse(stored.questions)],
        ["questions", (stored) => reverse(stored.outcomes)],
        ["suspension.id", (stored) => {
          reverse(stored.questions)
          reverse(stored.outcomes)
        }],
        ["suspension.id", (stored) => {
          const [one, two] = stored.outcomes
          const ids = [one!.asks.id, two!.asks.id] as const
          ask(stored, 0, (asked) => {
            asked.id = ids[1]
          })
          ask(stored, 1, (asked) => {
            asked.id = ids[0]
          })
        }],
        [asks("digest"), (stored) => reverse(stored.reply.calls)],
        ["suspension.needs", (stored) => {
          stored.reply.calls[0]!.name = "gone"
        }],
        ["suspension.needs", (stored) => {
          stored.needs = ["gone"]
        }],
        // A reply of nobody.
        ["suspension.id", (stored) => {
          const { asks: { digest, id: to }, id, question, replies } = stored.outcomes[0]!
          replies.push({ id, question, reply: "yes", to, decided: { approved: true, digest } })
          stored.questions.shift()
        }],
        // A reply to another call.
        ["suspension.id", (stored) => {
          const [one, two] = stored.outcomes
          const { asks: { digest, id: to }, id, question } = two!
          one!.replies.push({ id, question, reply: "yes", to, decided: { approved: true, digest } })
        }],
        ["suspension.id", (stored) => {
          stored.id = "other"
        }],
        ["suspension.id", (stored) => {
          stored.runId = "other"
        }],
        ["version", (stored) => {
          stored.version = 6
        }],
        ["version", (stored) => {
          stored.version = 9
        }],
        ["facts", (stored) => {
          delete stored.facts
        }],
        ["with an outcome for each call", (stored) => stored.outcomes.pop()],
        ["questions", (stored) => {
          stored.questions = []
        }]
      ]
      for (const [place, change] of attacks) {
        const exit = yield* Effect.exit(
          Schema.decodeUnknownEffect(AgentFailure.Suspension)(changed(suspension, change))
        )
        if (Exit.isFailure(exit)) {
          assert.include(String(Cause.squash(exit.cause)), place)
          continue
        }
        assert.deepStrictEqual(yield* refusedAt(agent.resume(exit.value, approvals)), [place])
        if (place.startsWith("suspension")) assert.deepStrictEqual(yield* refusedAt(agent.check(exit.value)), [place])
      }
      assert.deepStrictEqual(paid, [])
      yield* agent.resume(suspension, approvals)
      assert.deepStrictEqual(paid, [ada, ben])
    }).pipe(calling(["pay", ada], ["pay", ben])))

  it.effect("that was not decoded is refused, and so is one of another toolkit", () =>
    Effect.gen(function*() {
      const { agent, paid } = payingAgent()
      const suspension = yield* waiting(agent.run("Pay."))
      const parsed = asJson(suspension)
      for (
        const [given, path] of [
          [parsed, "suspension.transcript"],
          [JSON.stringify(parsed), "suspension"],
          [null, "suspension"],
          [{}, "suspension.version"]
        ]
      ) {
        assert.strictEqual((yield* refusedAt(agent.resume(untyped(given), "yes")))[0], path)
        assert.strictEqual((yield* refusedAt(agent.check(untyped(given))))[0], path)
      }
      const { agent: without } = { agent: Agent.make({ toolkit: Toolkit.empty }) }
      assert.deepStrictEqual(yield* refusedAt(without.resume(suspension, "yes")), ["suspension.needs"])
      assert.deepStrictEqual(paid, [])
    }).pipe(calling(["pay", ada])))

  it.effect("of the version before, with a handler's question, goes on; a decision does not reply to it", () =>
    Effect.gen(function*() {
      let booked = 0
      const book = Tool.make(
        "book",
        { description: "Books", success: Schema.String },
        () => Effect.flatMap(ToolCall.ask("For how many?"), (people) => Effect.sync(() => `${++booked} for ${people}`))
      )
      const agent = Agent.make({ toolkit: Toolkit.make(book), approvals: { book: () => booked > 0 } })
      const suspension = yield* waiting(agent.run("Book."))
      const before = changed(suspension, (stored) => {
        const { expires: _, id: __, needs: ___, questions: ____, ...rest } = stored as Stored & { expires?: number }
        for (const key of Object.keys(stored)) delete (stored as unknown as Record<string, unknown>)[key]
        const outcomes = rest.outcomes.map((outcome) => ({ ...outcome, asks: undefined }))
        Object.assign(stored, rest, { version: 7, outcomes })
      })
      const old = fromJson(before)
      const [question] = old.questions
      assert.deepStrictEqual({ ...question }, {
        id: suspension.questions[0]!.id,
        kind: "reply",
        tool: "book",
        text: "For how many?"
      })
      assert.strictEqual(old.id, suspension.id)
      assert.deepStrictEqual(
        yield* refusedAt(agent.resume(old, [Question.approve(question!)])),
        ["replies.0.approved"]
      )
      const answer = yield* agent.resume(old, [Question.reply(question!, "four")])
      assert.deepStrictEqual(results(answer), ["\"1 for four\""])
    }).pipe(calling(["book", {}])))
})

describe("a suspension that is resumed twice", () => {
  it.effect("acts once under one key, where a service honours keys", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const pay = Tool.make(
        "pay",
        {
          description: "Pays",
          parameters: Payment,
          success: Schema.String,
          sideEffect: "idempotent_by_key",
          identity: "all"
        },
        () => Effect.map(ToolCall.current, ({ idempotencyKey }) => `${keys.push(idempotencyKey)}`)
      ).pipe(Tool.approve())
      const agent = Agent.make({ toolkit: Toolkit.make(pay) })
      const suspension = yield* waiting(agent.run("Pay."))
      yield* agent.resume(suspension, "yes")
      yield* agent.resume(suspension, "yes")
      assert.strictEqual(keys.length, 2)
      assert.strictEqual(keys[0], keys[1])
    }).pipe(calling(["pay", ada])))

  it.effect("is refused before anything runs, where there are claims; a refused reply claims nothing", () =>
    Effect.gen(function*() {
      const { agent, paid } = payingAgent()
      const suspension = yield* waiting(agent.run("Pay."))
      const [question] = suspension.questions
      assert.deepStrictEqual(
        yield* refusedAt(agent.resume(suspension, [{ ...Question.approve(question!), digest: "other" }])),
        ["replies.0.digest"]
      )
      yield* refused(agent.resume(suspension, "yes", { limits: { turns: 0 } }))
      assert.deepStrictEqual(paid, [])
      yield* agent.resume(suspension, "yes")
      assert.deepStrictEqual(yield* refusedAt(agent.resume(suspension, "yes")), ["suspension.id"])
      assert.deepStrictEqual(yield* refusedAt(agent.resume(suspension, "no")), ["suspension.id"])
      assert.deepStrictEqual(paid, [ada])
    }).pipe(calling(["pay", ada]), Effect.provide(Claims.layerMemory)))

  it.effect("is resumed by one of two at once, where there are claims", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments("idempotent_by_key")
      const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve())) })
      const suspension = yield* waiting(agent.run("Pay."))
      const twice = [1, 2].map(() => Effect.exit(agent.resume(suspension, "yes")))
      const exits = yield* Effect.all(twice, { concurrency: 2 })
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 1)
      assert.deepStrictEqual(paid, [ada])
    }).pipe(calling(["pay", ada]), Effect.provide(Claims.layerMemory)))

  it.effect("is refused if the claims fail, or say anything but true", () =>
    Effect.gen(function*() {
      const claims: ReadonlyArray<() => unknown> = [
        () => Effect.fail("No."),
        () => Effect.die("No."),
        () => assert.fail("No."),
        () => Promise.resolve(true),
        () => Promise.reject(new Error("No.")),
        () => Effect.succeed("true"),
        () => Effect.succeed(1),
        () => Effect.succeed(false),
        () => ToolCall.ask("May I?"),
        () => undefined
      ]
      for (const claim of claims) {
        const { agent, paid } = payingAgent()
        const suspension = yield* waiting(agent.run("Pay."))
        const run = agent.resume(suspension, "yes").pipe(
          Effect.provideService(Claims.Claims, untyped({ claim }))
        )
        assert.deepStrictEqual(yield* refusedAt(run), ["suspension.id"])
        assert.deepStrictEqual(paid, [])
      }
    }).pipe(calling(["pay", ada])))
})

// -----------------------------------------------------------------------------
// Approvers
// -----------------------------------------------------------------------------

type Replying = (questions: ReadonlyArray<Question.Question>) => unknown

const approver = (reply: Replying) =>
  Effect.provide(
    Approver.layer((questions): Effect.Effect<ReadonlyArray<Question.Reply>> => untyped(reply(questions)))
  )

const approveAll = (questions: ReadonlyArray<Question.Question>) =>
  Effect.succeed(questions.map((question) => Question.approve(question)))

/** Lets a run end, however long it waits. */
const waitedFor = <A, E, R>(run: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(run)
    yield* TestClock.adjust("1 hour")
    return yield* Fiber.join(fiber)
  })

describe("an approver", () => {
  it.effect("that gives no reply that counts leaves the run waiting, and nothing runs", () =>
    Effect.gen(function*() {
      const replies: ReadonlyArray<Replying> = [
        () => Effect.never,
        () => Effect.fail("No."),
        () => Effect.die("No."),
        () => assert.fail("No."),
        () => Promise.resolve([]),
        () => Promise.reject(new Error("No.")),
        () => Effect.succeed([]),
        () => Effect.succeed(7),
        () => Effect.succeed("yes"),
        () => Effect.succeed([null]),
        () => ToolCall.ask("Shall I?"),
        ([one]) => Effect.succeed([{ ...Question.approve(one!), digest: "other" }]),
        ([one]) => Effect.succeed([Question.approve(one!), Question.approve(one!)]),
        ([one]) => Effect.succeed([Question.reply(one!, "yes")]),
        ([one]) => Effect.succeed([{ id: one!.id, digest: one!.digest, reply: "", approved: "true" }]),
        ([one]) => Effect.succeed([Question.approve(one!, { arguments: { to: "Ada" } })]),
        (questions) => Effect.delay(Effect.succeed(questions.map((one) => Question.approve(one))), "60001 millis")
      ]
      for (const reply of replies) {
        const { agent, paid } = payingAgent()
        const suspension = yield* waitedFor(waiting(agent.run("Pay.").pipe(approver(reply))))
        assert.strictEqual(suspension.questions.length, 2)
        assert.deepStrictEqual(paid, [])
        const approvals = suspension.questions.map((question) => Question.approve(question))
        yield* agent.resume(suspension, approvals)
        assert.deepStrictEqual(paid, [ada, ben])
      }
    }).pipe(calling(["pay", ada], ["pay", ben])))

  it.effect("may reply at the last moment, to some, in any order, and with other arguments", () =>
    Effect.gen(function*() {
      const edits: Replying = (questions) =>
        Effect.succeed(
          questions.map((one, index) => Question.approve(one, { arguments: { to: "Cid", amount: index } }))
        )
      const replies: ReadonlyArray<readonly [Replying, ReadonlyArray<Payment>]> = [
        [(questions) => Effect.delay(Effect.succeed(questions.map((one) => Question.approve(one))), "59999 millis"), [
          ada,
          ben
        ]],
        [([one]) => Effect.succeed([Question.approve(one!)]), [ada, ben]],
        [(questions) => Effect.succeed([Question.approve(questions.at(-1)!)]), [ada, ben]],
        [([one, two]) => Effect.succeed([Question.deny(one!), ...two === undefined ? [] : [Question.approve(two)]]), [
          ben
        ]],
        [edits, [{ to: "Cid", amount: 0 }, { to: "Cid", amount: 1 }]]
      ]
      for (const [reply, expected] of replies) {
        const { agent, paid } = payingAgent()
        const answer = yield* waitedFor(agent.run("Pay.").pipe(approver(reply)))
        assert.deepStrictEqual(paid, expected)
        assert.strictEqual(results(answer).length, 2)
        assert.strictEqual(answer.report.calls, 2)
      }
    }).pipe(calling(["pay", ada], ["pay", ben])))

  it.effect("needs to be admitted as anybody else", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve())), admit: (by) => by === "Grace" })
      yield* waiting(agent.run("Pay.").pipe(approver(approveAll)))
      assert.deepStrictEqual(paid, [])
    }).pipe(calling(["pay", ada])))

  it.effect("may be waited for longer than the run may take", () =>
    Effect.gen(function*() {
      const pay = Tool.make(
        "pay",
        { description: "Pays", parameters: Payment, success: Schema.String },
        () => Effect.as(Effect.sleep("20 seconds"), "paid")
      ).pipe(Tool.approve())
      const agent = Agent.make({ toolkit: Toolkit.make(pay), limits: { elapsed: "30 seconds" } })
      const late: Replying = (questions) => Effect.delay(approveAll(questions), "50 seconds")
      const answer = yield* waitedFor(agent.run("Pay.").pipe(approver(late)))
      assert.deepStrictEqual(results(answer), ["\"paid\""])
    }).pipe(calling(["pay", ada])))

  it.effect("is interrupted with its run, which says that nothing has run", () =>
    Effect.gen(function*() {
      const { agent, paid } = payingAgent()
      const handle = RunHandle.make()
      let isAsked = false
      let isInterrupted = false
      let left: RunHandle.RunProgress | undefined
      const hanging: Replying = () => {
        isAsked = true
        return Effect.onInterrupt(Effect.never, () =>
          Effect.sync(() => {
            isInterrupted = true
          }))
      }
      const keep = (progress: RunHandle.RunProgress) =>
        Effect.sync(() => {
          left = progress
        })
      const fiber = yield* Effect.forkChild(agent.run("Pay.", { handle, keep }).pipe(approver(hanging)))
      yield* TestClock.adjust("10 seconds")
      assert.isTrue(isAsked)
      assert.deepStrictEqual(handle.progress?.inDoubt, [])
      yield* Fiber.interrupt(fiber)
      assert.isTrue(isInterrupted)
      assert.deepStrictEqual(left?.inDoubt, [])
      assert.strictEqual(results(left!).length, 2)
      assert.deepStrictEqual(paid, [])
      // The next run makes the same calls.
      yield* agent.run("Pay.", { facts: left!.facts, transcript: left!.transcript }).pipe(approver(approveAll))
      assert.deepStrictEqual(paid, [ada, ben])
    }).pipe(calling(["pay", ada], ["pay", ben])))

  it.effect("replies to the calls of an agent that is a tool", () =>
    Effect.gen(function*() {
      const { agent: inner, paid } = payingAgent()
      const delegate = Tool.make(
        "delegate",
        { description: "Delegates", success: Schema.String },
        () => Effect.map(Effect.orDie(inner.run("Pay.")), ({ text }) => text)
      )
      const outer = Agent.make({ toolkit: Toolkit.make(delegate) })
      const model = Effect.provide(
        ScriptedModel.layer(({ messages, tools }) =>
          messages.at(-1)?.role !== "user"
            ? ScriptedModel.text("Done.")
            : tools.some(({ name }) => name === "pay")
            ? ScriptedModel.call("pay", ada)
            : ScriptedModel.call("delegate")
        )
      )
      // Without an approver, the inner run waits, and the outer tool says that it has failed.
      const failed = yield* outer.run("Go.").pipe(model, Effect.provide(Logger.layer([])))
      assert.deepStrictEqual(paid, [])
      assert.deepStrictEqual(codes(failed), ["defect"])
      yield* outer.run("Go.").pipe(model, approver(approveAll))
      assert.deepStrictEqual(paid, [ada])
    }))
})

// -----------------------------------------------------------------------------
// Other calls
// -----------------------------------------------------------------------------

describe("an approved call", () => {
  const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true })

  it.effect("is held back by a doubt that has come up since", () =>
    Effect.gen(function*() {
      for (const onDoubt of ["ask", "refuse"] as const) {
        const sent: Array<string> = []
        const pay = Tool.make(
          "pay",
          { description: "Pays", parameters: Payment, success: Schema.String },
          ({ to }) =>
            Effect.suspend(() =>
              to === "Ada" && sent.push(to) > 0 ? Effect.fail(lost) : Effect.succeed(`${sent.push(to)}`)
            )
        ).pipe(Tool.approve())
        const agent = Agent.make({ toolkit: Toolkit.make(pay), onDoubt })
        const suspension = yield* waiting(agent.run("Pay."))
        const approvals = suspension.questions.map((question) => Question.approve(question))
        const resumed = agent.resume(suspension, approvals)
        if (onDoubt === "refuse") {
          assert.deepStrictEqual(codes(yield* resumed), ["outcome_unknown", "in_doubt"])
          assert.deepStrictEqual(sent, ["Ada"])
          continue
        }
        const asking = yield* waiting(resumed)
        assert.deepStrictEqual(asking.questions.map(({ kind }) => kind), ["doubt"])
        assert.deepStrictEqual(codes(yield* agent.resume(asking, "yes")), ["outcome_unknown", "in_doubt"])
        assert.deepStrictEqual(sent, ["Ada"])
        assert.deepStrictEqual(codes(yield* agent.resume(asking, "no")), ["outcome_unknown"])
        assert.deepStrictEqual(sent, ["Ada", "Ben"])
      }
    }).pipe(calling(["pay", ada], ["pay", ben])))

  it.effect("is joined by equal calls of its turn: one question, one execution, or one denial", () =>
    Effect.gen(function*() {
      const { agent, paid } = payingAgent()
      const suspension = yield* waiting(agent.run("Pay."))
      assert.deepStrictEqual(suspension.questions.map(({ arguments: args }) => args), [JSON.stringify(ada)])
      const denied = yield* agent.resume(suspension, "no")
      assert.deepStrictEqual(codes(denied), ["not_approved", "not_approved", "not_approved"])
      assert.deepStrictEqual(paid, [])
      const answer = yield* agent.resume(suspension, "yes")
      assert.strictEqual(results(answer).length, 3)
      assert.deepStrictEqual(paid, [ada])
    }).pipe(calling(["pay", ada], ["pay", { amount: 5, to: "Ada" }], ["pay", { to: "Ada", amount: "5" }])))

  it.effect("holds back calls that need no approval: they run once, and later", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const approving = pay.pipe(Tool.approve(({ amount }) => amount > ada.amount))
      const agent = Agent.make({ toolkit: Toolkit.make(approving) })
      const suspension = yield* waiting(agent.run("Pay."))
      assert.strictEqual(suspension.questions.length, 1)
      assert.deepStrictEqual(paid, [])
      yield* agent.resume(suspension, "yes")
      assert.deepStrictEqual(paid, [ben, ada])
    }).pipe(calling(["pay", ben], ["pay", ada])))

  it.effect("each needs its own approval if equal calls are not joined", () =>
    Effect.gen(function*() {
      const paid: Array<Payment> = []
      const pay = Tool.make(
        "pay",
        { description: "Pays", parameters: Payment, success: Schema.String, joins: false },
        (payment) => Effect.sync(() => `${paid.push(payment)}`)
      ).pipe(Tool.approve())
      const agent = Agent.make({ toolkit: Toolkit.make(pay) })
      const suspension = yield* waiting(agent.run("Pay."))
      const [one, two] = suspension.questions
      // The digests are equal, the ids are not.
      assert.strictEqual(one?.digest, two?.digest)
      const answer = yield* agent.resume(suspension, [Question.approve(one!), Question.deny(two!)])
      assert.deepStrictEqual(paid, [ada])
      assert.deepStrictEqual(codes(answer), ["not_approved"])
    }).pipe(calling(["pay", ada], ["pay", ada])))

  it.effect("may ask its own question, and has its approval then, too", () =>
    Effect.gen(function*() {
      const sizes: Array<string> = []
      const order = Tool.make(
        "order",
        { description: "Orders", success: Schema.String },
        () => Effect.map(ToolCall.ask("Which size?", { choices: ["S", "L"] }), (size) => `${sizes.push(size)}`)
      ).pipe(Tool.approve())
      const agent = Agent.make({ toolkit: Toolkit.make(order) })
      const first = yield* waiting(agent.run("Order."))
      const second = yield* waiting(agent.resume(first, "yes"))
      assert.strictEqual(second.questions[0]?.kind, "choice")
      assert.deepStrictEqual(yield* refusedAt(agent.resume(second, "M")), ["replies.0.reply"])
      yield* agent.resume(second, " l ")
      assert.deepStrictEqual(sizes, ["L"])
    }).pipe(calling(["order", {}])))

  it.effect("is not run by a stop before it", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const stop = Tool.make(
        "stop",
        { description: "Stops", success: Schema.String, sideEffect: "none" },
        () => ToolCall.stop("Enough.")
      )
      const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve()), stop) })
      const suspension = yield* waiting(agent.run("Pay."))
      const approvals = suspension.questions.map((question) => Question.approve(question))
      assert.strictEqual((yield* Effect.flip(agent.resume(suspension, approvals)))._tag, "RunStopped")
      assert.deepStrictEqual(paid, [ada])
    }).pipe(calling(["pay", ada], ["stop"], ["pay", ben])))
})

describe("a denied call", () => {
  it.effect("may be asked about in other words, and again in the next run of the scope", () =>
    Effect.gen(function*() {
      const { agent, paid } = payingAgent()
      const first = yield* waiting(agent.run("Pay.", { scope: "s", facts: CallFacts.empty }))
      const second = yield* waiting(agent.resume(first, "no"))
      assert.strictEqual(second.questions[0]?.arguments, JSON.stringify(ben))
      const { facts, transcript } = yield* agent.resume(second, "no")
      const third = yield* waiting(agent.run("Pay.", { scope: "s", facts, transcript }))
      assert.strictEqual(third.questions[0]?.arguments, JSON.stringify(ada))
      yield* agent.resume(third, "yes")
      assert.deepStrictEqual(paid, [ada])
    }).pipe(playing(
      ScriptedModel.call("pay", ada),
      ScriptedModel.call("pay", ben),
      ScriptedModel.text("Denied."),
      ScriptedModel.call("pay", ada),
      ScriptedModel.text("Paid.")
    )))

  it.effect("is not asked about again in its run: whatever the tool, and after a loss", () =>
    Effect.gen(function*() {
      const definition = { description: "Pays", parameters: Payment, success: Schema.String }
      const works = () => Effect.succeed("paid")
      let sent = 0
      const model = (args: object) =>
        Effect.provide(
          ScriptedModel.layer(({ messages }) =>
            messages.filter(({ role }) => role === "tool").length < 3
              ? ScriptedModel.call("pay", args)
              : ScriptedModel.text("Done.")
          )
        )
      const denied = <Params>(tool: Tool.Tool<"pay", Params, string>, args: object = ada) =>
        Effect.gen(function*() {
          const agent = Agent.make({ toolkit: Toolkit.make(tool.pipe(Tool.approve())) })
          const suspension = yield* waiting(agent.run("Pay."))
          const answer = yield* agent.resume(suspension, "no")
          assert.deepStrictEqual(codes(answer), ["not_approved", "not_approved", "not_approved"])
        }).pipe(model(args))
      yield* denied(Tool.make("pay", { description: "Pays", success: Schema.String }, works), {})
      yield* denied(Tool.make("pay", { ...definition, sideEffect: "none" }, works))
      yield* denied(Tool.make("pay", { ...definition, sideEffect: "idempotent" }, works))
      yield* denied(Tool.make("pay", { ...definition, sideEffect: "idempotent_by_key", identity: "all" }, works))
      yield* denied(Tool.make("pay", { ...definition, identity: ({ to }) => to }, works))
      const losing = Tool.make(
        "pay",
        { ...definition, sideEffect: "idempotent_by_key", identity: "all" },
        () => Effect.fail(new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true }))
      ).pipe(Tool.approve(() => sent++ > 0))
      const agent = Agent.make({ toolkit: Toolkit.make(losing) })
      const suspension = yield* waiting(agent.run("Pay.").pipe(model(ada)))
      const answer = yield* agent.resume(suspension, "no").pipe(model(ada))
      assert.deepStrictEqual(codes(answer), ["connection", "not_approved", "not_approved"])
      assert.strictEqual(CallFacts.inDoubt(answer.facts).length, 1)
    }))
})

// -----------------------------------------------------------------------------
// What is shown
// -----------------------------------------------------------------------------

describe("arguments of a megabyte", () => {
  it.effect("are shown shortened, and say so; what was shown shortened is not taken back as it is", () =>
    Effect.gen(function*() {
      const got: Array<number> = []
      const mail = Tool.make("mail", {
        description: "Mails",
        parameters: Schema.Struct({ to: Schema.String, body: Schema.String }),
        success: Schema.String
      }, ({ body }) => Effect.sync(() => `${got.push(body.length)}`)).pipe(Tool.approve())
      const agent = Agent.make({ toolkit: Toolkit.make(mail) })
      const suspension = yield* waiting(agent.run("Mail."))
      const [question] = suspension.questions
      assert.isBelow(question!.arguments!.length, 2_000)
      assert.isBelow(question!.text.length, 2_000)
      assert.match(question!.arguments!, /… \(999000 more characters\)"\}$/)
      const edit = { ...Schema.decodeUnknownSync(Schema.JsonObject)(JSON.parse(question!.arguments!)), to: "Ben" }
      assert.deepStrictEqual(
        yield* refusedAt(agent.resume(suspension, [Question.approve(question!, { arguments: edit })])),
        ["replies.0.arguments.body"]
      )
      assert.deepStrictEqual(got, [])
      yield* agent.resume(suspension, "yes")
      assert.deepStrictEqual(got, [1_000_000])
    }).pipe(calling(["mail", { to: "Ada", body: "x".repeat(1_000_000) }])))

  it.effect("that differ where they are cut have different digests", () =>
    Effect.gen(function*() {
      const mail = Tool.make("mail", {
        description: "Mails",
        parameters: Schema.Struct({ lines: Schema.Array(Schema.String) }),
        success: Schema.String
      }, () => Effect.succeed("sent")).pipe(Tool.approve())
      const agent = Agent.make({ toolkit: Toolkit.make(mail) })
      const lines = Array.from({ length: 50_000 }, (_, index) => `line ${index}`)
      const { questions } = yield* waiting(agent.run("Mail.")).pipe(
        calling(["mail", { lines }], ["mail", { lines: lines.with(49_999, "line 49998") }])
      )
      const [one, two] = questions
      assert.strictEqual(one?.arguments, two?.arguments)
      assert.match(one?.arguments ?? "", /more characters\)$/)
      assert.notStrictEqual(one?.digest, two?.digest)
    }))
})

describe("odd names", () => {
  it.effect("of runs and calls confuse no replies", () =>
    Effect.gen(function*() {
      for (const id of ["run/turn/1/call/2", "é\u0000\n\"'", "x".repeat(256), "__proto__", "constructor"]) {
        const { agent, paid } = payingAgent()
        const suspension = yield* waiting(agent.run("Pay.", { id }))
        const [one, two, ...others] = suspension.questions
        assert.deepStrictEqual(others, [])
        const answer = yield* agent.resume(suspension, [Question.deny(one!), Question.approve(two!)])
        assert.deepStrictEqual(paid, [ben])
        assert.strictEqual(results(answer).length, 4)
      }
    }).pipe(Effect.provide(ScriptedModel.layer(({ messages }) =>
      messages.at(-1)?.role === "user"
        ? {
          text: "",
          calls: [
            { id: "same", name: "pay", arguments: JSON.stringify(ada) },
            { id: "same", name: "pay", arguments: JSON.stringify(ben) },
            { id: "", name: "constructor", arguments: "{}" },
            { id: "__proto__", name: "__proto__", arguments: "{}" }
          ]
        }
        : ScriptedModel.text("Done.")
    ))))
})

describe("final_answer", () => {
  it.effect("needs no approval by \"*\", and its check may ask", () =>
    Effect.gen(function*() {
      const agent = Agent.make({
        toolkit: Toolkit.empty,
        approvals: { "*": true },
        output: Schema.Struct({ total: Schema.Finite }),
        checkOutput: ({ total }) => Effect.asVoid(ToolCall.ask(`Is it ${total}?`))
      })
      const suspension = yield* waiting(agent.run("How much?"))
      const [question] = suspension.questions
      assert.deepInclude({ ...question }, { kind: "reply", tool: "final_answer", text: "Is it 7?" })
      assert.deepStrictEqual(
        yield* refusedAt(agent.resume(suspension, [Question.approve(question!)])),
        ["replies.0.approved"]
      )
      assert.strictEqual((yield* agent.resume(suspension, "yes")).value.total, 7)
    }).pipe(playing(ScriptedModel.call("final_answer", { total: 7 }))))
})

describe("a stream", () => {
  it.effect("tells each question, the decisions, and one end of each call", () =>
    Effect.gen(function*() {
      const { agent } = payingAgent()
      const told = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
        events.flatMap((event) =>
          event._tag === "CallEnded" ? [`${event.index} ${event.outcome._tag}`] : event._tag === "CallDecided" ?
            [
              `${event.index} ${event.approved}`
            ] :
            []
        )
      const first = yield* Stream.runCollect(agent.stream("Pay."))
      assert.deepStrictEqual(told(first), ["1 Suspended", "2 Suspended"])
      const last = first.at(-1)
      if (last?._tag !== "RunSuspended") return assert.fail(last?._tag)
      const [one, two] = last.waiting.suspension.questions
      const second = yield* Stream.runCollect(
        agent.resumeStream(stored(last.waiting.suspension), [Question.approve(one!), Question.deny(two!)])
      )
      assert.deepStrictEqual(told(second), ["1 true", "1 Completed", "2 false", "2 Failed"])
      assert.strictEqual(second.at(-1)?._tag, "RunEnded")
    }).pipe(calling(["pay", ada], ["pay", ben])))
})

describe("the servers of models", () => {
  it.effect("accept what they get after approvals, edits, denials and partial replies", () =>
    Effect.gen(function*() {
      const people = ["Ada", "Ben", "Cid", "Dan"]
      for (const { layer, name } of wires) {
        for (const isStreamed of [false, true]) {
          const { agent, paid } = payingAgent()
          const script: ScriptedModel.Script = ({ messages }) => {
            const turn = messages.filter(({ role }) => role === "assistant").length
            return turn < 2
              ? ScriptedModel.calls(...people.map((to): ScriptedModel.Call => ["pay", { to, amount: turn + 1 }]))
              : ScriptedModel.text("Done.")
          }
          const ended = isStreamed
            ? (suspension?: AgentFailure.Suspension, replies: ReadonlyArray<Question.Reply> = []) =>
              Effect.map(
                Stream.runCollect(
                  suspension === undefined ? agent.stream("Pay.") : agent.resumeStream(suspension, replies)
                ),
                (events) => {
                  const last = events.at(-1)
                  return last?._tag === "RunSuspended"
                    ? last.waiting.suspension
                    : last?._tag === "RunEnded"
                    ? last.answer
                    : assert.fail(last?._tag)
                }
              )
            : (suspension?: AgentFailure.Suspension, replies: ReadonlyArray<Question.Reply> = []) =>
              Effect.catchTag(
                suspension === undefined ? agent.run("Pay.") : agent.resume(suspension, replies),
                "RunSuspended",
                ({ suspension }) => Effect.succeed(suspension)
              )
          yield* Effect.gen(function*() {
            let end = yield* ended()
            for (let part = 0; "questions" in end && part < 8; part++) {
              // One after the other, from the end: denied, changed, approved as it is.
              const question = end.questions.at(-1)!
              const reply = part % 4 === 0
                ? Question.deny(question, { reason: "No “money”.\n" })
                : part % 4 === 1
                ? Question.approve(question, { arguments: { to: "Eve", amount: part } })
                : Question.approve(question)
              end = yield* ended(stored(end), [reply])
            }
            if ("questions" in end) return assert.fail(`${name} still waits`)
            assert.strictEqual(end.text, "Done.", name)
            assert.deepStrictEqual(codes(end), ["not_approved", "not_approved"])
            assert.strictEqual(results(end).length, 8)
            assert.deepStrictEqual(paid.map(({ to }) => to), ["Ada", "Ben", "Eve", "Ada", "Ben", "Eve"])
          }).pipe(Effect.provide(layer(script)))
        }
      }
    }))
})

describe("a decision", () => {
  it.effect("on a call that a program dispatches counts for that call and those arguments", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const toolkit = Toolkit.make(pay.pipe(Tool.approve()))
      const call = { id: "1", name: "pay", arguments: JSON.stringify(ada) }
      const options = { id: "call", facts: CallFacts.empty }
      const before = yield* Dispatch.call(toolkit, call, options)
      if (before._tag !== "Suspended") return assert.fail(before._tag)
      const { asks: { digest = "", id: to }, question } = before
      const decide = (id: string, digest: string, approved: boolean) =>
        Dispatch.call(toolkit, call, {
          ...options,
          before,
          replies: [{ id, question, reply: "yes", to, decided: { approved, digest } }]
        })
      const inWords = Dispatch.call(toolkit, call, {
        ...options,
        before,
        replies: [{ id: "call", question, reply: "yes" }]
      })
      for (const run of [decide("other", digest, true), decide("call", "other", true), inWords]) {
        assert.strictEqual((yield* run)._tag, "Suspended")
      }
      assert.strictEqual((yield* decide("call", digest, false))._tag, "Failed")
      assert.deepStrictEqual(paid, [])
      assert.strictEqual((yield* decide("call", digest, true))._tag, "Completed")
      assert.deepStrictEqual(paid, [ada])
    }))

  it.effect("in words approves by a plain yes only", () =>
    Effect.gen(function*() {
      for (const text of ["yes, but not now", "not yes", "eyes", "yes?", "ok", "", "y", "ja"]) {
        const { agent, paid } = payingAgent()
        const suspension = yield* waiting(agent.run("Pay."))
        assert.deepStrictEqual(codes(yield* agent.resume(suspension, text)), ["not_approved"], text)
        assert.deepStrictEqual(paid, [])
      }
      for (const text of ["yes", " Yes. ", "YES!"]) {
        const { agent, paid } = payingAgent()
        yield* agent.resume(yield* waiting(agent.run("Pay.")), text)
        assert.deepStrictEqual(paid, [ada])
      }
    }).pipe(calling(["pay", ada])))

  it.effect("does not count if the program says since then that another effect is meant", () =>
    Effect.gen(function*() {
      const definition = { description: "Pays", parameters: Payment, success: Schema.String }
      const works = () => Effect.succeed("paid")
      const agentOf = (identity: (payment: Payment) => unknown) =>
        Agent.make({ toolkit: Toolkit.make(Tool.make("pay", { ...definition, identity }, works).pipe(Tool.approve())) })
      const suspension = yield* waiting(agentOf(({ to }) => to).run("Pay."))
      const other = agentOf(({ amount }) => amount)
      assert.deepStrictEqual(yield* refusedAt(other.resume(suspension, "yes")), ["suspension.outcomes.0.asks.digest"])
    }).pipe(calling(["pay", ada])))

  it.effect("comes too late after the time that the agent gives for all replies", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve())), resumeWithin: "1 hour" })
      const suspension = yield* waiting(agent.run("Pay."))
      yield* TestClock.adjust("1 hour")
      yield* agent.check(suspension)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* refusedAt(agent.check(suspension)), ["suspension.expires"])
      assert.deepStrictEqual(yield* refusedAt(agent.resume(suspension, "yes")), ["suspension.expires"])
      assert.deepStrictEqual(paid, [])
    }).pipe(calling(["pay", ada])))
})

describe("a run with a journal", () => {
  it.effect("asks its approver for nothing that was recorded, and pays once, wherever its process stops", () =>
    Effect.gen(function*() {
      for (let step = 1; step <= 7; step++) {
        for (const hasRun of [false, true]) {
          const { agent, paid } = payingAgent()
          const file = new FileJournal()
          let asked = 0
          const process = (stop?: Stop) =>
            file.process((journal) =>
              agent.run("Pay.", { id: "run" }).pipe(
                approver((questions) => {
                  asked++
                  return Effect.succeed(questions.slice(-1).map((question) => Question.approve(question)))
                }),
                Effect.provideService(Journal.current, journal)
              ), stop)
          assert.isUndefined(yield* process({ step, hasRun }))
          const ended = yield* process()
          if (ended === undefined || Exit.isFailure(ended)) return assert.fail("It did not end.")
          const before = asked
          const again = yield* process()
          if (again === undefined || Exit.isFailure(again)) return assert.fail("It did not end again.")
          assert.deepStrictEqual(results(again.value), results(ended.value))
          assert.strictEqual(asked, before)
          assert.isAtMost(asked, 3)
          assert.strictEqual(new Set(paid).size, paid.length)
          assert.isAtMost(paid.filter(({ to }) => to === "Ada").length, 1)
          assert.isAtMost(paid.filter(({ to }) => to === "Ben").length, 1)
        }
      }
    }).pipe(calling(["pay", ada], ["pay", ben])))

  it.effect("claims once: its replay goes on, and a run with another journal is refused", () =>
    Effect.gen(function*() {
      for (const stop of [{ step: 2, hasRun: false }, { step: 2, hasRun: true }, { step: 3, hasRun: true }]) {
        const { agent, paid } = payingAgent()
        const suspension = yield* waiting(agent.run("Pay.", { id: "run" }))
        const resumed = (file: FileJournal, stop?: Stop) =>
          file.process(
            (journal) => Effect.provideService(agent.resume(suspension, "yes"), Journal.current, journal),
            stop
          )
        const file = new FileJournal()
        yield* Effect.gen(function*() {
          assert.isUndefined(yield* resumed(file, stop))
          const own = yield* resumed(file)
          assert.isTrue(own !== undefined && Exit.isSuccess(own))
          const other = yield* resumed(new FileJournal())
          if (other === undefined) return assert.fail("It stopped.")
          assert.deepStrictEqual(yield* refusedAt(other), ["suspension.id"])
        }).pipe(Effect.provide(Claims.layerMemory))
        assert.isAtMost(paid.length, 1)
      }
    }).pipe(calling(["pay", ada])))
})
