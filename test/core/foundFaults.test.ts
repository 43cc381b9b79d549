/** Faults that the generators of the laws once found, one by one. The laws reach them, too. */
import { assert, describe, it } from "@effect/vitest"
import { Dispatch, Policy, Tool, type ToolFailure, Toolkit, ToolUnavailable } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import { Effect, Fiber, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { beginFacts, recordCall } from "../../packages/core/src/internal/dispatch/recordCalls.ts"

const definition = { description: "", success: Schema.String } as const

const silent = new ToolUnavailable({ code: "down", detail: "Down.", transient: true })

const custom = <E extends ToolFailure.ToolFailure>(wrap: Policy.Options<never, E>["wrap"]) =>
  Policy.make<never, E>({ kind: "custom", name: "mine", description: "mine", wrap })

/** Plays an effect until it ends, in virtual time, and a while longer. */
const ended = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkDetach(effect)
    yield* TestClock.adjust("1 hour")
    return yield* Fiber.join(fiber)
  })

const call = <T extends Tool.Any>(tool: T, options: Dispatch.CallOptions = {}) =>
  Dispatch.call(Toolkit.make(tool), { id: "1", name: tool.name }, options)

/** A tool that acts after two seconds, whoever has left by then. */
const slow = () => {
  const done: Array<string> = []
  const tool = Tool.make(
    "slow",
    definition,
    () => Effect.uninterruptible(Effect.delay(Effect.sync(() => `${done.push("done")}`), 2_000))
  )
  return { done, tool }
}

describe("a keyed tool whose attempt was abandoned while an inner tool still runs", () => {
  it.effect("is not tried again by a retry", () =>
    Effect.gen(function*() {
      const { done, tool } = slow()
      const outer = Tool.make("outer", { ...definition, sideEffect: "idempotent_by_key", identity: "all" }, () =>
        tool.run({})).pipe(
          Tool.timeout(900),
          Tool.retry(Schedule.recurs(2))
        )
      yield* ended(call(outer))
      assert.strictEqual(done.length, 1)
    }))

  it.effect("is not called again by the model", () =>
    Effect.gen(function*() {
      const { done, tool } = slow()
      const outer = Tool.make("outer", { ...definition, sideEffect: "idempotent_by_key", identity: "all" }, () =>
        tool.run({})).pipe(
          Tool.timeout(900)
        )
      const facts = beginFacts(CallFacts.empty, "scope")
      const first = yield* ended(call(outer, { facts }))
      yield* ended(call(outer, { facts: recordCall(facts, first, outer) }))
      assert.strictEqual(done.length, 1)
    }))
})

describe("a handler that has acted", () => {
  it.effect("is not believed when it copies the failure of an inner tool that a policy kept from running", () =>
    Effect.gen(function*() {
      const done: Array<string> = []
      const inner = Tool.make("inner", definition, () => Effect.succeed("done")).pipe(
        Tool.with(custom<ToolUnavailable>(() => () => Effect.fail(silent)))
      )
      const outer = Tool.make("outer", definition, () =>
        Effect.suspend(() => {
          done.push("done")
          return Effect.mapError(inner.run({}), (failure) => new ToolUnavailable({ ...failure, hint: "Try again." }))
        }))
      const { certainty } = yield* ended(call(outer))
      assert.strictEqual(done.length, 1)
      assert.strictEqual(certainty, "unknown")
    }))
})

describe("a call that is dispatched in a handler", () => {
  it.effect("is waited for by a retry of a read-only tool, whose attempt was abandoned", () =>
    Effect.gen(function*() {
      const { done, tool } = slow()
      const outer = Tool.make("outer", { ...definition, sideEffect: "none" }, () => Effect.as(call(tool), "done")).pipe(
        Tool.timeout(900),
        Tool.retry(Schedule.recurs(2))
      )
      const { certainty } = yield* ended(call(outer))
      assert.strictEqual(done.length, 1)
      assert.strictEqual(certainty, "unknown")
    }))

  it.effect("does not begin once a policy has abandoned the attempt around it", () =>
    Effect.gen(function*() {
      const { done, tool } = slow()
      const outer = Tool.make("outer", { ...definition, sideEffect: "none" }, () =>
        Effect.as(Effect.andThen(Effect.sleep(500), call(tool)), "done")).pipe(
          Tool.with(
            custom<ToolUnavailable>((run) => (params) =>
              Effect.andThen(Effect.forkDetach(run(params)), Effect.fail(silent))
            )
          )
        )
      const { certainty } = yield* ended(call(outer))
      assert.strictEqual(certainty, "not_executed")
      assert.strictEqual(done.length, 0)
    }))
})
