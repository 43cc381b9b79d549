import { assert, describe, it } from "@effect/vitest"
import { Policy, Tool, Toolkit } from "@fallible/core"
import * as Explanation from "@fallible/core/Explanation"
import { type Duration, Effect, Schedule, Schema } from "effect"
import { lines, quote, timely, twice } from "../support/explained.ts"

describe("Explanation", () => {
  describe("table", () => {
    it("shows the bounds policy by policy, and the likely mistakes", () => {
      assert.deepStrictEqual(lines(Explanation.table(Tool.explain(timely().pipe(Tool.retry(twice))))), [
        "get_quote",
        "  policy                       attempts  waiting  time",
        "  handler                      1         0ms      unbounded",
        "  timeout of 5s                1         0ms      5s",
        "  retry of transient failures  3         600ms    15s 600ms",
        "",
        "  the same failing call in a run: refused after 3 executions, 5 in all at most; more if it asks to wait, and again after 30s",
        "  unjittered_retry: All callers wait equally long, so they all return at once when the service " +
        "recovers. Use RetryPolicy.transient, or Schedule.jittered."
      ])
    })

    it("gives the reason for an unbounded value once", () => {
      const tool = quote("non_idempotent").pipe(
        Tool.retry(Schedule.jittered(Schedule.spaced("1 second"))),
        Tool.reconcile(() => Effect.succeedNone, { final: true })
      )
      assert.deepStrictEqual(lines(Explanation.table(Tool.explain(tool))), [
        "get_quote",
        "  policy                       attempts   waiting    time",
        "  handler                      1          0ms        unbounded",
        "  retry of transient failures  unbounded  unbounded  unbounded",
        "  reconciles unknown outcomes  unbounded  unbounded  unbounded",
        "",
        "  the same failing call in a run: refused after 3 executions (1 that may have acted), unbounded in all at most",
        "  attempts, waiting, time unbounded: the retry never ends",
        "  time unbounded: the handler has no timeout",
        "  time unbounded: the check of the outcome has no timeout",
        "  uncapped_retry: The retry never ends. Limit it with Schedule.upTo, or with a deadline around it.",
        "  retry_of_acting_tool: The tool acts, so it is retried only if all its attempts certainly did nothing. " +
        "Declare its sideEffect if it is read-only or idempotent; otherwise put Tool.reconcile inside the retry."
      ])
    })
  })

  describe("overview", () => {
    const toolNamed = <const Name extends string>(name: Name) =>
      Tool.make(
        name,
        { description: "", success: Schema.Finite, sideEffect: "non_idempotent" },
        () => Effect.succeed(1)
      )

    it("shows each tool in a separate block, sorted by name, with one fact per line", () => {
      const toolkit = Toolkit.make(timely().pipe(Tool.retry(twice)), toolNamed("b"), toolNamed("B"), toolNamed("a"))
        .pipe(
          Toolkit.withDefaults([Policy.concurrency(1)])
        )
      assert.deepStrictEqual(Toolkit.explain(toolkit).map(({ tool }) => tool), ["get_quote", "b", "B", "a"])
      const patient = "unbounded: a call waits for a permit as long as it takes"
      const [first, second, third, last] = Explanation.overview(Toolkit.explain(toolkit)).split("\n\n")
      assert.deepStrictEqual([first, second, third].map((block) => lines(block!)[0]), ["B", "a", "b"])
      assert.deepStrictEqual(lines(second!), [
        "a",
        "  side effect  non_idempotent",
        "  policy       concurrency limit of 1",
        "  attempts     1",
        `  waiting      ${patient}`,
        `  time         ${patient}; the handler has no timeout`,
        "  executions   3"
      ])
      assert.deepStrictEqual(lines(last!), [
        "get_quote",
        "  side effect  none",
        "  policy       timeout of 5s",
        "  policy       retry of transient failures",
        "  policy       concurrency limit of 1",
        "  attempts     3",
        `  waiting      ${patient}`,
        `  time         ${patient}`,
        "  executions   5",
        "  warning      unjittered_retry: All callers wait equally long, so they all return at once when the service " +
        "recovers."
      ])
    })

    it("is empty for no tools", () => {
      assert.strictEqual(Explanation.overview(Toolkit.explain(Toolkit.empty)), "")
    })
  })

  describe("timeline", () => {
    const timeline = <T extends Tool.Any>(tool: T) => lines(Explanation.timeline(Tool.explain(tool))).slice(1)

    it("shows the worst case step by step", () => {
      const tool = timely().pipe(Tool.retry(twice), Tool.concurrency(1, { maxWait: "1 second" }))
      assert.deepStrictEqual(lines(Explanation.timeline(Tool.explain(tool))), [
        "get_quote",
        "  0ms        waits for a permit",
        "  1s         attempt 1",
        "  6s         times out",
        "  6s         waits 200ms",
        "  6s 200ms   attempt 2",
        "  11s 200ms  times out",
        "  11s 200ms  waits 400ms",
        "  11s 600ms  attempt 3",
        "  16s 600ms  times out"
      ])
    })

    it("ends with the outermost timeout, which no wait outlasts", () => {
      const limited = (outer: Duration.Input) =>
        timeline(timely().pipe(Tool.retry(Schedule.spaced("2 seconds")), Tool.timeout(outer)))
      assert.deepStrictEqual(limited("8 seconds"), [
        "  0ms  attempt 1",
        "  5s   times out",
        "  5s   waits 2s",
        "  7s   attempt 2",
        "  8s   times out"
      ])
      assert.deepStrictEqual(limited("7 seconds"), [
        "  0ms  attempt 1",
        "  5s   times out",
        "  5s   fails: there is no time to wait 2s",
        "  7s at the latest, the end"
      ])
    })

    it("ends plainly if the time is unbounded", () => {
      assert.deepStrictEqual(timeline(quote().pipe(Tool.retry(twice))), [
        "  0ms  attempt 1",
        "  … with no end in sight: the handler has no timeout"
      ])
      assert.deepStrictEqual(timeline(timely().pipe(Tool.fallback(() => Effect.succeed(2), { name: "the mirror" }))), [
        "  0ms  attempt 1",
        "  5s   times out",
        "  5s   the fallback to the mirror",
        "  … with no end in sight: the fallback to the mirror has no timeout"
      ])
    })

    it("gives the end of the last step", () => {
      const mirror = Tool.timeout(quote(), "1 second")
      assert.deepStrictEqual(timeline(timely().pipe(Tool.fallback(mirror.run))), [
        "  0ms  attempt 1",
        "  5s   times out",
        "  5s   the fallback",
        "  6s at the latest, the end"
      ])
    })

    it("states the condition under which a tool that acts is retried", () => {
      assert.deepStrictEqual(timeline(timely("non_idempotent").pipe(Tool.retry(Schedule.recurs(1)))), [
        "  0ms  attempt 1",
        "  5s   fails or times out",
        "  5s   waits 0ms, if it was not executed",
        "  5s   attempt 2",
        "  10s  fails or times out"
      ])
    })

    it("follows pages", () => {
      const paged = timely().pipe(Tool.paginate({ merge: (_, page) => page, pages: 3, time: "7 seconds" }))
      assert.deepStrictEqual(timeline(paged), [
        "  0ms  attempt 1",
        "  5s   times out",
        "  5s   asks for the next page",
        "  5s   attempt 2",
        "  10s  times out",
        "  10s  asks for the next page",
        "  10s  attempt 3",
        "  12s  has no time for further pages"
      ])
    })

    it("is cut after 30 steps, with the number of omitted steps and the end", () => {
      const many = timeline(timely().pipe(Tool.retry(Schedule.recurs(20))))
      assert.deepStrictEqual([many.length, ...many.slice(29)], [
        32,
        "  50s  waits 0ms",
        "  … 32 more",
        "  1m 45s at the latest, the end"
      ])
      const endless = timeline(timely().pipe(Tool.retry(Schedule.spaced("1 second"))))
      assert.deepStrictEqual(endless.slice(30), ["  … and many more", "  … with no end in sight: the retry never ends"])
    })
  })
})
