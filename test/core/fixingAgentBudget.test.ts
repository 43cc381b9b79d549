/** The usage of an agent that corrects arguments counts in the run whose call it corrects. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Dispatch,
  Fixer,
  ModelFailure,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit
} from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import { Context, Effect, Exit, Fiber, Layer, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { completed, unclosed, weather } from "../support/fixing.ts"

const wrong = ScriptedModel.call("get_weather", unclosed)
const done = ScriptedModel.text("Done.")
const paris = ScriptedModel.text("{\"city\":\"Paris\"}")

const using = (tokens: number) => <Reply extends object>(reply: Reply) => ({
  ...reply,
  usage: { inputTokens: tokens - 1, outputTokens: 1 }
})

const guess = Tool.make(
  "guess",
  { description: "Guesses", success: Schema.String, sideEffect: "none" },
  () => Effect.succeed("Paris?")
)

/** Makes a journal that stores all steps as JSON. */
const remembering = (store: Map<string, string>): Journal.Journal => ({
  step: ({ name, success }, run) => {
    const codec = Schema.toCodecJson(success)
    const stored = store.get(name)
    return stored === undefined
      ? Effect.tap(
        run,
        (value) =>
          Effect.map(
            Effect.orDie(Schema.encodeUnknownEffect(codec)(value)),
            (json) => store.set(name, JSON.stringify(json))
          )
      )
      : Effect.orDie(Schema.decodeUnknownEffect(codec)(JSON.parse(stored)))
  }
})

interface Played {
  readonly outer: ScriptedModel.Script
  readonly inner: ScriptedModel.Script
  readonly limits?: Agent.Options<never>["limits"]
  /** The limits of the correcting agent. */
  readonly own?: Agent.Options<never>["limits"]
}

/** Makes two agents, each with its own model: one asks for the weather, and the other corrects its arguments. */
const agents = ({ inner, limits = {}, own = {} }: Omit<Played, "outer">) =>
  Effect.map(Layer.build(ScriptedModel.layer(inner)), (model) => {
    const corrector = Agent.make({ toolkit: Toolkit.make(guess, ...Fixer.tools), limits: own })
    const run = (question: string) => Effect.provide(corrector.run(question), model)
    const tool = weather().tool.pipe(Tool.fix(Fixer.agent({ run }), { tries: 3 }))
    return {
      agent: Agent.make({ toolkit: Toolkit.make(tool), limits }),
      tool,
      asked: Context.get(model, ScriptedModel.ScriptedModel).requests
    }
  })

const play = ({ outer, ...played }: Played) =>
  Effect.gen(function*() {
    const { agent, asked } = yield* agents(played)
    const exit = yield* Effect.exit(agent.run("?")).pipe(Effect.provide(ScriptedModel.layer(outer)))
    const failure = Exit.isFailure(exit) ? yield* Effect.flip(exit) : undefined
    const report = Exit.isSuccess(exit) ? exit.value.report : failure !== undefined && "report" in failure
      ? failure.report
      : assert.fail("no report")
    return { failure, report, asked: (yield* asked).length }
  }).pipe(Effect.scoped)

