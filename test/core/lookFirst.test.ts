/** A check that looks before the first attempt, because an interrupted run may have made the same call. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, SchemaMismatch, Tool, ToolCall, ToolFailure, Toolkit, ToolUnavailable } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import type * as SideEffect from "@fallible/core/SideEffect"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Fiber, Option, Schedule, Schema } from "effect"
import { withoutEvidence } from "../support/withoutEvidence.ts"

const Order = Schema.Struct({ order: Schema.String })

/** A service that finds a payment by its key. Its first looks may fail. */
const bank = (...problems: ReadonlyArray<ToolFailure.ToolFailure>) => {
  const remaining = [...problems]
  const paid = new Map<string, string>()
  const log: Array<string> = []
  const look = Effect.flatMap(ToolCall.current, ({ attempt, idempotencyKey }) => {
    log.push(`look ${attempt}`)
    const problem = remaining.shift()
    return problem === undefined
      ? Effect.succeed(Option.fromUndefinedOr(paid.get(idempotencyKey)))
      : Effect.fail(problem)
  })
  const pay = Effect.flatMap(ToolCall.current, ({ idempotencyKey }) =>
    Effect.sync(() => {
      log.push("pay")
      paid.set(idempotencyKey, "receipt 1")
      return "receipt 1"
    }))
  return { log, look, paid, pay }
}

type Bank = ReturnType<typeof bank>

const paying = (
  { look }: Bank,
  handler: Effect.Effect<string, ToolUnavailable>,
  sideEffect: SideEffect.SideEffect = "non_idempotent"
) =>
  Tool.make("pay", {
    description: "Pays",
    parameters: Order,
    success: Schema.String,
    sideEffect,
    identity: ({ order }) => order
  }, () => handler).pipe(Tool.reconcile(() => look, { lookFirst: true }))

const model = ScriptedModel.layer(({ messages }) =>
  messages.at(-1)?.role === "user" ? ScriptedModel.call("pay", { order: "7" }) : ScriptedModel.text("Done.")
)

const order = { order: "7" }

