import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Model,
  ModelFailure,
  RetryPolicy,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable,
  type Transcript
} from "@fallible/core"
import * as Deadline from "@fallible/core/Deadline"
import type * as Limits from "@fallible/core/Limits"
import { ScriptedModel } from "@fallible/testing"
import { Clock, Duration, Effect, Fiber, Random, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"

const Numbered = Schema.Struct({ n: Schema.Int })

/** Makes two tools that record when they run, and take a given time. */
const recordingTools = (ran: Array<string>, takes: Duration.Input = 0) => {
  const tool = <const Name extends string>(name: Name) =>
    Tool.make(name, { description: name, parameters: Numbered, success: Schema.Int, sideEffect: "none" }, ({ n }) => {
      ran.push(`${name} ${n}`)
      return Effect.delay(Effect.succeed(n), takes)
    })
  return Toolkit.make(tool("look"), tool("find"))
}

const calls = (...pairs: ReadonlyArray<readonly [string, number]>) => ({
  text: "",
  calls: pairs.map(([name, n], index) => ({ id: `${index}`, name, arguments: JSON.stringify({ n }) }))
})

const run = (
  toolkit: ReturnType<typeof recordingTools>,
  limits: Limits.Limits,
  script: ScriptedModel.Script
) => Agent.make({ toolkit, limits }).run("?").pipe(Effect.provide(ScriptedModel.layer(script)))

/** Returns what the model read of its calls. */
const toolTexts = (transcript: Transcript.Transcript): ReadonlyArray<unknown> =>
  Array.from(transcript).flatMap((message) => message.role === "tool" ? [JSON.parse(message.text)] : [])

/** True if every call has its result, so that any provider accepts the history. */
const isValid = (transcript: Transcript.Transcript): boolean => {
  const open = new Set<string>()
  for (let index = 0; index < transcript.length; index++) {
    const message = transcript.at(index)!
    if (message.role === "assistant") { for (const { id } of message.calls) open.add(id) }
    if (message.role === "tool") open.delete(message.callId)
  }
  return open.size === 0
}

describe("Limits", () => {
  it("refuses limits that are not whole numbers of at least 1, and zero durations", () => {
    const make = (limits: Limits.Limits) => () => Agent.make({ toolkit: Toolkit.empty, limits })
    for (const key of ["turns", "calls", "tokens", "callsPerTool", "consecutive"] as const) {
      for (const value of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
        assert.throws(make({ [key]: value }), TypeError, "must be a whole number of at least 1")
      }
      make({ [key]: 1 })()
    }
    assert.throws(make({ elapsed: 0 }), TypeError, "above zero")
    make({ elapsed: "1 milli" })()
  })

  it.effect("C11 refuses the calls beyond the limit, and lets the model answer with what it has", () =>
    Effect.gen(function*() {
      const ran: Array<string> = []
      const answer = yield* run(recordingTools(ran), { calls: 2 }, [
        calls(["look", 1], ["look", 2], ["look", 3]),
        ScriptedModel.text("Two of three.")
      ])
      assert.strictEqual(answer.text, "Two of three.")
      assert.deepStrictEqual(ran, ["look 1", "look 2"])
      const message = answer.transcript.at(4)
      assert.deepStrictEqual(message?.role === "tool" && JSON.parse(message.text), {
        ok: false,
        error: "ToolUnavailable",
        code: "call_limit",
        detail: "This call was not run: this run may make at most 2 tool calls.",
        hint: "Answer with what you have, and say what is missing.",
        retry: "Do not call it again now."
      })
    }))

  it.effect("C11 ends the run with a typed failure if the model still calls after a message that no calls are left", () =>
    Effect.gen(function*() {
      const ran: Array<string> = []
      const failure = yield* Effect.flip(run(recordingTools(ran), { calls: 2 }, [
        calls(["look", 1]),
        calls(["look", 2]),
        calls(["look", 3]),
        calls(["look", 4])
      ]))
      assert.strictEqual(failure._tag === "LimitReached" && failure.limit, "calls")
      assert.strictEqual(
        failure.detail,
        "The agent used up its 2 tool calls without an answer. " +
          "The run is probably stuck in a loop: simplify the question, or raise the limit."
      )
      assert.deepStrictEqual(ran, ["look 1", "look 2"])
      assert.strictEqual(failure.report.turns, 4)
      assert.isTrue(isValid(failure.transcript))
    }))

  it.effect("C11 refuses one tool's calls beyond the limit in a row, whatever their arguments, until another is called", () =>
    Effect.gen(function*() {
      const ran: Array<string> = []
      const answer = yield* run(recordingTools(ran), { consecutive: 2 }, [
        calls(["look", 1]),
        calls(["look", 2]),
        calls(["look", 3]),
        calls(["look", 1]),
        calls(["find", 1]),
        calls(["look", 1], ["look", 2], ["look", 3], ["find", 2], ["look", 4]),
        ScriptedModel.text("done")
      ])
      assert.deepStrictEqual(ran, ["look 1", "look 2", "find 1", "look 1", "look 2", "find 2", "look 4"])
      assert.deepStrictEqual(toolTexts(answer.transcript)[2], {
        ok: false,
        error: "ToolUnavailable",
        code: "call_limit",
        detail: "This call was not run: this run may call look at most 2 times in a row.",
        hint: "Use the results that you have, or another tool.",
        retry: "Do not call it again now."
      })
    }))

  it.effect("C11 refuses the calls of one tool beyond its own limit, and lets the other tools run", () =>
    Effect.gen(function*() {
      const script = [
        calls(["look", 1], ["find", 1]),
        calls(["look", 2], ["look", 3], ["find", 2]),
        calls(["find", 3]),
        ScriptedModel.text("done")
      ]
      const ran: Array<string> = []
      const answer = yield* run(recordingTools(ran), { callsPerTool: { look: 2 } }, script)
      assert.deepStrictEqual(ran, ["look 1", "find 1", "look 2", "find 2", "find 3"])
      assert.propertyVal(
        toolTexts(answer.transcript)[3],
        "detail",
        "This call was not run: this run may call look at most 2 times."
      )
      const others: Array<string> = []
      yield* run(recordingTools(others), { callsPerTool: { look: 3, "*": 1 } }, script)
      assert.deepStrictEqual(others, ["look 1", "find 1", "look 2", "look 3"])
      const each: Array<string> = []
      yield* run(recordingTools(each), { callsPerTool: 2 }, script)
      assert.deepStrictEqual(each, ["look 1", "find 1", "look 2", "find 2"])
    }))

  it("C11 refuses a limit for a tool that the agent does not have", () => {
    assert.throws(
      () => Agent.make({ toolkit: recordingTools([]), limits: { callsPerTool: { lok: 1 } } }),
      TypeError,
      "The limit 'callsPerTool' names 'lok', which is not in the toolkit."
    )
  })

  it.effect("admits a resumed call, whatever was called in between, and counts the calls before it", () =>
    Effect.gen(function*() {
      const ran: Array<string> = []
      const look = recordingTools(ran).tools.get("look")!
      const asks = Tool.make(
        "asks",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => ToolCall.ask("Which?")
      )
      const agent = Agent.make({ toolkit: Toolkit.make(asks, look), limits: { callsPerTool: { asks: 1, look: 2 } } })
      const first = {
        text: "",
        calls: [{ id: "a", name: "asks" }, ...calls(["look", 1], ["look", 2], ["look", 3]).calls]
      }
      const suspended = yield* Effect.flip(Effect.provide(agent.run("?"), ScriptedModel.layer([first])))
      if (suspended._tag !== "RunSuspended") return assert.fail(suspended._tag)
      const answer = yield* Effect.provide(
        agent.resume(suspended.suspension, "this one"),
        ScriptedModel.layer([ScriptedModel.text("done")])
      )
      const reply = answer.transcript.at(2)
      assert.strictEqual(reply?.role === "tool" && reply.text, "\"this one\"")
      assert.deepStrictEqual(ran, ["look 1", "look 2"])
    }))

  it.effect("C11 ends the run before the next model call once the tokens are used up", () =>
    Effect.gen(function*() {
      const ran: Array<string> = []
      const usage = { inputTokens: 40, outputTokens: 10 }
      const script = (tokens: number) =>
        run(recordingTools(ran), { tokens }, [
          { ...calls(["look", 1]), usage },
          { ...calls(["look", 2]), usage },
          { ...ScriptedModel.text("done"), usage }
        ])
      const failure = yield* Effect.flip(script(100))
      assert.strictEqual(failure._tag === "LimitReached" && failure.limit, "tokens")
      assert.strictEqual(failure.detail, "The agent used up its 100 tokens without an answer.")
      assert.isTrue(isValid(failure.transcript))
      assert.deepStrictEqual(ran, ["look 1", "look 2"])
      assert.strictEqual((yield* script(101)).text, "done")
    }))

  describe("elapsed", () => {
    const slowModel = (takes: Duration.Input, replies: ReadonlyArray<Model.Reply>) => {
      let asked = 0
      return Model.layer({ respond: () => Effect.delay(Effect.sync(() => replies[asked++]!), takes) })
    }

    it.effect("C11 ends a model call under way, and not a millisecond too early", () =>
      Effect.gen(function*() {
        const agent = Agent.make({ toolkit: recordingTools([]), limits: { elapsed: "1 minute" } })
        const fiber = yield* agent.run("?").pipe(
          Effect.provide(slowModel("40 seconds", [calls(["look", 1]), ScriptedModel.text("late")])),
          Effect.flip,
          Effect.forkChild({ startImmediately: true })
        )
        yield* TestClock.adjust(59_999)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(1)
        const failure = yield* Fiber.join(fiber)
        assert.strictEqual(failure._tag === "LimitReached" && failure.limit, "elapsed")
        assert.strictEqual(failure.detail, "The agent used up its 1m without an answer.")
        assert.strictEqual(failure.report.turns, 1)
        assert.isTrue(isValid(failure.transcript))
      }))

    it.effect("C11 ends tool calls under way, and keeps the results of their siblings", () =>
      Effect.gen(function*() {
        const instant = Tool.make(
          "instant",
          { description: "", success: Schema.String, sideEffect: "none" },
          () => Effect.succeed("here")
        )
        const hangs = Tool.make(
          "hangs",
          { description: "", success: Schema.String, sideEffect: "none" },
          () => Effect.never
        )
        const pays = Tool.make("pays", { description: "", success: Schema.String }, () => Effect.never)
        const agent = Agent.make({ toolkit: Toolkit.make(instant, hangs, pays), limits: { elapsed: "1 minute" } })
        const script = [{
          text: "",
          calls: [{ id: "1", name: "instant" }, { id: "2", name: "hangs" }, { id: "3", name: "pays" }]
        }]
        const fiber = yield* agent.run("?").pipe(
          Effect.provide(ScriptedModel.layer(script)),
          Effect.flip,
          Effect.forkChild({ startImmediately: true })
        )
        yield* TestClock.adjust("1 minute")
        const failure = yield* Fiber.join(fiber)
        assert.strictEqual(failure._tag === "LimitReached" && failure.limit, "elapsed")
        assert.isTrue(isValid(failure.transcript))
        const texts = [2, 3, 4].map((index) => failure.transcript.at(index)).map((message) =>
          message?.role === "tool" ? message.text : ""
        )
        assert.strictEqual(texts[0], "\"here\"")
        assert.include(
          texts[1],
          "\"code\":\"timeout\",\"detail\":\"hangs did not answer before its deadline.\""
        )
        // The acting call waited for the reads. It is not started now, because it would be abandoned at once.
        assert.include(texts[2], "\"code\":\"timeout\",\"detail\":\"pays was not run: its deadline had passed.\"")
        assert.deepStrictEqual(failure.report.failures.map(({ attempts }) => attempts), [1, 0])
      }))

    it.effect("changes nothing for tools while time is left: same keys, attempts and notes", () =>
      Effect.gen(function*() {
        const noting = Tool.make(
          "noting",
          { description: "", success: Schema.String, sideEffect: "none" },
          () =>
            Effect.gen(function*() {
              const { attempt, idempotencyKey } = yield* ToolCall.current
              if (attempt < 3) {
                return yield* new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })
              }
              yield* ToolCall.caveat("so they say")
              return `attempt ${attempt} under ${idempotencyKey.replace(/^run-\w+/, "run")}`
            })
        ).pipe(Tool.retry(Schedule.recurs(2)))
        const told = (limits: Limits.Limits) =>
          Agent.make({ toolkit: Toolkit.make(noting), limits }).run("?").pipe(
            Effect.map(({ report, transcript }) => [transcript.at(2), report.failures]),
            Effect.provide(ScriptedModel.layer([ScriptedModel.call("noting"), ScriptedModel.text("done")]))
          )
        const limited = yield* told({ elapsed: "1 hour" })
        assert.deepStrictEqual(limited, yield* told({}))
        assert.include(JSON.stringify(limited), "attempt 3 under run/turn/1/call/1")
        assert.include(JSON.stringify(limited), "so they say")
      }))

    it.effect("uses the earlier of its own limit and an existing deadline", () =>
      Effect.gen(function*() {
        const agent = Agent.make({ toolkit: recordingTools([]), limits: { elapsed: "1 hour" } })
        const fiber = yield* agent.run("?").pipe(
          Effect.provide(slowModel("2 hours", [])),
          Deadline.within("5 seconds"),
          Effect.flip,
          Effect.forkChild({ startImmediately: true })
        )
        yield* TestClock.adjust(4999)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "LimitReached")
      }))

    it.effect("F7 sets one deadline for model, tools and turns: a wait that would exceed it does not start", () =>
      Effect.gen(function*() {
        const events: Array<string> = []
        const note = (event: string) =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            events.push(`${now} ${event}`)
          })
        const busy = (seconds: number) =>
          new ToolUnavailable({
            code: "rate_limited",
            detail: "Busy.",
            transient: true,
            retryAfter: Duration.seconds(seconds)
          })
        let executions = 0
        const quote = Tool.make(
          "quote",
          { description: "", success: Schema.String, sideEffect: "none" },
          () => Effect.andThen(note(`quote ${++executions}`), Effect.fail(busy(executions === 1 ? 6 : 20)))
        ).pipe(
          Tool.retry(RetryPolicy.rateLimited),
          Tool.fallback(() => Effect.as(note("cache"), "41.90"))
        )
        let asked = 0
        const model = Model.layer({
          respond: () => {
            asked++
            return Effect.andThen(
              note(`model ${asked}`),
              asked === 1
                ? Effect.succeed(ScriptedModel.call("quote"))
                : Effect.fail(
                  new ModelFailure({
                    code: "rate_limited",
                    detail: "Busy.",
                    transient: true,
                    retryAfter: Duration.seconds(asked === 2 ? 3 : 10)
                  })
                )
            )
          }
        })
        const agent = Agent.make({ toolkit: Toolkit.make(quote), limits: { elapsed: "15 seconds" } })
        const fiber = yield* agent.run("?").pipe(
          Effect.provide(model),
          Effect.provideService(Random.Random, { nextDoubleUnsafe: () => 0, nextIntUnsafe: () => 0 }),
          Effect.flip,
          Effect.tap(({ _tag }) => note(_tag)),
          Effect.forkChild({ startImmediately: true })
        )
        yield* TestClock.adjust("1 minute")
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(events, [
          "0 model 1",
          "0 quote 1",
          "6000 quote 2",
          // Another 20 s would end at 26 s, but the run ends at 15 s.
          "6000 cache",
          "6000 model 2",
          "9000 model 3",
          "9000 RunPostponed"
        ])
      }))
  })
})
