import { assert, describe, it } from "@effect/vitest"
import { Tool, type ToolUnavailable } from "@fallible/core"
import { Effect, Fiber, Schema } from "effect"

type Descending = Tool.Tool<"p", { readonly n: number }, number, ToolUnavailable>

describe("nested tools, each with a timeout", () => {
  const descend = (
    bottom: Effect.Effect<number>,
    step: <A, E, R>(inner: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  ) => {
    const counts = { opened: 0, closed: 0 }
    const tool: Descending = Tool.make("p", {
      description: "",
      parameters: Schema.Struct({ n: Schema.Number }),
      success: Schema.Number,
      sideEffect: "none"
    }, ({ n }) =>
      Effect.suspend(() => {
        counts.opened++
        const inner: Effect.Effect<number, ToolUnavailable> = n === 0
          ? bottom
          : Effect.map(step(Effect.suspend(() => tool.run({ n: n - 1 }))), (m) => m + 1)
        return Effect.ensuring(inner, Effect.sync(() => counts.closed++))
      })).pipe(Tool.timeout("1 hour"))
    return { counts, run: tool.run({ n: 5000 }) }
  }

  for (
    const [when, step] of [["in one go", (inner) => inner], [
      "later",
      (inner) => Effect.andThen(Effect.yieldNow, inner)
    ]] as ReadonlyArray<
      readonly [string, <A, E, R>(inner: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>]
    >
  ) {
    it.live(`use no stack, each started ${when}`, () =>
      Effect.gen(function*() {
        const { counts, run } = descend(Effect.succeed(0), step)
        assert.strictEqual(yield* run, 5000)
        assert.deepStrictEqual(counts, { opened: 5001, closed: 5001 })
      }))

    it.live(`use no stack when all of them are interrupted, each started ${when}`, () =>
      Effect.gen(function*() {
        const { promise, resolve } = Promise.withResolvers<void>()
        const { counts, run } = descend(Effect.andThen(Effect.sync(resolve), Effect.never), step)
        const fiber = yield* Effect.forkChild(run)
        yield* Effect.promise(() => promise)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(counts, { opened: 5001, closed: 5001 })
      }))
  }
})
