/** A repeated call of a tool with `poll` waits below the model until its result changes. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Clock, Deferred, Duration, Effect, Exit, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { answered, played, repeating, steps, told, tool } from "../support/stuck.ts"
import { passing } from "../support/virtualTime.ts"

const status = ScriptedModel.call("status", {})
const done = ScriptedModel.text("done")
const poll = { every: "10 seconds", atMost: "10 minutes" } as const

const jobDone = (at: number) => (ran: number) => ({ state: ran < at ? "running" : "done" })

describe("a tool with poll", () => {
  it.effect("H10 runs a first call at once", () =>
    Effect.gen(function*() {
      const run = yield* played([tool("status", jobDone(5), { poll })], [status, done])
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
      assert.deepStrictEqual(told(run), ["{\"state\":\"running\"}"])
    }))

  it.effect("H10 waits in a repeated call until the result changes: 29 unchanged results cost one turn", () =>
    Effect.gen(function*() {
      const run = yield* passing(played([tool("status", jobDone(31), { poll })], [status, status, done]))
      assert.strictEqual(answered(run).report.turns, 3)
      assert.deepStrictEqual(told(run), ["{\"state\":\"running\"}", "{\"state\":\"done\"}"])
      assert.deepStrictEqual(steps(run), [])
      const ended = run.events.filter((event) => event._tag === "CallEnded")
      assert.deepStrictEqual(ended.map(({ outcome }) => [outcome.attempts, Duration.toSeconds(outcome.waited)]), [
        [1, 0],
        [30, 300]
      ])
    }))

  it.effect("H10 returns the new result when it is there, and not before", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(
        played([tool("status", jobDone(4), { poll })], [status, status, done]),
        { startImmediately: true }
      )
      yield* TestClock.adjust(29_999)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual(answered(yield* Fiber.join(fiber)).text, "done")
    }))

  it.effect("H10 stops at its longest time, and then says that nothing has changed", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(
        played([tool("status", () => "running", { poll })], [status, status, done]),
        { startImmediately: true }
      )
      yield* TestClock.adjust(599_999)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      const run = yield* Fiber.join(fiber)
      assert.deepStrictEqual(JSON.parse(told(run)[1]!), {
        value: "running",
        notes: ["The result has not changed in 10m"]
      })
    }))

  it.effect("H10 is left alone by the guard, because it waits: the limit of turns ends a poll that never changes", () =>
    Effect.gen(function*() {
      let ran = 0
      const polled = tool("status", () => {
        ran++
        return "running"
      }, { poll })
      const run = yield* passing(played([polled], repeating(status)))
      assert.isTrue(run.failure?._tag === "LimitReached" && run.failure.limit === "turns")
      assert.strictEqual(ran, 1 + 99 * 60)
      assert.notInclude(told(run).join(), "already have")
    }))

  it.effect("H10 waits for no poll that the deadline of the run would cut off", () =>
    Effect.gen(function*() {
      const run = yield* passing(
        played([tool("status", () => "running", { poll })], [status, status, done], {
          limits: { elapsed: "35 seconds" }
        })
      )
      assert.strictEqual(answered(run).text, "done")
      assert.deepStrictEqual(JSON.parse(told(run)[1]!).notes[0], "The result has not changed in 30s")
    }))

  it.effect("H10 runs at once, but only once, if the deadline is nearer than the first poll", () =>
    Effect.gen(function*() {
      const run = yield* played([tool("status", (ran) => ran, { poll })], [status, status, done], {
        limits: { elapsed: "9 seconds" }
      })
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
      assert.deepStrictEqual(told(run), ["1", "2"])
    }))

  it.effect("H10 stops waiting if the run is interrupted", () =>
    Effect.gen(function*() {
      let ran = 0
      const polled = tool("status", () => {
        ran++
        return "running"
      }, { poll })
      const fiber = yield* Effect.forkChild(played([polled], repeating(status)), { startImmediately: true })
      yield* TestClock.adjust("25 seconds")
      assert.strictEqual(ran, 3)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(ran, 3)
    }))

  it.effect("H10 interrupts a poll under way", () =>
    Effect.gen(function*() {
      const interrupted = yield* Deferred.make<void>()
      let ran = 0
      const hanging = Tool.make(
        "status",
        { description: "", success: Schema.Json, sideEffect: "none", poll },
        () =>
          ++ran === 1
            ? Effect.succeed("running")
            : Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
      )
      const fiber = yield* Effect.forkChild(played([hanging], repeating(status)), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.interrupt(fiber)
      yield* Deferred.await(interrupted)
    }))

  const failing = (at: number, ran: Array<string> = []) =>
    Tool.make(
      "status",
      { description: "", success: Schema.Json, sideEffect: "none", poll },
      () =>
        ran.push("ran") === at
          ? Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
          : Effect.succeed("running")
    )

  it.effect("H10 ends the wait with a failure, and adds up attempts and waits", () =>
    Effect.gen(function*() {
      const run = yield* passing(played([failing(6)], [status, status, done]))
      assert.deepInclude(answered(run).report.failures[0], { code: "connection", attempts: 5 })
      const [, ended] = run.events.filter((event) => event._tag === "CallEnded")
      assert.strictEqual(Duration.toSeconds(ended!.outcome.waited), 50)
    }))

  it.effect("D5 may be called again after one failure, however many polls came before it", () =>
    Effect.gen(function*() {
      const ran: Array<string> = []
      const run = yield* passing(played([failing(6, ran)], [status, status, status, done]))
      assert.strictEqual(ran.length, 7)
      assert.strictEqual(told(run)[2], "\"running\"")
    }))

  it.effect("H10 polls only the call with the same arguments", () =>
    Effect.gen(function*() {
      yield* played([tool("status", () => "running", { poll })], [
        ScriptedModel.call("status", { n: 1 }),
        ScriptedModel.call("status", { n: 2 }),
        done
      ])
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
    }))

  it("H10 may not act, since it runs again and again", () => {
    assert.throws(() => tool("pay", () => "paid", { sideEffect: "non_idempotent", poll }), TypeError, "poll")
    assert.throws(() => tool("look", () => 1, { poll: { every: 0 } }), TypeError)
    Agent.make({ toolkit: Toolkit.make(tool("look", () => 1, { poll: { every: "1 second" } })) })
  })
})
