import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Dispatch,
  PartialData,
  Rendering,
  RetryPolicy,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import type { SideEffect, ToolOutcome, Transcript } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Deferred, Duration, Effect, Fiber, Logger, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { lettered } from "../support/lettered.ts"
import { runTurn } from "../support/turn.ts"
import { passing } from "../support/virtualTime.ts"

const Echo = Schema.Struct({ n: Schema.Int })

const echo = (name: string, handler: Effect.Effect<void>, sideEffect: SideEffect.SideEffect = "none") =>
  Tool.make(
    name,
    { description: name, parameters: Echo, success: Schema.Int, sideEffect },
    ({ n }) => Effect.as(handler, n)
  )

const failing = (name: string, failure: SchemaMismatch | PartialData<number> | SemanticGarbage | ToolUnavailable) =>
  Tool.make(
    name,
    { description: name, parameters: Echo, success: Schema.Int, sideEffect: "none" },
    () => Effect.fail(failure)
  )

const refused = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })

/** One tool for every way in which a handler can behave, with what must come of a well-formed call. */
const zoo = {
  reads: { tool: echo("reads", Effect.void), comesTo: "Completed" },
  writes: { tool: echo("writes", Effect.void, "non_idempotent"), comesTo: "Completed" },
  slow: { tool: echo("slow", Effect.sleep("3 seconds")), comesTo: "Completed" },
  slow_write: { tool: echo("slow_write", Effect.sleep("2 seconds"), "idempotent"), comesTo: "Completed" },
  mismatches: {
    tool: failing("mismatches", new SchemaMismatch({ side: "result", code: "invalid_result", detail: "No total." })),
    comesTo: "invalid_result"
  },
  partial: {
    tool: failing("partial", new PartialData({ code: "more_pages", detail: "1 of 2.", data: 1 })),
    comesTo: "more_pages"
  },
  garbage: {
    tool: failing("garbage", new SemanticGarbage({ code: "unknown_entity", detail: "Unknown." })),
    comesTo: "unknown_entity"
  },
  unavailable: { tool: failing("unavailable", refused), comesTo: "connection" },
  retried: { tool: failing("retried", refused).pipe(Tool.retry(RetryPolicy.transient)), comesTo: "connection" },
  throws: {
    tool: Tool.make("throws", { description: "", parameters: Echo, success: Schema.Int }, () => {
      throw new TypeError("undefined is not a function")
    }),
    comesTo: "defect"
  },
  dies: { tool: echo("dies", Effect.die("out of memory")), comesTo: "defect" },
  interrupts_itself: { tool: echo("interrupts_itself", Effect.interrupt), comesTo: "defect" },
  joins_an_interrupted_fiber: {
    tool: echo(
      "joins_an_interrupted_fiber",
      Effect.flatMap(
        Effect.forkChild(Effect.never),
        (fiber) => Effect.andThen(Fiber.interrupt(fiber), Fiber.join(fiber))
      )
    ),
    comesTo: "defect"
  },
  fails_otherwise: {
    // What a program in plain JavaScript could do.
    tool: echo("fails_otherwise", Effect.fail(new Error("not one of the four")) as never),
    comesTo: "defect"
  },
  lies: {
    tool: Tool.make(
      "lies",
      { description: "", parameters: Echo, success: Schema.Int },
      () => Effect.succeed("not a number" as never)
    ),
    comesTo: "invalid_result"
  },
  interrupts_itself_in_time: {
    tool: echo("interrupts_itself_in_time", Effect.interrupt).pipe(Tool.timeout("5 seconds")),
    comesTo: "defect"
  },
  hangs: { tool: echo("hangs", Effect.never).pipe(Tool.timeout("5 seconds")), comesTo: "timeout" },
  hangs_for_good: {
    tool: echo("hangs_for_good", Effect.uninterruptible(Effect.never)).pipe(Tool.timeout("5 seconds")),
    comesTo: "timeout"
  },
  asks: { tool: echo("asks", Effect.asVoid(ToolCall.ask("Which one?"))), comesTo: "Suspended" },
  stops: { tool: echo("stops", ToolCall.stop("enough")), comesTo: "Stopped" }
} as const

type Behaviour = keyof typeof zoo

const toolkit = Toolkit.make(...Object.values(zoo).map(({ tool }) => tool))

