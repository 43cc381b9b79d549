/**
 * What a tool's author says of its results in the definition: what an empty one means, how pages go on, how old it may be, what always holds
 * of it, and which parameter asks for less.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Defect,
  Dispatch,
  Guard,
  PartialData,
  Policy,
  Rendering,
  RetryPolicy,
  type SideEffect,
  Tool,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Cause, DateTime, Effect, Exit, Fiber, Logger, Option, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import type { Untyped } from "../support/nonsense.ts"
import { passing } from "../support/virtualTime.ts"

const Orders = Schema.Struct({
  orders: Schema.Array(Schema.String),
  total: Schema.Int,
  more: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.Boolean, Schema.String, Schema.Finite]))),
  at: Schema.optionalKey(Schema.String)
})
type Orders = typeof Orders.Type

const parameters = Schema.Struct({
  name: Schema.String,
  page: Schema.optionalKey(Schema.Int),
  cursor: Schema.optionalKey(Schema.String),
  limit: Schema.optionalKey(Schema.Int)
})
type Params = typeof parameters.Type

const ada: Params = { name: "ada" }
const none: Orders = { orders: [], total: 0 }
const one: Orders = { orders: ["7"], total: 1 }

const base = { description: "Orders", parameters, success: Orders, sideEffect: "none" } as const

/** A tool that answers so, and says so of its answers. */
const saying = (words: Tool.Contract<Orders, Params>, answer: Orders | ((params: Params) => Orders)) =>
  Tool.make(
    "search_orders",
    { ...base, ...words },
    (params) => Effect.succeed(typeof answer === "function" ? answer(params) : answer)
  )

const failureOf = <A, E extends ToolFailure.ToolFailure>(run: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(run), (failure): Readonly<Record<string, unknown>> => ({ ...failure }))

const call = (args: object = ada) => ({ id: "1", name: "search_orders", arguments: JSON.stringify(args) })

const outcomeOf = (tool: Tool.Any, args?: object) =>
  Dispatch.call(Toolkit.make(tool as Tool.Tool<string, Params, Orders>), call(args))

const told = (tool: Tool.Any, args?: object) =>
  Effect.map(outcomeOf(tool, args), (outcome) => JSON.parse(Rendering.json(outcome, call())))

describe("empty", () => {
  const emptiness: ReadonlyArray<readonly [what: string, value: unknown, isEmpty: boolean]> = [
    ["undefined", undefined, true],
    ["null", null, true],
    ["an empty text", "", true],
    ["a text", " ", false],
    ["zero", 0, false],
    ["false", false, false],
    ["an empty list", [], true],
    ["a list", [undefined], false],
    ["an object without fields", {}, true],
    ["one without a prototype", Object.create(null), true],
    ["an object with fields", { total: 0 }, false],
    ["an object whose list is empty", { orders: [], total: 0 }, true],
    ["one of whose lists one is not", { orders: [], users: ["ada"] }, false],
    ["an object whose lists are all empty", { orders: [], users: [], page: 1, more: false, next: null }, true],
    ["an object with an empty list and a time", { orders: [], at: "2026-11-22T10:30:00.000+01:00" }, true],
    ["one with a day", { orders: [], day: "2026-11-22" }, true],
    ["one with a date of its own", { orders: [], at: new Date(0), now: DateTime.makeUnsafe(0) }, true],
    ["one with a text that begins like a time", { orders: [], id: "2026-11-22-7" }, false],
    ["one that counts something", { orders: [], total: 2 }, false],
    ["one that names what has the list", { name: "Ada", tags: [] }, false],
    ["an empty map", new Map(), true],
    ["a map", new Map([[1, 2]]), false],
    ["an empty set", new Set(), true],
    ["no option", Option.none(), true],
    ["an option of an empty list", Option.some([]), false],
    ["a date", new Date(0), false]
  ]
  for (const [what, value, isEmpty] of emptiness) {
    it.effect(`takes ${what} for ${isEmpty ? "empty" : "a result"}`, () =>
      Effect.gen(function*() {
        const tool = Tool.make(
          "t",
          { description: "", success: Schema.Unknown, sideEffect: "none", empty: "There is none." },
          () => Effect.succeed(value)
        )
        const exit = yield* Effect.exit(tool.run({}))
        assert.strictEqual(Exit.isFailure(exit), isEmpty)
      }))
  }

  it.effect("says what it means, with what helps", () =>
    Effect.gen(function*() {
      const plain = { _tag: "SemanticGarbage", code: "empty_result", detail: "No orders match.", alternatives: [] }
      assert.deepStrictEqual(yield* failureOf(saying({ empty: plain.detail }, none).run(ada)), plain)
      const more = { detail: plain.detail, hint: "Try a shorter name.", alternatives: ["Ada L."] }
      assert.deepStrictEqual(yield* failureOf(saying({ empty: more }, none).run(ada)), { ...plain, ...more })
    }))

  it.effect("goes by a function of the result and the parameters, where there is one", () =>
    Effect.gen(function*() {
      const when = ({ total }: Orders, { limit = 1 }: Params) => total < limit
      const tool = saying({ empty: { when, detail: "Too few." } }, one)
      assert.strictEqual(yield* tool.run({ ...ada, limit: 1 }), one)
      assert.strictEqual((yield* failureOf(tool.run({ ...ada, limit: 2 })))["detail"], "Too few.")
    }))
})

