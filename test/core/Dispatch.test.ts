import { assert, describe, it } from "@effect/vitest"
import { Dispatch, RetryPolicy, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Cause, Deferred, Duration, Effect, Fiber, Logger, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { lettered } from "../support/lettered.ts"
import { refused } from "../support/sequence.ts"
import { runTurn } from "../support/turn.ts"
import { passing } from "../support/virtualTime.ts"
import { Echo, echo, failing, label, toolkit, zoo } from "../support/zoo.ts"

describe("Dispatch", () => {
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

  it.effect("reports the stage at which a call ended", () =>
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

  it.effect("runs up to 8 read-only calls of a turn at once", () =>
    Effect.gen(function*() {
      const gauge = yield* makeGauge
      yield* runNamed(Toolkit.make(gauge.tool("reads", "none")), Array.from({ length: 20 }, () => "reads"))
      assert.strictEqual(gauge.max(), 8)
    }))

  it.effect("runs calls that act one at a time, in order", () =>
    Effect.gen(function*() {
      const gauge = yield* makeGauge
      const kit = Toolkit.make(gauge.tool("pay", "non_idempotent"), gauge.tool("put", "idempotent"))
      yield* runNamed(kit, ["pay", "put", "pay", "put"])
      assert.strictEqual(gauge.max(), 1)
      assert.deepStrictEqual(gauge.log(), ["pay", "put", "pay", "put"])
    }))

  it.effect("lets a read see earlier writes, and run beside neighbouring reads", () =>
    Effect.gen(function*() {
      const gauge = yield* makeGauge
      const kit = Toolkit.make(gauge.tool("read", "none"), gauge.tool("pay", "non_idempotent"))
      yield* runNamed(kit, ["read", "read", "pay", "read"])
      assert.deepStrictEqual(gauge.log(), ["read", "read", "pay", "read"])
      assert.strictEqual(gauge.max(), 2)
    }))

  it.effect("gives a call its key, which is the same for every attempt", () =>
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

  it.effect("never reports an unknown outcome for a tool that only reads", () =>
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

  it.effect("never advises a model to retry later a non-idempotent call that may have acted", () =>
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

  it.effect("reports an unknown outcome for a tool that acts and dies", () =>
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

  it.effect("holds back the calls after one that stops the run or asks the user", () =>
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

  it.effect("logs a defect of a handler after its timeout", () =>
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

  it.effect("gives every call its own key, even if models repeat their ids", () =>
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

  it.effect("gives an inner tool its own key and attempts, and passes its notes on", () =>
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

  it.effect("gives an inner tool the same key in every attempt, whatever runs beside it", () =>
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

  it.effect("counts attempts and waits, and lists the failures that its policies handled", () =>
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

  it.effect("quotes an unknown choice in a result, unless it is a secret", () =>
    Effect.gen(function*() {
      const Status = Schema.Literals(["open", "closed"])
      const issuesOf = <A>(success: Schema.ConstraintCodec<A, unknown>, value: unknown) => {
        const tool = Tool.make(
          "t",
          { description: "", success, onMismatch: "refuse", sideEffect: "none" },
          () => Effect.succeed(value as A)
        )
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

  it.effect("returns a value that can run again, from the start", () =>
    Effect.gen(function*() {
      const dispatched = Dispatch.call(toolkit, { id: "1", name: "reads", arguments: "{\"n\":1}" })
      assert.deepStrictEqual((yield* dispatched).attempts, 1)
      assert.deepStrictEqual((yield* dispatched).attempts, 1)
    }))

  it.effect("logs a defect in full, once, and keeps its details out of the outcome", () =>
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

  it.effect("treats a throwing transformation of the parameters as a defect of that call", () =>
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

/** Makes tools that take a second each, and records their order and the number that run at once. */
const makeGauge = Effect.sync(() => {
  const log: Array<string> = []
  let running = 0
  let max = 0
  return {
    log: () => log,
    max: () => max,
    tool: (name: string, sideEffect: SideEffect.SideEffect) =>
      Tool.make(name, { description: "", success: Schema.Void, sideEffect }, () =>
        Effect.gen(function*() {
          log.push(name)
          max = Math.max(max, ++running)
          yield* Effect.sleep("1 second")
          running--
        }))
  }
})

const runNamed = (kit: Toolkit.Toolkit<Tool.Tool<string, {}, void>>, names: ReadonlyArray<string>) =>
  passing(runTurn(kit, names.map((name, i) => ({ id: String(i), name }))))
