/** The maximal age of results, as a tool's definition declares it. */
import { assert, describe, it } from "@effect/vitest"
import { Policy, Tool } from "@fallible/core"
import { DateTime, Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import { ada, base, one, type Orders, outcomeOf, type Params, saying, told } from "../support/orders.ts"

describe("F5 freshness", () => {
  const hour = 3_600_000
  const now = Date.UTC(2024, 0, 31, 12)
  const iso = (age: number) => new Date(now - age).toISOString()
  const fresh = { freshness: "1 hour" } as const
  const aged = (at: string, words: Tool.Contract<Orders, Params> = { asOf: ({ at }) => at, ...fresh }) =>
    saying(words, { ...one, at })
  const caveats = (tool: Tool.Any) =>
    Effect.andThen(
      TestClock.setTime(now),
      Effect.map(
        outcomeOf(tool),
        (outcome) => outcome._tag === "Completed" ? outcome.caveats : assert.fail(outcome._tag)
      )
    )

  const cases: ReadonlyArray<readonly [age: number, limit: string, told: string | undefined]> = [
    [hour, "1 hour", undefined],
    [hour + 1, "1 hour", "The data is 1h 1ms old; it should be at most 1h old."],
    [hour + 60_000, "1 hour", "The data is 1h 1m old; it should be at most 1h old."],
    [3 * hour + 720_000, "1 hour", "The data is 3h old; it should be at most 1h old."],
    [50 * hour, "1 hour", "The data is 2d old; it should be at most 1h old."],
    [1.75 * hour, "90 minutes", "The data is 1h 45m old; it should be at most 1h 30m old."],
    [0, "1 second", undefined],
    [-hour, "1 second", undefined]
  ]
  for (const [age, limit, told] of cases) {
    it.effect(`of ${limit}, ${age} ms old: ${told ?? "nothing is told"}`, () =>
      Effect.gen(function*() {
        const tool = saying({ asOf: ({ at }) => at, freshness: limit as "1 hour" }, { ...one, at: iso(age) })
        assert.deepStrictEqual(yield* caveats(tool), told === undefined ? [] : [told])
      }))
  }

  it.effect("reads a time in any form", () =>
    Effect.gen(function*() {
      const at = now - 3 * hour
      const forms = [
        at,
        new Date(at),
        DateTime.makeUnsafe(at),
        iso(3 * hour),
        "2024-01-31T10:00:00+01:00",
        "2024-01-31T09:00"
      ]
      for (const form of forms) {
        assert.deepStrictEqual(yield* caveats(aged("", { asOf: () => form, ...fresh })), [
          "The data is 3h old; it should be at most 1h old."
        ])
      }
    }))

  it.effect("reports an unreadable time, and nothing if there is none", () =>
    Effect.gen(function*() {
      for (const form of ["yesterday", Number.NaN, new Date("never"), ""]) {
        assert.deepStrictEqual(yield* caveats(aged("", { asOf: () => form, ...fresh })), [
          "The age of the data is unknown."
        ], String(form))
      }
      for (const form of [undefined, null]) {
        assert.deepStrictEqual(yield* caveats(aged("", { asOf: () => form, ...fresh })), [])
      }
    }))

  it.effect("does not change the value, and uses the clock of the fiber", () =>
    Effect.gen(function*() {
      const { caveats, exit } = yield* Effect.andThen(TestClock.setTime(now), Tool.outcome(aged(iso(3 * hour)), ada))
      assert.deepStrictEqual(exit, Exit.succeed({ ...one, at: iso(3 * hour) }))
      assert.deepStrictEqual(caveats, ["The data is 3h old; it should be at most 1h old."])
    }))

  it.effect("is reported for a page, and once for a result of many pages", () =>
    Effect.gen(function*() {
      const paged = saying(
        { asOf: ({ at }) => at, ...fresh, pages: { more: "more", next: "page" } },
        ({ page = 1 }) => ({ orders: [`${page}`], total: 3, at: iso(3 * hour), more: page < 3 })
      )
      yield* TestClock.setTime(now)
      assert.strictEqual(
        (yield* told(paged)).detail,
        "There are more pages. The data is 3h old; it should be at most 1h old."
      )
      const whole = paged.pipe(
        Tool.paginate({ merge: (soFar, page) => ({ ...page, orders: [...soFar.orders, ...page.orders] }) })
      )
      const outcome = yield* outcomeOf(whole)
      assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, [
        "The data is 3h old; it should be at most 1h old."
      ])
    }))

  it.effect("is reported for an empty result, with a full stop between", () =>
    Effect.gen(function*() {
      const words = { asOf: ({ at }: Orders) => at, ...fresh, empty: "No orders match this name." }
      yield* TestClock.setTime(now)
      assert.strictEqual(
        (yield* told(saying(words, { orders: [], total: 0, at: iso(3 * hour) }))).detail,
        "No orders match this name. The data is 3h old; it should be at most 1h old."
      )
      const bare = saying({ ...words, empty: "No orders" }, { orders: [], total: 0, at: iso(3 * hour) })
      assert.match((yield* told(bare)).detail, /^No orders\. The data is 3h old/)
    }))

  it.effect("is that of the returned answer, not of an earlier attempt", () =>
    Effect.gen(function*() {
      let attempts = 0
      const tool = Tool.make("search_orders", {
        ...base,
        asOf: ({ at }) => at,
        ...fresh,
        empty: "None."
      }, () => Effect.sync((): Orders => ++attempts === 1 ? { ...one, at: iso(3 * hour) } : { ...one, at: iso(0) }))
      const again = Policy.make({
        kind: "custom",
        name: "twice",
        description: "asks twice",
        wrap: (run) => (params) => Effect.andThen(run(params), run(params))
      })
      assert.deepStrictEqual(yield* caveats(tool.pipe(Tool.with(again))), [])
    }))
})
