/** A handler that repeats what it runs: inner tools, dispatched calls and agents. What is in doubt is not begun again. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Dispatch,
  Policy,
  SemanticGarbage,
  Tool,
  ToolCall,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import type * as SideEffect from "@fallible/core/SideEffect"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Option, Schedule, Schema } from "effect"
import { byOrder, events, type Move, Payment, paymentTool, statusTool } from "../support/doubts.ts"

const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
const unserved = new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true, outcome: "not_executed" })
const refused = new SemanticGarbage({ code: "no_card", detail: "No such card." })

const Order = Schema.Struct({ order: Schema.String })

/** A tool whose nth execution ends with the nth end, and with the last one from then on. */
const paying = (
  sideEffect: SideEffect.SideEffect,
  ends: ReadonlyArray<ToolUnavailable | SemanticGarbage | "paid">
) => {
  const keys: Array<string> = []
  const pay = Tool.make(
    "pay",
    { description: "", parameters: Order, success: Schema.String, sideEffect, identity: ({ order }) => order },
    ({ order }) =>
      Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => {
        keys.push(`${order} ${idempotencyKey}`)
        const end = ends[Math.min(keys.length, ends.length) - 1]!
        return Effect.andThen(Effect.yieldNow, end === "paid" ? Effect.succeed(end) : Effect.fail(end))
      })
  )
  return { pay, keys, toolkit: Toolkit.make(pay) }
}

const outerOf = <A, E extends ToolFailure.ToolFailure, R>(
  handler: Effect.Effect<A, E, R>,
  sideEffect: SideEffect.SideEffect = "idempotent_by_key"
) =>
  Tool.make(
    "outer",
    { description: "", success: Schema.Unknown, sideEffect, identity: "all" },
    () => handler as Effect.Effect<unknown, E, R>
  )

const outcomeOf = <T extends Tool.Any>(tool: T) =>
  Dispatch.call(Toolkit.make(tool), { id: "1", name: tool.name, arguments: "{}" }, { idempotencyKey: "outer" })

const order = { order: "7" }

