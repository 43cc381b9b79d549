/** What a run keeps of what it has done, also if it is interrupted, and the options of a single run. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Model, ModelFailure, Policy, Tool, ToolCall, Toolkit, Transcript } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Claims from "@fallible/core/Claims"
import * as Journal from "@fallible/core/Journal"
import * as RunHandle from "@fallible/core/RunHandle"
import { ScriptedModel } from "@fallible/testing"
import { Deferred, Effect, Exit, Fiber, HashMap, Layer, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { logging } from "../support/illTyped.ts"
import { codesOf } from "../support/toldFailures.ts"

const Server = Schema.Struct({ server: Schema.String })

/** Tools that restart servers. The second restart never ends. */
const restarting = () => {
  const done: Array<string> = []
  const begun = Deferred.makeUnsafe<void>()
  const restart = Tool.make("restart", {
    description: "Restarts",
    parameters: Server,
    success: Schema.String,
    identity: ({ server }) => server
  }, ({ server }) =>
    Effect.suspend(() => {
      done.push(server)
      return server === "a" ? Effect.succeed(`restarted ${server}`) : Effect.andThen(
        Deferred.succeed(begun, undefined),
        Effect.never
      )
    }))
  const read = Tool.make(
    "read",
    { description: "Reads", success: Schema.String, sideEffect: "none" },
    () => Effect.succeed("read")
  )
  return { done, begun, agent: Agent.make({ instructions: "Restart.", toolkit: Toolkit.make(restart, read) }) }
}

const restarts = ScriptedModel.calls(["read"], ["restart", { server: "a" }], ["restart", { server: "b" }], ["read"])

/** Interrupts a run while its second restart goes on. */
const interrupted = (options: Agent.RunOptions, { agent, begun } = restarting()) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(
      Effect.provide(agent.run("Restart a and b.", options), ScriptedModel.layer([restarts])),
      { startImmediately: true }
    )
    yield* Deferred.await(begun)
    yield* Fiber.interrupt(fiber)
    return yield* Fiber.await(fiber)
  })

