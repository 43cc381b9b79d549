import { assert, describe, it } from "@effect/vitest"
import { Agent, Dispatch, Fixer, Policy, SchemaMismatch, SemanticGarbage, Tool, Toolkit } from "@fallible/core"
import type * as SideEffect from "@fallible/core/SideEffect"
import * as ToolHealth from "@fallible/core/ToolHealth"
import { ScriptedModel } from "@fallible/testing"
import { Duration, Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import {
  call,
  completed,
  failed,
  fixer,
  lostAnswer,
  type Mistake,
  parameters,
  reporting,
  toParis,
  uncapitalized,
  unclosed,
  weather
} from "../support/fixing.ts"

describe("C3: a fixer", () => {
  describe("among other policies", () => {
    it.effect("C1: of a tool takes precedence over an agent's, which takes precedence over a toolkit's default", () =>
      Effect.gen(function*() {
        const to = (city: string) => ({ "*": () => ({ city }) })
        const answers = (agent: Agent.Agent<ReturnType<typeof weather>["tool"]>) =>
          agent.run("?").pipe(
            Effect.map(({ transcript }) => /sunny in (\w+)/.exec(JSON.stringify(Array.from(transcript)))?.[1]),
            Effect.provide(
              ScriptedModel.layer([ScriptedModel.call("get_weather", unclosed), ScriptedModel.text("Done.")])
            )
          )
        const own = Toolkit.make(weather().tool.pipe(Tool.fix(() => ({ city: "Own" }))))
        const none = Toolkit.make(weather().tool)
        const fixers = to("Agent")
        const defaults = Toolkit.withFixers(to("Default"))
        assert.deepStrictEqual(
          yield* Effect.all([
            answers(Agent.make({ toolkit: own.pipe(defaults), fixers })),
            answers(Agent.make({ toolkit: none.pipe(defaults), fixers })),
            answers(Agent.make({ toolkit: none.pipe(defaults) }))
          ]),
          ["Own", "Agent", "Default"]
        )
      }))

    it.effect("C1: for a tool's name takes precedence over one for all tools, and the first of two in a toolkit wins", () =>
      Effect.gen(function*() {
        const to = (city: string) => () => ({ city })
        const toolkit = Toolkit.make(weather().tool)
        const cityOf = (toolkit: Toolkit.Toolkit<ReturnType<typeof weather>["tool"]>) =>
          Effect.map(
            Dispatch.call(toolkit, { id: "1", name: "get_weather", arguments: unclosed }),
            (outcome) => completed(outcome).value
          )
        const named = Toolkit.withFixers({ "*": to("Other"), get_weather: to("Named") })
        assert.strictEqual(yield* cityOf(toolkit.pipe(named)), "sunny in Named")
        assert.strictEqual(
          yield* cityOf(toolkit.pipe(Toolkit.withFixers({ "*": to("First") }), named)),
          "sunny in First"
        )
        const options = Toolkit.withFixers({
          get_weather: { fix: ({ tries }) => tries === 1 ? "?" : { city: "Last" }, tries: 2 }
        })
        assert.strictEqual(yield* cityOf(toolkit.pipe(options)), "sunny in Last")
      }))

    it("throws if it is not a fixer, or for a value that is not a tool", () => {
      const toolkit = Toolkit.make(weather().tool)
      const fixers: object = { get_wether: toParis }
      assert.throws(
        () => Agent.make({ toolkit, fixers }),
        "A fixer names the tool 'get_wether', which does not exist; the tools are"
      )
      assert.throws(() => toolkit.pipe(Toolkit.withFixers(fixers as {})), "A fixer names the tool 'get_wether'")
      assert.throws(
        () => toolkit.pipe(Toolkit.withFixers([] as never)),
        "Fixers must be an object with a fixer for each tool"
      )
      assert.throws(
        () => toolkit.pipe(Toolkit.withFixers(new Map([["*", toParis]]) as never)),
        "Fixers must be an object with a fixer for each tool"
      )
      assert.throws(
        () => toolkit.pipe(Toolkit.withFixers({ "*": 7 as never })),
        "A fixer must be a function, such as Fixer.agent(agent); got a number."
      )
    })

    it.effect("forms a chain with others: the innermost is asked first, and the next one gets its answer", () =>
      Effect.gen(function*() {
        const first = fixer(({ text }) => text === "1" ? toParis() : Fixer.escalate({ detail: "Not mine." }))
        const second = fixer(toParis)
        const tool = weather().tool.pipe(Tool.fix(first.fix), Tool.fix(second.fix))
        assert.strictEqual(completed(yield* call(tool, "1")).value, "sunny in Paris")
        assert.deepStrictEqual([first.told.length, second.told.length], [1, 0])
        assert.strictEqual(completed(yield* call(tool, "2")).value, "sunny in Paris")
        assert.deepStrictEqual([first.told.length, second.told.length], [2, 1])
        assert.strictEqual(second.told[0]?.failure.detail, "Not mine.")
      }))

    it.effect("gets the result of the previous answer if it is the next in a chain", () =>
      Effect.gen(function*() {
        const second = fixer(toParis)
        const tool = weather().tool.pipe(Tool.fix(() => ({ city: "paris" })), Tool.fix(second.fix))
        assert.strictEqual(completed(yield* call(tool, unclosed)).value, "sunny in Paris")
        assert.deepStrictEqual(second.told.map(({ failure, text }) => [failure.code, text]), [
          ["uncapitalized", "{\"city\":\"paris\"}"]
        ])
      }))

    it.effect("holds no permit while it works", () =>
      Effect.gen(function*() {
        const tool = weather().tool.pipe(
          Tool.concurrency(1, { maxWait: 0 }),
          Tool.fix(() => Effect.delay(Effect.succeed(toParis()), "1 second"))
        )
        const fiber = yield* Effect.forkChild(tool.run({ city: "paris" }), { startImmediately: true })
        assert.strictEqual(yield* tool.run({ city: "Rome" }), "sunny in Rome")
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* Fiber.join(fiber), "sunny in Paris")
      }))

    it.effect("makes a call count under the corrected arguments", () =>
      Effect.gen(function*() {
        let runs = 0
        const garbage = Tool.make(
          "t",
          { description: "", parameters, success: Schema.String, sideEffect: "none" },
          () =>
            Effect.suspend(() => {
              runs++
              return Effect.fail(new SemanticGarbage({ code: "unknown_city", detail: "Unknown." }))
            })
        ).pipe(Tool.fix(toParis))
        const writes = ["{\"city\":\"Paris\"", "{\"city\": \"Paris\",,}", "{\"city\":\"Paris\"}", "{\"city\":\"Pari"]
        const { report } = yield* Agent.make({ toolkit: Toolkit.make(garbage) }).run("?").pipe(
          Effect.provide(
            ScriptedModel.layer([...writes.map((text) => ScriptedModel.call("t", text)), ScriptedModel.text("?")])
          )
        )
        assert.strictEqual(runs, 3)
        assert.strictEqual(report.failures.at(-1)?.code, "repeated_call")
      }))

    it("is explained: everything runs again per try, and the fixer has its own time", () => {
      const tool = weather().tool.pipe(Tool.timeout("1 second"), Tool.fix(toParis, { tries: 2, time: "10 seconds" }))
      const { attempts, steps, time } = Tool.explain(tool)
      assert.strictEqual(attempts.max, 3)
      assert.deepStrictEqual(time, { max: Duration.seconds(13), because: [] })
      assert.deepStrictEqual(steps.map(({ description, time }) => `${description}: ${Duration.format(time.max)}`), [
        "handler: Infinity",
        "timeout of 1s: 1s",
        "corrections by a fixer, up to 2 times: 13s"
      ])
      const { time: { because, max } } = Tool.explain(
        tool.pipe(Tool.fix(toParis, { time: Duration.infinity }))
      )
      assert.deepStrictEqual([max, because], [Duration.infinity, ["the fixer has no timeout"]])
    })
  })
})

