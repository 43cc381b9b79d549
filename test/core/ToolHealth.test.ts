import { assert, describe, it } from "@effect/vitest"
import {
  Dispatch,
  PartialData,
  Policy,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as Availability from "@fallible/core/Availability"
import * as ToolHealth from "@fallible/core/ToolHealth"
import { Duration, Effect, Fiber, Schedule, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"

const refused = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })
const denied = new ToolUnavailable({ code: "permission_denied", detail: "Not allowed.", transient: false })

/** Makes a tool that fails as its caller asks. */
const obedient = (name: string, instead: ReadonlyArray<string> = []) =>
  Tool.make(name, {
    description: name,
    parameters: Schema.Struct({ how: Schema.String }),
    success: Schema.String,
    sideEffect: "none",
    instead
  }, ({ how }) => {
    switch (how) {
      case "well":
        return Effect.succeed("well")
      case "refused":
        return Effect.fail(refused)
      case "garbage":
        return Effect.fail(new SemanticGarbage({ code: "unknown_entity", detail: "Unknown." }))
      case "partial":
        return Effect.fail(new PartialData({ code: "more_pages", detail: "1 of 2.", data: "half" }))
      case "mismatch":
        return Effect.fail(new SchemaMismatch({ side: "result", code: "invalid_result", detail: "No total." }))
      case "denied":
        return Effect.fail(new ToolUnavailable({ ...denied, scope: "arguments" }))
      case "gone":
        return Effect.fail(denied)
      case "asks":
        return Effect.as(ToolCall.ask("Which one?"), "well")
      case "stops":
        return ToolCall.stop("Enough.")
      case "die":
        return Effect.die("broken")
      default:
        return Effect.fail(new ToolUnavailable({ ...refused, code: how }))
    }
  })

const toolkit = Toolkit.make(
  obedient("primary", ["mirror", "nowhere", "archive"]),
  obedient("mirror"),
  obedient("archive").pipe(Tool.fallback(() => Effect.succeed("by heart")))
)

const call = (name: string, how: string) =>
  Dispatch.call(toolkit, { id: "1", name, arguments: JSON.stringify({ how }) })

const withHealth = Effect.provide(ToolHealth.layer)

