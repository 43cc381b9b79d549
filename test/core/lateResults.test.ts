/** Handlers that end after their caller has stopped waiting. */
import { assert, describe, it } from "@effect/vitest"
import { Dispatch, Observer, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
import type * as CallEvent from "@fallible/core/CallEvent"
import type * as Certainty from "@fallible/core/Certainty"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Cause, Duration, Effect, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import { acting, deferred, reading, slow } from "../support/asyncTools.ts"
import { counting, type Ends, garbage, outcomeOf } from "../support/countedRuns.ts"
import { custom, doing, lost, notExecuted, paris } from "../support/sequence.ts"
import { macrotask } from "../support/virtualTime.ts"

/** Makes an uninterruptible tool that ends after 3 s. */
const uncut = (end: Ends, sideEffect?: SideEffect.SideEffect) =>
  counting(Effect.delay(end, "3 seconds"), sideEffect, { uninterruptible: true }).tool

describe("the end of an abandoned handler", () => {
  it.live("has a time by the clock of its call", () =>
    Effect.gen(function*() {
      const times: Array<number> = []
      const { pending, tool } = slow(acting)
      const run = Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Effect.exit(tool.pipe(Tool.timeout("5 seconds")).run({})))
        yield* TestClock.adjust("5 seconds")
        yield* Fiber.join(fiber)
      })
      yield* run.pipe(
        Effect.provide(TestClock.layer()),
        Observer.observe({ onLateResult: ({ at }) => Effect.sync(() => void times.push(at)) }),
        Observer.observe({ onEvent: ({ at }) => void times.push(at) })
      )
      pending[0]!.resolve("paid")
      yield* macrotask
      assert.deepStrictEqual([...new Set(times)], [0, 5000])
    }))

  /** Interrupts a run, then resolves its promise, and returns the reported late results. */
  const lateOf = <A, E>(run: Effect.Effect<A, E>, resolve: (answer: string) => void, meanwhile = macrotask) =>
    Effect.gen(function*() {
      const late: Array<readonly [tool: string, certainty: string]> = []
      const fiber = yield* Effect.forkChild(
        Observer.observe(run, {
          onLateResult: ({ certainty, tool }) => Effect.sync(() => void late.push([tool, certainty]))
        }),
        { startImmediately: true }
      )
      yield* macrotask
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
      yield* meanwhile
      resolve("paid")
      yield* macrotask
      yield* Fiber.join(interrupting)
      yield* macrotask
      return late
    })

  const going = {
    "an async function": () => {
      const { promise, resolve } = deferred<string>()
      return { resolve, tool: Tool.promise("pay", acting, () => promise) }
    },
    "an uninterruptible handler": () => {
      const { promise, resolve } = deferred<string>()
      return {
        resolve,
        tool: Tool.make("pay", { ...acting, uninterruptible: true }, () => Effect.promise(() => promise))
      }
    }
  }
  for (const [what, make] of Object.entries(going)) {
    for (const limit of ["1 minute", Duration.infinity] as const) {
      for (const wait of [0, 6_000]) {
        it.effect(`is reported after an interrupted run: ${what}, with a timeout of ${String(limit)}, after ${wait} ms`, () =>
          Effect.gen(function*() {
            const { resolve, tool } = make()
            const late = yield* lateOf(tool.pipe(Tool.timeout(limit)).run({}), resolve, TestClock.adjust(wait))
            assert.deepStrictEqual(late, [["pay", "executed"]])
          }))
      }
    }
  }

  it.effect("is reported if the outer call was interrupted", () =>
    Effect.gen(function*() {
      const { resolve, tool } = going["an uninterruptible handler"]()
      const order = Tool.make("order", acting, () => Effect.uninterruptible(tool.run({})))
      const late = yield* lateOf(Dispatch.call(Toolkit.make(order), { id: "1", name: "order" }), resolve)
      assert.deepInclude(late, ["pay", "executed"])
    }))

  it.effect("is not reported while the caller still waits", () =>
    Effect.gen(function*() {
      const { resolve, tool } = going["an uninterruptible handler"]()
      let answer = ""
      const run = Effect.map(Effect.uninterruptible(tool.run({})), (value) => {
        answer = value
      })
      const late = yield* lateOf(Effect.uninterruptible(run), resolve)
      assert.strictEqual(answer, "paid")
      assert.deepStrictEqual(late, [])
    }))

  for (
    const [what, quotes, certainty] of [["its own word", false, "not_executed"], [
      "that of a tool inside",
      true,
      "unknown"
    ]] as const
  ) {
    it.effect(`takes its certainty from the tool whose failure it ends with: ${what}`, () =>
      Effect.gen(function*() {
        const late: Array<string> = []
        const closed = new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true, outcome: "not_executed" })
        const look = Tool.make("look", reading, () => quotes ? Effect.fail(closed) : Effect.succeed("open"))
        const pay = Tool.make("pay", { ...acting, uninterruptible: true }, () =>
          Effect.andThen(
            Effect.exit(look.run({})),
            Effect.delay(Effect.fail(new ToolUnavailable({ ...closed })), "1 minute")
          )).pipe(Tool.timeout("1 second"))
        const fiber = yield* Effect.forkChild(Effect.exit(Observer.observe(pay.run({}), {
          onLateResult: (result) => Effect.sync(() => void late.push(result.certainty))
        })))
        yield* TestClock.adjust("2 minutes")
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(late, [certainty])
      }))
  }

  it.effect("is reported as unknown if the handler was interrupted", () =>
    Effect.gen(function*() {
      const late = yield* lateOf(Tool.make("pay", acting, () => Effect.never).run({}), () => {})
      assert.deepStrictEqual(late, [["pay", "unknown"]])
    }))

  it.effect("is reported as a defect if it is a programming error", () =>
    Effect.gen(function*() {
      const reports: Array<string> = []
      const { pending, tool } = slow(acting)
      const run = Effect.exit(tool.pipe(Tool.timeout("5 seconds")).run({}))
      const fiber = yield* Effect.forkChild(
        run.pipe(
          Observer.observe({
            onDefect: (_, cause) => Effect.sync(() => void reports.push(String(Cause.squash(cause))))
          }),
          Observer.observe({ onLateResult: () => Effect.void })
        )
      )
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(fiber)
      pending[0]!.reject(new TypeError("room is not a function"))
      yield* macrotask
      assert.deepStrictEqual(reports, ["TypeError: room is not a function"])
    }))
})

