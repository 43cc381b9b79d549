import { assert, describe, it } from "@effect/vitest"
import { Agent, Observer, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Fiber, Logger, References, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"

const keys: Array<string> = []

const pay = (options: { readonly sideEffect?: "none"; readonly uninterruptible?: boolean } = {}) =>
  Tool.make(
    "pay",
    { description: "Pays", success: Schema.String, ...options },
    () =>
      Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => {
        keys.push(idempotencyKey)
        return Effect.delay(Effect.succeed("paid"), "10 seconds")
      })
  )

/** Interrupts an Effect after 5 seconds, and returns the late results until a minute later. */
const reportsOf = <A, E, R>(run: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const reports: Array<Observer.LateResult> = []
    const fiber = yield* Effect.forkChild(
      Observer.observe(run, { onLateResult: (report) => Effect.sync(() => void reports.push(report)) })
    )
    yield* TestClock.adjust("5 seconds")
    yield* Effect.forkChild(Fiber.interrupt(fiber))
    yield* TestClock.adjust("1 minute")
    return reports
  })

const asked = <T extends Tool.Any>(tool: T) =>
  Effect.provide(
    Agent.make({ toolkit: Toolkit.make(tool) }).run("Pay."),
    ScriptedModel.layer([ScriptedModel.call("pay"), ScriptedModel.text("Paid.")])
  )

describe("a call that is interrupted while it may have acted", () => {
  it.effect("is reported once, with its key, if the run of an agent is interrupted", () =>
    Effect.gen(function*() {
      const reports = yield* reportsOf(asked(pay()))
      assert.strictEqual(reports.length, 1)
      const { at, attempt, certainty, code, id, key, tool } = reports[0]!
      assert.deepStrictEqual(
        { at, attempt, certainty, code, key, tool },
        { at: 5_000, attempt: 1, certainty: "unknown", code: "interrupted", key: keys.at(-1)!, tool: "pay" }
      )
      assert.match(id, /^run-.*\/turn\/1\/call\/1$/)
    }))

  it.effect("is reported once, if a program runs the tool itself", () =>
    Effect.gen(function*() {
      const [report, ...others] = yield* reportsOf(pay().run({}))
      assert.deepInclude(report, { certainty: "unknown", key: keys.at(-1)! })
      assert.deepStrictEqual(others, [])
    }))

  it.effect("is reported with the inner tool's own key, if a read-only tool runs it", () =>
    Effect.gen(function*() {
      const inner = pay()
      const outer = Tool.make(
        "checkout",
        { description: "Checks out", success: Schema.String, sideEffect: "none" },
        () => inner.run({})
      )
      const reports = yield* reportsOf(outer.run({}))
      assert.deepStrictEqual(reports.map(({ key, tool }) => [tool, key]), [["pay", keys.at(-1)!]])
    }))

  it.effect("is reported once, if an async handler under a time limit ends at once", () =>
    Effect.gen(function*() {
      const fetching = Tool.promise(
        "pay",
        { description: "Pays", success: Schema.String },
        (_params, { signal }) =>
          new Promise<string>((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))))
      )
      const reports = yield* reportsOf(asked(fetching.pipe(Tool.timeout("20 seconds"))))
      assert.deepStrictEqual(reports.map(({ attempt, certainty }) => [attempt, certainty]), [[1, "unknown"]])
    }))

  it.effect("is reported only when it ends, if it goes on", () =>
    Effect.gen(function*() {
      const reports = yield* reportsOf(asked(pay({ uninterruptible: true })))
      assert.deepStrictEqual(reports.map(({ at, certainty }) => [at, certainty]), [[10_000, "executed"]])
    }))

  it.effect("is reported, if an earlier attempt was lost, and the one that goes on does nothing", () =>
    Effect.gen(function*() {
      let attempts = 0
      const unavailable = (outcome: "not_executed" | "unknown") =>
        new ToolUnavailable({ code: "down", detail: "Down.", transient: true, outcome })
      const paying = Tool.make(
        "pay",
        { description: "Pays", success: Schema.String, sideEffect: "idempotent", uninterruptible: true },
        () =>
          ++attempts === 1
            ? Effect.fail(unavailable("unknown"))
            : Effect.delay(Effect.fail(unavailable("not_executed")), "10 seconds")
      ).pipe(Tool.retry(Schedule.spaced("1 second")))
      const reports = yield* reportsOf(paying.run({}))
      assert.sameDeepMembers(
        reports.map(({ attempt, certainty }) => [attempt, certainty]),
        [[2, "unknown"], [2, "not_executed"]]
      )
    }))

  it.effect("is not reported, if it only reads, or had not begun", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* reportsOf(asked(pay({ sideEffect: "none" }))), [])
      const limited = pay().pipe(Tool.concurrency(1))
      const both = Effect.all([limited.run({}), limited.run({})], { concurrency: 2 })
      assert.strictEqual((yield* reportsOf(both)).length, 1)
    }))

  it.effect("is not reported, if it has succeeded, or certainly did nothing", () =>
    Effect.gen(function*() {
      const refusing = new ToolUnavailable({ code: "closed", detail: "No.", transient: true, outcome: "not_executed" })
      for (const end of [Effect.succeed("paid"), Effect.fail(refusing)]) {
        const quick = Tool.make("pay", { description: "Pays", success: Schema.String }, () => end)
        assert.deepStrictEqual(yield* reportsOf(Effect.andThen(Effect.ignore(quick.run({})), Effect.never)), [])
        const waiting = quick.pipe(Tool.retry(Schedule.spaced("1 hour")))
        assert.deepStrictEqual(yield* reportsOf(Effect.andThen(waiting.run({}), Effect.never)), [])
      }
    }))
})

describe("a call in doubt", () => {
  const lost = Tool.make("pay", { description: "Pays", success: Schema.String }, () =>
    Effect.andThen(
      ToolCall.current.pipe(Effect.map(({ idempotencyKey }) => keys.push(idempotencyKey))),
      Effect.fail(new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true }))
    ))

  it.effect("has its key in the report", () =>
    Effect.gen(function*() {
      const { report } = yield* asked(lost)
      assert.deepStrictEqual(
        report.failures.map((entry) => [entry.code, "key" in entry ? entry.key : undefined]),
        [["outcome_unknown", keys.at(-1)!]]
      )
    }))

  for (
    const [level, lines] of [
      ["Debug", [["Warn", true]]],
      ["Error", [["Error", true]]],
      ["None", []]
    ] as const
  ) {
    it.effect(`is logged as a warning at least, with its key, unless failures are not logged: ${level}`, () =>
      Effect.gen(function*() {
        const logged: Array<unknown> = []
        const logger = Logger.make(({ fiber, logLevel, message }) => {
          const { key } = fiber.getRef(References.CurrentLogAnnotations)
          logged.push([logLevel, /^pay failed .*The model was told/.test(String(message)) && key === keys.at(-1)])
        })
        yield* asked(lost).pipe(
          Observer.observe({ failureLevel: level }),
          Effect.provide(Logger.layer([logger]))
        )
        assert.deepStrictEqual<ReadonlyArray<unknown>>(logged, lines)
      }))
  }
})
