import { assert, describe, it } from "@effect/vitest"
import { Tool, ToolCall } from "@fallible/core"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Clock, type Duration, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import {
  after,
  around,
  doing,
  type Failure,
  paris,
  refused,
  Sequence,
  sunny,
  unknownCity
} from "../support/sequence.ts"

describe("Tool", () => {
  describe("timeout", () => {
    it.effect("waits through 4,999 ms of 5,000, then fails", () =>
      Effect.gen(function*() {
        const hangs = doing(Effect.never).pipe(Tool.timeout("5 seconds"))
        const [before, after] = yield* around(Effect.flip(hangs.run(paris)), 5_000)
        assert.isUndefined(before)
        assert.deepStrictEqual({ ...(yield* after ?? assert.fail("no end")) }, {
          _tag: "ToolUnavailable",
          code: "timeout",
          detail: "get_weather did not answer within 5s.",
          transient: true
        })
      }))

    it.effect("passes on a value, a failure or a defect that comes in time", () =>
      Effect.gen(function*() {
        const end = Effect.fnUntraced(function*(handler: Effect.Effect<string, Failure>) {
          const tool = doing(after(4_999, handler)).pipe(Tool.timeout("5 seconds"))
          const [, exit] = yield* around(tool.run(paris), 4_999)
          return exit
        })
        assert.deepStrictEqual(yield* end(sunny), Exit.succeed("sunny"))
        assert.deepStrictEqual(yield* end(Effect.fail(unknownCity)), Exit.fail(unknownCity))
        assert.deepStrictEqual(yield* end(Effect.die("bug")), Exit.die("bug"))
      }))

    it.effect("stops waiting for a handler that ignores its interruption", () =>
      Effect.gen(function*() {
        const hangs = doing(Effect.uninterruptible(Effect.never)).pipe(Tool.timeout("5 seconds"))
        const [before, after] = yield* around(Effect.flip(hangs.run(paris)), 5_000)
        assert.isUndefined(before)
        assert.strictEqual((yield* after ?? assert.fail("no end")).code, "timeout")
      }))

    it.effect("interrupts the handler without waiting for its finalizers", () =>
      Effect.gen(function*() {
        const { note, play, tool } = new Sequence()
        const slow = Effect.never.pipe(
          Effect.onInterrupt(() => Effect.andThen(Effect.sleep("10 seconds"), note("released")))
        )
        assert.deepStrictEqual(yield* play(tool([slow]).pipe(Tool.timeout("5 seconds"))), [
          "0 attempt 1",
          "5000 => timeout",
          "15000 released",
          "15000 interrupted"
        ])
      }))

    it.effect("of a tool that may have acted says so, with advice", () =>
      Effect.gen(function*() {
        const end = Effect.fnUntraced(function*(sideEffect: SideEffect.SideEffect) {
          const hangs = doing(Effect.never, sideEffect).pipe(Tool.timeout("1 second"))
          const [, exit] = yield* around(Effect.flip(hangs.run(paris)), 1_000)
          const { code, hint, outcome, transient } = yield* exit ?? assert.fail("no end")
          return { code, hint, outcome, transient }
        })
        assert.deepStrictEqual(yield* end("none"), {
          code: "timeout",
          hint: undefined,
          outcome: undefined,
          transient: true
        })
        assert.deepStrictEqual(yield* end("idempotent"), {
          code: "timeout",
          hint: undefined,
          outcome: "unknown",
          transient: true
        })
        assert.deepStrictEqual(yield* end("non_idempotent"), {
          code: "outcome_unknown",
          hint: undefined,
          outcome: "unknown",
          transient: false
        })
      }))

    it.effect("leaves no timer behind, however the handler ends", () =>
      Effect.gen(function*() {
        const clock = yield* Clock.Clock
        let sleeping = 0
        const counting: Clock.Clock = Object.assign(Object.create(clock), {
          sleep: (duration: Duration.Duration) =>
            Effect.suspend(() => {
              sleeping++
              return Effect.onExit(clock.sleep(duration), () => Effect.sync(() => sleeping--))
            })
        })
        for (const end of [Effect.yieldNow, Effect.andThen(Effect.yieldNow, Effect.fail(refused)), Effect.never]) {
          const run = Effect.provideService(
            doing(Effect.as(end, "sunny")).pipe(Tool.timeout("1 hour")).run(paris),
            Clock.Clock,
            counting
          )
          const fiber = yield* Effect.forkChild(run, { startImmediately: true })
          assert.strictEqual(sleeping, 1)
          for (let turn = 0; turn < 10; turn++) yield* Effect.yieldNow
          yield* Fiber.interrupt(fiber)
          assert.strictEqual(sleeping, 0)
        }
      }))

    it.effect("waits for the handler's finalizers when the run itself is interrupted", () =>
      Effect.gen(function*() {
        const { events, note } = new Sequence()
        const slow = Effect.never.pipe(
          Effect.onInterrupt(() => Effect.andThen(Effect.sleep("2 seconds"), note("released")))
        )
        const tool = doing(slow).pipe(Tool.timeout("1 hour"))
        const fiber = yield* Effect.forkChild(tool.run(paris), { startImmediately: true })
        yield* Effect.forkChild(Effect.andThen(Fiber.interrupt(fiber), note("run ended")))
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(events, ["2000 released", "2000 run ended"])
      }))

    it.effect("waits no longer than 5 s for them", () =>
      Effect.gen(function*() {
        const tool = doing(Effect.uninterruptible(Effect.never)).pipe(Tool.timeout("1 hour"))
        const fiber = yield* Effect.forkChild(tool.run(paris), { startImmediately: true })
        const [before, after] = yield* around(Fiber.interrupt(fiber), 5_000)
        assert.isUndefined(before)
        assert.isDefined(after)
        assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
      }))

    it.effect("takes no time if the handler takes none", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* doing(sunny).pipe(Tool.timeout("5 seconds")).run(paris), "sunny")
        const needing = doing(ToolCall.current.pipe(Effect.map(({ idempotencyKey }) => idempotencyKey)))
        assert.match(yield* needing.pipe(Tool.timeout("5 seconds")).run(paris), /^call-/)
      }))
  })
})
