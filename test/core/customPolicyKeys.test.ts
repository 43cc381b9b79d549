import { assert, describe, it } from "@effect/vitest"
import { Dispatch, Observer, Tool, ToolCall, Toolkit, type ToolUnavailable } from "@fallible/core"
import { Effect, Schedule, Schema } from "effect"
import { call, custom, later, stepping } from "../support/customPolicies.ts"
import { lettered } from "../support/lettered.ts"
import { doing, refused, sunny } from "../support/sequence.ts"
import { passing } from "../support/virtualTime.ts"

describe("keys, whatever a policy does:", () => {
  it.effect("an abandoned attempt takes no number that a later one needs for an inner tool", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const inner = Tool.make(
        "inner",
        { description: "", success: Schema.Void, sideEffect: "none" },
        () => Effect.map(ToolCall.current, ({ idempotencyKey }) => void keys.push(idempotencyKey))
      )
      const twoSteps = Effect.andThen(inner.run({}), Effect.andThen(Effect.sleep(300), inner.run({})))
      const tool = stepping([
        Effect.uninterruptible(Effect.as(Effect.andThen(Effect.sleep(1_200), twoSteps), "too late")),
        Effect.as(twoSteps, "in time")
      ], "idempotent").pipe(Tool.timeout("1 second"), Tool.retry(Schedule.spaced(100)))
      yield* passing(
        Dispatch.call(Toolkit.make(tool), call, { idempotencyKey: "key" }).pipe(
          Effect.andThen(Effect.sleep("1 minute"))
        )
      )
      assert.strictEqual(lettered(keys), "a a b b")
    }))

  describe("numbers used by runs inside a custom policy", () => {
    const inner = (keys: Array<string>) =>
      Tool.make(
        "inner",
        { description: "", success: Schema.Void, sideEffect: "none" },
        () => Effect.map(ToolCall.current, ({ idempotencyKey }) => void keys.push(idempotencyKey))
      ).run({})

    it.effect("of tools are not given to later runs", () =>
      Effect.gen(function*() {
        const keys: Array<string> = []
        const failed = Effect.fail(refused)
        const tool = stepping([
          Effect.andThen(inner(keys), Effect.andThen(inner(keys), failed)),
          Effect.andThen(Effect.sleep(100), Effect.andThen(inner(keys), failed))
        ]).pipe(
          Tool.with(
            custom((run) => (params) =>
              Effect.flatMap(
                Effect.all([Effect.exit(run(params)), Effect.exit(run(params))], { concurrency: 2 }),
                ([first]) => first
              )
            )
          ),
          Tool.fallback(() => Effect.as(inner(keys), "sunny"))
        )
        yield* passing(Dispatch.call(Toolkit.make(tool), call, { idempotencyKey: "key" }))
        assert.strictEqual(lettered(keys), "a b a c")
      }))

    it.effect("of tools are not reused, even after an abandoned run", () =>
      Effect.gen(function*() {
        const keys: Array<string> = []
        const tool = stepping([Effect.andThen(inner(keys), later(60_000, sunny))]).pipe(
          Tool.with(custom<ToolUnavailable>((run) => (params) =>
            Effect.andThen(Effect.forkDetach(run(params), { startImmediately: true }), Effect.fail(refused))
          )),
          Tool.fallback(() =>
            Effect.as(inner(keys), "sunny")
          )
        )
        yield* passing(Dispatch.call(Toolkit.make(tool), call, { idempotencyKey: "key" }))
        assert.strictEqual(lettered(keys), "a b")
      }))

    it.effect("of policies differ, so each policy's own tools have other keys", () =>
      Effect.gen(function*() {
        const keys: Array<string> = []
        const asking = (name: string) => custom((run) => (params) => Effect.andThen(inner(keys), run(params)), name)
        const tool = doing(sunny).pipe(
          Tool.with(asking("first")),
          Tool.retry(Schedule.recurs(1)),
          Tool.with(asking("second")),
          Tool.timeout("1 second"),
          Tool.with(asking("second"))
        )
        yield* Dispatch.call(Toolkit.make(tool), call, { idempotencyKey: "key" })
        assert.strictEqual(lettered(keys), "a b c")
      }))

    it.effect("of replies are not reused for a later question", () =>
      Effect.gen(function*() {
        const asking = ToolCall.ask("Sure?")
        const tool = stepping([Effect.andThen(asking, Effect.fail(refused))]).pipe(
          Tool.with(custom((run) => run)),
          Tool.fallback(() => asking)
        )
        const replies = [{ id: "key", question: "Sure?", reply: "yes" }]
        const outcome = yield* Dispatch.call(Toolkit.make(tool), call, { idempotencyKey: "key", replies })
        assert.strictEqual(outcome._tag, "Suspended")
      }))
  })

  it.effect("an abandoned attempt gets no reply", () =>
    Effect.gen(function*() {
      const replied: Array<string> = []
      const asking = Effect.map(ToolCall.ask("Sure?"), (reply) => {
        replied.push(reply)
        return reply
      })
      const late = stepping([Effect.uninterruptible(Effect.andThen(Effect.sleep("2 seconds"), asking))]).pipe(
        Tool.timeout("1 second")
      )
      const replies = [{ id: "key", question: "Sure?", reply: "yes" }]
      const outcome = yield* passing(
        Dispatch.call(Toolkit.make(late), call, { idempotencyKey: "key", replies }).pipe(
          Effect.tap(Effect.sleep("1 minute")),
          Observer.observe({ onDefect: () => Effect.void })
        )
      )
      assert.strictEqual(outcome._tag, "Failed")
      assert.deepStrictEqual(replied, [])
    }))
})