describe("a handler that runs an inner tool again", () => {
  it.effect("does not begin a non-idempotent one again that is in doubt", () =>
    Effect.gen(function*() {
      const { keys, pay } = paying("non_idempotent", [lost, "paid"])
      const failures: Array<ToolUnavailable> = []
      const outcome = yield* outcomeOf(outerOf(
        pay.run(order).pipe(
          Effect.tapError((failure) => Effect.sync(() => failure._tag === "ToolUnavailable" && failures.push(failure))),
          Effect.retry({ times: 3 })
        )
      ))
      assert.strictEqual(keys.length, 1)
      assert.deepStrictEqual(failures.map(({ code, outcome }) => `${code} ${outcome}`), [
        "connection unknown",
        ...Array.from({ length: 3 }, () => "not_repeated unknown")
      ])
      assert.strictEqual(
        failures[1]?.detail,
        "pay was not run again: an earlier run inside this call may have taken effect. Before: Reset."
      )
      assert.deepInclude(outcome, { _tag: "Failed", certainty: "unknown" })
    }))

  it.effect("runs one with a key again under the same key, until it succeeds", () =>
    Effect.gen(function*() {
      const { keys, pay } = paying("idempotent_by_key", [lost, lost, "paid"])
      const payment = pay.run(order).pipe(Effect.retry({ times: 3 }))
      const outcome = yield* outcomeOf(outerOf(Effect.andThen(payment, pay.run(order))))
      assert.deepInclude(outcome, { _tag: "Completed", certainty: "executed" })
      assert.strictEqual(keys.length, 4)
      assert.strictEqual(new Set(keys.slice(0, 3)).size, 1)
      assert.strictEqual(new Set(keys).size, 2)
    }))

  it.effect("keeps the key of a run that was not served, but not of one that was refused", () =>
    Effect.gen(function*() {
      const unservedFirst = paying("idempotent_by_key", [unserved, "paid"])
      yield* outcomeOf(outerOf(unservedFirst.pay.run(order).pipe(Effect.retry({ times: 3 }))))
      assert.strictEqual(unservedFirst.keys.length, 2)
      assert.strictEqual(new Set(unservedFirst.keys).size, 1)
      const refusedFirst = paying("idempotent_by_key", [refused, "paid"])
      yield* outcomeOf(outerOf(refusedFirst.pay.run(order).pipe(Effect.retry({ times: 3 }))))
      assert.strictEqual(new Set(refusedFirst.keys).size, 2)
    }))

  it.effect("knows the doubt by the intent: another order is another effect", () =>
    Effect.gen(function*() {
      const { keys, pay } = paying("non_idempotent", [lost, "paid"])
      yield* outcomeOf(outerOf(Effect.andThen(Effect.exit(pay.run(order)), pay.run({ order: "8" }))))
      assert.deepStrictEqual(keys.map((key) => key[0]), ["7", "8"])
    }))

  it.effect("gives parallel runs a key each", () =>
    Effect.gen(function*() {
      const { keys, pay } = paying("idempotent_by_key", [lost, lost, "paid"])
      const both = Effect.all([Effect.exit(pay.run(order)), Effect.exit(pay.run(order))], { concurrency: 2 })
      yield* outcomeOf(outerOf(Effect.andThen(both, both)))
      assert.strictEqual(keys.length, 4)
      assert.strictEqual(new Set(keys.slice(0, 2)).size, 2)
      assert.isTrue(keys.slice(2).every((key) => keys.slice(0, 2).includes(key)))
    }))

  it.effect("does not begin it again in another attempt of its own, even if that attempt may begin", () =>
    Effect.gen(function*() {
      const { keys, pay } = paying("non_idempotent", [lost, "paid"])
      const outcome = yield* outcomeOf(outerOf(pay.run(order), "idempotent").pipe(Tool.retry(Schedule.recurs(2))))
      assert.strictEqual(keys.length, 1)
      assert.strictEqual(outcome.certainty, "unknown")
    }))

  it.effect("lets the tool's check settle the doubt", () =>
    Effect.gen(function*() {
      const { keys, pay } = paying("non_idempotent", [lost, "paid"])
      let checks = 0
      const checked = pay.pipe(
        Tool.reconcile(() => ++checks === 1 ? Effect.fail(lost) : Effect.succeed(Option.some("found")), { final: true })
      )
      const outcome = yield* outcomeOf(outerOf(checked.run(order).pipe(Effect.retry({ times: 3 }))))
      assert.strictEqual(keys.length, 1)
      assert.deepInclude(outcome, { _tag: "Completed", value: "found" })
    }))

  it.effect("counts all runs of a tool as one effect if the arguments do not say which", () =>
    Effect.gen(function*() {
      const runs = (sideEffect: SideEffect.SideEffect, ...cards: ReadonlyArray<string>) =>
        Effect.gen(function*() {
          const keys: Array<string> = []
          const charge = Tool.make("charge", {
            description: "",
            parameters: Schema.Struct({ card: Schema.String }),
            success: Schema.String,
            sideEffect,
            identity: ({ card }) => card === "said" ? card : undefined
          }, () =>
            Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => {
              keys.push(idempotencyKey)
              return Effect.fail(lost)
            }))
          yield* outcomeOf(
            outerOf(Effect.forEach(cards, (card) => Effect.exit(charge.run({ card }))))
          )
          return keys
        })
      assert.lengthOf(yield* runs("non_idempotent", "a", "b"), 1)
      assert.lengthOf(yield* runs("idempotent_by_key", "a", "b"), 1)
      assert.lengthOf(yield* runs("idempotent_by_key", "said", "a"), 1)
      assert.lengthOf(yield* runs("idempotent_by_key", "a", "said"), 1)
      const again = yield* runs("idempotent_by_key", "a", "a")
      assert.lengthOf(again, 2)
      assert.strictEqual(new Set(again).size, 1)
    }))

  it.effect("does not begin what an inner tool left in doubt, through that tool", () =>
    Effect.gen(function*() {
      for (const sideEffect of ["none", "idempotent_by_key", "idempotent"] as const) {
        const { keys, pay } = paying("non_idempotent", [lost, "paid"])
        const middle = Tool.make(
          "middle",
          { description: "", success: Schema.String, sideEffect, identity: "all" },
          () => pay.run(order)
        )
        yield* outcomeOf(outerOf(middle.run({}).pipe(Effect.retry({ times: 3 }))))
        assert.lengthOf(keys, 1, sideEffect)
        const keyed = paying("idempotent_by_key", [lost, "paid"])
        const around = Tool.make(
          "middle",
          { description: "", success: Schema.String, sideEffect, identity: "all" },
          () => keyed.pay.run(order)
        )
        yield* outcomeOf(outerOf(around.run({}).pipe(Effect.retry({ times: 3 }))))
        assert.lengthOf(keyed.keys, 2, sideEffect)
        assert.strictEqual(new Set(keyed.keys).size, 1, sideEffect)
      }
    }))

  it.effect("changes nothing for a tool that a program runs", () =>
    Effect.gen(function*() {
      const { keys, pay } = paying("non_idempotent", [lost, "paid"])
      assert.strictEqual(yield* pay.run(order).pipe(Effect.retry({ times: 3 })), "paid")
      assert.strictEqual(keys.length, 2)
    }))
})

