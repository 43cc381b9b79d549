import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  Model,
  ModelFailure,
  RetryPolicy,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable,
  Transcript
} from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Deferred, Effect, Exit, Fiber, Logger, Random, Schedule, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { once, ping, pinging } from "../support/pinging.ts"
import { passing } from "../support/virtualTime.ts"

const down = new ModelFailure({ code: "server_error", detail: "The model answered 503.", transient: true })
const refused = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })
const denied = new ModelFailure({ code: "permission_denied", detail: "The key is not valid.", transient: false })

describe("Agent.run", () => {
  it.effect("sends the history, runs the calls, appends the results, and ends with the text", () =>
    Effect.gen(function*() {
      const answer = yield* pinging.run("Ping!")
      assert.strictEqual(answer.text, "It said pong.")
      assert.deepStrictEqual(Transcript.toArray(answer.transcript), [
        { role: "system", text: "Be brief." },
        { role: "user", text: "Ping!" },
        { role: "assistant", text: "", calls: [{ id: "call_1", name: "ping" }] },
        { role: "tool", callId: "call_1", name: "ping", text: "\"pong\"" },
        { role: "assistant", text: "It said pong.", calls: [] }
      ])
    }).pipe(Effect.provide(ScriptedModel.layer(once))))

  it.effect("E5 retries transient failures below the model, and leaves the others to the model's judgement", () =>
    Effect.gen(function*() {
      const attempts: Array<string> = []
      const find = Tool.make("find", {
        description: "Finds",
        parameters: Schema.Struct({ city: Schema.String }),
        success: Schema.String,
        sideEffect: "none"
      }, ({ city }) =>
        Effect.suspend((): Effect.Effect<string, SemanticGarbage | ToolUnavailable> => {
          attempts.push(city)
          if (attempts.length === 1) return Effect.fail(refused)
          return city === "Paris"
            ? Effect.succeed("found")
            : Effect.fail(new SemanticGarbage({ code: "unknown_city", detail: "Unknown.", alternatives: ["Paris"] }))
        })).pipe(Tool.retry(Schedule.recurs(2)))
      const { report } = yield* Effect.provide(
        Agent.make({ toolkit: Toolkit.make(find) }).run("?"),
        ScriptedModel.layer([
          ScriptedModel.call("find", { city: "Pariss" }),
          ScriptedModel.call("find", { city: "Paris" }),
          ScriptedModel.text("done")
        ])
      )
      assert.deepStrictEqual(attempts, ["Pariss", "Pariss", "Paris"])
      assert.deepStrictEqual(report.failures.map(({ code, handling }) => [code, handling]), [
        ["connection", "retry"],
        ["unknown_city", "told"]
      ])
    }))

  it.effect("offers the model its tools, with a closed JSON Schema each", () =>
    Effect.gen(function*() {
      yield* pinging.run("Ping!")
      const [request] = yield* (yield* ScriptedModel.ScriptedModel).requests
      assert.deepStrictEqual(request?.tools, [{
        name: "ping",
        description: "Answers",
        parameters: { type: "object", properties: {}, additionalProperties: false }
      }])
    }).pipe(Effect.provide(ScriptedModel.layer(once))))

  it.effect("continues from an earlier transcript that was stored and read back", () =>
    Effect.gen(function*() {
      const first = yield* pinging.run("Ping!")
      const stored = JSON.stringify(yield* Schema.encodeEffect(Transcript.schema)(first.transcript))
      const transcript = yield* Schema.decodeUnknownEffect(Transcript.schema)(JSON.parse(stored))
      const second = yield* pinging.run("And again?", { transcript })
      assert.strictEqual(second.text, "Pong, as before.")
      assert.deepStrictEqual(
        Array.from(second.transcript, ({ role }) => role),
        ["system", "user", "assistant", "tool", "assistant", "user", "assistant"]
      )
      assert.strictEqual(first.transcript.length, 5)
    }).pipe(Effect.provide(ScriptedModel.layer([...once, ScriptedModel.text("Pong, as before.")]))))

  it.effect("retries the model after a transient failure", () =>
    Effect.gen(function*() {
      const answer = yield* passing(pinging.run("Ping!"))
      assert.strictEqual(answer.text, "Hello.")
    }).pipe(Effect.provide(ScriptedModel.layer([down, down, ScriptedModel.text("Hello.")]))))

  it.effect("fails with the model's last failure, the transcript and the report once the retries are used up", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(passing(pinging.run("Ping!")))
      assert.isTrue(failure instanceof AgentFailure.ModelFailed)
      if (!(failure instanceof AgentFailure.ModelFailed)) return
      assert.deepInclude(failure.failure, { ...down, attempts: 3 })
      assert.strictEqual(failure.transcript.length, 4)
      assert.strictEqual(failure.report.turns, 1)
      assert.strictEqual((yield* (yield* ScriptedModel.ScriptedModel).requests).length, 4)
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("ping"), down, down, down]))))

  it.effect("keeps the original error as the cause of its failure and of the model's, even after retries", () =>
    Effect.gen(function*() {
      const original = new Error("No route to the model.")
      const caused = new ModelFailure({ ...down, cause: original })
      const layer = ScriptedModel.layer([caused, caused, caused])
      const failure = yield* Effect.flip(passing(pinging.run("Ping!"))).pipe(Effect.provide(layer))
      assert.isTrue(failure instanceof AgentFailure.ModelFailed)
      if (!(failure instanceof AgentFailure.ModelFailed)) return
      assert.strictEqual(failure.failure.attempts, 3)
      assert.strictEqual(failure.failure.cause, original)
      assert.strictEqual(failure.cause, original)
      assert.notInclude(JSON.stringify(failure), original.message)
    }))

  it.effect("does not retry the model after a permanent failure", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(pinging.run("Ping!"))
      assert.strictEqual(failure.detail, "The key is not valid.")
      assert.strictEqual((yield* (yield* ScriptedModel.ScriptedModel).requests).length, 1)
    }).pipe(Effect.provide(ScriptedModel.layer([denied]))))

  it.effect("never treats an empty reply as an answer, and counts it as a turn", () =>
    Effect.gen(function*() {
      const answer = yield* pinging.run("Ping!")
      assert.strictEqual(answer.text, "Here I am.")
      assert.strictEqual(answer.report.turns, 3)
      assert.strictEqual(answer.transcript.length, 3)
    }).pipe(Effect.provide(
      ScriptedModel.layer([ScriptedModel.text(""), ScriptedModel.text(" \n"), ScriptedModel.text("Here I am.")])
    )))

  it.effect("fails after three consecutive empty replies, and never exceeds its turns", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(pinging.run("Ping!"))
      assert.isTrue(failure instanceof AgentFailure.ModelFailed && failure.failure.code === "empty_reply")
      const once = Agent.make({ toolkit: Toolkit.empty, limits: { turns: 1 } })
      assert.strictEqual((yield* Effect.flip(once.run("Ping!")))._tag, "LimitReached")
      assert.strictEqual((yield* (yield* ScriptedModel.ScriptedModel).requests).length, 4)
    }).pipe(Effect.provide(ScriptedModel.layer(() => ScriptedModel.text("")))))

  it.effect("tolerates empty replies that are not consecutive", () =>
    Effect.gen(function*() {
      const answer = yield* pinging.run("Ping!")
      assert.strictEqual(answer.text, "done")
      assert.strictEqual(answer.report.turns, 6)
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.text(""),
      ScriptedModel.text(""),
      ScriptedModel.call("ping"),
      ScriptedModel.text(""),
      ScriptedModel.text(""),
      ScriptedModel.text("done")
    ]))))

  it.effect("fails with a typed error, the transcript and the report if the model's code throws", () =>
    Effect.gen(function*() {
      let modelCalls = 0
      const respond = () => {
        if (++modelCalls === 2) throw new TypeError("no such property")
        return Effect.succeed(ScriptedModel.call("ping"))
      }
      const logged: Array<string> = []
      const logger = Logger.make(({ cause, message }) => {
        logged.push(`${String(message)} ${Cause.pretty(cause)}`)
      })
      const failure = yield* Effect.flip(pinging.run("Ping!")).pipe(
        Effect.provide([Model.layer({ respond }), Logger.layer([logger])])
      )
      assert.isTrue(failure instanceof AgentFailure.ModelFailed && failure.failure.code === "defect")
      assert.strictEqual(logged.length, 1)
      assert.include(logged[0], "TypeError: no such property")
      assert.strictEqual(failure.transcript.length, 4)
      assert.notInclude(failure.detail, "no such property")
    }))

  it.effect("distinguishes calls with equal or missing ids", () =>
    Effect.gen(function*() {
      const answer = yield* pinging.run("Ping!")
      const ids = Array.from(answer.transcript, (message) => message.role === "tool" ? [message.callId] : []).flat()
      assert.deepStrictEqual(ids, ["a", "a_2", "call_1", "a_1"])
      assert.deepInclude(answer.transcript.at(2), { native: { thinking: "…" } })
    }).pipe(Effect.provide(ScriptedModel.layer([
      {
        text: "",
        calls: ["a", "a", "", "a_1"].map((id, index) => ({ id, name: "ping", arguments: `{"n":${index}}` })),
        native: { thinking: "…" }
      },
      ScriptedModel.text("done")
    ]))))

  it.effect("keeps the text and the provider's own form of a message with calls", () =>
    Effect.gen(function*() {
      const answer = yield* pinging.run("Ping!")
      assert.deepInclude(answer.transcript.at(2), { text: "Let me see.", native: { thinking: "…" } })
    }).pipe(Effect.provide(ScriptedModel.layer([
      { ...ScriptedModel.call("ping"), text: "Let me see.", native: { thinking: "…" } },
      ScriptedModel.text("done")
    ]))))

  it.effect("records every failure, and how it ended", () =>
    Effect.gen(function*() {
      let attempts = 0
      const flaky = Tool.make("flaky", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        ++attempts < 3
          ? Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
          : Effect.succeed(1)).pipe(Tool.retry(RetryPolicy.transient))
      const picky = Tool.make("picky", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.fail(new SemanticGarbage({ code: "unknown_entity", detail: "Unknown." })))
      const answer = yield* passing(Agent.make({ toolkit: Toolkit.make(flaky, picky) }).run("Go"))
      const { failures, repairs, ...counts } = answer.report
      assert.deepStrictEqual(counts, { turns: 2, calls: 3, inputTokens: 30, outputTokens: 5 })
      assert.deepStrictEqual(repairs, [])
      assert.deepStrictEqual(
        failures.map((entry) =>
          entry.tag === "ModelFailure"
            ? entry
            : `${entry.turn}.${entry.call} ${entry.tool} ${entry.code} ×${entry.attempts} ${entry.handling}`
        ),
        [
          "1.1 flaky connection ×3 retry",
          "1.1 flaky connection ×3 retry",
          "1.2 picky unknown_entity ×1 told",
          "1.3 nobody unknown_tool ×0 told"
        ]
      )
    }).pipe(Effect.provide(ScriptedModel.layer([
      { ...ScriptedModel.calls(["flaky"], ["picky"], ["nobody"]), usage: { inputTokens: 10, outputTokens: 2 } },
      { ...ScriptedModel.text("done"), usage: { inputTokens: 20, outputTokens: 3 } }
    ]))))

  it("refuses a limit of turns that is not a whole number of at least 1", () => {
    for (const turns of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => Agent.make({ toolkit: Toolkit.empty, limits: { turns } }), /whole number of at least 1/)
    }
  })

  it.effect("runs 2,000 turns without a stack overflow", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(ping), limits: { turns: 3000 }, loopGuard: "off" })
      const answer = yield* agent.run("Ping!")
      assert.strictEqual(answer.report.turns, 2001)
      assert.strictEqual(answer.transcript.length, 2 + 2 * 2000)
    }).pipe(Effect.provide(
      ScriptedModel.layer((_, index) => index < 2000 ? ScriptedModel.call("ping") : ScriptedModel.text("done"))
    )))
})