describe("Tool.reconcile with lookFirst", () => {
  it.effect("runs the tool once, although its client leaves in the middle and asks again", () =>
    Effect.gen(function*() {
      const service = bank()
      const agent = Agent.make({
        toolkit: Toolkit.make(paying(service, Effect.andThen(service.pay, Effect.never)))
      })
      const run = agent.run("Pay order 7.", { scope: "order-7", facts: CallFacts.empty }).pipe(Effect.provide(model))
      const left = yield* Effect.forkChild(run, { startImmediately: true })
      while (service.paid.size === 0) yield* Effect.yieldNow
      yield* Fiber.interrupt(left)
      const answer = yield* run
      assert.deepStrictEqual(service.log, ["look 0", "pay", "look 0"])
      const told = Array.from(answer.transcript).flatMap((message) => message.role === "tool" ? [message.text] : [])
      assert.deepStrictEqual(told, [
        "{\"value\":\"receipt 1\",\"notes\":[\"It had been done before, so it was not done again\"]}"
      ])
      assert.deepStrictEqual(answer.report.failures, [])
      // The next run knows that the call is done, and does not look.
      const next = yield* agent.run("Pay it.", { facts: answer.facts }).pipe(Effect.provide(model))
      assert.deepStrictEqual(next.report.failures.map(({ code }) => code), ["already_done"])
      assert.strictEqual(service.log.length, 3)
    }))

  it.effect("looks once before the first attempt, and not before a retry that is safe", () =>
    Effect.gen(function*() {
      const service = bank()
      const down = new ToolUnavailable({ code: "down", detail: "Down.", transient: true, outcome: "not_executed" })
      let attempts = 0
      const tool = paying(service, Effect.suspend(() => ++attempts < 3 ? Effect.fail(down) : service.pay)).pipe(
        Tool.retry(Schedule.recurs(2))
      )
      assert.strictEqual(yield* tool.run(order), "receipt 1")
      assert.deepStrictEqual(service.log, ["look 0", "pay"])
    }))

  it.effect("does not run the tool if the check fails, and tries again under a retry", () =>
    Effect.gen(function*() {
      const busy = new ToolUnavailable({ code: "server_error", detail: "Status 503.", transient: true })
      const service = bank(busy, busy)
      const tool = paying(service, service.pay)
      const failure = yield* Effect.flip(tool.run(order))
      assert.deepStrictEqual(withoutEvidence(failure), {
        _tag: "ToolUnavailable",
        code: "check_failed",
        detail: "pay was not run, because the check for an earlier effect failed: Status 503.",
        transient: true,
        outcome: "not_executed"
      })
      assert.deepStrictEqual(service.log, ["look 0"])
      assert.strictEqual(yield* Tool.retry(tool, Schedule.recurs(1)).run(order), "receipt 1")
      assert.deepStrictEqual(service.log, ["look 0", "look 0", "look 0", "pay"])
    }))

  it.effect("is not retried if the check fails for good", () =>
    Effect.gen(function*() {
      const wrong = ToolFailure.from(new Error("No such account."))
      const service = bank(wrong)
      const failure = yield* Effect.flip(paying(service, service.pay).run(order))
      assert.deepInclude(failure, { code: "check_failed", transient: false, outcome: "not_executed" })
      assert.deepStrictEqual(service.log, ["look 0"])
    }))

  it.effect("tells the check why it runs, and checks again after an attempt in doubt", () =>
    Effect.gen(function*() {
      const reasons: Array<string> = []
      const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
      const tool = Tool.make("pay", { description: "Pays", success: Schema.String }, () => Effect.fail(lost)).pipe(
        Tool.reconcile((_params, { failure }) => {
          reasons.push(`${failure.code}: ${failure.detail}`)
          return Effect.succeed(reasons.length === 1 ? Option.none<string>() : Option.some("receipt 1"))
        }, { lookFirst: true })
      )
      assert.strictEqual(yield* tool.run({}), "receipt 1")
      assert.deepStrictEqual(reasons, [
        "outcome_unknown: A run that was interrupted may have made this call.",
        "connection: Reset."
      ])
    }))

  it.effect("does not look for a tool that only reads", () =>
    Effect.gen(function*() {
      const service = bank()
      assert.strictEqual(yield* paying(service, Effect.succeed("sunny"), "none").run(order), "sunny")
      assert.deepStrictEqual(service.log, [])
    }))

  it.effect("looks again before the first attempt with corrected arguments", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const paid = new Set<string>()
      const refusal = new SchemaMismatch({ side: "arguments", code: "no_order", detail: "No such order." })
      const pay = Tool.make("pay", { description: "Pays", parameters: Order, success: Schema.String }, ({ order }) => {
        log.push(`pay ${order}`)
        if (order === "7") return Effect.fail(refusal)
        paid.add(order)
        return Effect.never
      }).pipe(
        Tool.reconcile(({ order }) => {
          log.push(`look ${order}`)
          return Effect.succeed(paid.has(order) ? Option.some("receipt 1") : Option.none())
        }, { lookFirst: true }),
        Tool.fix(() => ({ order: "8" }))
      )
      const agent = Agent.make({ toolkit: Toolkit.make(pay) })
      const run = agent.run("Pay order 7.", { scope: "order-7", facts: CallFacts.empty }).pipe(Effect.provide(model))
      const left = yield* Effect.forkChild(run, { startImmediately: true })
      while (paid.size === 0) yield* Effect.yieldNow
      yield* Fiber.interrupt(left)
      yield* run
      assert.deepStrictEqual(log, ["look 7", "pay 7", "look 8", "pay 8", "look 7", "pay 7", "look 8"])
    }))

  it.effect("asks the user only once about a call in doubt", () =>
    Effect.gen(function*() {
      const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
      let looks = 0
      const look = Effect.suspend(() =>
        ++looks === 1 ? Effect.succeed(Option.none()) : Effect.as(ToolCall.ask("Did you get a mail?"), Option.none())
      )
      const pay = Tool.make("pay", { description: "Pays", parameters: Order, success: Schema.String }, () =>
        Effect.fail(lost)).pipe(Tool.reconcile(() =>
          look, { lookFirst: true }))
      const agent = Agent.make({ toolkit: Toolkit.make(pay) })
      const answer = yield* agent.run("Pay.").pipe(
        Effect.catchTag("RunSuspended", ({ suspension }) =>
          agent.resume(suspension, "no")),
        Effect.provide(model)
      )
      assert.strictEqual(answer.report.failures.at(-1)?.code, "outcome_unknown")
      assert.strictEqual(looks, 3)
    }))

  it.effect("keeps the advice of a check that failed", () =>
    Effect.gen(function*() {
      const closed = new ToolUnavailable({
        code: "closed",
        detail: "Closed.",
        hint: "Ask on Monday.",
        transient: false
      })
      const service = bank(closed)
      const failure = yield* Effect.flip(paying(service, service.pay).run(order))
      assert.deepInclude(failure, { code: "check_failed", hint: "Ask on Monday." })
    }))

  it("is part of the worst case", () => {
    const service = bank()
    const { moments, steps, time } = Tool.explain(paying(service, service.pay))
    assert.strictEqual(steps.at(-1)?.description, "looks first, and reconciles unknown outcomes")
    assert.include(time.because, "the check before the first attempt has no timeout")
    assert.strictEqual(moments[0]?.event, "the check before the first attempt")
    assert.notInclude(
      Tool.explain(paying(service, service.pay, "none")).time.because,
      "the check before the first attempt has no timeout"
    )
  })
})
