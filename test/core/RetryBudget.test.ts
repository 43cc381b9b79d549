import { assert, describe, it } from "@effect/vitest"
import { Model, ModelFailure, RetryPolicy, Tool } from "@fallible/core"
import * as RetryBudget from "@fallible/core/RetryBudget"
import { Effect, Schedule } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { disabled, doing, paris, refused, Sequence, sunny } from "../support/sequence.ts"
import { passing } from "../support/virtualTime.ts"

const once = Schedule.recurs(1)
const none = { ratio: 0.5, minPerSecond: 0 }

/** Counts the retries that a budget grants at a given time. */
const retriesLeft = (budget: RetryBudget.RetryBudget, now: number) => {
  let count = 0
  while (budget.withdraw(now)) count++
  return count
}

const deposits = (budget: RetryBudget.RetryBudget, times: number, now: number) => {
  for (let time = 0; time < times; time++) budget.deposit(now)
}

describe("RetryBudget", () => {
  describe("make", () => {
    it("grants retries in the ratio to successes", () => {
      for (const [ratio, successes] of [[1, 1], [0.5, 2], [0.2, 5], [0.1, 10]] as const) {
        const budget = RetryBudget.make({ ratio, minPerSecond: 0 })
        deposits(budget, successes - 1, 0)
        assert.strictEqual(retriesLeft(budget, 0), 0)
        budget.deposit(0)
        assert.strictEqual(retriesLeft(budget, 0), 1)
      }
      const nothing = RetryBudget.make({ ratio: 0, minPerSecond: 0 })
      deposits(nothing, 1_000, 0)
      assert.strictEqual(retriesLeft(nothing, 0), 0)
    })

    it("has a reserve for rare callers, which refills with time", () => {
      const budget = RetryBudget.make({ ratio: 0, minPerSecond: 2 })
      assert.strictEqual(retriesLeft(budget, 0), 20)
      assert.strictEqual(retriesLeft(budget, 9_999), 0)
      assert.strictEqual(retriesLeft(budget, 10_000), 20)
      assert.strictEqual(retriesLeft(RetryBudget.make({ ratio: 0, minPerSecond: 0.1 }), 0), 1)
      assert.strictEqual(retriesLeft(RetryBudget.make({ ratio: 0, minPerSecond: 0.09 }), 0), 0)
    })

    it("by default grants a fifth of the successes, and 10 per second", () => {
      const budget = RetryBudget.make()
      deposits(budget, 50, 0)
      assert.strictEqual(retriesLeft(budget, 0), 110)
    })

    it("forgets a deposit after 10 s, a tenth of them at a time", () => {
      const after = (deposited: number, asked: number) => {
        const budget = RetryBudget.make(none)
        deposits(budget, 2, deposited)
        return retriesLeft(budget, asked)
      }
      assert.deepStrictEqual([after(0, 9_999), after(0, 10_000)], [1, 0])
      assert.deepStrictEqual([after(999, 9_999), after(999, 10_000)], [1, 0])
      assert.deepStrictEqual([after(1_000, 10_999), after(1_000, 11_000)], [1, 0])
      assert.deepStrictEqual([after(0, 100_000), after(100_000, 100_000)], [0, 1])
    })

    it("keeps later deposits when earlier ones are forgotten", () => {
      const budget = RetryBudget.make(none)
      deposits(budget, 2, 0)
      deposits(budget, 4, 5_000)
      assert.strictEqual(retriesLeft(budget, 10_000), 2)
    })

    it("forgets deposits after the configured time", () => {
      const budget = RetryBudget.make({ ...none, timeToLive: "1 minute" })
      deposits(budget, 4, 0)
      assert.isTrue(budget.withdraw(59_999))
      assert.isFalse(budget.withdraw(60_000))
    })

    it("handles times before 1970 and after a long silence", () => {
      for (const start of [-25_000, 1_800_000_000_000]) {
        const budget = RetryBudget.make(none)
        deposits(budget, 2, start)
        assert.strictEqual(retriesLeft(budget, start + 5_000), 1)
        deposits(budget, 2, start + 1_000_000)
        assert.strictEqual(retriesLeft(budget, start + 1_000_000), 1)
      }
    })

    it("throws at numbers out of range", () => {
      const bad: ReadonlyArray<RetryBudget.Options> = [
        { ratio: -0.1 },
        { ratio: 1.1 },
        { ratio: Number.NaN },
        { minPerSecond: -1 },
        { minPerSecond: Infinity },
        { minPerSecond: Number.NaN },
        { timeToLive: 0 },
        { timeToLive: -1 },
        { timeToLive: "Infinity" }
      ]
      for (const options of bad) assert.throws(() => RetryBudget.make(options), RangeError)
    })

    it("agrees with a list of all deposits and withdrawals", () => {
      const step = fc.record({ wait: fc.constantFrom(0, 1, 300, 999, 1_000, 4_000, 11_000), deposits: fc.nat(12) })
      fc.assert(
        fc.property(
          fc.integer({ min: 0, max: 10 }),
          fc.integer({ min: 0, max: 3 }),
          fc.nat(20_000),
          fc.array(step, { maxLength: 40 }),
          (tenths, perTenSeconds, start, steps) => {
            const budget = RetryBudget.make({ ratio: tenths / 10, minPerSecond: perTenSeconds / 10 })
            const book: Array<{ readonly slot: number; readonly tenths: number }> = []
            let now = start
            for (const { deposits: count, wait } of steps) {
              now += wait
              const slot = Math.floor(now / 1_000)
              deposits(budget, count, now)
              for (let deposit = 0; deposit < count; deposit++) book.push({ slot, tenths })
              const balance = book.reduce(
                (sum, entry) => entry.slot > slot - 10 ? sum + entry.tenths : sum,
                perTenSeconds * 10
              )
              const may = budget.withdraw(now)
              assert.strictEqual(may, balance >= 10, `at ${now}`)
              if (may) book.push({ slot, tenths: -10 })
            }
          }
        ),
        { numRuns: 500 }
      )
    })
  })

  describe("and retries", () => {
    /** Makes tools that count their attempts. */
    const counted = () => {
      const attempts = { succeeding: 0, failing: 0 }
      const succeeding = doing(Effect.suspend(() => {
        attempts.succeeding++
        return sunny
      })).pipe(Tool.retry(RetryPolicy.transient))
      const failing = doing(Effect.suspend(() => {
        attempts.failing++
        return Effect.fail(refused)
      })).pipe(Tool.retry(RetryPolicy.transient))
      return { attempts, failing, succeeding }
    }

    const outage = Effect.gen(function*() {
      const { attempts, failing, succeeding } = counted()
      yield* Effect.replicateEffect(succeeding.run(paris), 100, { discard: true })
      yield* passing(
        Effect.forEach(Array.from({ length: 1_000 }), () => Effect.flip(failing.run(paris)), {
          concurrency: "unbounded",
          discard: true
        })
      )
      return attempts
    })

    it.effect("an outage does not multiply load", () =>
      Effect.gen(function*() {
        const budgeted = yield* Effect.provide(outage, RetryBudget.layer({ ratio: 0.2, minPerSecond: 0 }))
        assert.deepStrictEqual(budgeted, { succeeding: 100, failing: 1_020 })
        const reserved = yield* Effect.provide(outage, RetryBudget.layer({ ratio: 0, minPerSecond: 3 }))
        assert.deepStrictEqual(reserved, { succeeding: 100, failing: 1_030 })
      }))

    it.effect("without a budget all failures are retried", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* outage, { succeeding: 100, failing: 3_000 })
      }))

    it.effect("gives up at once with the unchanged failure", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const failing = tool([Effect.fail(refused)]).pipe(Tool.retry(Schedule.spaced("1 second")))
        const budget = RetryBudget.make({ ratio: 0, minPerSecond: 0.2 })
        assert.deepStrictEqual(yield* Effect.provideService(play(failing), RetryBudget.current, budget), [
          "0 attempt 1",
          "retry handles connection",
          "waits 1000",
          "1000 attempt 2",
          "retry handles connection",
          "waits 1000",
          "2000 attempt 3",
          "2000 => connection"
        ])
      }))

    it.effect("pays only for retries: not for failures without a retry, nor for a wait that never starts", () =>
      Effect.gen(function*() {
        const budget = RetryBudget.make({ ratio: 0, minPerSecond: 0.1 })
        const within = Effect.provideService(RetryBudget.current, budget)
        yield* Effect.flip(within(doing(Effect.fail(disabled)).pipe(Tool.retry(once)).run(paris)))
        yield* Effect.flip(within(doing(Effect.fail(refused), "non_idempotent").pipe(Tool.retry(once)).run(paris)))
        yield* Effect.flip(within(doing(Effect.fail(refused)).pipe(Tool.retry(RetryPolicy.none)).run(paris)))
        const late = doing(Effect.fail(refused)).pipe(Tool.retry(Schedule.spaced("1 hour")), Tool.timeout("1 second"))
        yield* Effect.flip(within(late.run(paris)))
        assert.isTrue(budget.withdraw(0))
        assert.isFalse(budget.withdraw(0))
      }))

    it.effect("is shared by all tools and all model calls", () =>
      Effect.gen(function*() {
        let asked = 0
        const down = new ModelFailure({ code: "server_error", detail: "Busy.", transient: true })
        const model = Model.retry(
          Effect.suspend(() => {
            asked++
            return asked <= 4 ? Effect.succeed("reply") : Effect.fail(down)
          }),
          Schedule.recurs(5)
        )
        let attempts = 0
        const failing = (name: string) =>
          doing(
            Effect.suspend(() => {
              attempts++
              return Effect.fail(refused)
            }),
            "none",
            name
          ).pipe(Tool.retry(Schedule.recurs(1)))
        yield* Effect.gen(function*() {
          yield* Effect.replicateEffect(model, 4, { discard: true })
          yield* Effect.replicateEffect(doing(sunny).pipe(Tool.retry(once)).run(paris), 2, { discard: true })
          // 6 successes grant 3 retries: one for each of two tools and one for the model. None is left for
          // a third tool.
          yield* Effect.exit(failing("one").run(paris))
          yield* Effect.exit(failing("two").run(paris))
          assert.strictEqual((yield* Effect.flip(model)).attempts, 2)
          yield* Effect.exit(failing("three").run(paris))
        }).pipe(Effect.provide(RetryBudget.layer(none)))
        assert.deepStrictEqual([asked, attempts], [6, 5])
      }))

    it.effect("counts a success once, however many retries are around it", () =>
      Effect.gen(function*() {
        const budget = RetryBudget.make({ ratio: 1, minPerSecond: 0 })
        const twice = doing(sunny).pipe(Tool.retry(once), Tool.timeout("1 minute"), Tool.retry(once))
        yield* Effect.provideService(twice.run(paris), RetryBudget.current, budget)
        assert.strictEqual(retriesLeft(budget, 0), 1)
      }))

    it.effect("refills by the clock of the program", () =>
      Effect.gen(function*() {
        const budget = RetryBudget.make(none)
        const within = Effect.provideService(RetryBudget.current, budget)
        const succeeding = doing(sunny).pipe(Tool.retry(once))
        yield* within(Effect.andThen(succeeding.run(paris), succeeding.run(paris)))
        yield* TestClock.adjust("10 seconds")
        const { play, tool } = new Sequence()
        assert.deepStrictEqual(yield* within(play(tool([Effect.fail(refused)]).pipe(Tool.retry(once)))), [
          "10000 attempt 1",
          "10000 => connection"
        ])
      }))

    it.effect("is created where the layer is provided, and shared by all programs below", () =>
      Effect.gen(function*() {
        const layer = RetryBudget.layer({ ratio: 0, minPerSecond: 0.1 })
        const take = Effect.flatMap(RetryBudget.current, (budget) => Effect.succeed(budget?.withdraw(0)))
        assert.deepStrictEqual(yield* Effect.provide(Effect.all([take, take]), layer), [true, false])
        assert.isTrue(yield* Effect.provide(take, layer))
        assert.isUndefined(yield* take)
      }))
  })
})