describe("C3: an agent that corrects counts in the run whose call it corrects:", () => {
  it.effect("its turns, calls and tokens are in the report", () =>
    Effect.gen(function*() {
      const { report } = yield* play({
        outer: [using(10)(wrong), using(20)(done)],
        inner: [using(1_000)(ScriptedModel.call("guess")), using(3_000)(paris)]
      })
      assert.deepInclude(report, { turns: 4, calls: 2, inputTokens: 9 + 19 + 999 + 2_999, outputTokens: 4 })
    }))

  it.live("its failures are in the report, with the tool whose call it corrects", () =>
    Effect.gen(function*() {
      const busy = new ModelFailure({ code: "rate_limited", detail: "Too fast.", transient: true })
      const { report } = yield* play({
        outer: [wrong, done],
        inner: [busy, ScriptedModel.call("no_such_tool"), paris]
      })
      assert.deepStrictEqual(
        report.failures.map((
          entry
        ) => [entry.turn, "call" in entry ? entry.call : 0, entry.code, entry.handling, entry.inside]),
        [
          [1, 0, "rate_limited", "retry", "get_weather"],
          [1, 1, "unknown_tool", "told", "get_weather"],
          [1, 1, "invalid_json", "fix", undefined]
        ]
      )
    }))

  it.effect("a token limit ends it, and then the run", () =>
    Effect.gen(function*() {
      const { asked, failure, report } = yield* play({
        outer: [using(50)(wrong), done],
        inner: () => using(60)(ScriptedModel.call("guess")),
        limits: { tokens: 100 }
      })
      assert.strictEqual(asked, 1)
      assert.deepInclude({ ...failure }, { _tag: "LimitReached", limit: "tokens" })
      assert.strictEqual((report.inputTokens ?? 0) + (report.outputTokens ?? 0), 110)
      assert.deepStrictEqual(
        report.failures.map(({ code, detail }) => [code, detail.includes("outer run")]),
        [
          ["fixer_failed", true],
          ["invalid_json", false]
        ]
      )
    }))

  it.effect("it is not asked if no budget is left", () =>
    Effect.gen(function*() {
      for (const limits of [{ tokens: 50 }, { turns: 1 }]) {
        const { asked, failure } = yield* play({ outer: [using(50)(wrong), done], inner: [paris], limits })
        assert.deepStrictEqual([asked, failure?._tag], [0, "LimitReached"])
      }
    }))

  it.effect("a turn limit ends it", () =>
    Effect.gen(function*() {
      const { asked, failure } = yield* play({
        outer: [wrong, done],
        inner: () => ScriptedModel.call("guess"),
        limits: { turns: 4 }
      })
      assert.deepInclude({ ...failure }, { _tag: "LimitReached", limit: "turns" })
      assert.strictEqual(asked, 3)
    }))

  it.effect("a call limit refuses its calls, and the model keeps its own refusal", () =>
    Effect.gen(function*() {
      const { failure, report } = yield* play({
        outer: [wrong, ScriptedModel.call("get_weather", { city: "Rome" }), done],
        inner: [ScriptedModel.calls(["guess", {}], ["guess", {}], ["guess", {}]), paris],
        limits: { calls: 3 }
      })
      assert.isUndefined(failure)
      assert.strictEqual(report.calls, 4)
      assert.deepStrictEqual(
        report.failures.map(({ code, inside }) => [code, inside]),
        [["call_limit", "get_weather"], ["invalid_json", undefined], ["call_limit", undefined]]
      )
    }))

  it.effect("no call limit prevents it from escalating or stopping the run", () =>
    Effect.gen(function*() {
      const stop = ScriptedModel.call("throwException", { reason: "Planted." })
      for (
        const [limits, own, inner] of [
          [{ calls: 1 }, {}, [stop]],
          [{}, { calls: 1 }, [ScriptedModel.call("guess"), stop]],
          [{ calls: 2 }, {}, [
            ScriptedModel.calls(["guess", {}], ["guess", {}], ["throwException", { reason: "Planted." }])
          ]]
        ] as const
      ) {
        const { failure } = yield* play({ outer: [wrong, done], inner, limits, own })
        assert.deepInclude({ ...failure }, { _tag: "RunStopped", reason: "Planted." })
      }
      const { report } = yield* play({
        outer: [wrong, done],
        inner: [ScriptedModel.call("escalate", { detail: "Which city?" })],
        limits: { calls: 1 }
      })
      assert.deepStrictEqual(report.failures.map(({ code, handling }) => [code, handling]), [
        ["invalid_json", "escalated"],
        ["invalid_json", "told"]
      ])
    }))

  it.effect("its own limits apply too", () =>
    Effect.gen(function*() {
      const { asked, failure } = yield* play({
        outer: [wrong, done],
        inner: () => ScriptedModel.call("guess"),
        own: { turns: 2 }
      })
      assert.isUndefined(failure)
      assert.strictEqual(asked, 2)
    }))

  it.effect("its usage counts even if its time ends midway", () =>
    Effect.gen(function*() {
      const model = yield* Layer.build(
        ScriptedModel.layer((_, index) => index === 0 ? using(70)(ScriptedModel.call("guess")) : Effect.never)
      )
      const corrector = Agent.make({ toolkit: Toolkit.make(guess) })
      const run = (question: string) => Effect.provide(corrector.run(question), model)
      const fixed = weather().tool.pipe(Tool.fix(Fixer.agent({ run }), { time: "5 seconds" }))
      const fiber = yield* Effect.forkChild(
        Effect.provide(
          Agent.make({ toolkit: Toolkit.make(fixed) }).run("?"),
          ScriptedModel.layer([wrong, done])
        )
      )
      yield* TestClock.adjust("5 seconds")
      const { report } = yield* Fiber.join(fiber)
      assert.deepInclude(report, { turns: 3, calls: 2, inputTokens: 69, outputTokens: 1 })
    }).pipe(Effect.scoped))

  it.effect("its usage is in the events of the run when it happens, and they can be encoded", () =>
    Effect.gen(function*() {
      const { agent } = yield* agents({ inner: [using(60)(ScriptedModel.call("guess")), using(40)(paris)] })
      const events = yield* Stream.runCollect(agent.stream("?")).pipe(
        Effect.provide(ScriptedModel.layer([wrong, done]))
      )
      const fixerEvents = Array.from(events).filter(({ _tag }) => _tag.startsWith("Fixer"))
      assert.deepStrictEqual<unknown>(
        fixerEvents.map((event) => ({ ...event, run: "", at: 0, call: 0 })),
        [
          { _tag: "FixerAsked", fixer: "the fixer of get_weather", code: "invalid_json", tries: 1 },
          { _tag: "FixerSpent", turns: 1, calls: 1, inputTokens: 59, outputTokens: 1, failures: [], repairs: [] },
          { _tag: "FixerSpent", turns: 1, calls: 0, inputTokens: 39, outputTokens: 1, failures: [], repairs: [] }
        ].map((event) => ({ ...event, turn: 1, index: 1, attempt: 0, run: "", at: 0, call: 0 }))
      )
      for (const event of fixerEvents) {
        const json = JSON.parse(JSON.stringify(Schema.encodeSync(AgentEvent.schema)(event)))
        assert.deepStrictEqual(Schema.decodeSync(AgentEvent.schema)(json), event)
      }
      // The reader of a stream gets only the run's own text.
      assert.isFalse(Array.from(events).some((event) => event._tag === "TextDelta" && event.text.includes("city")))
    }).pipe(Effect.scoped))

  it.effect("its usage is in the outcome of a call, and of a direct run", () =>
    Effect.gen(function*() {
      const { tool } = yield* agents({ inner: () => using(60)(paris) })
      const outcome = completed(
        yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: tool.name, arguments: unclosed })
      )
      assert.deepInclude(outcome.fixing, { turns: 1, inputTokens: 59 })
      const byHand = yield* Tool.outcome(tool, { city: "paris" })
      assert.deepInclude(byHand.fixing, { turns: 1, inputTokens: 59 })
      assert.isUndefined((yield* Tool.outcome(tool, { city: "Paris" })).fixing)
    }).pipe(Effect.scoped))

  describe("so does a corrector of a corrector's arguments:", () => {
    /**
     * A run of 2 turns, its corrector's 2 turns, and 2 turns of that one's corrector. Each has one call,
     * and 10, 100 or 500 tokens per turn.
     */
    const nested = (limits: Agent.Options<never>["limits"] & {}) =>
      Effect.gen(function*() {
        const innermost = yield* Layer.build(
          ScriptedModel.layer([
            using(500)(ScriptedModel.call("no_such_tool")),
            using(500)(ScriptedModel.text("{\"n\":1}"))
          ])
        )
        const inner = yield* Layer.build(
          ScriptedModel.layer([using(100)(ScriptedModel.call("pick", "{bad")), using(100)(paris)])
        )
        const deepest = Agent.make({ toolkit: Toolkit.empty })
        const pick = Tool.make("pick", {
          description: "",
          parameters: Schema.Struct({ n: Schema.Int }),
          success: Schema.Int,
          sideEffect: "none"
        }, ({ n }) => Effect.succeed(n)).pipe(
          Tool.fix(Fixer.agent({ run: (question) => Effect.provide(deepest.run(question), innermost) }))
        )
        const corrector = Agent.make({ toolkit: Toolkit.make(pick) })
        const fixed = weather().tool.pipe(
          Tool.fix(Fixer.agent({ run: (question) => Effect.provide(corrector.run(question), inner) }))
        )
        const run = Agent.make({ toolkit: Toolkit.make(fixed), limits }).run("?")
        return yield* Effect.exit(
          Effect.provide(run, ScriptedModel.layer([using(10)(wrong), using(10)(done)]))
        )
      }).pipe(Effect.scoped)
    const tokens = 10 + 100 + 500 + 500 + 100 + 10

    it.effect("all their usage is counted once", () =>
      Effect.gen(function*() {
        // One token, turn or call less would end the run.
        for (const limits of [{}, { turns: 6 }, { calls: 3 }, { tokens: tokens - 9 }]) {
          const { report } = yield* yield* nested(limits)
          assert.deepInclude(report, { turns: 6, calls: 3 })
          assert.strictEqual((report.inputTokens ?? 0) + (report.outputTokens ?? 0), tokens)
          assert.deepStrictEqual(report.failures.map(({ code, handling, inside }) => [code, handling, inside]), [
            ["unknown_tool", "told", "pick"],
            ["invalid_json", "fix", "get_weather"],
            ["invalid_json", "fix", undefined]
          ])
        }
      }))

    it.effect("and each of them ends when the outermost limit is used up", () =>
      Effect.gen(function*() {
        const usedIn = (limits: Agent.Options<never>["limits"] & {}) =>
          Effect.map(Effect.flip(Effect.flatten(nested(limits))), (failure) =>
            failure._tag === "LimitReached" ? failure.report.turns : failure._tag)
        // Ends before the last turn of the run, of its corrector, and of that one's corrector.
        assert.deepStrictEqual(
          yield* Effect.all([{ tokens: tokens - 10 }, { tokens: 1_110 }, { tokens: 610 }].map(usedIn)),
          [5, 4, 3]
        )
        assert.deepStrictEqual(yield* Effect.all([{ turns: 5 }, { turns: 4 }, { turns: 3 }].map(usedIn)), [5, 4, 3])
      }))
  })

  it.effect("so does an Effect that runs an agent as a fixer, but not an agent in a handler", () =>
    Effect.gen(function*() {
      const model = yield* Layer.build(ScriptedModel.layer(() => using(60)(paris)))
      const corrector = Agent.make({ toolkit: Toolkit.empty })
      const asking = Effect.map(Effect.provide(corrector.run("?"), model), ({ text }) => text)
      const fixed = weather().tool.pipe(Tool.fix(() => asking))
      const handling = Tool.make(
        "get_weather",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => Effect.orDie(asking)
      )
      const turnsOf = <T extends Tool.Any>(tool: T) =>
        Effect.map(
          Agent.make({ toolkit: Toolkit.make(tool) }).run("?"),
          ({ report }) => report.turns
        ).pipe(Effect.provide(ScriptedModel.layer([wrong, done])))
      assert.strictEqual(yield* turnsOf(fixed), 3)
      const plain = yield* Agent.make({ toolkit: Toolkit.make(handling) }).run("?").pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("get_weather"), done]))
      )
      assert.strictEqual(plain.report.turns, 2)
    }).pipe(Effect.scoped))

  it.effect("a replayed run has the same report, without asking anyone", () =>
    Effect.gen(function*() {
      const journal = remembering(new Map())
      const { agent, asked } = yield* agents({ inner: [using(60)(ScriptedModel.call("guess")), using(40)(paris)] })
      const run = agent.run("?").pipe(Effect.provideService(Journal.current, journal))
      const first = yield* Effect.provide(run, ScriptedModel.layer([using(10)(wrong), using(10)(done)]))
      const again = yield* Effect.provide(run, ScriptedModel.layer([]))
      assert.deepStrictEqual(again.report, first.report)
      assert.deepInclude(first.report, { turns: 4, inputTokens: 9 + 9 + 59 + 39 })
      assert.strictEqual((yield* asked).length, 2)
    }).pipe(Effect.scoped))

  it.effect("a run that waits for its user midway keeps the usage", () =>
    Effect.gen(function*() {
      const model = yield* Layer.build(ScriptedModel.layer(() => using(60)(paris)))
      const corrector = Agent.make({ toolkit: Toolkit.empty })
      const asking = Tool.make("get_weather", {
        description: "",
        parameters: weather().tool.parameters,
        success: Schema.String
      }, ({ city }) =>
        city === "Paris"
          ? ToolCall.ask("Sure?")
          : Effect.fail(new SchemaMismatch({ side: "arguments", code: "x", detail: "x" }))).pipe(
          Tool.fix(Fixer.agent({ run: (question) => Effect.provide(corrector.run(question), model) }))
        )
      const agent = Agent.make({ toolkit: Toolkit.make(asking), limits: { tokens: 100 } })
      const program = Effect.gen(function*() {
        const failure = yield* Effect.flip(agent.run("?"))
        if (failure._tag !== "RunSuspended") return assert.fail(failure._tag)
        return yield* Effect.flip(agent.resume(failure.suspension, "yes"))
      })
      const end = yield* Effect.provide(program, ScriptedModel.layer([using(50)(wrong), done]))
      assert.deepInclude({ ...end }, { _tag: "LimitReached", limit: "tokens" })
    }).pipe(Effect.scoped))

  it.effect("an agent that waits for its user and continues counts once", () =>
    Effect.gen(function*() {
      const confirm = Tool.make(
        "confirm",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => ToolCall.ask("Sure?")
      )
      const failing = Tool.make(
        "failing",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => Effect.fail(new SemanticGarbage({ code: "no_such", detail: "No such thing." }))
      )
      const inner = Agent.make({ toolkit: Toolkit.make(confirm, failing) })
      const script = [using(100)(ScriptedModel.calls(["failing", {}], ["confirm", {}])), using(100)(paris)]
      const model = yield* Layer.build(ScriptedModel.layer(script))
      const run = (question: string) =>
        Effect.provide(
          Effect.catchTag(inner.run(question), "RunSuspended", ({ suspension }) => inner.resume(suspension, "yes")),
          model
        )
      const tool = weather().tool.pipe(Tool.fix(Fixer.agent({ run })))
      const { report } = yield* Effect.provide(
        Agent.make({ toolkit: Toolkit.make(tool) }).run("?"),
        ScriptedModel.layer([using(10)(wrong), using(10)(done)])
      )
      const { calls, failures, inputTokens, outputTokens, turns } = report
      assert.deepStrictEqual([turns, calls, (inputTokens ?? 0) + (outputTokens ?? 0)], [4, 3, 220])
      assert.deepStrictEqual(failures.map(({ code, handling }) => `${code} ${handling}`), [
        "no_such told",
        "invalid_json fix"
      ])
    }).pipe(Effect.scoped))

  it.effect("a resumed run asks no more agents once its limit is used up", () =>
    Effect.gen(function*() {
      let asked = 0
      const model = yield* Layer.build(ScriptedModel.layer(() => {
        asked++
        return using(60)(paris)
      }))
      const corrector = Agent.make({ toolkit: Toolkit.empty })
      const rejected = new SchemaMismatch({ side: "arguments", code: "x", detail: "x" })
      const asking = Tool.make("get_weather", {
        description: "",
        parameters: weather().tool.parameters,
        success: Schema.String
      }, () => Effect.andThen(ToolCall.ask("Sure?"), Effect.fail(rejected))).pipe(
        Tool.fix(Fixer.agent({ run: (question) => Effect.provide(corrector.run(question), model) }), { tries: 3 })
      )
      const agent = Agent.make({ toolkit: Toolkit.make(asking), limits: { tokens: 100 } })
      const program = Effect.gen(function*() {
        const failure = yield* Effect.flip(agent.run("?"))
        if (failure._tag !== "RunSuspended") return assert.fail(failure._tag)
        return yield* Effect.flip(agent.resume(failure.suspension, "yes"))
      })
      const end = yield* Effect.provide(program, ScriptedModel.layer([using(50)(wrong), done]))
      assert.deepStrictEqual([end._tag, asked], ["LimitReached", 1])
    }).pipe(Effect.scoped))

  it.effect("a replayed run ends where it ended before", () =>
    Effect.gen(function*() {
      const store = new Map<string, string>()
      const { agent } = yield* agents({ inner: [using(60)(paris)], limits: { tokens: 100 } })
      const run = Effect.flip(agent.run("?")).pipe(Effect.provideService(Journal.current, remembering(store)))
      const first = yield* Effect.provide(run, ScriptedModel.layer([using(50)(wrong)]))
      const again = yield* Effect.provide(run, ScriptedModel.layer([]))
      assert.deepStrictEqual([first._tag, again._tag], ["LimitReached", "LimitReached"])
    }).pipe(Effect.scoped))
})