describe("interrupting a run", () => {
  it.effect("interrupts its model call, and releases its resources", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      let released = false
      const respond = () =>
        Effect.andThen(Deferred.succeed(started, undefined), Effect.never).pipe(
          Effect.onInterrupt(() =>
            Effect.sync(() => {
              released = true
            })
          )
        )
      const fiber = yield* Effect.forkChild(pinging.run("Ping!").pipe(Effect.provide(Model.layer({ respond }))))
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(released)
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
    }))

  it.effect("interrupts all its tools, and releases their resources, with or without timeouts", () =>
    Effect.gen(function*() {
      const started: Array<string> = []
      const released: Array<string> = []
      const all = yield* Deferred.make<void>()
      const holding = (name: string) =>
        Tool.make(name, { description: "", success: Schema.Void, sideEffect: "none" }, () =>
          Effect.acquireUseRelease(
            Effect.sync(() => started.push(name)),
            () => started.length === 3 ? Effect.andThen(Deferred.succeed(all, undefined), Effect.never) : Effect.never,
            () => Effect.sync(() => released.push(name))
          ))
      const toolkit = Toolkit.make(
        holding("plain"),
        holding("timed").pipe(Tool.timeout("1 hour")),
        holding("retried").pipe(Tool.timeout("1 hour"), Tool.retry(RetryPolicy.transient))
      )
      const fiber = yield* Effect.forkChild(
        Agent.make({ toolkit }).run("Go").pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.calls(["plain"], ["timed"], ["retried"])]))
        )
      )
      yield* Deferred.await(all)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(released.toSorted(), ["plain", "retried", "timed"])
    }))

  it.effect("waits at most 5 s for a handler with a timeout that ignores its interruption", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const stubborn = Tool.make(
        "stubborn",
        { description: "", success: Schema.Void, sideEffect: "none" },
        () => Effect.uninterruptible(Effect.andThen(Deferred.succeed(started, undefined), Effect.never))
      ).pipe(
        Tool.timeout("1 hour")
      )
      const fiber = yield* Effect.forkChild(
        Agent.make({ toolkit: Toolkit.make(stubborn) }).run("Go").pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.call("stubborn")]))
        )
      )
      yield* Deferred.await(started)
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* TestClock.adjust("4999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(interrupting)
      assert.isDefined(fiber.pollUnsafe())
    }))
})

