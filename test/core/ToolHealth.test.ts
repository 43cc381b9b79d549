import { assert, describe, it } from "@effect/vitest"
import {
  Availability,
  Dispatch,
  PartialData,
  Policy,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolHealth,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import { Duration, Effect, Fiber, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"

const refused = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })

/** A tool that fails as its caller wants it to. */
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
      default:
        return Effect.die("broken")
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
  it.effect("E7 counts calls, errors, errors in a row and their rate, per tool", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      for (const how of ["well", "refused", "mismatch", "well", "garbage", "refused", "die"]) {
        yield* call("primary", how)
      }
      yield* call("mirror", "partial")
      yield* call("archive", "refused")
      // Nothing that the tool could do anything about.
      yield* call("nowhere", "well")
      yield* Dispatch.call(toolkit, { id: "1", name: "mirror", arguments: "{\"ho" })
      const status = ToolHealth.available
      assert.deepStrictEqual(yield* health.report, [
        { tool: "primary", status, calls: 7, errors: 4, consecutiveErrors: 2, errorRate: 4 / 7 },
        { tool: "mirror", status, calls: 1, errors: 0, consecutiveErrors: 0, errorRate: 0 },
        // A fallback answered; but it had to.
        { tool: "archive", status, calls: 1, errors: 1, consecutiveErrors: 1, errorRate: 1 }
      ])
    }).pipe(withHealth))

  it.effect("E7 counts errors in a row from zero once the tool is enabled by hand", () =>
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

  it.effect("does not take the fallback of a tool inside for one of the tool itself", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      const inner = obedient("inner").pipe(Tool.fallback(() => Effect.succeed("by heart")))
      const outer = Tool.make("outer", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        inner.run({ how: "refused" }))
      yield* Dispatch.call(Toolkit.make(outer), { id: "1", name: "outer" })
      assert.deepStrictEqual((yield* health.report).map(({ errors, tool }) => [tool, errors]), [["outer", 0]])
    }).pipe(withHealth))

  it.effect("E7 refuses a disabled tool at once, says why, and runs it again once it is enabled", () =>
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

  it.effect("E7 notifies of each change of a status, and of nothing else", () =>
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

  it.effect("counts nothing, and is in nobody's way, where it is not provided", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* call("mirror", "well"))._tag, "Completed")
      assert.deepStrictEqual(
        Array.from((yield* Availability.of(toolkit)).values(), ({ _tag }) => _tag),
        ["Available", "Available", "Available"]
      )
    }))
})

describe("Availability", () => {
  it.effect("says which tools may be called, why not, and when they are back", () =>
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
        reason: "It has failed too often.",
        retryAfter: Duration.seconds(20)
      })
      yield* TestClock.adjust(19_999)
      assert.strictEqual((yield* shown)["primary"]?._tag, "Unavailable")
      yield* TestClock.adjust(1)
      // The next call is the probe.
      assert.strictEqual((yield* shown)["primary"]?._tag, "Available")
      yield* health.noticed("primary", { _tag: "Probing" })
      assert.deepStrictEqual((yield* shown)["primary"], { _tag: "Unavailable", reason: "It is being tried again." })
    }).pipe(withHealth))

  it.effect("sees the fallback outside of a breaker, also when there is another one inside", () =>
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

  it.effect("F8 a refusal names what else serves, of what there is and may be called", () =>
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

  it.effect("F8 names nothing instead where the tool is not at fault", () =>
    Effect.gen(function*() {
      const outcome = yield* call("primary", "garbage")
      assert.isUndefined(outcome._tag === "Failed" ? outcome.failure.hint : outcome._tag)
    }))
})