const wellFormed = (n: number) => ({ text: JSON.stringify({ n }), readable: true })
const malformed = fc.constantFrom(
  undefined,
  "",
  "null",
  "[]",
  "{}",
  "{\"n\":",
  "{\"n\":1.5}",
  "{\"m\":1}",
  "{\"n\":1,\"x\":2}",
  "[{\"n\":1}]",
  "n=1",
  "{\"__proto__\":{\"n\":1}}"
)

interface Planned {
  readonly call: ToolCall.ToolCall
  /** The tag or code that must come of it; `undefined` when anything that is a failure will do. */
  readonly comesTo: string | undefined
}

const planned: fc.Arbitrary<Planned> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.constantFrom(...Object.keys(zoo) as Array<Behaviour>), fc.integer()).map(([name, n]) => ({
      call: { id: "", name, arguments: wellFormed(n).text },
      comesTo: zoo[name].comesTo
    }))
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom(...Object.keys(zoo) as Array<Behaviour>), malformed).map(([name, text]) => ({
      call: { id: "", name, ...(text === undefined ? {} : { arguments: text }) },
      comesTo: undefined
    }))
  },
  {
    weight: 1,
    arbitrary: fc.string({ unit: "binary", maxLength: 80 }).filter((name) => !(name in zoo)).map((name) => ({
      call: { id: "", name, arguments: "{}" },
      comesTo: "unknown_tool"
    }))
  }
)

const batch = fc.array(planned, { maxLength: 12 })

const withIds = (plan: ReadonlyArray<Planned>) =>
  plan.map((one, i) => ({ ...one, call: { ...one.call, id: `id_${i}` } }))

/** Which calls must not run, since one before them, and not beside them, stops the run or asks the user. */
const heldBack = (plan: ReadonlyArray<Planned>): ReadonlyArray<boolean> => {
  let held = false
  let halts = false
  let wasReading = false
  return plan.map(({ call, comesTo }) => {
    const isReading = (toolkit.tools.get(call.name)?.sideEffect ?? "none") === "none"
    if (!isReading || !wasReading) held ||= halts
    wasReading = isReading
    halts ||= !held && (comesTo === "Suspended" || comesTo === "Stopped")
    return held
  })
}

const label = (outcome: ToolOutcome.ToolOutcome) => outcome._tag === "Failed" ? outcome.failure.code : outcome._tag

/** Runs on virtual time, which passes until nothing waits for it. Quiet, for it is full of defects. */
const runVirtual = <A, E>(effect: Effect.Effect<A, E>) =>
  passing(effect).pipe(Effect.provide([TestClock.layer(), Logger.layer([])]), Effect.runPromise)

const law = { tags: "slow", timeout: 120_000 }