describe("invariants", () => {
  it.effect("let a result through of which all hold, and name the first that does not", () =>
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

  it.effect("are told of to whoever reads the log", () =>
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

  it.effect("come before pages, and those before what an empty result means", () =>
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

describe("a function of a definition that is at fault", () => {
  const cause = new Error("Cannot read properties of undefined")
  const throwing = (): never => {
    throw cause
  }
  const rejected = () => Promise.reject(new Error("rejected"))
  const cases: ReadonlyArray<readonly [whose: string, words: Untyped]> = [
    ["The invariant 'it is so' of 'search_orders'", (f: Untyped) => ({ invariants: { "it is so": f } })],
    ["The 'empty' of 'search_orders'", (f: Untyped) => ({ empty: { when: f, detail: "None." } })],
    ["The 'pages' of 'search_orders'", (f: Untyped) => ({ pages: f })],
    ["The 'asOf' of 'search_orders'", (f: Untyped) => ({ asOf: f, freshness: "1 hour" })]
  ]
  const defectOf = (words: Untyped) =>
    Effect.map(Effect.exit(saying(words, one).run(ada)), (exit) => {
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      return Exit.isFailure(exit) ? Cause.squash(exit.cause) as Error : assert.fail("succeeded")
    })

  for (const [whose, words] of cases) {
    it.effect(`is a defect that says whose it is: ${whose}`, () =>
      Effect.gen(function*() {
        const thrown = yield* defectOf(words(throwing))
        assert.deepStrictEqual([thrown.message, thrown.cause], [`${whose} threw.`, cause])
        const promised = yield* defectOf(words(rejected))
        assert.strictEqual(promised.message, `${whose} returned a promise, and it must answer at once.`)
        assert.instanceOf(promised, TypeError)
      }))
  }

  it.effect("also where it answers neither yes nor no, or what is not a page", () =>
    Effect.gen(function*() {
      const forgetful = yield* defectOf({ invariants: { "it is so": () => undefined } })
      assert.strictEqual(
        forgetful.message,
        "The invariant 'it is so' of 'search_orders' returned nothing: return true or false."
      )
      const wrong = yield* defectOf({ pages: () => 2 })
      assert.include(wrong.message, "The 'pages' of 'search_orders' returned a number: return an object, or undefined.")
    }))

  it.effect("loses no answer that comes just in time, whoever it is reported to", () =>
    Effect.gen(function*() {
      const tool = Tool.make("pay", {
        ...base,
        sideEffect: "non_idempotent",
        invariants: { "it holds": throwing }
      }, () => Effect.delay(Effect.succeed(one), 9_500)).pipe(Tool.timeout("10 seconds"))
      const fiber = yield* Effect.forkChild(
        Dispatch.call(Toolkit.make(tool), { id: "1", name: "pay", arguments: JSON.stringify(ada) }).pipe(
          Effect.provideService(Defect.reporter, () => Effect.never)
        )
      )
      yield* TestClock.adjust("1 minute")
      assert.deepInclude(yield* Fiber.join(fiber), { _tag: "Completed", value: one })
    }))

  it.effect("is a fault of a tool that reads, for the model", () =>
    Effect.gen(function*() {
      const read = yield* told(saying({ empty: { when: throwing, detail: "Nothing." } }, one))
      assert.deepInclude(read, { ok: false, code: "defect" })
      assert.notInclude(JSON.stringify(read), "undefined")
    }))

  for (const [whose, words] of cases) {
    it.effect(`loses no answer of a tool that acts, and is reported: ${whose}`, () =>
      Effect.gen(function*() {
        // What acts has no pages.
        const sideEffect = whose.includes("pages") ? "idempotent" : "non_idempotent"
        const reports: Array<string> = []
        const tool = Tool.make(
          "search_orders",
          { ...base, sideEffect, ...words(throwing) },
          () => Effect.succeed(one)
        )
        const read = yield* Effect.provideService(told(tool), Defect.reporter, (message, cause) =>
          Effect.sync(() =>
            void reports.push(`${message}: ${(Cause.squash(cause) as Error).message}`)
          ))
        assert.deepStrictEqual(read, { value: one, notes: ["This result could not be checked"] })
        assert.deepStrictEqual(reports, [`The definition of search_orders could not check a result: ${whose} threw.`])
      }))
  }
})

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
    it.effect(`goes on after ${what}`, () =>
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

  it.effect("go on after what an Option holds, and are told of also where nobody knows how", () =>
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

  it.effect("of a list are full by the list itself, and by its only list", () =>
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

  it.effect("go on by a function for all else", () =>
    Effect.gen(function*() {
      const tool = saying({
        pages: ({ orders, total }, { page = 1 }) =>
          orders.length < total
            ? { coverage: { have: orders.length, of: total, unit: "orders" }, next: { page: page + 1 } }
            : undefined
      }, ({ page = 1 }) => page === 1 ? { orders: ["1"], total: 2 } : { orders: ["1", "2"], total: 2 })
      assert.deepInclude(yield* failureOf(tool.run(ada)), { detail: "This is 1 of 2 orders.", next: { page: 2 } })
      assert.deepStrictEqual(yield* tool.run({ ...ada, page: 2 }), { orders: ["1", "2"], total: 2 })
    }))

  it.effect("tell the model how to go on, in arguments that it can send", () =>
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

  it.effect("keep a secret among the arguments, and name the one that changes", () =>
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

  it.effect("call arguments as the model does, and leave out what cannot be told without a secret", () =>
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

  it.effect("name the argument that changes where the others cannot be written as JSON", () =>
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

describe("freshness", () => {
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

  it.effect("says so where a time cannot be read, and nothing where there is none", () =>
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

  it.effect("loses no value, and goes by the clock of the fiber", () =>
    Effect.gen(function*() {
      const { caveats, exit } = yield* Effect.andThen(TestClock.setTime(now), Tool.outcome(aged(iso(3 * hour)), ada))
      assert.deepStrictEqual(exit, Exit.succeed({ ...one, at: iso(3 * hour) }))
      assert.deepStrictEqual(caveats, ["The data is 3h old; it should be at most 1h old."])
    }))

  it.effect("is told of a page, and once of a result of many", () =>
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

  it.effect("is told of an empty result, with a full stop between", () =>
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

  it.effect("is that of the answer that is given, and not of an attempt before it", () =>
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

describe("a tool that acts, and whose result is found wanting", () => {
  type Pay = Tool.Tool<string, Params, Orders, ToolFailure.ToolFailure<Orders>>

  const words: ReadonlyArray<readonly [what: string, words: Tool.Contract<Orders, Params>, code: string]> = [
    ["is empty", { empty: "No receipt." }, "empty_result"],
    ["is not right", { invariants: { "there is a receipt": ({ orders }) => orders.length > 0 } }, "invariant_broken"]
  ]

  const again = Policy.make({
    kind: "custom",
    name: "again",
    description: "tries again, whatever happened",
    wrap: (run) => (params) => Effect.retry(run(params), { times: 2 })
  })
  const besides = Policy.make({
    kind: "custom",
    name: "besides",
    description: "runs it twice at once",
    wrap: (run) => (params) => Effect.catch(run(params), () => run(params))
  })
  const unavailable = (failure: ToolFailure.ToolFailure) =>
    new ToolUnavailable({ code: "connection", detail: failure.detail, transient: true, outcome: "not_executed" })

  const policies: Readonly<Record<string, (tool: Pay) => Tool.Any>> = {
    "no policy": (tool) => tool,
    "a retry": (tool) => tool.pipe(Tool.retry(RetryPolicy.transient)),
    "a retry of what is called unavailable": (tool) =>
      tool.pipe(Tool.mapFailure(unavailable), Tool.retry(Schedule.recurs(2))),
    "a timeout and a retry": (tool) => tool.pipe(Tool.timeout("5 seconds"), Tool.retry(RetryPolicy.transient)),
    "a fix": (tool) => Tool.fix(tool, () => ({ name: "grace" })),
    "a custom policy": (tool) => tool.pipe(Tool.with(again)),
    "another custom policy": (tool) => tool.pipe(Tool.with(besides)),
    "a fallback": (tool) => Tool.fallback(tool, () => Effect.succeed(one)),
    "a reconcile, and a retry": (tool) =>
      Tool.retry(Tool.reconcile(tool, () => Effect.succeedNone, { final: true }), RetryPolicy.transient),
    "a catch that fails as if nothing had been done, and a retry": (tool) =>
      tool.pipe(
        Tool.catchTag(["SemanticGarbage", "SchemaMismatch"], (failure) => Effect.fail(unavailable(failure))),
        Tool.retry(Schedule.recurs(2))
      )
  }

  for (const [what, word, code] of words) {
    for (const [how, around] of Object.entries(policies)) {
      it.effect(`runs once, and is known to have taken effect, where it ${what}, under ${how}`, () =>
        Effect.gen(function*() {
          let runs = 0
          const pay: Pay = Tool.make(
            "search_orders",
            { ...base, sideEffect: "non_idempotent", ...word },
            () =>
              Effect.sync(() => {
                runs++
                return none
              })
          )
          const tool = around(pay)
          const outcome = yield* passing(outcomeOf(tool))
          if (outcome._tag !== "Failed") return assert.fail(outcome._tag)
          assert.deepStrictEqual([runs, outcome.executions ?? outcome.attempts, outcome.certainty], [1, 1, "executed"])
          const { retry } = JSON.parse(Rendering.json(outcome, call()))
          assert.strictEqual(retry, "Do not repeat this call: it has already taken effect.")
          assert.include(Rendering.prose(outcome, call()), retry)

          const account = yield* passing(Tool.outcome(tool as Pay, ada))
          assert.deepStrictEqual([runs, account.certainty, Exit.isFailure(account.exit)], [2, "executed", true])
          if (how === "no policy") assert.strictEqual(outcome.failure.code, code)
        }))
    }

    it.effect(`is not run again when the model repeats the call, where it ${what}`, () =>
      Effect.gen(function*() {
        let runs = 0
        const pay = Tool.make("search_orders", { ...base, sideEffect: "non_idempotent", ...word }, () =>
          Effect.sync(() => {
            runs++
            return none
          }))
        const script = [
          ScriptedModel.call("search_orders", ada),
          ScriptedModel.call("search_orders", ada),
          ScriptedModel.text("Done.")
        ]
        const answer = yield* Agent.make({ toolkit: Toolkit.make(pay) }).run("Pay.").pipe(
          Effect.provide(ScriptedModel.layer(script))
        )
        assert.deepStrictEqual([answer.text, runs], ["Done.", 1])
      }))
  }

  for (const sideEffect of ["none", "non_idempotent"] as const) {
    it.effect(`is known to the tool that runs it, which has the side effect "${sideEffect}"`, () =>
      Effect.gen(function*() {
        let runs = 0
        const inner = Tool.make(
          "pay",
          { ...base, sideEffect: "non_idempotent", empty: "No receipt." },
          () =>
            Effect.sync(() => {
              runs++
              return none
            })
        )
        const outer = Tool.make("search_orders", { ...base, sideEffect }, () => inner.run(ada)).pipe(
          Tool.mapFailure(unavailable),
          Tool.retry(Schedule.recurs(2))
        )
        const outcome = yield* passing(outcomeOf(outer))
        assert.deepStrictEqual([outcome._tag, outcome.certainty, runs], ["Failed", "executed", 1])
      }))
  }

  it("has no pages, for each of which it would be called", () => {
    assert.throws(
      () =>
        Tool.make(
          "search_orders",
          { ...base, sideEffect: "non_idempotent", pages: { more: "more", next: "page" } },
          () => Effect.succeed(one)
        ),
      "A tool with 'pages' must be read-only or idempotent"
    )
  })
})

describe("a tool that only reads, and whose result is found wanting", () => {
  it.effect("is not tried again by a retry", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = saying({ empty: "None." }, () => {
        runs++
        return none
      }).pipe(Tool.retry(Schedule.recurs(3)), Tool.timeout("1 second"))
      const read = yield* told(tool)
      assert.deepInclude(read, { code: "empty_result", detail: "None." })
      assert.strictEqual(runs, 1)
    }))

  it.effect("is answered for by what handles it", () =>
    Effect.gen(function*() {
      const tool = saying({ empty: "None." }, none).pipe(Tool.catchTag("SemanticGarbage", () => Effect.succeed(one)))
      assert.strictEqual(yield* tool.run(ada), one)
    }))

  it.effect("is not looked at where its handler fails by itself", () =>
    Effect.gen(function*() {
      const part = new PartialData({ code: "cut", detail: "Cut.", data: none })
      const tool = Tool.make("t", { ...base, empty: "None." }, () => Effect.fail(part))
      assert.strictEqual(yield* Effect.flip(tool.run(ada)), part)
    }))
})

describe("size", () => {
  const short = Schema.Struct({ orders: Schema.Array(Schema.String) })
  const body = "{\"orders\":[\"7\",\"8"
  const cut = (words: { readonly size?: "limit" }, sideEffect: SideEffect.SideEffect = "none") =>
    Tool.make(
      "search_orders",
      { ...base, sideEffect, success: short, ...words },
      () => Effect.succeed(body).pipe(Guard.json(short))
    )
  const hanging = (words: { readonly size?: "limit"; readonly instead?: ReadonlyArray<string> }) =>
    Tool.make("search_orders", { ...base, ...words }, () => Effect.never).pipe(Tool.timeout("5 seconds"))
  const mirror = Tool.make("mirror", base, () => Effect.succeed(one))

  it.effect("tells the model by which parameter to ask for less of what came cut off", () =>
    Effect.gen(function*() {
      assert.deepInclude(yield* told(cut({ size: "limit" })), {
        code: "truncated",
        hint: "Call it again with a smaller 'limit'.",
        retry:
          "Do not repeat this call with the same arguments: its result was cut off. Ask for less, or tell the user what is missing."
      })
    }))

  it.effect("tells it so of what did not come in time, in a hint and a retry that agree", () =>
    Effect.gen(function*() {
      const { failure, ...outcome } = yield* passing(Effect.map(outcomeOf(hanging({ size: "limit" })), (outcome) =>
        outcome._tag === "Failed" ? outcome : assert.fail(outcome._tag)))
      const hint = "Call it again with a smaller 'limit'."
      const retry = "Already tried once. Do not repeat this call with the same arguments."
      assert.deepInclude(JSON.parse(Rendering.json({ ...outcome, failure }, call())), { code: "timeout", hint, retry })
      assert.strictEqual(
        Rendering.prose({ ...outcome, failure }, call()),
        `search_orders failed (timeout): search_orders did not answer within 5s. ${hint} ${retry}`
      )
    }))

  it.effect("is not guessed from a parameter's name", () =>
    Effect.gen(function*() {
      const read = yield* passing(told(hanging({})))
      assert.notProperty(read, "hint")
      assert.strictEqual(
        read.retry,
        "Already tried once. Do not call it again now; use another tool, or answer without it."
      )
      assert.notProperty(yield* told(cut({})), "hint")
    }))

  it.effect("stands beside a tool that serves instead", () =>
    Effect.gen(function*() {
      const tool = hanging({ size: "limit", instead: ["mirror"] })
      const outcome = yield* passing(Dispatch.call(Toolkit.make(tool, mirror), call()))
      assert.deepInclude(JSON.parse(Rendering.json(outcome, call())), {
        hint: "Call it again with a smaller 'limit', or call mirror instead."
      })
    }))

  it.effect("says nothing of a tool that acts, and nothing of one that was not run", () =>
    Effect.gen(function*() {
      assert.notInclude(JSON.stringify(yield* told(cut({ size: "limit" }, "non_idempotent"))), "smaller")
      const late = yield* passing(told(hanging({ size: "limit" }).pipe(Tool.timeout("1 millis"), Tool.concurrency(1))))
      assert.include(late.hint, "smaller")
      const refused = Tool.make("search_orders", { ...base, size: "limit" }, () =>
        Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })))
      assert.notInclude(JSON.stringify(yield* told(refused)), "smaller")
    }))
})

describe("a definition that is not of its type", () => {
  const cases: ReadonlyArray<readonly [words: Untyped, message: string]> = [
    [{ empty: " " }, "A tool's 'empty' is a sentence, or an object with a 'detail'; got \" \"."],
    [{ empty: 7 }, "A tool's 'empty' is a sentence, or an object with a 'detail'; got 7."],
    [
      { empty: { hint: "Ask." } },
      "A tool's 'empty' is a sentence, or an object with a 'detail'; got {\"hint\":\"Ask.\"}."
    ],
    [{ empty: { detail: "", alternatives: "ada" } }, "A tool's 'empty' is a sentence"],
    [{ empty: { detail: "", when: true } }, "A tool's 'empty' is a sentence"],
    [{ empty: () => "None." }, "A tool's 'empty' is a sentence, or an object with a 'detail'; got a function."],
    [
      { invariants: { "it is so": true } },
      "A tool's 'invariants' are functions, each by its sentence; got {\"it is so\":true}."
    ],
    [{ invariants: [() => true] }, "A tool's 'invariants' are functions"],
    [
      { pages: "page" },
      "A tool's 'pages' are a function, or an object with 'next', and with 'more' or 'full'; got \"page\"."
    ],
    [
      { pages: { next: "page" } },
      "A tool's 'pages' are a function, or an object with 'next', and with 'more' or 'full'"
    ],
    [{ pages: { more: "more" } }, "A tool's 'pages' are a function, or an object with 'next'"],
    [{ pages: { more: "more", next: "pgae" } }, "The 'next' of a tool's pages is one of its parameters; got \"pgae\"."],
    [
      { pages: { more: "has_more", next: "page" } },
      "The 'more' of a tool's pages is a field of its result; got \"has_more\"."
    ],
    [{ pages: { full: 5, items: "order", next: "page" } }, "The 'items' of a tool's pages are a field of its result"],
    [
      { pages: { full: 0, next: "page" } },
      "The 'full' of a tool's pages is a number above zero, or one of its parameters; got 0."
    ],
    [{ pages: { full: "size", next: "page" } }, "The 'full' of a tool's pages is a number above zero"],
    [{ asOf: "at", freshness: "1 hour" }, "A tool's 'asOf' is a function; got \"at\"."],
    [{ asOf: () => 1 }, "A tool's 'asOf' and 'freshness' must be given together; got a function."],
    [
      { freshness: "1 hour" },
      "A tool's 'asOf' and 'freshness' must be given together; got \"1 hour\"."
    ],
    [{ asOf: () => 1, freshness: "soon" }, "A tool's 'freshness' is a duration above zero; got \"soon\"."],
    [{ asOf: () => 1, freshness: 0 }, "A tool's 'freshness' is a duration above zero; got 0."],
    [{ size: 5 }, "A tool's 'size' is one of its parameters; got 5."],
    [{ size: "size" }, "A tool's 'size' is one of its parameters; got \"size\"."]
  ]
  for (const [words, message] of cases) {
    it(`throws: ${message}`, () => {
      try {
        Tool.make("t", { ...base, ...words }, () => Effect.succeed(one))
      } catch (error) {
        assert.instanceOf(error, TypeError)
        return assert.include(error.message, message)
      }
      assert.fail("nothing was thrown")
    })
  }

  it("lets a name pass where the schema does not say its fields", () => {
    const any = Schema.Record(Schema.String, Schema.Unknown)
    const tool = Tool.make("t", {
      ...base,
      parameters: any,
      success: any,
      size: "limit",
      pages: { more: "more", next: "page" }
    }, () => Effect.succeed({}))
    assert.strictEqual(tool.size, "limit")
  })
})
