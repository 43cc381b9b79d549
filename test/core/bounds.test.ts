import { assert, describe, it } from "@effect/vitest"
import { Policy, Tool } from "@fallible/core"
import * as Explanation from "@fallible/core/Explanation"
import { Duration, Effect, Schedule } from "effect"
import { adding, byHand, lines, quote, timely, twice } from "../support/explained.ts"

/** Returns the rows of the table, without the heading and the handler. */
const rows = <T extends Tool.Any>(tool: T) => {
  const table = lines(Explanation.table(Tool.explain(tool)))
  return table.slice(3, table.indexOf("")).map((row) => row.trim().replace(/ {2,}/g, " | "))
}

const reasons = <T extends Tool.Any>(tool: T) => {
  const { attempts, time, waiting } = Tool.explain(tool)
  return [attempts, waiting, time].map(({ because }) => because.join("; "))
}

describe("Tool.explain", () => {
  describe("knows the effect of each policy:", () => {
    it("a handler runs once, and may take forever", () => {
      const { attempts, time, waiting } = Tool.explain(quote())
      assert.deepStrictEqual({ attempts, time, waiting }, {
        attempts: { max: 1, because: [] },
        time: { max: Duration.infinity, because: ["the handler has no timeout"] },
        waiting: { max: Duration.zero, because: [] }
      })
    })

    it("timeout ends an attempt", () => {
      assert.deepStrictEqual(rows(timely()), ["timeout of 5s | 1 | 0ms | 5s"])
      assert.deepStrictEqual(rows(timely().pipe(Tool.timeout("2 seconds"), Tool.timeout("1 minute"))), [
        "timeout of 5s | 1 | 0ms | 5s",
        "timeout of 2s | 1 | 0ms | 2s",
        "timeout of 1m | 1 | 0ms | 2s"
      ])
      assert.deepStrictEqual(rows(quote().pipe(Tool.timeout(Duration.infinity))), [
        "timeout of Infinity | 1 | 0ms | unbounded"
      ])
    })

    it("retry multiplies the inner costs, and waits", () => {
      assert.deepStrictEqual(rows(timely().pipe(Tool.retry(twice), Tool.retry(Schedule.recurs(1)))), [
        "timeout of 5s | 1 | 0ms | 5s",
        "retry of transient failures | 3 | 600ms | 15s 600ms",
        "retry of transient failures | 6 | 1s 200ms | 31s 200ms"
      ])
      assert.deepStrictEqual(rows(quote().pipe(Tool.retry(twice))), [
        "retry of transient failures | 3 | 600ms | unbounded"
      ])
    })

    it("a deadline, or a timeout outside a retry, bounds attempts, waiting and time again", () => {
      for (const [kind, limit] of [["timeout", Tool.timeout], ["deadline", Tool.deadline]] as const) {
        const limited = (schedule: Schedule.Schedule<unknown>, outer: Duration.Input) =>
          rows(timely().pipe(Tool.retry(schedule), limit(outer))).at(-1)
        assert.strictEqual(limited(Schedule.spaced("1 second"), "7 seconds"), `${kind} of 7s | 7 | 7s | 7s`)
        assert.strictEqual(limited(Schedule.spaced("1 second"), 7_001), `${kind} of 7s 1ms | 8 | 7s 1ms | 7s 1ms`)
        assert.strictEqual(limited(twice, "7 seconds"), `${kind} of 7s | 3 | 600ms | 7s`)
        assert.strictEqual(limited(Schedule.forever, "7 seconds"), `${kind} of 7s | unbounded | 7s | 7s`)
      }
    })

    it("a fallback, a catch and a check take additional time, which an outer timeout bounds", () => {
      const asking = [
        timely().pipe(Tool.fallback(() => Effect.succeed(2), { name: "the mirror" })),
        timely().pipe(Tool.fallback(() => Effect.succeed(2))),
        timely().pipe(Tool.catchTag("ToolUnavailable", () => Effect.succeed(2))),
        timely().pipe(Tool.reconcile(() => Effect.succeedNone))
      ]
      assert.deepStrictEqual(asking.map((tool) => [rows(tool).at(-1), reasons(tool).join("")]), [
        ["fallback to the mirror | 1 | 0ms | unbounded", "the fallback to the mirror has no timeout"],
        ["fallback | 1 | 0ms | unbounded", "the fallback has no timeout"],
        ["catch of ToolUnavailable | 1 | 0ms | unbounded", "the catch of ToolUnavailable has no timeout"],
        ["reconciles unknown outcomes | 1 | 0ms | unbounded", "the check of the outcome has no timeout"]
      ])
      assert.deepStrictEqual(
        asking.map((tool) => rows(adding(byHand("same", {}))(Tool.timeout(tool, "8 seconds"))).at(-1)),
        asking.map(() => "same | 1 | 0ms | 8s")
      )
    })

    it("a fallback to a tool adds the time and the waits of that tool", () => {
      const mirror = Tool.timeout(quote(), "1 second").pipe(Tool.retry(twice))
      assert.deepStrictEqual(rows(timely().pipe(Tool.retry(Schedule.recurs(1)), Tool.fallback(mirror.run))), [
        "timeout of 5s | 1 | 0ms | 5s",
        "retry of transient failures | 2 | 0ms | 10s",
        "fallback | 2 | 600ms | 13s 600ms"
      ])
      assert.deepStrictEqual(reasons(timely().pipe(Tool.fallback(quote().run, { name: "the mirror" }))), [
        "",
        "",
        "the fallback to the mirror: the handler has no timeout"
      ])
    })

    it("mapping failures changes nothing", () => {
      const mapped = timely().pipe(Tool.mapFailure((failure) => failure))
      assert.deepStrictEqual(rows(mapped).slice(1), ["maps failures | 1 | 0ms | 5s"])
    })

    it("concurrency waits for a permit, up to maxWait", () => {
      const limited = (maxWait?: Duration.Input) =>
        timely().pipe(Tool.concurrency(2, maxWait === undefined ? {} : { maxWait }))
      assert.deepStrictEqual([rows(limited(0))[1], rows(limited("1 second"))[1], rows(limited())[1]], [
        "concurrency limit of 2 | 1 | 0ms | 5s",
        "concurrency limit of 2 | 1 | 1s | 6s",
        "concurrency limit of 2 | 1 | unbounded | unbounded"
      ])
      const reason = "a call waits for a permit as long as it takes"
      assert.deepStrictEqual(reasons(limited()), ["", reason, reason])
    })

    it("paginate fetches pages, up to its time limit", () => {
      const paged = (time: Duration.Input) =>
        timely().pipe(Tool.retry(twice), Tool.paginate({ merge: (_, page) => page, pages: 4, time }))
      assert.deepStrictEqual([rows(paged("1 minute")).at(-1), rows(paged("10 seconds")).at(-1)], [
        "fetches up to 4 pages | 12 | 2s 400ms | 1m 2s 400ms",
        "fetches up to 4 pages | 12 | 2s 400ms | 25s 600ms"
      ])
    })

    it("a policy without bounds makes them unknown, unless a timeout is outside it", () => {
      const tool = timely().pipe(adding(byHand("mystery")))
      assert.deepStrictEqual(rows(tool).at(-1), "mystery | unbounded | unbounded | unbounded")
      assert.deepStrictEqual(reasons(tool), Array(3).fill("the policy 'mystery' has no bound"))
      assert.deepStrictEqual(
        rows(adding(byHand("same", {}))(Tool.timeout(tool, "9 seconds"))).at(-1),
        "same | unbounded | 9s | 9s"
      )
    })

    it("a custom policy publishes its own terms", () => {
      const rowOf = (terms: Policy.Terms) => rows(timely().pipe(adding(byHand("own", terms)))).at(-1)
      const wait = Duration.seconds(1)
      assert.deepStrictEqual(reasons(timely().pipe(adding(byHand("slow", { after: { what: "the audit" } })))), [
        "",
        "",
        "the audit has no timeout"
      ])
      assert.strictEqual(rowOf({ before: { what: "a lookup", time: wait } }), "own | 1 | 0ms | 6s")
      assert.strictEqual(rowOf({ after: { time: wait } }), "own | 1 | 0ms | 6s")
      assert.strictEqual(rowOf({ repeats: { after: [wait, wait] } }), "own | 3 | 2s | 17s")
      assert.strictEqual(rowOf({ repeats: { after: [wait], overlap: true } }), "own | 2 | 1s | 6s")
      assert.strictEqual(rowOf({ waits: { for: "a token", max: wait }, limit: wait }), "own | 1 | 1s | 1s")
    })

    it("defaults count in their places", () => {
      assert.deepStrictEqual(
        rows(quote().pipe(Tool.retry(twice), Tool.withDefaults([Policy.timeout("5 seconds"), Policy.concurrency(1)]))),
        [
          "timeout of 5s | 1 | 0ms | 5s",
          "retry of transient failures | 3 | 600ms | 15s 600ms",
          "concurrency limit of 1 | 3 | unbounded | unbounded"
        ]
      )
    })
  })

  it("states how often a run may repeat a failing call", () => {
    const repeats = <T extends Tool.Any>(tool: T) => {
      const { actingCalls, calls, executions } = Tool.explain(tool)
      return [calls, actingCalls, executions.max, executions.because.join("")]
    }
    assert.deepStrictEqual(repeats(quote()), [3, 3, 3, ""])
    assert.deepStrictEqual(repeats(quote("idempotent").pipe(Tool.retry(twice))), [3, 3, 5, ""])
    assert.deepStrictEqual(repeats(quote("non_idempotent").pipe(Tool.retry(twice))), [3, 1, 5, ""])
    assert.deepStrictEqual(repeats(quote().pipe(Tool.retry(Schedule.forever))), [
      3,
      3,
      Infinity,
      "the retry never ends"
    ])
  })

  it("is a plain value", () => {
    const explanation = Tool.explain(timely().pipe(Tool.retry(twice)))
    assert.deepStrictEqual(structuredClone(JSON.parse(JSON.stringify(explanation))).attempts, { max: 3, because: [] })
    assert.deepStrictEqual(explanation, Tool.explain(timely().pipe(Tool.retry(twice))))
  })
})