describe("ToolHealth", () => {
  it.effect("E7 counts calls, errors, consecutive errors and the error rate, per tool", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      for (const how of ["well", "refused", "mismatch", "well", "garbage", "refused", "die"]) {
        yield* call("primary", how)
      }
      yield* call("mirror", "partial")
      yield* call("archive", "refused")
      // Errors that are not the tool's fault.
      yield* call("nowhere", "well")
      yield* Dispatch.call(toolkit, { id: "1", name: "mirror", arguments: "{\"ho" })
      const status = ToolHealth.available
      const connection = { tag: "ToolUnavailable", code: "connection" } as const
      assert.deepStrictEqual(yield* health.report, [
        {
          tool: "primary",
          status,
          calls: 7,
          errors: 4,
          consecutiveErrors: 2,
          errorRate: 4 / 7,
          errorsByCode: [
            { ...connection, count: 2 },
            { tag: "SchemaMismatch", code: "invalid_result", count: 1 },
            { tag: "ToolUnavailable", code: "defect", count: 1 }
          ],
          lastError: {
            tag: "ToolUnavailable",
            code: "defect",
            detail: "The tool primary failed with an internal error.",
            at: 0
          }
        },
        { tool: "mirror", status, calls: 1, errors: 0, consecutiveErrors: 0, errorRate: 0, errorsByCode: [] },
        // A fallback answered, but only because the tool failed.
        {
          tool: "archive",
          status,
          calls: 1,
          errors: 1,
          consecutiveErrors: 1,
          errorRate: 1,
          errorsByCode: [{ ...connection, count: 1 }],
          lastError: { ...connection, detail: "Refused.", at: 0 }
        }
      ])
      assert.deepStrictEqual(health.reportUnsafe("primary"), (yield* health.report)[0])
      assert.isUndefined(health.reportUnsafe("nowhere"))
    }).pipe(withHealth))

  it.effect("E7 counts no signal, no interruption, and no failure that is only about the arguments", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      const errors = Effect.map(health.report, (all) => all.map(({ calls, errors }) => [calls, errors]))
      for (const how of ["asks", "stops"]) yield* call("primary", how)
      const hanging = Tool.make("hanging", { description: "", success: Schema.String }, () => Effect.never)
      const fiber = yield* Effect.forkChild(Dispatch.call(Toolkit.make(hanging), { id: "1", name: "hanging" }), {
        startImmediately: true
      })
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* errors, [])
      yield* call("primary", "denied")
      assert.deepStrictEqual(yield* errors, [[1, 0]])
      yield* call("primary", "gone")
      assert.deepStrictEqual(yield* errors, [[2, 1]])
      yield* call("archive", "denied")
      assert.deepStrictEqual(yield* errors, [[2, 1], [1, 0]])
      yield* call("archive", "gone")
      assert.deepStrictEqual(yield* errors, [[2, 1], [2, 1]])
    }).pipe(withHealth))

  it.effect("E7 counts no refusal of our own policies, but does count the error of an earlier attempt", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      yield* call("primary", "throttled")
      // The call was refused, and another tool answered instead.
      const throttled = new ToolUnavailable({ ...refused, code: "throttled", outcome: "not_executed" })
      const refusing = Policy.make<never, ToolUnavailable>({
        kind: "rate",
        description: "full",
        wrap: () => () => Effect.fail(throttled)
      })
      const full = obedient("full").pipe(Tool.with(refusing), Tool.fallback(obedient("mirror").run))
      yield* Dispatch.call(Toolkit.make(full), { id: "1", name: "full", arguments: "{\"how\":\"well\"}" })
      // A policy refused the second attempt.
      let attempts = 0
      const once = Policy.make<never, ToolUnavailable>({
        kind: "rate",
        description: "one",
        wrap: <A, E extends ToolFailure.ToolFailure, R>(run: Policy.Run<A, E, R>) => (params: unknown) =>
          Effect.suspend((): Effect.Effect<A, E | ToolUnavailable, R> =>
            ++attempts > 1 ? Effect.fail(throttled) : run(params)
          )
      })
      const retried = obedient("retried").pipe(Tool.with(once), Tool.retry(Schedule.recurs(1)))
      const outcome = yield* Dispatch.call(Toolkit.make(retried), {
        id: "1",
        name: "retried",
        arguments: "{\"how\":\"refused\"}"
      })
      assert.strictEqual(outcome._tag === "Failed" && outcome.failure.code, "throttled")
      assert.deepStrictEqual(
        (yield* health.report).map(({ calls, errors, lastError, tool }) => [tool, calls, errors, lastError?.code]),
        [["primary", 1, 0, undefined], ["retried", 1, 1, "connection"]]
      )
    }).pipe(withHealth))

  it.effect("E7 keeps the last error with its time, even after a successful call", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      yield* TestClock.adjust("3 seconds")
      yield* call("primary", "refused")
      yield* TestClock.adjust("3 seconds")
      yield* call("primary", "well")
      const { consecutiveErrors, lastError } = health.reportUnsafe("primary") ?? {}
      assert.deepStrictEqual([consecutiveErrors, lastError], [
        0,
        { tag: "ToolUnavailable", code: "connection", detail: "Refused.", at: 3000 }
      ])
    }).pipe(withHealth))

  it.effect("E7 counts the first 20 codes of a tool separately, and all others together", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      for (let code = 1; code <= 20; code++) yield* call("primary", `code_${code}`)
      const codes = () => (health.reportUnsafe("primary")?.errorsByCode ?? []).map(({ code, count }) => [code, count])
      assert.strictEqual(codes().length, 20)
      assert.deepStrictEqual(codes().at(-1), ["code_20", 1])
      yield* call("primary", "code_21")
      yield* call("primary", "code_22")
      yield* call("primary", "code_1")
      assert.strictEqual(codes().length, 21)
      assert.deepStrictEqual([codes()[0], codes().at(-1)], [["code_1", 2], ["other", 2]])
    }).pipe(withHealth))

  it.effect("E7 keeps error messages short and on one line", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      const detail = `one\ntwo ${"x".repeat(10_000)}`
      health.called("primary", { tag: "ToolUnavailable", code: "c".repeat(10_000), detail, at: 0 })
      const { errorsByCode, lastError } = health.reportUnsafe("primary") ?? assert.fail()
      assert.match(lastError?.detail ?? "", /^one two x{192}… \(\d+ more characters\)$/)
      assert.match(lastError?.code ?? "", /^c{60}… \(\d+ more characters\)$/)
      assert.strictEqual(errorsByCode[0]?.code, lastError?.code)
    }).pipe(withHealth))

  it.effect("E7 reports data that can be written as JSON, whatever the status", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      yield* call("primary", "refused")
      for (
        const to of [{ _tag: "CircuitOpen", until: 30_000 }, { _tag: "CircuitOpen" }, { _tag: "Probing" }] as const
      ) {
        yield* health.noticed("primary", to)
        const report = yield* health.report
        assert.deepStrictEqual(report[0]?.status, to)
        assert.deepStrictEqual(JSON.parse(JSON.stringify(report)), report)
      }
      yield* health.disable("primary", "It is being moved.")
      const report = yield* health.report
      assert.deepStrictEqual(JSON.parse(JSON.stringify(report)), report)
    }).pipe(withHealth))

  it.effect("E7 resets the count of consecutive errors when the tool is enabled by hand", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      yield* call("mirror", "refused")
      yield* health.enable("mirror")
      assert.deepStrictEqual(
        (yield* health.report).map(({ consecutiveErrors, errors }) => [errors, consecutiveErrors]),
        [
          [1, 0]
        ]
      )
    }).pipe(withHealth))

  it.effect("does not attribute the fallback of an inner tool to the tool itself", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      const inner = obedient("inner").pipe(Tool.fallback(() => Effect.succeed("by heart")))
      const outer = Tool.make("outer", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        inner.run({ how: "refused" }))
      yield* Dispatch.call(Toolkit.make(outer), { id: "1", name: "outer" })
      assert.deepStrictEqual((yield* health.report).map(({ errors, tool }) => [tool, errors]), [["outer", 0]])
    }).pipe(withHealth))

  it.effect("E7 refuses a disabled tool at once, gives the reason, and runs it again once enabled", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      yield* health.disable("mirror", "It is being moved.")
      const outcome = yield* call("mirror", "well")
      if (outcome._tag !== "Failed") return assert.fail(outcome._tag)
      assert.deepInclude(outcome, { stage: "admit", attempts: 0 })
      assert.deepInclude({ ...outcome.failure }, {
        code: "disabled",
        detail: "mirror is disabled: It is being moved.",
        transient: false,
        outcome: "not_executed"
      })
      assert.deepStrictEqual((yield* health.report).map(({ calls, status }) => [calls, status._tag]), [[0, "Disabled"]])
      yield* health.enable("mirror")
      assert.strictEqual((yield* call("mirror", "well"))._tag, "Completed")
      assert.deepStrictEqual(yield* health.status("mirror"), ToolHealth.available)
    }).pipe(withHealth))

  it.effect("E7 notifies only of changes of a status", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      const fiber = yield* health.changes.pipe(
        Stream.map(({ from, to, tool }) => `${tool}: ${from._tag} -> ${to._tag}`),
        Stream.take(4),
        Stream.runCollect,
        Effect.forkChild({ startImmediately: true })
      )
      yield* Effect.yieldNow
      yield* health.disable("mirror")
      yield* health.disable("mirror", "again")
      yield* health.noticed("mirror", { _tag: "CircuitOpen", until: 1000 })
      yield* health.enable("mirror")
      yield* health.enable("mirror")
      yield* health.noticed("primary", { _tag: "CircuitOpen", until: 1000 })
      yield* health.noticed("primary", { _tag: "CircuitOpen", until: 2000 })
      yield* health.enable("primary")
      assert.deepStrictEqual(yield* Fiber.join(fiber), [
        "mirror: Available -> Disabled",
        "mirror: Disabled -> Available",
        "primary: Available -> CircuitOpen",
        "primary: CircuitOpen -> Available"
      ])
    }).pipe(withHealth))

  it.effect("is optional: without it, calls run and nothing is counted", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* call("mirror", "well"))._tag, "Completed")
      assert.deepStrictEqual(
        Array.from((yield* Availability.of(toolkit)).values(), ({ _tag }) => _tag),
        ["Available", "Available", "Available"]
      )
    }))
})

