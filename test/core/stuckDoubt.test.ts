/** Loops, limits and big results never lose doubt, never stop what is meant, and show nothing that is hidden. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, SemanticGarbage, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
import * as Journal from "@fallible/core/Journal"
import * as Rendering from "@fallible/core/Rendering"
import * as ToolHealth from "@fallible/core/ToolHealth"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { FileJournal } from "../support/fileJournal.ts"
import { heard } from "../support/plainTools.ts"

const parameters = Schema.Struct({ to: Schema.String })
const definition = { description: "", parameters, success: Schema.Json } as const
const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: false, outcome: "unknown" })
const acting = ["non_idempotent", "idempotent_by_key", "idempotent"] as const

/** Plays a model that makes the same call each time, and returns what it read after each. */
const read = <T extends Tool.Any>(agent: Agent.Agent<T>, name: string, count: number) =>
  Effect.gen(function*() {
    yield* Effect.exit(agent.run("?"))
    const { requests } = yield* ScriptedModel.ScriptedModel
    return (yield* requests).slice(1).map(heard)
  }).pipe(Effect.provide(ScriptedModel.layer((_, index) =>
    index < count ? ScriptedModel.call(name, { to: "a" }) : ScriptedModel.text("done")
  )))

describe("a payment in doubt", () => {
  for (const sideEffect of acting) {
    it.effect(`keeps its doubt if a limit refuses it: ${sideEffect}`, () =>
      Effect.gen(function*() {
        const pay = Tool.make("pay", { ...definition, sideEffect, identity: "all" }, () => Effect.fail(lost))
        for (const limits of [{ consecutive: 1 }, { callsPerTool: 1 }, { calls: 1 }]) {
          const agent = Agent.make({ toolkit: Toolkit.make(pay), limits })
          const [, second = ""] = yield* read(agent, "pay", 2)
          assert.match(second, /it may already have taken effect/i)
          assert.notMatch(second, /another (?:tool|one)/)
        }
      }))
  }

  it.effect("keeps its advice in a request whose other results are shortened", () =>
    Effect.gen(function*() {
      const pay = Tool.make("pay", definition, () => Effect.fail(lost))
      let reports = 0
      const report = Tool.make("report", { ...definition, sideEffect: "none" }, () =>
        Effect.sync(() =>
          `${++reports} `.repeat(20_000)
        ))
      for (const rendering of [Rendering.json, Rendering.prose]) {
        const texts = yield* Effect.gen(function*() {
          const agent = Agent.make({ toolkit: Toolkit.make(pay, report), limits: { turns: 20 }, rendering })
          yield* agent.run("?")
          const { requests } = yield* ScriptedModel.ScriptedModel
          return (yield* requests).map(({ messages }) => messages.find(({ role }) => role === "tool"))
        }).pipe(Effect.provide(ScriptedModel.layer((_, index) =>
          index === 0
            ? ScriptedModel.call("pay", { to: "a" })
            : index < 14
            ? ScriptedModel.call("report", { to: `${index}` })
            : ScriptedModel.text("done")
        )))
        for (const message of texts.slice(1)) {
          assert.include(message?.role === "tool" && message.text, "it may already have taken effect")
        }
      }
    }))
})

describe("the guard against loops", () => {
  it.effect("lets idempotent effects alternate, since each changes the world", () =>
    Effect.gen(function*() {
      const move = Tool.make("move", { ...definition, sideEffect: "idempotent" }, () => Effect.succeed("ok"))
      const answer = yield* Agent.make({ toolkit: Toolkit.make(move), limits: { turns: 30 } }).run("?")
      assert.strictEqual(answer.report.calls, 20)
      assert.deepStrictEqual(answer.report.failures, [])
    }).pipe(Effect.provide(ScriptedModel.layer((_, index) =>
      index < 20 ? ScriptedModel.call("move", { to: index % 2 === 0 ? "a" : "b" }) : ScriptedModel.text("done")
    ))))

  it.effect("lets a tool run again that was disabled", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      const look = Tool.make("look", { ...definition, sideEffect: "none" }, () => Effect.succeed("seen"))
      yield* health.disable("look", "moving")
      const agent = Agent.make({ toolkit: Toolkit.make(look) })
      const answer = yield* agent.run("?").pipe(
        Effect.provide(ScriptedModel.layer((request, index) => {
          if (index === 3) Effect.runSync(health.enable("look"))
          return heard(request).includes("seen") ? ScriptedModel.text("seen") : ScriptedModel.call("look", { to: "a" })
        }))
      )
      assert.strictEqual(answer.text, "seen")
    }).pipe(Effect.provide(ToolHealth.layer)))

  it.effect("finds a loop over as many calls as its window, also in one turn", () =>
    Effect.gen(function*() {
      const look = Tool.make("look", { ...definition, sideEffect: "none" }, () => Effect.succeed("same"))
      const agent = Agent.make({ toolkit: Toolkit.make(look), limits: { turns: 100 }, loopGuard: { window: 6 } })
      const calls = Array.from({ length: 6 }, (_, n) => ["look", { to: `${n}` }] as const)
      const scripts: ReadonlyArray<ScriptedModel.Script> = [
        () => ScriptedModel.calls(...calls),
        (_, index) => ScriptedModel.calls(calls[index % 6]!)
      ]
      for (const script of scripts) {
        const failure = yield* Effect.flip(Effect.provide(agent.run("?"), ScriptedModel.layer(script)))
        assert.strictEqual(failure._tag, "LoopDetected")
      }
    }))
})