describe("I8 an interrupted run", () => {
  it.effect("hands over its transcript, report, facts and what is in doubt, by a handle and to `keep`", () =>
    Effect.gen(function*() {
      const handle = RunHandle.make()
      assert.isUndefined(handle.progress)
      let told: RunHandle.RunProgress | undefined
      const exit = yield* interrupted({
        handle,
        keep: (progress) =>
          Effect.sync(() => {
            told = progress
          })
      })
      assert.isTrue(Exit.hasInterrupts(exit))
      const { facts, inDoubt, report, runId, transcript } = told ?? assert.fail()
      assert.deepStrictEqual(handle.progress, told)
      assert.match(runId, /^run-/)
      assert.deepStrictEqual(inDoubt.map(({ arguments: text, code, tool }) => [tool, text, code]), [
        ["restart", "{\"server\":\"b\"}", "outcome_unknown"]
      ])
      assert.deepStrictEqual(inDoubt, CallFacts.inDoubt(facts))
      assert.deepInclude(report, { turns: 1, calls: 4 })
      assert.deepStrictEqual(report.failures.map(({ code }) => code), ["outcome_unknown", "not_run"])
      // The transcript is one that every provider accepts: each call has a result.
      const messages = Transcript.toArray(transcript)
      assert.deepStrictEqual(messages.map(({ role }) => role), [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "tool",
        "tool"
      ])
      const texts = messages.map((message) => "text" in message ? message.text : "")
      assert.strictEqual(texts[4], "\"restarted a\"")
      assert.include(texts[5], "restart was interrupted before it ended.")
      assert.include(texts[5], "Do not repeat this call: it may already have taken effect.")
    }).pipe((run) => Effect.map(logging(run), () => undefined)))

  it.effect("is continued without acting twice", () =>
    Effect.gen(function*() {
      const world = restarting()
      const handle = RunHandle.make()
      yield* interrupted({ scope: "c-7", facts: CallFacts.empty, handle }, world)
      const { facts, transcript } = handle.progress ?? assert.fail()
      const next = yield* world.agent.run("Is it done?", { transcript, facts, scope: "c-7" }).pipe(
        Effect.provide(ScriptedModel.layer([
          ScriptedModel.calls(["restart", { server: "b" }], ["restart", { server: "a" }]),
          ScriptedModel.text("I do not know.")
        ]))
      )
      assert.deepStrictEqual(world.done, ["a", "b"])
      assert.deepStrictEqual(codesOf(next), ["repeated_call", "already_done"])
    }).pipe((run) => Effect.map(logging(run), () => undefined)))

  it.effect("has ended before the finalizers of a reader that is interrupted, so that they can store what it did", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const keys: Array<string> = []
      const pay = Tool.make("pay", {
        description: "Pays",
        success: Schema.String,
        sideEffect: "idempotent_by_key",
        identity: "all",
        parameters: Server
      }, () =>
        Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => {
          keys.push(idempotencyKey)
          return keys.length === 1
            ? Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)
            : Effect.succeed("")
        }))
      const agent = Agent.make({ toolkit: Toolkit.make(pay) })
      const handle = RunHandle.make()
      let stored: RunHandle.RunProgress | undefined
      const reader = yield* agent.stream("Pay.", { scope: "c-7", facts: CallFacts.empty, handle }).pipe(
        Stream.ensuring(Effect.sync(() => {
          stored = handle.progress
        })),
        Stream.runDrain,
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay", { server: "a" })])),
        Effect.forkChild
      )
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(reader)
      assert.deepStrictEqual(stored, handle.progress)
      // The arguments are known, so the call may be repeated under its key.
      const { facts, transcript } = stored ?? assert.fail()
      yield* agent.run("Again.", { scope: "c-7", facts, transcript }).pipe(Effect.provide(
        ScriptedModel.layer([ScriptedModel.call("pay", { server: "a" }), ScriptedModel.text("Paid.")])
      ))
      assert.lengthOf(keys, 2)
      assert.strictEqual(keys[0], keys[1])
    }).pipe((run) => Effect.map(logging(run), () => undefined)))

  it.effect("has no call in doubt while its model is asked", () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const handle = RunHandle.make()
      const fiber = yield* Effect.forkChild(
        restarting().agent.run("Hi", { handle }).pipe(
          Effect.provide(
            Model.layer({ respond: () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never) })
          )
        )
      )
      yield* Deferred.await(asked)
      // It tells of a run that goes on, too.
      assert.strictEqual(handle.progress?.transcript.length, 2)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(handle.progress?.inDoubt, [])
      assert.strictEqual(handle.progress?.transcript.length, 2)
    }))

  it.effect("tells of the whole run once it has ended", () =>
    Effect.gen(function*() {
      const handle = RunHandle.make()
      const { transcript } = yield* restarting().agent.run("Hi", { handle }).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("read"), ScriptedModel.text("Hello.")]))
      )
      assert.deepStrictEqual(handle.progress?.transcript, transcript)
    }))

  it.effect("stays interrupted if its 'keep' dies, which is logged", () =>
    Effect.gen(function*() {
      const keep = ({ inDoubt }: RunHandle.RunProgress) => inDoubt.length === 0 ? Effect.void : Effect.die("no store")
      const { logged, value } = yield* logging(interrupted({ keep }))
      assert.isTrue(Exit.hasInterrupts(value))
      assert.isFalse(Exit.hasDies(value))
      assert.include(logged.join(), "The 'keep' of a run failed")
    }))

  it.effect("is told of while it goes on after a question to its user", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const book = Tool.make("book", { description: "Books", success: Schema.String }, () =>
        Effect.andThen(ToolCall.ask("For how many?"), Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)))
      const agent = Agent.make({ toolkit: Toolkit.make(book) })
      const suspended = yield* Effect.flip(
        Effect.provide(agent.run("Book."), ScriptedModel.layer([ScriptedModel.call("book")]))
      )
      if (suspended._tag !== "RunSuspended") {
        return assert.fail(suspended._tag)
      }
      const handle = RunHandle.make()
      const fiber = yield* Effect.forkChild(
        Effect.provide(agent.resume(suspended.suspension, "four", { handle }), ScriptedModel.layer([]))
      )
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(
        handle.progress?.inDoubt.map(({ tool }) =>
          tool
        ),
        ["book"]
      )
    }).pipe((run) =>
      Effect.map(logging(run), () => undefined)
    ))
})

