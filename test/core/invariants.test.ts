/** Invariants of a tool's results, as its definition declares them. */
import { assert, describe, it } from "@effect/vitest"
import { Tool } from "@fallible/core"
import { Effect, Logger } from "effect"
import { ada, base, failureOf, none, one, type Orders, outcomeOf, type Params, saying } from "../support/orders.ts"

describe("F5 invariants", () => {
  it.effect("pass a result that satisfies all, and name the first broken one", () =>
    Effect.gen(function*() {
      const invariants = {
        "total is not negative": ({ total }: Orders) => total >= 0,
        "total is the number of orders": ({ orders, total }: Orders) => orders.length === total,
        "there are no more than were asked for.": ({ orders }: Orders, { limit = 9 }: Params) => orders.length <= limit
      }
      const answering = (answer: Orders) => saying({ invariants }, answer)
      assert.strictEqual(yield* answering(one).run(ada), one)
      assert.deepStrictEqual(yield* failureOf(answering({ orders: ["7"], total: 2 }).run({ ...ada, limit: 0 })), {
        _tag: "SchemaMismatch",
        side: "result",
        code: "invariant_broken",
        detail: "The result of search_orders is wrong: it breaks the rule 'total is the number of orders'.",
        issues: [],
        alternatives: []
      })
      assert.include(
        (yield* failureOf(answering(one).run({ ...ada, limit: 0 })))["detail"],
        "it breaks the rule 'there are no more than were asked for'."
      )
    }))

  it.effect("are logged when broken", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const logger = Logger.make(({ logLevel, message }) => {
        lines.push(`${logLevel}: ${String(message)}`)
      })
      const broken = saying({ invariants: { "there is an order": ({ orders }) => orders.length > 1 } }, one)
      yield* Effect.provide(outcomeOf(broken), Logger.layer([logger]))
      assert.deepStrictEqual(lines, [
        "Warn: The result of search_orders is wrong: it breaks the rule 'there is an order'."
      ])
    }))

  it.effect("are checked before pages, which are checked before emptiness", () =>
    Effect.gen(function*() {
      const words: Tool.Contract<Orders, Params> = {
        invariants: { "total is the number of orders": ({ orders, total }) => orders.length === total },
        empty: "None.",
        pages: { more: "more", next: "page" }
      }
      const codes = [{ ...none, total: 1, more: true }, { ...none, more: true }, none].map((answer) =>
        Effect.map(failureOf(saying(words, answer).run(ada)), (failure) => failure["code"])
      )
      assert.deepStrictEqual(yield* Effect.all(codes), ["invariant_broken", "more_pages", "empty_result"])
    }))

  it.effect("an empty last page ends a list that is not empty", () =>
    Effect.gen(function*() {
      const pages = { full: 1, next: "page" } as const
      const tool = saying({ empty: "None.", pages }, none)
      assert.strictEqual(yield* tool.run({ ...ada, page: 2 }), none)
      assert.strictEqual((yield* failureOf(tool.run({ ...ada, page: 1 })))["code"], "empty_result")
      const complete = Tool.make("search_orders", { ...base, empty: "None.", pages }, ({ page = 1 }) =>
        Effect.succeed(page < 3 ? one : none)).pipe(
          Tool.paginate({ merge: (soFar, page) => ({ ...soFar, orders: [...soFar.orders, ...page.orders] }) })
        )
      assert.deepStrictEqual((yield* complete.run(ada)).orders, ["7", "7"])
    }))
})