describe("a handler that dispatches a call again", () => {
  const dispatching = (toolkit: Toolkit.Toolkit<ReturnType<typeof paying>["pay"]>, id?: string) =>
    Dispatch.call(
      toolkit,
      { id: "1", name: "pay", arguments: JSON.stringify(order) },
      id === undefined ? {} : { id }
    )

  it.effect("does not begin a non-idempotent tool again that is in doubt", () =>
    Effect.gen(function*() {
      for (const ids of [[undefined, undefined], ["a", "b"]]) {
        const { keys, toolkit } = paying("non_idempotent", [lost, "paid"])
        const [first, second] = ids
        let again: unknown
        yield* outcomeOf(outerOf(
          Effect.andThen(
            dispatching(toolkit, first),
            Effect.map(dispatching(toolkit, second), (outcome) => {
              again = outcome
            })
          )
        ))
        assert.lengthOf(keys, 1)
        assert.deepNestedInclude(again, { "failure.code": "outcome_unknown", certainty: "unknown", attempts: 0 })
      }
    }))

  it.effect("runs a tool with a key again under the same key, also if it ran it directly before", () =>
    Effect.gen(function*() {
      const { keys, pay, toolkit } = paying("idempotent_by_key", [lost, lost, "paid"])
      yield* outcomeOf(
        outerOf(
          Effect.all([Effect.exit(pay.run(order)), dispatching(toolkit), dispatching(toolkit), dispatching(toolkit)])
        )
      )
      assert.lengthOf(keys, 4)
      assert.strictEqual(new Set(keys.slice(0, 3)).size, 1)
      assert.strictEqual(new Set(keys).size, 2)
    }))

  it.effect("does not send another key while the first is in doubt", () =>
    Effect.gen(function*() {
      const { keys, toolkit } = paying("idempotent_by_key", [lost, "paid"])
      const call = (idempotencyKey: string) =>
        Dispatch.call(toolkit, { id: "1", name: "pay", arguments: JSON.stringify(order) }, { idempotencyKey })
      const outcome = yield* outcomeOf(outerOf(Effect.as(Effect.forEach(["x", "y"], call), "done")))
      assert.deepStrictEqual(keys, ["7 x"])
      assert.strictEqual(outcome.certainty, "unknown")
      // Another order, and the same key.
      const other = paying("idempotent_by_key", [lost, "paid"])
      const again = (key: string, args: object) =>
        Dispatch.call(other.toolkit, { id: "1", name: "pay", arguments: JSON.stringify(args) }, { idempotencyKey: key })
      yield* outcomeOf(
        outerOf(Effect.as(Effect.all([again("x", order), again("y", { order: "8" }), again("x", order)]), "done"))
      )
      assert.deepStrictEqual(other.keys, ["7 x", "8 y", "7 x"])
    }))
})