describe("what a run keeps", () => {
  const act = Tool.make("act", { description: "Acts", success: Schema.String }, () => Effect.succeed("acted"))
  const ask = Tool.make("ask", { description: "Asks", success: Schema.String }, () => ToolCall.ask("Which one?"))
  const read = Tool.make(
    "read",
    { description: "Reads", success: Schema.String, sideEffect: "none" },
    () => Effect.succeed("read")
  )
  const agent = Agent.make({ toolkit: Toolkit.make(act, ask, read), limits: { turns: 3 } })

  /** What was stored during a run, in order. */
  const stored = () => {
    const all: Array<RunHandle.RunProgress> = []
    const keep = (progress: RunHandle.RunProgress) => Effect.sync(() => void all.push(progress))
    return { all, keep }
  }
  const { call, calls, text } = ScriptedModel

  it.effect("is stored after each call that acts, and at the end, before the run has ended for its caller", () =>
    Effect.gen(function*() {
      const { all, keep } = stored()
      const script = [calls(["read"], ["act"]), call("act"), text("Done.")]
      const { facts, transcript } = yield* Effect.provide(agent.run("Go.", { keep }), ScriptedModel.layer(script))
      assert.deepStrictEqual(all.map(({ transcript }) => transcript.length), [4, 6, 7])
      assert.deepStrictEqual(all[2]?.facts, facts)
      assert.deepStrictEqual(all[2]?.transcript, transcript)
      assert.deepStrictEqual(all.flatMap(({ inDoubt }) => inDoubt), [])
    }))

  it.effect("continues a conversation, also after a failure", () =>
    Effect.gen(function*() {
      const { all, keep } = stored()
      const failure = yield* Effect.flip(
        Effect.provide(agent.run("Go.", { keep }), ScriptedModel.layer(() => call("act")))
      )
      assert.strictEqual(failure._tag, "LimitReached")
      const { facts, transcript } = all.at(-1) ?? assert.fail()
      assert.deepStrictEqual([facts, transcript], [failure.facts, failure.transcript])
      const next = yield* Effect.provide(
        agent.run("Again.", { facts, transcript }),
        ScriptedModel.layer([call("act"), text("Done.")])
      )
      assert.deepStrictEqual(codesOf(next), ["already_done"])
    }).pipe((run) => Effect.map(logging(run), () => undefined)))

  it.effect("has the suspension of a run that waits, and none once it goes on", () =>
    Effect.gen(function*() {
      const { all, keep } = stored()
      yield* Effect.flip(Effect.provide(agent.run("Go.", { keep }), ScriptedModel.layer([call("ask")])))
      const { suspension } = all.at(-1) ?? assert.fail()
      assert.deepStrictEqual(suspension?.questions.map(({ tool }) => tool), ["ask"])
      all.length = 0
      yield* Effect.provide(agent.resume(suspension!, "This.", { keep }), ScriptedModel.layer([text("Fine.")]))
      assert.deepStrictEqual(all.map(({ suspension }) => suspension), [undefined, undefined])
    }))

  it.effect("is nothing if the run was refused", () =>
    Effect.gen(function*() {
      const { all, keep } = stored()
      const { transcript } = yield* Effect.provide(
        agent.run("Go."),
        ScriptedModel.layer([call("act"), text("Done.")])
      )
      const refused = yield* Effect.flip(
        Effect.provide(agent.run("Again.", { keep, transcript }), ScriptedModel.layer([]))
      )
      assert.strictEqual(refused._tag, "RunRefused")
      assert.deepStrictEqual(all, [])
    }))

  const acting = (acted: Array<number>) =>
    Tool.make("act", {
      description: "Acts",
      parameters: Schema.Struct({ n: Schema.Int }),
      success: Schema.Void,
      identity: ({ n }) => n
    }, ({ n }) => Effect.sync(() => void acted.push(n)))

  it.effect("halts the run if it cannot be stored, so that nothing more is done that would be forgotten", () =>
    Effect.gen(function*() {
      const acted: Array<number> = []
      const run = Agent.make({ toolkit: Toolkit.make(acting(acted)) }).run("Go.", {
        keep: () => Effect.die("no store")
      })
      const script = ScriptedModel.layer([call("act", { n: 1 }), call("act", { n: 2 })])
      const { logged, value: failure } = yield* logging(Effect.flip(Effect.provide(run, script)))
      assert.deepStrictEqual(acted, [1])
      assert.strictEqual(failure._tag, "RunHalted")
      // What could not be stored is not lost.
      assert.strictEqual(HashMap.size(failure.facts.intents), 1)
      assert.strictEqual(failure.transcript.length, 3)
      assert.include(logged.join(), "The 'keep' of a run failed")
    }))

  it.effect("halts the run also at its end, whatever its end is, and a client learns no more of it", () =>
    Effect.gen(function*() {
      const ends = [text("Done."), new ModelFailure({ code: "refused", detail: "No.", transient: false }), call("ask")]
      for (const end of ends) {
        const keep = () => Effect.die(new Error("secret"))
        const run = agent.stream("Go.", { keep }).pipe(
          AgentEvent.forClients(),
          Stream.runCollect,
          Effect.provide(ScriptedModel.layer([end]))
        )
        const { value } = yield* logging(run)
        const last = value.at(-1)
        assert.deepInclude(last, { _tag: "RunFailed", failure: "RunHalted" })
        assert.notInclude(JSON.stringify(value), "secret")
      }
    }))

  it.effect("is stored one after the other, and whole before an interrupted run has ended", () =>
    Effect.gen(function*() {
      // A store that nobody can abort: its first write waits, and the second does not.
      const [begun, write, second] = yield* Effect.all([
        Deferred.make<void>(),
        Deferred.make<void>(),
        Deferred.make<void>()
      ])
      const written: Array<number> = []
      const keep = ({ facts }: RunHandle.RunProgress) =>
        Effect.suspend(() => {
          const size = HashMap.size(facts.intents)
          const waits = size === 1
            ? Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(write))
            : Effect.void
          return Effect.andThen(waits, Effect.sync(() => void written.push(size)))
        })
      const charge = Tool.make("charge", {
        description: "Charges",
        parameters: Schema.Struct({ n: Schema.Int }),
        success: Schema.Void,
        identity: ({ n }) => n
      }, ({ n }) => n === 1 ? Effect.void : Effect.andThen(Deferred.await(begun), Deferred.succeed(second, undefined)))
      const run = Agent.make({ toolkit: Toolkit.make(charge) }).run("Go.", { keep })
      const fiber = yield* Effect.forkChild(
        Effect.provide(run, ScriptedModel.layer([calls(["charge", { n: 1 }], ["charge", { n: 2 }])]))
      )
      yield* Deferred.await(second)
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(written, [])
      yield* Deferred.succeed(write, undefined)
      yield* Fiber.join(interrupting)
      assert.deepStrictEqual(written.slice(0, 1), [1])
      assert.strictEqual(written.at(-1), 2)
    }))

  it.effect("is not replaced by less, if a replay ends before it has come as far as the process before it", () =>
    Effect.gen(function*() {
      const { all, keep } = stored()
      const records = new Map<string, unknown>()
      let isDown = false
      const journal: Journal.Journal = {
        step: ({ error, name, success }, effect) => {
          const codec = Schema.toCodecJson(Schema.Exit(success, error, Schema.Defect()))
          if (isDown) return Effect.fail(new Journal.JournalFailure({ detail: "Down." }))
          if (records.has(name)) return Effect.suspend(() => Schema.decodeUnknownSync(codec)(records.get(name)))
          return Effect.flatMap(Effect.exit(effect), (exit) => {
            records.set(name, Schema.encodeSync(codec)(exit))
            return exit
          })
        }
      }
      const play = (script: ScriptedModel.Script) =>
        agent.run("Go.", { id: "job-1", keep }).pipe(
          Effect.provideService(Journal.current, journal),
          Effect.provide(ScriptedModel.layer(script))
        )
      yield* play([call("act"), text("Done.")])
      const before = all.length
      isDown = true
      const { value: halted } = yield* logging(Effect.flip(play([])))
      assert.strictEqual(halted._tag, "RunHalted")
      assert.lengthOf(all, before)
      // A replay that reaches the end stores it again.
      isDown = false
      yield* play([])
      assert.deepStrictEqual(all.slice(before).map(({ transcript }) => transcript.length), [4])
    }))

  it.effect("keeps the questions of a run that was interrupted before it went on", () =>
    Effect.gen(function*() {
      const { all, keep } = stored()
      const asking = yield* Effect.flip(Effect.provide(agent.run("Go."), ScriptedModel.layer([call("ask")])))
      if (asking._tag !== "RunSuspended") return assert.fail(asking._tag)
      const claimed = yield* Deferred.make<void>()
      const claim = () => Effect.andThen(Deferred.succeed(claimed, undefined), Effect.never)
      const fiber = yield* agent.resume(asking.suspension, "This.", { keep }).pipe(
        Effect.provide([ScriptedModel.layer([]), Layer.succeed(Claims.Claims, { claim })]),
        Effect.forkChild
      )
      yield* Deferred.await(claimed)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(all, [])
    }))

  it.effect("does not end the lineage of the transcript, by which models keep what they have made of it", () =>
    Effect.gen(function*() {
      const lineages = new Set<object>()
      const { keep } = stored()
      let turn = 0
      const model = Model.layer({
        respond: ({ transcript }) =>
          Effect.sync(() => {
            lineages.add(transcript.lineage)
            return ++turn < 3 ? call("act") : text("Done.")
          })
      })
      yield* Effect.provide(agent.run("Go.", { keep }), model)
      assert.strictEqual(lineages.size, 1)
    }))

  it.effect("is no function: the run is refused", () =>
    Effect.gen(function*() {
      const keep = 7 as unknown as () => Effect.Effect<void>
      const refused = yield* Effect.flip(Effect.provide(agent.run("Go.", { keep }), ScriptedModel.layer([])))
      if (refused._tag !== "RunRefused") return assert.fail(refused._tag)
      assert.deepStrictEqual(refused.issues.map(({ expected, path }) => [path, expected]), [
        [["keep"], "a function that returns an Effect"]
      ])
    }))

  it.effect("halts the run if it is no Effect", () =>
    Effect.gen(function*() {
      const keep = (() => Promise.resolve()) as unknown as () => Effect.Effect<void>
      const run = agent.run("Go.", { keep }).pipe(Effect.flip, Effect.provide(ScriptedModel.layer([text("Hi.")])))
      const { logged, value } = yield* logging(run)
      assert.strictEqual(value._tag, "RunHalted")
      assert.include(logged.join(), "The 'keep' of a run")
    }))
})

