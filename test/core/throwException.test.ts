import { assert, describe, it } from "@effect/vitest"
import { Agent, Fixer, Tool, Toolkit } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Exit, Schedule } from "effect"
import { unclosed, weather } from "../support/fixing.ts"

const stop = () => Fixer.throwException("Somebody tries something.")

describe("C5: throwException", () => {
  it.effect("ends the run with RunStopped and the reason if the arguments cannot be decoded or are rejected", () =>
    Effect.gen(function*() {
      for (const args of [unclosed, "{\"city\":\"paris\"}"]) {
        const { asked, tool } = weather()
        const hard = tool.pipe(
          Tool.retry(Schedule.recurs(3)),
          Tool.fix(stop, { tries: 3 }),
          Tool.retry(Schedule.recurs(3)),
          Tool.catchTag("SemanticGarbage", () => Effect.succeed("caught")),
          Tool.fallback(() => Effect.succeed("fell back"))
        )
        const failure = yield* Effect.flip(Agent.make({ toolkit: Toolkit.make(hard) }).run("?")).pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.call("get_weather", args)]))
        )
        if (failure._tag !== "RunStopped") return assert.fail(failure._tag)
        assert.strictEqual(failure.reason, "Somebody tries something.")
        assert.deepStrictEqual(failure.report.failures.map(({ handling }) => handling), ["stopped"])
        assert.isAtMost(asked.length, 1)
      }
    }))

  it.effect("ends the run even if a program without types gives no reason", () =>
    Effect.gen(function*() {
      const reasons: ReadonlyArray<readonly [never, string]> = [
        [undefined as never, "The fixer gave no reason."],
        [new Error("A trick.") as never, "A trick."]
      ]
      for (const [reason, expected] of reasons) {
        const tool = weather().tool.pipe(Tool.fix(() => Fixer.throwException(reason)))
        const failure = yield* Effect.flip(Agent.make({ toolkit: Toolkit.make(tool) }).run("?")).pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.call("get_weather", unclosed)]))
        )
        assert.strictEqual(failure._tag === "RunStopped" && failure.reason, expected)
      }
    }))

  it.effect("ends a run with a deadline too", () =>
    Effect.gen(function*() {
      const tool = weather().tool.pipe(Tool.fix(() => Effect.andThen(Effect.yieldNow, stop())))
      const agent = Agent.make({ toolkit: Toolkit.make(tool), limits: { elapsed: "1 minute" } })
      const failure = yield* Effect.flip(agent.run("?")).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("get_weather", unclosed)]))
      )
      assert.strictEqual(failure._tag, "RunStopped")
    }))

  it.effect("dies outside a run", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(weather().tool.pipe(Tool.fix(stop)).run({ city: "paris" }))
      assert.isTrue(Exit.hasDies(exit))
    }))
})
