/** Fixers that also correct failed executions: `executionError { fix(…) }` in the framework that inspired them. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Dispatch,
  Fixer,
  SemanticGarbage,
  Tool,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import type * as SideEffect from "@fallible/core/SideEffect"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Effect, Exit, Fiber, Redacted, Schedule, Schema, SchemaGetter } from "effect"
import { TestClock } from "effect/testing"
import { call, completed, failed, fixer, handled, parameters, reporting, toParis } from "../support/fixing.ts"
import { refused } from "../support/sequence.ts"

type Failure = ToolFailure.ToolFailure<string>

const unknownCity = (city: string) =>
  new SemanticGarbage({ code: "unknown_city", detail: `Unknown city: '${city}'.`, alternatives: ["Paris"] })

const down = new ToolUnavailable({ code: "server_error", detail: "Down.", transient: true, outcome: "not_executed" })

/** Makes a tool that ends as given for all cities but Paris, and records the cities that its handler gets. */
const failing = (
  end: (city: string) => Effect.Effect<string, Failure>,
  sideEffect: SideEffect.SideEffect = "none"
) => {
  const asked: Array<string> = []
  const tool = Tool.make(
    "get_weather",
    { description: "The weather", parameters, success: Schema.String, sideEffect },
    ({ city }) =>
      Effect.suspend((): Effect.Effect<string, Failure> => {
        asked.push(city)
        return city === "Paris" ? Effect.succeed("sunny") : end(city)
      })
  )
  return { asked, tool }
}

const ends: ReadonlyArray<
  readonly [Fixer.FailedExecution, string, (city: string) => Effect.Effect<string, Failure>]
> = [
  ["SemanticGarbage", "unknown_city", (city) => Effect.fail(unknownCity(city))],
  ["ToolUnavailable", "server_error", () => Effect.fail(down)],
  ["defect", "defect", () => Effect.die(new Error("bug"))]
]

const all = ["SemanticGarbage", "ToolUnavailable", "defect"] as const

const useless: ReadonlyArray<Fixer.Fixer> = [
  () => "",
  () => Effect.fail("no idea"),
  () => ({ city: "Oslo" }),
  () => "{\"town\":\"Paris\"}"
]

