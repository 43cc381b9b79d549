import { assert, describe, it } from "@effect/vitest"
import { Tool, ToolUnavailable } from "@fallible/core"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Effect, Exit, Schedule } from "effect"
import {
  disabled,
  doing,
  type Failure,
  notExecuted,
  noTotal,
  paris,
  refused,
  Sequence,
  sunny,
  twiceAfterOneSecond,
  unknownCity
} from "../support/sequence.ts"

describe("Tool", () => {
  describe("retry", () => {
    it.effect("retries a transient failure on the schedule", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const flaky = tool([Effect.fail(refused), Effect.fail(refused), sunny])
        assert.deepStrictEqual(yield* play(Tool.retry(flaky, twiceAfterOneSecond)), [
          "0 attempt 1",
          "retry handles connection",
          "waits 1000",
          "1000 attempt 2",
          "retry handles connection",
          "waits 1000",
          "2000 attempt 3",
          "2000 => sunny"
        ])
      }))

    it.effect("passes on the last failure when the schedule ends", () =>
      Effect.gen(function*() {
        let attempts = 0
        const failing = doing(
          Effect.suspend(() => Effect.fail(new ToolUnavailable({ ...refused, detail: `Refused ${++attempts}.` })))
        ).pipe(Tool.retry(Schedule.recurs(2)))
        assert.strictEqual((yield* Effect.flip(failing.run(paris))).detail, "Refused 3.")
      }))

    it.effect("retries only a transient ToolUnavailable", () =>
      Effect.gen(function*() {
        for (const failure of [disabled, unknownCity, noTotal]) {
          const { play, tool } = new Sequence()
          const events = yield* play(tool([Effect.fail(failure)]).pipe(Tool.retry(Schedule.recurs(2))))
          assert.deepStrictEqual(events.length, 2)
          assert.match(events[1] ?? "", new RegExp(`=> ${failure.code}$`))
        }
      }))

    it.effect("stops at the first failure of another kind", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const flaky = tool<Failure>([Effect.fail(refused), Effect.fail(unknownCity), sunny])
        assert.deepStrictEqual(yield* play(flaky.pipe(Tool.retry(Schedule.recurs(2)))), [
          "0 attempt 1",
          "retry handles connection",
          "waits 0",
          "0 attempt 2",
          "0 => unknown_city"
        ])
      }))

    it.effect("repeats a tool that acts only if it certainly did nothing", () =>
      Effect.gen(function*() {
        const attempts = Effect.fnUntraced(function*(sideEffect: SideEffect.SideEffect, failure: ToolUnavailable) {
          const { play, tool } = new Sequence()
          const events = yield* play(
            tool([Effect.fail(failure), sunny], sideEffect).pipe(Tool.retry(Schedule.recurs(1)))
          )
          return events.filter((event) => event.includes("attempt")).length
        })
        const unknown = new ToolUnavailable({ ...refused, outcome: "unknown" })
        const table = yield* Effect.forEach(
          ["none", "idempotent", "non_idempotent"] as const,
          (sideEffect) => Effect.forEach([refused, notExecuted, unknown], (failure) => attempts(sideEffect, failure))
        )
        assert.deepStrictEqual(table, [[2, 2, 2], [2, 2, 2], [1, 2, 1]])
      }))

    it.effect("restarts the schedule on every run", () =>
      Effect.gen(function*() {
        let attempts = 0
        const failing = doing(Effect.suspend(() => {
          attempts++
          return Effect.fail(refused)
        })).pipe(Tool.retry(Schedule.recurs(2)))
        yield* Effect.flip(failing.run(paris))
        yield* Effect.flip(failing.run(paris))
        assert.strictEqual(attempts, 6)
      }))

    it.effect("lets the schedule see the failure", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const onlyRefused = Schedule.recurs(5).pipe(
          Schedule.setInputType<ToolUnavailable>(),
          Schedule.while(({ input }) => input.code === "connection")
        )
        const limited = new ToolUnavailable({ code: "rate_limited", detail: "Slow down.", transient: true })
        const flaky = tool([Effect.fail(refused), Effect.fail(limited), sunny])
        assert.deepStrictEqual(yield* play(flaky.pipe(Tool.retry(onlyRefused))), [
          "0 attempt 1",
          "retry handles connection",
          "waits 0",
          "0 attempt 2",
          "0 => rate_limited"
        ])
      }))

    it.effect("does not assume that a tool that acts did nothing if an earlier attempt does not say so", () =>
      Effect.gen(function*() {
        const { tool } = new Sequence()
        const both = tool([Effect.fail(refused), Effect.fail(notExecuted)], "idempotent")
        const failure = yield* Effect.flip(both.pipe(Tool.retry(Schedule.recurs(1))).run(paris))
        assert.strictEqual(failure.outcome, "unknown")
      }))

    it.effect("retries neither defects nor interruptions", () =>
      Effect.gen(function*() {
        for (const end of [Effect.die("bug"), Effect.interrupt]) {
          let attempts = 0
          const tool = doing(Effect.suspend(() => {
            attempts++
            return end
          })).pipe(Tool.retry(Schedule.recurs(2)))
          assert.isTrue(Exit.isFailure(yield* Effect.exit(tool.run(paris))))
          assert.strictEqual(attempts, 1)
        }
      }))

    it.effect("gives each attempt its schedule's metadata, as Effect.retry does", () =>
      Effect.gen(function*() {
        const attemptsUnder = (
          retry: (self: Effect.Effect<string, ToolUnavailable>) => Effect.Effect<string, Failure>
        ) => {
          const seen: Array<number> = []
          const failing = Effect.flatMap(Schedule.CurrentMetadata, ({ attempt }) => {
            seen.push(attempt)
            return Effect.fail(refused)
          })
          return Effect.as(Effect.exit(retry(failing)), seen)
        }
        assert.deepStrictEqual(
          yield* attemptsUnder((failing) => doing(failing).pipe(Tool.retry(Schedule.recurs(2))).run(paris)),
          yield* attemptsUnder(Effect.retry(Schedule.recurs(2)))
        )
      }))
  })
})