describe("a late result", () => {
  const late = (end: Ends, limit = "1 second" as const) => uncut(end).pipe(Tool.timeout(limit))

  const reportedBy = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.gen(function*() {
      const results: Array<Observer.LateResult> = []
      const events: Array<CallEvent.Watched> = []
      const value = yield* effect.pipe(
        Observer.observe({ onEvent: (event) => events.push(event) }),
        Observer.observe({ onLateResult: (result) => Effect.sync(() => results.push(result)) })
      )
      yield* TestClock.adjust("1 minute")
      return { value, results, events }
    })

  it.effect("is reported to operators with its tool, key, certainty and time", () =>
    Effect.gen(function*() {
      const ends: ReadonlyArray<readonly [Ends, Certainty.Certainty, "none" | "done" | "maybe", string | undefined]> = [
        [Effect.succeed("paid"), "executed", "done", undefined],
        [Effect.fail(notExecuted), "not_executed", "none", "connection"],
        [Effect.fail(lost), "unknown", "maybe", "connection"],
        [Effect.die("bug"), "unknown", "maybe", undefined]
      ]
      for (const [end, certainty, effects, code] of ends) {
        const { events, results, value } = yield* reportedBy(outcomeOf(late(end)))
        assert.strictEqual(value.certainty, "unknown")
        assert.strictEqual(results.length, 1)
        const [{ at, ...result }] = results as [Observer.LateResult]
        assert.isAbove(at, 0)
        assert.deepStrictEqual(result, {
          tool: "pay",
          id: "key",
          key: "key",
          attempt: 1,
          certainty,
          ...(code === undefined ? {} : { code })
        })
        const last = events.at(-1)
        assert.deepInclude(last, { _tag: "AttemptEnded", late: true, effects, attempt: 1 })
      }
    }))

  it.effect("of an inner tool of an abandoned handler is reported too, by its own name", () =>
    Effect.gen(function*() {
      const outer = doing(uncut(Effect.succeed("paid")).run(paris), "none", "outer").pipe(Tool.timeout("1 second"))
      const { results, value } = yield* reportedBy(outcomeOf(outer))
      assert.strictEqual(value.certainty, "unknown")
      assert.deepStrictEqual(results.map(({ certainty, id, tool }) => `${tool} ${id} ${certainty}`), [
        "pay key/pay/1 executed"
      ])
    }))

  it.effect("is not reported for an interrupted handler, a tool that only reads, or a handler with a waiting caller", () =>
    Effect.gen(function*() {
      const tools = [
        counting(Effect.never).tool.pipe(Tool.timeout("1 second")),
        uncut(Effect.succeed("seen"), "none").pipe(Tool.timeout("1 second")),
        counting(Effect.succeed("paid")).tool
      ]
      for (const tool of tools) assert.deepStrictEqual((yield* reportedBy(outcomeOf(tool))).results, [])
    }))

  it.effect("of a promise, or of a run that a policy abandoned, counts as well", () =>
    Effect.gen(function*() {
      const abandoned = counting(Effect.delay(Effect.succeed("paid"), "3 seconds")).tool.pipe(
        Tool.with(
          custom((run) => Effect.andThen(Effect.forkDetach(run, { startImmediately: true }), Effect.fail(garbage)))
        )
      )
      const { results, value } = yield* reportedBy(outcomeOf(abandoned))
      assert.strictEqual(value.certainty, "unknown")
      assert.deepStrictEqual(results.map(({ certainty }) => certainty), ["executed"])
    }))

  it.effect("is logged as a warning without a reporter, and a broken reporter breaks nothing", () =>
    Effect.gen(function*() {
      const lines: Array<unknown> = []
      const logger = Logger.layer([Logger.make(({ logLevel, message }) => lines.push([logLevel, message].flat()))])
      yield* Effect.andThen(outcomeOf(late(Effect.succeed("paid"))), TestClock.adjust("1 minute")).pipe(
        Effect.provide(logger)
      )
      assert.strictEqual(lines.length, 3)
      assert.match(String(lines[0]), /^Warn,pay failed \(outcome_unknown\): .* The model was told\.$/)
      assert.match(
        String(lines[1]),
        /^Warn,pay is in doubt for the first time, and declares nothing that settles a doubt\./
      )
      assert.deepStrictEqual(lines[2], ["Warn", "pay ended after it had been abandoned. It took effect."])
      const broken: ReadonlyArray<NonNullable<Observer.Observer["onLateResult"]>> = [
        () => Effect.die("broken"),
        () => {
          throw new Error("broken")
        },
        (() => Promise.reject(new Error("broken"))) as never,
        () => Effect.never
      ]
      for (const reporter of broken) {
        yield* Effect.andThen(outcomeOf(late(Effect.succeed("paid"))), TestClock.adjust("1 minute")).pipe(
          Observer.observe({ onLateResult: reporter })
        )
      }
    }))

  it.effect("that comes before the outcome of its call makes that certain", () =>
    Effect.gen(function*() {
      const slow = late(Effect.succeed("paid")).pipe(
        Tool.fallback(() => Effect.delay(Effect.fail(garbage), "5 seconds"))
      )
      assert.deepInclude(yield* outcomeOf(slow), { _tag: "Failed", certainty: "executed" })
    }))
})
