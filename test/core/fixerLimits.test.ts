import { assert, describe, it } from "@effect/vitest"
import { Agent, Fixer, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import * as Arguments from "@fallible/core/Arguments"
import * as Deadline from "@fallible/core/Deadline"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Duration, Effect, Exit, Fiber, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import {
  call,
  completed,
  failed,
  fixer,
  handled,
  type Mistake,
  parameters,
  reporting,
  toParis,
  uncapitalized,
  unclosed,
  weather
} from "../support/fixing.ts"
import { lettered } from "../support/lettered.ts"
import { refused } from "../support/sequence.ts"

describe("C3: a fixer", () => {
  describe("with a limit", () => {
    it.effect("is asked exactly as often as configured, and once by default", () =>
      Effect.gen(function*() {
        for (const tries of [undefined, 1, 2, 5]) {
          const { fix, told } = fixer(({ tries }) => `${tries}${unclosed}`)
          yield* call(weather().tool.pipe(Tool.fix(fix, tries === undefined ? {} : { tries })), unclosed)
          assert.deepStrictEqual(
            told.map(({ tries }) => tries),
            Array.from({ length: tries ?? 1 }, (_, index) => index + 1)
          )
        }
      }))

    it.effect("gets the earlier rejected arguments, starting with the model's own", () =>
      Effect.gen(function*() {
        const { fix, told } = fixer(({ tries }) => tries < 3 ? `${tries}` : "{\"city\":\"Paris\"}")
        const outcome = completed(yield* call(weather().tool.pipe(Tool.fix(fix, { tries: 3 })), unclosed))
        assert.deepStrictEqual(
          told.map(({ before, text }) => [...before.map(({ text }) => text), text]),
          [[unclosed], [unclosed, "1"], [unclosed, "1", "2"]]
        )
        assert.deepStrictEqual(handled(outcome), [
          "ignored fixer_failed",
          "ignored fixer_failed",
          "fix invalid_json"
        ])
        assert.match(outcome.handled[1]!.detail, /^The answer of the fixer of get_weather was rejected: The arguments/)
        assert.strictEqual(outcome.repairs?.length, 1)
      }))

    it.effect("counts per call, over decoding and handler", () =>
      Effect.gen(function*() {
        const cities = ["paris", "pariS", "Paris"]
        const { fix, told } = fixer(({ tries }) => ({ city: cities[tries - 1]! }))
        const { asked, tool } = weather()
        const two = failed(yield* call(tool.pipe(Tool.fix(fix, { tries: 2 })), unclosed))
        assert.strictEqual(two.failure.detail, "'pariS' has no capital letter.")
        assert.deepStrictEqual(asked, ["paris", "pariS"])
        assert.deepStrictEqual(told.map(({ failure, text }) => `${failure.code} ${text}`), [
          `invalid_json ${unclosed}`,
          "uncapitalized {\"city\":\"paris\"}"
        ])
        const three = completed(yield* call(tool.pipe(Tool.fix(fix, { tries: 3 })), unclosed))
        assert.strictEqual(three.value, "sunny in Paris")
        // The model learns which arguments were used in the end.
        assert.deepStrictEqual(three.caveats, ["The arguments were corrected to {\"city\":\"Paris\"}"])
        assert.deepStrictEqual(three.repairs?.map(({ kind }) => kind), ["fixed", "fixed", "fixed"])
      }))

    it.effect("counts each call separately, even two at once", () =>
      Effect.gen(function*() {
        const { fix, told } = fixer(({ arguments: args }) =>
          Effect.delay(Effect.succeed({ city: args?.["place"] ?? "" }), args?.["place"] === "Rome" ? 5 : 10)
        )
        const tool = weather().tool.pipe(Tool.fix(fix))
        const fiber = yield* Effect.forkChild(
          Effect.all(
            ["Rome", "Oslo", "Rome"].map((place, index) => call(tool, { place }, { idempotencyKey: `${index}` })),
            {
              concurrency: 3
            }
          )
        )
        yield* TestClock.adjust(10)
        assert.deepStrictEqual((yield* Fiber.join(fiber)).map((outcome) => completed(outcome).value), [
          "sunny in Rome",
          "sunny in Oslo",
          "sunny in Rome"
        ])
        assert.deepStrictEqual(told.map(({ tries }) => tries), [1, 1, 1])
      }))

    it.effect("stops at once if it repeats rejected arguments", () =>
      Effect.gen(function*() {
        for (const same of [unclosed, ` ${unclosed} `]) {
          const { fix, told } = fixer(() => same)
          yield* call(weather().tool.pipe(Tool.fix(fix, { tries: 9 })), unclosed)
          assert.strictEqual(told.length, 1)
        }
        const { fix, told } = fixer(({ tries }) => `{"x":1,${" ".repeat(tries)}"town":"Paris"}`)
        yield* call(weather().tool.pipe(Tool.fix(fix, { tries: 9 })), "{\"town\":\"Paris\",\"x\":1}")
        assert.strictEqual(told.length, 1)
      }))

    it("must be a whole number of at least 1", () => {
      for (const tries of [0, -1, 1.5, NaN, Infinity]) {
        assert.throws(
          () => Tool.fix(weather().tool, toParis, { tries }),
          `A fixer's limit of tries must be a whole number of at least 1; got ${tries}.`
        )
      }
    })

    it.effect("does not treat an acting tool as rejected if a retry around it has restarted", () =>
      Effect.gen(function*() {
        const lost = new ToolUnavailable({ ...refused, outcome: "unknown" })
        const puts = Tool.make(
          "put",
          { description: "", parameters, success: Schema.String, sideEffect: "idempotent" },
          ({ city }) =>
            Effect.suspend((): Effect.Effect<string, Mistake> =>
              Effect.fail(city === "Paris" ? lost : uncapitalized(city))
            )
        ).pipe(Tool.fix(toParis), Tool.retry(Schedule.recurs(2)))
        const outcome = failed(yield* call(puts, { city: "paris" }))
        assert.deepInclude(outcome, { attempts: 4, certainty: "unknown" })
        assert.strictEqual(outcome.failure.code, "connection")
      }))

    it.effect("is not asked again by a retry around it, because a correction stays in use", () =>
      Effect.gen(function*() {
        const { fix, told } = fixer(toParis)
        const asked: Array<string> = []
        const flaky = Tool.make(
          "flaky",
          { description: "", parameters, success: Schema.String, sideEffect: "none" },
          ({ city }) =>
            Effect.suspend((): Effect.Effect<string, Mistake> => {
              asked.push(city)
              return city !== "Paris"
                ? Effect.fail(uncapitalized(city))
                : asked.length < 4
                ? Effect.fail(refused)
                : Effect.succeed("sunny")
            })
        ).pipe(Tool.fix(fix), Tool.retry(Schedule.recurs(3)))
        assert.strictEqual(yield* flaky.run({ city: "paris" }), "sunny")
        assert.deepStrictEqual(asked, ["paris", "Paris", "Paris", "Paris"])
        assert.strictEqual(told.length, 1)
      }))
  })

  describe("that fails", () => {
    const ends: ReadonlyArray<
      readonly [string, () => Effect.Effect<string, unknown>, detail: string, reports: number]
    > = [
      ["fails with an error", () => Effect.fail(new Error("no idea")), "no idea", 0],
      ["fails with a text", () => Effect.fail("no idea"), "\"no idea\"", 0],
      ["fails with a failure", () => Effect.fail(refused), "Refused.", 0],
      ["dies", () => Effect.die(new Error("bug")), "It had an internal error.", 1],
      [
        "throws",
        () => {
          throw new Error("bug")
        },
        "It had an internal error.",
        1
      ],
      ["interrupts itself", () => Effect.interrupt, "It had an internal error.", 1],
      ["answers with what is none", () => Effect.succeed(null as never), "It had an internal error.", 1],
      ["answers with a promise", () => Effect.succeed(Promise.resolve("{}") as never), "It had an internal error.", 1],
      ["answers with what is no JSON", () => Effect.succeed({ city: 1n } as never), "It had an internal error.", 1]
    ]
    for (const [what, fix, detail, reports] of ends) {
      it.effect(`${what}: the original failure is kept, and the report has both`, () =>
        Effect.gen(function*() {
          const { tool } = weather()
          for (const args of [unclosed, "{\"city\":\"paris\"}"]) {
            const plain = failed(yield* call(tool, args))
            const { reports: reported, value: outcome } = yield* reporting(call(tool.pipe(Tool.fix(fix)), args))
            assert.deepStrictEqual(failed(outcome).failure, plain.failure)
            assert.deepStrictEqual([failed(outcome).stage, outcome.attempts], [plain.stage, plain.attempts])
            assert.deepStrictEqual(outcome.handled, [{
              tag: "ToolUnavailable",
              code: "fixer_failed",
              detail: `The fixer of get_weather failed. ${detail}`,
              by: "ignored"
            }])
            assert.strictEqual(reported.length, reports)
          }
        }))
    }

    it.effect("exposes the cause only to observers", () =>
      Effect.gen(function*() {
        const heard: Array<unknown> = []
        yield* call(weather().tool.pipe(Tool.fix(() => Effect.fail("no idea"))), unclosed, {
          onEvent: ({ _tag }, failure) => _tag === "FailureHandled" && heard.push(failure?.cause)
        })
        assert.deepStrictEqual(heard, [Cause.fail("no idea")])
      }))

    it.effect("is abandoned after half of the time left, and not started if none is left", () =>
      Effect.gen(function*() {
        const { fix, told } = fixer(() => Effect.never)
        const tool = weather().tool.pipe(Tool.fix(fix))
        const fiber = yield* Effect.forkChild(Deadline.within(call(tool, unclosed), "5 seconds"))
        yield* TestClock.adjust("2449 millis")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        const outcome = yield* Fiber.join(fiber)
        assert.strictEqual(failed(outcome).failure.code, "invalid_json")
        assert.deepStrictEqual(handled(outcome), ["ignored fixer_failed"])
        yield* Deadline.within(call(tool, unclosed), "100 millis")
        assert.strictEqual(told.length, 1)
      }))

    it.effect("has 30 seconds by default, for all its tries", () =>
      Effect.gen(function*() {
        for (const [time, max] of [[undefined, 30_000], ["2 seconds", 2_000]] as const) {
          const { fix, told } = fixer(({ tries }) => Effect.delay(Effect.succeed(`${tries}`), "900 millis"))
          const fixed = weather().tool.pipe(Tool.fix(fix, { tries: 100, ...(time === undefined ? {} : { time }) }))
          const fiber = yield* Effect.forkChild(call(fixed, unclosed))
          yield* TestClock.adjust(max - 1)
          assert.isUndefined(fiber.pollUnsafe())
          yield* TestClock.adjust(1)
          const outcome = failed(yield* Fiber.join(fiber))
          assert.strictEqual(outcome.failure.code, "invalid_json")
          assert.strictEqual(told.length, Math.ceil(max / 900))
          assert.strictEqual(
            outcome.handled.at(-1)?.detail,
            "The fixer of get_weather failed. It did not answer in time."
          )
        }
      }))

    it.effect("sees its time limit as its deadline", () =>
      Effect.gen(function*() {
        const left: Array<number> = []
        const fix = () =>
          Effect.map(Deadline.timeLeft, (time) => {
            left.push(Duration.toMillis(time))
            return ""
          })
        yield* call(weather().tool.pipe(Tool.fix(fix)), unclosed)
        yield* Deadline.within(call(weather().tool.pipe(Tool.fix(fix)), unclosed), "5 seconds")
        assert.deepStrictEqual(left, [30_000, 2_450])
      }))

    it.effect("is not ended by the tool's timeout, which restarts with the corrected arguments", () =>
      Effect.gen(function*() {
        const fix = () => Effect.delay(Effect.succeed({ city: "Paris" }), "10 seconds")
        const { asked, tool } = weather()
        const slow = Tool.make(
          "get_weather",
          { description: "", parameters: tool.parameters, success: Schema.String, sideEffect: "none" },
          ({ city }) => Effect.delay(tool.run({ city }), "900 millis")
        )
        const rejecting = Tool.make(
          "get_weather",
          { description: "", parameters: tool.parameters, success: Schema.String, sideEffect: "none" },
          ({ city }) =>
            city === "Paris" ? slow.run({ city }) : Effect.delay(Effect.fail(uncapitalized(city)), "900 millis")
        ).pipe(Tool.timeout("1 second"), Tool.fix(fix))
        const fiber = yield* Effect.forkChild(rejecting.run({ city: "paris" }))
        yield* TestClock.adjust("11800 millis")
        assert.strictEqual(yield* Fiber.join(fiber), "sunny in Paris")
        assert.deepStrictEqual(asked, ["Paris"])
      }))

    it.effect("is interrupted with the call", () =>
      Effect.gen(function*() {
        let interrupted = 0
        const hangs = Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
        for (const args of [unclosed, "{\"city\":\"paris\"}"]) {
          const fiber = yield* Effect.forkChild(call(weather().tool.pipe(Tool.fix(() => hangs)), args), {
            startImmediately: true
          })
          yield* Fiber.interrupt(fiber)
          assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
        }
        assert.strictEqual(interrupted, 2)
      }))

    it.effect("may ask the user, and gets the reply when the call is resumed", () =>
      Effect.gen(function*() {
        const tool = weather().tool.pipe(
          Tool.fix(() => Effect.map(ToolCall.ask("Which city?"), (city) => ({ city })))
        )
        const agent = Agent.make({ toolkit: Toolkit.make(tool) })
        const program = Effect.gen(function*() {
          const failure = yield* Effect.flip(agent.run("?"))
          if (failure._tag !== "RunSuspended") return assert.fail(failure._tag)
          assert.strictEqual(failure.question, "Which city?")
          return yield* agent.resume(failure.suspension, "Paris")
        })
        const script = [ScriptedModel.call("get_weather", unclosed), ScriptedModel.text("Done.")]
        const { transcript } = yield* Effect.provide(program, ScriptedModel.layer(script))
        assert.include(JSON.stringify(Array.from(transcript)), "sunny in Paris")
      }))
  })
})

describe("C3: a fixer cannot worsen a failure", () => {
  class Evil {
    get detail(): string {
      throw new Error("trapped")
    }
  }
  const escalation = (words: object) => Fixer.escalate(words as never)
  const ends: ReadonlyArray<readonly [string, () => Effect.Effect<never, unknown>, string]> = [
    ["an error that cannot be looked at", () => Effect.fail(new Evil()), "It does not say why."],
    ["a message that is none", () => Effect.fail(Object.assign(new Error("x"), { message: 7 })), "{}"],
    [
      "a long text",
      () => Effect.fail(new Error("x".repeat(1_000_000))),
      `${"x".repeat(300)}… (999700 more characters)`
    ],
    ["an escalation without words", () => escalation({}), "Its escalation has the wrong type."],
    ["one with a number for words", () => escalation({ detail: 7 }), "Its escalation has the wrong type."],
    [
      "one of an unknown severity",
      () => escalation({ detail: "x", severity: "grave" }),
      "Its escalation has the wrong type."
    ],
    ["one with an unsound hint", () => escalation({ detail: "x", hint: 7 }), "Its escalation has the wrong type."],
    [
      "one whose arguments are none",
      () => escalation({ detail: "x", arguments: [] }),
      "Its escalation has the wrong type."
    ]
  ]
  for (const [what, fix, detail] of ends) {
    it.effect(`with ${what}`, () =>
      Effect.gen(function*() {
        const plain = failed(yield* call(weather().tool, unclosed))
        const outcome = failed(yield* call(weather().tool.pipe(Tool.fix(fix)), unclosed))
        assert.deepStrictEqual(outcome.failure, plain.failure)
        assert.deepStrictEqual(outcome.handled.map(({ detail }) => detail), [
          `The fixer of get_weather failed. ${detail}`
        ])
      }))
  }

  it.effect("by changing its input", () =>
    Effect.gen(function*() {
      const plain = failed(yield* call(weather().tool, { city: "paris" }))
      const spoil = (rejection: Fixer.Rejection) => {
        Object.assign(rejection.failure, { detail: "Fine." })
        if ("alternatives" in rejection.failure) Object.assign(rejection.failure.alternatives, ["Berlin"])
        Object.assign(rejection.schema, { type: "string" })
        return ""
      }
      const { tool } = weather()
      assert.deepStrictEqual(failed(yield* call(tool.pipe(Tool.fix(spoil)), { city: "paris" })).failure, plain.failure)
      assert.strictEqual(Arguments.jsonSchema(tool.parameters)["type"], "object")
    }))

  it.effect("or withhold the next fixer's answer from a tool that acts, once abandoned", () =>
    Effect.gen(function*() {
      const { asked, tool } = weather("non_idempotent")
      const deaf = () => Effect.uninterruptible(Effect.as(Effect.sleep("1 hour"), ""))
      const chain = tool.pipe(Tool.fix(deaf, { time: "1 second" }), Tool.fix(toParis))
      const fiber = yield* Effect.forkChild(call(chain, { city: "paris" }))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(completed(yield* Fiber.join(fiber)).value, "sunny in Paris")
      assert.deepStrictEqual(asked, ["paris", "Paris"])
    }))

  it.effect("or count as a handler once abandoned", () =>
    Effect.gen(function*() {
      const { tool } = weather()
      const late = () => Effect.uninterruptible(Effect.delay(Effect.die(new Error("late")), "10 seconds"))
      const program = Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Deadline.within(call(tool.pipe(Tool.fix(late)), unclosed), "5 seconds"))
        yield* TestClock.adjust("20 seconds")
        return yield* Fiber.join(fiber)
      })
      const { reports } = yield* reporting(program)
      assert.deepStrictEqual(reports, [
        "The fixer of get_weather ended with an internal error after its timeout: Error: late"
      ])
    }))

  it.effect("or share the keys of its own runs with another fixer in the chain", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const lookUp = Tool.make("look_up", { description: "", success: Schema.Void, sideEffect: "none" }, () =>
        Effect.map(ToolCall.current, ({ idempotencyKey }) => {
          keys.push(idempotencyKey)
        }))
      const fix = (city: string) => () =>
        Effect.as(lookUp.run({}), { city })
      const chain = weather().tool.pipe(Tool.fix(fix("paris")), Tool.fix(fix("Paris")))
      assert.strictEqual(completed(yield* call(chain, { town: "Paris" })).value, "sunny in Paris")
      assert.strictEqual(lettered(keys), "a b")
    }))
})
