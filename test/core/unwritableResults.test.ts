/** Results that are nested too deeply to be written. */
import { assert, describe, it } from "@effect/vitest"
import { PartialData, Tool } from "@fallible/core"
import * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Effect, Schema } from "effect"
import { outcomeOf, read } from "../support/illTyped.ts"

describe("a value that is nested too deeply", () => {
  const nested = (depth: number) => {
    let value: Schema.Json = 1
    for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { value }
    return value
  }
  const tool = (effect: Effect.Effect<Schema.Json, PartialData<Schema.Json>>) =>
    Tool.make("p", { description: "", success: Schema.Json, sideEffect: "none" }, () => effect)

  it.effect("is cut from 513 levels on, even as a part of a value", () =>
    Effect.gen(function*() {
      assert.deepInclude(yield* outcomeOf(tool(Effect.succeed(nested(512))), {}), { _tag: "Completed", caveats: [] })
      for (const depth of [513, 20_000]) {
        const partial = new PartialData({ code: "more_pages", detail: "More.", data: nested(depth) })
        for (const effect of [Effect.succeed(nested(depth)), Effect.fail(partial)]) {
          const outcome = yield* outcomeOf(tool(effect), {})
          assert.isTrue(Schema.is(ToolOutcome.schema)(outcome))
          assert.include(read(outcome), "What is marked '…' is left out: the result is too deep")
        }
      }
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