describe("Availability", () => {
  it.effect("says which tools may be called, and why and until when the others may not", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      yield* health.disable("mirror")
      yield* health.noticed("primary", { _tag: "CircuitOpen", until: 30_000 })
      yield* TestClock.adjust("10 seconds")
      const shown = Effect.map(
        Availability.of(toolkit),
        (all): Record<string, Availability.Availability> => Object.fromEntries(all)
      )
      const archive = { _tag: "Available" } as const
      const mirror = { _tag: "Unavailable", reason: "It is disabled." } as const
      const open = yield* shown
      assert.deepInclude(open, { mirror, archive })
      assert.deepStrictEqual(open["primary"], {
        _tag: "Unavailable",
        reason: "It is disabled: it has failed too often.",
        retryAfter: Duration.seconds(20)
      })
      yield* call("primary", "refused")
      yield* call("primary", "refused")
      const reason = "It is disabled after 2 consecutive errors; last: connection."
      assert.deepStrictEqual((yield* shown)["primary"], {
        _tag: "Unavailable",
        reason,
        retryAfter: Duration.seconds(20)
      })
      yield* TestClock.adjust(19_999)
      assert.strictEqual((yield* shown)["primary"]?._tag, "Unavailable")
      yield* TestClock.adjust(1)
      // The next call is the probe.
      assert.strictEqual((yield* shown)["primary"]?._tag, "Available")
      yield* health.noticed("primary", { _tag: "Probing" })
      assert.deepStrictEqual((yield* shown)["primary"], {
        _tag: "Unavailable",
        reason: `${reason} Another call is testing it now.`
      })
      yield* health.noticed("primary", { _tag: "CircuitOpen" })
      assert.deepStrictEqual((yield* shown)["primary"], { _tag: "Unavailable", reason })
    }).pipe(withHealth))

  it.effect("recognizes the fallback outside a breaker, even if another one is inside", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      yield* health.noticed("t", { _tag: "CircuitOpen", until: 30_000 })
      const of = (...kinds: ReadonlyArray<Policy.Kind>) => {
        const policies = kinds.map((kind) => Policy.make({ kind, description: kind, wrap: (run) => run }))
        return Effect.map(
          Availability.of(Toolkit.make(Tool.withDefaults(obedient("t"), []).pipe((tool) => ({ ...tool, policies })))),
          (all) => all.get("t")?._tag
        )
      }
      assert.strictEqual(yield* of("fallback", "breaker"), "Unavailable")
      assert.strictEqual(yield* of("breaker", "fallback"), "Available")
      assert.strictEqual(yield* of("fallback", "breaker", "fallback"), "Available")
    }).pipe(withHealth))

  it.effect("F8 a refusal names alternative tools that exist and may be called", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      const hint = Effect.map(
        call("primary", "refused"),
        (outcome) => outcome._tag === "Failed" ? outcome.failure.hint : outcome._tag
      )
      assert.strictEqual(yield* hint, "Call mirror or archive instead.")
      yield* health.disable("mirror")
      assert.strictEqual(yield* hint, "Call archive instead.")
      yield* health.disable("primary")
      assert.strictEqual(yield* hint, "Call archive instead.")
      yield* health.disable("archive")
      assert.isUndefined(yield* hint)
    }).pipe(withHealth))

  it.effect("F8 names no alternative if the tool is not at fault", () =>
    Effect.gen(function*() {
      const outcome = yield* call("primary", "garbage")
      assert.isUndefined(outcome._tag === "Failed" ? outcome.failure.hint : outcome._tag)
    }))
})