describe("a tool that is polled", () => {
  const polled = (result: (time: number) => Schema.Json) => {
    let time = 0
    return Tool.make(
      "state",
      { ...definition, sideEffect: "none", poll: { every: "1 second" } },
      () => Effect.sync(() => result(++time))
    )
  }

  for (const [what, size] of [["a short", 1], ["a big", 60_000]] as const) {
    it.effect(`is polled until ${what} result changes, also without the guard`, () =>
      Effect.gen(function*() {
        const tool = polled((time) => (time < 5 ? "running " : "done ").repeat(size))
        const agent = Agent.make({ toolkit: Toolkit.make(tool), loopGuard: "off" })
        const fiber = yield* Effect.forkChild(read(agent, "state", 2))
        yield* TestClock.adjust("1 minute")
        const [first = "", second = ""] = yield* Fiber.join(fiber)
        assert.include(first, "running")
        assert.include(second, "done")
      }))
  }
})

describe("a rendering of one's own", () => {
  it.effect("hides what it hides, in refusals and in big results, too", () =>
    Effect.gen(function*() {
      const rows = Array.from({ length: 3000 }, (_, n) => ({ name: `name ${n}`, secret: `SECRET-${n}` }))
      const people = Tool.make("people", { ...definition, sideEffect: "none" }, () => Effect.succeed(rows))
      const rendering = (outcome: ToolOutcome.ToolOutcome) =>
        outcome._tag === "Completed"
          ? `${JSON.stringify(outcome.value).replaceAll(/,"secret":"[^"]*"/g, "")} ${outcome.caveats.join(" ")}`
          : outcome._tag === "Failed"
          ? outcome.failure.detail
          : ""
      const texts = yield* read(Agent.make({ toolkit: Toolkit.make(people), rendering }), "people", 11)
      assert.include(texts[2], "You already have this result")
      assert.include(texts[9], "you already have its result")
      assert.notMatch(texts.join(), /SECRET|read_more/)
    }))
})

describe("a concluding request", () => {
  it.effect("is a step of its own, so that a journal does not replay the request before it", () =>
    Effect.gen(function*() {
      const look = Tool.make(
        "look",
        { ...definition, sideEffect: "none" },
        ({ to }) => Effect.fail(new SemanticGarbage({ code: "unknown", detail: `Not ${to}.` }))
      )
      const agent = Agent.make({ toolkit: Toolkit.make(look), limits: { calls: 1 }, onLimit: "conclude" })
      const file = new FileJournal()
      const script: ScriptedModel.Script = ({ tools }, index) =>
        tools.length === 0 ? ScriptedModel.text("best") : ScriptedModel.call("look", { to: `${index}` })
      const process = file.process((journal) =>
        agent.run("?", { id: "job" }).pipe(
          Effect.provideService(Journal.current, journal),
          Effect.provide(ScriptedModel.layer(script))
        )
      )
      for (const exit of [yield* process, yield* process]) {
        assert.isTrue(exit?._tag === "Success" && exit.value.text === "best" && exit.value.concluded === "calls")
      }
    }))

  it.effect("has its own time, even if a tool hangs until the end of the rest", () =>
    Effect.gen(function*() {
      const hangs = Tool.make("hangs", { ...definition, sideEffect: "none" }, () => Effect.never)
      const agent = Agent.make({ toolkit: Toolkit.make(hangs), limits: { elapsed: "10 seconds" }, onLimit: "conclude" })
      const fiber = yield* Effect.forkChild(
        agent.run("?").pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.call("hangs", { to: "a" }), ScriptedModel.text("best")]))
        )
      )
      yield* TestClock.adjust("8999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      const answer = yield* Fiber.join(fiber)
      assert.deepInclude(answer, { text: "best", concluded: "elapsed" })
    }))
})