describe("C3: a fixer of failed executions", () => {
  for (const [on, code, end] of ends) {
    it.effect(`is asked about ${on} if declared so, and the tool runs with its correction`, () =>
      Effect.gen(function*() {
        const { asked, tool } = failing(end)
        const { fix, told } = fixer(toParis)
        const { value } = yield* reporting(call(tool.pipe(Tool.fix(fix, { on: [on] })), { city: "Oslo" }))
        assert.deepInclude(completed(value), { value: "sunny", attempts: 2, arguments: "{\"city\":\"Paris\"}" })
        assert.deepStrictEqual(handled(value), [`fix ${code}`])
        assert.deepStrictEqual(asked, ["Oslo", "Paris"])
        assert.deepInclude(told[0], { text: "{\"city\":\"Oslo\"}", arguments: { city: "Oslo" }, tries: 1 })
        assert.strictEqual(told[0]?.failure.code, code)
      }))

    it.effect(`is not asked about ${on} unless declared so`, () =>
      Effect.gen(function*() {
        const { tool } = failing(end)
        const { fix, told } = fixer(toParis)
        const plain = (yield* reporting(call(tool, { city: "Oslo" }))).value
        for (const others of [undefined, all.filter((other) => other !== on)]) {
          const fixed = Tool.fix(tool, fix, others === undefined ? {} : { on: others })
          assert.deepStrictEqual((yield* reporting(call(fixed, { city: "Oslo" }))).value, plain)
        }
        assert.deepStrictEqual(told, [])
      }))

    it.effect(`keeps ${on} if it has no correction, fails, or repeats the arguments`, () =>
      Effect.gen(function*() {
        const { asked, tool } = failing(end)
        const plain = yield* reporting(call(tool, { city: "Oslo" }))
        for (const fix of useless) {
          asked.length = 0
          const { reports, value } = yield* reporting(call(Tool.fix(tool, fix, { on: all }), { city: "Oslo" }))
          assert.deepStrictEqual({ ...failed(value), handled: [] }, plain.value)
          assert.deepStrictEqual([asked, reports], [["Oslo"], plain.reports])
        }
      }))

    it.effect(`C4: escalates ${on}, under its name`, () =>
      Effect.gen(function*() {
        const fix = () => Fixer.escalate({ detail: "Which Oslo?", hint: "Ask the user.", severity: "high" })
        const fixed = failing(end).tool.pipe(Tool.fix(fix, { on: [on], name: "the atlas" }))
        const { value } = yield* reporting(call(fixed, { city: "Oslo" }))
        const { failure } = failed(value)
        assert.deepInclude({ ...failure }, {
          _tag: on === "defect" ? "ToolUnavailable" : on,
          code,
          detail: "Which Oslo?",
          hint: "Ask the user.",
          severity: "high",
          source: "the atlas"
        })
        assert.deepStrictEqual(handled(value), [`escalated ${code}`])
        // A program that runs the tool directly gets the same failure.
        const { value: byHand } = yield* reporting(Effect.flip(fixed.run({ city: "Oslo" })))
        assert.deepInclude({ ...byHand }, { code, detail: "Which Oslo?", source: "the atlas" })
      }))

    it.effect(`C5: stops the run after ${on}`, () =>
      Effect.gen(function*() {
        const fixed = failing(end).tool.pipe(Tool.fix(() => Fixer.throwException("Enough."), { on: [on] }))
        const { value } = yield* reporting(call(fixed, { city: "Oslo" }))
        assert.deepInclude(value, { _tag: "Stopped", reason: "Enough." })
      }))
  }

  it.effect("is asked up to its number of tries", () =>
    Effect.gen(function*() {
      const { asked, tool } = failing((city) => Effect.fail(unknownCity(city)))
      const { fix, told } = fixer(({ tries }) => ({ city: `Oslo ${tries}` }))
      const outcome = failed(yield* call(tool.pipe(Tool.fix(fix, { tries: 2, on: all })), { city: "Oslo" }))
      assert.strictEqual(outcome.failure.detail, "Unknown city: 'Oslo 2'.")
      assert.deepStrictEqual(asked, ["Oslo", "Oslo 1", "Oslo 2"])
      assert.deepStrictEqual(told.map(({ before }) => before.map(({ failure }) => failure.detail)), [
        [],
        ["Unknown city: 'Oslo'."]
      ])
    }))

  it.effect("is asked after retries, and after fallbacks", () =>
    Effect.gen(function*() {
      const { asked, tool } = failing(() => Effect.fail(down))
      const { fix, told } = fixer(toParis)
      const retried = tool.pipe(Tool.fix(fix, { on: all }), Tool.retry(Schedule.recurs(2)))
      assert.strictEqual(completed(yield* call(retried, { city: "Oslo" })).value, "sunny")
      assert.deepStrictEqual([asked, told.length], [["Oslo", "Oslo", "Oslo", "Paris"], 1])
      const answered = tool.pipe(Tool.fix(fix, { on: all }), Tool.fallback(() => Effect.succeed("cached")))
      assert.strictEqual(completed(yield* call(answered, { city: "Oslo" })).value, "cached")
      assert.strictEqual(told.length, 1)
    }))

  it.effect("is not asked if a policy refused the call, so nothing ran", () =>
    Effect.gen(function*() {
      const { asked, tool } = failing(() => Effect.never)
      const { fix, told } = fixer(toParis)
      const limited = tool.pipe(Tool.concurrency(1, { maxWait: 0 }), Tool.fix(fix, { on: all }))
      const holding = yield* Effect.forkChild(limited.run({ city: "Oslo" }), { startImmediately: true })
      assert.strictEqual(failed(yield* call(limited, { city: "Oslo" })).failure.code, "bulkhead_full")
      yield* Fiber.interrupt(holding)
      assert.deepStrictEqual([asked.length, told.length], [1, 0])
    }))

  describe("of a tool that acts", () => {
    const acting = (end: (city: string) => Effect.Effect<string, Failure>) => failing(end, "non_idempotent")

    it.effect("is asked if the tool certainly did nothing or refused, and the tool runs with other arguments", () =>
      Effect.gen(function*() {
        for (const end of [() => Effect.fail(down), (city: string) => Effect.fail(unknownCity(city))]) {
          const { asked, tool } = acting(end)
          const outcome = completed(yield* call(tool.pipe(Tool.fix(toParis, { on: all })), { city: "Oslo" }))
          assert.deepInclude(outcome, { value: "sunny", certainty: "executed" })
          assert.deepStrictEqual(asked, ["Oslo", "Paris"])
        }
      }))

    it.effect("is not asked if the tool may have acted, even if it is idempotent", () =>
      Effect.gen(function*() {
        const lost = new ToolUnavailable({ ...down, outcome: "unknown" })
        const { asked, tool } = failing(() => Effect.fail(lost), "idempotent")
        const { fix, told } = fixer(toParis)
        yield* call(tool.pipe(Tool.fix(fix, { on: all })), { city: "Oslo" })
        assert.deepStrictEqual([asked, told.length], [["Oslo"], 0])
      }))

    it.effect("is not asked if the tool may have acted or did act", () =>
      Effect.gen(function*() {
        const ends: ReadonlyArray<() => Effect.Effect<string, Failure>> = [
          () => Effect.fail(new ToolUnavailable({ ...down, outcome: "unknown" })),
          () => Effect.fail(new ToolUnavailable({ ...down, outcome: "executed" })),
          () => Effect.fail(refused),
          () => Effect.die(new Error("bug"))
        ]
        for (const end of ends) {
          const { asked, tool } = acting(end)
          const { fix, told } = fixer(toParis)
          const { value } = yield* reporting(call(tool.pipe(Tool.fix(fix, { on: all })), { city: "Oslo" }))
          assert.notStrictEqual(value.certainty, "not_executed")
          assert.deepStrictEqual([asked, told.length], [["Oslo"], 0])
        }
      }))
  })

  it.effect("is not asked if an inner tool of a read-only tool acted", () =>
    Effect.gen(function*() {
      const { fix, told } = fixer(toParis)
      const pay = Tool.make("pay", { description: "", success: Schema.String }, () => Effect.succeed("paid"))
      const { asked, tool } = failing((city) => Effect.andThen(pay.run({}), Effect.fail(unknownCity(city))))
      yield* call(tool.pipe(Tool.fix(fix, { on: all })), { city: "Oslo" })
      assert.deepStrictEqual([asked, told.length], [["Oslo"], 0])
    }))

  it.effect("gets no secrets, and nothing larger than a mebibyte", () =>
    Effect.gen(function*() {
      const { fix, told } = fixer(() => "")
      const login = Tool.make("login", {
        description: "",
        parameters: Schema.Struct({ password: Schema.Redacted(Schema.String) }),
        success: Schema.String,
        sideEffect: "none"
      }, () => Effect.fail(unknownCity("x"))).pipe(Tool.fix(fix, { on: all }))
      yield* call(login, { password: "hunter2" })
      yield* Effect.flip(login.run({ password: Redacted.make("hunter2") }))
      const { tool } = failing((city) => Effect.fail(unknownCity(city.slice(0, 3))))
      yield* Effect.flip(tool.pipe(Tool.fix(fix, { on: all })).run({ city: "x".repeat(1_100_000) }))
      assert.deepStrictEqual(told.map(({ arguments: args, text }) => [text, args]), [
        ["", undefined],
        ["", undefined],
        ["", undefined]
      ])
    }))

  it.effect("costs nothing if it is not asked: the arguments are not even encoded", () =>
    Effect.gen(function*() {
      const slow = Schema.String.pipe(
        Schema.decodeTo(Schema.String, {
          decode: SchemaGetter.passthrough(),
          encode: SchemaGetter.transformEffect(() => Effect.never)
        })
      )
      const look = Tool.make("look", {
        description: "",
        parameters: Schema.Struct({ city: slow }),
        success: Schema.String,
        sideEffect: "none"
      }, ({ city }) => Effect.fail(unknownCity(city)))
      const fiber = yield* Effect.forkChild(call(look.pipe(Tool.fix(() => "")), { city: "Oslo" }))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(failed(yield* Fiber.join(fiber)).failure.code, unknownCity("Oslo").code)
    }))

  it.effect("never repeats an execution with earlier arguments, whichever fixer asks", () =>
    Effect.gen(function*() {
      const { asked, tool } = failing((city) => Effect.fail(unknownCity(city)))
      const fixed = tool.pipe(
        Tool.fix(({ tries }) => ({ city: ["Rome", "Oslo"][tries - 1]! }), { on: all, tries: 2 }),
        Tool.fix(({ tries }) => ({ city: ["Rome", "Paris"][tries - 1]! }), { on: all, tries: 2 }),
        Tool.fix(() => ({ city: "Bonn" }), { on: all })
      )
      yield* call(fixed, { city: "Bern" })
      assert.deepStrictEqual(asked, ["Bern", "Rome", "Oslo", "Bonn", "Paris"])
    }))

  it.effect("reports a defect once, however it ends", () =>
    Effect.gen(function*() {
      const { tool } = failing(() => Effect.die(new Error("bug")))
      const all: ReadonlyArray<Fixer.Fixer> = [
        toParis,
        () => Fixer.escalate({ detail: "Broken." }),
        () => Fixer.answer("rainy"),
        () => ""
      ]
      for (const fix of all) {
        const { reports } = yield* reporting(call(Tool.fix(tool, fix, { on: ["defect"] }), { city: "Oslo" }))
        assert.deepStrictEqual(reports, ["The tool get_weather failed with an internal error: Error: bug"])
      }
      // In a direct run, an uncorrected defect stays a defect.
      const exit = yield* Effect.exit(tool.pipe(Tool.fix(() => "", { on: ["defect"] })).run({ city: "Oslo" }))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    }))

  it("throws if it is declared for an unknown kind", () => {
    const { tool } = failing(() => Effect.fail(down))
    assert.throws(
      () => Tool.fix(tool, toParis, { on: ["PartialData" as never] }),
      /^A fixer's 'on' must be a list of .*SemanticGarbage.*; got "PartialData"\.$/
    )
    assert.throws(() => Tool.fix(tool, toParis, { on: "defect" as never }), "A fixer's 'on' must be a list")
    assert.throws(
      () => Tool.fix(tool, 7 as never),
      "A fixer must be a function, such as Fixer.agent(agent); got a number."
    )
    assert.throws(
      () => Tool.fix(tool, toParis, { name: " " }),
      "A fixer's name must be a string that is not blank; got \" \"."
    )
    assert.throws(() => Tool.fix(tool, toParis, { time: 0 }), "A fixer's time must be a duration above zero")
  })
})