describe("Dispatch", () => {
  it("gives every call of any batch exactly one outcome, in order, and loses no sibling", law, () =>
    fc.assert(
      fc.asyncProperty(batch, async (plan) => {
        const calls = withIds(plan)
        const outcomes = await runVirtual(runTurn(toolkit, calls.map(({ call }) => call)))
        assert.strictEqual(outcomes.length, calls.length)
        const held = heldBack(calls)
        calls.forEach(({ call, comesTo }, i) => {
          const outcome = outcomes[i]!
          if (held[i]) assert.strictEqual(label(outcome), "not_run", call.name)
          else if (comesTo !== undefined) assert.strictEqual(label(outcome), comesTo, call.name)
          else assert.strictEqual(outcome._tag, "Failed", `${call.name}(${call.arguments})`)
          if (outcome._tag === "Completed") assert.deepStrictEqual({ n: outcome.value }, JSON.parse(call.arguments!))
        })
      }),
      { numRuns: 2000 }
    ))

  it("leaves a history in which every call has its result, right behind it", law, () =>
    fc.assert(
      fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 3 }), fc.boolean(), async (plans, repeatIds) => {
        const replies = plans.map((plan) => ({
          text: "",
          calls: withIds(plan.filter(({ comesTo }) => comesTo !== "Suspended" && comesTo !== "Stopped")).map((
            { call }
          ) => repeatIds ? { ...call, id: "same" } : call)
        })).filter(({ calls }) => calls.length > 0)
        const script = [...replies, ScriptedModel.text("done")]
        const answer = await runVirtual(
          Agent.make({ toolkit }).run("go").pipe(Effect.provide(ScriptedModel.layer(script)))
        )
        assert.strictEqual(answer.text, "done")
        assert.strictEqual(answer.transcript.length, 2 + replies.length + replies.flatMap(({ calls }) => calls).length)
        assertAnswered(Array.from(answer.transcript))
      }),
      { numRuns: 500 }
    ))

  it.effect("keeps the sibling's result when one call fails", () =>
    Effect.gen(function*() {
      const outcomes = yield* runTurn(toolkit, [
        { id: "1", name: "garbage", arguments: "{\"n\":1}" },
        { id: "2", name: "reads", arguments: "{\"n\":2}" }
      ])
      assert.deepStrictEqual(outcomes.map(label), ["unknown_entity", "Completed"])
    }))

  it.effect("names the valid tools, nearest first, when the model calls one that does not exist", () =>
    Effect.gen(function*() {
      const outcome = yield* Dispatch.call(toolkit, { id: "1", name: "hang" })
      assert.isTrue(outcome._tag === "Failed" && outcome.failure._tag === "SchemaMismatch")
      if (outcome._tag !== "Failed" || outcome.failure._tag !== "SchemaMismatch") return
      assert.strictEqual(outcome.stage, "resolve")
      assert.deepStrictEqual(outcome.failure.alternatives.slice(0, 2), ["hangs", "hangs_for_good"])
    }))

  it.effect("says on which stage of its way a call ended", () =>
    Effect.gen(function*() {
      const stage = (name: string, text: string) =>
        Effect.map(Dispatch.call(toolkit, { id: "1", name, arguments: text }), (outcome) =>
          outcome._tag === "Failed" ? outcome.stage : outcome._tag)
      assert.deepStrictEqual(
        yield* Effect.all([
          stage("nobody", "{}"),
          stage("reads", "{"),
          stage("reads", "{\"m\":1}"),
          stage("garbage", "{\"n\":1}"),
          stage("lies", "{\"n\":1}")
        ]),
        ["resolve", "parse", "decode", "run", "guard"]
      )
    }))

  it.effect("runs up to 8 reading calls of a turn at once", () =>
    Effect.gen(function*() {
      const gauge = yield* makeGauge
      yield* runNamed(Toolkit.make(gauge.tool("reads", "none")), Array.from({ length: 20 }, () => "reads"))
      assert.strictEqual(gauge.most(), 8)
    }))

  it.effect("runs calls that act one at a time, in the order of the calls", () =>
    Effect.gen(function*() {
      const gauge = yield* makeGauge
      const kit = Toolkit.make(gauge.tool("pay", "non_idempotent"), gauge.tool("put", "idempotent"))
      yield* runNamed(kit, ["pay", "put", "pay", "put"])
      assert.strictEqual(gauge.most(), 1)
      assert.deepStrictEqual(gauge.log(), ["pay", "put", "pay", "put"])
    }))

  it.effect("lets a read see the writes before it, and run beside its reading neighbours", () =>
    Effect.gen(function*() {
      const gauge = yield* makeGauge
      const kit = Toolkit.make(gauge.tool("read", "none"), gauge.tool("pay", "non_idempotent"))
      yield* runNamed(kit, ["read", "read", "pay", "read"])
      assert.deepStrictEqual(gauge.log(), ["read", "read", "pay", "read"])
      assert.strictEqual(gauge.most(), 2)
    }))

  it.effect("tells a call under which key it runs, the same for every attempt", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const tool = Tool.make("pay", { description: "", success: Schema.Void, sideEffect: "idempotent" }, () =>
        Effect.flatMap(ToolCall.current, ({ attempt, idempotencyKey }) => {
          keys.push(`${idempotencyKey}#${attempt}`)
          return Effect.fail(refused)
        })).pipe(Tool.retry(RetryPolicy.transient))
      yield* passing(Dispatch.call(Toolkit.make(tool), { id: "1", name: "pay" }, { idempotencyKey: "order-7" }))
      assert.deepStrictEqual(keys, ["order-7#1", "order-7#2", "order-7#3"])
    }))

  it.effect("never calls the outcome of a tool that only reads unknown", () =>
    Effect.gen(function*() {
      const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: false, outcome: "unknown" })
      const outcomeOf = (sideEffect: SideEffect.SideEffect) => {
        const tool = Tool.make("t", { description: "", success: Schema.Void, sideEffect }, () => Effect.fail(lost))
        return Effect.map(Dispatch.call(Toolkit.make(tool), { id: "1", name: "t" }), (outcome) =>
          outcome._tag === "Failed" && outcome.failure._tag === "ToolUnavailable" && outcome.failure.outcome)
      }
      assert.strictEqual(yield* outcomeOf("none"), "not_executed")
      assert.strictEqual(yield* outcomeOf("idempotent"), "unknown")
      assert.strictEqual(yield* outcomeOf("non_idempotent"), "unknown")
    }))

  it.effect("never tells a model to try again later what may have acted and is not idempotent", () =>
    Effect.gen(function*() {
      const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
      const isTransient = (sideEffect: SideEffect.SideEffect) => {
        const tool = Tool.make("t", { description: "", success: Schema.Void, sideEffect }, () => Effect.fail(lost))
        return Effect.map(
          Dispatch.call(Toolkit.make(tool), { id: "1", name: "t" }),
          (outcome) =>
            outcome._tag === "Failed" && outcome.failure._tag === "ToolUnavailable" && outcome.failure.transient
        )
      }
      assert.isFalse(yield* isTransient("non_idempotent"))
      assert.isTrue(yield* isTransient("idempotent"))
    }))

  it.effect("says of a tool that acts and dies that its outcome is unknown", () =>
    Effect.gen(function*() {
      const outcomeOf = (sideEffect: SideEffect.SideEffect, text: string) => {
        const tool = Tool.make(
          "t",
          { description: "", parameters: Echo, success: Schema.Void, sideEffect },
          () => Effect.die("half-way")
        )
        return Effect.map(Dispatch.call(Toolkit.make(tool), { id: "1", name: "t", arguments: text }), (outcome) =>
          outcome._tag === "Failed" && outcome.failure._tag === "ToolUnavailable" && outcome.failure.outcome)
      }
      assert.strictEqual(yield* outcomeOf("non_idempotent", "{\"n\":1}"), "unknown")
      assert.strictEqual(yield* outcomeOf("idempotent", "{\"n\":1}"), "unknown")
      assert.strictEqual(yield* outcomeOf("none", "{\"n\":1}"), undefined)
    }))

  it.effect("holds back what comes after a call that stops the run, or asks the user", () =>
    Effect.gen(function*() {
      for (const halting of ["stops", "asks"]) {
        const paid: Array<string> = []
        const pay = echo("pay", Effect.sync(() => paid.push("paid")), "non_idempotent")
        const kit = Toolkit.make(zoo.stops.tool, zoo.asks.tool, zoo.reads.tool, pay)
        const outcomes = yield* runTurn(
          kit,
          ["reads", halting, "pay", "reads"].map((name, i) => ({
            id: String(i),
            name,
            arguments: "{\"n\":1}"
          }))
        )
        assert.deepStrictEqual(outcomes.map(label).toSpliced(1, 1), ["Completed", "not_run", "not_run"])
        assert.deepStrictEqual(paid, [])
      }
    }))

  it.effect("stops the run, or asks the user, even when a finalizer dies on the way", () =>
    Effect.gen(function*() {
      for (
        const [leaving, tag] of [[ToolCall.stop("fraud"), "Stopped"], [ToolCall.ask("Sure?"), "Suspended"]] as const
      ) {
        const tool = Tool.make(
          "t",
          { description: "", success: Schema.String },
          () => Effect.ensuring(leaving, Effect.die("rollback failed"))
        )
        assert.strictEqual((yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "t" }))._tag, tag)
      }
    }))

  it.effect("logs a defect that a handler ends with after it was timed out", () =>
    Effect.gen(function*() {
      const logged: Array<string> = []
      const logger = Logger.make(({ cause }) => {
        logged.push(Cause.pretty(cause))
      })
      const late = Tool.make("t", { description: "", success: Schema.Void, sideEffect: "none" }, () =>
        Effect.uninterruptible(Effect.andThen(Effect.sleep("2 seconds"), Effect.die("too late")))).pipe(
          Tool.timeout("1 second")
        )
      yield* Effect.gen(function*() {
        const outcome = yield* passing(Dispatch.call(Toolkit.make(late), { id: "1", name: "t" }))
        assert.isTrue(outcome._tag === "Failed" && outcome.failure.code === "timeout")
        yield* TestClock.adjust("1 minute")
      }).pipe(Effect.provide(Logger.layer([logger])))
      assert.strictEqual(logged.length, 1)
      assert.include(logged[0], "too late")
    }))

  it.effect("does not call the live service unavailable when it answered after a retry, with an older value", () =>
    Effect.gen(function*() {
      const tool = Tool.make(
        "t",
        { description: "", success: Schema.Int, sideEffect: "none" },
        () =>
          Effect.flatMap(ToolCall.current, ({ attempt }) =>
            attempt === 1
              ? Effect.fail(refused)
              : Effect.as(ToolCall.source({ name: "the exchange", age: "20 minutes" }), 1))
      ).pipe(
        Tool.retry(Schedule.recurs(1))
      )
      const outcome = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "t" })
      assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, ["from the exchange, 20m old"])
    }))

  it.effect("does not call the live service unavailable when it is a fixer that failed", () =>
    Effect.gen(function*() {
      const tool = Tool.make(
        "t",
        { description: "", success: Schema.Int, sideEffect: "none" },
        () => Effect.fail(new SchemaMismatch({ code: "invalid_arguments", detail: "No.", side: "arguments" }))
      ).pipe(
        Tool.fix(() => Effect.fail("no idea")),
        Tool.catchTag("SchemaMismatch", () => Effect.as(ToolCall.source({ name: "cache", age: "20 minutes" }), 1))
      )
      const outcome = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "t" })
      assert.deepStrictEqual(outcome.handled.map(({ by, tag }) => `${tag} ${by}`), [
        "ToolUnavailable ignored",
        "SchemaMismatch catch"
      ])
      assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, ["from cache, 20m old"])
    }))

  it.effect("gives every call a key of its own, though models repeat their ids", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const tool = Tool.make("pay", { description: "", success: Schema.Void }, () =>
        Effect.map(ToolCall.current, ({ idempotencyKey }) => {
          keys.push(idempotencyKey)
        }))
      const call = { id: "call_1", name: "pay" }
      yield* Dispatch.call(Toolkit.make(tool), call)
      yield* Dispatch.call(Toolkit.make(tool), call)
      yield* tool.run({})
      yield* tool.run({})
      assert.strictEqual(new Set(keys).size, 4)
    }))

  it.effect("gives a tool that runs inside of another a key and attempts of its own, and hears what it notes", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const seen: Array<string> = []
      const noting = (name: string) =>
        Effect.flatMap(ToolCall.current, ({ attempt, idempotencyKey }) => {
          keys.push(idempotencyKey)
          seen.push(`${name} #${attempt}`)
          return ToolCall.caveat(`noted by ${name}`)
        })
      const pay = Tool.make("pay", { description: "", success: Schema.Void }, () => noting("pay"))
      const timedPay = pay.pipe(Tool.timeout("1 second"))
      const checkout = Tool.make(
        "checkout",
        { description: "", success: Schema.Void, sideEffect: "idempotent" },
        () => Effect.all([noting("checkout"), pay.run({}), timedPay.run({}), noting("checkout")], { discard: true })
      ).pipe(
        Tool.timeout("5 seconds")
      )
      const outcome = yield* Dispatch.call(Toolkit.make(checkout), { id: "1", name: "checkout" }, {
        idempotencyKey: "order-7"
      })
      assert.deepStrictEqual(seen, ["checkout #1", "pay #1", "pay #1", "checkout #1"])
      assert.strictEqual(keys[0], "order-7")
      assert.strictEqual(lettered(keys), "a b c a")
      assert.strictEqual(outcome.attempts, 1)
      assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, [
        "noted by checkout",
        "noted by pay",
        "noted by pay",
        "noted by checkout"
      ])
    }))

  it.effect("gives a tool inside of another the same key in every attempt, whatever runs beside it", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const inner = (name: string) =>
        Tool.make(
          name,
          { description: "", success: Schema.Void },
          () =>
            Effect.map(ToolCall.current, ({ idempotencyKey }) => {
              keys.push(idempotencyKey)
            })
        )
      const [pay, ship] = [inner("pay"), inner("ship")]
      const checkout = Tool.make(
        "checkout",
        { description: "", success: Schema.Void, sideEffect: "idempotent" },
        () =>
          Effect.flatMap(ToolCall.current, ({ attempt }) => {
            const inOrder = attempt === 1 ? [ship, pay] : [pay, ship]
            const all = Effect.forEach(inOrder, (tool) => tool.run({}), { discard: true })
            return attempt === 1 ? Effect.andThen(all, Effect.fail(refused)) : all
          })
      ).pipe(Tool.retry(Schedule.recurs(1)))
      yield* Dispatch.call(Toolkit.make(checkout), { id: "1", name: "checkout" }, { idempotencyKey: "o" })
      assert.strictEqual(lettered(keys), "a b b a")
    }))

  it.effect("keeps the first twenty notes of a call, and counts the others, also of a tool inside", () =>
    Effect.gen(function*() {
      const noting = Tool.make(
        "noting",
        {
          description: "",
          parameters: Schema.Struct({ notes: Schema.Int }),
          success: Schema.Int,
          sideEffect: "none"
        },
        ({ notes }) =>
          Effect.as(
            Effect.forEach(
              Array.from({ length: notes }, (_, index) => index),
              (index) => ToolCall.caveat(`note ${index}`),
              { discard: true }
            ),
            1
          )
      )
      const outer = Tool.make(
        "outer",
        { description: "", success: Schema.Int, sideEffect: "none" },
        () => Effect.andThen(ToolCall.caveat("of the outer"), Effect.orDie(noting.run({ notes: 20_000 })))
      )
      const told = (name: string, notes: number) => {
        const call = { id: "1", name, arguments: name === "outer" ? "{}" : `{"notes":${notes}}` }
        return Effect.map(Dispatch.call(Toolkit.make(noting, outer), call), (outcome) => {
          assert.strictEqual(outcome._tag, "Completed")
          const caveats = outcome._tag === "Completed" ? outcome.caveats : []
          assert.deepStrictEqual(JSON.parse(Rendering.json(outcome, call)).notes, caveats)
          return caveats
        })
      }
      const twenty = Array.from({ length: 20 }, (_, index) => `note ${index}`)
      assert.deepStrictEqual(yield* told("noting", 20), twenty)
      assert.deepStrictEqual(yield* told("noting", 21), [...twenty, "… and 1 more"])
      assert.deepStrictEqual(yield* told("noting", 20_000), [...twenty, "… and 19980 more"])
      assert.deepStrictEqual(yield* told("outer", 20_000), ["of the outer", ...twenty.slice(0, 19), "… and 19981 more"])
    }))

  it.effect("does not count what an attempt noted that another one has made up for", () =>
    Effect.gen(function*() {
      let attempts = 0
      const note = (text: string) => ToolCall.caveat(text)
      const tool = Tool.make("p", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        attempts++ === 0
          ? Effect.andThen(Effect.forEach(Array.from({ length: 30 }, () => "early"), note), Effect.fail(refused))
          : Effect.as(note("late"), 1)).pipe(Tool.retry(Schedule.recurs(1)))
      const outcome = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "p" })
      assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, ["late"])
    }))

  it.effect("does not change what it answered when something notes later", () =>
    Effect.gen(function*() {
      const late = Tool.make("late", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.andThen(
          ToolCall.caveat("in time"),
          Effect.as(Effect.forkDetach(Effect.andThen(Effect.sleep("1 second"), ToolCall.caveat("too late"))), 1)
        ))
      const outcome = yield* Dispatch.call(Toolkit.make(late), { id: "1", name: "late" })
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, ["in time"])
    }))

  it.effect("says nothing of what a tool inside of another noted before it failed", () =>
    Effect.gen(function*() {
      const stale = Tool.make("stale", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.andThen(ToolCall.source({ name: "cache", age: "9 hours" }), Effect.fail(refused)))
      const outer = Tool.make("outer", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.andThen(
          ToolCall.caveat("of the outer"),
          Effect.catch(stale.run({}), () =>
            Effect.succeed(1))
        ))
      const outcome = yield* Dispatch.call(Toolkit.make(outer), { id: "1", name: "outer" })
      assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, ["of the outer"])
    }))

  it.effect("says what a tool inside of another noted of a part that it answered with", () =>
    Effect.gen(function*() {
      const part = Tool.make("part", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.andThen(
          ToolCall.caveat("of the part"),
          Effect.fail(new PartialData({ code: "more_pages", detail: "More.", data: 1 }))
        ))
      const outer = Tool.make("outer", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.catchTag(part.run({}), "PartialData", ({ data }) =>
          Effect.succeed(data)))
      const outcome = yield* Dispatch.call(Toolkit.make(outer), { id: "1", name: "outer" })
      assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, ["of the part"])
    }))

  it.effect("hears nothing of an attempt that was left behind", () =>
    Effect.gen(function*() {
      const late = Tool.make("t", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.flatMap(ToolCall.current, ({ attempt }) =>
          attempt === 1
            ? Effect.uninterruptible(
              Effect.andThen(Effect.sleep("1 second"), ToolCall.source({ name: "cache", age: "9 hours" }))
            ).pipe(Effect.as(1))
            : Effect.andThen(Effect.sleep("999 millis"), Effect.succeed(2)))).pipe(
          Tool.timeout("999 millis"),
          Tool.retry(Schedule.recurs(1))
        )
      const slow = late.pipe(Tool.fallback(() =>
        Effect.succeed(3)
      ))
      const outcome = yield* passing(Dispatch.call(Toolkit.make(slow), { id: "1", name: "t" }))
      assert.isTrue(outcome._tag === "Completed" && outcome.caveats.length === 0 && outcome.source === undefined)
    }))

  it.effect("forgets what an attempt noted when another one answers", () =>
    Effect.gen(function*() {
      const tool = Tool.make("prices", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.andThen(ToolCall.caveat("from the primary"), Effect.fail(refused))).pipe(
          Tool.fallback(() =>
            ToolCall.source({ name: "cache", age: Duration.hours(3) }).pipe(Effect.as(7))
          )
        )
      const outcome = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "prices" })
      assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, [
        "from cache, 3h old; the live service is unavailable"
      ])
    }))

  it.effect("counts attempts and waits, and names what its policies took care of", () =>
    Effect.gen(function*() {
      const tool = failing("flaky", refused).pipe(
        Tool.retry(RetryPolicy.transient),
        Tool.fallback(() => Effect.succeed(1))
      )
      const outcome = yield* passing(Dispatch.call(Toolkit.make(tool), {
        id: "1",
        name: "flaky",
        arguments: "{\"n\":1}"
      }))
      assert.strictEqual(outcome._tag, "Completed")
      assert.strictEqual(outcome.attempts, 3)
      assert.isTrue(Duration.toMillis(outcome.waited) > 0 && Duration.toMillis(outcome.waited) <= 600)
      assert.deepStrictEqual(outcome.handled.map(({ by }) => by), ["retry", "retry", "fallback"])
    }))

  const notesOf = (value: unknown, words: { readonly size?: "limit" } = {}) => {
    const parameters = Schema.Struct({ limit: Schema.optionalKey(Schema.Int) })
    const tool = Tool.make(
      "t",
      { description: "", parameters, success: Schema.Unknown, sideEffect: "none", ...words },
      () => Effect.succeed(value)
    )
    return Effect.map(
      Dispatch.call(Toolkit.make(tool), { id: "1", name: "t" }),
      (outcome) => outcome._tag === "Completed" ? outcome.caveats : assert.fail(outcome._tag)
    )
  }

  it.effect("notes that a text is JSON that was cut off, and by which parameter to ask for less", () =>
    Effect.gen(function*() {
      const note = "This text looks like JSON that was cut off."
      const whole = JSON.stringify({ orders: [{ id: "7", total: 12 }, null, -1.5e3], "a\"b": "\\" })
      for (let length = 1; length < whole.length; length++) {
        assert.deepStrictEqual(yield* notesOf(` \n\t${whole.slice(0, length)}`), [note], whole.slice(0, length))
      }
      assert.deepStrictEqual(yield* notesOf("[1,", { size: "limit" }), [
        `${note} If you need it whole, call it again with a smaller 'limit'.`
      ])
    }))

  it.effect("notes nothing of another text, however it begins", () =>
    Effect.gen(function*() {
      const texts = [
        "",
        "{}",
        " [1, 2]\n",
        "Sunny.",
        "\"a text",
        "12",
        "[INFO] started",
        "[1] See the notes. [2] And",
        "{name}, hello",
        "{\"a\":1}\n{\"b\":",
        "{'a': 1",
        "[1,]",
        "\u00a0{\"a\":"
      ]
      for (const text of texts) assert.deepStrictEqual(yield* notesOf(text), [], text)
      assert.deepStrictEqual(yield* notesOf({ text: "{\"a\":" }), [])
      assert.deepStrictEqual(yield* notesOf(`["${"a".repeat(999_998)}`), [
        "This text looks like JSON that was cut off."
      ])
      assert.deepStrictEqual(yield* notesOf(`["${"a".repeat(999_999)}`), [])
    }))

  it.effect("quotes a choice of a result that does not exist, unless it is a secret", () =>
    Effect.gen(function*() {
      const Status = Schema.Literals(["open", "closed"])
      const issuesOf = <A>(success: Schema.ConstraintCodec<A, unknown>, value: unknown) => {
        const tool = Tool.make("t", { description: "", success, sideEffect: "none" }, () => Effect.succeed(value as A))
        return Effect.map(
          Dispatch.call(Toolkit.make(tool), { id: "1", name: "t" }),
          (outcome) =>
            outcome._tag === "Failed" && outcome.failure._tag === "SchemaMismatch"
              ? outcome.failure.issues.map(({ actual }) => actual)
              : assert.fail(outcome._tag)
        ).pipe(Effect.provide(Logger.layer([])))
      }
      const order = { status: "shipped", note: 7 }
      const shown = Schema.Struct({ status: Status, note: Schema.String })
      assert.deepStrictEqual(yield* issuesOf(shown, order), ["\"shipped\"", "a number"])
      const hidden = Schema.Struct({ status: Schema.RedactedFromValue(Status), note: Schema.String })
      assert.deepStrictEqual(yield* issuesOf(hidden, order), ["a string", "a number"])
      const marked = Schema.Struct({ status: Status.annotate({ format: "password" }), note: Schema.String })
      assert.deepStrictEqual(yield* issuesOf(marked, order), ["a string", "a number"])
    }))

  it.effect("is a value: run again, it begins again", () =>
    Effect.gen(function*() {
      const dispatched = Dispatch.call(toolkit, { id: "1", name: "reads", arguments: "{\"n\":1}" })
      assert.deepStrictEqual((yield* dispatched).attempts, 1)
      assert.deepStrictEqual((yield* dispatched).attempts, 1)
    }))

  it.effect("logs a defect whole, once, and keeps its insides from the outcome", () =>
    Effect.gen(function*() {
      const logged: Array<string> = []
      const logger = Logger.make(({ cause }) => {
        logged.push(Cause.pretty(cause))
      })
      const outcome = yield* Dispatch.call(toolkit, { id: "1", name: "throws", arguments: "{\"n\":1}" }).pipe(
        Effect.provide(Logger.layer([logger]))
      )
      assert.strictEqual(logged.length, 1)
      assert.include(logged[0], "TypeError: undefined is not a function")
      assert.notInclude(JSON.stringify(outcome), "undefined is not a function")
      assert.isTrue(outcome._tag === "Failed" && outcome.failure.cause !== undefined)
    }))

  it.effect("passes interruption through", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const tool = echo("waits", Effect.andThen(Deferred.succeed(started, undefined), Effect.never))
      const fiber = yield* Effect.forkChild(
        Dispatch.call(Toolkit.make(tool), { id: "1", name: "waits", arguments: "{\"n\":1}" })
      )
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(exit._tag === "Failure" && Cause.hasInterruptsOnly(exit.cause))
    }))

  it.effect("takes a transformation of the parameters that throws for a defect of that call", () =>
    Effect.gen(function*() {
      const Bomb = Schema.String.check(Schema.makeFilter(() => {
        throw new RangeError("boom")
      }))
      const tool = Tool.make("bomb", {
        description: "",
        parameters: Schema.Struct({ a: Bomb }),
        success: Schema.Void,
        sideEffect: "none"
      }, () => Effect.void)
      const outcome = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "bomb", arguments: "{\"a\":\"x\"}" })
      assert.isTrue(outcome._tag === "Failed" && outcome.failure.code === "defect" && outcome.attempts === 0)
    }))
})

