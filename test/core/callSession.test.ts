/* Calls in a loop that is not an agent's (`CallSession`). */
import { assert, describe, it } from "@effect/vitest"
import { Observer, Policy, Tool, ToolCall, Toolkit } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import * as CallSession from "@fallible/core/CallSession"
import * as Deadline from "@fallible/core/Deadline"
import { Deferred, Effect, Fiber, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { ada, payments } from "../support/approving.ts"
import { losing } from "../support/losing.ts"

const callOf = (name: string, args: object, id = "1") => ({ id, name, arguments: JSON.stringify(args) })

interface Calling {
  readonly call: (
    call: ReturnType<typeof callOf>,
    options: CallSession.CallOptions
  ) => Effect.Effect<CallSession.Outcome>
}

const endOf = (outcome: CallSession.Outcome) => outcome._tag === "Failed" ? outcome.failure.code : outcome._tag

describe("CallSession", () => {
  it.effect("a lost call is not repeated, in other words either, and not in a later session of its scope", () =>
    Effect.gen(function*() {
      const { keys, pay } = losing()
      const toolkit = Toolkit.make(pay)
      const session = CallSession.make(toolkit, { scope: "chat-1", facts: CallFacts.empty })
      assert.strictEqual(endOf(yield* session.call(callOf("pay", { order: "o-7" }))), "outcome_unknown")
      assert.strictEqual(endOf(yield* session.call(callOf("pay", { order: "o-7", note: "again" }))), "repeated_call")
      assert.strictEqual(endOf(yield* session.call(callOf("pay", { order: "o-8" }))), "Completed")
      const later = CallSession.make(toolkit, { scope: "chat-1", facts: session.facts() })
      assert.strictEqual(endOf(yield* later.call(callOf("pay", { order: "o-7" }))), "repeated_call")
      assert.strictEqual(endOf(yield* later.call(callOf("pay", { order: "o-8" }))), "already_done")
      assert.strictEqual(new Set(keys).size, 2)
      assert.deepStrictEqual(CallFacts.inDoubt(later.facts()).map(({ tool }) => tool), ["pay"])
    }))

  it.effect("equal calls of one turn run once, and those of two turns twice", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const session = CallSession.make(Toolkit.make(pay))
      const turn = {}
      const calls = [callOf("pay", ada, "1"), callOf("pay", ada, "2")]
      const outcomes = yield* Effect.all(calls.map((call) => session.call(call, { turn })), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(outcomes.map((outcome) => outcome.joined), [undefined, true])
      assert.strictEqual(paid.length, 1)
      yield* session.call(callOf("pay", ada))
      assert.strictEqual(paid.length, 2)
    }))

  it.effect("calls that act run one by one, in their order, and calls that read at once", () =>
    Effect.gen(function*() {
      const events: Array<string> = []
      const gate = yield* Deferred.make<void>()
      const slow = (name: string, sideEffect: "none" | "non_idempotent") =>
        Tool.make(name, {
          description: "",
          parameters: Schema.Struct({ n: Schema.Int }),
          success: Schema.Int,
          sideEffect
        }, ({ n }) =>
          Effect.gen(function*() {
            events.push(`${name} ${n} begins`)
            yield* Deferred.await(gate)
            events.push(`${name} ${n} ends`)
            return n
          }))
      const session = CallSession.make(Toolkit.make(slow("read", "none"), slow("write", "non_idempotent")))
      const calls = [["write", 1], ["write", 2], ["read", 3], ["read", 4]] as const
      const fiber = yield* Effect.forkChild(
        Effect.all(calls.map(([name, n]) => session.call(callOf(name, { n }))), { concurrency: "unbounded" })
      )
      yield* Effect.yieldNow
      while (events.length < 3) yield* Effect.yieldNow
      assert.deepStrictEqual(events.toSorted(), ["read 3 begins", "read 4 begins", "write 1 begins"])
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(fiber)
      assert.isBelow(events.indexOf("write 1 ends"), events.indexOf("write 2 begins"))
    }))

  it.effect("an interrupted call is in doubt", () =>
    Effect.gen(function*() {
      const never = Tool.make("send", {
        description: "Sends",
        parameters: Schema.Struct({ to: Schema.String }),
        success: Schema.Void,
        identity: ({ to }) => to
      }, () => Effect.never)
      const session = CallSession.make(Toolkit.make(never))
      const fiber = yield* Effect.forkChild(session.call(callOf("send", { to: "Ada" })))
      yield* Effect.yieldNow
      yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(CallFacts.inDoubt(session.facts()).length, 1)
      assert.strictEqual(endOf(yield* session.call(callOf("send", { to: "Ada" }))), "repeated_call")
    }))

  it.effect("a call that still runs is in doubt for whoever asks meanwhile, and is not when it has ended", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const send = Tool.make("send", {
        description: "Sends",
        parameters: Schema.Struct({ to: Schema.String }),
        success: Schema.String,
        identity: ({ to }) => to
      }, () => Effect.as(Effect.uninterruptible(Deferred.await(gate)), "sent"))
      const toolkit = Toolkit.make(send)
      const session = CallSession.make(toolkit, { scope: "chat-1", facts: CallFacts.empty })
      const fiber = yield* Effect.forkChild(session.call(callOf("send", { to: "Ada" })))
      yield* Effect.yieldNow
      // The call cannot be stopped. The facts that are stored now go to the next request.
      fiber.interruptUnsafe()
      const facts = session.facts()
      assert.deepStrictEqual(CallFacts.inDoubt(facts).map(({ code, tool }) => [tool, code]), [[
        "send",
        "outcome_unknown"
      ]])
      const next = CallSession.make(toolkit, { scope: "chat-1", facts })
      assert.strictEqual(endOf(yield* next.call(callOf("send", { to: "Ada" }))), "repeated_call")
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.await(fiber)
      const ended = CallSession.make(toolkit, { scope: "chat-2", facts: CallFacts.empty })
      yield* ended.call(callOf("send", { to: "Ben" }))
      assert.deepStrictEqual(CallFacts.inDoubt(ended.facts()), [])
    }))

  it.effect("so is a call that reads, if it runs a tool that acts", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const send = Tool.make("send", { description: "Sends", success: Schema.Void }, () => Deferred.await(gate))
      const look = Tool.make("look", { description: "Looks", success: Schema.Void, sideEffect: "none" }, () =>
        Effect.uninterruptible(send.run({})))
      const rest = Tool.make("rest", { description: "Rests", success: Schema.Void, sideEffect: "none" }, () =>
        Deferred.await(gate))
      const session = CallSession.make(Toolkit.make(look, rest))
      const resting = yield* Effect.forkChild(session.call(callOf("rest", {})))
      yield* Effect.yieldNow
      assert.deepStrictEqual(CallFacts.inDoubt(session.facts()), [])
      const looking = yield* Effect.forkChild(session.call(callOf("look", {})))
      yield* Effect.yieldNow
      yield* Effect.yieldNow
      assert.deepStrictEqual(
        CallFacts.inDoubt(session.facts()).map(({ tool }) =>
          tool
        ),
        ["look"]
      )
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.await(looking)
      yield* Fiber.await(resting)
      assert.deepStrictEqual(CallFacts.inDoubt(session.facts()), [])
    }))

  it.effect("arguments that are decoded already are what runs, and are not decoded again", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const session = CallSession.make(Toolkit.make(pay))
      const decoded = { params: { ...ada, amount: 7 }, repairs: [] }
      yield* session.call(callOf("pay", ada), { decoded })
      assert.deepStrictEqual(paid, [{ ...ada, amount: 7 }])
    }))

  it.effect("an approval is for the other loop to ask for, and a call that it makes needs none", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const session = CallSession.make(Toolkit.make(pay.pipe(Tool.approve(({ amount }) => amount > 5))))
      assert.isFalse(yield* session.needsApproval("pay", ada))
      assert.isTrue(yield* session.needsApproval("pay", { ...ada, amount: 7 }))
      assert.isFalse(yield* session.needsApproval("nowhere", ada))
      yield* session.call(callOf("pay", { ...ada, amount: 7 }))
      assert.strictEqual(paid.length, 1)
    }))

  it.effect("an approval whose predicate never answers is asked for at the deadline, and one that fails is reported", () =>
    Effect.gen(function*() {
      const { pay } = payments()
      const session = CallSession.make(Toolkit.make(pay.pipe(Tool.approve(() => Effect.never))))
      const fiber = yield* Effect.forkChild(session.needsApproval("pay", ada).pipe(Deadline.within("2 seconds")))
      yield* TestClock.adjust("2 seconds")
      assert.isTrue(yield* Fiber.join(fiber))
      const lines: Array<unknown> = []
      const failing = CallSession.make(Toolkit.make(pay.pipe(Tool.approve(() => Effect.die("down")))))
      const observer = { onDefect: (label: string) => Effect.sync(() => void lines.push(label)) }
      assert.isTrue(yield* failing.needsApproval("pay", ada).pipe(Observer.observe(observer)))
      assert.deepStrictEqual(lines, ["It is not known whether pay needs an approval, so it is asked for"])
    }))

  it.effect("a handler may make calls in the session of its own call, one by one and joined", () =>
    Effect.gen(function*() {
      const begun: Array<string> = []
      const leaf = Tool.make("leaf", {
        description: "",
        parameters: Schema.Struct({ n: Schema.Int }),
        success: Schema.Int
      }, ({ n }) => Effect.sync(() => begun.push(`leaf ${n}`)))
      const inner = () => {
        const turn = {}
        return Effect.all(
          [1, 1, 2].map((n) => Effect.suspend(() => session.call(callOf("leaf", { n }), { turn }))),
          { concurrency: "unbounded" }
        )
      }
      const asEffect = Tool.make(
        "effect",
        { description: "", success: Schema.Int },
        () => Effect.map(inner(), (outcomes) => outcomes.length)
      )
      const asPromise = Tool.promise(
        "promise",
        { description: "", success: Schema.Int },
        async () => (await Effect.runPromise(inner())).length
      )
      const session: Calling = CallSession.make(Toolkit.make(leaf, asEffect, asPromise))
      for (const name of ["effect", "promise"]) {
        begun.length = 0
        assert.strictEqual(endOf(yield* session.call(callOf(name, {}), {})), "Completed")
        assert.deepStrictEqual(begun, ["leaf 1", "leaf 2"])
      }
    }))

  it.effect("nobody can be asked, and approvals are not asked for", () =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const asking = Tool.make("ask", { description: "Asks", success: Schema.String }, () => ToolCall.ask("Which one?"))
      const client = Tool.client("locate", { description: "Locates", success: Schema.String })
      const session = CallSession.make(Toolkit.make(pay.pipe(Tool.approve()), asking, client))
      assert.strictEqual(endOf(yield* session.call(callOf("pay", ada))), "Completed")
      assert.strictEqual(paid.length, 1)
      const asked = yield* session.call(callOf("ask", {}))
      assert.strictEqual(endOf(asked), "not_asked")
      assert.include(asked._tag === "Failed" ? asked.failure.detail : "", "Which one?")
      assert.strictEqual(endOf(yield* session.call(callOf("locate", {}))), "not_asked")
      assert.strictEqual(endOf(yield* session.call(callOf("nowhere", {}))), "unknown_tool")
    }))

  it.effect("its facts are those that it was given, until a call is made", () =>
    Effect.gen(function*() {
      const { pay } = payments()
      assert.strictEqual(CallSession.make(Toolkit.make(pay)).facts(), CallFacts.empty)
      const kept = Toolkit.withDefaults(Toolkit.make(pay), Policy.standard())
      const session = CallSession.make(kept)
      yield* session.call(callOf("pay", ada))
      assert.strictEqual(session.facts().run, 0)
      const next = CallSession.make(kept, { facts: session.facts() })
      yield* next.call(callOf("pay", { ...ada, amount: 7 }))
      assert.strictEqual(next.facts().run, 1)
    }))

  it.effect("of sessions of one scope that run at once, one acts at a time, and the others know what it did", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      let paid = 0
      const pay = Tool.make("pay", {
        description: "Pays",
        parameters: Schema.Struct({ order: Schema.String }),
        success: Schema.Int,
        identity: ({ order }) => order
      }, () => Effect.as(Deferred.await(gate), ++paid))
      const toolkit = Toolkit.make(pay)
      const made = () => CallSession.make(toolkit, { scope: "chat-at-once", facts: CallFacts.empty })
      const [one, other] = [made(), made()]
      const call = callOf("pay", { order: "o-7" })
      const first = yield* Effect.forkChild(one.call(call))
      yield* Effect.yieldNow
      const second = yield* other.call(call)
      assert.strictEqual(endOf(second), "not_run")
      assert.include(second._tag === "Failed" ? second.failure.detail : "", "another request of this conversation")
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual(endOf(yield* Fiber.join(first)), "Completed")
      assert.strictEqual(endOf(yield* other.call(call)), "already_done")
      assert.strictEqual(paid, 1)
      // Whichever of them is stored last: the effect is known.
      for (const session of [one, other]) {
        const later = CallSession.make(toolkit, { scope: "chat-at-once", facts: session.facts() })
        assert.strictEqual(endOf(yield* later.call(call)), "already_done")
      }
      const elsewhere = CallSession.make(toolkit, { scope: "another-chat", facts: CallFacts.empty })
      assert.strictEqual(endOf(yield* elsewhere.call(call)), "Completed")
    }))

  it.effect("what a program has settled counts", () =>
    Effect.gen(function*() {
      const { keys, pay } = losing()
      const toolkit = Toolkit.make(pay)
      const first = CallSession.make(toolkit, { scope: "chat-settled", facts: CallFacts.empty })
      yield* first.call(callOf("pay", { order: "o-7" }))
      const [doubt] = CallFacts.inDoubt(first.facts())
      const settled = CallFacts.settle(first.facts(), doubt?.id ?? "", { certainty: "not_executed", by: "Ada" })
      const later = CallSession.make(toolkit, { scope: "chat-settled", facts: Result.getOrThrow(settled) })
      assert.strictEqual(endOf(yield* later.call(callOf("pay", { order: "o-7" }))), "Completed")
      assert.strictEqual(keys.length, 2)
    }))

  it("demands facts that were decoded, and those of its scope", () => {
    const toolkit = Toolkit.make(payments().pay)
    const whyOf = (options: unknown) => {
      try {
        CallSession.make(toolkit, options as CallSession.Options)
        return "it was made"
      } catch (error) {
        return error instanceof TypeError ? error.message : "another error"
      }
    }
    const stored: unknown = JSON.parse(JSON.stringify(Schema.encodeSync(CallFacts.schema)(CallFacts.empty)))
    assert.include(whyOf({ scope: "chat-1" }), "For the first session, pass CallFacts.empty.")
    assert.include(whyOf({ scope: "chat-1", facts: undefined }), "For the first session")
    assert.include(whyOf({ scope: "chat-1", facts: stored }), "as CallFacts.schema decodes them")
    assert.include(whyOf({ scope: "chat-1", facts: { ...CallFacts.empty, scope: "chat-2" } }), "got those of 'chat-2'")
    assert.include(whyOf({ scopes: "chat-1" }), "has no option 'scopes'")
  })
})
