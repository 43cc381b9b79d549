/** A handler runs in a separate fiber. Tests what happens to it, and to the fibers around it. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Model, Tool, Toolkit } from "@fallible/core"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Effect, Exit, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { definition, handling, logging, outcomeOf, sibling } from "../support/illTyped.ts"
import type { Untyped } from "../support/nonsense.ts"
import { paris } from "../support/sequence.ts"
import { macrotask } from "../support/virtualTime.ts"

describe("a handler that breaks its fiber", () => {
  it.live("fails alone, with or without a time limit, or with one that never ends", () =>
    Effect.gen(function*() {
      const breaking = handling(() => Effect.flatMap(Effect.void, (): Untyped => 7 as Untyped))
      for (const tool of [breaking, Tool.timeout(breaking, "1 second"), Tool.timeout(breaking, "Infinity")]) {
        const { value } = yield* logging(outcomeOf(tool))
        assert.strictEqual(value._tag === "Failed" && value.failure.code, "defect")
      }
    }))
})

describe("a handler's own fiber", () => {
  it.effect("may be interrupted by the handler, without harm to the run", () =>
    Effect.gen(function*() {
      const tool = handling(() =>
        Effect.andThen(
          Effect.withFiber((fiber) => Effect.sync(() => fiber.interruptUnsafe())),
          Effect.never
        )
      )
      const agent = Agent.make({ toolkit: Toolkit.make(tool as typeof sibling, sibling) })
      const { value } = yield* logging(agent.run("?"))
      assert.strictEqual(value.text, "Done.")
      assert.deepStrictEqual(value.report.failures.map(({ code }) => code), ["defect"])
    }).pipe(
      Effect.provide(
        ScriptedModel.layer([ScriptedModel.calls(["p", paris], ["sibling", paris]), ScriptedModel.text("Done.")])
      )
    ))

  it("may take any number of steps in a synchronous program", () => {
    const steps = Effect.forEach(Array.from({ length: 10_000 }), () => Effect.sync(() => 1))
    const tool = Tool.make("p", definition, () => Effect.map(steps, ({ length }) => String(length)))
    assert.strictEqual(Effect.runSync(tool.run(paris)), "10000")
  })

  it.effect("ends before an interrupted caller continues, and its late defect is not lost", () =>
    Effect.gen(function*() {
      const ended: Array<string> = []
      const tool = Tool.make("p", definition, () =>
        Effect.never.pipe(
          Effect.ensuring(Effect.andThen(Effect.sleep("1 second"), Effect.sync(() => ended.push("handler")))),
          Effect.onInterrupt(() => Effect.die("dropped"))
        ))
      const fiber = yield* Effect.forkChild(tool.run(paris))
      yield* Effect.yieldNow
      const interruption = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* TestClock.adjust("999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(interruption)
      const exit = yield* Fiber.await(fiber)
      assert.deepStrictEqual(ended, ["handler"])
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause) && Cause.hasDies(exit.cause))
    }))

  it.effect("is uninterruptible if the caller is, except parts that are explicitly interruptible", () =>
    Effect.gen(function*() {
      const ended: Array<string> = []
      const tool = Tool.make("p", definition, () =>
        Effect.gen(function*() {
          yield* Effect.sleep("1 second")
          yield* Effect.exit(Effect.interruptible(Effect.never))
          return yield* Effect.sync(() => `${ended.push("handler")}`)
        }))
      const caller = tool.run(paris).pipe(Effect.tap(() => Effect.sync(() => ended.push("caller"))))
      const fiber = yield* Effect.forkChild(Effect.uninterruptible(caller))
      yield* Effect.yieldNow
      fiber.interruptUnsafe()
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(ended, [])
      yield* TestClock.adjust("1 millis")
      assert.isDefined(fiber.pollUnsafe())
      assert.deepStrictEqual(ended, ["handler", "caller"])
    }))

  it.effect("is interrupted with the run, without a report of a fault in the journal, the model or the tool", () =>
    Effect.gen(function*() {
      const journal = { step: <A, E, R>(_: unknown, effect: Effect.Effect<A, E, R>) => Effect.map(effect, (a) => a) }
      const tool = Tool.make("p", definition, () => Effect.never)
      const hanging = Model.layer({ respond: () => Effect.never })
      const calling = ScriptedModel.layer([ScriptedModel.call("p", paris)])
      for (const layer of [hanging, calling]) {
        const { logged } = yield* logging(Effect.gen(function*() {
          const run = Agent.make({ toolkit: Toolkit.make(tool) }).run("?").pipe(
            Effect.provide(layer),
            Effect.provideService(Journal.current, journal)
          )
          const fiber = yield* Effect.forkChild(run, { startImmediately: true })
          yield* macrotask
          yield* Fiber.interrupt(fiber)
        }))
        assert.deepStrictEqual(logged, [])
      }
    }))

  it.effect("ends its forked children, and nothing else", () =>
    Effect.gen(function*() {
      const ended: Array<string> = []
      const going = (name: string) =>
        Effect.onExit(Effect.sleep("1 second"), (exit) => Effect.sync(() => ended.push(`${name}: ${exit._tag}`)))
      const fork = { startImmediately: true }
      const tool = Tool.make("p", definition, () =>
        Effect.gen(function*() {
          yield* Effect.forkChild(going("child"), fork)
          yield* Effect.forkDetach(going("detached"), fork)
          return "done"
        }))
      yield* tool.run(paris)
      assert.deepStrictEqual(ended, ["child: Failure"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(ended, ["child: Failure", "detached: Success"])
    }))

  const steps: Readonly<Record<string, <A, E, R>(inner: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>>> = {
    "in one go": (inner) => inner,
    later: (inner) => Effect.andThen(Effect.yieldNow, inner)
  }
  for (const [when, step] of Object.entries(steps)) {
    const descend = (bottom: Effect.Effect<number>) => {
      const counts = { opened: 0, closed: 0 }
      const tool: Tool.Tool<"p", { readonly n: number }, number> = Tool.make("p", {
        description: "",
        parameters: Schema.Struct({ n: Schema.Number }),
        success: Schema.Number
      }, ({ n }) =>
        Effect.suspend(() => {
          counts.opened++
          const inner: Effect.Effect<number> = n === 0
            ? bottom
            : Effect.map(step(Effect.suspend(() => tool.run({ n: n - 1 }))), (m) => m + 1)
          return Effect.ensuring(inner, Effect.sync(() => counts.closed++))
        }))
      return { counts, run: tool.run({ n: 5000 }) }
    }

    it.live(`uses no stack for thousands of nested tools, each started ${when}`, () =>
      Effect.gen(function*() {
        const { counts, run } = descend(Effect.succeed(0))
        assert.strictEqual(yield* run, 5000)
        assert.deepStrictEqual(counts, { opened: 5001, closed: 5001 })
      }))

    it.live(`uses no stack when all of them are interrupted, each started ${when}`, () =>
      Effect.gen(function*() {
        const { promise, resolve } = Promise.withResolvers<void>()
        const { counts, run } = descend(Effect.andThen(Effect.sync(resolve), Effect.never))
        const fiber = yield* Effect.forkChild(run)
        yield* Effect.promise(() => promise)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(counts, { opened: 5001, closed: 5001 })
      }))
  }

  it("uses no stack in a synchronous program", () => {
    const tool: Tool.Tool<"p", { readonly n: number }, number> = Tool.make(
      "p",
      { description: "", parameters: Schema.Struct({ n: Schema.Number }), success: Schema.Number },
      ({ n }) => n === 0 ? Effect.succeed(0) : Effect.map(Effect.suspend(() => tool.run({ n: n - 1 })), (m) => m + 1)
    )
    assert.strictEqual(Effect.runSync(tool.run({ n: 5000 })), 5000)
  })
})