describe("C3: a fixer is not asked", () => {
  it.effect("when an inner tool rejects its own arguments, whatever the handler does with that", () =>
    Effect.gen(function*() {
      const { tool: inner } = weather()
      const { fix, told } = fixer(toParis)
      let charges = 0
      const outer = Tool.make(
        "charge",
        { description: "", parameters, success: Schema.String },
        () =>
          Effect.suspend(() => {
            charges++
            return inner.run({ city: "oslo" })
          })
      )
      const outers = [
        outer,
        Tool.mapFailure(outer, (failure) => new SchemaMismatch({ ...failure, side: "arguments" })),
        Tool.catchTag(outer, "SchemaMismatch", () => Effect.fail(uncapitalized("oslo")))
      ].map((tool) => tool.pipe(Tool.fix(fix)))
      for (const tool of outers) {
        charges = 0
        assert.strictEqual(failed(yield* call(tool, { city: "oslo" })).attempts, 1)
        assert.deepStrictEqual([charges, told.length], [1, 0])
      }
      // That tool's own fixer is asked.
      const own = Tool.make(
        "outer",
        { description: "", parameters, success: Schema.String },
        (params) => inner.pipe(Tool.fix(fix)).run(params)
      )
      assert.strictEqual(completed(yield* call(own, { city: "paris" })).value, "sunny in Paris")
    }))

  it.effect("when a read-only handler fails with an inner tool's rejection, a copy of it, or one from elsewhere", () =>
    Effect.gen(function*() {
      const { fix, told } = fixer(toParis)
      const { tool: inner } = weather()
      const reading = { description: "", parameters, success: Schema.String, sideEffect: "none" } as const
      const copying = Tool.make(
        "outer",
        reading,
        ({ city }) =>
          Effect.mapError(
            inner.run({ city }),
            (failure) => failure._tag === "SchemaMismatch" ? new SchemaMismatch({ ...failure }) : failure
          )
      )
      const elsewhere = Tool.make(
        "outer",
        reading,
        ({ city }) =>
          Effect.flatMap(Effect.promise(() => Effect.runPromise(Effect.flip(inner.run({ city })))), Effect.fail)
      )
      for (const tool of [copying, elsewhere]) {
        const outcome = failed(yield* call(tool.pipe(Tool.fix(fix)), { city: "oslo" }))
        assert.deepStrictEqual([outcome.failure.code, outcome.attempts, told.length], ["uncapitalized", 1, 0])
      }
    }))

  it.live("when the attempt was abandoned: its later rejection counts as no failure", () =>
    Effect.gen(function*() {
      const { fix, told } = fixer(toParis)
      const deaf = Tool.make(
        "deaf",
        { description: "", parameters, success: Schema.String, sideEffect: "none" },
        ({ city }) =>
          Effect.uninterruptible(Effect.andThen(Effect.sleep("2 seconds"), Effect.fail(uncapitalized(city))))
      ).pipe(Tool.timeout("1 second"), Tool.fix(fix))
      const program = Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(call(deaf, { city: "oslo" }))
        yield* TestClock.adjust("1 minute")
        return yield* Fiber.join(fiber)
      })
      const { reports, value } = yield* Effect.provide(reporting(program), TestClock.layer())
      assert.deepStrictEqual([failed(value).failure.code, told.length, reports], ["timeout", 0, []])
    }))

  it.effect("when an inner tool has acted, and no policy runs twice for it", () =>
    Effect.gen(function*() {
      const { fix, told } = fixer(toParis)
      let runs = 0
      const pay = Tool.make("pay", { description: "", success: Schema.String }, () => Effect.succeed("paid"))
      const tool = Tool.make(
        "outer",
        { description: "", parameters, success: Schema.String, sideEffect: "none" },
        ({ city }) => Effect.andThen(pay.run({}), Effect.fail(uncapitalized(city)))
      ).pipe(
        Tool.with(Policy.make({
          kind: "custom",
          name: "counting",
          description: "",
          wrap: (run) => (params) => {
            runs++
            return run(params)
          }
        })),
        Tool.fix(fix)
      )
      assert.strictEqual(failed(yield* call(tool, { city: "oslo" })).failure.code, "uncapitalized")
      assert.deepStrictEqual([runs, told.length], [1, 0])
    }))

  it.effect("when an earlier answer was lost or unreadable: a tool that acts may have acted", () =>
    Effect.gen(function*() {
      const unreadable = new SchemaMismatch({ side: "result", code: "invalid_result", detail: "No total." })
      const { fix, told } = fixer(toParis)
      const mistaken = () => uncapitalized("x")
      const ends = (sideEffect: SideEffect.SideEffect) => {
        const tool = (failure: Mistake) =>
          Tool.make(
            "t",
            { description: "", parameters, success: Schema.String, sideEffect },
            () => Effect.fail(failure)
          )
        const made = [unreadable, lostAnswer].flatMap((failure) => [
          tool(failure).pipe(Tool.mapFailure(mistaken)),
          tool(failure).pipe(Tool.catchTag(["SchemaMismatch", "ToolUnavailable"], () => Effect.fail(mistaken())))
        ])
        return Effect.forEach(made, (tool) => call(tool.pipe(Tool.fix(fix)), { city: "x" }))
      }
      for (const outcome of yield* ends("non_idempotent")) assert.strictEqual(outcome.certainty, "unknown")
      yield* ends("idempotent")
      assert.strictEqual(told.length, 0)
      // The same applies to a tool that only reads.
      yield* ends("none")
      assert.strictEqual(told.length, 0)
    }))

  it.effect("for a call that a limit would refuse anyway, or whose circuit is open", () =>
    Effect.gen(function*() {
      const { fix, told } = fixer(() => ({ city: "Rome" }))
      const tool = weather().tool.pipe(Tool.fix(fix))
      const { report } = yield* Agent.make({ toolkit: Toolkit.make(tool), limits: { calls: 1 } }).run("?").pipe(
        Effect.provide(
          ScriptedModel.layer([
            ScriptedModel.calls(["get_weather", { a: 1 }], ["get_weather", { b: 1 }]),
            ScriptedModel.text("Done.")
          ])
        )
      )
      assert.strictEqual(told.length, 1)
      assert.deepStrictEqual(report.failures.map(({ handling }) => handling), ["fix", "told"])
      yield* (yield* ToolHealth.ToolHealth).noticed("get_weather", { _tag: "CircuitOpen", until: 1000 })
      yield* call(tool, unclosed)
      assert.strictEqual(told.length, 1)
      yield* TestClock.adjust("1 second")
      yield* call(tool, unclosed)
      assert.strictEqual(told.length, 2)
    }).pipe(Effect.provide(ToolHealth.layer)))
})
