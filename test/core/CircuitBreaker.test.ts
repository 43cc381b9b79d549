import { assert, describe, it } from "@effect/vitest"
import { Dispatch, PartialData, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as ToolHealth from "@fallible/core/ToolHealth"
import { Duration, Effect, Exit, Fiber, Layer, Schedule } from "effect"
import * as Breaker from "effect/persistence/CircuitBreaker"
import { TestClock } from "effect/testing"
import { breaker, calling, fail, storeError } from "../support/circuits.ts"
import {
  after,
  custom,
  doing,
  type Failure,
  lost,
  noTotal,
  paris,
  refused,
  Sequence,
  sunny,
  unknownCity
} from "../support/sequence.ts"
import { withoutEvidence } from "../support/withoutEvidence.ts"

const firstPage = new PartialData({ code: "more_pages", detail: "Page 1 of 3.", data: "sunny" })

describe("CircuitBreaker", () => {
  describe("protect", () => {
    it.effect("is open for 29,999 ms of 30,000, then lets one call probe", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = sequence.tool([fail, sunny]).pipe(CircuitBreaker.protect())
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 1, 29_999, 30_000, 30_001]), [
          "0 attempt 1",
          "0 => connection",
          "1 => circuit_open",
          "29999 => circuit_open",
          "30000 attempt 2",
          "30000 => sunny",
          "30001 attempt 3",
          "30001 => sunny"
        ])
      }).pipe(Effect.provide(breaker())))

    it.effect("says in a refusal that the call was not made, and when the next probe is due", () =>
      Effect.gen(function*() {
        const tool = doing(fail).pipe(CircuitBreaker.protect())
        const run: Effect.Effect<string, ToolUnavailable, Breaker.CircuitBreaker> = tool.run(paris)
        yield* Effect.flip(run)
        yield* TestClock.adjust("10 seconds")
        const { retryAfter, ...failure } = yield* Effect.flip(run)
        assert.deepStrictEqual(withoutEvidence(failure), {
          _tag: "ToolUnavailable",
          code: "circuit_open",
          detail: "get_weather is disabled: it has failed too often.",
          transient: true,
          outcome: "not_executed"
        })
        assert.deepStrictEqual(retryAfter, Duration.seconds(20))
      }).pipe(Effect.provide(breaker())))

    it.effect("counts one failure per call, however many attempts it has inside", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = sequence.tool([fail]).pipe(Tool.retry(Schedule.recurs(2)), CircuitBreaker.protect())
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 1, 2]), [
          "0 attempt 1",
          "0 attempt 2",
          "0 attempt 3",
          "0 => connection",
          "1 attempt 4",
          "1 attempt 5",
          "1 attempt 6",
          "1 => connection",
          "2 => circuit_open"
        ])
      }).pipe(Effect.provide(breaker(2))))

    it.effect("counts a call as a success if a retry rescued it", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = sequence.tool([fail, fail, sunny, fail]).pipe(
          Tool.retry(Schedule.recurs(1)),
          CircuitBreaker.protect()
        )
        const events = yield* calling(sequence, tool, [0, 1, 2])
        assert.deepStrictEqual(events.filter((event) => event.includes("=>")), [
          "0 => connection",
          "1 => sunny",
          "2 => connection"
        ])
      }).pipe(Effect.provide(breaker(2))))

    it.effect("counts a timeout inside", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = doing(Effect.never).pipe(Tool.timeout("1 second"), CircuitBreaker.protect())
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 1_000]), [
          "1000 => timeout",
          "1000 => circuit_open"
        ])
      }).pipe(Effect.provide(breaker())))

    for (const failure of [unknownCity, noTotal, firstPage]) {
      it.effect(`treats ${failure._tag} as an answer, even of a probe`, () =>
        Effect.gen(function*() {
          const sequence = new Sequence()
          const answer = Effect.fail(unknownCity)
          const tool = sequence.tool<Failure>([answer, fail, answer, fail, fail, answer]).pipe(
            Tool.mapFailure((wrong) => wrong === unknownCity ? failure : wrong),
            CircuitBreaker.protect(),
            Tool.catchTag("PartialData", ({ code }) => Effect.succeed(code))
          )
          const events = yield* calling(sequence, tool, [0, 1, 2, 3, 4, 5, 30_004, 30_005])
          assert.deepStrictEqual(events.filter((event) => event.includes("=>")), [
            `0 => ${failure.code}`,
            "1 => connection",
            `2 => ${failure.code}`,
            "3 => connection",
            "4 => connection",
            "5 => circuit_open",
            `30004 => ${failure.code}`,
            `30005 => ${failure.code}`
          ])
        }).pipe(Effect.provide(breaker(2))))
    }

    it.effect("counts no signals, no refusals of our own policies, and no interruptions", () =>
      Effect.gen(function*() {
        const own = ["bulkhead_full", "throttled", "limiter_unavailable", "circuit_open", "breaker_unavailable"]
        const ends = [
          ...own.map((code) => Effect.fail(new ToolUnavailable({ ...refused, code }))),
          ToolCall.ask("Which Paris?"),
          ToolCall.stop("Enough."),
          Effect.interrupt,
          Effect.onInterrupt(Effect.interrupt, () => Effect.die("bug"))
        ]
        for (const end of ends) {
          const sequence = new Sequence()
          const tool = sequence.tool<ToolUnavailable>([end, end, sunny]).pipe(CircuitBreaker.protect())
          yield* Effect.exit(tool.run(paris))
          yield* Effect.exit(tool.run(paris))
          assert.strictEqual(yield* tool.run(paris), "sunny")
        }
      }).pipe(Effect.provide(breaker())))

    it.effect("counts a defect of any kind", () =>
      Effect.gen(function*() {
        const promise: unknown = Promise.resolve("sunny")
        const ends = [Effect.die("bug"), Effect.die(new TypeError("Oh.")), promise as Effect.Effect<string>]
        for (const end of ends) {
          const sequence = new Sequence()
          const { run } = sequence.tool<ToolUnavailable>([end]).pipe(CircuitBreaker.protect())
          assert.isTrue(Exit.hasDies(yield* Effect.exit(run(paris))))
          assert.strictEqual((yield* Effect.flip(run(paris))).code, "circuit_open")
          yield* TestClock.adjust("30 seconds")
          assert.isTrue(Exit.hasDies(yield* Effect.exit(run(paris))))
          assert.strictEqual((yield* Effect.flip(run(paris))).code, "circuit_open")
          yield* TestClock.adjust("1 hour")
        }
      }).pipe(Effect.provide(breaker())))

    it.effect("treats a permanent failure as an answer only if it is about the arguments", () =>
      Effect.gen(function*() {
        const ended = Effect.fnUntraced(function*(fields: Partial<ConstructorParameters<typeof ToolUnavailable>[0]>) {
          const sequence = new Sequence()
          const end = Effect.fail(new ToolUnavailable({ ...refused, transient: false, ...fields }))
          const { run } = sequence.tool<ToolUnavailable>([fail, end, fail]).pipe(CircuitBreaker.protect())
          const codes = []
          for (let call = 0; call < 4; call++) codes.push((yield* Effect.flip(run(paris))).code)
          return codes.filter((code) => code === "circuit_open").length
        })
        const count = (fields: Parameters<typeof ended>[0]) => Effect.provide(ended(fields), breaker(2))
        // It answers in between, so the failures are not consecutive.
        assert.strictEqual(yield* count({ scope: "arguments" }), 0)
        assert.strictEqual(yield* count({ scope: "tool" }), 2)
        assert.strictEqual(yield* count({}), 2)
        assert.strictEqual(yield* count({ scope: "arguments", transient: true }), 2)
      }))

    it.effect("counts a call that may have taken effect, even if a policy inside had a repetition refused", () =>
      Effect.gen(function*() {
        const again = custom((run) => Effect.catch(run, () => run))
        const { run } = doing<ToolUnavailable>(Effect.fail(lost), "non_idempotent").pipe(
          Tool.with(again),
          CircuitBreaker.protect()
        )
        assert.strictEqual((yield* Effect.flip(run(paris))).code, "not_repeated")
        assert.strictEqual((yield* Effect.flip(run(paris))).code, "circuit_open")
      }).pipe(Effect.provide(breaker())))

    it.effect("stays open as long as the failure asks", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const later = new ToolUnavailable({ ...refused, code: "rate_limited", retryAfter: Duration.seconds(60) })
        const tool = sequence.tool([Effect.fail(later), sunny]).pipe(CircuitBreaker.protect())
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 59_999, 60_000]), [
          "0 attempt 1",
          "0 => rate_limited",
          "59999 => circuit_open",
          "60000 attempt 2",
          "60000 => sunny"
        ])
      }).pipe(Effect.provide(breaker())))

    it.effect("is shared only by tools with the same key", () =>
      Effect.gen(function*() {
        const tool = (name: string, end: typeof fail | typeof sunny, options?: CircuitBreaker.Options) =>
          doing<ToolUnavailable>(end, "none", name).pipe(CircuitBreaker.protect(options)).run(paris)
        const codes = yield* Effect.forEach([
          tool("a", fail, { key: "station" }),
          tool("b", sunny, { key: "station" }),
          tool("a", sunny),
          tool("c", sunny)
        ], (run) => Effect.match(run, { onFailure: ({ code }) => code, onSuccess: (value) => value }))
        assert.deepStrictEqual(codes, ["connection", "circuit_open", "sunny", "sunny"])
      }).pipe(Effect.provide(breaker())))

    it.effect("leaves the answer to a fallback outside while it is open", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = sequence.tool([fail]).pipe(
          CircuitBreaker.protect(),
          Tool.fallback((_, { code }) => Effect.succeed(`rain, for ${code}`))
        )
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 1]), [
          "0 attempt 1",
          "0 => rain, for connection",
          "1 => rain, for circuit_open"
        ])
      }).pipe(Effect.provide(breaker())))

    it.effect("fails with its store if configured so, and otherwise lets the call through", () =>
      Effect.gen(function*() {
        const withStore = (onStoreError: "allow" | "fail") =>
          Breaker.layer({ tripPolicy: Breaker.consecutive(1), openDuration: "1 second", onStoreError }).pipe(
            Layer.provide(Layer.succeed(Breaker.CircuitBreakerStore, {
              admit: () => storeError,
              record: () => storeError,
              state: () => storeError
            })),
            Layer.provideMerge(ToolHealth.layer)
          )
        const run = doing<ToolUnavailable>(sunny).pipe(CircuitBreaker.protect()).run(paris)
        const { cause, ...failure } = yield* Effect.flip(Effect.provide(run, withStore("fail")))
        assert.deepStrictEqual(withoutEvidence(failure), {
          _tag: "ToolUnavailable",
          code: "breaker_unavailable",
          detail: "get_weather was not called: its circuit breaker did not respond.",
          transient: true,
          outcome: "not_executed"
        })
        assert.instanceOf(cause, Breaker.CircuitBreakerError)
        assert.strictEqual(yield* Effect.provide(run, withStore("allow")), "sunny")
      }))
  })

  describe("a probe", () => {
    it.effect("that fails opens the circuit again", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = sequence.tool([fail, fail, sunny]).pipe(CircuitBreaker.protect())
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 30_000, 59_999, 60_000]), [
          "0 attempt 1",
          "0 => connection",
          "30000 attempt 2",
          "30000 => connection",
          "59999 => circuit_open",
          "60000 attempt 3",
          "60000 => sunny"
        ])
      }).pipe(Effect.provide(breaker())))

    it.effect("is a single call, and all others are refused until it ends", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = sequence.tool([fail, after(500, sunny), sunny]).pipe(CircuitBreaker.protect())
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 30_000, 30_000, 30_499, 30_501]), [
          "0 attempt 1",
          "0 => connection",
          "30000 attempt 2",
          "30000 => circuit_open",
          "30499 => circuit_open",
          "30500 => sunny",
          "30501 attempt 3",
          "30501 => sunny"
        ])
      }).pipe(Effect.provide(breaker())))

    it.effect("is the reason in other refusals, which name no time", () =>
      Effect.gen(function*() {
        const { tool } = new Sequence()
        const { run } = tool([fail, Effect.never]).pipe(CircuitBreaker.protect())
        yield* Effect.flip(run(paris))
        yield* TestClock.adjust("30 seconds")
        yield* Effect.forkChild(run(paris), { startImmediately: true })
        assert.deepStrictEqual(withoutEvidence(yield* Effect.flip(run(paris))), {
          _tag: "ToolUnavailable",
          code: "circuit_open",
          detail: "get_weather is disabled: it has failed too often. Another call is testing it now.",
          transient: true,
          outcome: "not_executed"
        })
      }).pipe(Effect.provide(breaker())))

    it.effect("that is interrupted leaves its place to the next call", () =>
      Effect.gen(function*() {
        const { tool } = new Sequence()
        const { run } = tool([fail, Effect.never, sunny]).pipe(CircuitBreaker.protect())
        yield* Effect.flip(run(paris))
        yield* TestClock.adjust("30 seconds")
        const probe = yield* Effect.forkChild(run(paris), { startImmediately: true })
        yield* Fiber.interrupt(probe)
        assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(probe)))
        assert.strictEqual(yield* run(paris), "sunny")
      }).pipe(Effect.provide(breaker())))
  })

  describe("policy", () => {
    it("describes itself", () => {
      assert.strictEqual(CircuitBreaker.policy().kind, "breaker")
      assert.strictEqual(CircuitBreaker.policy().description, "breaker")
      assert.strictEqual(CircuitBreaker.policy({ key: "station" }).description, "breaker of station")
    })

    it("does not change the worst case of a tool", () => {
      const tool = doing(fail).pipe(Tool.timeout("5 seconds"), Tool.retry(Schedule.recurs(2)))
      const { attempts, time } = Tool.explain(tool.pipe(CircuitBreaker.protect()))
      assert.deepStrictEqual([attempts.max, Duration.toSeconds(time.max)], [3, 15])
    })

    it.effect("as a default gives each tool of a toolkit its own circuit, inside its fallback", () =>
      Effect.gen(function*() {
        const toolkit = Toolkit.make(
          doing(fail, "none", "a"),
          doing<ToolUnavailable>(sunny, "none", "b"),
          doing(fail, "none", "c").pipe(Tool.fallback(() => Effect.succeed("rain")))
        ).pipe(Toolkit.withDefaults([CircuitBreaker.policy()]))
        assert.deepStrictEqual(toolkit.tools.get("c")?.policies.map(({ kind }) => kind), ["breaker", "fallback"])
        const call = Effect.fnUntraced(function*(name: string) {
          const outcome = yield* Dispatch.call(toolkit, { id: "1", name, arguments: JSON.stringify(paris) })
          const end = outcome._tag === "Failed" ? outcome.failure.code : outcome._tag === "Completed" && outcome.value
          return [name, end, outcome.attempts]
        })
        assert.deepStrictEqual(yield* Effect.forEach(["a", "a", "b", "c", "c"], call), [
          ["a", "connection", 1],
          ["a", "circuit_open", 0],
          ["b", "sunny", 1],
          ["c", "rain", 1],
          ["c", "rain", 0]
        ])
      }).pipe(Effect.provide(breaker())))
  })
})