describe("the limits of a run", () => {
  const { agent } = restarting()
  const reads = ScriptedModel.layer(() => ScriptedModel.call("read"))

  it.effect("take precedence over those of its agent, one by one", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(Effect.provide(agent.run("Read.", { limits: { turns: 2 } }), reads))
      assert.deepInclude(failure.report, { turns: 2 })
      const other = Agent.make({ toolkit: Toolkit.empty, limits: { turns: 2, calls: 1 } })
      const more = yield* Effect.flip(Effect.provide(other.run("Read.", { limits: { calls: 5 } }), reads))
      assert.deepInclude(more.report, { turns: 2 })
    }))

  it.effect("are refused if they are wrong, before anything runs", () =>
    Effect.gen(function*() {
      for (
        const [limits, detail] of [
          [{ turns: 0 }, "An agent's limit of turns must be a whole number of at least 1; got 0."],
          [{ callsPerTool: { raed: 1 } }, "names 'raed', which is not in the toolkit. Did you mean 'read'?"]
        ] as const
      ) {
        const failure = yield* Effect.flip(Effect.provide(agent.run("Read.", { limits }), reads))
        assert.strictEqual(failure._tag, "RunRefused")
        assert.include(failure.detail, detail)
      }
    }))
})

describe("I9 the instructions of an agent", () => {
  const roles: Array<string> = []
  const model = Model.layer({
    respond: ({ transcript }) =>
      Effect.sync(() => {
        roles.push(
          Transcript.toArray(transcript).map((message) => message.role === "system" ? message.text : message.role)
            .join()
        )
        return ScriptedModel.text("Hi.")
      })
  })
  const saying = (instructions?: string) =>
    Agent.make({ toolkit: Toolkit.empty, ...(instructions === undefined ? {} : { instructions }) })

  it.effect("reach a run with a transcript that has none, or older ones", () =>
    Effect.gen(function*() {
      roles.length = 0
      const { transcript } = yield* saying().run("Hello")
      const second = yield* saying("Be kind.").run("Hello", { transcript })
      const third = yield* saying("Be brief.").run("Hello", { transcript: second.transcript })
      yield* saying("Be brief.").run("Hello", { transcript: third.transcript })
      yield* saying().run("Hello", { transcript: third.transcript })
      assert.deepStrictEqual(roles, [
        "user",
        "Be kind.,user,assistant,user",
        "Be brief.,user,assistant,user,assistant,user",
        "Be brief.,user,assistant,user,assistant,user,assistant,user",
        "Be brief.,user,assistant,user,assistant,user,assistant,user"
      ])
    }).pipe(Effect.provide(model)))
})

