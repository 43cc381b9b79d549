import { assert, describe, it } from "@effect/vitest"
import { Observer, RetryPolicy, Tool, ToolUnavailable } from "@fallible/core"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"

describe("an interrupted call", () => {
  it.effect("is reported although a later attempt has ended late and did nothing", () =>
    Effect.gen(function*() {
      const lost = new ToolUnavailable({ code: "lost", detail: "Lost.", transient: true, outcome: "unknown" })
      const attempts: Array<number> = []
      let goOn = () => {}
      const pay = Tool.promise(
        "pay",
        { description: "", success: Schema.String, sideEffect: "idempotent_by_key", identity: "all" },
        async (_, { ask, attempt }) => {
          if (attempts.push(attempt) === 1) throw lost
          await new Promise<void>((resolve) => {
            goOn = resolve
          })
          return ask("Sure?")
        }
      ).pipe(Tool.timeout("10 millis"), Tool.retry(RetryPolicy.transient))
      const reports: Array<string | undefined> = []
      const reporter = ({ certainty, code }: Observer.LateResult) =>
        Effect.sync(() => reports.push(code === undefined ? certainty : `${code}: ${certainty}`))
      const fiber = yield* Effect.forkChild(Observer.observe(pay.run({}), { onLateResult: reporter }))
      while (attempts.length < 2) yield* TestClock.adjust("1 millis")
      yield* TestClock.adjust("10 millis")
      goOn()
      while (reports.length === 0) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(reports, ["not_executed", "interrupted: unknown"])
    }))
})