const assertAnswered = (messages: ReadonlyArray<Transcript.Message>) => {
  messages.forEach((message, at) => {
    if (message.role !== "assistant") return
    const results = messages.slice(at + 1, at + 1 + message.calls.length)
    assert.deepStrictEqual(
      results.map((result) => result.role === "tool" ? [result.callId, result.name] : result.role),
      message.calls.map(({ id, name }) => [id, name])
    )
    assert.strictEqual(new Set(message.calls.map(({ id }) => id)).size, message.calls.length)
  })
}

/** Tools that take a second each, and what was seen of them: their order, and how many ran at once. */
const makeGauge = Effect.sync(() => {
  const log: Array<string> = []
  let running = 0
  let most = 0
  return {
    log: () => log,
    most: () => most,
    tool: (name: string, sideEffect: SideEffect.SideEffect) =>
      Tool.make(name, { description: "", success: Schema.Void, sideEffect }, () =>
        Effect.gen(function*() {
          log.push(name)
          most = Math.max(most, ++running)
          yield* Effect.sleep("1 second")
          running--
        }))
  }
})

const runNamed = (kit: Toolkit.Toolkit<Tool.Tool<string, {}, void>>, names: ReadonlyArray<string>) =>
  passing(runTurn(kit, names.map((name, i) => ({ id: String(i), name }))))
