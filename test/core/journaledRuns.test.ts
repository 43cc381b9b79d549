/** The steps that a run gives its journal, and the end of a run whose journal dies. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, Tool, ToolCall, Toolkit, Transcript } from "@fallible/core"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Effect, Exit, Schema, Stream } from "effect"
import { logging, sibling } from "../support/illTyped.ts"
import { namingJournal } from "../support/namingJournal.ts"
import type { Untyped } from "../support/nonsense.ts"
import { once, pinging } from "../support/pinging.ts"
import { paris } from "../support/sequence.ts"

describe("Journal", () => {
  it.effect("sees each reply and each outcome as a step, named by its position", () =>
    Effect.gen(function*() {
      const { journal, names } = namingJournal()
      yield* pinging.run("Ping!").pipe(Effect.provideService(Journal.current, journal))
      assert.deepStrictEqual(names, ["run", "turn/1/model", "turn/1/call/1", "turn/1/call/2", "turn/2/model"])
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.calls(["ping"], ["ping"]), ScriptedModel.text("done")]))))

  it.effect("omits the steps of an agent inside a tool, because the tool's call is the step", () =>
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
      assert.deepStrictEqual(names, ["run", "turn/1/model", "turn/1/call/1", "turn/2/model"])
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

describe("a journal that dies", () => {
  const pay = Tool.make("pay", { description: "", success: Schema.String }, () => Effect.succeed("paid"))
  const stop = Tool.make("stop", { description: "", success: Schema.String }, () => ToolCall.stop("Enough."))
  const agent = Agent.make({ toolkit: Toolkit.make(pay, stop, sibling) })
  type Step = Journal.Journal["step"]
  const dying = (when: (name: string) => boolean, step: Step): Journal.Journal => ({
    step: (about, effect) => when(about.name) ? step(about, effect) : effect
  })
  const ofCalls = (name: string) => name.includes("call")
  const run = (journal: Journal.Journal, script: ScriptedModel.Script) =>
    logging(
      Effect.exit(Effect.provideService(agent.run("?"), Journal.current, journal)).pipe(
        Effect.provide(ScriptedModel.layer(script))
      )
    )

  it.effect("in place of an acting call leaves its outcome unknown", () =>
    Effect.gen(function*() {
      const journal = dying(ofCalls, () => Effect.die("full"))
      const script = [ScriptedModel.calls(["pay"], ["sibling", paris]), ScriptedModel.text("Done.")]
      const { value } = yield* logging(
        Stream.runCollect(agent.stream("?")).pipe(
          Effect.provideService(Journal.current, journal),
          Effect.provide(ScriptedModel.layer(script))
        )
      )
      const outcomes = Array.from(value).flatMap((event) => event._tag === "CallEnded" ? [event.outcome] : [])
      assert.strictEqual(outcomes.length, 2)
      const [paid, asked] = outcomes
      if (paid?._tag !== "Failed" || asked?._tag !== "Failed") return assert.fail(JSON.stringify(outcomes))
      assert.strictEqual(paid.certainty, "unknown")
      assert.deepInclude({ ...paid.failure }, { code: "defect", outcome: "unknown" })
      assert.strictEqual(asked.certainty, "not_executed")
      assert.notProperty(asked.failure, "outcome")
    }))

  it.effect("is not blamed for failures that it only passes on", () =>
    Effect.gen(function*() {
      const native: Untyped = { source: "elsewhere", message: { content: undefined } }
      const journal = dying(() => true, (_, effect) => Effect.map(effect, (value) => value))
      const { logged, value } = yield* run(journal, [{ text: "Done.", calls: [], native }])
      assert.deepStrictEqual(logged, [])
      assert.isTrue(Exit.isSuccess(value))
    }))

  it.effect("after a call loses neither its value nor its stop", () =>
    Effect.gen(function*() {
      const journal = dying(ofCalls, (_, effect) => Effect.andThen(effect, Effect.die("full")))
      const paid = yield* run(journal, [ScriptedModel.call("pay"), ScriptedModel.text("Done.")])
      assert.isTrue(Exit.isSuccess(paid.value))
      assert.include(JSON.stringify(paid.value), "paid")
      assert.include(paid.logged[0], "The journal failed")
      const { value } = yield* run(journal, [ScriptedModel.call("stop"), ScriptedModel.text("Done.")])
      assert.isTrue(Exit.isFailure(value) && Cause.squash(value.cause) instanceof AgentFailure.RunStopped)
    }))
})
