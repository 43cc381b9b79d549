import { assert, describe, it } from "@effect/vitest"
import { Agent, Defect, Dispatch, Tool, Toolkit } from "@fallible/core"
import type { Model } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Effect, Fiber, Logger, References, Schema } from "effect"
import { TestClock } from "effect/testing"

const logging = Tool.make(
  "logging",
  { description: "Logs", success: Schema.String, sideEffect: "none" },
  () => Effect.as(Effect.logInfo("here"), "done")
)

class NoRows extends Error {}
const broken = Tool.make(
  "broken",
  { description: "Breaks", success: Schema.String, sideEffect: "none" },
  () =>
    Effect.sync((): string => {
      throw new NoRows("no rows")
    })
)

/** What is logged, with its annotations and its cause. */
const logged = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const lines: Array<{ readonly message: string; readonly annotations: object; readonly cause: unknown }> = []
    const logger = Logger.make(({ cause, fiber, message }) => {
      lines.push({
        message: String(message),
        annotations: fiber.getRef(References.CurrentLogAnnotations),
        cause: cause.reasons.length === 0 ? undefined : Cause.squash(cause)
      })
    })
    return Effect.as(Effect.provide(self, Logger.layer([logger])), lines)
  })

const inRun = (...script: ReadonlyArray<Model.Reply>) =>
  Effect.provide(
    Agent.make({ toolkit: Toolkit.make(logging, broken) }).run("?"),
    ScriptedModel.layer([...script, ScriptedModel.text("done")])
  )

describe("logs", () => {
  it.effect("G4 say run, turn, tool and call, and what was said of them before", () =>
    Effect.gen(function*() {
      const two = { text: "", calls: [{ id: "a", name: "logging" }, { id: "b", name: "logging" }] }
      const lines = yield* logged(
        inRun(ScriptedModel.call("logging"), two).pipe(Effect.annotateLogs({ request: "r-1", tool: "none yet" }))
      )
      const [first] = lines
      const run = first?.annotations["run" as keyof object]
      assert.match(run ?? "", /^run-/)
      assert.deepStrictEqual(lines.map(({ annotations }) => annotations), [
        { request: "r-1", run, turn: 1, tool: "logging", call: `${run}/turn/1/call/1` },
        { request: "r-1", run, turn: 2, tool: "logging", call: `${run}/turn/2/call/1` },
        { request: "r-1", run, turn: 2, tool: "logging", call: `${run}/turn/2/call/2` }
      ])
    }))

  it.effect("G4 say tool and call where there is no run", () =>
    Effect.gen(function*() {
      const call = { id: "1", name: "logging" }
      const lines = yield* logged(Dispatch.call(Toolkit.make(logging), call, { idempotencyKey: "order-7" }))
      assert.deepStrictEqual(lines.map(({ annotations }) => annotations), [{ tool: "logging", call: "order-7" }])
    }))

  it.effect("G4 have a defect whole, and once", () =>
    Effect.gen(function*() {
      const lines = yield* logged(inRun(ScriptedModel.call("broken")))
      assert.deepStrictEqual(lines.map(({ message }) => message), [
        "The tool broken failed because of a fault of its own"
      ])
      const [{ annotations, cause }] = lines as [typeof lines[number]]
      assert.isTrue(cause instanceof NoRows && cause.message === "no rows")
      assert.includeMembers(Object.keys(annotations), ["run", "turn", "tool", "call"])
    }))

  it.effect("G4 leave a defect to a reporter, where there is one", () =>
    Effect.gen(function*() {
      const reported: Array<unknown> = []
      const reporter: Defect.Reporter = (message, cause) =>
        Effect.map(References.CurrentLogAnnotations, ({ turn }) => {
          reported.push([message, Cause.squash(cause) instanceof NoRows, turn])
        })
      const lines = yield* logged(
        Effect.provideService(inRun(ScriptedModel.call("broken")), Defect.reporter, reporter)
      )
      assert.deepStrictEqual(lines, [])
      assert.deepStrictEqual(reported, [["The tool broken failed because of a fault of its own", true, 1]])
    }))

  for (
    const [how, reporter] of [
      ["dies", () => Effect.die("reporter down")],
      ["throws", () => {
        throw new Error("reporter down")
      }]
    ] as const
  ) {
    it.effect(`G4 let the run go on when a reporter ${how} itself`, () =>
      Effect.gen(function*() {
        const answer = yield* Effect.provideService(inRun(ScriptedModel.call("broken")), Defect.reporter, reporter)
        assert.strictEqual(answer.text, "done")
      }))
  }

  for (
    const [manner, hang] of [["", Effect.never], [
      ", ignoring its interruption",
      Effect.uninterruptible(Effect.never)
    ]] as const
  ) {
    it.effect(`G4 let the run go on when a reporter hangs${manner}`, () =>
      Effect.gen(function*() {
        const run = Effect.provideService(inRun(ScriptedModel.call("broken")), Defect.reporter, () => hang)
        const fiber = yield* Effect.forkChild(run, { startImmediately: true })
        yield* TestClock.adjust(999)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* Fiber.join(fiber)).text, "done")
      }))
  }

  it.effect("report what a handler dies of that was timed out before", () =>
    Effect.gen(function*() {
      const reported: Array<string> = []
      const reporter: Defect.Reporter = (message) => Effect.sync(() => reported.push(message))
      const late = Tool.make("late", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        Effect.uninterruptible(Effect.andThen(Effect.sleep("2 seconds"), Effect.die("too late")))).pipe(
          Tool.timeout("1 second")
        )
      const fiber = yield* late.run({}).pipe(
        Effect.exit,
        Effect.provideService(Defect.reporter, reporter),
        Effect.forkChild({ startImmediately: true })
      )
      yield* TestClock.adjust(1999)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(reported, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(reported, ["A handler that had been timed out ended with a fault of its own"])
    }))
})