describe("C3: the original's four recovery modes", () => {
  const question = { city: "paris" }
  const rejecting = failing((city) => Effect.fail(unknownCity(city)))

  const modes: ReadonlyArray<readonly [string, (tool: typeof rejecting.tool) => typeof rejecting.tool]> = [
    ["fix by a function", Tool.fix(toParis, { on: ["SemanticGarbage"] })],
    [
      "fix by an Effect",
      Tool.fix(() => Effect.delay(Effect.succeed("{\"city\":\"Paris\"}"), 1), { on: ["SemanticGarbage"] })
    ]
  ]
  for (const [mode, change] of modes) {
    it.live(mode, () =>
      Effect.gen(function*() {
        assert.strictEqual(completed(yield* call(change(rejecting.tool), question)).value, "sunny")
      }))
  }

  it.effect("fix by an agent, and executionError { fix(agent, retries = 2) }", () =>
    Effect.gen(function*() {
      const corrector = Agent.make({ toolkit: Toolkit.make(...Fixer.tools) })
      const fixed = rejecting.tool.pipe(
        Tool.fix(Fixer.agent(corrector), { tries: 2, on: ["SemanticGarbage", "ToolUnavailable", "defect"] })
      )
      const answers = [ScriptedModel.text("{\"city\":\"pariS\"}"), ScriptedModel.text("{\"city\":\"Paris\"}")]
      const program = Effect.gen(function*() {
        const outcome = completed(
          yield* Dispatch.call(Toolkit.make(fixed), {
            id: "1",
            name: "get_weather",
            arguments: JSON.stringify(question)
          })
        )
        return { outcome, requests: yield* (yield* ScriptedModel.ScriptedModel).requests }
      })
      const { outcome, requests } = yield* Effect.provide(program, ScriptedModel.layer(answers))
      assert.strictEqual(outcome.value, "sunny")
      assert.strictEqual(outcome.fixing?.turns, 2)
      const lastMessage = requests[0]?.messages.at(-1)
      assert.include(lastMessage?.role === "user" ? lastMessage.text : "", "Unknown city: 'paris'.")
    }))
})