describe("a call", () => {
  it.effect("knows its run, its turn and its name, in a handler and in a policy", () =>
    Effect.gen(function*() {
      const seen: Array<object> = []
      const look = Effect.tap(ToolCall.current, (call) => Effect.sync(() => seen.push(call)))
      const inner = Tool.make("inner", { description: "", success: Schema.Unknown }, () => look)
      const outer = Tool.make(
        "outer",
        { description: "", success: Schema.Unknown },
        () => Effect.andThen(look, inner.run({}))
      ).pipe(
        Tool.with(Policy.make({
          kind: "custom",
          name: "reading",
          description: "",
          wrap: (run, _, call) => (params) =>
            Effect.andThen(Effect.map(call.state, (state) => seen.push(state)), run(params))
        }))
      )
      const async = Tool.promise("async", { description: "", success: Schema.Void }, async (_, { id, run, turn }) => {
        seen.push({ id, run, turn })
      })
      yield* Agent.make({ toolkit: Toolkit.make(outer, async) }).run("Go", { id: "job-1" }).pipe(
        Effect.provide(ScriptedModel.layer([
          ScriptedModel.calls(["outer"], ["async"]),
          ScriptedModel.text("done")
        ]))
      )
      const of = (call: number) => ({ id: `job-1/turn/1/call/${call}`, run: "job-1", turn: 1 })
      assert.deepInclude(seen[0], { ...of(1), tool: "outer" })
      assert.deepInclude(seen[1], { ...of(1), tool: "outer", attempt: 1 })
      assert.deepInclude(seen[2], { run: "job-1", turn: 1, tool: "inner" })
      assert.deepStrictEqual(seen[3], of(2))
      seen.length = 0
      yield* inner.run({})
      assert.deepInclude(seen[0], { tool: "inner", attempt: 1 })
      assert.notProperty(seen[0], "run")
      const { id, tool } = yield* ToolCall.current
      assert.deepStrictEqual([id, tool], ["detached", ""])
    }))
})
