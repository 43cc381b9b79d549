/** The steps that a run gives its journal, and the end of a run whose journal fails. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  Model,
  ModelFailure,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable,
  Transcript
} from "@fallible/core"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Effect, Exit, Schedule, Schema } from "effect"
import { logging } from "../support/illTyped.ts"
import { namingJournal } from "../support/namingJournal.ts"
import type { Untyped } from "../support/nonsense.ts"
import { once, pinging } from "../support/pinging.ts"

describe("Journal", () => {
  it.effect("sees each reply and each outcome as a step, named by its position", () =>
    Effect.gen(function*() {
      const { journal, names } = namingJournal()
      yield* pinging.run("Ping!").pipe(Effect.provideService(Journal.current, journal))
      assert.deepStrictEqual(names, ["run", "turn/1/model", "turn/1/call/1", "turn/1/call/2", "turn/2/model"])
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.calls(["ping"], ["ping"]), ScriptedModel.text("done")]))))

  it.effect("sees the steps of an agent inside a tool under the position of the tool's call", () =>
    Effect.gen(function*() {
      const { journal, names } = namingJournal()
      const model = ScriptedModel.layer([ScriptedModel.text("inner answer")])
      const consult = Tool.make(
        "consult",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => Effect.map(Effect.orDie(pinging.run("Ping!")), ({ text }) => text).pipe(Effect.provide(model))
      )
      yield* Agent.make({ toolkit: Toolkit.make(consult) }).run("Go").pipe(
        Effect.provideService(Journal.current, journal)
      )
      assert.deepStrictEqual(names.map((name) => name.replace(/run-[^/]+/, "run-…")), [
        "run",
        "turn/1/model",
        "turn/1/call/1",
        "turn/1/call/1/run-…/turn/1/model",
        "turn/2/model"
      ])
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("consult"), ScriptedModel.text("done")]))))

  it.effect("can replay recorded JSON instead of running a step", () =>
    Effect.gen(function*() {
      const written = new Map<string, string>()
      const recording: Journal.Journal = {
        step: (step, effect) =>
          Effect.tap(effect, (value) =>
            Effect.map(Effect.orDie(Schema.encodeEffect(step.success)(value)), (encoded) => {
              written.set(step.name, JSON.stringify(encoded))
            }))
      }
      const replaying: Journal.Journal = {
        step: (step) => Effect.orDie(Schema.decodeUnknownEffect(step.success)(JSON.parse(written.get(step.name)!)))
      }
      const first = yield* pinging.run("Ping!").pipe(
        Effect.provideService(Journal.current, recording),
        Effect.provide(ScriptedModel.layer(once))
      )
      const again = yield* pinging.run("Ping!").pipe(
        Effect.provideService(Journal.current, replaying),
        Effect.provide(ScriptedModel.layer([]))
      )
      assert.deepStrictEqual(Transcript.toArray(again.transcript), Transcript.toArray(first.transcript))
      assert.match(written.get("run")!, /^"run-\w+"$/)
    }))
})

describe("a journal that fails", () => {
  const world = () => {
    const done = { asked: 0, paid: 0, read: 0 }
    const act = (key: keyof typeof done) => () => Effect.sync(() => `${key} ${++done[key]}`)
    const pay = Tool.make("pay", { description: "", success: Schema.String }, act("paid"))
    const read = Tool.make("read", { description: "", success: Schema.String, sideEffect: "none" }, act("read"))
    const stop = Tool.make("stop", { description: "", success: Schema.String }, () => ToolCall.stop("Enough."))
    const script = [
      ScriptedModel.calls(["pay"], ["read"], ["pay"]),
      ScriptedModel.calls(["stop"]),
      ScriptedModel.text("Done.")
    ]
    const model = Model.layer({ respond: () => Effect.sync(() => script[done.asked++]!) })
    return { done, agent: Agent.make({ toolkit: Toolkit.make(pay, read, stop) }), model }
  }
  type Fail = Journal.Journal["step"]
  const failingAt = (name: string, step: Fail): Journal.Journal => ({
    step: (about, effect) => about.name === name ? step(about, effect) : effect
  })
  const halted = (name: string, step: Fail, options?: Agent.RunOptions) => {
    const { agent, done, model } = world()
    return Effect.map(
      logging(
        Effect.exit(Effect.provideService(agent.run("?", options), Journal.current, failingAt(name, step))).pipe(
          Effect.provide(model)
        )
      ),
      ({ logged, value }) => {
        const failure = Exit.isFailure(value) ? Cause.squash(value.cause) : undefined
        return failure instanceof AgentFailure.RunHalted
          ? { failure, logged, done }
          : assert.fail(JSON.stringify(value))
      }
    )
  }
  const lost = new Journal.JournalFailure({ detail: "The lease of this run is lost.", cause: new Error("no row") })
  const refuses: Fail = () => Effect.fail(lost)

  it.effect("halts the run at any step, and nothing of the run begins after that", () =>
    Effect.gen(function*() {
      const reached = {
        "run": { asked: 0, paid: 0, read: 0 },
        "turn/1/model": { asked: 0, paid: 0, read: 0 },
        "turn/1/call/1": { asked: 1, paid: 0, read: 0 },
        "turn/1/call/2": { asked: 1, paid: 1, read: 0 },
        "turn/1/call/3": { asked: 1, paid: 1, read: 1 },
        "turn/2/model": { asked: 1, paid: 1, read: 1 },
        "turn/2/call/1": { asked: 2, paid: 1, read: 1 }
      }
      for (const [name, expected] of Object.entries(reached)) {
        const { done, failure, logged } = yield* halted(name, refuses)
        assert.deepStrictEqual(done, expected, name)
        assert.strictEqual(failure.step, name)
        assert.strictEqual(failure.message, `The run halted at its step '${name}': The lease of this run is lost.`)
        assert.strictEqual(failure.cause, lost)
        assert.deepStrictEqual(logged, [])
      }
    }))

  it.effect("before a call leaves it in doubt: another process may have the journal, and make the call", () =>
    Effect.gen(function*() {
      const { failure } = yield* halted("turn/1/call/1", refuses)
      assert.deepStrictEqual(failure.report.failures.map(({ code }) => code), ["halted", "halted", "halted"])
      assert.deepStrictEqual(
        failure.report.failures.map((entry) => "certainty" in entry ? entry.certainty : undefined),
        ["unknown", "not_executed", "unknown"]
      )
      const { agent, done } = world()
      const answer = yield* agent.run("Pay.", { facts: failure.facts }).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay"), ScriptedModel.text("Done.")]))
      )
      assert.strictEqual(done.paid, 0)
      assert.deepStrictEqual(answer.report.failures.map(({ code }) => code), ["in_doubt"])
    }))

  it.effect("before a call of a tool that is gone leaves it in doubt, too", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(
        Agent.make({ toolkit: Toolkit.empty }).run("?").pipe(
          Effect.provideService(Journal.current, failingAt("turn/1/call/1", refuses)),
          Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay")]))
        )
      )
      assert.deepInclude(failure.report.failures[0], { certainty: "unknown", tool: "pay" })
    }))

  it.effect("lets nothing begin that it left behind", () =>
    Effect.gen(function*() {
      const { done, failure } = yield* halted("turn/1/call/1", (_, effect) =>
        Effect.andThen(
          Effect.forkDetach(Effect.andThen(Effect.yieldNow, effect)),
          Effect.fail(lost)
        ))
      for (let turn = 0; turn < 200; turn++) yield* Effect.yieldNow
      assert.strictEqual(done.paid, 0)
      assert.strictEqual(failure.step, "turn/1/call/1")
    }))

  it.effect("does not ask the model to conclude", () =>
    Effect.gen(function*() {
      const read = Tool.make("read", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        Effect.succeed("same"))
      let asked = 0
      const failure = yield* Effect.flip(
        Agent.make({ toolkit: Toolkit.make(read), onLimit: "conclude" }).run("?").pipe(
          Effect.provideService(Journal.current, failingAt("turn/6/call/1", refuses)),
          Effect.provide(Model.layer({
            respond: () =>
              Effect.sync(() => {
                asked++
                return ScriptedModel.call("read")
              })
          }))
        )
      )
      assert.strictEqual(failure._tag, "RunHalted")
      assert.strictEqual(asked, 6)
    }))

  it.effect("after a call knows what it did", () =>
    Effect.gen(function*() {
      const { done, failure } = yield* halted(
        "turn/1/call/1",
        (_, effect) => Effect.andThen(effect, Effect.fail(lost))
      )
      assert.strictEqual(done.paid, 1)
      assert.include(JSON.stringify(Transcript.toArray(failure.transcript)), "paid 1")
      const { agent, done: later } = world()
      yield* agent.run("Pay.", { facts: failure.facts }).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay"), ScriptedModel.text("Done.")]))
      )
      assert.strictEqual(later.paid, 0)
    }))

  it.effect("inside a call leaves it in doubt", () =>
    Effect.gen(function*() {
      const { failure } = yield* halted(
        "turn/1/call/1",
        (_, effect) => Effect.andThen(Effect.interruptible(Effect.timeoutOption(effect, 0)), Effect.fail(lost))
      )
      assert.include(JSON.stringify(Transcript.toArray(failure.transcript)), "paid 1")
      const never = Tool.make("pay", { description: "", success: Schema.String }, () => Effect.never)
      const cut = yield* Effect.flip(
        Agent.make({ toolkit: Toolkit.make(never) }).run("?").pipe(
          Effect.provideService(
            Journal.current,
            failingAt("turn/1/call/1", (_, effect) =>
              Effect.andThen(Effect.raceFirst(effect, Effect.yieldNow), Effect.fail(lost)))
          ),
          Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay")]))
        )
      )
      assert.deepInclude(cut.report.failures[0], { certainty: "unknown", tool: "pay" })
    }))

  it.effect("by a defect, or with a result that the step cannot have, halts it too, and is logged", () =>
    Effect.gen(function*() {
      for (
        const [step, cause] of [
          [() => Effect.die("full"), "full"],
          [() => assert.fail("boom"), "boom"],
          [() => Effect.succeed(7 as never), "The journal's result of 'turn/1/model' does not match the schema"],
          [() => Effect.fail("no" as never), "no"]
        ] satisfies ReadonlyArray<readonly [Fail, string]>
      ) {
        const { done, failure, logged } = yield* halted("turn/1/model", step)
        assert.include(String(failure.cause), cause)
        assert.include(logged[0], "The journal failed with an internal error at 'turn/1/model'")
        assert.strictEqual(done.paid, 0)
      }
    }))

  it.effect("is not blamed for failures that it only passes on", () =>
    Effect.gen(function*() {
      const native: Untyped = { source: "elsewhere", message: { content: undefined } }
      const journal: Journal.Journal = { step: (_, effect) => Effect.map(effect, (value) => value) }
      const { logged, value } = yield* logging(
        Effect.exit(Effect.provideService(world().agent.run("?"), Journal.current, journal)).pipe(
          Effect.provide(ScriptedModel.layer([{ text: "Done.", calls: [], native }]))
        )
      )
      assert.deepStrictEqual(logged, [])
      assert.isTrue(Exit.isSuccess(value))
    }))

  it.effect("takes precedence over a stop of the same turn", () =>
    Effect.gen(function*() {
      const { failure } = yield* halted("turn/2/call/1", (_, effect) => Effect.andThen(effect, Effect.fail(lost)))
      assert.strictEqual(failure.step, "turn/2/call/1")
    }))
})

describe("a journal that is interrupted", () => {
  const pay = (paid: { count: number }) =>
    Tool.make("pay", { description: "", success: Schema.String }, () => Effect.sync(() => `${++paid.count}`))
  const steps = ["run", "turn/1/model", "turn/1/call/1", "turn/2/model"]

  it.effect("interrupts the run, at each step, before and after it", () =>
    Effect.gen(function*() {
      for (const name of steps) {
        for (const isAfter of [false, true]) {
          const paid = { count: 0 }
          const journal: Journal.Journal = {
            step: (step, effect) =>
              step.name !== name ? effect : isAfter ? Effect.andThen(effect, Effect.interrupt) : Effect.interrupt
          }
          const { logged, value } = yield* logging(
            Effect.exit(
              Agent.make({ toolkit: Toolkit.make(pay(paid)) }).run("?").pipe(
                Effect.provideService(Journal.current, journal),
                Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay"), ScriptedModel.text("Done.")]))
              )
            )
          )
          assert.isTrue(Exit.isFailure(value) && Cause.hasInterruptsOnly(value.cause), `${name} ${isAfter}`)
          assert.deepStrictEqual(logged, [])
          assert.strictEqual(paid.count, name === "turn/2/model" || isAfter && name === "turn/1/call/1" ? 1 : 0)
        }
      }
    }))
})

describe("the journal of an agent inside a tool", () => {
  const records = () => {
    const known = new Map<string, Exit.Exit<unknown, unknown>>()
    const began = new Set<string>()
    // Lives as long as a process does: `stopAt` ends it inside a step.
    const journal = (stopAt?: string): Journal.Journal => ({
      step: (step, effect) => {
        const exit = known.get(step.name)
        if (exit !== undefined) return exit as typeof effect
        const work = began.has(step.name) ? step.lost ?? effect : effect
        began.add(step.name)
        return Effect.flatMap(Effect.exit(work), (exit) => {
          if (step.name.endsWith(stopAt ?? "-")) return Effect.interrupt
          // A step that was stopped has no result.
          if (!Exit.hasInterrupts(exit)) known.set(step.name, exit)
          return exit
        })
      }
    })
    return { began, journal }
  }
  const setUp = (paid: { count: number }) => {
    const pay = Tool.make(
      "pay",
      { description: "", success: Schema.String },
      () => Effect.sync(() => `${++paid.count}`)
    )
    const inner = Agent.make({ toolkit: Toolkit.make(pay) })
    const consult = Tool.make(
      "consult",
      { description: "", success: Schema.String, sideEffect: "idempotent" },
      () =>
        Effect.map(Effect.orDie(inner.run("Pay!")), ({ text }) => text).pipe(
          Effect.provide(Model.layer({
            respond: ({ transcript }) =>
              Effect.succeed(transcript.length > 1 ? ScriptedModel.text("paid") : ScriptedModel.call("pay"))
          }))
        )
    )
    return Agent.make({ toolkit: Toolkit.make(consult) })
  }
  const outer = Model.layer({
    respond: ({ transcript }) =>
      Effect.succeed(transcript.length > 1 ? ScriptedModel.text("Done.") : ScriptedModel.call("consult"))
  })
  const runWith = (paid: { count: number }, journal: Journal.Journal) =>
    Effect.exit(setUp(paid).run("Go").pipe(Effect.provideService(Journal.current, journal), Effect.provide(outer)))

  it.effect("is that of the run around it: what the inner agent did is not done again", () =>
    Effect.gen(function*() {
      for (const stopAt of ["/turn/2/model", "/turn/1/call/1", "turn/1/call/1"]) {
        const paid = { count: 0 }
        const { journal } = records()
        const stopped = yield* runWith(paid, journal(stopAt))
        assert.isTrue(Exit.hasInterrupts(stopped), stopAt)
        const again = yield* runWith(paid, journal())
        assert.isTrue(Exit.isSuccess(again), stopAt)
        assert.strictEqual(paid.count, 1, stopAt)
      }
    }))

  it.effect("is that of the run around it, also where a handler wraps it, and for agents with any ids", () =>
    Effect.gen(function*() {
      const paid = { a: 0, b: 0 }
      const agentOf = (name: "a" | "b") =>
        Agent.make({
          toolkit: Toolkit.make(
            Tool.make(`pay_${name}`, { description: "", success: Schema.String }, () =>
              Effect.sync(() =>
                `${name} ${++paid[name]}`
              ))
          )
        })
      const asking = (name: "a" | "b") =>
        Effect.provide(Model.layer({
          respond: ({ transcript }) =>
            Effect.succeed(
              transcript.length > 1 ? ScriptedModel.text(`${name} paid`) : ScriptedModel.call(`pay_${name}`)
            )
        }))
      const consult = Tool.make(
        "consult",
        { description: "", success: Schema.String, sideEffect: "idempotent" },
        () =>
          Effect.gen(function*() {
            const journal = yield* Journal.current
            const wrapped: Journal.Journal = { step: (step, effect) => journal.step(step, effect) }
            const runs = [
              asking("a")(agentOf("a").run("Pay!", { id: "order-1" })),
              asking("a")(agentOf("a").run("Pay!", { id: "order-1" })),
              asking("b")(agentOf("b").run("Pay!", { id: "order-1#2" })),
              asking("b")(agentOf("b").run("Pay!", { id: "order-1/2" }))
            ]
            const texts: Array<string> = []
            for (const run of runs) {
              texts.push((yield* Effect.orDie(Effect.provideService(run, Journal.current, wrapped))).text)
            }
            return texts.join()
          })
      )
      const { began, journal } = records()
      const { transcript } = yield* Agent.make({ toolkit: Toolkit.make(consult) }).run("Go").pipe(
        Effect.provideService(Journal.current, journal()),
        Effect.provide(outer)
      )
      assert.include(JSON.stringify(Transcript.toArray(transcript)), "a paid,a paid,b paid,b paid")
      assert.deepStrictEqual(paid, { a: 2, b: 2 })
      assert.strictEqual(Array.from(began).filter((name) => name.endsWith("/turn/1/call/1")).length, 4)
    }))

  it.effect("halts the runs around it, which begin nothing more", () =>
    Effect.gen(function*() {
      let paid = 0
      const pay = Tool.make("pay", { description: "", success: Schema.String, sideEffect: "idempotent" }, () =>
        Effect.sync(() =>
          `${++paid}`
        ))
      const inner = Agent.make({ toolkit: Toolkit.make(pay) })
      const consult = Tool.make(
        "consult",
        { description: "", success: Schema.String, sideEffect: "idempotent" },
        () =>
          Effect.mapError(
            Effect.map(inner.run("Pay!"), ({ text }) => text),
            () => new ToolUnavailable({ code: "no_answer", detail: "No answer.", transient: true })
          ).pipe(Effect.provide(Model.layer({ respond: () => Effect.succeed(ScriptedModel.call("pay")) })))
      ).pipe(Tool.retry(Schedule.recurs(2)))
      const lost = new Journal.JournalFailure({ detail: "The lease of this run is lost." })
      const journal: Journal.Journal = {
        step: (step, effect) =>
          step.name.endsWith("/turn/1/call/1") ? Effect.andThen(effect, Effect.fail(lost)) : effect
      }
      const failure = yield* Effect.flip(
        Agent.make({ toolkit: Toolkit.make(consult) }).run("Go").pipe(
          Effect.provideService(Journal.current, journal),
          Effect.provide(outer)
        )
      )
      assert.strictEqual(failure._tag === "RunHalted" ? failure.cause : undefined, lost)
      assert.strictEqual(paid, 1)
    }))

  it.effect("records each run of a handler that runs its agent again", () =>
    Effect.gen(function*() {
      const { began, journal } = records()
      let asked = 0
      const flaky = Model.layer({
        respond: () =>
          asked++ === 0
            ? Effect.fail(new ModelFailure({ code: "refused", detail: "No.", transient: false }))
            : Effect.succeed(ScriptedModel.text("yes"))
      })
      const inner = Agent.make({ toolkit: Toolkit.empty })
      const consult = Tool.make(
        "consult",
        { description: "", success: Schema.String, sideEffect: "none" },
        () =>
          Effect.map(Effect.orDie(Effect.retry(inner.run("Sure?"), { times: 1 })), ({ text }) => text).pipe(
            Effect.provide(flaky)
          )
      )
      const { text } = yield* Agent.make({ toolkit: Toolkit.make(consult) }).run("Go").pipe(
        Effect.provideService(Journal.current, journal()),
        Effect.provide(outer)
      )
      assert.strictEqual(text, "Done.")
      assert.strictEqual(asked, 2)
      assert.strictEqual(Array.from(began).filter((name) => name.includes("/run-")).length, 2)
    }))
})
