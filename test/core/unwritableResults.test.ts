/** Results that are not JSON, or are nested too deeply to be written. */
import { assert, describe, it } from "@effect/vitest"
import { PartialData, Tool } from "@fallible/core"
import * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Effect, Schema } from "effect"
import { outcomeOf, read } from "../support/illTyped.ts"

describe("a result of any type", () => {
  const tool = (value: unknown) =>
    Tool.make("pay", { description: "", success: Schema.Any }, () => Effect.succeed(value))
  const cyclic: Record<string, unknown> = {}
  cyclic["self"] = cyclic

  it.effect("that cannot be written as JSON is refused, and a tool that acts may have acted", () =>
    Effect.gen(function*() {
      for (const value of [{ id: 10n }, undefined, Symbol("paid"), { toJSON: () => assert.fail("no") }, cyclic]) {
        const outcome = yield* outcomeOf(tool(value), {})
        if (outcome._tag !== "Failed") return assert.fail(outcome._tag)
        assert.deepInclude({ ...outcome.failure }, { code: "invalid_result" })
        assert.strictEqual(outcome.certainty, "unknown")
        assert.include(read(outcome), "it may already have taken effect")
      }
    }))

  it.effect("is JSON when it leaves dispatch", () =>
    Effect.gen(function*() {
      const outcome = yield* outcomeOf(tool({ at: new Date(0), left: undefined, list: [1] }), {})
      assert.isTrue(outcome._tag === "Completed")
      assert.deepInclude(outcome, { value: { at: "1970-01-01T00:00:00.000Z", list: [1] } })
      assert.isTrue(Schema.is(ToolOutcome.schema)(outcome))
    }))
})

describe("a value that is nested too deeply", () => {
  const nested = (depth: number) => {
    let value: Schema.Json = 1
    for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { value }
    return value
  }
  const tool = (effect: Effect.Effect<Schema.Json, PartialData<Schema.Json>>) =>
    Tool.make("p", { description: "", success: Schema.Json, sideEffect: "none" }, () => effect)

  it.effect("is refused by the guard from 513 levels on, even as a part of a value", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* outcomeOf(tool(Effect.succeed(nested(512))), {}))._tag, "Completed")
      for (const depth of [513, 20_000]) {
        const partial = new PartialData({ code: "more_pages", detail: "More.", data: nested(depth) })
        for (const effect of [Effect.succeed(nested(depth)), Effect.fail(partial)]) {
          const outcome = yield* outcomeOf(tool(effect), {})
          if (outcome._tag !== "Failed") return assert.fail(outcome._tag)
          assert.deepInclude({ ...outcome.failure }, {
            code: "invalid_result",
            detail: "The result of p is nested in more than 512 levels.",
            issues: [{ path: [], expected: "at most 512 levels", actual: "more" }]
          })
          assert.strictEqual(outcome.stage, "guard")
        }
      }
    }))

  it.effect("is visited once, however often it is shared", () =>
    Effect.gen(function*() {
      let shared: Schema.Json = 1
      for (let level = 0; level < 600; level++) shared = [shared, shared]
      const any = Tool.make("p", { description: "", success: Schema.Any, sideEffect: "none" }, () =>
        Effect.succeed(shared))
      const outcome = yield* outcomeOf(any, {})
      assert.isTrue(outcome._tag === "Failed" && outcome.failure.code === "invalid_result")
    }))

  it.effect("is omitted from the arguments to continue with", () =>
    Effect.gen(function*() {
      const next = { cursor: nested(20_000) }
      const outcome = yield* outcomeOf(
        tool(Effect.fail(new PartialData({ code: "more_pages", detail: "More.", data: 1, next }))),
        {}
      )
      assert.isTrue(outcome._tag === "Failed" && outcome.failure._tag === "PartialData" && !("next" in outcome.failure))
    }))
})