describe("what a policy runs", () => {
  const again = (inner: Effect.Effect<string, ToolFailure.ToolFailure>) =>
    Policy.make({
      kind: "custom",
      name: "again",
      description: "again",
      wrap: <A, E extends ToolFailure.ToolFailure, R>(run: Policy.Run<A, E, R>) => (params: unknown) =>
        Effect.catch(run(params), (failure) => Effect.andThen(Effect.exit(inner), Effect.fail(failure)))
    })

  for (const by of ["fallback", "custom"] as const) {
    it.effect(`does not begin what its handler left in doubt (${by})`, () =>
      Effect.gen(function*() {
        for (const sideEffect of ["none", "idempotent_by_key", "idempotent", "non_idempotent"] as const) {
          const { keys, pay } = paying("non_idempotent", [lost, "paid"])
          const outer = outerOf(pay.run(order), sideEffect)
          const run = pay.run(order)
          const tool = by === "fallback" ? Tool.fallback(outer, () => run) : Tool.with(outer, again(run))
          const outcome = yield* outcomeOf(tool)
          assert.lengthOf(keys, 1)
          assert.strictEqual(outcome.certainty, "unknown")
        }
      }))

    it.effect(`repeats what its handler left in doubt under the same key (${by})`, () =>
      Effect.gen(function*() {
        const { keys, pay } = paying("idempotent_by_key", [lost, "paid"])
        const outer = outerOf(pay.run(order))
        const run = pay.run(order)
        yield* outcomeOf(by === "fallback" ? Tool.fallback(outer, () => run) : Tool.with(outer, again(run)))
        assert.lengthOf(keys, 2)
        assert.strictEqual(new Set(keys).size, 1)
      }))
  }
})

