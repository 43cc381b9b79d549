/** Attacks on approvals: whatever is sent, stored and waited for, nothing runs that nobody approved. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import * as Approver from "@fallible/core/Approver"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Claims from "@fallible/core/Claims"
import * as Question from "@fallible/core/Question"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Effect, Exit, Fiber, Schema } from "effect"
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
      assert.include(third.questions[0]?.text, "Do it again?")
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

type Asked = { digest?: string } & { -readonly [K in keyof typeof Shown.Type]: string }

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
        const outcomes = rest.outcomes.map(({ asks: _, ...outcome }) => outcome)
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
