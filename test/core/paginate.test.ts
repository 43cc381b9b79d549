import { assert, describe, it } from "@effect/vitest"
import {
  Dispatch,
  Observer,
  PartialData,
  Policy,
  RetryPolicy,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as Deadline from "@fallible/core/Deadline"
import { Clock, Duration, Effect, Exit, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { lettered } from "../support/lettered.ts"
import { refused } from "../support/sequence.ts"

const Names = Schema.Array(Schema.String)
type Names = ReadonlyArray<string>
type Page = Effect.Effect<Names, PartialData<Names> | SemanticGarbage | ToolUnavailable>

const merge = (soFar: Names, page: Names): Names => [...soFar, ...page]

/** One page of many. */
const more = (data: Names, next?: Schema.JsonObject, fields: Partial<PartialData<Names>> = {}) =>
  Effect.fail(
    new PartialData<Names>({
      code: "more_pages",
      detail: "There is more.",
      data,
      ...(next === undefined ? {} : { next }),
      ...fields
    })
  )

/** Makes a paged tool from a function of the page number. */
const paged = (page: (number: number) => Page) =>
  Tool.make("users", {
    description: "Users",
    parameters: Schema.Struct({ page: Schema.Int }),
    success: Names,
    sideEffect: "none"
  }, ({ page: number }) => page(number))

/** Makes pages `["user 1"]`, `["user 2"]`, …, up to a number of pages. */
const counting =
  (pages: number, before: (number: number) => Effect.Effect<void> = () => Effect.void) => (number: number) =>
    Effect.andThen(
      before(number),
      number === pages ? Effect.succeed([`user ${number}`]) : more([`user ${number}`], { page: number + 1 })
    )

type Users = Tool.Tool<string, { readonly page: number }, Names, PartialData<Names> | SemanticGarbage | ToolUnavailable>

/** Runs a tool from its first page for an hour, and returns its end and the time of it. */
const play = (tool: Users, within: <A, E>(run: Effect.Effect<A, E>) => Effect.Effect<A, E> = (run) => run) =>
  Effect.gen(function*() {
    const start = yield* Clock.currentTimeMillis
    const fiber = yield* Effect.forkChild(
      Effect.exit(within(tool.run({ page: 1 }))).pipe(
        Effect.flatMap((exit) => Effect.map(Clock.currentTimeMillis, (now) => ({ exit, at: now - start })))
      )
    )
    yield* TestClock.adjust("1 hour")
    return yield* fiber.pollUnsafe() ?? assert.fail("no end")
  })

/** Like {@link play}, for a result that stays incomplete. */
const partial = (tool: Users, within?: <A, E>(run: Effect.Effect<A, E>) => Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const { at, exit } = yield* play(tool, within)
    const failure = yield* Effect.flip(exit)
    if (failure._tag !== "PartialData") return assert.fail(failure._tag)
    return { at, failure, ...failure }
  })

const outcomeOf = (tool: Tool.Any) =>
  Dispatch.call(Toolkit.make(tool) as Toolkit.Toolkit<Users>, { id: "1", name: tool.name, arguments: "{\"page\":1}" }, {
    idempotencyKey: "key"
  })

describe("F6 Tool.paginate", () => {
  it.effect("merges three pages in order", () =>
    Effect.gen(function*() {
      const complete = paged(counting(3)).pipe(Tool.paginate({ merge }))
      assert.deepStrictEqual(yield* complete.run({ page: 1 }), ["user 1", "user 2", "user 3"])
      assert.deepStrictEqual(yield* complete.run({ page: 3 }), ["user 3"])
      const dataFirst = Tool.paginate(paged(counting(3)), { merge, pages: 5 })
      assert.deepStrictEqual(yield* dataFirst.run({ page: 1 }), ["user 1", "user 2", "user 3"])
      assert.deepStrictEqual(dataFirst.policies.map(({ description, kind }) => [kind, description]), [
        ["paginate", "fetches up to 5 pages"]
      ])
    }))

  it.effect("does not change complete results, results without a continuation, and other failures", () =>
    Effect.gen(function*() {
      const wrong = new SemanticGarbage({ code: "unknown_entity", detail: "Unknown." })
      const cut = new PartialData({ code: "truncated", detail: "Cut.", data: ["user 1"] })
      for (const failure of [wrong, refused, cut]) {
        const tool = paged(() => Effect.fail<typeof failure>(failure)).pipe(Tool.paginate({ merge }))
        assert.strictEqual(yield* Effect.flip(tool.run({ page: 1 })), failure)
      }
      assert.deepStrictEqual(yield* Tool.paginate(paged(counting(1)), { merge }).run({ page: 1 }), ["user 1"])
    }))

  describe("continues", () => {
    const searched = (next: (page: number) => Schema.JsonObject) => {
      const asked: Array<unknown> = []
      const tool = Tool.make("search", {
        description: "",
        parameters: Schema.Struct({
          query: Schema.String,
          since: Schema.Date,
          page: Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.succeed(1)))
        }),
        success: Names,
        sideEffect: "none"
      }, (params) => {
        asked.push(params)
        return params.page === 3
          ? Effect.succeed(["user 3"])
          : more([`user ${params.page}`], next(params.page))
      }).pipe(Tool.paginate({ merge }))
      return { asked, tool }
    }
    const since = new Date("2026-01-01T00:00:00.000Z")
    const params = { query: "a", since, page: 1 }

    for (
      const [name, next] of [
        ["only those arguments that change", (page: number) => ({ page: page + 1 })],
        ["all of them", (page: number) => ({ query: "a", since: since.toISOString(), page: page + 1 })]
      ] as const
    ) {
      it.effect(`with ${name}, decoded like a model's arguments`, () =>
        Effect.gen(function*() {
          const { asked, tool } = searched(next)
          assert.deepStrictEqual(yield* tool.run(params), ["user 1", "user 2", "user 3"])
          assert.deepStrictEqual(asked, [params, { ...params, page: 2 }, { ...params, page: 3 }])
        }))
    }

    it.effect("with a cursor that was not in the first call", () =>
      Effect.gen(function*() {
        const tool = Tool.make("search", {
          description: "",
          parameters: Schema.Struct({ query: Schema.String, cursor: Schema.optionalKey(Schema.String) }),
          success: Names,
          sideEffect: "none"
        }, ({ cursor, query }) =>
          cursor === "c2"
            ? Effect.succeed([`${query} ${cursor}`])
            : more([query], { cursor: cursor === "c1" ? "c2" : "c1" })).pipe(Tool.paginate({ merge }))
        assert.deepStrictEqual(yield* tool.run({ query: "a" }), ["a", "a", "a c2"])
      }))
  })

  describe("keeps the pages so far, and gives the reason for the end:", () => {
    it.effect("at the limit of pages, the first among them", () =>
      Effect.gen(function*() {
        let runs = 0
        const tool = paged((number) => {
          runs++
          return counting(99)(number)
        })
        const { failure } = yield* partial(Tool.paginate(tool, { merge, pages: 3 }))
        assert.deepStrictEqual({ ...failure }, {
          _tag: "PartialData",
          code: "more_pages",
          detail: "3 pages: at most 3 pages are fetched at once.",
          data: ["user 1", "user 2", "user 3"],
          coverage: { have: 3, unit: "pages" },
          next: { page: 4 }
        })
        assert.strictEqual(runs, 3)
        assert.strictEqual((yield* partial(Tool.paginate(tool, { merge }))).data.length, 10)
        assert.deepStrictEqual(yield* Tool.paginate(paged(counting(3)), { merge, pages: 3 }).run({ page: 1 }), [
          "user 1",
          "user 2",
          "user 3"
        ])
      }))

    it.effect("when the time for further pages ends, exactly at the tick", () =>
      Effect.gen(function*() {
        const slow = paged(counting(3, (number) => Effect.sleep(number === 1 ? "1 minute" : "1 second")))
        const { at, exit } = yield* play(Tool.paginate(slow, { merge, time: 2_001 }))
        assert.deepStrictEqual([at, exit], [62_000, Exit.succeed(["user 1", "user 2", "user 3"])])
        const { detail, next, ...rest } = yield* partial(Tool.paginate(slow, { merge, time: 1_999 }))
        assert.strictEqual(rest.at, 61_999)
        assert.deepStrictEqual(rest.data, ["user 1", "user 2"])
        assert.deepStrictEqual([detail, next], ["2 pages: the time for it was up.", { page: 3 }])
      }))

    it.effect("30 seconds by default", () =>
      Effect.gen(function*() {
        const hanging = paged((number) => number === 1 ? counting(2)(1) : Effect.never)
        assert.strictEqual((yield* partial(Tool.paginate(hanging, { merge }))).at, 30_000)
      }))

    it.effect("when a page ignores the end of its time", () =>
      Effect.gen(function*() {
        const stubborn = paged((number) =>
          number === 1 ? counting(2)(1) : Effect.uninterruptible(Effect.delay(counting(2)(2), "1 minute"))
        )
        const { at, data } = yield* partial(Tool.paginate(stubborn, { merge, time: "1 second" }))
        assert.deepStrictEqual([at, data], [1_000, ["user 1"]])
      }))

    it.effect("after a number of bytes of JSON", () =>
      Effect.gen(function*() {
        const bytes = JSON.stringify(["user 1"]).length
        const tool = paged(counting(9))
        const pagesUnder = (bytes: number) =>
          Effect.map(partial(Tool.paginate(tool, { merge, bytes })), ({ data }) => data.length)
        assert.strictEqual(yield* pagesUnder(bytes), 1)
        assert.strictEqual(yield* pagesUnder(bytes + 1), 2)
        assert.strictEqual(yield* pagesUnder(2 * bytes), 2)
        const { detail } = yield* partial(Tool.paginate(tool, { merge, bytes: 5 }))
        assert.strictEqual(detail, "1 page: at most 5 bytes are fetched at once.")
      }))

    it.effect("when a page fails, with an entry in the report", () =>
      Effect.gen(function*() {
        const tool = Tool.paginate(paged((number) => number === 3 ? Effect.fail(refused) : counting(9)(number)), {
          merge
        })
        const { data, detail, next } = yield* partial(tool)
        assert.deepStrictEqual([data, detail, next], [["user 1", "user 2"], "2 pages: page 3 failed: Refused.", {
          page: 3
        }])
        assert.deepStrictEqual((yield* outcomeOf(tool)).handled, [
          { tag: "ToolUnavailable", code: "connection", detail: "Refused.", by: "paginate" }
        ])
      }))

    it.effect("when a page's own timeout ends it", () =>
      Effect.gen(function*() {
        const tool = paged((number) => number === 3 ? Effect.never : counting(9)(number)).pipe(
          Tool.timeout("5 seconds"),
          Tool.paginate({ merge })
        )
        const { at, data, detail } = yield* partial(tool)
        assert.strictEqual(at, 5_000)
        assert.deepStrictEqual(data, ["user 1", "user 2"])
        assert.strictEqual(detail, "2 pages: page 3 failed: users did not answer within 5s.")
      }))

    it.effect("when the same page would come again", () =>
      Effect.gen(function*() {
        for (const again of [1, 2]) {
          let runs = 0
          const tool = paged((number) => {
            runs++
            return number === 2 ? more(["user 2"], { page: again }) : counting(9)(number)
          })
          const { data, detail } = yield* partial(Tool.paginate(tool, { merge }))
          assert.deepStrictEqual(data, ["user 1", "user 2"])
          assert.strictEqual(detail, "2 pages: the next page was already fetched.")
          assert.strictEqual(runs, 2)
        }
      }))

    it.effect("when the arguments to continue with do not fit the parameters", () =>
      Effect.gen(function*() {
        for (const next of [{ page: "two" }, { page: null }, { cursor: "x" }]) {
          const { data, detail } = yield* partial(Tool.paginate(paged(() => more(["user 1"], next)), { merge }))
          assert.deepStrictEqual(data, ["user 1"])
          assert.strictEqual(detail, "1 page: the arguments for the next page do not fit the tool's parameters.")
        }
      }))

    it.effect("when a later page does not say how to continue", () =>
      Effect.gen(function*() {
        const tool = paged((number) => number === 2 ? more(["user 2"]) : counting(9)(number))
        const { failure } = yield* partial(Tool.paginate(tool, { merge }))
        assert.deepStrictEqual(failure.data, ["user 1", "user 2"])
        assert.strictEqual(failure.detail, "2 pages: the service does not say how to continue.")
        assert.isUndefined(failure.next)
      }))

    it.effect("a little before the deadline of the run, exactly at the tick", () =>
      Effect.gen(function*() {
        const complete = Tool.paginate(paged(counting(9, () => Effect.sleep("1 second"))), { merge })
        const late = yield* partial(complete, Deadline.within(4_099))
        assert.deepStrictEqual([late.at, late.data.length], [3_999, 3])
        assert.strictEqual(late.detail, "3 pages: the time for it was up.")
        const inTime = yield* partial(complete, Deadline.within(4_101))
        assert.deepStrictEqual([inTime.at, inTime.data.length], [4_001, 4])
        const ended = yield* partial(complete.pipe(Tool.timeout(4_101)))
        assert.deepStrictEqual([ended.at, ended.data.length], [4_001, 4])
      }))

    it.effect("without waiting for a retry that could not end in time", () =>
      Effect.gen(function*() {
        const busy = new ToolUnavailable({ ...refused, code: "rate_limited", retryAfter: Duration.seconds(20) })
        const tool = paged((number) => number === 2 ? Effect.fail(busy) : counting(9)(number)).pipe(
          Tool.retry(RetryPolicy.transient),
          Tool.paginate({ merge, time: "10 seconds" })
        )
        const { at, data, detail } = yield* partial(tool)
        assert.deepStrictEqual([at, data, detail], [0, ["user 1"], "1 page: page 2 failed: Refused."])
      }))
  })

  describe("reports its coverage", () => {
    it.effect("in pages, with the total if the pages state it", () =>
      Effect.gen(function*() {
        const of = (unit: string) =>
          Effect.map(
            partial(
              Tool.paginate(
                paged((number) =>
                  more([`user ${number}`], { page: number + 1 }, {
                    coverage: { have: number, of: 7, unit },
                    hint: `Go on with page ${number + 1}.`
                  })
                ),
                { merge, pages: 2 }
              )
            ),
            ({ coverage, detail, hint }) => ({ coverage, detail, hint })
          )
        assert.deepStrictEqual(yield* of("pages"), {
          coverage: { have: 2, of: 7, unit: "pages" },
          detail: "2 pages of 7: at most 2 pages are fetched at once.",
          hint: "Go on with page 3."
        })
        assert.deepStrictEqual((yield* of("users")).coverage, { have: 2, unit: "pages" })
      }))

    it.effect("in the tool's own terms", () =>
      Effect.gen(function*() {
        const { coverage } = yield* partial(
          Tool.paginate(paged(counting(9)), {
            merge,
            pages: 2,
            coverage: (soFar) => ({ have: soFar.length, of: 9, unit: "users" })
          })
        )
        assert.deepStrictEqual(coverage, { have: 2, of: 9, unit: "users" })
      }))
  })

  describe("in the outcome", () => {
    it.effect("each page has its own key, which is the call's for the first page, and the same for its retries", () =>
      Effect.gen(function*() {
        const keys: Array<string> = []
        const tool = paged((number) =>
          Effect.flatMap(ToolCall.current, ({ idempotencyKey }): Page => {
            const isFirst = !keys.includes(idempotencyKey)
            keys.push(idempotencyKey)
            return isFirst ? Effect.fail(refused) : counting(3)(number)
          })
        ).pipe(Tool.retry(Schedule.recurs(1)), Tool.paginate({ merge }))
        const outcome = yield* outcomeOf(tool)
        assert.deepInclude(outcome, { _tag: "Completed", value: ["user 1", "user 2", "user 3"], attempts: 6 })
        assert.strictEqual(keys[0], "key")
        assert.strictEqual(lettered(keys), "a a b b c c")
        assert.deepStrictEqual(outcome.handled.map(({ by, code }) => `${by} ${code}`), [
          "retry connection",
          "retry connection",
          "retry connection"
        ])
      }))

    it.effect("each page has as many retries as the first", () =>
      Effect.gen(function*() {
        let runs = 0
        const tool = paged((number) => {
          runs++
          return number === 2 ? Effect.fail(refused) : counting(3)(number)
        }).pipe(Tool.retry(Schedule.recurs(2)), Tool.paginate({ merge }))
        assert.deepStrictEqual((yield* partial(tool)).data, ["user 1"])
        assert.strictEqual(runs, 4)
      }))

    it.effect("there are the notes of every page", () =>
      Effect.gen(function*() {
        const tool = paged(counting(3, (number) => ToolCall.caveat(`page ${number} is of yesterday`)))
        const outcome = yield* outcomeOf(Tool.paginate(tool, { merge }))
        assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, [
          "page 1 is of yesterday",
          "page 2 is of yesterday",
          "page 3 is of yesterday"
        ])
      }))

    it.effect("there are no notes of a page whose data did not arrive", () =>
      Effect.gen(function*() {
        for (const end of [Effect.fail(refused), Effect.never]) {
          const tool = paged((number) =>
            number === 1 ? counting(2)(1) : Effect.andThen(ToolCall.caveat("of page 2"), end)
          ).pipe(
            Tool.paginate({ merge, time: "1 second" }),
            Tool.catchTag("PartialData", ({ data }) => Effect.as(ToolCall.caveat("not all"), data))
          )
          const fiber = yield* Effect.forkChild(outcomeOf(tool))
          yield* TestClock.adjust("1 minute")
          const outcome = yield* fiber.pollUnsafe() ?? assert.fail("no end")
          assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, ["not all"])
        }
      }))

    it.effect("a page that timed out adds no notes to a result without it", () =>
      Effect.gen(function*() {
        const noted: Array<string> = []
        const tool = paged((number) =>
          number === 1 ? counting(2)(1) : Effect.andThen(ToolCall.caveat("of page 2"), Effect.never)
        ).pipe(Tool.paginate({ merge, time: "1 second" }))
        yield* partial(
          tool,
          Observer.observe({ onEvent: (event) => event._tag === "CaveatAdded" && noted.push(event.text) })
        )
        assert.deepStrictEqual(noted, [])
      }))
  })

  it.effect("passes an error of merge on as a defect", () =>
    Effect.gen(function*() {
      const bug = new Error("bug")
      const throwing = () => {
        throw bug
      }
      for (const pages of [2, 3]) {
        const tool = Tool.paginate(paged(counting(pages)), { merge: throwing })
        assert.deepStrictEqual(yield* Effect.exit(tool.run({ page: 1 })), Exit.die(bug))
      }
    }))

  it.effect("follows thousands of pages at constant depth", () =>
    Effect.gen(function*() {
      const count = (pages: number) =>
        Tool.make("count", {
          description: "",
          parameters: Schema.Struct({ page: Schema.Int }),
          success: Schema.Int,
          sideEffect: "none"
        }, ({ page }) =>
          page === pages
            ? Effect.succeed(1)
            : Effect.fail(new PartialData({ code: "more_pages", detail: "", data: 1, next: { page: page + 1 } }))).pipe(
            Tool.paginate({ merge: (soFar, page) => soFar + page, pages })
          ).run({ page: 1 })
      assert.strictEqual(yield* count(3_000), 3_000)
    }))

  it.effect("takes an empty page after others as the end, also if an empty result is a failure", () =>
    Effect.gen(function*() {
      const users = Tool.make("users", {
        description: "",
        parameters: Schema.Struct({ page: Schema.Int }),
        success: Names,
        sideEffect: "none",
        empty: "There are no users."
      }, ({ page }) => page === 1 ? more(["ada"], { page: 2 }) : Effect.succeed([])).pipe(Tool.paginate({ merge }))
      assert.deepStrictEqual(yield* users.run({ page: 1 }), ["ada"])
      assert.strictEqual((yield* Effect.flip(users.run({ page: 2 }))).code, "empty_result")
    }))

  it("throws for a tool that acts, at once", () => {
    const acts = Tool.make("order", { description: "", success: Names }, () => Effect.succeed([]))
    assert.throws(() => Tool.paginate(acts, { merge }), TypeError, "The pages of order cannot be followed")
    assert.throws(
      () => Toolkit.make(acts).pipe(Toolkit.withDefaults([Policy.paginate({ merge })])),
      TypeError
    )
  })

  it("throws if the limit of pages is not a whole number of at least 2", () => {
    for (const pages of [1, 0, -1, 2.5, Number.NaN, Infinity]) {
      assert.throws(() => Policy.paginate({ merge, pages }), TypeError)
    }
  })
})