describe("a handler that runs an agent again", () => {
  const consulting = (
    sideEffect: SideEffect.SideEffect,
    ends: ReadonlyArray<ToolUnavailable | "paid">,
    script: ScriptedModel.Script
  ) => {
    const { keys, toolkit } = paying(sideEffect, ends)
    const ids: Array<string | undefined> = []
    const model = ScriptedModel.layer(script)
    const agent = Agent.make({ toolkit, limits: { turns: 2 } })
    const consult = outerOf(
      Effect.suspend(() => agent.run("Pay 7.")).pipe(
        Effect.tap((answer) => Effect.sync(() => ids.push(answer.facts.scope))),
        Effect.map(({ text }) => text),
        Effect.retry({ times: 1 }),
        Effect.mapError(() => lost),
        Effect.provide(model)
      )
    )
    return Effect.map(outcomeOf(consult), (outcome) => ({ outcome, keys, ids }))
  }
  const call = ScriptedModel.call("pay", order)

  it.effect("does not begin again what is in doubt", () =>
    Effect.gen(function*() {
      const { keys } = yield* consulting("non_idempotent", [lost, "paid"], [
        call,
        ScriptedModel.call("pay", { order: "8" }),
        call,
        ScriptedModel.text("End.")
      ])
      assert.deepStrictEqual(keys.map((key) => key[0]), ["7", "8"])
    }))

  it.effect("gives the same effects the same keys", () =>
    Effect.gen(function*() {
      for (const first of [lost, "paid"] as const) {
        const { keys } = yield* consulting("idempotent_by_key", [first, "paid"], [
          call,
          ScriptedModel.call("nothing"),
          call,
          ScriptedModel.text("End.")
        ])
        assert.lengthOf(keys, 2)
        assert.strictEqual(new Set(keys).size, 1)
      }
    }))

  it.effect("has the same keys again after an answer in doubt, and others after one without", () =>
    Effect.gen(function*() {
      for (const first of [lost, "paid"] as const) {
        const { keys, toolkit } = paying("idempotent_by_key", [first, "paid"])
        const model = ScriptedModel.layer([call, ScriptedModel.text("Hm."), call, ScriptedModel.text("End.")])
        const agent = Agent.make({ toolkit })
        const run = Effect.orDie(agent.run("Pay 7."))
        yield* outcomeOf(outerOf(Effect.andThen(run, run).pipe(Effect.as("done"), Effect.provide(model))))
        assert.lengthOf(keys, 2)
        assert.strictEqual(new Set(keys).size, first === "paid" ? 2 : 1)
      }
    }))

  it.effect("keeps a tool without an identity closed, in whatever words, but not for the effects of the handler", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String },
        ({ note = "" }) => Effect.suspend(() => paid.push(note) === 1 ? Effect.fail(lost) : Effect.succeed("receipt"))
      )
      const agent = Agent.make({ toolkit: Toolkit.make(pay), limits: { turns: 1 } })
      const model = ScriptedModel.layer([
        ScriptedModel.call("pay", { ...order, note: "Lunch" }),
        ScriptedModel.call("pay", { ...order, note: "The lunch" })
      ])
      const consult = agent.run("Pay 7.").pipe(Effect.as("done"), Effect.retry({ times: 1 }))
      yield* outcomeOf(outerOf(consult.pipe(Effect.mapError(() => lost), Effect.provide(model))))
      assert.deepStrictEqual(paid, ["Lunch"])
      // A program knows which effects it means.
      paid.length = 0
      const each = (note: string) => Effect.exit(pay.run({ ...order, note }))
      yield* outcomeOf(outerOf(Effect.as(Effect.forEach(["Ada", "Bo"], each), "done")))
      assert.deepStrictEqual(paid, ["Ada", "Bo"])
    }))
})

describe("a doubt that is settled inside a handler", () => {
  for (const [says, certainty, payments] of [["paid", "executed", 1], ["open", "executed", 2]] as const) {
    it.effect(`is settled for the handler's call, too (${says})`, () =>
      Effect.gen(function*() {
        const { paid, pay } = paymentTool(byOrder)
        const toolkit = Toolkit.make(pay, statusTool(() => says, { final: true }))
        const moves: ReadonlyArray<Move> = [["pay", order], ["payment_status", order], ["pay", order]]
        const outcome = yield* outcomeOf(outerOf(Effect.orDie(Effect.as(events(toolkit, moves), "done"))))
        assert.lengthOf(paid, payments)
        assert.deepInclude(outcome, { _tag: "Completed", certainty, caveats: [] })
      }))
  }

  it.effect("leaves another doubt as it is", () =>
    Effect.gen(function*() {
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...byOrder },
        () => Effect.fail(lost)
      )
      const toolkit = Toolkit.make(pay, statusTool(() => "open", { final: true }))
      const moves: ReadonlyArray<Move> = [["pay", order], ["pay", { order: "8" }], ["payment_status", order]]
      const outcome = yield* outcomeOf(outerOf(Effect.orDie(Effect.as(events(toolkit, moves), "done"))))
      assert.strictEqual(outcome.certainty, "unknown")
    }))

  it.effect("is none if nothing was done", () =>
    Effect.gen(function*() {
      const { pay } = paymentTool(byOrder)
      const toolkit = Toolkit.make(pay, statusTool(() => "open", { final: true }))
      const moves: ReadonlyArray<Move> = [["pay", order], ["payment_status", order]]
      const run = Effect.andThen(Effect.orDie(events(toolkit, moves)), Effect.fail(unserved))
      const outcome = yield* outcomeOf(outerOf(run, "none"))
      assert.strictEqual(outcome.certainty, "not_executed")
    }))
})