describe("Agent.stream", () => {
  const name = (event: AgentEvent.AgentEvent) =>
    "index" in event
      ? `${event._tag} ${event.turn}.${event.index}`
      : "turn" in event
      ? `${event._tag} ${event.turn}`
      : event._tag

  it.effect("emits events when they happen, and ends with the answer", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect(pinging.stream("Ping!"))
      assert.deepStrictEqual(events.map(name), [
        "TurnStarted 1",
        "ModelReplied 1",
        "CallStarted 1.1",
        "AttemptStarted 1.1",
        "AttemptEnded 1.1",
        "CallEnded 1.1",
        "TurnStarted 2",
        "TextDelta 2",
        "ModelReplied 2",
        "RunEnded"
      ])
      const last = events.at(-1)
      assert.isTrue(last?._tag === "RunEnded" && last.answer.text === "It said pong.")
    }).pipe(Effect.provide(ScriptedModel.layer(once))))

  it.effect("emits retries before they end, and the duration of calls", () =>
    Effect.gen(function*() {
      const flaky = Tool.make("flaky", { description: "", success: Schema.Void, sideEffect: "none" }, () =>
        Effect.flatMap(ToolCall.current, ({ attempt }) =>
          Effect.andThen(
            Effect.sleep("2 seconds"),
            attempt === 1
              ? Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
              : Effect.void
          ))).pipe(Tool.retry(RetryPolicy.transient))
      const seen: Array<string> = []
      const fiber = yield* Effect.forkChild(Stream.runForEach(
        Agent.make({ toolkit: Toolkit.make(flaky) }).stream("Go"),
        (event) =>
          Effect.sync(() =>
            seen.push(name(event))
          )
      ))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(seen.slice(-2), ["FailureHandled 1.1", "WaitStarted 1.1"])
      yield* passing(Fiber.join(fiber))
      assert.deepStrictEqual(seen.slice(-5), [
        "CallEnded 1.1",
        "TurnStarted 2",
        "TextDelta 2",
        "ModelReplied 2",
        "RunEnded"
      ])
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("flaky"), ScriptedModel.text("done")]))))

  it.effect("emits each retry of the model", () =>
    Effect.gen(function*() {
      const events = yield* passing(Stream.runCollect(pinging.stream("Ping!")))
      assert.deepStrictEqual(events.map(name), [
        "TurnStarted 1",
        "ModelRetried 1",
        "TextDelta 1",
        "ModelReplied 1",
        "RunEnded"
      ])
    }).pipe(Effect.provide(ScriptedModel.layer([down, ScriptedModel.text("Hello.")]))))

  it.effect("fails as the run fails, after the earlier events", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const failure = yield* Effect.flip(Stream.runForEach(
        pinging.stream("Ping!"),
        (event) => Effect.sync(() => seen.push(name(event)))
      ))
      assert.strictEqual(failure._tag, "ModelFailed")
      assert.deepStrictEqual(seen, ["TurnStarted 1"])
    }).pipe(Effect.provide(ScriptedModel.layer([denied]))))

  it.effect("treats a streamed reply that ends too early as a transient failure", () =>
    Effect.gen(function*() {
      let asked = 0
      const model = Model.Model.of({
        respond: () => Effect.die("not asked"),
        stream: () =>
          ++asked === 1
            ? Stream.make({ _tag: "TextDelta", text: "Hel" })
            : Stream.make(
              { _tag: "TextDelta", text: "Hello." },
              { _tag: "Replied", reply: ScriptedModel.text("Hello.") }
            )
      })
      const events = yield* passing(Stream.runCollect(pinging.stream("Hi"))).pipe(
        Effect.provideService(Model.Model, model)
      )
      const retried = events.find((event) => event._tag === "ModelRetried")
      assert.strictEqual(retried?.failure.code, "cut_off")
      assert.strictEqual(events.at(-1)?._tag, "RunEnded")
    }))

  it.effect("ends the run when the consumer ends the stream", () =>
    Effect.gen(function*() {
      let released = false
      const waiting = Tool.make("waiting", { description: "", success: Schema.Void, sideEffect: "none" }, () =>
        Effect.onInterrupt(Effect.never, () =>
          Effect.sync(() => {
            released = true
          })))
      yield* Agent.make({ toolkit: Toolkit.make(waiting) }).stream("Go").pipe(
        Stream.takeUntil((event) =>
          event._tag === "CallStarted"
        ),
        Stream.runDrain
      )
      assert.isTrue(released)
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("waiting")]))))
})

describe("a run's id", () => {
  it.effect("differs from run to run, and is the same with the same seed", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const tool = Tool.make("key", { description: "", success: Schema.Void }, () =>
        Effect.map(ToolCall.current, ({ idempotencyKey }) => {
          keys.push(idempotencyKey)
        }))
      const run = Effect.provide(
        Agent.make({ toolkit: Toolkit.make(tool) }).run("Go"),
        ScriptedModel.layer([ScriptedModel.call("key"), ScriptedModel.text("done")])
      )
      yield* run
      yield* run
      yield* Random.withSeed(run, "seed")
      yield* Random.withSeed(run, "seed")
      const [a, b, c, d] = keys
      assert.notStrictEqual(a, b)
      assert.strictEqual(c, d)
      assert.match(a!, /^[0-9a-f]{32}$/)
    }))
})
