/** How a tool's definition declares further pages. */
import { assert, describe, it } from "@effect/vitest"
import { Tool } from "@fallible/core"
import { Effect, Exit, Option, Schema } from "effect"
import { ada, base, failureOf, one, type Orders, type Params, saying, told } from "../support/orders.ts"

describe("pages", () => {
  const byPage: Tool.Pages<Orders, Params> = { more: "more", next: "page" }
  const byCursor: Tool.Pages<Orders, Params> = { more: "more", next: "cursor" }
  const five = { orders: ["1", "2", "3", "4", "5"], total: 9 }

  const cases: ReadonlyArray<
    readonly [what: string, pages: Tool.Pages<Orders, Params>, answer: Orders, args: Params, next: unknown]
  > = [
    ["true, without a page: the second", byPage, { ...one, more: true }, ada, { name: "ada", page: 2 }],
    [
      "true: one page on, with all other arguments",
      byPage,
      { ...one, more: true },
      { name: "ada", page: 2, limit: 5 },
      { name: "ada", page: 3, limit: 5 }
    ],
    ["false: no more", byPage, { ...one, more: false }, ada, "whole"],
    ["null: no more", byPage, { ...one, more: null }, ada, "whole"],
    ["nothing: no more", byPage, one, ada, "whole"],
    ["a cursor", byCursor, { ...one, more: "c2" }, { ...ada, limit: 5 }, { name: "ada", limit: 5, cursor: "c2" }],
    ["a number as a cursor", byPage, { ...one, more: 30 }, ada, { name: "ada", page: 30 }],
    ["an empty cursor: no more", byCursor, { ...one, more: "" }, ada, "whole"],
    ["zero: no more", byPage, { ...one, more: 0 }, ada, "whole"],
    ["true, where a cursor goes on: nobody knows how", byCursor, { ...one, more: true }, ada, undefined],
    ["a cursor that is not one for the parameter", byPage, { ...one, more: "c2" }, ada, undefined],
    ["a page that is one item short", { next: "page", full: 6 }, five, ada, "whole"],
    ["a full page", { next: "page", full: 5 }, five, ada, { name: "ada", page: 2 }],
    ["a page that is more than full", { next: "page", full: 4 }, five, ada, { name: "ada", page: 2 }],
    ["a full page by the parameter", { next: "page", full: "limit" }, five, { ...ada, limit: 5 }, {
      name: "ada",
      limit: 5,
      page: 2
    }],
    ["one item short by the parameter", { next: "page", full: "limit" }, five, { ...ada, limit: 6 }, "whole"],
    ["a full page, and no word of its size", { next: "page", full: "limit" }, five, ada, "whole"],
    ["a full page of named items", { next: "page", full: 5, items: "orders" }, five, ada, { name: "ada", page: 2 }],
    ["a full page where a cursor goes on", { next: "cursor", full: 5 }, five, ada, undefined],
    ["a full page that says that there is no more", { ...byPage, full: 5 }, { ...five, more: false }, ada, "whole"],
    ["a full page with null for a cursor", { ...byCursor, full: 5 }, { ...five, more: null }, ada, "whole"],
    ["a full page that says nothing of it", { ...byPage, full: 5 }, five, ada, { name: "ada", page: 2 }]
  ]
  for (const [what, pages, answer, args, next] of cases) {
    it.effect(`continue after ${what}`, () =>
      Effect.gen(function*() {
        const exit = yield* Effect.exit(saying({ pages }, answer).run(args))
        if (next === "whole") return assert.deepStrictEqual(exit, Exit.succeed(answer))
        const failure = yield* failureOf(exit)
        const isSaid = answer.more !== undefined
        assert.deepStrictEqual(failure, {
          _tag: "PartialData",
          code: "more_pages",
          detail: isSaid ? "There are more pages." : "The page is full: there may be more.",
          data: answer,
          ...(next === undefined ? {} : { next })
        })
      }))
  }

  it.effect("continue after the value of an Option, and are reported even if the continuation is unknown", () =>
    Effect.gen(function*() {
      const next = (more: unknown) => {
        const success = Schema.Struct({ orders: Schema.Array(Schema.String), more: Schema.Unknown })
        const tool = Tool.make(
          "t",
          { ...base, success, pages: { more: "more", next: "cursor" } },
          () => Effect.succeed({ orders: [], more })
        )
        return Effect.match(tool.run(ada), {
          onSuccess: () => "whole",
          onFailure: (failure) => failure.next ?? failure.detail
        })
      }
      assert.deepStrictEqual(yield* next(Option.some("c2")), { name: "ada", cursor: "c2" })
      assert.strictEqual(yield* next(Option.none()), "whole")
      assert.strictEqual(yield* next({ href: "/orders?cursor=c2" }), "There are more pages.")
    }))

  it.effect("count as full by the length of the list, or of the only list in the result", () =>
    Effect.gen(function*() {
      const success = Schema.Array(Schema.String)
      const list = Tool.make("t", { ...base, success, pages: { next: "page", full: 2 } }, () =>
        Effect.succeed(["1", "2"]))
      assert.strictEqual((yield* failureOf(list.run(ada)))["_tag"], "PartialData")
      const two = Schema.Struct({ orders: success, users: success })
      const several = Tool.make("t", { ...base, success: two, pages: { next: "page", full: 2 } }, () =>
        Effect.succeed({ orders: ["1", "2"], users: ["1", "2"] }))
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(several.run(ada))))
    }))

  it.effect("continue by a function in all other cases", () =>
    Effect.gen(function*() {
      const tool = saying({
        pages: ({ orders, total }, { page = 1 }) =>
          orders.length < total
            ? { coverage: { have: orders.length, of: total, unit: "orders" }, next: { page: page + 1 } }
            : undefined
      }, ({ page = 1 }) => page === 1 ? { orders: ["1"], total: 2 } : { orders: ["1", "2"], total: 2 })
      assert.deepInclude(yield* failureOf(tool.run(ada)), {
        detail: "This is only part of the result: 1 of 2 orders.",
        next: { page: 2 }
      })
      assert.deepStrictEqual(yield* tool.run({ ...ada, page: 2 }), { orders: ["1", "2"], total: 2 })
    }))

  it.effect("tell the model how to continue, in arguments that it can send", () =>
    Effect.gen(function*() {
      const success = Schema.Struct({ names: Schema.Array(Schema.String), next: Schema.NullOr(Schema.Int) })
      const coded = Schema.Struct({ since: Schema.Date, from: Schema.optionalKey(Schema.FiniteFromString) })
      const tool = Tool.make(
        "search_orders",
        { ...base, parameters: coded, success, pages: { more: "next", next: "from" } },
        ({ from = 0 }) => Effect.succeed({ names: [`at ${from}`], next: from < 20 ? from + 10 : null })
      )
      const at = (from?: string) => ({ since: "2024-01-02T00:00:00.000Z", ...(from === undefined ? {} : { from }) })
      const first = yield* told(tool, at())
      assert.deepStrictEqual([first.data.names, first.next], [["at 0"], at("10")])
      assert.include(
        first.retry,
        "call search_orders again with since=\"2024-01-02T00:00:00.000Z\", from=\"10\" to continue."
      )
      const second = yield* told(tool, first.next)
      assert.deepStrictEqual([second.data.names, second.next], [["at 10"], at("20")])
      assert.deepStrictEqual(yield* told(tool, second.next), { names: ["at 20"], next: null })
    }))

  it.effect("hide secret arguments, and name the one that changes", () =>
    Effect.gen(function*() {
      const secret = Schema.Struct({
        token: Schema.RedactedFromValue(Schema.String),
        page: Schema.optionalKey(Schema.Int)
      })
      const tool = Tool.make(
        "search_orders",
        { ...base, parameters: secret, pages: { more: "more", next: "page" } },
        () => Effect.succeed({ ...one, more: true })
      )
      const read = yield* told(tool, { token: "s3cret", page: 2 })
      assert.deepStrictEqual(read.next, { page: 3 })
      assert.notInclude(JSON.stringify(read), "s3cret")
    }))

  it.effect("use the model's names of arguments, and omit advice that would reveal a secret", () =>
    Effect.gen(function*() {
      const renamed = Schema.Struct({ name: Schema.String, page: Schema.optionalKey(Schema.Int) }).pipe(
        Schema.encodeKeys({ page: "p" })
      )
      const pages = { more: "more", next: "page" } as const
      const tool = Tool.make(
        "search_orders",
        { ...base, parameters: renamed, pages },
        () => Effect.succeed({ ...one, more: true })
      )
      assert.deepStrictEqual((yield* told(tool, { name: "ada", p: 2 })).next, { name: "ada", p: 3 })
      const token = Schema.RedactedFromValue(Schema.String)
      const secret = Schema.Struct({ token, page: Schema.optionalKey(Schema.Int) }).pipe(
        Schema.encodeKeys({ page: "p" })
      )
      const other = Tool.make(
        "search_orders",
        { ...base, parameters: secret, pages },
        () => Effect.succeed({ ...one, more: true })
      )
      const read = yield* told(other, { token: "s3cret" })
      assert.strictEqual(read.code, "more_pages")
      assert.notProperty(read, "next")
    }))

  it.effect("name the argument that changes if the others cannot be written as JSON", () =>
    Effect.gen(function*() {
      class Name extends Schema.Class<Name>("Name")({ name: Schema.String, page: Schema.optionalKey(Schema.Int) }) {}
      const tool = Tool.make("t", { ...base, parameters: Name, pages: { more: "more", next: "page" } }, () =>
        Effect.succeed({ ...one, more: true }))
      assert.deepInclude(yield* failureOf(tool.run(new Name({ name: "ada" }))), { next: { page: 2 } })
    }))

  for (const [how, pages] of [["pages", byPage], ["full pages", { next: "page", full: 2 }]] as const) {
    it.effect(`are fetched by Tool.paginate, to the last: ${how}`, () =>
      Effect.gen(function*() {
        const asked: Array<Params> = []
        const tool = saying({ pages }, (params) => {
          asked.push(params)
          const page = params.page ?? 1
          const orders = page < 3 ? [`${page}a`, `${page}b`] : ["3a"]
          return { orders, total: 5, ...(how === "pages" ? { more: page < 3 } : {}) }
        }).pipe(Tool.paginate({ merge: (soFar, page) => ({ ...page, orders: [...soFar.orders, ...page.orders] }) }))
        const whole = yield* tool.run({ name: "ada", limit: 2 })
        assert.deepStrictEqual(whole.orders, ["1a", "1b", "2a", "2b", "3a"])
        assert.deepStrictEqual(asked, [
          { name: "ada", limit: 2 },
          { name: "ada", limit: 2, page: 2 },
          { name: "ada", limit: 2, page: 3 }
        ])
      }))
  }
})
